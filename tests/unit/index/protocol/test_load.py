"""Loaded rows: entries and data with their guards, the same bytes at every run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hbase_orm import (
    Counter,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Version,
    codecs,
    column,
    counter,
    key,
    version,
)
from hbase_orm.codecs.numbers import UInt16
from hbase_orm.errors import CorruptRowError, RejectedError, ValidationError
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.entries.compiled import FlatRow
from hbase_orm.index.entries.guard_cell import GuardCell
from hbase_orm.index.entries.index_entries import guarded_table
from hbase_orm.index.entries.targets import RowChange
from hbase_orm.index.protocol.load import FlatLoad, LoadedRow, LoadTicket, constants, guarded_load
from hbase_orm.model.mapping.flat import flattener_of
from hbase_orm.ops import MutateRows, Operation, Protocol, Put, PutRows, RowMutation, Together
from tests.support.replays import V1, Bench
from tests.support.stepping import drive

TICKET = LoadTicket(timestamp_ms=100, nonce=b"n" * 8, epoch=1)
GUARD = GuardCell(1, 100, b"n" * 8, (bytes(8),))


@pytest.fixture
def bench() -> Bench:
    bench = Bench(MemoryGateway(lambda: 1_000), "t_", base_ms=200)
    bench.create_tables()
    return bench


def load(bench: Bench, loaded: LoadedRow) -> None:
    for table, mutations in loaded.entries.items():
        bench.gateway.execute(MutateRows(table, mutations))
    bench.gateway.execute(MutateRows(bench.target.table, (loaded.data,)))


def test_a_loaded_row_carries_its_guard_and_its_entries_the_ticket_s_timestamp(
    bench: Bench,
) -> None:
    loaded = guarded_load(bench.target, RowChange(b"row", {V1: b"A"}), TICKET)

    entry = RowMutation(b"A\x00row", puts=(Put(b"d:", b"", 100),))
    assert loaded == LoadedRow(
        entries={"t_idx": (entry,)},
        data=RowMutation(b"row", puts=(Put(V1, b"A", 100), Put(b"_:g", GUARD.encode(), 100))),
        verified={},
    )


def test_a_load_deletes_no_rows(bench: Bench) -> None:
    with pytest.raises(ValidationError):
        guarded_load(bench.target, RowChange(b"row", {}, kind="delete"), TICKET)


def test_a_load_that_is_run_again_over_later_writes_changes_nothing(bench: Bench) -> None:
    loaded = guarded_load(bench.target, RowChange(b"row", {V1: b"A"}), TICKET)
    load(bench, loaded)
    drive(bench.write({V1: b"B"}), bench.gateway)

    load(bench, loaded)
    counts = bench.repair()

    assert (bench.values(), bench.compare().missing) == ({V1: b"B"}, ())
    assert counts.scanned == 1


class Shaped(Model, table="shaped"):
    d = Family()
    name: Key[str] = key()
    unit: Mapped[str | None] = column(d, "u", default=None)
    value: Mapped[int | None] = column(d, "v", codec=codecs.uint8(), default=None)
    revision: Version = version(d)
    hits: Counter = counter(d)
    by_unit = Index(unit)
    by_both = Index(value, unit.desc(), nulls=True)
    with_unit = Index(value, include=[unit], covering=True)


class Anchored(Model, table="anchored"):
    d = Family()
    name: Key[str] = key()
    unit: Mapped[str] = column(d, "u")
    value: Mapped[int | None] = column(d, "v", codec=codecs.uint8(), default=None)
    by_value = Index(value, salt=4)


@given(
    st.sampled_from((Shaped, Anchored)),
    st.dictionaries(
        st.text("abc", min_size=1),
        st.tuples(st.text("\0xy"), st.none() | st.integers(0, 255)),
        min_size=1,
    ),
)
def test_flat_rows_are_loaded_as_the_very_cells_of_other_rows(
    model: Any, rows: dict[str, tuple[str, int | None]]
) -> None:
    objects = [model(name=name, unit=unit, value=value) for name, (unit, value) in rows.items()]
    target, mapping = guarded_table(model.__schema__), model.__mapping__
    fixed = constants(target, TICKET)
    flatten: Any = flattener_of(model, *fixed)
    names = *(each.column for each in model.__schema__.columns), *(name for name, _ in fixed)
    keyed = [(obj.__dict__, mapping.encode_key(obj.__dict__)) for obj in objects]
    one_by_one = [
        guarded_load(target, RowChange(key, mapping.dehydrate(values)), TICKET)
        for values, key in keyed
    ]

    load = FlatLoad(target, TICKET, names)
    flat = [load.keyed(flatten(values, key)[1]) for values, key in keyed]

    data = load.data(flat).as_mutations()
    assert data.table == target.table
    assert contents(data.mutations) == contents(loaded.data for loaded in one_by_one)
    entries = [loaded.entries for loaded in one_by_one]
    verified = [loaded.verified for loaded in one_by_one]
    assert contents_by_table(load.entries(flat)) == joined(entries)
    assert contents_by_table(load.verified(flat)) == joined(verified)


def contents_by_table(puts: Iterable[PutRows]) -> dict[str, Any]:
    return {put.table: contents(put.as_mutations().mutations) for put in puts}


def joined(rows: list[Mapping[str, tuple[RowMutation, ...]]]) -> dict[str, Any]:
    tables = {table for row in rows for table in row}
    return {table: contents(put for row in rows for put in row.get(table, ())) for table in tables}


class Repeats(Model, table="repeats"):
    d = Family()
    name: Key[str] = key()
    unit: Mapped[str] = column(d, "u")
    value: Mapped[int | None] = column(d, "v", codec=codecs.uint8(), default=None)
    by_unit = Index(unit, include=[value], covering=True)


def test_entries_are_verified_when_their_rows_are_acknowledged() -> None:
    load = FlatLoad(guarded_table(Repeats.__schema__), TICKET, (b"d:u", b"d:v"))
    rows = [load.keyed((b"r1", b"b", b"\x01")), load.keyed((b"r2", b"a", None))]

    sent = requests_of(load.load(rows))

    first, second = b"a\0\1r2", b"b\0\1r1"
    copies = ((first, b"v\x00", None), (second, b"v\x01", b"\x01"))
    table, index = "repeats", Repeats.__schema__.indexes[0].table
    assert sent == [
        Together((PutRows(index, (b"d:",), ((first, b"u"), (second, b"u")), 100),)),
        PutRows(table, (b"d:u", b"d:v"), ((b"r1", b"b", b"\x01"), (b"r2", b"a", None)), 100),
        Together((PutRows(index, (b"d:", b"d:d:v"), copies, 100),)),
    ]


def test_a_row_that_was_not_acknowledged_verifies_no_entry() -> None:
    load = FlatLoad(guarded_table(Repeats.__schema__), TICKET, (b"d:u", b"d:v"))
    steps = load.load([load.keyed((b"r1", b"b", None))])
    next(steps)
    asked = steps.send(None)
    assert isinstance(asked, PutRows)
    assert asked.table == "repeats"

    with pytest.raises(RejectedError):
        steps.throw(RejectedError("no such table"))


def test_entries_that_cannot_be_verified_leave_their_rows_loaded(
    caplog: pytest.LogCaptureFixture,
) -> None:
    load = FlatLoad(guarded_table(Repeats.__schema__), TICKET, (b"d:u", b"d:v"))
    steps = load.load([load.keyed((b"r1", b"b", None))])
    next(steps)
    steps.send(None)
    steps.send(None)

    with pytest.raises(StopIteration):
        steps.throw(RejectedError("no such table"))

    assert "left unverified" in caplog.text


def requests_of(steps: Protocol[None]) -> list[Operation[Any]]:
    """Return what is asked when each request is acknowledged."""
    sent = []
    with suppress(StopIteration):
        asked = next(steps)
        while True:
            sent.append(asked)
            asked = steps.send(None)
    return sent


class Placed(Model, table="placed"):
    """Its parts stand at places counted from the front, from the end, and neither."""

    d = Family()
    region: Key[int] = key(codecs.uint8())
    host: Key[str] = key(codecs.text(separator=b"\0"))
    at: Key[int] = key(codecs.uint16(desc=True))
    second: Key[int] = key(codecs.uint8())
    value: Mapped[int] = column(d, "v", codec=codecs.uint16())
    status: Mapped[int] = column(d, "s", codec=codecs.uint8(), default=7)
    by_value = Index(value, region, at.desc())
    by_host = Index(host, second.desc(), value.desc(), salt=3)
    by_second = Index(second, status)


PLACED_ROW = b"\x05host\0" + b"\xff\xfe" + b"\x09"


def placed_load() -> FlatLoad:
    return FlatLoad(guarded_table(Placed.__schema__), TICKET, (b"d:v", b"d:s"))


def quick_keys(load: FlatLoad, *rows: FlatRow) -> dict[str, list[bytes] | None]:
    """Return the entry keys of rows by the names of the indexes, as generated functions make them."""
    made: dict[str, Any] = {i.name: i.keys_of_flat(load.columns) for i in load.target.indexes}
    return {name: keys.of(rows) for name, keys in made.items()}


def test_entries_of_a_flat_row_are_made_of_its_key_s_parts_wherever_they_stand() -> None:
    load = placed_load()

    found: dict[str, Any] = quick_keys(load, (PLACED_ROW, b"\x01\x02", None))

    (key,) = found.pop("by_host")
    assert (key[0] in range(3), key[1:]) == (True, b"host\0" + b"\xf6" + b"\xfe\xfd" + PLACED_ROW)
    assert found == {
        "by_value": [b"\x01\x02" + b"\x05" + b"\xff\xfe" + PLACED_ROW],
        "by_second": [b"\x09" + b"\x07" + PLACED_ROW],
    }


def test_the_entries_of_a_batch_are_those_that_its_rows_need() -> None:
    load = placed_load()
    rows: list[Any] = [
        (PLACED_ROW, b"\x01\x02", None),
        (b"\x04" + PLACED_ROW[1:], b"\x00\x01", b"\x03"),
    ]

    sent = {
        put.table: [key for key, _ in put.rows] for put in load.entries([(r, ()) for r in rows])
    }

    cells = [{c: v for c, v in zip(load.columns, row[1:], strict=True) if v} for row in rows]
    assert sent == {
        index.table: sorted(
            key
            for row, known in zip(rows, cells, strict=True)
            for key in load.target.needed_keys(index, row[0], known)
        )
        for index in load.target.indexes
    }


class Odd(UInt16):
    """A codec of a program of its own, which may encode what it does not decode."""


class OddlyIndexed(Model, table="oddly_indexed"):
    d = Family()
    n: Key[int] = key(codecs.uint8())
    odd: Mapped[int] = column(d, "o", codec=Odd())
    wide: Mapped[int] = column(d, "w", codec=codecs.int32())
    by_odd = Index(odd)
    narrow = Index((wide, codecs.int8()))
    by_wide = Index(wide.desc(), n.desc())


def test_only_entries_that_are_sure_to_fit_are_made_when_the_batch_is_sent() -> None:
    load = FlatLoad(guarded_table(OddlyIndexed.__schema__), TICKET, (b"d:o", b"d:w"))

    _, keys = load.keyed((b"\x01", b"\0\x07", codecs.int32().encode(3)))

    assert keys == ([b"\0\x07\x01"], [codecs.int8().encode(3) + b"\x01"])


@pytest.mark.parametrize("value", [b"", b"\x01", b"\x01\x02\x03"])
@pytest.mark.parametrize("name", ["by_host", "by_value"])
def test_a_value_that_does_not_decode_is_left_to_the_plain_way(name: str, value: bytes) -> None:
    load = placed_load()
    (index,) = (index for index in load.target.indexes if index.name == name)
    keys_of: Any = index.keys_of_flat(load.columns)

    assert keys_of.of(((PLACED_ROW, value, None),)) is None
    with pytest.raises(CorruptRowError):
        load.entries([((PLACED_ROW, value, None), ())])


class Narrow(Model, table="narrow"):
    d = Family()
    n: Key[int] = key(codecs.uint8())
    wide: Mapped[int] = column(d, "w", codec=codecs.int32())
    unit: Mapped[str | None] = column(d, "u", default=None)
    unit_first = Index(unit, (wide, codecs.int8()))
    wide_first = Index((wide, codecs.int8()), unit)


@pytest.mark.parametrize("unit", [None, b"m"])
@pytest.mark.parametrize("number", [0, 1])
def test_a_value_that_fits_no_entry_is_refused_whatever_stands_before_it(
    number: int, unit: bytes | None
) -> None:
    indexes = Narrow.__schema__.indexes[number : number + 1]
    schema = replace(Narrow.__schema__, indexes=indexes)
    load = FlatLoad(guarded_table(schema), TICKET, (b"d:w", b"d:u"))

    with pytest.raises(ValidationError):
        load.keyed((b"\x01", codecs.int32().encode(300), unit))
    assert load.keyed((b"\x01", codecs.int32().encode(3), None))[1] == ([],)


def test_a_flat_row_that_does_not_exist_has_no_entries() -> None:
    row = (PLACED_ROW, None, b"\x01")

    assert placed_load().entries([placed_load().keyed(row)]) == []


def test_entries_are_sent_in_the_order_of_their_keys() -> None:
    load = placed_load()
    rows = [load.keyed((PLACED_ROW, bytes((0, value)), None)) for value in (3, 1, 2)]

    for put in load.entries(rows):
        assert list(put.rows) == sorted(put.rows)
        assert len(put.rows) == 3


def contents(mutations: Iterable[RowMutation]) -> set[tuple[bytes, frozenset[Put]]]:
    return {(each.row, frozenset(each.puts)) for each in mutations}
