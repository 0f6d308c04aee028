"""Ranges of row keys, and HBase's limits on the sizes of row keys and cells."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hbase_orm.errors import RowKeyError

# HConstants.MAX_ROW_LENGTH is Short.MAX_VALUE; 32768 bytes are refused, 32767 stored (HBase 2.6).
MAX_ROW_KEY_BYTES = 32_767

# HBase's own client, within the gateways, finds a row's region by `table,key,99999999999999` in
# hbase:meta, which must itself be a row key. A longer one works only while the region happens to be
# known; otherwise the request hangs until its deadline (HBase 2.6).
_LOCATOR_BYTES = 16

# hbase.client.keyvalue.maxsize and hbase.server.keyvalue.maxsize: 10 MiB per cell, with its key.
MAX_CELL_BYTES = 10_485_760


@dataclass(frozen=True, slots=True)
class KeyRange:
    """A range of row keys: `start` included, `stop` excluded.

    Attributes:
        start: The smallest row key of the range; empty means the beginning of the table.
        stop: The smallest row key after the range; None means the end of the table.
    """

    start: bytes = b""
    stop: bytes | None = None

    @classmethod
    def prefix(cls, prefix: bytes) -> KeyRange:
        r"""Return the range of every row key that starts with `prefix`.

        The stop key is the smallest byte string after all these row keys. It is the prefix without
        trailing `0xFF` bytes, with the last remaining byte incremented. A prefix of only `0xFF`
        bytes has no such string, so the range then runs to the end of the table.

        Raises:
            RowKeyError: `prefix` is longer than the longest row key HBase stores.

        Examples:
            >>> KeyRange.prefix(b"a\xff")
            KeyRange(start=b'a\xff', stop=b'b')
            >>> KeyRange.prefix(b"\xff\xff")
            KeyRange(start=b'\xff\xff', stop=None)
        """
        check_row_key_length(prefix)
        return cls(prefix, after_prefix(prefix))

    @classmethod
    def single(cls, key: bytes) -> KeyRange:
        r"""Return the range that holds `key` and no other row key.

        Examples:
            >>> KeyRange.single(b"a")
            KeyRange(start=b'a', stop=b'a\x00')
        """
        return cls(key, key + b"\x00")

    @property
    def is_empty(self) -> bool:
        """Return whether no row key is in the range."""
        return self.stop is not None and self.start >= self.stop

    def __contains__(self, key: bytes) -> bool:
        """Return whether `key` is in the range."""
        return self.start <= key and (self.stop is None or key < self.stop)

    def intersect(self, other: KeyRange) -> KeyRange:
        """Return the range of the keys that are in both ranges."""
        stops = [stop for stop in (self.stop, other.stop) if stop is not None]
        return KeyRange(max(self.start, other.start), min(stops) if stops else None)


def after_prefix(prefix: bytes) -> bytes | None:
    r"""Return the smallest byte string that sorts after all strings with this prefix.

    Return None if there is no such string, because the prefix is empty or has only `0xFF` bytes.
    The string is not the prefix plus 1 as a number: `b"\xff"` would give `b"\x01\x00"`, which
    sorts *before* `b"\xff"`.
    """
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else None


def check_row_key_length(key: bytes) -> None:
    """Raise an error for a row key that is too long for HBase.

    Raises:
        RowKeyError: `key` is longer than 32,767 bytes.
    """
    if len(key) > MAX_ROW_KEY_BYTES:
        raise RowKeyError(
            "the row key is longer than HBase stores",
            length_bytes=len(key),
            limit_bytes=MAX_ROW_KEY_BYTES,
            starts_with=key[:16],
            fix="shorten a component, or put a Digest of it in the key",
        )


def longest_row_key_bytes(table: str) -> int:
    """Return the length in bytes of the longest row key of `table` whose region HBase can locate.

    Examples:
        >>> longest_row_key_bytes("ns:flights")
        32741
    """
    return MAX_ROW_KEY_BYTES - _LOCATOR_BYTES - len(table.encode())


def merged(ranges: Iterable[KeyRange]) -> list[KeyRange]:
    """Join ranges that overlap or touch, and return the resulting ranges in key order.

    Empty ranges are left out.
    """
    joined: list[KeyRange] = []
    for each in sorted((r for r in ranges if not r.is_empty), key=lambda r: r.start):
        last = joined[-1] if joined else None
        if last is not None and (last.stop is None or each.start <= last.stop):
            is_longer = last.stop is not None and (each.stop is None or each.stop > last.stop)
            joined[-1] = KeyRange(last.start, each.stop if is_longer else last.stop)
        else:
            joined.append(each)
    return joined
