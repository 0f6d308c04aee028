"""The examples of the page on writing run as they are written."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest

import hbase_orm
from hbase_orm import Family, Key, Mapped, Model, codecs, column, connect, key, select
from hbase_orm.ops import CheckAndMutate, Delete, MutateRows, Operation, RowMutation
from tests.support.recording import RecordsRequests, gateway_of, through

PAGE = (Path(__file__).parents[2] / "docs" / "writing.md").read_text(encoding="utf-8")
R = TypeVar("R")
START = datetime(2024, 1, 1, tzinfo=UTC)


class Reading(Model, table="readings"):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.millis())
    value: Mapped[float] = column(d)
    note: Mapped[str | None] = column(d, default=None)


class DeletesBeforeTheCheck(RecordsRequests):
    """Another program deletes a row just before HBase checks a cell of it."""

    def execute(self, operation: Operation[R], /) -> R:
        if isinstance(operation, CheckAndMutate):
            deletes = (Delete(b"d"),)
            gone = RowMutation(operation.mutation.row, deletes=deletes)
            self.inner.execute(MutateRows(operation.table, (gone,)))
        return self.inner.execute(operation)


def example_of(heading: str) -> str:
    """Return the first program below a heading."""
    below = PAGE.partition(f"\n## {heading}\n")[2]
    found = re.search(r"```python\n(.*?)```", below, re.DOTALL)
    assert found is not None
    return found[1]


def test_many_rows(capsys: pytest.CaptureFixture[str]) -> None:
    source = [("web", START + n * timedelta(seconds=1), n / 2) for n in range(2_500)]
    names: dict[str, Any] = {name: getattr(hbase_orm, name) for name in hbase_orm.__all__}

    with connect("memory://") as engine:
        engine.create_tables(Reading)
        exec(
            example_of("Many rows"),
            {**names, "Reading": Reading, "engine": engine, "source": source},
        )
        with engine.session() as session:
            counted = session.count(select(Reading).allow_full_scan())

    assert counted == 2_500
    assert capsys.readouterr().out == "1,000 rows\n2,000 rows\n2,500 rows\n"


@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_row_that_was_deleted_meanwhile(*, is_deleted: bool) -> None:
    with connect("memory://") as engine:
        engine.create_tables(Reading)
        with engine.session() as session:
            session.add(Reading(host="web", at=START, value=0.5))
        deleting = through(DeletesBeforeTheCheck(gateway_of(engine)), engine)
        names = {"Reading": Reading, "engine": deleting if is_deleted else engine, "at": START}
        exec(example_of("Rows that were deleted meanwhile"), names)
        with engine.session() as session:
            found = session.get(Reading, host="web", at=START)

    assert (found and found.note) == (None if is_deleted else "checked")
