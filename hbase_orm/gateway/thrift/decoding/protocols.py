"""The decoding of values in Thrift's binary and compact protocols."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Final

from hbase_orm.gateway.thrift.decoding.answers import (
    BOOL,
    BYTE,
    DOUBLE,
    I16,
    I32,
    I64,
    INTEGER_BITS,
    LIST,
    MAP,
    SET,
    STOP,
    STRING,
    STRUCT,
    AnswerReader,
    Needed,
)
from hbase_orm.gateway.thrift.decoding.compiled_rows import row_takers
from hbase_orm.gateway.thrift.decoding.incoming import GarbledAnswerError, Incoming

# --- the binary protocol --------------------------------------------------------------------------

_MESSAGE = struct.Struct(">HHi")
_FIELD = struct.Struct(">BH")
_LIST_HEAD = struct.Struct(">Bi")
_MAP_HEAD = struct.Struct(">BBi")
_INT32 = struct.Struct(">i")
_DOUBLE = struct.Struct(">d")
_BINARY_VERSION: Final = 0x8001
_LONGEST_NAME_BYTES: Final = 128
_WIDTHS: Final = {
    BYTE: struct.Struct(">b"),
    I16: struct.Struct(">h"),
    I32: _INT32,
    I64: struct.Struct(">q"),
}


class BinaryReader(AnswerReader):
    """Reads answers in Thrift's binary protocol.

    Attributes:
        row_takers: What takes the rows of this connection's answers.
    """

    def __init__(self, incoming: Incoming, needed: Needed) -> None:
        """Read from `incoming`; `needed` has the required fields of each struct class."""
        super().__init__(incoming, needed)
        self.row_takers = row_takers()

    def message_begin(self) -> tuple[bytes, int, int]:
        """Read the head of a message; return the method name, the kind and the sequence id."""
        version, kind, length = _MESSAGE.unpack(self.incoming.take(_MESSAGE.size))
        if version != _BINARY_VERSION:
            message = "no message of the binary protocol"
            raise GarbledAnswerError(message)
        name = self.incoming.take(_name_bytes(length))
        return name, kind & 0xFF, self._integer(I32)

    def _struct_begin(self) -> None:
        pass

    def _struct_end(self) -> None:
        pass

    def read_field(self) -> tuple[int, int]:
        """Read the head of a field; return its type and number. The type STOP ends the struct."""
        kind = self.incoming.take(1)[0]
        if kind == STOP:
            return STOP, 0
        return kind, int.from_bytes(self.incoming.take(2), "big")

    def read_list_begin(self) -> tuple[int, int]:
        """Read the head of a list; return the type and the number of its elements."""
        kind, size = _LIST_HEAD.unpack(self.incoming.take(_LIST_HEAD.size))
        return kind, size

    def read_map_begin(self) -> tuple[int, int, int]:
        """Read the head of a map; return the key type, the value type and the number of pairs."""
        key, value, size = _MAP_HEAD.unpack(self.incoming.take(_MAP_HEAD.size))
        return key, value, size

    def _bool(self) -> bool:
        return self.incoming.take(1) != b"\x00"

    def _integer(self, kind: int) -> int:
        form = _WIDTHS[kind]
        value: int = form.unpack(self.incoming.take(form.size))[0]
        return value

    def _double(self) -> float:
        value: float = _DOUBLE.unpack(self.incoming.take(_DOUBLE.size))[0]
        return value

    def read_bytes(self) -> bytes:
        """Return a length-prefixed byte string."""
        return self.incoming.take(_INT32.unpack(self.incoming.take(_INT32.size))[0])


# --- the compact protocol -------------------------------------------------------------------------

_COMPACT_ID: Final = 0x82
_COMPACT_VERSION: Final = 1
_COMPACT_TRUE, _COMPACT_FALSE = 1, 2
# The types in the order of their numbers in the compact protocol, which start at 1.
_COMPACT_TYPES: Final = (BOOL, BOOL, BYTE, I16, I32, I64, DOUBLE, STRING, LIST, SET, MAP, STRUCT)
_LONG_LIST: Final = 15
_VARINT_BYTES: Final = 10
_LITTLE_DOUBLE = struct.Struct("<d")


class CompactReader(AnswerReader):
    """Reads answers in Thrift's compact protocol."""

    def __init__(self, incoming: Incoming, needed: Needed) -> None:
        """Read from `incoming`; `needed` has the required fields of each struct class."""
        super().__init__(incoming, needed)
        self._last_number = 0
        self._outer: list[int] = []
        self._field_bool: bool | None = None

    def message_begin(self) -> tuple[bytes, int, int]:
        """Read the head of a message; return the method name, the kind and the sequence id."""
        self._last_number, self._outer, self._field_bool = 0, [], None
        identity, head = self.incoming.take(2)
        if identity != _COMPACT_ID or head & 0x1F != _COMPACT_VERSION:
            message = "no message of the compact protocol"
            raise GarbledAnswerError(message)
        sequence_id = self._varint()
        return self.incoming.take(_name_bytes(self._varint())), head >> 5, sequence_id

    def _struct_begin(self) -> None:
        self._outer.append(self._last_number)
        self._last_number = 0

    def _struct_end(self) -> None:
        self._last_number = self._outer.pop()

    def read_field(self) -> tuple[int, int]:
        """Read the head of a field; return its type and number. The type STOP ends the struct."""
        head = self.incoming.take(1)[0]
        if head & 0x0F == STOP:
            return STOP, 0
        delta = head >> 4
        self._last_number = self._last_number + delta if delta else self._zigzag()
        kind = _compact_type(head & 0x0F)
        # The type of a boolean field is its value; a boolean element of a container has a byte.
        self._field_bool = head & 0x0F == _COMPACT_TRUE if kind == BOOL else None
        return kind, self._last_number

    def read_list_begin(self) -> tuple[int, int]:
        """Read the head of a list; return the type and the number of its elements."""
        head = self.incoming.take(1)[0]
        size = head >> 4
        if size == _LONG_LIST:
            size = self._varint()
        return _compact_type(head & 0x0F) if size else STOP, size

    def read_map_begin(self) -> tuple[int, int, int]:
        """Read the head of a map; return the key type, the value type and the number of pairs."""
        size = self._varint()
        if not size:
            return STOP, STOP, 0
        kinds = self.incoming.take(1)[0]
        return _compact_type(kinds >> 4), _compact_type(kinds & 0x0F), size

    def _bool(self) -> bool:
        value, self._field_bool = self._field_bool, None
        return self.incoming.take(1)[0] == _COMPACT_TRUE if value is None else value

    def _integer(self, kind: int) -> int:
        if kind == BYTE:
            return int.from_bytes(self.incoming.take(1), "big", signed=True)
        value = self._zigzag()
        if not -(1 << INTEGER_BITS[kind] - 1) <= value < 1 << INTEGER_BITS[kind] - 1:
            message = f"a number beyond {INTEGER_BITS[kind]} bits"
            raise GarbledAnswerError(message)
        return value

    def _double(self) -> float:
        value: float = _LITTLE_DOUBLE.unpack(self.incoming.take(_LITTLE_DOUBLE.size))[0]
        return value

    def read_bytes(self) -> bytes:
        """Return a length-prefixed byte string."""
        return self.incoming.take(self._varint())

    def _zigzag(self) -> int:
        number = self._varint()
        return (number >> 1) ^ -(number & 1)

    def _varint(self) -> int:
        result = 0
        for place in range(_VARINT_BYTES):
            byte = self.incoming.take(1)[0]
            result |= (byte & 0x7F) << 7 * place
            if byte < 0x80:  # noqa: PLR2004 - the bit that means that more follow
                return result
        message = "a number without an end"
        raise GarbledAnswerError(message)


def _compact_type(number: int) -> int:
    if not 1 <= number <= len(_COMPACT_TYPES):
        message = f"a field of the compact type {number}"
        raise GarbledAnswerError(message)
    return _COMPACT_TYPES[number - 1]


def _name_bytes(length: int) -> int:
    if not 0 <= length <= _LONGEST_NAME_BYTES:
        message = f"a method's name of {length} bytes"
        raise GarbledAnswerError(message)
    return length


READERS: Mapping[str, Callable[[Incoming, Needed], AnswerReader]] = {
    "binary": BinaryReader,
    "compact": CompactReader,
}
"""The reader of each Thrift protocol, by the protocol's name."""
