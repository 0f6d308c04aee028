"""The bytes of a block of cells in each of HBase's block encodings.

Sources: `PrefixKeyDeltaEncoder`, `DiffKeyDeltaEncoder`, `FastDiffDeltaEncoder` and
`RowIndexEncoderV1` of HBase 2.6. Each cell is followed by its sequence number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from hbase_orm.advise.estimating.stored_cells import FileCell, variable_int

# Each encoded block begins with the number of its encoding.
_PREFIX: Final = b"\x00\x02"
_DIFF: Final = b"\x00\x03"
_FAST_DIFF: Final = b"\x00\x04"
_ROW_INDEX: Final = b"\x00\x07"
_SAME_KEY_LENGTH: Final = 1
_SAME_VALUE_LENGTH: Final = 1 << 1
_SAME_TYPE: Final = 1 << 2
_IS_DIFFERENCE: Final = 1 << 3
_TIMESTAMP_SHIFT: Final = 4
_NEGATIVE: Final = 1 << 7
# The flags of FAST_DIFF: the three low bits are how many bytes of the timestamp are the same.
_FAST_SHIFT: Final = 3  # the flags above of equal lengths and types
_SAME_VALUE: Final = 1 << 6
_TIMESTAMP_BYTES: Final = 8
_PUT: Final = b"\x04"
_ROW_LENGTH_BYTES: Final = 2


def plain_block(cells: Sequence[FileCell]) -> bytes:
    """Return the bytes with the encoding NONE."""
    return b"".join([each.plain() + variable_int(each.sequence) for each in cells])


def prefix_block(cells: Sequence[FileCell]) -> bytes:
    """Return the bytes with the encoding PREFIX: keys without what they share with the last one."""
    parts = [_PREFIX, _size(cells)]
    last: FileCell | None = None
    for cell in cells:
        key = cell.flat_key()
        shared = 0 if last is None else _shared_with_time(last, cell)
        parts += (
            _compressed_int(len(key) - shared),
            _compressed_int(len(cell.value)),
            _compressed_int(shared),
            key[shared:],
            cell.value,
            variable_int(cell.sequence),
        )
        last = cell
    return b"".join(parts)


def diff_block(cells: Sequence[FileCell]) -> bytes:
    """Return the bytes with the encoding DIFF: also timestamps as differences."""
    parts = [_DIFF, _size(cells)]
    last: FileCell | None = None
    for cell in cells:
        flag, time, shared = 0, _signed(cell.timestamp_ms), 0
        if last is None:
            flag |= (len(time) - 1) << _TIMESTAMP_SHIFT
            parts += (len(cell.family).to_bytes(1, "big"), cell.family)
        else:
            shared = _shared(last, cell)
            flag = _same_lengths(last, cell) | _SAME_TYPE
            difference = last.timestamp_ms - cell.timestamp_ms
            as_difference = _signed(difference)
            if len(as_difference) < len(time):
                time = as_difference
                flag |= _IS_DIFFERENCE | (_NEGATIVE if difference < 0 else 0)
            flag |= (len(time) - 1) << _TIMESTAMP_SHIFT
        parts += (flag.to_bytes(1, "big"), _lengths(flag, cell), _compressed_int(shared))
        parts += (_rest_of_key(cell, shared), time)
        parts += (b"" if flag & _SAME_TYPE else _PUT, cell.value, variable_int(cell.sequence))
        last = cell
    return b"".join(parts)


def fast_diff_block(cells: Sequence[FileCell]) -> bytes:
    """Return the bytes with the encoding FAST_DIFF: also equal values only once."""
    parts = [_FAST_DIFF, _size(cells)]
    last: FileCell | None = None
    for cell in cells:
        if last is None:
            parts += (b"\x00", _lengths(0, cell), _compressed_int(0), cell.flat_key(), cell.value)
            parts.append(variable_int(cell.sequence))
            last = cell
            continue
        shared = _shared(last, cell)
        time = cell.timestamp_ms.to_bytes(_TIMESTAMP_BYTES, "big")
        before = last.timestamp_ms.to_bytes(_TIMESTAMP_BYTES, "big")
        same = min(_common(time, before), _TIMESTAMP_BYTES - 1)
        alike = _same_lengths(last, cell) | _SAME_TYPE
        is_same_value = last.value == cell.value
        flag = same | alike << _FAST_SHIFT | (_SAME_VALUE if is_same_value else 0)
        parts += (flag.to_bytes(1, "big"), _lengths(alike, cell), _compressed_int(shared))
        parts += (_rest_of_key(cell, shared), time[same:])
        parts += (b"" if is_same_value else cell.value, variable_int(cell.sequence))
        last = cell
    return b"".join(parts)


def row_index_block(cells: Sequence[FileCell]) -> bytes:
    """Return the bytes with the encoding ROW_INDEX_V1: plain cells, and the place of each row."""
    places, at, last = [], 0, None
    for cell in cells:
        if cell.row != last:
            places.append(at)
            last = cell.row
        at += cell.size_bytes + len(variable_int(cell.sequence))
    index = b"".join(place.to_bytes(ROW_INDEX_BYTES, "big") for place in places)
    ends = len(places).to_bytes(4, "big"), at.to_bytes(4, "big")
    return b"".join((_ROW_INDEX, plain_block(cells), ends[0], index, ends[1]))


ROW_INDEX_BYTES: Final = 4
"""What `ROW_INDEX_V1` writes for each row of a block, and counts as part of the block's size."""

ENCODINGS: Final[dict[str, Callable[[Sequence[FileCell]], bytes]]] = {
    "NONE": plain_block,
    "PREFIX": prefix_block,
    "DIFF": diff_block,
    "FAST_DIFF": fast_diff_block,
    "ROW_INDEX_V1": row_index_block,
}
"""The functions that return the bytes of a block, by the names of the encodings."""


def _size(cells: Sequence[FileCell]) -> bytes:
    """Return the size of a block without encoding, which stands behind the encoding's number."""
    return len(plain_block(cells)).to_bytes(4, "big")


def _common(first: bytes, second: bytes) -> int:
    """Return how many bytes two texts have in common at their beginning."""
    count = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        count += 1
    return count


def _shared(last: FileCell, cell: FileCell) -> int:
    """Return how many bytes two keys share, without timestamp and type.

    Row keys of different lengths share nothing beyond the bytes of their lengths.
    """
    if len(last.row) != len(cell.row):
        return int(len(last.row) >> 8 == len(cell.row) >> 8)
    rows = _common(last.row, cell.row)
    if rows != len(cell.row):
        return _ROW_LENGTH_BYTES + rows
    qualifiers = _common(last.qualifier, cell.qualifier)
    return _ROW_LENGTH_BYTES + rows + 1 + len(cell.family) + qualifiers


def _shared_with_time(last: FileCell, cell: FileCell) -> int:
    shared = _shared(last, cell)
    if last.row != cell.row or last.qualifier != cell.qualifier:
        return shared
    same = _common(*(each.timestamp_ms.to_bytes(_TIMESTAMP_BYTES, "big") for each in (last, cell)))
    return shared + same + (same == _TIMESTAMP_BYTES)


def _rest_of_key(cell: FileCell, shared: int) -> bytes:
    """Return the bytes of row key and qualifier that are not shared; no family is repeated."""
    start = shared - _ROW_LENGTH_BYTES
    if start < len(cell.row):
        row = len(cell.row).to_bytes(_ROW_LENGTH_BYTES, "big") + cell.row
        return row[shared:] + cell.qualifier
    return cell.qualifier[start - len(cell.row) - 1 - len(cell.family) :]


def _same_lengths(last: FileCell, cell: FileCell) -> int:
    flag = _SAME_KEY_LENGTH if last.key_bytes == cell.key_bytes else 0
    return flag | (_SAME_VALUE_LENGTH if len(last.value) == len(cell.value) else 0)


def _lengths(flag: int, cell: FileCell) -> bytes:
    key = b"" if flag & _SAME_KEY_LENGTH else _compressed_int(cell.key_bytes)
    return key + (b"" if flag & _SAME_VALUE_LENGTH else _compressed_int(len(cell.value)))


def _compressed_int(number: int) -> bytes:
    """Return a number in groups of 7 bits, as `ByteBufferUtils.putCompressedInt` does."""
    parts = bytearray()
    while number >> 7:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)


def _signed(number: int) -> bytes:
    """Return the bytes of a number without its sign, at least one, the lowest first."""
    size = max(1, (abs(number).bit_length() + 7) // 8)
    return abs(number).to_bytes(size, "little")
