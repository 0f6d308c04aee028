"""A range asked of a server and cut to size here holds exactly its row keys, in both directions."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from hbase_orm.gateway.thrift.scan_bounds import ScanBounds, server_bounds
from hbase_orm.ops import MAX_ROW_KEY_BYTES, KeyRange, Row

# Bytes around which ranges go wrong: the least, its successor, the greatest and its predecessor.
_bytes = st.lists(st.sampled_from([0, 1, 97, 98, 254, 255]), max_size=4).map(bytes)
_row_keys = st.sets(_bytes.filter(bool), max_size=30)
_LONGEST = b"a" * MAX_ROW_KEY_BYTES


def _served(bounds: ScanBounds, keys: set[bytes]) -> list[Row]:
    """Return what HBase answers: start included, stop excluded, in the scan's direction."""
    start, stop = bounds.start_row, bounds.stop_row
    for bound in (start, stop):
        assert bound is None or len(bound) <= MAX_ROW_KEY_BYTES
    if bounds.is_reverse:
        found = [
            key for key in keys if (start is None or key <= start) and (not stop or key > stop)
        ]
        return [Row(key, {}) for key in sorted(found, reverse=True)]
    found = [key for key in keys if (start is None or key >= start) and (not stop or key < stop)]
    return [Row(key, {}) for key in sorted(found)]


@given(
    start=_bytes,
    stop=st.none() | _bytes,
    keys=_row_keys,
    is_reverse=st.booleans(),
    batch=st.integers(1, 5),
)
@example(
    start=b"b",
    stop=None,
    keys={b"a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", b"b"},
    is_reverse=True,
    batch=1,
)
@example(start=b"\x00", stop=b"\x01", keys={b"\x00", b"\x01"}, is_reverse=True, batch=1)
@example(start=_LONGEST + b"\x00", stop=None, keys={_LONGEST, b"b"}, is_reverse=False, batch=1)
@example(start=_LONGEST + b"\x00", stop=None, keys={_LONGEST, b"b"}, is_reverse=True, batch=2)
@example(start=b"", stop=_LONGEST + b"\x00", keys={_LONGEST, b"b"}, is_reverse=False, batch=2)
@example(start=b"", stop=_LONGEST + b"\x00", keys={_LONGEST, b"b"}, is_reverse=True, batch=1)
@example(start=_LONGEST + b"\x00\x00", stop=None, keys={_LONGEST, b"b"}, is_reverse=True, batch=2)
@example(start=_LONGEST, stop=None, keys={_LONGEST[:-1], _LONGEST}, is_reverse=True, batch=1)
def test_the_rows_kept_are_those_of_the_range_in_order(
    *, start: bytes, stop: bytes | None, keys: set[bytes], is_reverse: bool, batch: int
) -> None:
    key_range = KeyRange(start, stop)
    if key_range.is_empty:
        return
    bounds = server_bounds(key_range, is_reverse=is_reverse)
    served = _served(bounds, keys)
    kept: list[bytes] = []
    is_past = False

    for first in range(0, len(served), batch):
        rows, is_past = bounds.select(served[first : first + batch])
        kept += [row.key for row in rows]
        if is_past:
            break

    expected = sorted((key for key in keys if key in key_range), reverse=is_reverse)
    assert kept == expected


def test_a_forward_scan_needs_no_second_look() -> None:
    assert server_bounds(KeyRange(b"a", b"b"), is_reverse=False).keep is None


def test_a_reverse_scan_ends_at_the_first_row_below_the_range() -> None:
    bounds = server_bounds(KeyRange(b"b", b"c"), is_reverse=True)

    rows, is_past = bounds.select([Row(b"bx", {}), Row(b"a\xff", {})])

    assert [row.key for row in rows] == [b"bx"]
    assert is_past
