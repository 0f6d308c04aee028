"""Tables without guards: what other programs did to them, and programs of the other kind."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

import pytest

from hbase_orm import Engine, Family, Index, Key, Mapped, Model, codecs, column, func, key, select
from hbase_orm.binding.url import EngineOptions
from hbase_orm.errors import NamespaceNotFoundError, SchemaError
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.catalog.catalog import read_entry
from hbase_orm.index.catalog.entry import CatalogEntry
from hbase_orm.index.entries.targets import GuardedTable, RowChange
from hbase_orm.index.protocol.last_writer_wins import lww_write
from hbase_orm.ops import (
    CreateNamespace,
    Delete,
    GetRows,
    MutateRows,
    ProtocolRun,
    Put,
    Row,
    RowMutation,
)
from tests.support.thrift1_only import DoesWhatThrift1Does


class Doc(Model, table="docs"):
    d = Family()
    slug: Key[str] = key()
    number: Mapped[int] = column(d, codec=codecs.uint16())
    tag: Mapped[str] = column(d)
    by_number = Index(number)


class TaggedDoc(Model, table="docs"):
    d = Family()
    slug: Key[str] = key()
    number: Mapped[int] = column(d, codec=codecs.uint16())
    tag: Mapped[str] = column(d)
    by_number = Index(number)
    by_tag = Index(func.lower(tag))


class ListedDoc(Model, table="docs"):
    d = Family()
    slug: Key[str] = key()
    number: Mapped[int] = column(d, codec=codecs.uint16())
    tag: Mapped[str] = column(d)
    by_number = Index(number)
    listed = Index(func.lower(tag), maintained="manual")


IN_MEMORY = EngineOptions(scheme="memory")
T0 = 1_800_000_000_000


class Place:
    """One memory, programs of both kinds on it, and the clock they go by."""

    def __init__(self) -> None:
        self.now_ms = T0
        self.memory = MemoryGateway(lambda: self.now_ms)
        self.engine = self.program(has_guards=False)

    def program(self, *, has_guards: bool) -> Engine:
        gateway = self.memory if has_guards else DoesWhatThrift1Does(self.memory)
        engine = Engine(gateway, IN_MEMORY)
        runtime = engine._runtime
        runtime.writer.guard_context = replace(runtime.guard_context, now_ms=lambda: self.now_ms)
        return engine

    def add(self, doc: Model, engine: Engine | None = None) -> None:
        with (engine or self.engine).session() as session:
            session.add(doc)

    def row(self, row: bytes = b"a", table: str = "docs") -> Row:
        (found,) = self.memory.execute(GetRows(table, (row,)))
        assert found is not None
        return found

    def raw(self, table: str, mutation: RowMutation) -> None:
        self.memory.execute(MutateRows(table, (mutation,)))

    def entry_key(self, index: str, cells: dict[bytes, bytes], model: type[Model]) -> bytes:
        target = next(i for i in self.target(model).indexes if i.name == index)
        ((entry_key),) = target.entry_keys(b"a", cells)
        return entry_key

    def target(self, model: type[Model]) -> GuardedTable:
        target = self.engine._bound_of(model).guarded
        assert target is not None
        return target

    def catalog(self) -> CatalogEntry | None:
        return self.engine._runtime.run(read_entry("docs"))


@pytest.fixture
def place() -> Place:
    return Place()


# --- programs of the other kind -------------------------------------------------------------------


def built_with(model: type[Model], index: str, *, rebuild: bool) -> Callable[[Engine], object]:
    return lambda engine: engine.build_index(model, index, rebuild=rebuild)


CHANGES: dict[str, Callable[[Engine], object]] = {
    "build": built_with(TaggedDoc, "by_tag", rebuild=False),
    "rebuild": built_with(Doc, "by_number", rebuild=True),
    "manual": built_with(ListedDoc, "listed", rebuild=False),
    "drop": lambda engine: engine.drop_index(Doc, "by_number"),
    "verify": lambda engine: engine.verify_index(Doc, "by_number"),
    "verify one direction": lambda engine: engine.verify_index(Doc, "by_number", source="data"),
    "repair": lambda engine: engine.repair_indexes(Doc),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("has_guards", [True, False])
def test_a_program_of_the_other_kind_changes_nothing(
    place: Place, name: str, *, has_guards: bool
) -> None:
    own = place.program(has_guards=has_guards)
    own.create_tables(Doc)
    place.add(Doc(slug="a", number=1, tag="x"), own)
    before = place.catalog()

    kinds = ("with", "without") if has_guards else ("without", "with")
    said = "for rows {} guards, but this program writes rows {} them".format(*kinds)
    with pytest.raises(SchemaError, match=said):
        CHANGES[name](place.program(has_guards=not has_guards))

    assert place.catalog() == before
    place.add(Doc(slug="b", number=1, tag="x"), place.program(has_guards=has_guards))
    assert [each.slug for each in numbered(place.program(has_guards=has_guards), 1)] == ["a", "b"]


def numbered(engine: Engine, number: int) -> list[Doc]:
    with engine.session() as session:
        return session.all(select(Doc).where(Doc.number == number).using(Doc.by_number))


def test_a_build_by_a_model_that_lacks_a_kept_index_changes_nothing(place: Place) -> None:
    place.engine.create_tables(TaggedDoc)
    place.add(TaggedDoc(slug="a", number=1, tag="x"))
    before = place.catalog()

    with pytest.raises(
        SchemaError,
        match="the model's indexes differ from those that the catalog has for its table",
    ):
        place.program(has_guards=False).build_index(Doc, "by_number", rebuild=True)

    assert place.catalog() == before


def test_an_index_of_a_model_that_declares_none_any_more_is_dropped(place: Place) -> None:
    class Bare(Model, table="docs"):
        d = Family()
        slug: Key[str] = key()
        number: Mapped[int] = column(d, codec=codecs.uint16())

    place.engine.create_tables(Doc)

    assert place.program(has_guards=True).drop_index(Bare, "by_number") == ["docs_ix_by_number"]


# --- entries that another program deleted ---------------------------------------------------------


class Process:
    """A write that a test takes from request to request."""

    def __init__(self, place: Place, change: RowChange) -> None:
        context = replace(place.engine._runtime.guard_context, permit=lambda _: 1)
        self._run = ProtocolRun(lww_write(place.target(Doc), change, context))
        self._place = place
        self._run.begin()

    def go_on(self, *, until_row: bool = False) -> None:
        """Make its requests to the end, or to the one that would write its row."""
        answer = self._place.engine._runtime.answering()
        while self._run.request is not None and not (until_row and self._is_row_write()):
            self._run.answer_by(answer)

    def _is_row_write(self) -> bool:
        request = self._run.request
        return isinstance(request, MutateRows) and request.table == "docs"


def test_entries_put_again_take_back_no_write_that_was_stamped_before(place: Place) -> None:
    place.engine.create_tables(Doc)
    place.add(Doc(slug="a", number=1, tag="x"))
    cells = {b"d:number": b"\x00\x01"}
    gone = place.entry_key("by_number", cells, Doc)
    place.raw("docs_ix_by_number", RowMutation(gone, deletes=(Delete(b"d", T0 + 50),)))
    place.now_ms += 100
    writer = Process(place, RowChange(b"a", {b"d:number": b"\x00\x05"}, kind="update"))
    writer.go_on(until_row=True)
    place.now_ms += 1
    reindexing = Process(place, RowChange(b"a", kind="reindex"))
    reindexing.go_on(until_row=True)
    writer.go_on()

    reindexing.go_on()

    assert place.row().cells[b"d:number"].value == b"\x00\x05"
    assert [each.slug for each in numbered(place.engine, 5)] == ["a"]
    assert numbered(place.engine, 1) == []


def test_the_entries_of_two_columns_are_put_again_and_the_row_is_not_written(place: Place) -> None:
    place.engine.create_tables(TaggedDoc)
    place.add(TaggedDoc(slug="a", number=1, tag="X"))
    before = place.row()
    cells = {b"d:number": b"\x00\x01", b"d:tag": b"X"}
    for index in ("by_number", "by_tag"):
        gone = place.entry_key(index, cells, TaggedDoc)
        place.raw(f"docs_ix_{index}", RowMutation(gone, deletes=(Delete(b"d", T0 + 50),)))
    place.now_ms += 100

    place.engine.verify_index(TaggedDoc, "by_tag", repair=True)

    for index in ("by_number", "by_tag"):
        found = place.engine.verify_index(TaggedDoc, index)
        assert (found.missing, found.stale, found.scanned) == (0, 0, 2)
    assert place.row() == before


def test_an_entry_that_was_put_again_is_repaired_once_its_row_is_written(place: Place) -> None:
    place.engine.create_tables(Doc)
    place.add(Doc(slug="a", number=1, tag="x"))
    gone = place.entry_key("by_number", {b"d:number": b"\x00\x01"}, Doc)
    place.raw("docs_ix_by_number", RowMutation(gone, deletes=(Delete(b"d", T0 + 50),)))
    place.now_ms += 100
    place.engine.verify_index(Doc, "by_number", repair=True)
    place.now_ms += 100

    place.add(Doc(slug="a", number=5, tag="x"))

    left = place.engine.verify_index(Doc, "by_number")
    counts = place.engine.repair_indexes(Doc)["by_number"]
    assert (left.missing, left.stale, counts.repaired) == (0, 1, 1)
    assert place.engine.verify_index(Doc, "by_number").stale == 0


def test_an_entry_newer_than_its_row_is_repaired_after_the_next_write(place: Place) -> None:
    place.engine.create_tables(Doc)
    place.add(Doc(slug="a", number=1, tag="x"))
    newer = place.entry_key("by_number", {b"d:number": b"\x00\x07"}, Doc)
    place.raw("docs_ix_by_number", RowMutation(newer, (Put(b"d:", b"", T0 + 50),)))
    place.now_ms += 200_000

    before = place.engine.repair_indexes(Doc)["by_number"]
    place.add(Doc(slug="a", number=2, tag="x"))
    left = place.engine.verify_index(Doc, "by_number").stale
    after = place.engine.repair_indexes(Doc)["by_number"]

    assert (before.in_flight, before.repaired) == (1, 0)
    assert (left, after.in_flight, after.repaired) == (1, 0, 1)


# --- ties, and corrupt cells ----------------------------------------------------------------------


def test_a_tie_of_one_column_lifts_what_else_the_row_has_of_that_time(place: Place) -> None:
    place.engine.create_tables(TaggedDoc)
    place.add(TaggedDoc(slug="a", number=1, tag="x"))
    t = place.row().cells[b"d:tag"].timestamp_ms
    tie = place.entry_key("by_tag", {b"d:number": b"\x00\x01", b"d:tag": b"y"}, TaggedDoc)
    place.raw("docs_ix_by_tag", RowMutation(tie, (Put(b"d:", b"", t),)))
    place.now_ms += 120_000

    place.engine.repair_indexes(TaggedDoc)

    assert {cell.timestamp_ms for cell in place.row().cells.values()} == {t + 1}
    for index in ("by_number", "by_tag"):
        target = next(i for i in place.target(TaggedDoc).indexes if i.name == index)
        cells = {name: cell.value for name, cell in place.row().cells.items()}
        (entry_key,) = target.entry_keys(b"a", cells)
        entry = place.row(entry_key, target.table)
        assert entry.cells[b"d:"].timestamp_ms == t + 1


def test_a_read_repairs_a_tie_after_a_rebuild_in_the_tables_there_are_now(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    place.engine.create_tables(TaggedDoc)
    place.engine._runtime.catalog.lease_s = 0.0
    table = place.engine.build_index(TaggedDoc, "by_number", rebuild=True).table
    place.engine._runtime.catalog.lease_s = 60.0
    place.add(TaggedDoc(slug="a", number=1, tag="x"))
    t = place.row().cells[b"d:number"].timestamp_ms
    tie = place.entry_key("by_number", {b"d:number": b"\x00\x02", b"d:tag": b"x"}, TaggedDoc)
    place.raw(table, RowMutation(tie, (Put(b"d:", b"", t),)))
    place.now_ms += 120_000

    with caplog.at_level(logging.INFO), place.engine.session() as session:
        assert session.all(select(TaggedDoc).where(TaggedDoc.number == 2)) == []

    assert table == "docs_ix_by_number.2"
    assert "was left" not in caplog.text
    found = place.engine.verify_index(TaggedDoc, "by_number")
    assert (found.missing, found.stale, found.scanned) == (0, 0, 2)
    assert {cell.timestamp_ms for cell in place.row().cells.values()} == {t + 1}


def put_row(place: Place) -> None:
    with place.engine.session() as session:
        session.put_row(Doc, Doc.number.to(5), slug="a")


@pytest.mark.parametrize(
    "mend", [put_row, lambda place: place.add(Doc(slug="a", number=5, tag="x"))]
)
def test_a_row_with_a_corrupt_indexed_cell_is_mended_by_a_write(
    place: Place, caplog: pytest.LogCaptureFixture, mend: Callable[[Place], None]
) -> None:
    place.engine.create_tables(Doc)
    place.add(Doc(slug="a", number=1, tag="x"))
    place.raw("docs", RowMutation(b"a", (Put(b"d:number", b"no number", T0 + 50),)))
    place.now_ms += 100

    mend(place)

    assert "old index entries of row b'a' of docs are left" in caplog.text
    assert [each.number for each in numbered(place.engine, 5)] == [5]
    assert place.engine.repair_indexes(Doc)["by_number"].repaired == 1
    assert place.engine.verify_index(Doc, "by_number").scanned == 2


# --- namespaces -----------------------------------------------------------------------------------


def test_a_namespace_that_is_missing_is_named_with_how_to_make_it(place: Place) -> None:
    class Spaced(Model, table="shop:docs"):
        d = Family()
        slug: Key[str] = key()
        number: Mapped[int] = column(d)
        by_number = Index(number)

    with pytest.raises(NamespaceNotFoundError) as caught:
        place.engine.create_tables(Spaced)

    assert caught.value.namespace == "shop"
    assert "create_namespace 'shop' in the hbase shell" in caught.value.fix
    place.memory.execute(CreateNamespace("shop"))
    assert "shop:docs" in place.engine.create_tables(Spaced)
