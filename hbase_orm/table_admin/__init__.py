"""An engine's verbs about existing tables: compare them with their models, and alter them."""
