"""Plans with filters: which scans carry one, what `explain` shows, and what sessions then find."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from hbase_orm import (
    Counter,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Salt,
    codecs,
    column,
    connect,
    counter,
    key,
    rowkey,
)
from hbase_orm.ops import FetchRows, OpenScanner
from hbase_orm.query import (
    EmptyPlan,
    GetPlan,
    IndexPlan,
    SaltedScanPlan,
    ScanPlan,
    Select,
    TablesPlan,
    plan,
    select,
)
from hbase_orm.rowkey import TablePerPeriod
from tests.support.recording import RecordsRequests, gateway_of, through
from tests.support.time_series import EIGHT, Point


class Item(Model, table="items"):
    d = Family()
    e = Family()
    k: Key[int] = key(codecs.uint32())
    n: Mapped[int] = column(d, codec=codecs.uint8())
    note: Mapped[str | None] = column(e, default=None)
    hits: Counter = counter(e)


class Spread(Model, table="spread"):
    d = Family()
    k: Key[int] = key(codecs.uint32())
    __rowkey__ = rowkey(Salt(4), k)
    n: Mapped[int] = column(d, codec=codecs.uint8())


class Guarded(Model, table="guarded"):
    d = Family()
    e = Family()
    k: Key[int] = key(codecs.uint32())
    n: Mapped[int] = column(d, codec=codecs.uint8())
    unit: Mapped[str | None] = column(e, default=None)
    hits: Counter = counter(e)
    by_n = Index(n)


class Event(Model, table=TablePerPeriod("events_%Y%m", of="at", period="month")):
    d = Family()
    at: Key[datetime] = key(codecs.millis())
    n: Mapped[int] = column(d, codec=codecs.uint8())


N_IS_A = b"SingleColumnValueFilter('d', 'n', =, 'binary:A', true, true)"


def test_a_scan_carries_what_the_server_decides() -> None:
    stmt = select(Item).where(Item.k > 5, Item.n == 65, Item.hits > -1).limit(3)

    found = plan(stmt, Item.__schema__)

    assert isinstance(found, ScanPlan)
    assert found.filter == N_IS_A
    assert str(found) == (
        "Scan items\n"
        "├─ scan [\\x00\\x00\\x00\\x06, )\n"
        "├─ filter: SingleColumnValueFilter('d', 'n', =, 'binary:A', true, true)\n"
        "├─ check on the client: Item.k > 5 and Item.n == 65 and Item.hits > -1\n"
        "├─ order: k asc\n"
        "├─ limit: 3\n"
        "└─ requests: 1 scanner, 100 to 1000 rows a call"
    )


def test_a_long_filter_is_cut_where_it_is_shown() -> None:
    found = plan(select(Item).where(Item.note == "x" * 600).allow_full_scan(), Item.__schema__)

    (line,) = [line for line in str(found).split("\n") if "filter:" in line]
    assert line.endswith("x…")
    assert len(line) < 600


def test_every_bucket_and_table_carries_the_filter() -> None:
    spread = plan(select(Spread).where(Spread.n == 65).allow_full_scan(), Spread.__schema__)
    january, march = datetime(2024, 1, 5, tzinfo=UTC), datetime(2024, 3, 5, tzinfo=UTC)
    events = plan(
        select(Event).where(Event.at.between(january, march), Event.n == 65), Event.__schema__
    )

    assert isinstance(spread, SaltedScanPlan)
    assert spread.filter == N_IS_A
    assert str(spread).count("filter: ") == 1
    assert isinstance(events, TablesPlan)
    assert [getattr(inner, "filter", None) for _, inner in events.plans] == [N_IS_A] * 3


def test_a_reverse_scan_reads_all_families_of_rows_that_it_filters() -> None:
    stmt = select(Item).where(Item.n == 65).order_by(Item.k.desc()).allow_full_scan()

    found = plan(stmt, Item.__schema__)

    assert isinstance(found, ScanPlan)
    assert found.filter == N_IS_A + b" AND RowFilter(>=, 'binary:')"


@pytest.mark.parametrize(
    ("stmt", "kind"),
    [
        (select(Item).where(Item.k == 1, Item.n == 65), GetPlan),
        (select(Guarded).where(Guarded.n == 65, Guarded.unit == "ms"), IndexPlan),
        (select(Item).where(Item.k > 1), ScanPlan),
        (select(Point).where(Point.at >= EIGHT, Point.value > 1.0).allow_full_scan(), ScanPlan),
    ],
)
def test_other_plans_have_none(stmt: Select[Any], kind: type) -> None:
    found = plan(stmt, stmt.model.__schema__)

    assert isinstance(found, kind)
    assert getattr(found, "filter", None) is None
    assert "filter:" not in str(found)


def test_what_no_stored_value_can_be_sends_nothing() -> None:
    stmt = select(Item).where(~(Item.n != 300)).allow_full_scan()

    found = plan(stmt, Item.__schema__)

    assert isinstance(found, EmptyPlan)
    assert "no stored value fulfils the conditions" in str(found)


@pytest.mark.parametrize("model", [Item, Guarded])
@pytest.mark.parametrize("reverse", [False, True])
def test_deleted_rows_and_absent_cells_are_told_apart(
    model: type[Item | Guarded], *, reverse: bool
) -> None:
    with connect("memory://") as engine:
        engine.create_tables(model)
        with engine.session() as session:
            session.add_all(model(k=k, n=k % 3) for k in range(9))
        with engine.session() as session:
            for k in (1, 4):
                found = session.get(model, k=k)
                assert found is not None
                session.delete(found)
            session.increment(model, model.hits.by(1), k=1)  # no row: a counter alone makes none
        order = model.k.desc() if reverse else model.k.asc()
        every = select(model).using(None).order_by(order).allow_full_scan()
        with engine.session() as session:

            def keys(*conditions: Any) -> list[int]:
                rows = session.all(every.where(*conditions))
                return sorted(row.k for row in rows)

            assert keys(model.n == 1) == [7]
            assert keys(model.n != 0) == [2, 5, 7, 8]
            assert keys(model.hits == 0) == [0, 2, 3, 5, 6, 7, 8]


def test_a_page_of_few_is_fetched_by_one_call() -> None:
    with connect("memory://") as plain:
        plain.create_tables(Item)
        with plain.session() as session:
            session.add_all(Item(k=k, n=k % 200) for k in range(1000))
        sent = RecordsRequests(gateway_of(plain))
        with through(sent, plain).session() as session:
            stmt = select(Item).where(Item.n == 199).limit(2).allow_full_scan()
            assert [row.k for row in session.all(stmt)] == [199, 399]

    (scan,) = [step.scan for step in sent.requests if isinstance(step, OpenScanner)]
    assert scan.filter is not None
    assert [step.count for step in sent.requests if isinstance(step, FetchRows)] == [2]
