"""Opens the Thrift gateways of an engine.

This module loads happybase and thriftpy2, which take about as long as the rest of the library. So
`connect` imports it when it is called, and programs that only declare models never do.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from hbase_orm.binding.url import EngineOptions
from hbase_orm.gateway.base import Gateway
from hbase_orm.gateway.retry import RetryingGateway
from hbase_orm.gateway.routed import RoutedGateway
from hbase_orm.gateway.thrift.pool import Address
from hbase_orm.gateway.thrift.thrift1 import Thrift1Gateway
from hbase_orm.gateway.thrift.thrift2 import Thrift2Gateway
from hbase_orm.gateway.thrift.wire_style import WireStyle
from hbase_orm.ops import Ping


@dataclass(frozen=True)
class ThriftConnections:
    """The pools of an engine, as `Connections` describes them."""

    thrift1: Thrift1Gateway
    thrift2: Thrift2Gateway | None

    @property
    def usage(self) -> str:
        """The numbers of connections of each interface."""
        usage = f"thrift1: {self.thrift1.pool.usage}"
        return usage if self.thrift2 is None else f"{usage}; thrift2: {self.thrift2.pool.usage}"

    def raw(self) -> AbstractContextManager[Any]:
        """Return a context manager with a separate happybase `Connection`; it closes it at exit."""
        return self.thrift1.raw()


def open_gateways(options: EngineOptions) -> tuple[Gateway, ThriftConnections]:
    """Return the gateway of an engine, and its connections.

    Checks that every gateway in the URL answers and speaks the expected Thrift interface. The
    caller closes the gateway, which closes the connections.

    Raises:
        ConfigurationError: The transport or the protocol is unknown, or a port belongs to the other
            Thrift interface.
        GatewayError: A gateway does not answer.
    """
    style = WireStyle(protocol=options.protocol, transport=options.transport)
    thrift1 = Thrift1Gateway.connect(
        [Address(*address) for address in options.thrift1],
        style=style,
        timeout_s=options.timeout_s,
        pool_size=options.pool,
    )
    thrift2 = None
    if options.thrift2:
        thrift2 = Thrift2Gateway.connect(
            [Address(*address) for address in options.thrift2],
            style=style,
            timeout_s=options.timeout_s,
            pool_size=options.pool,
        )
    routed = RoutedGateway(data=thrift1, atomic=thrift2)
    try:
        routed.execute_within(Ping(), options.timeout_s)  # asks both
    except BaseException:  # also an interrupt: the connections are closed, and it goes on
        routed.close()
        raise
    gateway = RetryingGateway(routed, attempts=options.retries + 1, timeout_s=options.timeout_s)
    return gateway, ThriftConnections(thrift1, thrift2)
