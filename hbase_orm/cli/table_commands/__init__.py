"""The commands of `hbase-orm tables` on live tables: check, alter, list, truncate, adopt."""
