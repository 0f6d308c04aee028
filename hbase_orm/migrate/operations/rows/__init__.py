"""What operations do to rows: walks, changes, copies, estimates."""
