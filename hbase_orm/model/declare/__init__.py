"""Makes a model's frozen `TableSchema` from its class body, and refuses wrong declarations."""
