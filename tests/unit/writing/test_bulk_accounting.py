"""Bulk writing: every row that was taken is written, or named by the error that tells of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, TypeVar

import pytest

from hbase_orm import Engine, Family, Index, Key, Mapped, Model, codecs, column, key, select
from hbase_orm.binding.url import EngineOptions
from hbase_orm.errors import FlushError, ValidationError
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.model.mapping.flat import flattener_of
from hbase_orm.ops import Operation, PutRows
from tests.support.recording import RecordsRequests, batches_of

R = TypeVar("R")

MEMORY = EngineOptions(scheme="memory")


class Untold(Model, table="untold"):
    d = Family()
    name: Key[str] = key()
    size: Mapped[int] = column(d, default=0)


class Sized(Model, table="sized"):
    d = Family()
    name: Key[str] = key()
    size: Mapped[int] = column(d, default=0)
    by_size = Index(size)


class Narrow(Model, table="narrow"):
    d = Family()
    name: Key[str] = key()
    size: Mapped[int] = column(d, default=0)
    by_size = Index((size, codecs.uint16()))


class Sparse(Model, table="sparse"):
    d = Family()
    name: Key[str] = key()
    size: Mapped[int] = column(d, default=0)
    label: Mapped[str] = column(d, default="as it is")
    remark: Mapped[str | None] = column(d, "r" * 20_000, default=None)


class BreaksOneAnswer(RecordsRequests):
    """Applies every request, but cannot read the answer to the second batch of data rows."""

    answers = 0

    def execute(self, operation: Operation[R], /) -> R:
        result = super().execute(operation)
        if isinstance(operation, PutRows) and operation.table in {"untold", "sized"}:
            self.answers += 1
            if self.answers == 2:
                raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "broken answer")
        return result


def engine_on(gateway: Any, *models: type[Model]) -> Engine:
    engine = Engine(gateway, MEMORY)
    engine.create_tables(*models)
    return engine


def rows_of(model: Any, count: int) -> Iterator[Any]:
    return (model(name=f"r{n:02}", size=n) for n in range(count))


def add_one_by_one(bulk: Any, rows: Iterator[Any]) -> None:
    """Go on after a row that cannot be added."""
    for row in rows:
        with suppress(ValueError):
            bulk.add(row)


@pytest.mark.parametrize("model", [Untold, Sized])
def test_rows_of_a_batch_that_ends_in_an_unforeseen_error_are_unknown(model: type[Model]) -> None:
    session = engine_on(BreaksOneAnswer(MemoryGateway()), model).session()

    bulk = session.bulk(batch_rows=10, parallel=1, insert_only=True)
    with pytest.raises(FlushError) as raised, bulk:
        add_one_by_one(bulk, rows_of(model, 60))

    assert isinstance(raised.value.__cause__, UnicodeDecodeError)
    assert [row for _, row, _ in raised.value.unknown] == [b"r%02d" % n for n in range(10, 20)]
    assert raised.value.written == 10
    assert session.count(select(model).allow_full_scan()) == 20


def test_a_value_that_fits_no_entry_of_a_load_fails_its_add_and_nothing_else() -> None:
    session = engine_on(MemoryGateway(), Narrow).session()
    good = [Narrow(name=f"r{n:02}", size=n) for n in range(30)]

    with session.bulk(batch_rows=10, parallel=1, insert_only=True) as bulk:
        bulk.add_all(good[:15])
        with pytest.raises(ValidationError) as misfit:
            bulk.add(Narrow(name="misfit", size=70_000))
        bulk.add_all(good[15:])

    assert (misfit.value.index, misfit.value.row) == ("by_size", b"misfit")
    assert bulk.report.written == 30
    in_order = session.all(select(Narrow).where(Narrow.size >= 0).order_by(Narrow.size.asc()))
    assert [row.name for row in in_order] == [row.name for row in good]


@pytest.mark.parametrize("remark", [None, "", "seen"])
def test_a_flat_row_is_as_large_as_the_cells_it_has(remark: str | None) -> None:
    values = Sparse(name="row", label="long", remark=remark).__dict__
    flatten: Any = flattener_of(Sparse, (b"_:g", b"guard"), cell_bytes=24)

    size_bytes, _ = flatten(values, b"row")

    cells = {**Sparse.__mapping__.dehydrate(values), b"_:g": b"guard"}
    assert size_bytes == sum(24 + len(b"row" + name + value) for name, value in cells.items())


def test_rows_that_lack_most_of_their_columns_travel_many_at_a_time() -> None:
    gateway = RecordsRequests(MemoryGateway())
    session = engine_on(gateway, Sparse).session()

    with session.bulk() as bulk:
        bulk.add_all(rows_of(Sparse, 300))

    assert [len(batch.mutations) for batch in batches_of(gateway.writes)] == [300]
