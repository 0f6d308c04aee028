"""Pages with counters, whose rows move while programs of both classes increment them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

from hbase_orm import (
    Counter,
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Salt,
    codecs,
    column,
    counter,
    func,
    key,
    rowkey,
    select,
)
from hbase_orm.binding.dictionaries import in_namespace
from hbase_orm.gateway.base import Gateway
from hbase_orm.index.catalog.catalog import read_entry
from hbase_orm.migrate.operations.copies import RekeyTable
from hbase_orm.migrate.operations.operation import Migration, Progress
from hbase_orm.ops import Increment, Operation
from tests.support.migrated_tables import (
    Revision,
    Saved,
)
from tests.support.recording import RecordsRequests

R = TypeVar("R")
NOON: Final = datetime(2024, 1, 30, 12, tzinfo=UTC)
ROWS: Final = 12


def old_class(table: str) -> Any:
    class Page(Model, table=table):
        d = Family(versions=3)
        c = Family()
        at: Key[datetime] = key()
        site: Key[str] = key()
        title: Mapped[str] = column(d)
        hits: Counter = counter(c)
        errors: Counter = counter(d, "e")
        by_title = Index(title)

    return Page


def new_class(table: str) -> Any:
    class Page(Model, table=table):
        d = Family(versions=3)
        c = Family()
        site: Key[str] = key()
        at: Key[datetime] = key(codecs.millis())
        title: Mapped[str] = column(d, "t")
        hits: Counter = counter(c, "h")
        errors: Counter = counter(d)
        by_title = Index(title)
        __rowkey__ = rowkey(Salt(4, of=[site]), site, at)

    return Page


def place(n: int) -> dict[str, Any]:
    return {"site": f"s{n % 3}", "at": NOON + timedelta(minutes=n)}


def filled(engine: Engine, model: Any) -> dict[int, list[int]]:
    engine.create_tables(model)
    ledger = {n: [0, 0] for n in range(ROWS)}
    with engine.session() as session:
        for n in range(ROWS):
            session.add(model(**place(n), title=f"t{n % 4}"))
        session.flush()
        for n in range(0, ROWS, 2):
            session.increment(model, model.hits.by(10 * n + 1), **place(n))
            ledger[n][0] = 10 * n + 1
    return ledger


def moved(made: Revision, name: str, report: Callable[[Progress], None]) -> None:
    plan = made.migration(gateway_timeout_s=0.0)
    migration = Migration(plan.engine, plan.before, plan.after, plan.options, report)
    RekeyTable(name, new_table=f"{name}_2").run(migration, Saved())


def phase(engine: Engine, table: str) -> str:
    entry = engine._runtime.run(read_entry(in_namespace(table, engine.options.namespace)))
    return "none" if entry is None or entry.move is None else entry.move.phase.name


def check(engine: Engine, model: Any, ledger: dict[int, list[int]]) -> None:
    """Compare counters read by key, by range, by index and in aggregates with the increments."""
    with engine.session() as session:
        every = session.all(select(model).allow_full_scan())
        assert {(r.site, r.at): [r.hits, r.errors] for r in every} == {
            (place(n)["site"], place(n)["at"]): counts for n, counts in ledger.items()
        }
        assert len(every) == len(ledger)
        for n in (0, 1, 5):
            row: Any = session.get(model, **place(n))
            assert [row.hits, row.errors] == ledger[n]
        found = session.all(select(model).where(model.title == "t1").allow_full_scan())
        assert sorted([r.hits, r.errors] for r in found) == sorted(
            counts for n, counts in ledger.items() if n % 4 == 1
        )
        summed = session.all(select(func.sum(model.hits), func.sum(model.errors)).allow_full_scan())
        assert summed == [tuple(map(sum, zip(*ledger.values(), strict=True)))]


def count(engine: Engine, model: Any, ledger: dict[int, list[int]], n: int, by: int) -> None:
    """Increment both counters of one row in one request, and one counter of another row."""
    with engine.session() as session:
        values = session.increment(model, model.hits.by(by), model.errors.by(1), **place(n % ROWS))
        mine = ledger[n % ROWS]
        mine[0], mine[1] = mine[0] + by, mine[1] + 1
        assert list(values) == mine
        other = (n + 5) % ROWS
        ledger[other][0] -= 3
        assert list(session.increment(model, model.hits.by(-3), **place(other))) == [
            ledger[other][0]
        ]


@dataclass
class Beside:
    """What happens at each report of a move."""

    act: Callable[[int], None]
    reports: int = field(default=0)

    def __call__(self, _: Progress) -> None:
        self.act(self.reports)
        self.reports += 1


class StandsStill(RecordsRequests):
    """Lets something happen after a program has decided to increment, before it sends."""

    def __init__(self, inner: Gateway, meanwhile: Callable[[], None]) -> None:
        super().__init__(inner)
        self._meanwhile: Callable[[], None] | None = meanwhile

    def execute(self, request: Operation[R], /) -> R:
        if isinstance(request, Increment) and self._meanwhile is not None:
            meanwhile, self._meanwhile = self._meanwhile, None
            meanwhile()
        return super().execute(request)


class AnswersLate(RecordsRequests):
    """Lets something happen after the first increment was made, before its answer arrives."""

    def __init__(self, inner: Gateway, meanwhile: Callable[[], None]) -> None:
        super().__init__(inner)
        self._meanwhile: Callable[[], None] | None = meanwhile

    def execute(self, request: Operation[R], /) -> R:
        answer = super().execute(request)
        if isinstance(request, Increment) and self._meanwhile is not None:
            meanwhile, self._meanwhile = self._meanwhile, None
            meanwhile()
        return answer
