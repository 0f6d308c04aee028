"""A plain table that gets guards: rows without the anchor must not disappear."""

from __future__ import annotations

from collections.abc import Iterator
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
    column,
    connect,
    key,
    select,
)
from hbase_orm.errors import SchemaDriftError
from hbase_orm.ops import MutateRows, Put, RowMutation, ask
from tests.support.recording import RecordsRequests, gateway_of, through


def model(*, has_index: bool) -> Any:
    d = Family()
    note = column(d, default=None)
    hints = {"name": Key[str], "city": Mapped[str], "note": Mapped[str | None]}
    body = {"name": key(), "d": d, "city": column(d), "note": note}
    body |= {"by_note": Index(note)} if has_index else {}

    def fill(namespace: dict[str, Any]) -> None:
        namespace.update(body, __annotations__=hints, __module__=__name__)

    return new_class("Person", (Model,), {"table": "people"}, fill)


PLAIN, INDEXED = model(has_index=False), model(has_index=True)


@pytest.fixture
def engine() -> Iterator[Engine]:
    with connect("memory://") as engine:
        engine.create_tables(PLAIN)
        with engine.session() as session:
            session.add(PLAIN(name="ann", city="Oslo", note="n"))
        yield engine


def beside(engine: Engine) -> Engine:
    return through(gateway_of(engine), engine)


def test_guards_are_refused_while_rows_lack_the_anchor(engine: Engine) -> None:
    engine.session().put_row(PLAIN, PLAIN.note.to("k"), name="bob")
    program = beside(engine)
    program.add_guard_family(INDEXED)

    with pytest.raises(SchemaDriftError, match="rows lack the column") as refused:
        program.create_tables(INDEXED)

    assert refused.value.details["rows"] == [b"bob"]
    names = [row.name for row in beside(engine).session().all(select(PLAIN).allow_full_scan())]
    assert names == ["ann", "bob"]


def test_guards_are_accepted_once_the_rows_have_the_anchor(engine: Engine) -> None:
    engine.session().put_row(PLAIN, PLAIN.note.to("k"), name="bob")
    program = beside(engine)
    program.add_guard_family(INDEXED)
    engine.session().put_row(PLAIN, PLAIN.city.to("Rome"), name="bob")

    program.create_tables(INDEXED)
    program.build_index(INDEXED, "by_note", exclusive=True)

    found = program.session().all(select(INDEXED).where(INDEXED.note == "k"))
    assert [row.name for row in found] == ["bob"]


def test_rows_are_read_only_when_a_plain_table_gets_guards(engine: Engine) -> None:
    program = beside(engine)
    program.add_guard_family(INDEXED)
    program.create_tables(INDEXED)
    recorder = RecordsRequests(gateway_of(engine))

    through(recorder, engine).create_tables(INDEXED)

    filters = [each.scan.filter for each in recorder.requests if hasattr(each, "scan")]
    assert b"KeyOnlyFilter()" not in filters


def test_many_rows_without_the_anchor_are_named_only_in_part(engine: Engine) -> None:
    rows = tuple(
        RowMutation(b"z%04d" % number, puts=(Put(b"d:note", b"k"),)) for number in range(2500)
    )
    engine._runtime.run(ask(MutateRows("people", rows)))
    program = beside(engine)
    program.add_guard_family(INDEXED)

    with pytest.raises(SchemaDriftError) as refused:
        program.create_tables(INDEXED)

    assert refused.value.details["rows"] == [b"z%04d" % number for number in range(10)]
