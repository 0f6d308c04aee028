from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hbase_orm.errors import SchemaError
from hbase_orm.rowkey.split_algorithms import (
    bytes_split,
    decimal_string_split,
    guide_hex_split,
    hex_string_split,
    range_split,
    uniform_split,
)

ZEROS, EFS = "0" * 16, "f" * 16


@pytest.mark.parametrize("algorithm", [hex_string_split, guide_hex_split])
def test_sixteen_hex_digits_in_ten_regions_are_those_of_hbases_guide(
    algorithm: Callable[[int, str, str], tuple[bytes, ...]],
) -> None:
    keys = algorithm(10, ZEROS, EFS)

    assert keys == (
        b"1999999999999999",
        b"3333333333333332",
        b"4ccccccccccccccb",
        b"6666666666666664",
        b"7ffffffffffffffd",
        b"9999999999999996",
        b"b33333333333332f",
        b"ccccccccccccccc8",
        b"e666666666666661",
    )


def test_the_guides_splits_of_sixteen_regions_lie_one_below_the_round_numbers() -> None:
    assert guide_hex_split(16)[0] == b"0fffffffffffffff"
    assert hex_string_split(16, ZEROS, EFS)[0] == b"1000000000000000"


def test_one_region_has_no_split_keys() -> None:
    assert hex_string_split(1) == decimal_string_split(1) == guide_hex_split(1) == ()


@pytest.mark.parametrize(
    ("algorithm", "arguments"),
    [
        (hex_string_split, (0,)),
        (hex_string_split, (True,)),
        (hex_string_split, (2.0,)),
        (hex_string_split, (17, "0", "f")),
        (hex_string_split, (2, "f", "0")),
        (hex_string_split, (2, "7", "7")),
        (hex_string_split, (2, "+1", "ff")),
        (hex_string_split, (2, "", "ff")),
        (hex_string_split, (2, b"00", "ff")),
        (decimal_string_split, (2, "0", "a")),
        (decimal_string_split, (2, "0", "٣")),
        (guide_hex_split, (16, "0", "f")),
        (guide_hex_split, (2, "0", "f" * 17)),
        (uniform_split, (1,)),
        (uniform_split, (2, b"b", b"a")),
        (bytes_split, (b"a", b"b", 0)),
        (bytes_split, (b"a", b"a\x00", 1)),
        (range_split, (2, b"a", b"b")),
        (range_split, (3, b"b", b"a")),
        (range_split, (4, b"b", b"a")),
    ],
)
def test_what_cannot_be_split_is_refused(
    algorithm: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    with pytest.raises(SchemaError):
        algorithm(*arguments)


def test_the_ends_of_a_range_are_split_keys_themselves() -> None:
    assert range_split(3, b"a", b"b") == (b"a", b"b")
    assert range_split(4, b"a", b"c") == (b"a", b"b", b"c")


def padded(key: bytes) -> bytes:
    return key.ljust(4, b"\x00")


@given(
    ends=st.lists(st.binary(max_size=4), min_size=2, max_size=2, unique_by=padded),
    count=st.integers(1, 50),
    inclusive=st.booleans(),
)
@example(ends=[b"#", b"5"], count=18, inclusive=True)  # in Java too, 5 comes twice
def test_split_keys_ascend_between_the_ends(
    *, ends: list[bytes], count: int, inclusive: bool
) -> None:
    start, stop = sorted(ends, key=padded)

    keys = bytes_split(start, stop, count, inclusive=inclusive)

    assert len(keys) == count + 2
    assert list(keys[:-1]) == sorted(set(keys[:-1]))
    assert keys[-2] <= keys[-1] if inclusive else keys[-2] < keys[-1]
    assert [padded(key)[:4] for key in (keys[0], keys[-1])] == [padded(start), padded(stop)]
