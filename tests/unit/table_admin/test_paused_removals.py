"""Drops and truncations paused at any request, while another program creates the table again.

A program may be suspended between two requests, or a gateway may be slow. Whatever the verb does
afterwards, it must not touch the next table of the name: its rows, its record, its index tables.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from typing import Any

import pytest

from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    TablePerPeriod,
    codecs,
    column,
    key,
    select,
)
from hbase_orm.errors import (
    CatalogLeaseError,
    ConflictError,
    SchemaDriftError,
    TableNotFoundError,
)
from hbase_orm.gateway.base import Gateway
from hbase_orm.gateway.memory.gateway import MemoryGateway, server_clock_ms
from hbase_orm.index.catalog.catalog import read_entry
from hbase_orm.index.catalog.entry import IndexState
from hbase_orm.migrate.operations.tables import DropTable as Drop
from hbase_orm.ops import (
    DescribeTable,
    DropTable,
    ListRegions,
    ListTables,
    Operation,
    TruncateTable,
    run_protocol,
)
from hbase_orm.record.store import ID_ATTRIBUTE, read_record
from tests.support.migrated_tables import Revision
from tests.support.recording import LetsAnotherWork, RecordsRequests
from tests.support.shop_processes import Clock, engine_on
from tests.support.store import WithoutThrift2

MOST_REQUESTS = 28

Work = Callable[[Engine], None]
Verb = Callable[[Engine], object]


class Parcel(Model, table="parcels"):
    d = Family()
    number: Key[int] = key(codecs.uint16())
    city: Mapped[str] = column(d)
    label: Mapped[str | None] = column(d, default=None)
    weight: Mapped[int] = column(d, codec=codecs.uint16())
    by_city = Index(city, include=[weight])
    by_label = Index(label, unique=True)


class Crate(Model, table="parcels"):
    """The parcels without unique labels, which need guards."""

    d = Family()
    number: Key[int] = key(codecs.uint16())
    city: Mapped[str] = column(d)
    by_city = Index(city)


class Note(Model, table="parcels"):
    """A plain model of the table."""

    d = Family()
    number: Key[int] = key(codecs.uint16())
    city: Mapped[str] = column(d)


class Signed(Model, table="parcels"):
    """A model that contradicts all the others."""

    d = Family()
    number: Key[int] = key(codecs.int32())
    city: Mapped[str] = column(d)


class Daily(Model, table=TablePerPeriod("d_%Y%m%d", of="at", period="day", create=True)):
    d = Family()
    name: Key[str] = key()
    at: Key[datetime] = key()
    city: Mapped[str] = column(d)


DAYS = [datetime(2024, 1, day, tzinfo=UTC) for day in (1, 2, 3)]


def new_gateway() -> MemoryGateway:
    """Return a gateway whose clock never shows the same time twice: tables are made in no time."""
    clock = server_clock_ms
    times = count()
    return MemoryGateway(clock=lambda: clock() + next(times))


def rows_of(model: Any, numbers: range) -> list[Any]:
    if model is Parcel:
        return [Parcel(number=n, city="c", label=f"l{n}", weight=n) for n in numbers]
    return [model(number=n, city="c") for n in numbers]


def make_anew(model: Any) -> Work:
    def work(program: Engine) -> None:
        program.drop_tables(model)
        program.create_tables(model)
        with program.session() as session:
            session.add_all(rows_of(model, range(100, 103)))

    return work


def make_anew_twice(model: Any) -> Work:
    def work(program: Engine) -> None:
        make_anew(model)(program)
        make_anew(model)(program)

    return work


def drop(model: Any) -> Verb:
    return lambda engine: engine.drop_tables(model)


def migrate(model: Any) -> Verb:
    """Drop the table by an operation of a migration."""
    return lambda engine: Revision(engine, (model,), ()).upgrade(Drop("parcels"))


def truncate(model: Any) -> Verb:
    return lambda engine: engine.truncate_tables(model, gateway_timeout_s=10)


def numbers(engine: Engine, model: Any, *, by_index: bool = False) -> list[int]:
    stmt = select(model).where(model.city == "c")
    stmt = stmt.using(model.by_city) if by_index else stmt.allow_full_scan().using(None)
    with engine.session() as session:
        return sorted(each.number for each in session.all(stmt))


def assert_sound(gateway: Gateway, model: Any, expected: list[int]) -> None:
    """Check a table's rows, index tables, record and catalog entry."""
    engine = engine_on(gateway, Clock())
    assert engine.create_tables(model) == []
    assert numbers(engine, model) == expected
    for index in model.__schema__.indexes:
        assert numbers(engine, model, by_index=True) == expected
        assert engine.indexes(model)[index.name].state is IndexState.READABLE
        found = engine.verify_index(model, index.name)
        assert (found.missing, found.invalid, found.stale) == (0, 0, 0)
    record = run_protocol(read_record("parcels"), gateway.execute)
    assert record is not None
    ids = gateway.execute(DescribeTable("parcels")).attributes
    assert record.table_id == ids.get(ID_ATTRIBUTE, "")
    with pytest.raises(SchemaDriftError):
        engine_on(gateway, Clock()).session().get(Signed, number=1)
    with engine.session() as session:
        session.add_all(rows_of(model, range(200, 201)))
    assert numbers(engine, model, by_index=bool(model.__schema__.indexes)) == [*expected, 200]


def assert_made_again(gateway: Gateway, model: Any) -> None:
    """Check that nothing of a dropped table judges or disturbs the next one."""
    assert "parcels" not in gateway.execute(ListTables())
    assert run_protocol(read_record("parcels"), gateway.execute) is None
    engine = engine_on(gateway, Clock())
    engine.create_tables(model)
    assert_sound(gateway, model, [])


def run_paused(
    gateway: Gateway, verb: Verb, number: int, work: Work
) -> tuple[list[Operation[Any]], Exception | None]:
    """Run a verb that another program overtakes before the request of a number.

    Return the verb's requests up to that request, and what the verb raised.
    """
    clock = Clock()
    requests: list[Operation[Any]] = []

    def meets(operation: Operation[Any]) -> bool:
        requests.append(operation)
        return len(requests) == number + 1

    paused = LetsAnotherWork(gateway, meets, lambda: work(engine_on(gateway, clock)))
    try:
        verb(engine_on(paused, clock))
    except (CatalogLeaseError, ConflictError, TableNotFoundError) as error:
        return requests[: number + 1], error
    return requests[: number + 1], None


@pytest.mark.parametrize("number", range(MOST_REQUESTS))
@pytest.mark.parametrize("makes", [make_anew, make_anew_twice])
@pytest.mark.parametrize(
    ("verb", "model", "has_guards"),
    [
        (drop, Parcel, True),
        (drop, Crate, False),
        (drop, Note, True),
        (migrate, Parcel, True),
        (migrate, Crate, False),
        (migrate, Note, True),
        (truncate, Parcel, True),  # needs Thrift2
        (truncate, Note, True),
    ],
)
def test_a_paused_verb_leaves_the_next_table_alone(
    verb: Callable[[Any], Verb],
    model: Any,
    makes: Callable[[Any], Work],
    number: int,
    *,
    has_guards: bool,
) -> None:
    memory = new_gateway()
    gateway: Gateway = memory if has_guards else WithoutThrift2(memory)
    engine = engine_on(gateway, Clock())
    engine.create_tables(model)
    with engine.session() as session:
        session.add_all(rows_of(model, range(5)))

    requests, error = run_paused(gateway, verb(model), number, makes(model))

    if len(requests) <= number:  # the verb was not interrupted
        assert error is None
        return
    *before, request = requests
    # Without Thrift2 a table has no id, only times of its regions.
    look = DescribeTable("parcels") if has_guards else ListRegions("parcels", needs_times=True)
    if look not in before:  # it sees only the next table: as if begun later
        assert error is None
        if verb is truncate:
            assert_sound(gateway, model, [])
        else:
            assert_made_again(gateway, model)
    elif request == DropTable("parcels"):  # the documented gap
        assert_made_again(gateway, model)
    elif request == TruncateTable("parcels"):  # the documented gap
        assert isinstance(error, ConflictError) == bool(model.__schema__.indexes)
        assert numbers(engine_on(gateway, Clock()), model) == []
    else:
        assert_sound(gateway, model, [100, 101, 102])


@pytest.mark.parametrize("verb", [drop, migrate, truncate])
def test_a_verb_has_no_more_requests_than_are_tried_above(verb: Callable[[Any], Verb]) -> None:
    gateway = new_gateway()
    engine_on(gateway, Clock()).create_tables(Parcel)
    records = RecordsRequests(gateway)

    verb(Parcel)(engine_on(records, Clock()))

    assert len(records.requests) < MOST_REQUESTS


def test_no_index_table_gets_the_name_of_an_earlier_one() -> None:
    gateway = new_gateway()
    engine = engine_on(gateway, Clock())
    seen: set[str] = set()
    for _ in range(3):
        engine.create_tables(Parcel)
        tables = {each for each in gateway.execute(ListTables()) if "_ix_" in each}
        assert len(tables) == 2
        assert not tables & seen
        seen |= tables
        engine.drop_tables(Parcel)

    assert gateway.execute(ListTables()) == ["hbase_orm_catalog"]
    entry = run_protocol(read_entry("parcels"), gateway.execute)
    assert entry is not None
    assert {name: each.incarnation for name, each in entry.indexes.items()} == {
        "by_city": 3,
        "by_label": 3,
    }


def test_a_drop_that_is_paused_at_its_end_does_not_drop_the_first_table_of_an_index() -> None:
    gateway = new_gateway()
    engine = engine_on(gateway, Clock())
    engine.create_tables(Parcel)
    is_last = lambda each: each == DropTable("parcels_ix_by_label")  # noqa: E731
    work = make_anew(Parcel)
    paused = LetsAnotherWork(gateway, is_last, lambda: work(engine_on(gateway, Clock())))

    engine_on(paused, Clock()).drop_tables(Parcel)

    assert paused.has_worked
    assert_sound(gateway, Parcel, [100, 101, 102])


def write_days(engine: Engine, name: str, *days: datetime) -> None:
    with engine.session() as session:
        session.add_all(Daily(name=name, at=day, city="c") for day in days)


@pytest.mark.parametrize("number", range(12))
def test_a_paused_drop_of_a_period_leaves_its_next_table_alone(number: int) -> None:
    gateway = new_gateway()
    write_days(engine_on(gateway, Clock()), "first", *DAYS)

    def work(program: Engine) -> None:
        program.drop_tables(Daily, periods=(DAYS[0], DAYS[1]))
        write_days(program, "second", DAYS[0])

    requests, error = run_paused(
        gateway,
        lambda engine: engine.drop_tables(Daily, periods=(DAYS[0], DAYS[1])),
        number,
        work,
    )

    if len(requests) <= number:
        return
    # All tables of the periods have one id, so only the times of regions distinguish them.
    *before, request = requests
    is_seen = ListRegions("d_20240101", needs_times=True) in before
    is_kept = is_seen and request != DropTable("d_20240101")
    session = engine_on(gateway, Clock()).session()
    assert (session.get(Daily, name="second", at=DAYS[0]) is not None) == is_kept
    assert session.get(Daily, name="first", at=DAYS[0]) is None
    assert session.get(Daily, name="first", at=DAYS[1]) is not None
    assert isinstance(error, ConflictError) == (is_kept and DropTable("d_20240101") not in before)
    record = run_protocol(read_record("d_%Y%m%d"), gateway.execute)
    assert record is not None


def test_a_build_and_a_drop_of_an_index_are_remembered_when_the_table_is_made_anew() -> None:
    gateway = new_gateway()
    engine = engine_on(gateway, Clock())
    engine.create_tables(Parcel)
    engine.build_index(Parcel, "by_city", rebuild=True, gateway_timeout_s=0)
    engine.drop_index(Parcel, "by_label")
    engine.drop_tables(Parcel)
    engine.create_tables(Note)
    assert engine.indexes(Parcel)["by_city"].catalog_declaration == ""
    engine.drop_tables(Note)

    engine.create_tables(Parcel)

    tables = [each for each in gateway.execute(ListTables()) if "_ix_" in each]
    assert tables == ["parcels_ix_by_city.3", "parcels_ix_by_label.2"]
    assert_sound(gateway, Parcel, [])
    engine.truncate_tables(Parcel, gateway_timeout_s=0)
    assert engine.create_tables(Parcel) == []
    tables = [each for each in gateway.execute(ListTables()) if "_ix_" in each]
    assert tables == ["parcels_ix_by_city.4", "parcels_ix_by_label.3"]


def test_a_creation_beside_a_drop_never_uses_a_dropped_index_table() -> None:
    """The creation is paused, and another program creates the table, writes it and drops it."""

    def work(program: Engine) -> None:
        make_anew(Parcel)(program)
        program.drop_tables(Parcel)

    for number in range(MOST_REQUESTS):
        gateway = new_gateway()
        requests, error = run_paused(
            gateway, lambda engine: engine.create_tables(Parcel), number, work
        )
        if len(requests) <= number:
            break
        if isinstance(error, ConflictError):
            assert "call engine.create_tables again" in str(error)
        engine = engine_on(gateway, Clock())
        engine.create_tables(Parcel)
        assert_sound(gateway, Parcel, [])
