"""Rows, keys and columns of typical pairs of models are translated to the new layout."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hbase_orm import (
    Digest,
    Dynamic,
    Family,
    Key,
    Mapped,
    Model,
    codecs,
    column,
    dynamic,
    key,
    rowkey,
)
from hbase_orm.errors import (
    CodecError,
    CorruptRowError,
    RowKeyError,
)
from hbase_orm.index.entries.targets import RowChange
from hbase_orm.ops import Cell, Row, StoredVersion
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
