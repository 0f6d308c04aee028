"""The one narrow seam to HBase: requests in, answers out, bytes only.

A `Gateway` executes the requests of `hbase_orm.ops`. `thrift1` and `thrift2` speak to real
gateways over a `pool` of connections, `memory` keeps everything in process with HBase's cell
semantics, and `drive` runs protocols (generators of requests) on any of them.
"""
