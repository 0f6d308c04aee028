"""A flush that does not end well: which rows were written, which not, of which nobody knows."""

from __future__ import annotations

from typing import Any

import pytest

from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Session,
    codecs,
    column,
    connect,
    key,
)
from hbase_orm.binding.bound_tables import bind
from hbase_orm.binding.dictionaries import Dictionaries
from hbase_orm.binding.runtime import Runtime
from hbase_orm.binding.table_creation.table_descriptors import base_table
from hbase_orm.binding.url import EngineOptions
from hbase_orm.errors import (
    CatalogLeaseError,
    ConnectionLostError,
    FamilyNotFoundError,
    FlushError,
    RegionUnavailableError,
    TableDisabledError,
)
from hbase_orm.gateway.base import Feature, Gateway
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.catalog import catalog
from hbase_orm.index.catalog.entry import TableState
from hbase_orm.index.catalog.lease import LEASE_S
from hbase_orm.ops import (
    CheckAndMutate,
    CreateTable,
    DisableTable,
    EnableTable,
    MutateRow,
    MutateRows,
    Operation,
)
from hbase_orm.record.store import delete_record
from hbase_orm.writing.send import BATCH_BYTES, BATCH_ROWS
from tests.support.recording import FailsBeforeSending, LosesAnswers, RecordsRequests


class Plain(Model, table="plain"):
    d = Family()
    name: Key[str] = key()
    a: Mapped[str | None] = column(d, default=None)
    b: Mapped[str] = column(d, default="b")


class Other(Model, table="other"):
    d = Family()
    name: Key[str] = key()
    b: Mapped[str] = column(d, default="b")


class Guarded(Model, table="guarded"):
    d = Family()
    name: Key[str] = key()
    a: Mapped[str | None] = column(d, default=None)
    n: Mapped[int] = column(d, codec=codecs.uint8(), default=1)
    by_a = Index(a)


MEMORY = EngineOptions(scheme="memory")


_RUNTIME = Runtime(MemoryGateway(), parallel=1)
DICTIONARIES = Dictionaries(_RUNTIME.catalog, _RUNTIME.features, "ns")


def engine_on(gateway: Gateway) -> Engine:
    engine = Engine(gateway, MEMORY)
    engine.create_tables(Plain, Other, Guarded)
    return engine


def flush_error(session: Session) -> FlushError:
    with pytest.raises(FlushError) as caught:
        session.flush()
    assert caught.value.fix
    return caught.value


def names(rows: list[tuple[Any, ...]]) -> list[str]:
    return [row[1].decode() for row in rows]


def writes_to(table: str) -> Any:
    def matches(operation: Operation[Any]) -> bool:
        return isinstance(operation, (MutateRow, MutateRows)) and operation.table == table

    return matches


def test_a_lost_answer_leaves_the_rows_of_its_request_unknown() -> None:
    gateway = LosesAnswers(MemoryGateway(), writes_to("other"))
    session = engine_on(gateway).session()
    session.add_all([Plain(name="p"), Other(name="x"), Other(name="y")])

    error = flush_error(session)

    assert (names(error.written), names(error.not_written), names(error.unknown)) == (
        *(["p"], []),
        ["x", "y"],
    )
    assert all(isinstance(reason, ConnectionLostError) for _, _, reason in error.unknown)


def test_flushing_again_sends_the_unknown_rows_and_nothing_else() -> None:
    gateway = LosesAnswers(MemoryGateway(), writes_to("other"))
    session = engine_on(gateway).session()
    session.add_all([Plain(name="p"), Other(name="x")])
    flush_error(session)
    gateway.loses = lambda _: False
    gateway.requests.clear()

    report = session.flush()

    assert report.written == 1
    assert [request.table for request in gateway.writes] == ["other"]  # type: ignore[attr-defined]  # writes have tables
    assert session.get(Other, name="x") is not None


def test_a_table_that_refuses_at_the_door_has_certainly_not_written() -> None:
    gateway = MemoryGateway()
    session = engine_on(gateway).session()
    gateway.execute(DisableTable("other"))
    session.add_all([Plain(name="p"), Other(name="x"), Other(name="y")])

    error = flush_error(session)

    assert (names(error.written), names(error.not_written), error.unknown) == (
        ["p"],
        ["x", "y"],
        [],
    )
    assert {type(reason) for _, _, reason in error.not_written} == {TableDisabledError}
    gateway.execute(EnableTable("other"))
    assert session.flush().written == 2


def test_a_batch_that_fails_within_may_have_written_some_of_its_rows() -> None:
    moving = RegionUnavailableError("the region moves")
    is_other = writes_to("other")
    gateway = FailsBeforeSending(MemoryGateway(), lambda op: moving if is_other(op) else None)
    session = engine_on(gateway).session()

    session.add_all([Other(name="x"), Other(name="y")])
    several = flush_error(session)
    alone = engine_on(gateway).session()
    alone.add(Other(name="z"))
    single = flush_error(alone)

    assert (names(several.not_written), names(several.unknown)) == ([], ["x", "y"])
    assert (names(single.not_written), names(single.unknown)) == (["z"], [])


def test_what_stands_after_a_failed_write_of_the_row_is_not_sent() -> None:
    gateway = LosesAnswers(MemoryGateway(), writes_to("plain"))
    session = engine_on(gateway).session()
    first, second = Plain(name="p", b="1"), Plain(name="p", b="2")
    session.add_all([first, second])

    error = flush_error(session)

    assert (names(error.unknown), names(error.not_written)) == (["p"], ["p"])
    assert len(gateway.writes) == 1
    gateway.loses = lambda _: False
    session.flush()
    found = session.get(Plain, name="p")
    assert found is second


def test_without_atomic_rows_a_clear_that_fails_leaves_the_row_unknown() -> None:
    class WithoutAtomicRows(FailsBeforeSending):
        @property
        def features(self) -> frozenset[Feature]:
            return self.inner.features - {Feature.ATOMIC_ROW}

    gateway = WithoutAtomicRows(MemoryGateway(), lambda _: None)
    session = engine_on(gateway).session()
    found = Plain(name="p", a="a")
    session.add(found)
    session.flush()
    found.a, found.b = None, "new"
    lost = RegionUnavailableError("the region moves")
    gateway.error_of = lambda op: (
        lost if isinstance(op, MutateRows) and op.mutations[0].deletes else None
    )

    error = flush_error(session)

    assert (names(error.unknown), error.not_written) == (["p"], [])


def test_guarded_rows_are_reported_one_by_one() -> None:
    lost = ConnectionLostError("the connection broke")
    moving = RegionUnavailableError("the region moves")

    def error_of(operation: Operation[Any]) -> Exception | None:
        if isinstance(operation, CheckAndMutate) and operation.table == "guarded":
            return {b"lost": lost, b"moving": moving}.get(operation.mutation.row)
        return None

    gateway = FailsBeforeSending(MemoryGateway(), error_of)
    engine = engine_on(gateway)
    engine._runtime._driver._sleep = lambda _: None  # pauses between tries
    session = engine.session()
    session.add_all([Guarded(name=name, a="a") for name in ("fine", "lost", "moving")])

    error = flush_error(session)

    assert names(error.written) == ["fine"]
    assert sorted(names(error.not_written + error.unknown)) == ["lost", "moving"]
    assert "moving" in names(error.not_written)
    gateway.error_of = lambda _: None
    assert session.flush().written == 2


def test_a_fault_in_one_guarded_row_leaves_the_others_written_and_clean() -> None:
    fault = ZeroDivisionError("a fault")
    gateway = FailsBeforeSending(
        MemoryGateway(),
        lambda op: fault if isinstance(op, CheckAndMutate) and op.mutation.row == b"b" else None,
    )
    session = engine_on(gateway).session()
    session.add_all([Plain(name="p"), *(Guarded(name=name, a="a") for name in "abc")])

    error = flush_error(session)

    assert error.unknown == [("guarded", b"b", fault)]
    assert error.__cause__ is fault
    assert sorted(names(error.written)) == ["a", "c", "p"]
    gateway.error_of = lambda _: None
    assert session.flush().written == 1


def test_a_value_that_does_not_fit_is_the_programs_and_stays_when_the_row_is_read_again() -> None:
    session = engine_on(MemoryGateway()).session()
    found = Guarded(name="a")
    session.add(found)
    session.flush()
    found.n = 300

    session.get(Guarded, name="a")

    assert found.n == 300


def test_a_request_of_a_flush_ends_before_it_is_too_large() -> None:
    gateway = RecordsRequests(MemoryGateway())
    session = engine_on(gateway).session()
    rows = [Plain(name=f"{n:02}", b="x" * 400_000) for n in range(12)]
    session.add_all([*rows, Plain(name="97", b="x" * (BATCH_BYTES + 1)), Plain(name="98")])

    assert session.flush().written == 14

    sent = [request.mutations for request in gateway.writes if isinstance(request, MutateRows)]
    sizes = [sum(len(put.value) for row in rows for put in row.puts) for rows in sent]
    assert [len(rows) for rows in sent] == [5, 5, 2, 1, 1]
    assert all(size < BATCH_BYTES for size, rows in zip(sizes, sent, strict=True) if len(rows) > 1)


def test_a_request_of_a_flush_has_at_most_so_many_rows() -> None:
    gateway = RecordsRequests(MemoryGateway())
    session = engine_on(gateway).session()
    session.add_all([Plain(name=f"{n}") for n in range(BATCH_ROWS + 1)])
    session.flush()

    sent = [request.mutations for request in gateway.writes if isinstance(request, MutateRows)]
    assert [len(rows) for rows in sent] == [BATCH_ROWS, 1]


# --- the catalog's lease ---------------------------------------------------------------------------


def test_a_lease_that_ran_out_is_renewed_without_a_word() -> None:
    engine = engine_on(MemoryGateway())
    now = [0.0]
    engine._runtime.catalog.leases._monotonic_s = lambda: now[0]
    with engine.session() as session:
        session.add(Guarded(name="x", a="1"))
        session.flush()
        now[0] += 2 * LEASE_S
        session.add(Guarded(name="y", a="1"))

    assert not engine._runtime.catalog.leases.is_fresh("other")
    with engine.session() as session:
        assert session.get(Guarded, name="y") is not None


def test_a_table_that_is_being_loaded_refuses_guarded_writers() -> None:
    gateway = RecordsRequests(MemoryGateway())
    engine = engine_on(gateway)
    session = engine.session()
    with session.bulk(insert_only=True) as bulk:
        bulk.add(Guarded(name="x", a="1"))
        other = Engine(gateway, MEMORY).session()
        other.add(Guarded(name="y", a="1"))
        gateway.requests.clear()
        error = flush_error(other)
        sent = [type(request) for request in gateway.requests]
    (_, row, reason) = error.not_written[0]

    assert (row, type(reason), reason.state) == (b"y", CatalogLeaseError, "LOADING")
    assert not {CheckAndMutate, MutateRow, MutateRows} & set(sent)
    assert other.flush().written == 1  # the load has ended


def test_a_table_that_was_made_again_is_not_written_as_the_old_one() -> None:
    engine = engine_on(MemoryGateway())
    with engine.session() as session:
        session.add(Guarded(name="x", a="1"))
    engine.drop_tables(Guarded)
    engine.create_tables(Guarded)

    with engine.session() as session:
        session.add(Guarded(name="y", a="1"))

    state = engine.table_state(Guarded)
    assert state is TableState.READABLE  # it was opened, and so no load can begin


def test_the_catalog_does_not_know_a_table_that_others_made() -> None:
    gateway = MemoryGateway()
    engine = Engine(gateway, MEMORY)
    gateway.execute(CreateTable(catalog.catalog_descriptor()))
    gateway.execute(CreateTable(base_table(Guarded.__schema__, "")))
    session = engine.session()
    session.add(Guarded(name="x", a="1"))

    (_, _, reason) = flush_error(session).not_written[0]

    assert isinstance(reason, CatalogLeaseError)
    assert "create_tables" in reason.fix


def test_a_table_without_the_models_family_is_named() -> None:
    class Wider(Model, table="other"):
        e = Family()
        name: Key[str] = key()
        b: Mapped[str] = column(e)

    engine = engine_on(MemoryGateway())
    engine._runtime.run(delete_record("other"))  # as if another program had made the table
    engine._runtime.catalog.forget("other")
    session = engine.session()
    session.add(Wider(name="x", b="b"))

    (_, _, reason) = flush_error(session).not_written[0]

    assert isinstance(reason, FamilyNotFoundError)


def test_binding_puts_base_and_index_tables_into_the_engines_namespace() -> None:
    bound = bind(Guarded, "ns", frozenset(Feature), DICTIONARIES)

    assert bound.schema.table == "ns:guarded"
    assert [index.table for index in bound.schema.indexes] == ["ns:guarded_ix_by_a"]
    assert bound.guarded is not None
    assert bound.guarded.table == "ns:guarded"


def test_a_table_that_names_its_namespace_keeps_it() -> None:
    class Placed(Model, table="own:placed"):
        d = Family()
        name: Key[str] = key()

    assert bind(Placed, "ns", frozenset(Feature), DICTIONARIES).schema.table == "own:placed"


def test_memory_engines_share_nothing() -> None:
    one, other = connect("memory://"), connect("memory://")
    one.create_tables(Plain)

    assert other.create_tables(Plain) == ["plain"]
