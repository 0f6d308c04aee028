"""Every operation describes itself, estimates its cost, and says how it is undone or why not."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, Final

import pytest

from hbase_orm import Engine, codecs, connect
from hbase_orm.migrate import operations as words
from hbase_orm.migrate.operations.operation import Irreversible, Operation
from tests.support.changed_models import FIRST
from tests.support.migrated_tables import Revision

T: Final = "orders"
MODEL: Final[Any] = FIRST.model("plain", T)


def same(value: bytes) -> bytes:
    return value


def filled(_: Any) -> dict[str, Any]:
    return {"note": "x"}


OPERATIONS: Final[list[Operation]] = [
    words.AddColumn(T, "d:u"),
    words.AddFamily(T, "e", ttl_s=60),
    words.AddIndex(T, "by_city"),
    words.AlterFamily(T, "d", new={"versions": 1, "ttl_s": 9}, old={"versions": 2, "ttl_s": None}),
    words.AlterFamily(T, "d", new={"versions": 3}),
    words.AlterTable(T, new={"durability": "SKIP_WAL"}, old={"durability": "USE_DEFAULT"}),
    words.Backfill(T, filled),
    words.Backfill(T, filled, filled),
    words.BackfillColumn(T, "d:n", value=b"x"),
    words.BackfillColumn(T, "d:n", value=b"x", is_new_column=True),
    words.ChangeCodec(T, "d:s", old=codecs.uint32(), new=codecs.int64()),
    words.ClearColumn(T, "d:n"),
    words.CreateTable("made"),
    words.DropColumn(T, "d:n"),
    words.DropColumn(T, "d:n", keep_cells=True),
    words.DropFamily(T, "e"),
    words.DropIndex(T, "by_city"),
    words.DropTable(T),
    words.MergeTables(T, new_table="one"),
    words.RekeyTable(T, new_table="orders_2"),
    words.RenameColumn(T, "note", "remark"),
    words.RenameQualifier(T, "d:n", "d:nn"),
    words.SplitTable(T, new_table="orders_%Y%m"),
    words.TransformColumn(T, "d:t", forward=same, backward=same),
    words.TransformColumn(T, "d:t", forward=same),
    words.UpdateRecord(T),
]

IRREVERSIBLE: Final = {4, 6, 8, 11, 13, 15, 17, 24}
"""The places of those that cannot be undone."""


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with connect("memory://") as engine:
        engine.create_tables(MODEL)
        with engine.session() as session:
            session.add_all(
                MODEL(shop="s", number=n, customer="c", city="x", size=1, weight=2)
                for n in range(500)
            )
        yield engine


def test_all_operations_are_here() -> None:
    names = {type(operation).__name__ for operation in OPERATIONS}

    assert names == set(words.__all__) - {"Irreversible", "Operation", "RunPython"}


def test_what_cannot_be_undone_says_why() -> None:
    undone = [operation.reverse() for operation in OPERATIONS]

    assert {n for n, each in enumerate(undone) if isinstance(each, Irreversible)} == IRREVERSIBLE


@pytest.mark.parametrize("number", range(len(OPERATIONS)))
def test_an_operation_is_undone_by_one_that_it_undoes(number: int) -> None:
    operation = OPERATIONS[number]
    undone = operation.reverse()
    if isinstance(undone, Irreversible):
        assert undone.reason
        return

    again = undone.reverse()

    assert isinstance(again, Irreversible) or type(again) is type(operation)


@pytest.mark.parametrize("number", range(len(OPERATIONS)))
def test_an_operation_shows_itself_on_one_line_and_as_source(number: int) -> None:
    operation = OPERATIONS[number]

    assert "\n" not in operation.describe()
    made = eval(
        operation.source(), {**vars(words), "codecs": codecs, "same": same, "filled": filled}
    )
    ast.parse(operation.source())
    assert made == operation


@pytest.mark.parametrize("number", range(len(OPERATIONS)))
def test_an_operation_estimates_its_cost_and_sends_no_write(engine: Engine, number: int) -> None:
    operation = OPERATIONS[number]
    made = Revision(engine, (MODEL,), (MODEL,))

    estimate = operation.estimate(made.migration(rows_per_second=100))

    undone = operation.reverse()
    assert estimate.tables
    if estimate.rows is not None:
        assert estimate.rows == pytest.approx(500, rel=0.5)
        assert estimate.seconds is not None
        assert estimate.seconds >= 2.5
    if isinstance(undone, Irreversible) and number != 4:
        assert estimate.irreversible
