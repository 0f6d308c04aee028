"""Converts key ranges to the start and stop rows of a server's scan.

HBase's Thrift scans include the start row and exclude the stop row, in the direction of the scan.
So a reverse scan cannot exactly have a range with an included low end and an excluded high end: it
reads slightly more, and rows outside of the range are dropped here.
"""

from __future__ import annotations

from dataclasses import dataclass

from hbase_orm.ops import MAX_ROW_KEY_BYTES, KeyRange, Row, after_prefix

# The least row key below b"a" does not exist; b"`" and this many 0xFF bytes is near enough, and
# the rows between (if any) come last in a reverse scan.
_NEAR_BYTES = 9


@dataclass(frozen=True, slots=True)
class ScanBounds:
    """The bounds for a server, and the range of the rows to keep of its answers.

    Attributes:
        start_row: The first row in the scan's direction, included; None for the end of the table.
        stop_row: The end of the scan, excluded; None for the end of the table.
        keep: The range of the rows to keep; None if the server's bounds are exact.
        is_reverse: Whether the rows are in descending order of their keys.
    """

    start_row: bytes | None
    stop_row: bytes | None
    keep: KeyRange | None
    is_reverse: bool

    def select(self, rows: list[Row]) -> tuple[list[Row], bool]:
        """Return the rows in the range, and whether no later row can be in it."""
        keep = self.keep
        if keep is None or not rows or (rows[0].key in keep and rows[-1].key in keep):
            return rows, False
        last = rows[-1].key
        kept = [row for row in rows if row.key in keep]
        if self.is_reverse:
            return kept, last < keep.start
        return kept, keep.stop is not None and last >= keep.stop


def server_bounds(key_range: KeyRange, *, is_reverse: bool) -> ScanBounds:
    r"""Return the smallest server range that contains `key_range`, which must not be empty.

    Examples:
        >>> server_bounds(KeyRange(b"a", b"c"), is_reverse=False)
        ScanBounds(start_row=b'a', stop_row=b'c', keep=None, is_reverse=False)
        >>> server_bounds(KeyRange(b"a\x00", b"c"), is_reverse=True).stop_row
        b'a'
    """
    if is_reverse:
        return _reverse_bounds(key_range)
    start, stop = key_range.start or None, key_range.stop
    is_exact = True
    if start is not None and len(start) > MAX_ROW_KEY_BYTES:
        # Longer than any row key: its own beginning is the only storable key it might exclude.
        start, is_exact = start[:MAX_ROW_KEY_BYTES], False
    if stop is not None and len(stop) > MAX_ROW_KEY_BYTES:
        stop, is_exact = after_prefix(stop[:MAX_ROW_KEY_BYTES]), False
    return ScanBounds(start, stop, None if is_exact else key_range, is_reverse=False)


def _reverse_bounds(key_range: KeyRange) -> ScanBounds:
    high = key_range.stop
    low = _just_below(key_range.start) if key_range.start else None
    return ScanBounds(
        None if high is None else high[:MAX_ROW_KEY_BYTES], low, key_range, is_reverse=True
    )


def _just_below(key: bytes) -> bytes:
    """Return a byte string before `key` with as few row keys as possible between them."""
    if len(key) > MAX_ROW_KEY_BYTES:
        # No storable row key lies between a key of full length and what it begins.
        return key[:MAX_ROW_KEY_BYTES]
    if key[-1] == 0:
        # The string before b"a\x00" is b"a": nothing lies between.
        return key[:-1]
    return (key[:-1] + bytes([key[-1] - 1]) + b"\xff" * _NEAR_BYTES)[:MAX_ROW_KEY_BYTES]
