"""From statements to plans: literal ranges and keys, the choice of an index, what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import reduce
from operator import or_
from typing import Any

import pytest

from hbase_orm import (
    Condition,
    Counter,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Order,
    Salt,
    codecs,
    column,
    counter,
    key,
    rowkey,
)
from hbase_orm.errors import QueryError, UnboundedScanError
from hbase_orm.ops import KeyRange
from hbase_orm.query import (
    EmptyPlan,
    GetPlan,
    IndexPlan,
    Plan,
    SaltedScanPlan,
    ScanPlan,
    Select,
    compile_match,
    plan,
    select,
)
from hbase_orm.schema import Comparison

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def ms(milliseconds: float) -> datetime:
    return EPOCH + timedelta(microseconds=round(milliseconds * 1000))


class Reading(Model, table="readings"):
    d = Family()
    host: Key[str] = key(codecs.text(separator=b"\x00"))
    metric: Key[int] = key(codecs.uint8())
    at: Key[datetime] = key(codecs.millis(desc=True))
    value: Mapped[float] = column(d)
    unit: Mapped[str | None] = column(d, default=None)
    hits: Counter = counter(d)
    by_unit = Index(unit, at)
    by_value = Index(value.desc())


class Time(Model, table="times"):
    d = Family()
    at: Key[datetime] = key(codecs.millis())


class Falling(Model, table="falling"):
    d = Family()
    n: Key[int] = key(codecs.uint8(desc=True))


class Fixed(Model, table="fixed"):
    d = Family()
    name: Key[str] = key(codecs.text(width_bytes=4, desc=True))
    word: Key[str] = key()


class Name(Model, table="names"):
    d = Family()
    name: Key[str] = key()


class Number(Model, table="numbers"):
    d = Family()
    x: Key[float] = key()
    y: Key[int] = key(codecs.uint8())


class Salted(Model, table="salted"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint8())
    v: Mapped[int] = column(d, codec=codecs.uint8())
    by_v = Index(v)
    __rowkey__ = rowkey(Salt(4), host, n)


class SaltedOf(Model, table="salted_of"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint8())
    __rowkey__ = rowkey(Salt(4, of=[host]), host, n)


class SaltedOfLast(Model, table="salted_of_last"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint8())
    __rowkey__ = rowkey(Salt(4, of=[n]), host, n)


class Unindexed(Model, table="unindexed"):
    d = Family()
    host: Key[str] = key()
    v: Mapped[int] = column(d)


class Separated(Model, table="separated"):
    d = Family()
    host: Key[str] = key(codecs.text(separator=b"_"))
    n: Key[int] = key(codecs.uint8())


def planned(stmt: Select[Any]) -> Plan:
    return plan(stmt, stmt.model.__schema__)


def ranges(*conditions: Condition, model: type[Model]) -> list[tuple[str, str | None]]:
    """Return the plan's ranges in hex; none for an empty plan."""
    found = planned(select(model).where(*conditions))
    if isinstance(found, EmptyPlan):
        return []
    assert isinstance(found, (ScanPlan, IndexPlan))
    return [_hex(key_range) for key_range in found.ranges]


def _hex(key_range: KeyRange) -> tuple[str, str | None]:
    return key_range.start.hex(), None if key_range.stop is None else key_range.stop.hex()


def keys(*conditions: Condition, model: type[Model]) -> list[str]:
    found = planned(select(model).where(*conditions))
    assert isinstance(found, GetPlan)
    return [row_key.hex() for row_key in found.keys]


# --- whole keys -----------------------------------------------------------------------------------


def test_a_whole_key_is_one_get() -> None:
    found = keys(Reading.host == "a", Reading.metric == 7, Reading.at == ms(5), model=Reading)

    assert found == ["6100077ffffffffffffffa"]


def test_the_salt_of_a_whole_key_is_computed() -> None:
    assert keys(SaltedOf.host == "foo0001", SaltedOf.n == 7, model=SaltedOf) == [
        "02666f6f30303031000107"
    ]


def test_in_on_whole_keys_is_one_multi_get_in_key_order_without_the_salt() -> None:
    hosts = ("foo0003", "foo0001", "foo0002", "foo0001")

    assert keys(SaltedOf.host.in_(hosts), SaltedOf.n == 7, model=SaltedOf) == [
        "02666f6f30303031000107",
        "03666f6f30303032000107",
        "00666f6f30303033000107",
    ]


def test_in_times_in_is_every_pair() -> None:
    found = keys(
        SaltedOf.host.in_(["a"]), SaltedOf.n.in_([1, 2]), SaltedOf.n.in_([2, 3]), model=SaltedOf
    )

    assert [row_key[2:] for row_key in found] == ["61000102"]


def test_both_zeros_are_got() -> None:
    for zero in (0.0, -0.0, 0):
        assert keys(Number.x == zero, Number.y == 1, model=Number) == [
            "7fffffffffffffff01",
            "800000000000000001",
        ]


def test_a_time_that_a_clock_shows_twice_is_found() -> None:
    twice = datetime(2024, 11, 3, 6, 30, tzinfo=UTC)

    assert keys(Time.at == twice, model=Time) == [codecs.millis().encode(twice).hex()]


@pytest.mark.parametrize("host", ["", "x" * 40_000])
def test_a_key_that_cannot_be_stored_is_not_asked_for(host: str) -> None:
    assert isinstance(planned(select(Name).where(Name.name == host)), EmptyPlan)


def test_a_prefix_that_cannot_be_stored_is_not_asked_for() -> None:
    assert ranges(Reading.host == "x" * 40_000, model=Reading) == []


# --- ranges ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        (Time.at < ms(5), [("", "0000000000000005")]),
        (Time.at <= ms(5), [("", "0000000000000006")]),
        (Time.at > ms(5), [("0000000000000006", None)]),
        (Time.at >= ms(5), [("0000000000000005", None)]),
        (Time.at > ms(5.5), [("0000000000000006", None)]),
        (Time.at >= ms(5.5), [("0000000000000006", None)]),
        (Time.at < ms(5.5), [("", "0000000000000006")]),
        (Time.at <= ms(5.5), [("", "0000000000000006")]),
        (Time.at.between(ms(5), ms(7)), [("0000000000000005", "0000000000000008")]),
        (Time.at.between(ms(5.5), ms(5.9)), []),
        (Time.at.between(ms(7), ms(5)), []),
        (Time.at == ms(5.5), []),
        (Time.at == ms(-1), []),
        (Time.at < ms(0), []),
        (Time.at < ms(-1), []),
        (Falling.n < 5, [("fb", None)]),
        (Falling.n <= 5, [("fa", None)]),
        (Falling.n > 5, [("", "fa")]),
        (Falling.n >= 5, [("", "fb")]),
        (Falling.n.between(2, 5), [("fa", "fe")]),
        (Falling.n > 255, []),
        (Falling.n > 256, []),
        (Falling.n < 0, []),
        (Falling.n < -1, []),
        ((Falling.n > 5) & (Falling.n > 7), [("", "f8")]),
        ((Falling.n > 5) & (Falling.n >= 5), [("", "fa")]),
        ((Falling.n >= 5) & (Falling.n > 5), [("", "fa")]),
        ((Falling.n < 5) & (Falling.n <= 5), [("fb", None)]),
        ((Falling.n <= 5) & (Falling.n < 5), [("fb", None)]),
        ((Falling.n < 5) & (Falling.n < 7), [("fb", None)]),
        ((Falling.n > 5) & (Falling.n < 3), []),
        ((Falling.n > 5) & (Falling.n < 5), []),
        ((Falling.n == 5) & (Falling.n == 6), []),
        ((Falling.n == 5) & (Falling.n > 6), []),
        (Falling.n.in_([]), []),
        (Falling.n.in_([300, -1]), []),
        (Falling.n.in_([None]), []),  # type: ignore[list-item]  # a checker would refuse it
        (Falling.n.is_null(), []),
        (Falling.n > None, []),  # type: ignore[operator]  # a checker would refuse it
        (Name.name.startswith("ab"), [("6162", "6163")]),
        (Name.name.startswith("ab") & Name.name.startswith("a"), [("6162", "6163")]),
        (Name.name.startswith("ab") & Name.name.startswith("b"), []),
        (Name.name.startswith("ab") & (Name.name > "b"), []),
        (Name.name.startswith("ab") & (Name.name >= "abc"), [("616263", "6163")]),
        ((Name.name == "ab") & Name.name.startswith("b"), []),
        (Name.name.startswith("\ud800"), []),
        (Name.name < "", []),
        (Name.name > "ab", [("616200", None)]),
        (Name.name <= "ab", [("", "616200")]),
        (Number.x >= 0.0, [("7fffffffffffffff", None)]),
        (Number.x > 0, [("8000000000000001", None)]),
        (Number.x < 0, [("", "7fffffffffffffff")]),
        (Number.x <= 0, [("", "8000000000000001")]),
        (Number.x == 2**53 + 1, []),
        (Separated.host == "host1", [("686f7374315f", "686f73743160")]),
        (Separated.host.startswith("host1"), [("686f737431", "686f737432")]),
    ],
    ids=repr,
)
def test_one_condition_is_these_ranges(
    condition: Condition, found: list[tuple[str, str | None]]
) -> None:
    (model,) = (
        kind
        for kind in (Time, Falling, Name, Number, Separated)
        if repr(condition).lstrip("(").startswith(kind.__name__ + ".")
    )

    assert ranges(condition, model=model) == found


def test_a_leading_run_then_a_range() -> None:
    assert ranges(Reading.host == "a", Reading.metric > 7, model=Reading) == [("610008", "6101")]


def test_conditions_behind_a_gap_do_not_narrow() -> None:
    assert ranges(Reading.host == "a", Reading.at > ms(5), model=Reading) == [("6100", "6101")]


def test_in_multiplies_ranges_in_key_order() -> None:
    found = ranges(Reading.host.in_(["b", "a"]), Reading.metric.in_([3, 1]), model=Reading)

    assert found == [
        ("610001", "610002"),
        ("610003", "610004"),
        ("620001", "620002"),
        ("620003", "620004"),
    ]


def test_ranges_that_touch_are_one() -> None:
    found = ranges(Reading.host == "a", Reading.metric.in_([2, 1, 4]), model=Reading)

    assert found == [("610001", "610003"), ("610004", "610005")]


def test_more_than_a_thousand_combinations_are_not_enumerated() -> None:
    hosts = [f"h{number}" for number in range(10)]

    under = ranges(Reading.host.in_(hosts), Reading.metric.in_(range(0, 200, 2)), model=Reading)
    over = ranges(
        Reading.host.in_([*hosts, "x"]), Reading.metric.in_(range(0, 200, 2)), model=Reading
    )

    assert (len(under), len(over)) == (1000, 11)


def test_a_long_list_is_the_range_from_its_first_to_its_last() -> None:
    hosts = [f"h{number:04}" for number in range(2000)]

    found = planned(select(Reading).where(Reading.host.in_([*hosts[5:], "no\x00host"])).limit(1))

    assert isinstance(found, ScanPlan)
    assert [_hex(r) for r in found.ranges] == [(b"h0005\x00".hex(), b"h1999\x01".hex())]
    assert found.caching_rows == 100
    last = select(Reading).where(Reading.host == "a", Reading.metric == 7)
    times = [ms(number) for number in range(2000)]
    found = planned(last.where(Reading.at.in_(times)))
    assert isinstance(found, ScanPlan)
    assert [_hex(r) for r in found.ranges] == [("6100077ffffffffffff830", "61000780")]


def test_a_long_list_is_a_range_of_an_index() -> None:
    units = [f"u{number:04}" for number in range(2000)]

    found = ranges(Reading.unit.in_(["\ud800", *units]), model=Reading)

    assert found == [(b"u0000\x00\x01".hex(), b"u1999\x00\x02".hex())]


def test_alternatives_behind_a_salt_count_once_for_all_buckets() -> None:
    class Visit(Model, table="visits"):
        d = Family()
        user: Key[int] = key(codecs.uint8())
        page: Key[int] = key(codecs.uint8())
        n: Key[int] = key(codecs.uint8())
        __rowkey__ = rowkey(Salt(64), user, page, n)

    pairs = reduce(or_, [(Visit.user == n) & (Visit.page == n + 1) for n in range(0, 100, 5)])
    found = buckets(pairs, model=Visit)

    assert [len(each) for each in found] == [20] * 64
    assert found[63][1] == ("3f0506", "3f0507")


def test_a_list_is_one_range_where_every_bucket_is_asked_for_each_of_its_values() -> None:
    class Tick(Model, table="ticks"):
        d = Family()
        code: Key[int] = key(codecs.uint16())
        n: Key[int] = key(codecs.uint8())
        __rowkey__ = rowkey(Salt(64), code, n)

    few = buckets(Tick.code.in_(range(0, 512, 2)), model=Tick)
    many = buckets(Tick.code.in_(range(0, 514, 2)), model=Tick)
    whole = keys(Tick.code.in_(range(0, 2000, 2)), Tick.n == 1, model=Tick)

    assert [len(each) for each in few] == [256] * 64
    assert [each[:1] for each in many] == [
        [(f"{bucket:02x}0000", f"{bucket:02x}0201")] for bucket in range(64)
    ]
    assert [len(each) for each in many] == [1] * 64
    assert len(whole) == 1000


def test_an_unstorable_end_bounds_nothing_and_loses_nothing() -> None:
    found = planned(select(Separated).where(Separated.n > -1).allow_full_scan())

    assert isinstance(found, ScanPlan)
    assert found.ranges == (KeyRange(),)


def test_an_end_that_is_no_value_at_all_bounds_nothing() -> None:
    found = planned(select(Number).where(Number.x < 10**400, Number.x > -1.5))

    assert isinstance(found, ScanPlan)
    assert [_hex(r) for r in found.ranges] == [("4008", None)]


def test_the_range_of_a_separator_that_disorders_is_not_used() -> None:
    with pytest.raises(UnboundedScanError):
        planned(select(Separated).where(Separated.host > "a"))


# --- alternatives ---------------------------------------------------------------------------------


def test_alternatives_of_one_field_are_a_list() -> None:
    either = (Reading.metric == 7) | (Reading.metric == 9) | Reading.metric.in_([11])

    assert ranges(Reading.host == "a", either, model=Reading) == [
        ("610007", "610008"),
        ("610009", "61000a"),
        ("61000b", "61000c"),
    ]


def test_alternatives_of_whole_keys_are_one_multi_get() -> None:
    one = (SaltedOf.host == "foo0001") & (SaltedOf.n == 7)
    other = (SaltedOf.host == "foo0003") & (SaltedOf.n == 8)

    assert keys(other | one | one, model=SaltedOf) == [
        "02666f6f30303031000107",
        "00666f6f30303033000108",
    ]


def test_ranges_of_alternatives_that_overlap_are_one() -> None:
    early, late = Falling.n.between(5, 9), Falling.n.between(8, 20)

    assert ranges(early | late, model=Falling) == [("eb", "fb")]
    assert ranges(early | (Falling.n > 100), model=Falling) == [("", "9b"), ("f6", "fb")]


def test_alternatives_narrow_as_far_as_each_does() -> None:
    found = ranges(
        (Reading.host == "a") | ((Reading.host == "b") & (Reading.metric > 7)), model=Reading
    )

    assert found == [("6100", "6101"), ("620008", "6201")]


def test_behind_the_bytes_that_sort_last_nothing_is_read() -> None:
    assert ranges(Fixed.name < "", model=Fixed) == []
    assert ranges(Fixed.name <= "", model=Fixed) == [("ffffffff", None)]


def test_an_alternative_that_is_one_row_key_reads_one_row_beside_a_range() -> None:
    assert ranges((Name.name < "a") | (Name.name == "c"), model=Name) == [
        ("", "61"),
        ("63", "6300"),
    ]


def test_an_alternative_that_contradicts_itself_is_left_out() -> None:
    never = (Name.name == "a") & (Name.name == "b")

    assert ranges(never | Name.name.startswith("c"), model=Name) == [("63", "64")]
    assert ranges(never | (Name.name < ""), model=Name) == []


def test_an_alternative_that_narrows_nothing_is_unbounded() -> None:
    with pytest.raises(UnboundedScanError):
        planned(select(Reading).where((Reading.host == "a") | (Reading.metric == 7)))


def test_alternatives_may_each_be_of_an_index() -> None:
    either = (Reading.unit == "ms") | ((Reading.unit == "s") & (Reading.at > ms(5)))

    found = planned(select(Reading).where(either))

    assert isinstance(found, IndexPlan)
    assert [_hex(r) for r in found.ranges] == [
        ("6d730001", "6d730002"),
        ("730001", "7300017ffffffffffffffa"),
    ]


def test_a_value_of_one_alternative_does_not_count_as_one_in_an_order() -> None:
    either = ((Reading.host == "a") & (Reading.metric == 7)) | (Reading.host == "a")

    assert directed([Reading.metric.asc()], either).order == "metric asc, at desc"
    with pytest.raises(QueryError, match="no scan can return the rows in this order"):
        directed([Reading.at.desc()], either)


def test_too_many_alternatives_are_one_wider_read() -> None:
    many = reduce(or_, [(Reading.metric == n) & (Reading.at > ms(n)) for n in range(65)])
    few = reduce(or_, [(Reading.metric == n) & (Reading.at > ms(n)) for n in range(64)])

    assert ranges(Reading.host == "a", many, model=Reading) == [("6100", "6101")]
    assert len(ranges(Reading.host == "a", few, model=Reading)) == 64


def test_too_many_ranges_of_alternatives_are_one_wider_read() -> None:
    hosts = [f"h{number}" for number in range(600)]
    either = (Reading.metric == 1) | (Reading.metric > 100)

    assert len(ranges(Reading.host.in_(hosts), either, model=Reading)) == 600
    times = (Reading.at == ms(0)) | (Reading.at > ms(1))
    found = planned(select(Reading).where(Reading.unit.in_(hosts), times).using(Reading.by_unit))
    assert isinstance(found, IndexPlan)
    assert len(found.ranges) == 600


def test_a_limit_of_alternatives_is_no_count_of_rows_to_fetch() -> None:
    found = planned(select(Falling).where((Falling.n == 5) | (Falling.n > 9)).limit(1))

    assert isinstance(found, ScanPlan)
    assert found.caching_rows == 100


# --- salts ----------------------------------------------------------------------------------------


def buckets(*conditions: Condition, model: type[Model]) -> list[list[tuple[str, str | None]]]:
    found = planned(select(model).where(*conditions))
    assert isinstance(found, SaltedScanPlan)
    return [[_hex(key_range) for key_range in bucket] for bucket in found.buckets]


def test_an_unknown_salt_asks_every_bucket() -> None:
    assert buckets(Salted.host == "a", model=Salted) == [
        [(f"0{bucket}610001", f"0{bucket}610002")] for bucket in range(4)
    ]


def test_a_known_salt_asks_its_bucket_alone() -> None:
    assert ranges(SaltedOf.host == "foo0001", model=SaltedOf) == [
        ("02666f6f303030310001", "02666f6f303030310002")
    ]


def test_known_salts_ask_their_buckets_alone() -> None:
    assert buckets(SaltedOf.host.in_(["foo0001", "foo0003"]), model=SaltedOf) == [
        [("00666f6f303030330001", "00666f6f303030330002")],
        [("02666f6f303030310001", "02666f6f303030310002")],
    ]


def test_a_salt_of_a_field_behind_a_gap_is_known() -> None:
    found = planned(
        select(SaltedOfLast).where(SaltedOfLast.host >= "a", SaltedOfLast.n.in_([1, 5]))
    )

    assert isinstance(found, ScanPlan)
    assert [_hex(r) for r in found.ranges] == [("00610001", "01")]


def test_a_salt_of_too_many_values_asks_every_bucket() -> None:
    class Pair(Model, table="pairs"):
        d = Family()
        a: Key[int] = key(codecs.uint8())
        b: Key[int] = key(codecs.uint8())
        c: Key[int] = key(codecs.uint8())
        __rowkey__ = rowkey(Salt(2, of=[b, c]), a, b, c)

    found = buckets(Pair.a > 1, Pair.b.in_(range(100)), Pair.c.in_(range(100)), model=Pair)

    assert [bucket[0][0] for bucket in found] == ["0002", "0102"]


# --- indexes --------------------------------------------------------------------------------------


def test_an_index_is_read_where_the_key_does_not_narrow() -> None:
    found = planned(select(Reading).where(Reading.unit == "ms", Reading.at >= ms(5)))

    assert isinstance(found, IndexPlan)
    assert found.index.name == "by_unit"
    assert [_hex(r) for r in found.ranges] == [("6d730001", "6d7300017ffffffffffffffb")]


def test_an_index_falls_where_it_was_declared_so() -> None:
    found = planned(select(Reading).where(Reading.value > 0.0))

    assert isinstance(found, IndexPlan)
    assert [_hex(r) for r in found.ranges] == [("", "7fffffffffffffff")]


def test_the_longer_run_wins() -> None:
    both = (Reading.host == "a", Reading.unit == "ms", Reading.at == ms(5))

    assert isinstance(planned(select(Reading).where(*both)), IndexPlan)


def test_at_equal_rank_the_row_key_wins() -> None:
    both = (Reading.host == "a", Reading.unit == "ms")

    assert isinstance(planned(select(Reading).where(*both)), ScanPlan)


def test_at_equal_runs_a_range_wins() -> None:
    both = (Reading.host == "a", Reading.unit == "ms", Reading.at > ms(5))

    assert isinstance(planned(select(Reading).where(*both)), IndexPlan)


def test_at_equal_rank_the_index_declared_first_wins() -> None:
    found = planned(select(Reading).where(Reading.unit > "a", Reading.value > 1.0))

    assert isinstance(found, IndexPlan)
    assert found.index.name == "by_unit"


def test_using_an_index_overrides_the_rule() -> None:
    stmt = select(Reading).where(Reading.host == "a", Reading.unit == "ms")

    found = planned(stmt.using(Reading.by_unit))

    assert isinstance(found, IndexPlan)


def test_using_none_reads_the_row_key() -> None:
    stmt = select(Reading).where(Reading.unit == "ms").using(None)

    with pytest.raises(UnboundedScanError):
        planned(stmt)
    assert isinstance(planned(stmt.allow_full_scan()), ScanPlan)


def test_a_whole_row_key_beats_any_index() -> None:
    whole = (Reading.host == "a", Reading.metric == 1, Reading.at == ms(1), Reading.unit == "ms")

    assert isinstance(planned(select(Reading).where(*whole)), GetPlan)


@pytest.mark.parametrize(
    "condition",
    [
        Reading.unit.in_(["ms", None]),
        Reading.unit.is_null(),
        Reading.unit != "ms",
        ~(Reading.unit == "ms"),
        (Reading.unit == "ms") | Reading.unit.is_null(),
        (Reading.unit == "ms") | (Reading.value != 1.0),
    ],
    ids=repr,
)
def test_an_index_is_not_read_where_a_none_may_match(condition: Condition) -> None:
    stmt = select(Reading).where(condition)

    with pytest.raises(UnboundedScanError):
        planned(stmt)
    with pytest.raises(QueryError, match="no entries for rows") as caught:
        planned(stmt.using(Reading.by_unit).allow_full_scan())
    assert caught.value.index == "by_unit"


@pytest.mark.parametrize(
    "condition",
    [Reading.unit != None, Reading.unit.startswith(""), Reading.unit >= ""],  # noqa: E711 - a condition
    ids=repr,
)
def test_an_index_may_be_read_where_no_none_matches(condition: Condition) -> None:
    stmt = select(Reading).where(condition).using(Reading.by_unit).allow_full_scan()

    found = planned(stmt)

    assert isinstance(found, IndexPlan)
    assert found.ranges[0].stop is None


def test_no_value_of_a_nullable_field_in_the_list_is_no_row() -> None:
    assert ranges(Reading.unit.in_([]), model=Reading) == []


def test_an_index_range_that_holds_nothing_is_an_empty_plan() -> None:
    found = planned(select(Reading).where(Reading.unit.startswith("\ud800")))

    assert isinstance(found, EmptyPlan)


def test_an_index_is_read_for_each_value_of_a_list() -> None:
    assert ranges(Reading.unit.in_(["s", "ms"]), model=Reading) == [
        ("6d730001", "6d730002"),
        ("730001", "730002"),
    ]


def test_an_index_of_another_model_is_refused_even_by_the_same_name() -> None:
    class Other(Model, table="others"):
        d = Family()
        host: Key[str] = key()
        unit: Mapped[str] = column(d)
        by_unit = Index(unit)

    with pytest.raises(QueryError, match="the index belongs to another model"):
        planned(select(Reading).where(Reading.unit == "ms").using(Other.by_unit))


# --- order ----------------------------------------------------------------------------------------


def directed(orders: Sequence[Order], *conditions: Condition, model: type[Model] = Reading) -> Any:
    return planned(select(model).where(*conditions).order_by(*orders).allow_full_scan())


@pytest.mark.parametrize(
    ("orders", "reverse"),
    [
        ([Reading.host.asc()], False),
        ([Reading.host.desc()], True),
        ([Reading.host.asc(), Reading.metric.asc(), Reading.at.desc()], False),
        ([Reading.host.desc(), Reading.metric.desc(), Reading.at.asc()], True),
    ],
)
def test_an_order_of_the_key_is_a_scan_one_way(orders: list[Order], reverse: bool) -> None:  # noqa: FBT001 - of the table
    found = directed(orders)

    assert isinstance(found, ScanPlan)
    assert found.reverse is reverse


def test_fields_of_one_value_do_not_count_in_an_order() -> None:
    found = directed(
        [Reading.metric.desc(), Reading.at.asc(), Reading.host.asc()],
        Reading.host == "a",
        Reading.metric == 1,
    )

    assert found.reverse is True


def test_the_zeros_are_two_values_in_an_order() -> None:
    with pytest.raises(QueryError, match="no scan can return the rows in this order"):
        directed([Number.y.asc()], Number.x == 0.0, model=Number)

    found = directed([Number.x.asc(), Number.y.asc()], Number.x == 0.0, model=Number)
    assert found.order == "x asc, y asc"


def test_reverse_ranges_come_last_first() -> None:
    found = directed([Reading.host.desc()], Reading.host.in_(["a", "b"]))

    assert [_hex(r) for r in found.ranges] == [("6200", "6201"), ("6100", "6101")]


def test_reverse_gets_come_last_first() -> None:
    found = directed([Falling.n.desc()], Falling.n.in_([1, 2]), model=Falling)
    turned = directed([Falling.n.asc()], Falling.n.in_([1, 2]), model=Falling)

    assert [k.hex() for k in found.keys] == ["fd", "fe"]
    assert [k.hex() for k in turned.keys] == ["fe", "fd"]


def test_an_order_is_had_from_an_index_that_narrows() -> None:
    found = directed([Reading.value.asc()], Reading.host == "a", Reading.value > 1.0)

    assert isinstance(found, IndexPlan)
    assert found.reverse is True


def test_an_order_is_had_from_a_whole_index_that_is_named() -> None:
    stmt = select(Reading).order_by(Reading.value.desc()).using(Reading.by_value)

    found = planned(stmt.allow_full_scan())

    assert isinstance(found, IndexPlan)
    assert found.ranges == (KeyRange(),)


@pytest.mark.parametrize(
    "orders",
    [
        [Reading.metric.asc()],
        [Reading.host.asc(), Reading.at.desc()],
        [Reading.host.asc(), Reading.metric.desc()],
        [Reading.unit.asc()],
        [Reading.hits.asc()],
        [Reading.host.asc(), Reading.metric.asc(), Reading.at.desc(), Reading.value.asc()],
    ],
    ids=repr,
)
def test_an_order_that_no_scan_gives_is_refused(orders: list[Order]) -> None:
    with pytest.raises(QueryError, match="no scan can return the rows in this order") as caught:
        directed(orders, Reading.value >= 0.0)

    assert caught.value.key == ["host", "metric", "at"]


def test_a_separator_that_disorders_gives_no_order() -> None:
    with pytest.raises(QueryError, match="no scan can return the rows in this order"):
        directed([Separated.host.asc()], model=Separated)


def test_behind_a_salt_an_index_is_in_its_own_order_only() -> None:
    with pytest.raises(QueryError, match="no scan can return the rows in this order"):
        directed([Salted.v.asc(), Salted.host.asc()], Salted.v > 1, model=Salted)


def test_without_a_salt_rows_of_one_value_are_in_key_order() -> None:
    found = directed([Reading.unit.asc(), Reading.at.desc(), Reading.host.asc()], Reading.unit > "")

    assert isinstance(found, IndexPlan)


# --- what is refused ------------------------------------------------------------------------------


def test_an_unbounded_scan_says_what_would_bound_it() -> None:
    with pytest.raises(UnboundedScanError) as caught:
        planned(select(Reading).where(Reading.unit != "ms", Reading.at > ms(1)))

    assert str(caught.value) == (
        "the statement would read the whole table [model='Reading' compared=['at', 'unit']]; compare "
        "host, the first part of the key, or declare Index(at); or add .allow_full_scan()"
    )


@pytest.mark.parametrize(
    "condition",
    [Falling.n >= 0, Falling.n <= 255, Name.name >= "", Name.name.startswith("")],
    ids=repr,
)
def test_a_range_that_leaves_nothing_out_is_unbounded(condition: Condition) -> None:
    advice = r"by ==, in_\(\) or a range that leaves some values out"
    with pytest.raises(UnboundedScanError, match=advice):
        planned(select(Falling if "Falling" in repr(condition) else Name).where(condition))


def test_an_unbounded_scan_names_the_columns_that_no_index_begins_with() -> None:
    with pytest.raises(UnboundedScanError, match=r"or declare Index\(v\); or add"):
        planned(select(Unindexed).where(Unindexed.v == 1))


def test_an_unbounded_scan_without_conditions_names_the_key() -> None:
    with pytest.raises(UnboundedScanError, match=r"compare host, .* key; or add"):
        planned(select(Reading))


@pytest.mark.parametrize(
    ("condition", "value", "expected"),
    [
        (Comparison(Reading.metric, "==", "7"), "7", "int"),
        (Comparison(Reading.host, "==", b"a"), b"a", "str"),
        (Comparison(Reading.value, "<", "1"), "1", "float"),
        (Comparison(Reading.at, ">", datetime(2024, 1, 1)), datetime(2024, 1, 1), "datetime"),  # noqa: DTZ001 - naive
        (Reading.metric.in_([1, "x"]), "x", "int"),  # type: ignore[list-item]  # meant wrong
        (~Comparison(Reading.metric, "==", 1.5), 1.5, "int"),
        (Comparison(Reading.host, "==", 1) | (Reading.metric == 1), 1, "str"),
    ],
    ids=repr,
)
def test_a_value_of_another_type_is_refused(
    condition: Condition, value: Any, expected: str
) -> None:
    with pytest.raises(
        QueryError, match=r"another type|cannot be compared with stored values"
    ) as caught:
        planned(select(Reading).where(condition).allow_full_scan())

    assert (caught.value.value, caught.value.expected) == (value, expected)


@pytest.mark.parametrize("prefix", [None, 7, b"a", ("a", "b")])
def test_a_prefix_is_text(prefix: Any) -> None:
    with pytest.raises(QueryError, match="startswith\\(\\) works only on text fields"):
        planned(select(Reading).where(Reading.host.startswith(prefix)))


def test_a_number_starts_with_nothing() -> None:
    with pytest.raises(QueryError, match="between") as caught:
        planned(select(Reading).where(Reading.metric.startswith(7)))  # type: ignore[misc,arg-type]  # meant wrong

    assert caught.value.prefix == 7


@pytest.mark.parametrize("order", [[], [Name.name.asc()]])
def test_a_field_of_another_model_is_refused(order: list[Order]) -> None:
    conditions = [] if order else [Name.name == "a"]

    with pytest.raises(
        QueryError, match="the field does not belong to the selected model"
    ) as caught:
        planned(select(Reading).where(*conditions).order_by(*order))

    assert (caught.value.field, caught.value.model) == ("Name.name", "Reading")


def test_an_unknown_condition_is_refused() -> None:
    class Odd(Condition):
        pass

    with pytest.raises(QueryError, match="unknown type"):
        planned(select(Reading).where(Odd()))
    with pytest.raises(QueryError, match="unknown type"):
        compile_match(Reading.__schema__, [Odd()])


# --- limits and pages -----------------------------------------------------------------------------


def test_a_limit_is_pushed_to_every_bucket() -> None:
    found = planned(select(Salted).where(Salted.host == "a").limit(7))

    assert isinstance(found, SaltedScanPlan)
    assert (found.caching_rows, found.limit) == (7, 7)


@pytest.mark.parametrize(
    ("stmt", "caching_rows"),
    [
        (select(Reading).where(Reading.host == "a"), 1000),
        (select(Reading).where(Reading.host == "a").limit(5000), 1000),
        (select(Reading).where(Reading.host == "a").limit(5).caching(50), 50),
        (select(Reading).where(Reading.unit == "ms"), 100),
        (select(Reading).where(Reading.unit == "ms").limit(3), 3),
        (select(Reading).where(Reading.host == "a", Reading.value > 1.0).limit(1), 1),
        (select(Reading).where(Reading.host == "a", Reading.hits > 1).limit(1), 100),
        (select(Reading).where(Reading.host == "a", Reading.hits > 1).limit(200), 200),
    ],
)
def test_a_scanner_call_fetches_so_many_rows(stmt: Select[Any], caching_rows: int) -> None:
    found = planned(stmt)

    assert isinstance(found, (ScanPlan, IndexPlan))
    assert found.caching_rows == caching_rows


def test_hundreds_of_alternatives_are_checked_in_one_go() -> None:
    wanted = reduce(or_, [Reading.metric == number for number in range(250)])

    check = compile_match(Reading.__schema__, [wanted])

    assert check is not None
    assert [check({"metric": number}) for number in (0, 249, 250)] == [True, True, False]
