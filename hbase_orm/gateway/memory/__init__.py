"""The gateway in process: HBase's cell semantics without HBase."""
