"""Live tables with what the catalog knows of each, and tables of single periods dropped."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Salt,
    Substitute,
    TablePerPeriod,
    codecs,
    column,
    connect,
    key,
    rowkey,
)
from hbase_orm.errors import ConfigurationError, RegionUnavailableError, TableNotFoundError
from hbase_orm.index.catalog.catalog import CATALOG_COLUMN, CATALOG_TABLE, RECORD_COLUMN
from hbase_orm.index.catalog.entry import TableState
from hbase_orm.ops import (
    CreateTable,
    DropTable,
    FamilyDescriptor,
    ListRegions,
    ListTables,
    MutateRows,
    Operation,
    Put,
    RowMutation,
    TableDescriptor,
    run_protocol,
)
from hbase_orm.record.store import read_record
from hbase_orm.table_admin.listing import ListedTable
from tests.support.recording import FailsBeforeSending, gateway_of, through
from tests.support.store import WithoutThrift2


class Order(Model, table="orders"):
    d = Family()
    number: Key[int] = key(codecs.uint32())
    __rowkey__ = rowkey(Salt(4), number)
    state: Mapped[str] = column(d)
    by_state = Index(state, salt=3)


class OrderState(Model, table="orders"):
    d = Family()
    number: Key[int] = key(codecs.uint32())
    __rowkey__ = rowkey(Salt(4), number)
    state: Mapped[str] = column(d)


class Log(Model, table="logs"):
    d = Family()
    host: Key[str] = key()
    number: Key[int] = key(codecs.uint32())
    __rowkey__ = rowkey(Substitute(of=host, dictionary="hosts"), number)
    text: Mapped[str] = column(d)


class Visit(Model, table=TablePerPeriod("visits_%Y%m%d", of="at", period="day")):
    d = Family()
    name: Key[str] = key()
    at: Key[datetime] = key()
    pages: Mapped[int] = column(d)


def day(number: int) -> datetime:
    return datetime(2026, 1, number, tzinfo=UTC)


@pytest.fixture
def engine() -> Iterator[Engine]:
    with connect("memory://") as engine:
        yield engine


def listed(engine: Engine) -> dict[str, ListedTable]:
    return {each.name: each for each in engine.tables()}


def test_each_table_is_listed_with_its_kind_and_its_record(engine: Engine) -> None:
    engine.create_tables(Order, OrderState, Log)
    engine.create_tables(Visit, periods=(day(1), day(3)))
    engine.sequence("numbers")()
    gateway_of(engine).execute(CreateTable(TableDescriptor("foreign", (FamilyDescriptor(b"x"),))))

    found = listed(engine)

    shown = {
        name: (each.kind, each.record_state, each.models, len(each.regions or ()))
        for name, each in found.items()
    }
    assert shown == {
        "foreign": ("", "none", (), 1),
        "hbase_orm_catalog": ("catalog", "none", (), 1),
        "hbase_orm_sequences": ("sequences", "none", (), 1),
        "hosts": ("dictionary", "none", (), 1),
        "logs": ("rows of models", "recorded", ("Log",), 1),
        "orders": ("rows of models", "recorded", ("Order", "OrderState"), 4),
        "orders_ix_by_state": ("index by_state of orders", "none", (), 3),
        "visits_20260101": ("rows of models", "recorded", ("Visit",), 1),
        "visits_20260102": ("rows of models", "recorded", ("Visit",), 1),
    }
    assert found["orders"].state is TableState.NEW
    assert found["logs"].state is None
    assert found["visits_20260102"].catalogued.pattern == "visits_%Y%m%d"


def test_index_tables_that_nothing_uses_any_more_are_marked(engine: Engine) -> None:
    engine.create_tables(Order)
    for name in ("orders_ix_by_state.7", "orders_ix_by_customer", "other_ix_by_state"):
        gateway_of(engine).execute(CreateTable(TableDescriptor(name, (FamilyDescriptor(b"d"),))))

    kinds = {name: each.kind for name, each in listed(engine).items() if "_ix_" in name}

    assert kinds == {
        "orders_ix_by_customer": "earlier index by_customer of orders",
        "orders_ix_by_state": "index by_state of orders",
        "orders_ix_by_state.7": "earlier index by_state of orders",
        "other_ix_by_state": "",
    }


def test_records_of_other_tables_and_damaged_cells_are_shown(engine: Engine) -> None:
    engine.create_tables(Order, Log)
    gateway = gateway_of(engine)
    gateway.execute(DropTable("logs"))
    gateway.execute(CreateTable(TableDescriptor("logs", (FamilyDescriptor(b"d"),))))
    damage = tuple(Put(each, b"{") for each in (CATALOG_COLUMN, RECORD_COLUMN))
    gateway.execute(MutateRows(CATALOG_TABLE, (RowMutation(b"orders", puts=damage),)))

    found = listed(engine)

    assert found["logs"].record_state == "of another table"
    assert found["orders"].record_state == "damaged"
    assert found["orders"].catalogued.damage.startswith("the table's record is damaged")
    assert found["orders_ix_by_state"].kind == "earlier index by_state of orders"


def test_without_a_catalog_every_table_is_unknown(engine: Engine) -> None:
    assert engine.tables() == []
    gateway_of(engine).execute(CreateTable(TableDescriptor("foreign", (FamilyDescriptor(b"x"),))))

    (table,) = engine.tables()

    assert (table.kind, table.record_state, table.state) == ("", "none", None)


def test_thrift1_alone_believes_the_record(engine: Engine) -> None:
    engine.create_tables(Order)

    table = listed(through(WithoutThrift2(gateway_of(engine)), engine))["orders"]

    assert (table.record_state, table.has_all_options) == ("recorded", False)


def test_a_table_whose_regions_are_on_no_server_is_listed(engine: Engine) -> None:
    engine.create_tables(Log)

    def has_no_server(operation: Operation[object]) -> Exception | None:
        is_asked = isinstance(operation, ListRegions) and operation.table == "logs"
        return RegionUnavailableError("a region is on no server") if is_asked else None

    found = listed(through(FailsBeforeSending(gateway_of(engine), has_no_server), engine))

    assert found["logs"].regions is None


def test_tables_are_described_by_name_and_by_model(engine: Engine) -> None:
    engine.create_tables(Order)
    engine.create_tables(Visit, periods=(day(1), day(4)))

    by_name = engine.describe_tables("orders_ix_by_state")
    by_model = engine.describe_tables(Visit, Order, "visits_20260102")

    assert [each.name for each in by_name] == ["orders_ix_by_state"]
    assert [each.name for each in by_model] == [
        "orders",
        "visits_20260101",
        "visits_20260102",
        "visits_20260103",
    ]


@pytest.mark.parametrize("named", ["nowhere", Log, Visit])
def test_a_missing_table_is_not_described(engine: Engine, named: str | type[Model]) -> None:
    with pytest.raises(TableNotFoundError, match="tables list"):
        engine.describe_tables(named)


# --- single periods -------------------------------------------------------------------------------


@pytest.fixture
def visits(engine: Engine) -> Engine:
    engine.create_tables(Visit, periods=(day(1), day(5)))
    with engine.session() as session:
        session.add_all(Visit(name="n", at=day(number), pages=number) for number in range(1, 5))
    return engine


def tables_of_visits(engine: Engine) -> list[str]:
    return [name for name in gateway_of(engine).execute(ListTables()) if name.startswith("visits")]


def has_record(engine: Engine) -> bool:
    return run_protocol(read_record("visits_%Y%m%d"), gateway_of(engine).execute) is not None


def test_only_the_tables_of_the_periods_are_dropped(visits: Engine) -> None:
    noon = day(2).replace(hour=12)

    dropped = visits.drop_tables(Visit, periods=(noon, day(4)))

    assert dropped == ["visits_20260102", "visits_20260103"]
    assert tables_of_visits(visits) == ["visits_20260101", "visits_20260104"]
    assert has_record(visits)
    with visits.session() as session:
        assert session.get(Visit, name="n", at=day(4)) is not None


def test_the_record_goes_with_the_last_period(visits: Engine) -> None:
    visits.drop_tables(Visit, periods=(day(1), day(4)))
    assert has_record(visits)

    visits.drop_tables(Visit, periods=(day(4), day(5)))

    assert not has_record(visits)


def test_only_the_tables_of_the_periods_are_emptied(visits: Engine) -> None:
    assert visits.truncate_tables(Visit, periods=(day(2), day(3))) == ["visits_20260102"]

    with visits.session() as session:
        left = [n for n in range(1, 5) if session.get(Visit, name="n", at=day(n)) is not None]
    assert left == [1, 3, 4]


@pytest.mark.parametrize("verb", ["drop_tables", "truncate_tables"])
def test_a_model_with_one_table_has_no_periods(visits: Engine, verb: str) -> None:
    visits.create_tables(Log)

    with pytest.raises(ConfigurationError, match="one table for all times"):
        getattr(visits, verb)(Visit, Log, periods=(day(1), day(3)))
    with pytest.raises(ConfigurationError, match="end before they begin"):
        getattr(visits, verb)(Visit, periods=(day(3), day(1)))

    assert len(tables_of_visits(visits)) == 4
    assert "logs" in gateway_of(visits).execute(ListTables())
