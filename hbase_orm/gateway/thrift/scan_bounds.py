"""Converts key ranges to the start and stop rows of a server's scan.

HBase's Thrift scans include the start row and exclude the stop row, in the direction of the scan. A
key range includes its low end and excludes its high end. A reverse scan cannot express this
exactly. So a reverse scan reads slightly more, and the rows outside of the range are dropped here.
"""

from __future__ import annotations

from dataclasses import dataclass

from hbase_orm.ops import MAX_ROW_KEY_BYTES, KeyRange, Row, after_prefix

# The greatest row key below b"a" is very long: b"`" and 0xFF bytes up to the longest key. This many
# 0xFF bytes are near enough: the rows between (if any) come last in a reverse scan.
_NEAR_BYTES = 9


@dataclass(frozen=True, slots=True)
class ScanBounds:
    """The start and stop row of a server's scan, and the range of the returned rows to keep.

    Attributes:
        start_row: The row key at which the scan starts, included. None means the first row of the
            table, or the last row in a reverse scan.
        stop_row: The row key at which the scan stops, excluded. None means no limit.
        keep: The range of the rows to keep; None if the server returns exactly the wanted rows.
        is_reverse: Whether the rows are in descending order of their keys.
    """

    start_row: bytes | None
    stop_row: bytes | None
    keep: KeyRange | None
    is_reverse: bool

    def select(self, rows: list[Row]) -> tuple[list[Row], bool]:
        """Return the rows in `keep`, and whether the scan has passed all of `keep`.

        `rows` are the next rows of the scan. If `keep` is None, all of them are returned, and the
        second value is False. The server then ends the scan at the right row.
        """
        keep = self.keep
        if keep is None or not rows or (rows[0].key in keep and rows[-1].key in keep):
            return rows, False
        last = rows[-1].key
        kept = [row for row in rows if row.key in keep]
        if self.is_reverse:
            return kept, last < keep.start
        return kept, keep.stop is not None and last >= keep.stop


def server_bounds(key_range: KeyRange, *, is_reverse: bool) -> ScanBounds:
    r"""Return bounds for a server's scan of `key_range`, with few rows outside of the range.

    `key_range` must not be empty.

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
        # `start` is longer than any row key: shortening it adds only one row key, the short form.
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
    """Return a byte string that sorts before `key`, with as few row keys as possible in between."""
    if len(key) > MAX_ROW_KEY_BYTES:
        # No row key lies between a key of the greatest length and `key`, which starts with it.
        return key[:MAX_ROW_KEY_BYTES]
    if key[-1] == 0:
        # The string before b"a\x00" is b"a": nothing lies between.
        return key[:-1]
    return (key[:-1] + bytes([key[-1] - 1]) + b"\xff" * _NEAR_BYTES)[:MAX_ROW_KEY_BYTES]
