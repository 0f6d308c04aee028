"""Split keys by arithmetic: the results of HBase's own algorithms, to the byte.

`hex_string_split`, `uniform_split` and `decimal_string_split` are the algorithms of
`org.apache.hadoop.hbase.util.RegionSplitter`; `bytes_split` is `Bytes.split`, and `range_split`
what `Admin.createTable` makes of a first key, a last key and a number of regions. None of them
knows what keys look like: `reach` finds which of the regions they make can ever hold a row.
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

    They are in lower case, as long as `last`, and split evenly; the last region takes what is left
    over. Keys in upper case sort differently beyond 9: they need split keys of their own.

    Args:
        regions: How many; one less is returned.
        first: The least key, in hexadecimal digits.
        last: The greatest key, likewise.

    Raises:
        SchemaError: `regions` is less than 1 or more than there are keys, an end is no hexadecimal
            text, or `last` is not greater than `first`.

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
        regions: How many; one less is returned.
        first: The least key, in decimal digits.
        last: The greatest key, likewise; the split keys are as long.

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

    It is in the guide's chapter on row keys and region splits. It differs from `hex_string_split`
    in that it takes the last key as excluded, so that 16 regions begin at 0fff…, not at 1000…, and
    in that it always writes 16 digits.

    Args:
        regions: How many; one less is returned.
        first: The least key, in at most 16 hexadecimal digits.
        last: The greatest key, likewise.

    Raises:
        SchemaError: As for `hex_string_split`, or an end has more than 16 digits.

    Examples:
        >>> guide_hex_split(4)[0], hex_string_split(4, "0" * 16, "f" * 16)[0]
        (b'3fffffffffffffff', b'4000000000000000')
    """
    low, high = _ends("hex", first, last)
    if max(len(first), len(last)) > _GUIDE_WIDTH:
        raise SchemaError("an end has more than 16 digits", first=first, last=last)
    check_regions(regions, 1, most=high - low)
    step = (high - low) // regions
    return tuple(b"%016x" % (low + step * number) for number in range(1, regions))


def uniform_split(
    regions: int, first: bytes = b"", last: bytes = _UNIFORM_LAST
) -> tuple[bytes, ...]:
    r"""Return the split keys of `UniformSplit`, for keys that begin with evenly spread bytes.

    Args:
        regions: How many, 2 or more; one less is returned.
        first: The least key.
        last: The greatest key, which is included.

    Raises:
        SchemaError: `regions` is less than 2, or `last` is not greater than `first`.

    Examples:
        >>> uniform_split(3, last=b"\xff")
        (b'U', b'\xaa')
    """
    check_regions(regions, 2)
    return bytes_split(first, last, regions - 1, inclusive=True)[1:-1]


def range_split(regions: int, first: bytes, last: bytes) -> tuple[bytes, ...]:
    """Return the split keys that `Admin.createTable` makes of two keys and a number of regions.

    The ends are split keys themselves, so one region lies before `first` and one begins at `last`:
    with the least and the greatest key there is, both are all but empty.

    Args:
        regions: How many, 3 or more; one less is returned.
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
    r"""Return `Bytes.split(start, stop, inclusive, count)`: the ends and `count` keys between.

    The keys are numbers of as many bytes as the longer end has, one more if there are too few.

    Args:
        start: The first key returned.
        stop: The last key returned.
        count: How many keys between them, 1 or more.
        inclusive: Count `stop` as part of what is split. Of few keys, the last one between may
            then be `stop` itself.

    Raises:
        SchemaError: `count` is less than 1, or `stop` is not greater than `start`; the shorter one
            is filled up with zero bytes before they are compared.

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
    """Refuse a number of regions that cannot be made.

    Raises:
        SchemaError: It is no whole number from `least` to `most`.
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
            raise SchemaError(f"an end is not a {base} number", end=end, fix=f"use only {alphabet}")
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
