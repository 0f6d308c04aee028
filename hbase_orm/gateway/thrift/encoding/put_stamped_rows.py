"""Encodes the call `putMultiple` of Thrift2, column by column, as `put_rows` does for Thrift1.

Every cell has its own timestamp. Only the binary protocol is supported.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat

from hbase_orm.gateway.thrift.encoding.put_rows import INT64, LENGTHS, RowPieces
from hbase_orm.ops import PutStampedRows, StampedRows

# Type and number of a field; a struct ends with a byte 0.
_STOP = b"\x00"
_TABLE = b"\x0b\x00\x01"
_REQUESTS = b"\x0f\x00\x02\x0c"  # a list of structs, its length follows
_ROW = b"\x0b\x00\x01"
_VALUES = b"\x0f\x00\x02\x0c"
_FAMILY = b"\x0b\x00\x01"
_QUALIFIER = b"\x0b\x00\x02"
_VALUE = b"\x0b\x00\x03"
_STAMP = b"\x0a\x00\x04"


def put_multiple_arguments(operation: PutStampedRows) -> bytes:
    """Return the encoded arguments of the Thrift2 method `putMultiple` that puts the rows.

    Raises:
        TypeError, struct.error: A key or a value is not bytes, or a timestamp is not a number.
    """
    table = operation.table.encode()
    count = sum(len(group.rows) for group in operation.groups)
    head = [_TABLE, LENGTHS[len(table)], table, _REQUESTS, LENGTHS[count]]
    requests = chain.from_iterable(map(_requests, operation.groups))
    return b"".join(chain(head, requests, (_STOP,)))


def _requests(group: StampedRows) -> Iterator[bytes]:
    """Return an iterator over the encoded bytes of all rows, in order and in pieces."""
    if not group.rows:
        return iter(())
    keys, *columns = zip(*group.rows, strict=True)
    pieces = RowPieces(_ROW)
    pieces.add(keys)
    pieces.constant = _VALUES + LENGTHS[len(columns)]
    stamps = zip(*group.stamps, strict=True)
    for name, values, values_stamps in zip(group.columns, columns, stamps, strict=True):
        family, _, qualifier = name.partition(b":")
        pieces.constant += _FAMILY + LENGTHS[len(family)] + family
        pieces.constant += _QUALIFIER + LENGTHS[len(qualifier)] + qualifier + _VALUE
        pieces.add(values)
        pieces.constant = _STAMP
        pieces.add_made(map(INT64.pack, values_stamps))
        pieces.constant = _STOP
    pieces.parts.append(repeat(pieces.constant + _STOP))
    # The shortest parts, such as the keys, have one piece per row; constants are repeated for ever.
    return chain.from_iterable(zip(*pieces.parts, strict=False))
