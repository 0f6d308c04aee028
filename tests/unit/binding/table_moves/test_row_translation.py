"""Rows, keys and changes of typical pairs of models, and the pairs that are refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from hbase_orm import (
    Counter,
    Digest,
    Dynamic,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Offset,
    Period,
    RandomSalt,
    RecordType,
    Salt,
    Substitute,
    TablePerPeriod,
    Version,
    codecs,
    column,
    connect,
    counter,
    dynamic,
    key,
    rowkey,
    version,
)
from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.table_moves.row_translation import row_translation
from hbase_orm.errors import (
    CodecError,
    ConfigurationError,
    CorruptRowError,
    RowKeyError,
    ValidationError,
)
from hbase_orm.index.entries.index_entries import guarded_table
from hbase_orm.index.entries.targets import RowChange
from hbase_orm.moving.translation import RowTranslation, TableMove
from hbase_orm.ops import Cell, Row, StoredVersion


def bound(model: type[Model]) -> BoundModel:
    return connect("memory://")._bound_of(model)


def between(old: type[Model], new: type[Model]) -> RowTranslation:
    return row_translation(bound(old), bound(new))


def cells(**values: bytes) -> dict[bytes, Cell]:
    """Return cells of the family d; the first has the timestamp 1, the next 2 and so on."""
    return {
        b"d:" + name.encode(): Cell(value, ms) for ms, (name, value) in enumerate(values.items(), 1)
    }


def u32(number: int) -> bytes:
    return codecs.uint32().encode(number)


def i64(number: int) -> bytes:
    return codecs.int64().encode(number)


class Reading(Model, table="readings"):
    """The old table: by host and number."""

    d = Family(versions=3)
    host: Key[str] = key()
    number: Key[int] = key(codecs.uint32())
    value: Mapped[int] = column(d, qualifier="v", codec=codecs.uint32())
    region: Mapped[str | None] = column(d, default=None)
    note: Mapped[str | None] = column(d, default=None)
    tags: Dynamic[str, str] = dynamic(d, prefix="t_")
    __rowkey__ = rowkey(Salt(4), host, number)


class NumberedReading(Model, table="numbered_readings"):
    """By number first, without a salt; wider values; the host is a column too."""

    d = Family(versions=3)
    host: Key[str] = key(family=d)
    number: Key[int] = key(codecs.uint32())
    value: Mapped[int] = column(d, qualifier="value", codec=codecs.int64())
    note: Mapped[str | None] = column(d, default=None)
    tags: Dynamic[str, str] = dynamic(d, prefix="tag_")
    __rowkey__ = rowkey(number, host)


class RegionalReading(Model, table="regional_readings"):
    """By region, host and number; the region is not in a column any more."""

    d = Family()
    region: Key[str] = key()
    host: Key[str] = key()
    number: Key[int] = key(codecs.uint32())
    value: Mapped[int] = column(d, qualifier="v", codec=codecs.uint32())
    __rowkey__ = rowkey(Salt(8), region, host, number)


def key_of(model: type[Model], **values: Any) -> bytes:
    return model.__schema__.layout.encode(values)


OLD_KEY = key_of(Reading, host="a", number=7)
NUMBERED_KEY = key_of(NumberedReading, host="a", number=7)
REGIONAL_KEY = key_of(RegionalReading, region="north", host="a", number=7)


# --- rows -----------------------------------------------------------------------------------------


def test_cells_are_renamed_and_converted_and_keep_their_timestamps() -> None:
    row = Row(OLD_KEY, cells(v=u32(5), region=b"north", t_x=b"1", other=b"?", note=b"n"))

    assert between(Reading, NumberedReading).to_new(row) == Row(
        NUMBERED_KEY,
        {
            b"d:host": Cell(b"a", 5),  # was only in the old key: as old as the newest cell
            b"d:value": Cell(i64(5), 1),
            b"d:tag_x": Cell(b"1", 3),
            b"d:other": Cell(b"?", 4),
            b"d:note": Cell(b"n", 5),
        },
    )


def test_the_new_key_may_depend_on_cells() -> None:
    translation = between(Reading, RegionalReading)

    row = translation.to_new(Row(OLD_KEY, cells(v=u32(5), region=b"north")))

    assert row == Row(REGIONAL_KEY, {b"d:v": Cell(u32(5), 1)})
    assert translation.old_key(REGIONAL_KEY) == OLD_KEY
    assert translation.old_columns(frozenset()) == {b"d:region"}


def test_a_row_without_a_field_of_the_new_key_is_refused() -> None:
    with pytest.raises(RowKeyError, match="no value for a field of the new row key") as caught:
        between(Reading, RegionalReading).to_new(Row(OLD_KEY, cells(v=u32(5))))

    details = caught.value
    assert (details.field, details.row, details.table) == ("region", OLD_KEY, "readings")


class DefaultReading(Reading, table="default_readings"):
    region: Mapped[str] = column(Reading.d, default="nowhere")


def test_the_default_of_a_column_is_its_value_in_the_new_key() -> None:
    key = key_of(RegionalReading, region="nowhere", host="a", number=7)

    row = between(DefaultReading, RegionalReading).to_new(Row(OLD_KEY, cells(v=u32(5))))

    assert row.key == key


def test_all_versions_are_translated_if_both_tables_keep_some() -> None:
    older = between(Reading, NumberedReading).older_versions
    versions = [
        StoredVersion(b"d:v", 9, "put", u32(2)),
        StoredVersion(b"d:v", 4, "put", u32(1)),
        StoredVersion(b"d:region", 4, "put", b"north"),
    ]

    assert older is not None
    assert older(versions) == [
        StoredVersion(b"d:value", 9, "put", i64(2)),
        StoredVersion(b"d:value", 4, "put", i64(1)),
    ]
    assert between(Reading, RegionalReading).older_versions is None


class NullableReading(Model, table="nullable_readings"):
    d = Family()
    e = Family()
    host: Key[str] = key()
    note: Mapped[str | None] = column(d, default=None)


class MarkedReading(Model, table="marked_readings"):
    e = Family()
    host: Key[str] = key()
    note: Mapped[str | None] = column(e, default=None)


def test_the_marker_is_put_and_the_old_one_is_not_copied() -> None:
    row = Row(b"a", {b"d:_0": Cell(b"x", 3), b"d:z": Cell(b"z", 5), b"e:y": Cell(b"y", 4)})

    translated = between(NullableReading, MarkedReading).to_new(row)

    assert translated == Row(b"a", {b"e:y": Cell(b"y", 4), b"e:_0": Cell(b"x", 5)})


class StoredHost(Model, table="stored_hosts"):
    d = Family()
    host: Key[str] = key(family=d)
    note: Mapped[str | None] = column(d, default=None)


def test_a_table_with_an_anchor_gets_no_marker() -> None:
    row = Row(b"a", {b"d:_0": Cell(b"x", 3)})

    translated = between(NullableReading, StoredHost).to_new(row)

    assert translated == Row(b"a", {b"d:host": Cell(b"a", 3)})


class Renamed(Model, table="renamed"):
    d = Family()
    host: Key[str] = key()
    first: Mapped[str] = column(d, qualifier="b")
    __rowkey__ = rowkey(host)


class Plain(Model, table="plain"):
    d = Family()
    host: Key[str] = key()
    first: Mapped[str] = column(d, qualifier="a")
    __rowkey__ = rowkey(host)


def test_an_undeclared_cell_does_not_take_the_place_of_a_field() -> None:
    row = Row(b"h", cells(a=b"first", b=b"left over", c=b"kept"))

    translated = between(Plain, Renamed).to_new(row)

    assert translated == Row(b"h", {b"d:b": Cell(b"first", 1), b"d:c": Cell(b"kept", 3)})


class Numbers(Model, table="numbers"):
    d = Family()
    host: Key[str] = key()
    by_number: Dynamic[int, int] = dynamic(
        d, prefix="n_", name=codecs.uint8(), codec=codecs.uint32()
    )


class WideNumbers(Model, table="wide_numbers"):
    d = Family()
    host: Key[str] = key()
    by_number: Dynamic[int, int] = dynamic(
        d, prefix="n_", name=codecs.uint16(), codec=codecs.int64()
    )


def test_names_and_values_of_dynamic_columns_are_converted() -> None:
    translation = between(Numbers, WideNumbers)

    row = translation.to_new(Row(b"h", {b"d:n_\x07": Cell(u32(1), 4)}))

    assert row.cells[b"d:n_\x00\x07"] == Cell(i64(1), 4)
    assert b"d:n_\x07" not in row.cells
    assert translation.old_columns(frozenset((b"d:n_\x00\x07",))) == {b"d:n_\x07"}
    assert translation.old_columns(frozenset((b"d:n_\x01\x07",))) == frozenset()
    change = RowChange(b"h", {b"d:n_\x00\x07": i64(9)}, frozenset((b"d:n_\x00\x08",)))
    assert translation.old_change(change).puts == {b"d:n_\x07": u32(9)}
    assert translation.old_change(change).clears == {b"d:n_\x08"}


class Overlapping(Model, table="overlapping"):
    d = Family()
    host: Key[str] = key()
    n: Mapped[int | None] = column(d, qualifier="7", codec=codecs.int64(), default=None)
    by_number: Dynamic[int, int] = dynamic(d, name=codecs.digits(1), codec=codecs.int64())


class NumbersBeside(Numbers, table="numbers_beside"):
    n: Mapped[int | None] = column(Numbers.d, default=None)


def test_a_dynamic_column_does_not_take_the_place_of_a_field() -> None:
    with pytest.raises(CodecError, match="would become a declared column") as caught:
        between(NumbersBeside, Overlapping).to_new(Row(b"h", {b"d:n_\x07": Cell(u32(1), 4)}))

    assert (caught.value.field, caught.value.row) == ("by_number", b"h")


def test_a_cell_that_does_not_decode_is_named() -> None:
    with pytest.raises(CorruptRowError, match="does not decode") as caught:
        between(Reading, NumberedReading).to_new(Row(OLD_KEY, cells(v=b"short")))

    error = caught.value
    assert (error.model, error.table, error.field) == ("Reading", "readings", "value")
    assert (error.row, error.column) == (OLD_KEY, b"d:v")


class NarrowReading(Reading, table="narrow_readings"):
    value: Mapped[int] = column(Reading.d, qualifier="v", codec=codecs.uint8())


def test_a_value_that_does_not_fit_the_new_codec_is_named() -> None:
    with pytest.raises(CodecError) as caught:
        between(Reading, NarrowReading).to_new(Row(OLD_KEY, cells(v=u32(256))))

    assert (caught.value.field, caught.value.row, caught.value.value) == ("value", OLD_KEY, 256)


class ByUrl(Model, table="by_url"):
    d = Family()
    url: Key[str] = key(family=d)
    title: Mapped[str] = column(d, codec=codecs.text())
    __rowkey__ = rowkey(Digest(of=url))


class TitledUrl(Model, table="titled_url"):
    d = Family()
    url: Key[str] = key(family=d)
    title: Mapped[str] = column(d, qualifier="t")
    __rowkey__ = rowkey(Digest(of=url))


class UrlItself(Model, table="url_itself"):
    d = Family()
    url: Key[str] = key()
    title: Mapped[str] = column(d)
    __rowkey__ = rowkey(url)


def test_rows_keep_their_key_if_it_is_declared_alike_though_it_is_a_hash() -> None:
    translation = between(ByUrl, TitledUrl)
    key = key_of(ByUrl, url="u")

    row = translation.to_new(Row(key, cells(url=b"u", title=b"T")))

    assert row == Row(key, {b"d:url": Cell(b"u", 1), b"d:t": Cell(b"T", 2)})
    assert translation.old_key(key) == key
    assert translation.old_columns(frozenset()) == frozenset()
    change = RowChange(key, {b"d:url": b"u", b"d:t": b"T"}, kind="insert")
    assert translation.old_change(change).puts == {b"d:url": b"u", b"d:title": b"T"}


def test_a_hashed_field_becomes_the_key() -> None:
    translation = between(ByUrl, UrlItself)
    old_key = key_of(ByUrl, url="u")

    assert translation.to_new(Row(old_key, cells(url=b"u", title=b"T"))).key == b"u"
    assert translation.old_key(b"u") == old_key
    change = translation.old_change(RowChange(b"u", {b"d:title": b"T"}, kind="insert"))
    assert (change.row, change.puts) == (old_key, {b"d:url": b"u", b"d:title": b"T"})


# --- columns --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "old"),
    [
        ((b"d:value",), {b"d:v"}),
        ((b"d:tag_x", b"d:other"), {b"d:t_x", b"d:other"}),
        ((b"d:host",), set()),
        ((b"d",), {b"d", b"d:v", b"d:note"}),
        ((b"e:x",), set()),
    ],
)
def test_only_the_needed_old_columns_are_read(columns: Sequence[bytes], old: set[bytes]) -> None:
    assert between(Reading, NumberedReading).old_columns(frozenset(columns)) == old


def test_a_family_needs_the_old_families_of_its_fields() -> None:
    translation = between(NullableReading, MarkedReading)

    assert translation.old_columns(frozenset((b"e",))) == {b"e", b"d:note"}


# --- changes --------------------------------------------------------------------------------------


def test_a_change_is_translated_without_what_depends_on_the_row() -> None:
    change = RowChange(
        NUMBERED_KEY,
        {b"d:value": i64(5), b"d:host": b"a", b"d:other": b"o"},
        frozenset((b"d:note", b"d:tag_x")),
        "update",
        ttl_ms=1,
        reads=frozenset((b"d:value",)),
        check=lambda _: None,
        decide=lambda _: RowChange(b""),
    )

    assert between(Reading, NumberedReading).old_change(change) == RowChange(
        OLD_KEY,
        {b"d:v": u32(5), b"d:other": b"o"},
        frozenset((b"d:note", b"d:t_x")),
        "update",
        ttl_ms=1,
    )


@pytest.mark.parametrize("kind", ["put", "insert", "replace"])
def test_a_change_that_may_create_the_row_puts_the_values_of_the_new_key(kind: Any) -> None:
    change = RowChange(REGIONAL_KEY, {b"d:v": u32(5)}, kind=kind)

    translated = between(Reading, RegionalReading).old_change(change)

    assert translated == RowChange(OLD_KEY, {b"d:region": b"north", b"d:v": u32(5)}, kind=kind)


@pytest.mark.parametrize("kind", ["update", "delete", "reindex"])
def test_another_change_does_not_put_the_values_of_the_new_key(kind: Any) -> None:
    translated = between(Reading, RegionalReading).old_change(RowChange(REGIONAL_KEY, kind=kind))

    assert translated == RowChange(OLD_KEY, kind=kind)


def test_the_marker_is_left_to_the_write_of_the_old_table() -> None:
    change = RowChange(b"a", {b"e:_0": b"x", b"e:note": b"n"})

    assert between(NullableReading, MarkedReading).old_change(change).puts == {b"d:note": b"n"}


def assert_refused(error: ValidationError, field: object, row: bytes) -> None:
    assert (error.field, error.row) == (field, row)
    assert "phase MOVING" in error.fix


def test_a_value_that_does_not_fit_the_old_codec_waits_for_moving() -> None:
    change = RowChange(NUMBERED_KEY, {b"d:value": i64(-1)}, kind="update")

    with pytest.raises(ValidationError, match="cannot store the change") as caught:
        between(Reading, NumberedReading).old_change(change)

    assert_refused(caught.value, "value", NUMBERED_KEY)
    assert caught.value.table == "readings"


class Seen(Model, table="seen"):
    d = Family()
    host: Key[str] = key()
    at: Mapped[datetime] = column(d, codec=codecs.seconds())


class SeenExactly(Model, table="seen_exactly"):
    d = Family()
    host: Key[str] = key()
    at: Mapped[datetime] = column(d, codec=codecs.millis())


def test_a_value_that_the_old_codec_would_round_waits_for_moving() -> None:
    exact = codecs.millis().encode(datetime(2001, 1, 1, 0, 0, 0, 5000, UTC))

    with pytest.raises(ValidationError, match="cannot store the change") as caught:
        between(Seen, SeenExactly).old_change(RowChange(b"a", {b"d:at": exact}, kind="update"))

    assert_refused(caught.value, "at", b"a")


class Painted(Model, table="painted"):
    d = Family()
    host: Key[str] = key()
    color: Mapped[str] = column(d, codec=codecs.code({"red": b"r"}))


class PaintedMore(Model, table="painted_more"):
    d = Family()
    host: Key[str] = key()
    color: Mapped[str] = column(d, codec=codecs.code({"red": b"r", "blue": b"b"}))


def test_a_code_that_old_programs_do_not_know_waits_for_moving() -> None:
    translation = between(Painted, PaintedMore)
    assert translation.old_change(RowChange(b"a", {b"d:color": b"r"})).puts == {b"d:color": b"r"}

    with pytest.raises(ValidationError, match="cannot store the change") as caught:
        translation.old_change(RowChange(b"a", {b"d:color": b"b"}))

    assert_refused(caught.value, "color", b"a")


def test_a_code_that_new_programs_do_not_know_keeps_its_bytes() -> None:
    row = between(PaintedMore, Painted).to_new(Row(b"a", cells(color=b"b")))

    assert row.cells == cells(color=b"b")


class OptionalReading(Model, table="optional_readings"):
    d = Family(versions=3)
    host: Key[str] = key()
    number: Key[int] = key(codecs.uint32())
    value: Mapped[int | None] = column(d, qualifier="v", codec=codecs.uint32(), default=None)
    note: Mapped[str | None] = column(d, default=None)
    __rowkey__ = rowkey(Salt(4), host, number)


@pytest.mark.parametrize(
    "change",
    [
        RowChange(OLD_KEY, {b"d:note": b"n"}, kind="insert"),
        RowChange(OLD_KEY, {b"d:note": b"n"}, kind="replace"),
        RowChange(OLD_KEY, {b"d:note": b"n"}, frozenset((b"d:v",)), kind="update"),
    ],
    ids=lambda change: change.kind,
)
def test_none_in_a_column_that_old_rows_need_waits_for_moving(change: RowChange) -> None:
    with pytest.raises(ValidationError, match="cannot store the change") as caught:
        between(Reading, OptionalReading).old_change(change)

    assert_refused(caught.value, "value", OLD_KEY)
    update = replace(change, kind="update", clears=frozenset())
    assert between(Reading, OptionalReading).old_change(update).puts == {b"d:note": b"n"}


def test_a_change_that_is_decided_later_need_not_have_the_columns_of_a_row() -> None:
    change = RowChange(OLD_KEY, decide=lambda _: RowChange(OLD_KEY))

    assert between(Reading, OptionalReading).old_change(change) == RowChange(OLD_KEY)


@pytest.mark.parametrize(
    "change",
    [
        RowChange(NUMBERED_KEY, {b"d:host": b"b"}, kind="update"),
        RowChange(NUMBERED_KEY, clears=frozenset((b"d:host",)), kind="update"),
    ],
    ids=["put", "clear"],
)
def test_a_column_that_contradicts_the_old_key_is_refused(change: RowChange) -> None:
    with pytest.raises(ValidationError, match="cannot store the change") as caught:
        between(Reading, NumberedReading).old_change(change)

    assert_refused(caught.value, "host", NUMBERED_KEY)


def test_an_undeclared_column_whose_place_is_taken_waits_for_moving() -> None:
    translation = between(Plain, Renamed)

    with pytest.raises(ValidationError, match="cannot store the change") as caught:
        translation.old_change(RowChange(b"h", {b"d:a": b"?"}))

    assert_refused(caught.value, b"d:a", b"h")
    cleared = translation.old_change(RowChange(b"h", clears=frozenset((b"d:a",)), kind="update"))
    assert cleared.clears == frozenset()


class SmallKey(Model, table="small_key"):
    d = Family()
    number: Key[int] = key(codecs.uint8())
    at: Key[datetime] = key(codecs.seconds())
    kind: Mapped[int] = column(d, codec=codecs.uint8())
    __rowkey__ = rowkey(number, at)


class LargeKey(Model, table="large_key"):
    d = Family()
    number: Key[int] = key(codecs.uint16())
    at: Key[datetime] = key(codecs.millis())
    kind: Key[int] = key(codecs.uint16())
    __rowkey__ = rowkey(kind, number, at)


NOON = datetime(2001, 1, 1, 12, tzinfo=UTC)


def test_a_key_that_does_not_fit_the_old_table_waits_for_the_end_of_the_move() -> None:
    new_key = key_of(LargeKey, number=256, at=NOON, kind=1)

    with pytest.raises(RowKeyError, match="does not fit the old table") as caught:
        between(SmallKey, LargeKey).old_key(new_key)

    assert (caught.value.table, caught.value.row) == ("small_key", new_key)


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"at": NOON.replace(microsecond=5000), "kind": 1}, "at"),
        ({"at": NOON, "kind": 256}, "kind"),
    ],
    ids=["rounded in the key", "too large for a column"],
)
def test_a_key_that_the_old_table_would_change_waits_for_moving(
    values: dict[str, Any], field: str
) -> None:
    new_key = key_of(LargeKey, number=1, **values)

    with pytest.raises(ValidationError, match="cannot store a value of the row key") as caught:
        between(SmallKey, LargeKey).old_change(RowChange(new_key))

    assert_refused(caught.value, field, new_key)


# --- what is refused ------------------------------------------------------------------------------


class Base(Model, abstract=True):
    d = Family()
    host: Key[str] = key()
    value: Mapped[str] = column(d)


class Good(Base, table="good"):
    pass


class RandomlySalted(Base, table="randomly_salted"):
    __rowkey__ = rowkey(RandomSalt(4), Base.host)


class Named(Base, table="named"):
    __rowkey__ = rowkey(Substitute(of=Base.host, dictionary="hosts"))


class Counting(Base, table="counting"):
    hits: Counter = counter(Base.d)


class Periods(Base, table=TablePerPeriod("periods_%Y", of="at", period="year")):
    at: Key[datetime] = key(codecs.millis())


class Packed(Model, table="packed"):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.millis())
    value: Mapped[str] = column(d, qualifier=Offset("hour", of=at))
    __rowkey__ = rowkey(host, Period("hour", of=at))


class Typed(Model, table="typed"):
    d = Family()
    host: Key[str] = key()
    value: Mapped[str] = column(d)
    __rowkey__ = rowkey(RecordType(), host)


class TypedHost(Typed, record_type="h"):
    pass


class Indexed(Base, table="indexed"):
    by_value = Index(Base.value)


@pytest.mark.parametrize("place", [0, 1], ids=["old", "new"])
@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (RandomlySalted, "random salt"),
        (Named, "numbers of names"),
        (Periods, "table for each period"),
        (Packed, "stored as a cell"),
        (Typed, "record types"),
        (TypedHost, "record types"),
    ],
)
def test_models_whose_rows_cannot_be_moved_are_refused(
    model: type[Model], reason: str, place: int
) -> None:
    pair: list[type[Model]] = [Good, Good]
    pair[place] = model

    with pytest.raises(ConfigurationError, match="cannot be moved while programs") as caught:
        between(*pair)

    assert reason in caught.value.reason
    assert (caught.value.model, bool(caught.value.fix)) == (model.__name__, True)


class Summing(Base, table="summing"):
    hits: Counter = counter(Base.d, "h")


class Hitting(Base, table="hitting"):
    hits: Mapped[int | None] = column(Base.d, default=None)


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [(Good, Counting, Counting), (Hitting, Counting, Counting), (Counting, Hitting, Counting)],
    ids=["lacking before", "a column before", "a column after"],
)
def test_a_counter_of_one_model_only_is_refused(
    old: type[Model], new: type[Model], named: type[Model]
) -> None:
    with pytest.raises(ConfigurationError, match="counter in only one") as caught:
        between(old, new)

    assert (caught.value.model, caught.value.field) == (named.__name__, "hits")


def test_counters_have_their_place_in_the_other_table_and_may_be_dropped() -> None:
    assert between(Counting, Summing).old_counters == {b"d:h": b"d:hits"}
    assert between(Counting, Good).old_counters == {}


def test_rows_without_guards_are_refused() -> None:
    indexed = bound(Indexed)
    without = replace(indexed, guarded=guarded_table(indexed.schema, is_lww=True))

    with pytest.raises(ConfigurationError) as caught:
        row_translation(bound(Good), without)

    assert "no guards" in caught.value.reason
    assert "Thrift2" in caught.value.fix


class Longer(Base, table="longer"):
    extra: Mapped[str | None] = column(Base.d, default=None)


class Mapping(Base, table="mapping"):
    extra: Dynamic[str, str] = dynamic(Base.d, prefix="x_")


class Versioned(Base, table="versioned"):
    revision: Version = version()


class Unversioned(Base, table="unversioned"):
    revision: Mapped[int] = column(Base.d)


class Needing(Base, table="needing"):
    extra: Mapped[str] = column(Base.d)


class Hashed(Model, table="hashed"):
    d = Family()
    host: Key[str] = key(family=d)
    value: Mapped[str] = column(d)
    __rowkey__ = rowkey(Digest(of=host))


class LongerKey(Base, table="longer_key"):
    extra: Key[str] = key()
    __rowkey__ = rowkey(extra, Base.host)


class OtherAnchor(Model, table="other_anchor"):
    d = Family()
    host: Key[str] = key()
    extra: Mapped[str] = column(d)
    value: Mapped[str] = column(d)


@pytest.mark.parametrize(
    ("old", "new", "named", "reason", "field"),
    [
        (Good, Hashed, Hashed, "old row key cannot be computed", "host"),
        (LongerKey, Good, Good, "old row key cannot be computed", "extra"),
        (Good, LongerKey, Good, "old rows do not have", "extra"),
        (Mapping, LongerKey, Mapping, "old rows do not have", "extra"),
        (Good, Longer, Good, "no place for a column", "extra"),
        (Good, Mapping, Good, "no place for a column", "extra"),
        (Mapping, Longer, Mapping, "no place for a column", "extra"),
        (Good, Versioned, Good, "no place for a column", "revision"),
        (Unversioned, Versioned, Unversioned, "no place for a column", "revision"),
        (Versioned, Unversioned, Unversioned, "counts the writes", "revision"),
        (Needing, Good, Needing, "each row of the old table needs", "extra"),
        (Longer, OtherAnchor, Longer, "may lack the column that shows", "extra"),
    ],
)
def test_pairs_of_models_that_do_not_fit_are_refused(
    old: type[Model], new: type[Model], named: type[Model], reason: str, field: str
) -> None:
    with pytest.raises(ConfigurationError, match="cannot be moved while programs") as caught:
        between(old, new)

    error = caught.value
    assert reason in error.reason
    assert (error.model, error.table) == (named.__name__, named.__schema__.table)
    assert (error.field, bool(error.fix)) == (field, True)


def test_pairs_that_lose_only_columns_that_no_row_needs_are_allowed() -> None:
    for old in (Longer, Mapping, Versioned, Indexed):
        assert between(old, Good).old_columns(frozenset()) == frozenset()


def test_a_move_uses_the_translation() -> None:
    translation = between(Reading, RegionalReading)
    old, new = (guarded_table(bound(each).schema) for each in (Reading, RegionalReading))
    move = TableMove(old, new, translation, "new_keys")

    row = move.to_new(OLD_KEY, cells(v=u32(5), region=b"north"))

    assert row == Row(REGIONAL_KEY, {b"d:v": Cell(u32(5), 1)})
    assert move.key_columns == {b"d:region"}
