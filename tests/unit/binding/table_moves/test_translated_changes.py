"""Changes of new rows are translated to changes of the old ones, or refused before MOVING."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from hbase_orm import (
    Family,
    Key,
    Mapped,
    Model,
    Salt,
    codecs,
    column,
    key,
    rowkey,
)
from hbase_orm.errors import (
    RowKeyError,
    ValidationError,
)
from hbase_orm.index.entries.targets import RowChange
from hbase_orm.ops import Row
from tests.support.moved_models import (
    NUMBERED_KEY,
    OLD_KEY,
    REGIONAL_KEY,
    MarkedReading,
    NullableReading,
    NumberedReading,
    Plain,
    Reading,
    RegionalReading,
    Renamed,
    between,
    cells,
    i64,
    key_of,
    u32,
)


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
