"""Makes the plans of statements. Nothing is sent here."""
