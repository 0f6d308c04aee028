"""From a statement to a plan: pure, nothing is sent here."""
