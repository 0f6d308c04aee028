"""Codecs of UUIDs and IP addresses, as big-endian bytes that sort like the values."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Any, ClassVar
from uuid import UUID

from hbase_orm.codecs.base import Codec, invert
from hbase_orm.codecs.source import Scope, guarded, inverted


@dataclass(frozen=True, slots=True)
class Uuid(Codec[UUID]):
    """UUIDs in 16 bytes."""

    name: ClassVar[str] = "uuid"
    python_type: ClassVar[type] = UUID

    @property
    def canonical(self) -> bool:
        """Always True: each value has only one encoding."""
        return True

    @property
    def width_bytes(self) -> int:
        """The width of every encoding: 16 bytes."""
        return 16

    def encode(self, value: UUID, /) -> bytes:
        """Return 16 bytes.

        Raises:
            CodecError: The value is not a UUID.
        """
        if not isinstance(value, UUID):
            raise self.refuse(value, "the value is not a UUID", expected="UUID")
        return invert(value.bytes) if self.desc else value.bytes

    def decode(self, data: bytes, /) -> UUID:
        """Return the UUID.

        Raises:
            CodecError: The encoding does not have 16 bytes.
        """
        if len(data) != self.width_bytes:
            raise self.corrupt(data)
        return UUID(bytes=invert(data) if self.desc else data)

    def inline_encode(self, value: str, scope: Scope) -> str:
        """Return an expression that packs the number of the UUID."""
        data = inverted(f"{value}.int.to_bytes(16, 'big')", scope, desc=self.desc)
        return guarded(value, UUID, data, self.encode, scope)


@dataclass(frozen=True, slots=True)
class IPv4(Codec[IPv4Address]):
    """IPv4 addresses in 4 bytes."""

    name: ClassVar[str] = "ipv4"
    python_type: ClassVar[type] = IPv4Address

    @property
    def canonical(self) -> bool:
        """Always True: each value has only one encoding."""
        return True

    @property
    def width_bytes(self) -> int:
        """The width of every encoding: 4 bytes."""
        return 4

    def encode(self, value: IPv4Address, /) -> bytes:
        """Return 4 bytes.

        Raises:
            CodecError: The value is not an IPv4 address.
        """
        if not isinstance(value, IPv4Address):
            raise self.refuse(value, "the value is not an IPv4 address", expected="IPv4Address")
        return invert(value.packed) if self.desc else value.packed

    def decode(self, data: bytes, /) -> IPv4Address:
        """Return the address.

        Raises:
            CodecError: The encoding does not have 4 bytes.
        """
        if len(data) != self.width_bytes:
            raise self.corrupt(data)
        return IPv4Address(invert(data) if self.desc else data)


@dataclass(frozen=True, slots=True)
class IPv6(Codec[IPv6Address]):
    """IPv6 addresses in 16 bytes; addresses with a scope (`fe80::1%eth0`) are refused."""

    name: ClassVar[str] = "ipv6"
    python_type: ClassVar[type] = IPv6Address

    @property
    def canonical(self) -> bool:
        """Always True: each value has only one encoding."""
        return True

    @property
    def width_bytes(self) -> int:
        """The width of every encoding: 16 bytes."""
        return 16

    def encode(self, value: IPv6Address, /) -> bytes:
        """Return 16 bytes.

        Raises:
            CodecError: The value is not an IPv6 address, or has a scope.
        """
        if not isinstance(value, IPv6Address):
            raise self.refuse(value, "the value is not an IPv6 address", expected="IPv6Address")
        if value.scope_id is not None:
            raise self.refuse(value, "the address has a scope, which 16 bytes cannot hold")
        return invert(value.packed) if self.desc else value.packed

    def decode(self, data: bytes, /) -> IPv6Address:
        """Return the address.

        Raises:
            CodecError: The encoding does not have 16 bytes.
        """
        if len(data) != self.width_bytes:
            raise self.corrupt(data)
        return IPv6Address(invert(data) if self.desc else data)


CODECS: tuple[type[Codec[Any]], ...] = (Uuid, IPv4, IPv6)
