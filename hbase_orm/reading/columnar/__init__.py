"""Results of statements as columns of Apache Arrow; pyarrow is imported at the first use."""
