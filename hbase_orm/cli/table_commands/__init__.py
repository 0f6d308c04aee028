"""The commands of `hbase-orm tables` that concern live tables: check, alter, list, truncate, adopt."""
