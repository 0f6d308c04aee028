"""What a model declares and its instances have: fields, counters, dynamic columns, hooks."""
