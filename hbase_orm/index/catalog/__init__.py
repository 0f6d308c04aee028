"""The catalog: which indexes each table has, and which programs may write them."""
