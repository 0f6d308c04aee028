"""The transport and the protocol of a gateway."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hbase_orm.errors import ConfigurationError

TRANSPORTS: Final = ("buffered", "framed")
PROTOCOLS: Final = ("binary", "compact")


@dataclass(frozen=True, slots=True)
class WireStyle:
    """The transport and the protocol of a connection, which must be the same as the gateway's.

    Attributes:
        transport: `buffered` (thread-pool servers) or `framed` (non-blocking servers).
        protocol: `binary`, or `compact`, which is several times slower in Python.
    """

    transport: str = "buffered"
    protocol: str = "binary"

    def __post_init__(self) -> None:
        """Raise an error for an unknown transport or protocol."""
        for name, value, allowed in (
            ("transport", self.transport, TRANSPORTS),
            ("protocol", self.protocol, PROTOCOLS),
        ):
            if value not in allowed:
                raise ConfigurationError(
                    "the connection's transport or protocol is unknown",
                    option=name,
                    value=value,
                    fix=f"use one of {', '.join(allowed)}",
                )
