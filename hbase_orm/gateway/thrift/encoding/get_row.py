"""Encodes the Thrift1 requests that read rows by key, in the binary protocol.

What the requests for one table and one set of columns share is encoded once.
"""

from __future__ import annotations

import struct
from functools import lru_cache

from hbase_orm.gateway.thrift.gateway import whole_families

_INT32 = struct.Struct(">i")

# Type and number of a field; a struct ends with a byte 0.
_STOP = b"\x00"
_TABLE = b"\x0b\x00\x01"
_ROW = b"\x0b\x00\x02"
_COLUMNS = b"\x0f\x00\x03\x0b"  # a list of text, its length follows
_ATTRIBUTES = b"\x0d\x00%c\x0b\x0b\x00\x00\x00\x00"  # an empty map of text


def get_row_call(table: str, key: bytes, columns: tuple[bytes, ...]) -> tuple[str, bytes]:
    """Return the name of the Thrift1 method that reads one row, and its encoded arguments.

    Args:
        table: The table.
        key: The row key.
        columns: The columns and families to read; empty for the whole row.

    Raises:
        TypeError: The key or a column is not bytes.
    """
    method, before, after = _around_key(table, columns)
    return method, b"".join((before, _INT32.pack(len(key)), key, after))


@lru_cache(maxsize=256)
def _around_key(table: str, columns: tuple[bytes, ...]) -> tuple[str, bytes, bytes]:
    """Return the method, and the encoded arguments before and after the row key."""
    before = _TABLE + _text(table.encode()) + _ROW
    if not columns:
        return "getRow", before, _ATTRIBUTES % 3 + _STOP
    chosen = whole_families(columns)
    listed = b"".join((_COLUMNS, _INT32.pack(len(chosen)), *map(_text, chosen)))
    return "getRowWithColumns", before, listed + _ATTRIBUTES % 4 + _STOP


def _text(data: bytes) -> bytes:
    return _INT32.pack(len(data)) + data
