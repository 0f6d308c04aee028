"""Plans that were run and measured."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Plan,
    Related,
    Salt,
    Select,
    codecs,
    column,
    key,
    related,
    rowkey,
    select,
)
from hbase_orm.errors import UnboundedScanError
from hbase_orm.index.entries.targets import ENTRY_COLUMN
from hbase_orm.ops import (
    CloseScanner,
    Delete,
    FetchRows,
    MutateRows,
    Operation,
    Put,
    RowMutation,
)
from hbase_orm.query import Measured
from tests.support.page_statements import STATEMENTS, load
from tests.support.recording import RecordsRequests, gateway_of, through


class Leaf(Model, table="leaves"):
    d = Family()
    tree: Key[str] = key()
    n: Key[int] = key(codecs.uint8())
    size: Mapped[int] = column(d, codec=codecs.uint8())
    text: Mapped[list[str]] = column(d, codec=codecs.json(list))
    before_n: Mapped[int | None] = column(d, codec=codecs.uint8(), default=None)
    before: Related[Leaf] = related(tree=tree, n=before_n)
    by_size = Index(size)
    __rowkey__ = rowkey(Salt(3, of=[tree]), tree, n)


def prepare(engine: Engine) -> None:
    """Load the tables of `STATEMENTS`, and leaves 0 to 9 of oak.

    Their size is n % 5, their text ["a"] where n is even, and n - 1 is before them.
    """
    load(engine)
    engine.create_tables(Leaf)
    with engine.session() as session:
        session.add_all(
            Leaf(tree="oak", n=n, size=n % 5, text=["ab"[n % 2]], before_n=n - 1 if n else None)
            for n in range(10)
        )


OAK = select(Leaf).where(Leaf.tree == "oak").using(None)


def comparable(requests: list[Operation[Any]]) -> list[str]:
    """Return requests without the scanners they are of, in one order: buckets go side by side."""
    return sorted(map(_comparable, requests))


def _comparable(request: Operation[Any]) -> str:
    if isinstance(request, FetchRows):
        return f"fetch {request.count}"
    return "close" if isinstance(request, CloseScanner) else repr(request)


def measured(plan: Plan) -> Measured:
    assert plan.measured is not None
    return plan.measured


@pytest.mark.parametrize("name", STATEMENTS)
def test_it_sends_what_the_statement_sends(engine: Engine, name: str) -> None:
    sent = RecordsRequests(gateway_of(engine))
    counted = through(sent, engine)
    stmt = STATEMENTS[name]()
    with counted.session() as session:
        session.all(stmt)  # the catalog is known from now on
        sent.requests.clear()
        rows = session.all(stmt)
        usual = comparable(sent.requests)
        sent.requests.clear()
        plan = session.explain(stmt, analyze=True)
        analyzed = comparable(sent.requests)

    found = measured(plan)
    assert analyzed == usual
    assert sum(each.count for each in found.requests) == len(usual)
    assert (found.results, found.kept) == (len(rows), len(rows))
    assert found.fetched >= found.kept + found.dropped
    assert found.fetched == found.kept + found.dropped + found.unused
    assert (found.size_bytes > 0) is (found.fetched > 0)
    assert json.loads(json.dumps(plan.to_dict()))["measured"]["kept"] == len(rows)


def test_plain_explain_measures_nothing(engine: Engine) -> None:
    with engine.session() as session:
        plan = session.explain(OAK)

    assert plan.measured is None
    assert "measured" not in str(plan)
    assert "measured" not in plan.to_dict()


@pytest.mark.parametrize(
    ("stmt", "rows"),
    [
        (OAK, (10, 10, 0, 0)),
        (OAK.where(Leaf.n >= 4), (6, 6, 0, 0)),
        (OAK.where(Leaf.text != ["a"]), (10, 5, 5, 0)),
        (OAK.where(Leaf.text != ["a"]).limit(2), (10, 2, 2, 6)),
        (OAK.limit(3).caching(5), (5, 3, 0, 2)),
        (OAK.where(Leaf.n.in_([3, 8, 77])), (2, 2, 0, 0)),
        (OAK.where(Leaf.n == 300), (0, 0, 0, 0)),
    ],
)
def test_rows_are_counted(
    engine: Engine, stmt: Select[Leaf], rows: tuple[int, int, int, int]
) -> None:
    with engine.session() as session:
        found = measured(session.explain(stmt, analyze=True))

    assert (found.fetched, found.kept, found.dropped, found.unused) == rows
    assert (found.entries, found.stale) == (0, 0)


def test_stale_entries_are_counted(engine: Engine) -> None:
    index = engine._bound_of(Leaf).schema.indexes[0].table
    rows = [Leaf.encode_key(tree="oak", n=0), Leaf.encode_key(tree="elm", n=0)]
    entries = [b"\x01" + row for row in rows]
    puts = tuple(RowMutation(entry, puts=(Put(ENTRY_COLUMN, b""),)) for entry in entries)
    gone = tuple(RowMutation(entry, deletes=(Delete(ENTRY_COLUMN),)) for entry in entries)
    stmt = select(Leaf).where(Leaf.size.in_([1, 2])).using(Leaf.by_size)

    with engine.session() as session:
        clean = measured(session.explain(stmt, analyze=True))
        gateway_of(engine).execute(MutateRows(index, puts))
        plan = session.explain(stmt, analyze=True)
        gateway_of(engine).execute(MutateRows(index, gone))

    found = measured(plan)
    assert (clean.entries, clean.stale, clean.fetched, clean.kept) == (4, 0, 4, 4)
    assert (found.entries, found.stale, found.fetched, found.kept) == (6, 2, 5, 4)
    assert (found.dropped, found.unused) == (0, 0)
    assert "entries: 6 fetched, 2 stale" in str(plan)


def test_related_objects_are_measured_apart(engine: Engine) -> None:
    stmt = OAK.where(Leaf.n < 6).load_related(Leaf.before).caching(3)
    with engine.session() as session:
        found = measured(session.explain(stmt, analyze=True))

    lookups = [each for each in found.requests if each.step == "related"]
    assert (found.fetched, found.kept, found.dropped) == (6, 6, 0)
    assert [(each.kind, each.count, each.rows) for each in lookups] == [("multi-get", 2, 5)]


def test_the_measured_plan_prints_each_step(engine: Engine) -> None:
    table = engine._bound_of(Leaf).schema.table
    with engine.session() as session:
        plan = session.explain(OAK.where(Leaf.text != ["a"], Leaf.n < 9).limit(2), analyze=True)

    *_, tail = str(plan).partition("└─ measured: ")
    lines = [re.sub(r"[0-9.]+ ms", "? ms", line) for line in tail.splitlines()]
    assert lines == [
        "? ms",
        "   ├─ rows: 9 fetched, 2 kept, 2 dropped by the client, 5 not needed",
        "   ├─ plan: ? ms",
        "   ├─ read: ? ms",
        f"   │  ├─ open {table}: 1 request, ? ms",
        f"   │  ├─ fetch {table}: 1 request, 9 rows, {measured(plan).size_bytes} bytes, ? ms",
        f"   │  └─ close {table}: 1 request, ? ms",
        "   └─ client: ? ms",
    ]


def test_what_cannot_be_planned_is_not_run(engine: Engine) -> None:
    sent = RecordsRequests(gateway_of(engine))

    with through(sent, engine).session() as session, pytest.raises(UnboundedScanError):
        session.explain(select(Leaf).where(Leaf.text == ["a"]), analyze=True)

    assert sent.requests == []


def test_objects_of_the_session_are_not_touched(engine: Engine) -> None:
    stmt = OAK.where(Leaf.n == 1)
    with engine.session() as session:
        session.explain(stmt.load_related(Leaf.before), analyze=True)

        assert repr(session) == "Session(loaded=0, pending=0)"
