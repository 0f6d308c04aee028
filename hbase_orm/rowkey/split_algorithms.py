"""Split keys by arithmetic: the results of HBase's own algorithms, to the byte.

- `hex_string_split`, `uniform_split` and `decimal_string_split` are algorithms of `RegionSplitter`.
- `bytes_split` is `Bytes.split`.
- `range_split` is the split of `Admin.createTable`.
- `guide_hex_split` is an example in HBase's reference guide.

None of these algorithms considers which keys are possible. `reach` finds the regions that can ever
hold a row.
"""

from __future__ import annotations

from string import digits, hexdigits

from hbase_orm.errors import SchemaError

_GUIDE_WIDTH = 16
_UNIFORM_LAST = b"\xff" * 8
_RANGE_LEAST_REGIONS = 3


def hex_string_split(
    regions: int, first: str = "00000000", last: str = "FFFFFFFF"
) -> tuple[bytes, ...]:
    """Return the split keys of `HexStringSplit`, for keys that begin with hexadecimal digits.

    The split keys are in lower case, as long as `last`, and evenly spaced. The last region gets the
    remainder. Digits in upper case sort differently from 'A' on, so such keys need other split
    keys.

    Args:
        regions: The number of regions; the number of returned keys is one less.
        first: The smallest key, in hexadecimal digits.
        last: The largest key, in the same form.

    Raises:
        SchemaError: `regions` is less than 1 or more than the number of keys. Or `first` or `last`
            is not hexadecimal. Or `last` is not greater than `first`.

    Examples:
        >>> hex_string_split(4)
        (b'40000000', b'80000000', b'c0000000')
    """
    return _number_split("hex", regions, first, last)


def decimal_string_split(
    regions: int, first: str = "00000000", last: str = "99999999"
) -> tuple[bytes, ...]:
    """Return the split keys of `DecimalStringSplit`, for keys that begin with decimal digits.

    Args:
        regions: The number of regions; the number of returned keys is one less.
        first: The smallest key, in decimal digits.
        last: The largest key, in decimal digits; the split keys have the same length.

    Raises:
        SchemaError: As for `hex_string_split`.

    Examples:
        >>> decimal_string_split(4, "0000", "0011")
        (b'0003', b'0006', b'0009')
    """
    return _number_split("decimal", regions, first, last)


def guide_hex_split(
    regions: int, first: str = "0" * _GUIDE_WIDTH, last: str = "f" * _GUIDE_WIDTH
) -> tuple[bytes, ...]:
    """Return the split keys of `getHexSplits`, the example in HBase's reference guide.

    Unlike `hex_string_split`, it excludes the last key: the first of 15 split keys is 0fff… and not
    1000…. It always writes 16 digits.

    Args:
        regions: The number of regions; the number of returned keys is one less.
        first: The smallest key, in at most 16 hexadecimal digits.
        last: The largest key, in the same form.

    Raises:
        SchemaError: As for `hex_string_split`, or `first` or `last` has more than 16 digits.

    Examples:
        >>> guide_hex_split(4)[0], hex_string_split(4, "0" * 16, "f" * 16)[0]
        (b'3fffffffffffffff', b'4000000000000000')
    """
    low, high = _ends("hex", first, last)
    if max(len(first), len(last)) > _GUIDE_WIDTH:
        raise SchemaError("the first or last key has more than 16 digits", first=first, last=last)
    check_regions(regions, 1, most=high - low)
    step = (high - low) // regions
    return tuple(b"%016x" % (low + step * number) for number in range(1, regions))


def uniform_split(
    regions: int, first: bytes = b"", last: bytes = _UNIFORM_LAST
) -> tuple[bytes, ...]:
    r"""Return the split keys of `UniformSplit`, for keys that begin with evenly spread bytes.

    Args:
        regions: The number of regions, 2 or more; the number of returned keys is one less.
        first: The smallest key.
        last: The largest key, included.

    Raises:
        SchemaError: `regions` is less than 2, or `last` is not greater than `first`.

    Examples:
        >>> uniform_split(3, last=b"\xff")
        (b'U', b'\xaa')
    """
    check_regions(regions, 2)
    return bytes_split(first, last, regions - 1, inclusive=True)[1:-1]


def range_split(regions: int, first: bytes, last: bytes) -> tuple[bytes, ...]:
    """Return the split keys of `Admin.createTable` for two keys and a number of regions.

    `first` and `last` are split keys themselves, so one region is before `first` and one begins at
    `last`. If they are the smallest and the largest existing key, both regions are almost empty.

    Args:
        regions: The number of regions, 3 or more; the number of returned keys is one less.
        first: The first split key.
        last: The last split key.

    Raises:
        SchemaError: `regions` is less than 3, or `last` is not greater than `first`.

    Examples:
        >>> range_split(4, b"a", b"c")
        (b'a', b'b', b'c')
    """
    check_regions(regions, _RANGE_LEAST_REGIONS)
    if regions > _RANGE_LEAST_REGIONS:
        return bytes_split(first, last, regions - _RANGE_LEAST_REGIONS)
    _refuse_disorder(first, last, is_ordered=first < last)
    return first, last


def bytes_split(
    start: bytes, stop: bytes, count: int, *, inclusive: bool = False
) -> tuple[bytes, ...]:
    r"""Return `Bytes.split(start, stop, inclusive, count)`: both ends and `count` keys between.

    The keys are as long as the longer of `start` and `stop`. They are longer if there are too few
    keys of this length between the two.

    Args:
        start: The first key returned.
        stop: The last key returned.
        count: The number of keys between `start` and `stop`, 1 or more.
        inclusive: Whether `stop` is part of the range that is divided. In a range of few keys, the
            last of the `count` keys may then be `stop` itself.

    Raises:
        SchemaError: `count` is less than 1, or `stop` is not greater than `start` when the shorter
            key is padded with zero bytes.

    Examples:
        >>> bytes_split(b"a", b"e", 3)
        (b'a', b'b', b'c', b'd', b'e')
        >>> bytes_split(b"\x01", b"\x02", 1)
        (b'\x01\x00', b'\x01\x80', b'\x02\x00')
    """
    _check_whole("count", count, 1)
    width = max(len(start), len(stop))
    low, high = (int.from_bytes(end.ljust(width, b"\x00"), "big") for end in (start, stop))
    _refuse_disorder(start, stop, is_ordered=low < high)
    first, last = start, stop
    while high - low + inclusive < count + 1:
        width, low, high = width + 1, low << 8, high << 8
        first, last = low.to_bytes(width, "big"), high.to_bytes(width, "big")
    step = (high - low + inclusive) // (count + 1)
    between = ((low + step * number).to_bytes(width, "big") for number in range(1, count + 1))
    return (first, *between, last)


def check_regions(regions: int, least: int, *, most: int | None = None) -> None:
    """Raise an error for an impossible number of regions.

    Raises:
        SchemaError: `regions` is not an integer from `least` to `most`.
    """
    _check_whole("regions", regions, least)
    if most is not None and regions > most:
        raise SchemaError(
            "the number of regions is larger than the number of keys",
            regions=regions,
            keys=most,
            fix="ask for fewer regions",
        )


def _check_whole(option: str, value: object, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise SchemaError(
            "the option is out of range",
            option=option,
            value=value,
            fix=f"give a whole number, {least} or more",
        )


_BASES = {"hex": (16, hexdigits), "decimal": (10, digits)}


def _number_split(base: str, regions: int, first: str, last: str) -> tuple[bytes, ...]:
    low, high = _ends(base, first, last)
    size = high - low + 1  # the last key is included
    check_regions(regions, 1, most=size)
    step, form = size // regions, f"0{len(last)}{'x' if base == 'hex' else 'd'}"
    return tuple(f"{low + step * number:{form}}".encode() for number in range(1, regions))


def _ends(base: str, first: str, last: str) -> tuple[int, int]:
    radix, alphabet = _BASES[base]
    for end in (first, last):
        if not isinstance(end, str) or not end or not set(end) <= set(alphabet):
            raise SchemaError(
                f"the first or last key is not a {base} number", end=end, fix=f"use only {alphabet}"
            )
    low, high = int(first, radix), int(last, radix)
    _refuse_disorder(first, last, is_ordered=low < high)
    return low, high


def _refuse_disorder(first: object, last: object, *, is_ordered: bool) -> None:
    if not is_ordered:
        raise SchemaError(
            "the last key must be greater than the first",
            first=first,
            last=last,
            fix="exchange them, or give other keys",
        )
