"""Salt buckets: a small number computed from a row key's other bytes, put in front of it.

The hash "phoenix" is Apache Phoenix's `SaltingUtil`: a 31-polynomial over *signed* bytes in 32-bit
arithmetic, and the bucket is `abs(hash % n)` with Java's truncating remainder, which equals
`abs(hash) % n` also for Integer.MIN_VALUE.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from zlib import crc32

_INT32 = 1 << 32
_SIGN = 1 << 31
_SIGNED = (*range(128), *range(-128, 0))
# Python's integers do not overflow: masking now and then is enough and twice as fast.
_UNMASKED_BYTES = 16

MAX_BUCKETS = 256


def phoenix_hash(data: bytes) -> int:
    r"""Return Phoenix's signed 32-bit hash of `data`.

    Examples:
        >>> phoenix_hash(bytes.fromhex("9600f60013fe")) == -(2**31)
        True
    """
    value = 1
    for start in range(0, len(data), _UNMASKED_BYTES):
        for byte in data[start : start + _UNMASKED_BYTES]:
            value = 31 * value + _SIGNED[byte]
        value &= _INT32 - 1
    return value - _INT32 if value & _SIGN else value


HASHES: Mapping[str, Callable[[bytes], int]] = MappingProxyType(
    {"phoenix": phoenix_hash, "crc32": crc32}
)
"""Hash functions a salt can use, by their stable names."""


def bucket_of(data: bytes, bucket_count: int, hash_name: str = "phoenix") -> int:
    """Return the salt bucket of `data`, from 0 to `bucket_count` - 1.

    Examples:
        >>> [bucket_of(key, 4) for key in (b"foo0001", b"foo0002", b"foo0003", b"foo0004")]
        [2, 3, 0, 1]
    """
    return abs(HASHES[hash_name](data)) % bucket_count
