"""An engine's verbs about existing tables: compare, alter, list, truncate, adopt and drop them."""
