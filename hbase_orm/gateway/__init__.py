"""The interface to HBase: executes requests and returns answers, in bytes only.

A `Gateway` executes the requests of `hbase_orm.ops`:

- `thrift1` and `thrift2` call Thrift gateways over a `pool` of connections.
- `memory` stores everything in the process, with HBase's cell semantics.

`drive` runs protocols, which are generators of requests, on any gateway.
"""
