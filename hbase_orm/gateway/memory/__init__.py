"""The gateway that keeps tables in memory and follows HBase's rules, without HBase."""
