"""Classes of rows and cells that the reader of answers fills directly, field by field.

The reader fills any class that declares its fields in `thrift_spec`. The classes here need no later
conversion to `Row` and `Cell`, which would take a third to a half of a scan's work.
"""

from __future__ import annotations

from collections.abc import Iterator

from hbase_orm.gateway.thrift.decoding.answers import BYTE, I64, MAP, STRING, STRUCT
from hbase_orm.ops import Cell, Row

# KeyValue.Type.Put; a plain read of Thrift2 leaves the type out.
PUT_CODE = 4


class DecodedCell:
    """A cell that the reader fills field by field. It is equal to a `Cell` and used like one.

    `Cell` itself is a tuple, which cannot be filled in this way. Converting each decoded cell to a
    `Cell` would cost as much time as reading it.
    """

    __slots__ = ("timestamp_ms", "value")
    thrift_spec = {  # noqa: RUF012  # the name and place where thriftpy2 looks
        1: (STRING, "value", False),
        2: (I64, "timestamp_ms", False),
    }

    value: bytes
    timestamp_ms: int

    def __iter__(self) -> Iterator[bytes | int]:
        """Yield value and timestamp."""
        yield self.value
        yield self.timestamp_ms

    def __getitem__(self, index: int) -> bytes | int:
        """Return the value (0) or the timestamp (1)."""
        return (self.value, self.timestamp_ms)[index]

    def __len__(self) -> int:
        """Return 2."""
        return 2

    def __eq__(self, other: object) -> bool:
        """Compare with another cell of either class."""
        if isinstance(other, (DecodedCell, Cell)):
            return self.value == other.value and self.timestamp_ms == other.timestamp_ms
        return NotImplemented

    def __hash__(self) -> int:
        """Hash like the equal `Cell`."""
        return hash((self.value, self.timestamp_ms))

    def __repr__(self) -> str:
        """Return the `repr` of the equal `Cell`."""
        return f"Cell(value={self.value!r}, timestamp_ms={self.timestamp_ms})"


class DecodedRow(Row):
    """A `Row` that the reader fills field by field; it is equal to a `Row`."""

    __slots__ = ()
    thrift_spec = {  # noqa: RUF012  # the name and place where thriftpy2 looks
        1: (STRING, "key", False),
        2: (MAP, "cells", (STRING, (STRUCT, DecodedCell)), False),
    }

    def __eq__(self, other: object) -> bool:
        """Compare with another row of either class."""
        if isinstance(other, Row):
            return self.key == other.key and self.cells == other.cells
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]  # a Row has no hash either

    def __repr__(self) -> str:
        """Return the `repr` of the equal `Row`."""
        return f"Row(key={self.key!r}, cells={self.cells!r})"


class DecodedValue:
    """One cell of a Thrift2 answer."""

    __slots__ = ("family", "kind", "qualifier", "timestamp_ms", "value")
    thrift_spec = {  # noqa: RUF012  # the name and place where thriftpy2 looks
        1: (STRING, "family", False),
        2: (STRING, "qualifier", False),
        3: (STRING, "value", False),
        4: (I64, "timestamp_ms", False),
        6: (BYTE, "kind", False),
    }

    def __init__(self) -> None:
        """Set the fields that a server may leave out."""
        self.family = self.qualifier = self.value = b""
        self.timestamp_ms = 0
        self.kind = PUT_CODE

    @property
    def column(self) -> bytes:
        """The cell's column as `family:qualifier`."""
        return b"%b:%b" % (self.family, self.qualifier)
