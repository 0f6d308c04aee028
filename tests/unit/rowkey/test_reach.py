from __future__ import annotations

from collections.abc import Callable

import pytest

from hbase_orm.errors import SchemaError
from hbase_orm.rowkey.reach import (
    LeadingBytes,
    OneOf,
    Symbols,
    even_split,
    survey,
    unreachable_regions,
)
from hbase_orm.rowkey.split_algorithms import (
    decimal_string_split,
    hex_string_split,
    range_split,
    uniform_split,
)

HEX = LeadingBytes.hex_digits(16)
CLASSIC = range_split(10, b"0" * 16, b"f" * 16)


def test_of_ten_regions_of_bytes_split_between_hex_keys_six_stay_empty() -> None:
    starts = [region.start[:1] for region in unreachable_regions(CLASSIC, HEX)]

    assert starts == [b"", b"=", b"D", b"K", b"R", b"X"]


def test_of_ten_regions_of_bytes_split_between_hex_keys_one_holds_a_single_key() -> None:
    reached = [region for region in survey(CLASSIC, HEX) if region.is_reachable]

    assert [region.share for region in reached] == [
        0.4375,
        0.1875,
        pytest.approx(0.375),
        pytest.approx(16**-16),
    ]
    assert (reached[-1].start, reached[-1].beginnings) == (b"f" * 16, 1)


def test_every_region_of_a_hex_split_gets_its_part_of_hex_keys() -> None:
    shares = [region.share for region in survey(hex_string_split(16, "0" * 16, "f" * 16), HEX)]

    assert shares == [1 / 16] * 16


def test_a_region_for_digits_of_the_other_case_stays_empty() -> None:
    upper = LeadingBytes.hex_digits(8, is_upper=True)

    idle = unreachable_regions(hex_string_split(4), upper)

    assert [region.start for region in idle] == [b"c0000000"]


def test_a_uniform_split_of_decimal_keys_leaves_most_regions_empty() -> None:
    idle = unreachable_regions(uniform_split(16), LeadingBytes.decimal_digits(9))

    assert len(idle) == 15


def test_salt_buckets_have_a_region_each() -> None:
    salted = LeadingBytes.words(bytes((bucket,)) for bucket in range(4))

    regions = survey([b"\x01", b"\x02", b"\x03"], salted)

    assert [(region.beginnings, region.share) for region in regions] == [(1, 0.25)] * 4


def test_a_split_for_a_bucket_too_many_is_found() -> None:
    salted = LeadingBytes.words(bytes((bucket,)) for bucket in range(4))

    idle = unreachable_regions([b"\x01", b"\x02", b"\x03", b"\x04"], salted)

    assert [region.start for region in idle] == [b"\x04"]


def test_a_beginning_that_a_border_cuts_counts_on_both_sides() -> None:
    regions = survey([b"a5"], LeadingBytes.words([b"a", b"b"]))

    assert [region.share for region in regions] == [0.5, 1.0]


def test_a_whole_key_lies_on_one_side_only() -> None:
    whole = LeadingBytes((OneOf((b"a", b"b")),), is_whole=True)

    assert [region.share for region in survey([b"a5"], whole)] == [0.5, 0.5]
    assert [region.start for region in unreachable_regions([b"a\x00", b"a\x01"], whole)] == [
        b"a\x00"
    ]


def test_of_unknown_keys_only_the_empty_one_is_missing() -> None:
    regions = survey([b"\x00", b"m"], LeadingBytes())

    assert [(region.is_reachable, region.beginnings, region.share) for region in regions] == [
        (False, None, None),
        (True, None, None),
        (True, None, None),
    ]


def test_the_bounds_of_a_number_limit_what_is_reached() -> None:
    seconds_of_day = LeadingBytes(
        (Symbols((b"0123456789",) * 5, low=b"00000", high=b"86399"),), is_whole=True
    )

    regions = survey([b"43200", b"86400"], seconds_of_day)

    assert [region.beginnings for region in regions] == [43_200, 43_200, 0]


def test_steps_follow_each_other() -> None:
    leading = LeadingBytes.words([b"M", b"N"]).then(LeadingBytes.any_bytes(2))

    regions = survey([b"M\x80", b"N", b"N\xc0", b"O"], leading)

    assert [region.share for region in regions] == [0.25, 0.25, 0.375, 0.125, 0.0]


def test_an_even_split_of_digits_is_that_of_hbase() -> None:
    assert even_split(16, LeadingBytes.hex_digits(8)) == hex_string_split(16)
    assert even_split(10, LeadingBytes.decimal_digits(8)) == decimal_string_split(10)


def test_an_even_split_of_months_and_partitions_has_a_region_for_each() -> None:
    months = LeadingBytes.words(b"%02d" % month for month in range(1, 13))

    keys = even_split(120, months.then(LeadingBytes.decimal_digits(1)))

    assert keys[:3] == (b"011", b"012", b"013")
    assert keys[-1] == b"129"
    assert len(keys) == 119


@pytest.mark.parametrize(
    "made",
    [
        lambda: LeadingBytes.words([]),
        lambda: LeadingBytes.words([b"a", b""]),
        lambda: LeadingBytes.words([b"a", b"b", b"a"]),
        lambda: LeadingBytes.words([b"a", b"b", b"ab"]),
        lambda: LeadingBytes.hex_digits(0),
        lambda: Symbols((b"ab", b"")),
        lambda: Symbols((b"ab",), low=b"aa"),
        lambda: Symbols((b"ab",), low=b"c"),
        lambda: Symbols((b"ab",), low=b"b", high=b"a"),
        lambda: LeadingBytes(is_whole=True),
        lambda: even_split(2, LeadingBytes()),
        lambda: even_split(0, HEX),
        lambda: even_split(3, LeadingBytes.words([b"a", b"b"])),
        lambda: survey([b"a", b"a"], HEX),
        lambda: survey([b"", b"a"], HEX),
    ],
)
def test_what_says_nothing_is_refused(made: Callable[[], object]) -> None:
    with pytest.raises(SchemaError):
        made()


def test_what_is_known_prints() -> None:
    leading = LeadingBytes((OneOf((b"\x00", b"\x01")), Symbols((b"01",) * 3)))
    mixed = LeadingBytes(
        (OneOf((b"\x00",)), Symbols((b"01", b"012"), high=b"11"), *LeadingBytes.any_bytes(1).steps),
        is_whole=True,
    )

    assert str(leading) == "one of 2 words, then 3 bytes of 2 symbols, then anything"
    assert (
        str(mixed)
        == r"'\x00', then 2 bytes of 2/3 symbols within bounds, then 1 byte, then nothing"
    )
    assert str(LeadingBytes()) == "anything"
