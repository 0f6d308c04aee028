r"""Computes which regions can ever hold a row, from the possible beginnings of row keys.

Keys may have only hexadecimal digits. Split keys that are computed as numbers (`Bytes.split`)
ignore this: a region between "9" and "a" stays empty forever.

`survey` counts the beginnings in each region exactly, without listing them. `even_split` splits a
table so that the counts are equal. Both take `LeadingBytes`, which `leading` computes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Protocol, Self

from hbase_orm.errors import SchemaError
from hbase_orm.rowkey.notation import to_string_binary
from hbase_orm.rowkey.split_algorithms import check_regions

ANY_BYTE = bytes(range(256))
_LOWER_HEX = b"0123456789abcdef"
_UPPER_HEX = b"0123456789ABCDEF"
_DECIMAL = b"0123456789"


class ByteWords(Protocol):
    """One step of the beginnings of keys: words (bytes) that are not prefixes of each other."""

    @property
    def count(self) -> int:
        """The number of words."""

    def below(self, key: bytes) -> int:
        """Return the number of words that are less than `key` and not a prefix of it."""

    def match(self, key: bytes) -> int | None:
        """Return the length of the word that `key` begins with, or None if there is none."""

    def at(self, rank: int) -> bytes:
        """Return the word at position `rank` in ascending order."""


@dataclass(frozen=True, slots=True)
class OneOf:
    """A step with a list of words: salt buckets, codes of record types, or partitions.

    Attributes:
        words: The words: distinct, ascending and not empty; none is a prefix of another.
    """

    words: tuple[bytes, ...]

    def __post_init__(self) -> None:
        """Sort `words`; raise an error if there is none, or one is empty or a prefix of another."""
        words = tuple(sorted(self.words))
        # In byte order, the words that begin with a word follow it directly.
        clash = next((pair for pair in pairwise(words) if pair[1].startswith(pair[0])), None)
        if not words or b"" in words or clash:
            raise SchemaError(
                "one of the words is a prefix of another",
                words=self.words,
                fix="give distinct words that are not empty, each with its separator",
            )
        object.__setattr__(self, "words", words)

    @property
    def count(self) -> int:
        """The number of words."""
        return len(self.words)

    def below(self, key: bytes) -> int:
        """Return the number of words that are less than `key` and not a prefix of it."""
        return sum(word < key and not key.startswith(word) for word in self.words)

    def match(self, key: bytes) -> int | None:
        """Return the length of the word that `key` begins with, or None if there is none."""
        return next((len(word) for word in self.words if key.startswith(word)), None)

    def at(self, rank: int) -> bytes:
        """Return the word at position `rank` in ascending order."""
        return self.words[rank]

    def __str__(self) -> str:
        """Return the word if there is only one, else the number of words."""
        if self.count > 1:
            return f"one of {self.count} words"
        return f"'{to_string_binary(self.words[0])}'"


@dataclass(frozen=True, slots=True)
class Symbols:
    """A step of fixed width with an alphabet for each byte: digits, hashes, or fixed-width numbers.

    Attributes:
        alphabets: The possible bytes at each position, ascending.
        low: The smallest word, of the same width; None if only the alphabets limit it.
        high: The largest word, of the same width; None if only the alphabets limit it.
    """

    alphabets: tuple[bytes, ...]
    low: bytes | None = None
    high: bytes | None = None

    def __post_init__(self) -> None:
        """Sort the alphabets; raise an error if there is no word."""
        alphabets = tuple(bytes(sorted(set(each))) for each in self.alphabets)
        object.__setattr__(self, "alphabets", alphabets)
        widths = {len(end) for end in (self.low, self.high) if end is not None}
        if not alphabets or not widths <= {len(alphabets)} or self.count < 1:
            raise SchemaError(
                "no bytes are possible at the beginning of a key",
                alphabets=self.alphabets,
                low=self.low,
                high=self.high,
                fix="allow at least one byte at each position; give both ends the same width, "
                "the lower end first",
            )

    @property
    def count(self) -> int:
        """The number of words."""
        return max(0, self._ceiling() - self._floor())

    def below(self, key: bytes) -> int:
        """Return the number of words that are less than `key` and not a prefix of it."""
        return max(0, min(self._rank(key), self._ceiling()) - self._floor())

    def match(self, key: bytes) -> int | None:
        """Return the length of the word that `key` begins with, or None if there is none."""
        word = key[: len(self.alphabets)]
        fits = (
            self._has(word)
            and (self.low is None or self.low <= word)
            and (self.high is None or word <= self.high)
        )
        return len(word) if fits else None

    def at(self, rank: int) -> bytes:
        """Return the word at position `rank` in ascending order."""
        rank += self._floor()
        word: list[int] = []
        for alphabet in reversed(self.alphabets):
            rank, symbol = divmod(rank, len(alphabet))
            word.append(alphabet[symbol])
        return bytes(reversed(word))

    def __str__(self) -> str:
        """Return the number of bytes, and the number of symbols at each position, as text."""
        width, sizes = len(self.alphabets), sorted({len(each) for each in self.alphabets})
        text = "1 byte" if width == 1 else f"{width} bytes"
        if sizes[0] < len(ANY_BYTE):
            text += f" of {'/'.join(map(str, sizes))} symbols"
        return text if self.count == prod(map(len, self.alphabets)) else f"{text} within bounds"

    def _has(self, word: bytes) -> bool:
        return len(word) == len(self.alphabets) and all(
            byte in alphabet for byte, alphabet in zip(word, self.alphabets, strict=True)
        )

    def _floor(self) -> int:
        return 0 if self.low is None else self._rank(self.low)

    def _ceiling(self) -> int:
        if self.high is None:
            return prod(map(len, self.alphabets))
        return self._rank(self.high) + self._has(self.high)

    def _rank(self, key: bytes) -> int:
        """Return the result of `below` for a step without the limits `low` and `high`."""
        rank, following = 0, prod(map(len, self.alphabets))
        for byte, alphabet in zip(key, self.alphabets, strict=False):
            following //= len(alphabet) or 1
            rank += sum(symbol < byte for symbol in alphabet) * following
            if byte not in alphabet:
                break
        return rank


def _counted(width_bytes: int) -> int:
    """Check a width and return it.

    Raises:
        SchemaError: The width is not a positive integer.
    """
    if type(width_bytes) is not int or width_bytes < 1:
        raise SchemaError(
            "the number of leading bytes must be a positive integer",
            width_bytes=width_bytes,
            fix="e.g. LeadingBytes.hex_digits(4)",
        )
    return width_bytes


@dataclass(frozen=True, slots=True)
class LeadingBytes:
    """The possible beginnings of a table's row keys.

    Every row key begins with one word of each step, in order. A beginning is one combination of
    such words. All beginnings are treated as equally frequent.

    Attributes:
        steps: The steps; empty if the beginnings are unknown.
        is_whole: Whether row keys end after the last of `steps`; otherwise any bytes may follow.
    """

    steps: tuple[ByteWords, ...] = ()
    is_whole: bool = False

    def __post_init__(self) -> None:
        """Raise an error if `is_whole` is set, but `steps` is empty."""
        if self.is_whole and not self.steps:
            raise SchemaError("the key has no steps", fix="give at least one step")

    @classmethod
    def words(cls, words: Iterable[bytes]) -> Self:
        """Return the beginnings of row keys that start with one of `words`.

        Raises:
            SchemaError: There are no words, or a word is empty or a prefix of another.
        """
        return cls((OneOf(tuple(words)),))

    @classmethod
    def hex_digits(cls, width_bytes: int, *, is_upper: bool = False) -> Self:
        """Return the beginnings of row keys that start with `width_bytes` hexadecimal digits."""
        return cls((Symbols((_UPPER_HEX if is_upper else _LOWER_HEX,) * _counted(width_bytes)),))

    @classmethod
    def decimal_digits(cls, width_bytes: int) -> Self:
        """Return the beginnings of row keys that start with `width_bytes` decimal digits."""
        return cls((Symbols((_DECIMAL,) * _counted(width_bytes)),))

    @classmethod
    def any_bytes(cls, width_bytes: int) -> Self:
        """Return the beginnings of row keys that start with any `width_bytes` bytes."""
        return cls((Symbols((ANY_BYTE,) * _counted(width_bytes)),))

    def then(self, following: LeadingBytes) -> LeadingBytes:
        """Return the beginnings that consist of these steps, then the steps of `following`."""
        return LeadingBytes((*self.steps, *following.steps), following.is_whole)

    @property
    def count(self) -> int | None:
        """The number of possible beginnings of row keys; None if `steps` is empty."""
        return prod(step.count for step in self.steps) if self.steps else None

    def at(self, rank: int) -> bytes:
        """Return the beginning at position `rank` in ascending order, from 0 to `count` - 1."""
        words: list[bytes] = []
        for step in reversed(self.steps):
            rank, place = divmod(rank, step.count)
            words.append(step.at(place))
        return b"".join(reversed(words))

    def count_within(self, start: bytes, stop: bytes | None) -> int:
        """Return the number of beginnings that the row keys of a region can have.

        If `start` or `stop` consists of a beginning and more bytes, row keys on both sides of it
        can have this beginning. The beginning then counts in both regions, unless `is_whole`.

        Args:
            start: The first key of the region.
            stop: The first key after the region; None for the last region.
        """
        # If more bytes may follow, a key after `start` can have a beginning that `start` has.
        first = self._count_below(start) if self.is_whole else self._place(start)[0]
        last = prod(step.count for step in self.steps) if stop is None else self._count_below(stop)
        return max(0, last - first)

    def _count_below(self, key: bytes) -> int:
        before, is_begun, rest = self._place(key)
        return before + (is_begun and rest != b"")

    def _place(self, key: bytes) -> tuple[int, bool, bytes]:
        """Return the place of a key among the possible beginnings of row keys.

        Returns:
            - The number of beginnings before `key`. A prefix of `key` does not count.
            - Whether a beginning is a prefix of `key`.
            - The bytes of `key` after this prefix. Without such a prefix they have no meaning.
        """
        before = 0
        following = prod(step.count for step in self.steps)
        for step in self.steps:
            following //= step.count
            before += step.below(key) * following
            length = step.match(key)
            if length is None:
                return before, False, key
            key = key[length:]
        return before, True, key

    def __str__(self) -> str:
        """Return the steps as text."""
        end = "nothing" if self.is_whole else "anything"
        return ", then ".join([*map(str, self.steps), end])


@dataclass(frozen=True, slots=True)
class RegionReach:
    """A region, and its share of the possible beginnings of row keys.

    Attributes:
        start: The first key of the region.
        stop: The end of the region, excluded; None for the last region.
        is_reachable: Whether the region can ever hold a row.
        beginnings: The number of possible beginnings in the region; None if they are unknown.
        share: The fraction of all beginnings that is in the region, 0 to 1. None if the beginnings
            are unknown. The shares of all regions may add up to more than 1, because a beginning
            can be in two regions: see `LeadingBytes.count_within`.
    """

    start: bytes
    stop: bytes | None
    is_reachable: bool
    beginnings: int | None
    share: float | None


def even_split(regions: int, leading: LeadingBytes) -> tuple[bytes, ...]:
    r"""Return split keys that give every region the same number of beginnings, or one more.

    Args:
        regions: The number of regions; the number of returned keys is one less.
        leading: The possible beginnings of row keys.

    Raises:
        SchemaError: `regions` is less than 1 or more than the number of beginnings, or the
            beginnings are unknown.

    Examples:
        >>> months = LeadingBytes.words(b"%02d" % month for month in range(1, 13))
        >>> even_split(4, months)
        (b'04', b'07', b'10')
        >>> even_split(24, months.then(LeadingBytes.decimal_digits(1)))[:3]
        (b'015', b'020', b'025')
    """
    count = leading.count
    if count is None:
        raise SchemaError(
            "the library cannot compute split keys: the model does not show what bytes the "
            "row keys begin with",
            fix="give the split keys yourself",
        )
    check_regions(regions, 1, most=count)
    return tuple(leading.at(count * number // regions) for number in range(1, regions))


def survey(split_keys: Sequence[bytes], leading: LeadingBytes) -> tuple[RegionReach, ...]:
    r"""Return the regions between the split keys, in order, with their shares of the beginnings.

    Args:
        split_keys: The split keys, in any order.
        leading: The possible beginnings of row keys.

    Raises:
        SchemaError: A split key is not bytes, is empty, or is given twice.

    Examples:
        >>> [each.share for each in survey([b"5", b"a"], LeadingBytes.decimal_digits(2))]
        [0.5, 0.5, 0.0]
    """
    if isinstance(split_keys, bytes) or not all(isinstance(key, bytes) for key in split_keys):
        raise SchemaError("a split key is not bytes", splits=split_keys, fix='e.g. [b"4", b"8"]')
    keys = sorted(split_keys)
    if len(set(keys)) < len(keys) or b"" in keys:
        raise SchemaError(
            "split keys must be distinct and not empty", splits=keys, fix="name each key once"
        )
    borders: list[bytes | None] = [*keys, None]
    return tuple(
        _reach(start, stop, leading) for start, stop in zip([b"", *keys], borders, strict=True)
    )


def unreachable_regions(
    split_keys: Sequence[bytes], leading: LeadingBytes
) -> tuple[RegionReach, ...]:
    r"""Return the regions that can never hold a row.

    Raises:
        SchemaError: A split key is not bytes, is empty, or is given twice.

    Examples:
        >>> idle = unreachable_regions([b"0", b":", b"a"], LeadingBytes.hex_digits(16))
        >>> [(region.start, region.stop) for region in idle]
        [(b'', b'0'), (b':', b'a')]
    """
    return tuple(region for region in survey(split_keys, leading) if not region.is_reachable)


def _reach(start: bytes, stop: bytes | None, leading: LeadingBytes) -> RegionReach:
    count = leading.count
    if count is None:
        # No row key is empty, so nothing lies before the one zero byte.
        return RegionReach(start, stop, (start, stop) != (b"", b"\x00"), None, None)
    beginnings = leading.count_within(start, stop)
    return RegionReach(start, stop, beginnings > 0, beginnings, beginnings / count)
