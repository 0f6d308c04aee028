"""Plans: what will be sent for a statement, as values that print as trees."""
