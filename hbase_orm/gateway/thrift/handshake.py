"""Opens Thrift connections. The first one checks that the URL names the right gateway.

With the port of the other Thrift interface, or with a wrong transport, calls fail without an
explanation. For example, a method is unknown, or a call waits endlessly. So on the first connection
to each address, the server is asked for its type. If the server does not answer, other transports
and protocols are tried. The error can then name the right ones.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import product
from typing import Any, Literal

from hbase_orm.errors import (
    ConfigurationError,
    ConnectionLostError,
    FeatureMissingError,
    GatewayError,
)
from hbase_orm.gateway.thrift.answer_sizes import AnswerSizes
from hbase_orm.gateway.thrift.faults import WIRE_ERRORS, translate
from hbase_orm.gateway.thrift.pool import Address
from hbase_orm.gateway.thrift.wire import HBASE2, CheckedClient, Line, WireStyle

# A gateway answers getThriftServerType without HBase, so a longer time means that it is silent.
PROBE_TIMEOUT_S = 1.0

Interface = Literal[1, 2]


class ThriftConnection:
    """A Thrift connection of the pool, with its client.

    Attributes:
        line: The `Line`, which sends and receives the bytes.
        client: The client that makes the calls.
        owner: The object that owns the line, such as a happybase connection; or None.
    """

    __slots__ = ("client", "line", "owner")

    def __init__(self, line: Line, client: CheckedClient, owner: Any = None) -> None:
        """Store the parts of an open connection.

        Args:
            line: The open line.
            client: The client over it.
            owner: The owner, which is kept alive, because some owners close their line when they
                are deleted.
        """
        self.line = line
        self.client = client
        self.owner = owner

    def set_deadline(self, deadline: float) -> None:
        """Set the time at which the following calls give up."""
        self.line.set_deadline(deadline)

    def is_in_step(self) -> bool:
        """Return whether every request has been answered."""
        return self.line.is_in_step

    def is_usable(self) -> bool:
        """Return whether all requests are answered, and the peer has not closed the connection."""
        return self.line.is_usable()

    def close(self) -> None:
        """Close the connection; closing twice is allowed."""
        self.line.close()


class Opener:
    """Opens connections to gateways of one Thrift interface, and checks each address once.

    All connections share what is known of the sizes of answers.
    """

    def __init__(
        self,
        interface: Interface,
        style: WireStyle,
        wrap: Callable[[Line, Address], ThriftConnection],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Store the settings.

        Args:
            interface: 1 for Thrift1, 2 for Thrift2.
            style: The transport and the protocol of the gateways.
            wrap: A function that makes the pooled connection from an open line.
            clock: The clock for time limits.
        """
        self._interface: Interface = interface
        self._style = style
        self._wrap = wrap
        self._clock = clock
        self._checked: set[Address] = set()
        self._sizes = AnswerSizes()

    def __call__(self, address: Address, deadline: float) -> ThriftConnection:
        """Open a connection to `address` before `deadline`.

        Raises:
            ConfigurationError: The gateway at the address has the other Thrift interface, or
                another transport or protocol.
            OSError, ConnectionLostError: Nothing accepts the connection, or nothing answers.
        """
        line = self._line(address, self._style, deadline)
        if address not in self._checked:
            try:
                self._check(line, address, deadline)
            except BaseException:
                line.close()
                raise
            self._checked.add(address)
        connection = self._wrap(line, address)
        connection.client.sizes = self._sizes
        return connection

    def _line(self, address: Address, style: WireStyle, deadline: float) -> Line:
        line = Line(address.host, address.port, style, clock=self._clock)
        line.set_deadline(deadline)
        line.open()
        return line

    def _check(self, line: Line, address: Address, deadline: float) -> None:
        now = self._clock()
        # The second half of the time is for finding out what is wrong.
        line.set_deadline(now + (deadline - now) / 2)
        try:
            interface = _interface_of(line)
        except ConnectionLostError:
            self._look_for_another_style(address, deadline)
            raise
        if interface != self._interface:
            raise ConfigurationError(
                "the gateway at this address speaks the other Thrift interface",
                address=str(address),
                expected=f"Thrift{self._interface}",
                actual=f"Thrift{interface}",
                fix="the URL's host:port must be the Thrift1 gateway, its thrift2=host:port the "
                "Thrift2 gateway; swap or correct them",
            )

    def _look_for_another_style(self, address: Address, deadline: float) -> None:
        """Raise a ConfigurationError if the gateway answers with another transport or protocol."""
        for transport, protocol in product(("buffered", "framed"), ("binary", "compact")):
            style = WireStyle(transport, protocol)
            remaining_s = deadline - self._clock()
            if style == self._style or remaining_s <= 0:
                continue
            if self._answers(address, style, min(remaining_s, PROBE_TIMEOUT_S)):
                raise ConfigurationError(
                    "the gateway was started with another transport or protocol",
                    address=str(address),
                    used=f"{self._style.transport}/{self._style.protocol}",
                    actual=f"{transport}/{protocol}",
                    fix=f"write transport={transport}&protocol={protocol} in the URL",
                )

    def _answers(self, address: Address, style: WireStyle, timeout_s: float) -> bool:
        try:
            line = self._line(address, style, self._clock() + timeout_s)
        except OSError:
            return False
        try:
            _interface_of(line)
        except GatewayError:
            return False
        finally:
            line.close()
        return True


def _interface_of(line: Line) -> int:
    """Return the number of the Thrift interface that answers on the line, 1 or 2."""
    try:
        return int(_ask(CheckedClient(line, HBASE2.HBase2).getThriftServerType))
    except FeatureMissingError:
        # HBase before 2.2 does not know the call: then a call that only Thrift1 has decides.
        pass
    try:
        _ask(CheckedClient(line, HBASE2.HBase1Names).getTableNames)
    except FeatureMissingError:
        return 2
    return 1


def _ask(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except WIRE_ERRORS as exc:
        raise translate(exc) from exc
