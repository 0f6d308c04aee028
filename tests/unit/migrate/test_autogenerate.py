"""Autogenerate proposes what makes the record of a table as the models declare it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

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
    key,
    select,
)
from hbase_orm.migrate import operations as words
from hbase_orm.migrate.autogenerate import compared
from hbase_orm.migrate.comparison import compare
from hbase_orm.migrate.operations.columns import (
    AddColumn,
    DropColumn,
    RenameColumn,
    UpdateRecord,
)
from hbase_orm.migrate.operations.copies import RekeyTable
from hbase_orm.migrate.operations.encodings import ChangeCodec, RenameQualifier
from hbase_orm.migrate.operations.families import AlterFamily
from hbase_orm.migrate.operations.indexes import AddIndex, DropIndex
from hbase_orm.migrate.operations.operation import Irreversible
from hbase_orm.migrate.operations.tables import CreateTable, DropTable
from hbase_orm.record.declaration import Declaration
from hbase_orm.record.snapshots import declaration_of
from hbase_orm.record.store import read_record
from tests.support.changed_models import FIRST, Declared, col
from tests.support.migrated_tables import Revision, contents

T: Final = "orders"

PROPOSED: Final[dict[str, tuple[Declared, Sequence[Any]]]] = {
    "nothing": (FIRST, []),
    "a new column": (
        FIRST.having(unit=col(str, "u", nullable=True)),
        [AddColumn(T, "d:u")],
    ),
    "a renamed field": (FIRST.renamed(note="remark"), [RenameColumn(T, "note", "remark")]),
    "a renamed field of an index": (
        FIRST.renamed(city="town"),
        [RenameColumn(T, "city", "town")],
    ),
    "another codec": (
        FIRST.having(weight=col(int, "w", codec=codecs.int64())),
        [ChangeCodec(T, "d:w", old=codecs.uint16(), new=codecs.int64())],
    ),
    "another codec of an indexed column": (
        FIRST.having(size=col(int, "s", codec=codecs.int64())),
        [
            DropIndex(T, "by_size"),
            ChangeCodec(T, "d:s", old=codecs.uint32(), new=codecs.int64()),
            AddIndex(T, "by_size"),
        ],
    ),
    "another qualifier of the same field": (
        FIRST.having(note=col(str, "nn", nullable=True)),
        [RenameQualifier(T, "d:n", "d:nn")],
    ),
    "one column less": (FIRST.without("note"), [DropColumn(T, "d:n")]),
    "a column under another name": (
        FIRST.without("note").having(remark=col(str, "r", nullable=True)),
        [AddColumn(T, "d:r"), DropColumn(T, "d:n")],
    ),
    "a column that may be None now": (
        FIRST.having(weight=col(int, "w", codec=codecs.uint16(), nullable=True)),
        [UpdateRecord(T)],
    ),
    "another codec of an indexed column, and a column that may be None now": (
        FIRST.having(
            size=col(int, "s", codec=codecs.int64(), default=3),
            weight=col(int, "w", codec=codecs.uint16(), nullable=True),
        ),
        [
            DropIndex(T, "by_size"),
            ChangeCodec(T, "d:s", old=codecs.uint32(), new=codecs.int64()),
            UpdateRecord(T),
            AddIndex(T, "by_size"),
        ],
    ),
    "another qualifier of an indexed column, and a column that may be None now": (
        FIRST.having(
            city=col(str, "tt"), weight=col(int, "w", codec=codecs.uint16(), nullable=True)
        ),
        [
            DropIndex(T, "by_city"),
            RenameQualifier(T, "d:t", "d:tt"),
            UpdateRecord(T),
            AddIndex(T, "by_city"),
        ],
    ),
    "an index less": (replace(FIRST, indexes={"by_city": "city"}), [DropIndex(T, "by_size")]),
    "an index more": (
        replace(FIRST, indexes={**FIRST.indexes, "by_weight": "weight"}),
        [AddIndex(T, "by_weight")],
    ),
    "a renamed field of an index, and an index more": (
        replace(
            FIRST.renamed(city="town"),
            indexes={"by_city": "town", "by_size": "size", "by_note": "note"},
        ),
        [RenameColumn(T, "city", "town"), AddIndex(T, "by_note")],
    ),
    "another qualifier of an indexed column": (
        FIRST.having(city=col(str, "tt")),
        [DropIndex(T, "by_city"), RenameQualifier(T, "d:t", "d:tt"), AddIndex(T, "by_city")],
    ),
    "more versions": (
        replace(FIRST, family={"versions": 3}),
        [AlterFamily(T, "d", old={"versions": 1}, new={"versions": 3})],
    ),
    "more salt": (replace(FIRST, salt=8), [RekeyTable(T, new_table=f"{T}_2")]),
}


def declared(model: Any) -> Declaration:
    return declaration_of([model.__schema__])


def without_comments(operation: Any) -> Any:
    return replace(operation, comment="") if hasattr(operation, "comment") else operation


@pytest.mark.parametrize("name", PROPOSED)
def test_a_change_of_a_class_is_proposed_as_operations(name: str) -> None:
    after, expected = PROPOSED[name]
    old = declared(FIRST.model("guarded", T))

    operations = compared([after.model("guarded", T)], {T: old})

    assert [without_comments(each) for each in operations] == list(expected)


@pytest.mark.parametrize(
    "name", [name for name, (_, each) in PROPOSED.items() if "RekeyTable" not in str(each)]
)
def test_what_is_proposed_leaves_nothing_to_propose_and_a_clean_check(name: str) -> None:
    after, _ = PROPOSED[name]
    old, new = FIRST.model("guarded", T), after.model("guarded", T)
    with connect("memory://") as engine:
        engine.create_tables(old)
        with engine.session() as session:
            session.add(old(shop="s", number=1, customer="c", city="x", size=1, weight=2))

        Revision(engine, (old,), (new,)).upgrade(
            *compared([new], {T: _recorded(engine)}), exclusive=True
        )

        assert compared([new], {T: _recorded(engine)}) == []
        (check,) = Engine(engine._runtime.gateway, engine.options).check_tables(new)
        assert [str(each) for each in check.differences] == []


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, (_, operations) in PROPOSED.items()
        if not any(isinstance(each.reverse(), Irreversible) for each in operations)
        and "RekeyTable" not in str(operations)
    ],
)
def test_what_is_proposed_is_undone_and_done_again(name: str) -> None:
    after, _ = PROPOSED[name]
    old, new = FIRST.model("guarded", T), after.model("guarded", T)
    with connect("memory://") as engine:
        engine.create_tables(old)
        with engine.session() as session:
            session.add(old(shop="s", number=1, customer="c", city="x", size=1, weight=2))
        made, before = Revision(engine, (old,), (new,)), contents(engine, T)
        operations = compared([new], {T: _recorded(engine)})

        made.upgrade(*operations, exclusive=True)
        first = contents(engine, T)
        made.downgrade(*operations, exclusive=True)
        assert contents(engine, T).values == before.values
        with Engine(engine._runtime.gateway, engine.options).session() as session:
            assert [row.size for row in session.all(select(old).where(old.city == "x"))] == [1]
            assert [row.city for row in session.all(select(old).where(old.size == 1))] == ["x"]
        made.upgrade(*operations, exclusive=True)

        second = contents(engine, T)
        assert (second.record, second.values) == (first.record, first.values)


def _recorded(engine: Engine) -> Declaration:
    record = engine._runtime.run(read_record(T))
    assert record is not None
    return record.current


def test_new_and_undeclared_tables_are_proposed() -> None:
    model = FIRST.model("plain", "new_table")

    created, dropped = compared([model], {T: declared(FIRST.model("plain", T))})

    assert created == CreateTable("new_table")
    assert without_comments(dropped) == DropTable(T)
    assert "Delete this line" in dropped.source()


def test_a_model_with_another_table_moves_its_rows_there() -> None:
    with connect("memory:///shop") as engine:
        engine.create_tables(FIRST.model("plain", T), FIRST.model("plain", "kept"))
        moved = replace(FIRST, salt=8).model("plain", "orders_by_salt")

        found = compare(engine, [moved, FIRST.model("plain", "kept")])
        both = compare(engine, [moved, FIRST.model("plain", T), FIRST.model("plain", "kept")])

    (operation,) = found.operations
    assert without_comments(operation) == RekeyTable(T, new_table="orders_by_salt")
    assert 'CreateTable("orders_by_salt")' in operation.source()
    assert found.before.keys() == {T}
    assert found.after.keys() == {"orders_by_salt"}
    assert both.operations == (CreateTable("orders_by_salt"),)


def test_an_ambiguous_rename_is_a_drop_and_an_addition_with_a_comment() -> None:
    after = FIRST.without("note").having(remark=col(str, "r", nullable=True))
    added, dropped = compared([after.model("plain", T)], {T: declared(FIRST.model("plain", T))})

    assert 'RenameQualifier("orders", "d:n", "d:r")' in added.source()
    assert "keep_cells=True" in dropped.source()


@pytest.mark.parametrize("name", PROPOSED)
def test_the_source_of_operations_makes_equal_operations(name: str) -> None:
    after, _ = PROPOSED[name]
    for operation in compared(
        [after.model("guarded", T)], {T: declared(FIRST.model("guarded", T))}
    ):
        source = operation.source()
        ast.parse(source)
        made = eval(source, {**vars(words), "codecs": codecs})  # its own source
        assert made == without_comments(operation)


def test_new_codes_of_an_index_need_no_operation() -> None:
    def coded(codes: dict[str, bytes]) -> Any:
        class Order(Model, table=T):
            d = Family()
            no: Key[str] = key()
            city: Mapped[str] = column(d)
            by_city = Index((city, codecs.code(codes)))

        return Order

    assert compared([coded({"a": b"1", "x": b"3"})], {T: declared(coded({"a": b"1"}))}) == []
