"""The gateways over HBase's Thrift interfaces: connections, requests and errors."""
