"""What the first texts of index declarations did not have: codecs' parameters, constant factories."""

from __future__ import annotations

from types import new_class
from typing import Any

import pytest

from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    codecs,
    column,
    connect,
    func,
    key,
    select,
)
from hbase_orm.errors import SchemaError
from hbase_orm.index.catalog.catalog import change_entry, read_entry
from hbase_orm.index.catalog.declaration_text import declaration_texts, names_column
from hbase_orm.index.catalog.entry import CatalogEntry
from hbase_orm.index.catalog.entry_details import same_declaration, without_details
from hbase_orm.ops import MutateRows, Put, RowMutation, Scan, ask, fetch_once
from tests.support.recording import gateway_of, through


def model(index: Any = None, **options: Any) -> Any:
    """Return a model with an index of its column `note`, which has these options."""
    d = Family()
    city, note = column(d), column(d, **options)
    by_note = Index(note if index is None else (note, index))
    hints = {"name": Key[str], "city": Mapped[str], "note": Mapped[str]}
    body = {"name": key(), "d": d, "city": city, "note": note, "by_note": by_note}

    def fill(namespace: dict[str, Any]) -> None:
        namespace.update(body, __annotations__=hints, __module__=__name__)

    return new_class("Person", (Model,), {"table": "people"}, fill)


def text_of(model: Any) -> str:
    return declaration_texts(model.__schema__)["by_note"]


def beside(engine: Engine) -> Engine:
    return through(gateway_of(engine), engine)


def entries(engine: Engine) -> list[bytes]:
    return [row.key for row in engine._runtime.run(fetch_once(Scan("people_ix_by_note")))]


CODES = codecs.code({"a": b"1", "b": b"2"})
OTHER_CODES = codecs.code({"a": b"1", "b": b"3"})
MORE_CODES = codecs.code({"a": b"1", "b": b"2", "c": b"3"})


def test_the_text_of_an_index_without_details_is_what_it_was() -> None:
    assert text_of(model()) == "people_ix_by_note: [note text 0001 of d:note] | [name text rest]"
    assert text_of(model(default="")).endswith("of d:note default ] | [name text rest]")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (model(CODES), model(OTHER_CODES)),
        (model(default_factory=str), model(default_factory=lambda: "x")),
        (model(default_factory=str), model(default_factory=lambda: "")),
    ],
    ids=["codes", "another value", "a function"],
)
def test_another_detail_is_another_declaration(before: Any, after: Any) -> None:
    assert without_details(text_of(before)) == without_details(text_of(after))
    assert not same_declaration(text_of(before), text_of(after))


def test_more_codes_are_the_same_declaration_in_both_directions() -> None:
    few, many = text_of(model(CODES)), text_of(model(MORE_CODES))

    assert same_declaration(few, many)
    assert same_declaration(many, few)


def test_a_stored_text_without_details_agrees_with_one_that_has_them() -> None:
    declared = text_of(model(CODES))

    assert same_declaration(without_details(declared), declared)
    assert same_declaration(declared, without_details(declared))


def test_details_name_no_column() -> None:
    text = text_of(model(codecs.code({"of d:city": b"1"})))

    assert names_column(text, b"d:note")
    assert not names_column(text, b"d:city")


def test_a_program_with_another_constant_default_repairs_no_entry() -> None:
    before, after = model(default_factory=str), model(default_factory=lambda: "x")
    engine = connect("memory://")
    engine.create_tables(before)
    old_row = RowMutation(b"ann", puts=(Put(b"d:city", b"Oslo"),))
    engine._runtime.run(ask(MutateRows("people", (old_row,))))
    engine.verify_index(before, "by_note", repair=True, min_age_ms=0)
    written = entries(engine)

    with pytest.raises(SchemaError, match="another declaration of the index"):
        beside(engine).verify_index(after, "by_note", repair=True, min_age_ms=0)

    assert entries(engine) == written
    assert written


def test_a_program_with_other_codes_neither_reads_nor_writes_the_index() -> None:
    engine = connect("memory://")
    before, after = model(CODES), model(OTHER_CODES)
    engine.create_tables(before)
    with engine.session() as session:
        session.add(before(name="1", city="Oslo", note="b"))
    written = entries(engine)

    with pytest.raises(SchemaError, match="differ from those that the catalog has"):
        beside(engine).session().all(select(after).where(after.note == "b"))
    with pytest.raises(SchemaError, match="differ from those that the catalog has"):
        beside(engine).session().insert(after(name="2", city="Oslo", note="b"))

    assert entries(engine) == written


def test_a_catalog_without_details_is_used_as_before() -> None:
    engine = connect("memory://")
    person = model(CODES)
    engine.create_tables(person)

    def strip(entry: CatalogEntry | None) -> CatalogEntry:
        assert entry is not None
        for index in entry.indexes.values():
            object.__setattr__(index, "entries", without_details(index.entries))
        return entry

    engine._runtime.run(change_entry("people", strip))
    with beside(engine).session() as session:
        session.add(person(name="1", city="Oslo", note="b"))
    found = beside(engine).session().all(select(person.name).where(person.note == "b"))
    beside(engine).create_tables(person)

    entry = engine._runtime.run(read_entry("people"))
    assert found == ["1"]
    assert entry is not None
    assert "||" not in entry.indexes["by_note"].entries


def test_a_constant_factory_is_described_by_its_value_and_not_by_its_bytes() -> None:
    packed, later = (
        column_text(codecs.json(list[str], version=version, upgrades=upgrades))
        for version, upgrades in ((1, {}), (2, {1: dict}))
    )

    assert '"absent":{"d:tags":"[]"}' in packed
    assert packed == later


def column_text(codec: Any) -> str:
    """Return the text of an index of the items of a list with this codec."""

    class Tagged(Model, table="tagged"):
        d = Family()
        name: Key[str] = key()
        tags: Mapped[list[str]] = column(d, codec=codec, default_factory=list)
        by_tag = Index(func.each(tags))

    (text,) = declaration_texts(Tagged.__schema__).values()
    return text
