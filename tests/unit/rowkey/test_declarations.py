"""Declarations of row keys that are refused, or whose meaning depends on what stands beside them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hbase_orm import Family, Key, Mapped, Model, TablePerPeriod, codecs, column, key, rowkey
from hbase_orm.errors import CodecError, ConfigurationError, CorruptRowError, SchemaError
from hbase_orm.numbering.sequence import Sequence
from hbase_orm.rowkey import (
    Bucket,
    Computed,
    HashPrefix,
    KeyFields,
    KeyLayout,
    KeySource,
    Offset,
    Period,
    RandomSalt,
    RecordType,
    Salt,
    Substitute,
    assemble,
)
from hbase_orm.rowkey.reach import LeadingBytes, survey

AT, NAME = KeySource(), KeySource()
NOON = datetime(2024, 2, 29, 12, tzinfo=UTC)
UINT16: Any = codecs.uint16  # the function, not what it returns


def timed(*components: KeySource, desc: bool = False) -> KeyLayout:
    """Return the layout of a key of one time."""
    fields = KeyFields({"at": AT}, {"at": codecs.millis(desc=desc)}, stored=("at",))
    return assemble(components, fields)


class Points(Model, abstract=True):
    d = Family()
    metric: Key[str] = key()
    at: Key[datetime] = key(codecs.millis())
    value: Mapped[float] = column(d, Offset("hour", of=at))
    hour = Period("hour", of=at)
    day = Period("day", of=at)
    minute = Period("minute", of=at)


@pytest.mark.parametrize(
    "scattering",
    [
        Salt(4, of=Points.at),
        HashPrefix(2, of=[Points.metric, Points.at]),
        Bucket(4, of=Points.at),
        Points.minute,
        Salt(4, of=Points.minute),
        RandomSalt(4),
    ],
    ids=repr,
)
def test_no_component_tells_the_cells_of_a_packed_row_apart(scattering: KeySource) -> None:
    with pytest.raises(
        SchemaError, match="the component would put the cells of one period into different rows"
    ) as caught:

        class Scattered(Points, table="points"):
            __rowkey__ = rowkey(scattering, Points.metric, Points.hour)

    assert (caught.value.component, caught.value.offset) == (scattering, "hour")


@pytest.mark.parametrize(
    "front", [Salt(4, of=Points.hour), Bucket(4, of=Points.day), HashPrefix(2, of=Points.metric)]
)
def test_a_packed_row_may_be_spread_by_its_period(front: KeySource) -> None:
    class Spread(Points, table="points"):
        __rowkey__ = rowkey(front, Points.metric, Points.hour)

    moments = [NOON + timedelta(minutes=minute) for minute in range(60)]
    assert len({Spread.encode_key(metric="a", at=at) for at in moments}) == 1


def test_an_offset_descends_as_its_field_does() -> None:
    for desc in (False, True):
        built = timed(Period("hour", of=AT), Offset("hour", of=AT), desc=desc)
        keys = [built.encode({"at": NOON + timedelta(minutes=n)}) for n in (0, 1, 59, 60)]
        assert keys == sorted(keys, reverse=desc)
        assert built.decode(keys[1]) == {"at": NOON + timedelta(minutes=1)}


@pytest.mark.parametrize(
    ("unit", "later"),
    [
        ("minute", lambda n: NOON + timedelta(minutes=n)),
        ("hour", lambda n: NOON + timedelta(hours=n)),
        ("day", lambda n: NOON + timedelta(days=n)),
        ("month", lambda n: NOON.replace(year=2024 + n // 12, month=1 + n % 12, day=1)),
        ("year", lambda n: NOON.replace(year=2024 + n, day=1)),
    ],
)
def test_a_bucket_of_a_period_counts_periods(unit: str, later: Callable[[int], datetime]) -> None:
    for codec in (None, codecs.strftime("%Y-%m-%d %H:%M")):
        period = Period(unit, of=AT, codec=codec)
        built = timed(Bucket(5, of=period), AT)
        found = [built.encode({"at": later(number)})[0] for number in range(15)]
        assert found == [(found[0] + number) % 5 for number in range(15)]


@pytest.mark.parametrize(
    "declare",
    [
        lambda: Substitute(of=NAME, dictionary="names", codec=UINT16),
        lambda: Period("day", of=AT, codec=UINT16),
        lambda: Offset("day", of=AT, codec=UINT16),
        lambda: RecordType(UINT16),
    ],
)
def test_the_codec_of_a_component_is_made_by_a_call(declare: Callable[[], object]) -> None:
    with pytest.raises(
        SchemaError, match=r"the codec= of an? .* must be a Codec instance"
    ) as caught:
        declare()

    assert "uint16()" in caught.value.fix


def test_a_unit_of_time_is_a_text() -> None:
    unit: Any = ["day"]
    with pytest.raises(SchemaError, match="no period has this name"):
        Period(unit, of=AT)


def test_components_without_rowkey_are_refused() -> None:
    with pytest.raises(SchemaError, match="__rowkey__ must be made with rowkey") as caught:

        class Pair(Model, table="pairs"):
            d = Family()
            name: Key[str] = key()
            number: Key[int] = key(codecs.uint8())
            __rowkey__ = (number, name)  # type: ignore[assignment]  # the mistake

    assert caught.value.model == "Pair"


@pytest.mark.parametrize("values", [3, []])
def test_declared_values_are_several(values: Any) -> None:
    with pytest.raises(
        SchemaError, match="values= of a computed part must be a list or a function"
    ):
        Computed(len, of=NAME, codec=codecs.uint8(), values=values)


@pytest.mark.parametrize(
    "values", [lambda: 5, lambda _: 5, lambda at: [at.month]], ids=["none taken", "one", "of None"]
)
def test_a_function_of_values_is_tried_when_it_is_declared(values: Callable[..., Any]) -> None:
    part = Computed(lambda at: at.month, of=AT, codec=codecs.uint8(), values=values)

    with pytest.raises(
        SchemaError,
        match="the function that is given as values= of a computed part did not return values",
    ) as caught:
        timed(part, AT)
    assert (
        "write a function that takes each argument of the part, with None for a value that the statement does not fix, and returns the values that are possible then"
        in caught.value.fix
    )
    assert "Error: " in caught.value.reason


@pytest.mark.parametrize("value", [None, 300])
def test_what_a_function_of_values_returns_fits_the_codec(value: Any) -> None:
    part = Computed(lambda at: at.month, of=AT, codec=codecs.uint8(), values=lambda _: [value])

    with pytest.raises(SchemaError, match="does not fit its codec"):
        timed(part, AT)


def test_a_key_of_another_length_is_told_with_its_end() -> None:
    built = timed(AT)

    with pytest.raises(CorruptRowError) as caught:
        built.decode(bytes(9))
    assert (caught.value.end_bytes, caught.value.row) == (8, bytes(9))
    assert caught.value.reason == "the row key has more bytes than its components"


def test_tables_are_not_made_for_each_minute() -> None:
    with pytest.raises(
        SchemaError, match='the period of a table must be "hour", "day", "month" or "year"'
    ):
        TablePerPeriod("t_%Y%m%d%H", of="at", period="minute")


def test_a_block_of_numbers_is_no_truth_value() -> None:
    with pytest.raises(ConfigurationError, match="not positive"):
        Sequence(lambda _: range(1), "sequences", "a", block=True)


def test_a_value_of_another_type_is_told_which_is_taken() -> None:
    text: Any = "1"
    with pytest.raises(CodecError) as caught:
        codecs.uint8().encode(text)

    assert caught.value.fix == "give a value of type int that fits"


@pytest.mark.parametrize(
    ("table", "dictionary"),
    [
        ("hosts", "hosts"),
        (TablePerPeriod("hosts_%Y%m%d", of="at", period="day"), "hosts_20240229"),
    ],
    ids=["one table", "one a day"],
)
def test_a_dictionary_is_not_the_models_own_table(
    table: str | TablePerPeriod, dictionary: str
) -> None:
    with pytest.raises(SchemaError, match="the model's own table") as caught:

        class Host(Model, table=table):
            d = Family()
            name: Key[str] = key()
            at: Key[datetime] = key()
            __rowkey__ = rowkey(Substitute(of=name, dictionary=dictionary), at)

    assert caught.value.dictionary == dictionary


def test_a_dictionary_has_the_name_of_a_table() -> None:
    with pytest.raises(SchemaError, match="the name is not allowed for a table") as caught:

        class Host(Model, table="hosts"):
            d = Family()
            name: Key[str] = key()
            __rowkey__ = rowkey(Substitute(of=name, dictionary="all names"))

    assert (caught.value.model, caught.value.table) == ("Host", "all names")


@pytest.mark.parametrize("width_bytes", ["4", 4.0, True, 0, -1])
@pytest.mark.parametrize(
    "begin", [LeadingBytes.hex_digits, LeadingBytes.decimal_digits, LeadingBytes.any_bytes]
)
def test_leading_bytes_are_counted(begin: Callable[..., object], width_bytes: Any) -> None:
    with pytest.raises(
        SchemaError, match="the number of leading bytes must be a positive integer"
    ) as caught:
        begin(width_bytes)

    assert caught.value.width_bytes == width_bytes


@pytest.mark.parametrize("split_keys", [["a"], b"ab"])
def test_split_keys_are_bytes(split_keys: Any) -> None:
    with pytest.raises(SchemaError, match="a split key is not bytes"):
        survey(split_keys, LeadingBytes.hex_digits(2))
