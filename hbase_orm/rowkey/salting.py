"""Salt buckets: a small number that is computed from a row key's bytes and put before them.

The hash "phoenix" is that of Apache Phoenix's `SaltingUtil`: a 31-polynomial over *signed* bytes in
32-bit arithmetic. The bucket is Java's `Math.abs(hash % n)`. In Python this is `abs(hash) % n`,
also for Integer.MIN_VALUE.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final
from zlib import crc32

from hbase_orm.codecs.source import Scope, literal

MAX_BUCKETS = 256

_BITS = (1 << 32) - 1
_SIGN = 1 << 31
# Reading digits in base 31 computes such a polynomial, and `int` does it in C: 20 bytes take about
# a third of a loop's time. A byte, made unsigned by adding 128, is 16 times one digit plus another.
_BASE = 31
_DIGITS = b"0123456789abcdef"
_HIGH = bytes(_DIGITS[(byte ^ 0x80) >> 4] for byte in range(256))
_LOW = bytes(_DIGITS[(byte ^ 0x80) & 0xF] for byte in range(256))
_MOST_DIGITS = 256  # the time grows quadratically; a setting of Python's may forbid 640 and more
_POWERS: tuple[int, ...] = tuple(_BASE**count & _BITS for count in range(_MOST_DIGITS + 1))
_ADDED: tuple[int, ...] = tuple(
    128 * (_BASE**count - 1) // (_BASE - 1) & _BITS for count in range(_MOST_DIGITS + 1)
)
_OFFSETS = tuple(power - added for power, added in zip(_POWERS, _ADDED, strict=True))


def phoenix_hash(data: bytes) -> int:
    r"""Return Phoenix's signed 32-bit hash of `data`.

    Examples:
        >>> phoenix_hash(bytes.fromhex("9600f60013fe")) == -(2**31)
        True
    """
    length = len(data)
    if not 0 < length <= _MOST_DIGITS:
        return _hash_in_pieces(data)
    summed = 16 * int(data.translate(_HIGH), _BASE) + int(data.translate(_LOW), _BASE)
    return (summed + _OFFSETS[length] & _BITS ^ _SIGN) - _SIGN


def _hash_in_pieces(data: bytes) -> int:
    value = 1
    for start in range(0, len(data), _MOST_DIGITS):
        piece = data[start : start + _MOST_DIGITS]
        summed = 16 * int(piece.translate(_HIGH), _BASE) + int(piece.translate(_LOW), _BASE)
        value = value * _POWERS[len(piece)] + summed - _ADDED[len(piece)] & _BITS
    return (value ^ _SIGN) - _SIGN


HASHES: Mapping[str, Callable[[bytes], int]] = MappingProxyType(
    {"phoenix": phoenix_hash, "crc32": crc32}
)
"""Hash functions a salt can use, by their stable names."""

ENTRY_HASH: Final = "crc32"
"""The hash for the buckets of index entries.

With the hash of Phoenix, an entry whose value and row key count up together, as times and numbers
do, would get only every second bucket; and always the same bucket if the value is descending,
because the two changes cancel out.
"""


def bucket_of(data: bytes, bucket_count: int, hash_name: str = "phoenix") -> int:
    """Return the salt bucket of `data`, from 0 to `bucket_count` - 1.

    Examples:
        >>> [bucket_of(key, 4) for key in (b"foo0001", b"foo0002", b"foo0003", b"foo0004")]
        [2, 3, 0, 1]
    """
    return abs(HASHES[hash_name](data)) % bucket_count


def bucket_source(hashed: str, bucket_count: int, hash_name: str, scope: Scope) -> str:
    """Return the Python source that computes a salt bucket as one byte.

    Args:
        hashed: The source of the hashed bytes.
        bucket_count: 2 to 256.
        hash_name: The name of a hash in `HASHES`.
        scope: The global names of the generated function; names that the source needs are added.
    """
    buckets = scope.bind(tuple(bytes((bucket,)) for bucket in range(bucket_count)), "buckets")
    value = f"{scope.bind(HASHES[hash_name], 'hash')}({hashed})"
    if hash_name == "phoenix":
        value = f"abs({value})"  # other hashes are never negative
    return f"{buckets}[{value} % {literal(bucket_count)}]"
