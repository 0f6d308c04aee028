"""From a class body to its frozen `TableSchema`; every declaration mistake is refused here."""
