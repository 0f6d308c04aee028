"""Models with indexes on engines that have a Thrift1 gateway alone."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hbase_orm import (
    Dynamic,
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Session,
    Version,
    codecs,
    column,
    connect,
    dynamic,
    func,
    key,
    select,
    version,
)
from hbase_orm.binding.url import EngineOptions
from hbase_orm.errors import (
    ConfigurationError,
    ConnectionLostError,
    FeatureMissingError,
    FlushError,
    RetryableError,
    RowNotFoundError,
    SchemaError,
)
from hbase_orm.index.catalog.entry import IndexState
from hbase_orm.ops import Delete, GetRows, MutateRows, Operation, Put, RowMutation
from tests.support.recording import FailsBeforeSending
from tests.support.thrift1_only import Account, DoesWhatThrift1Does, engine_without_thrift2

BY_EMAIL = "account_ix_by_email"


class Accounts:
    """An engine without Thrift2, its gateway and a session."""

    def __init__(self) -> None:
        self.engine, self.gateway = engine_without_thrift2()
        self.engine.create_tables(Account)

    def add(self, number: str, email: str, points: int = 1, note: str | None = None) -> None:
        with self.engine.session() as session:
            session.add(Account(number=number, email=email, points=points, note=note))
            session.flush()

    def found(self, email: str) -> list[str]:
        with self.engine.session() as session:
            stmt = select(Account).where(func.lower(Account.email) == email)
            return [each.number for each in session.all(stmt)]


def got(session: Session, number: str = "1") -> Account:
    account = session.get(Account, number=number)
    assert account is not None
    return account


@pytest.fixture
def store() -> Accounts:
    return Accounts()


# --- which models ---------------------------------------------------------------------------------


def model_of(index: Callable[[dict[str, Any]], Index], **extra: Any) -> type[Model]:
    class Base(Model, table="refused"):
        d = Family(ttl=extra.get("ttl"))
        number: Key[str] = key()
        email: Mapped[str] = column(d)
        points: Mapped[int] = column(d)
        phone: Mapped[str | None] = column(d, default=None)
        kind: Mapped[str] = column(d, default="x")
        labels: Mapped[list[str]] = column(d, codec=codecs.json(list[str]))
        notes: Dynamic[str, str] = dynamic(d, prefix="n:")
        by_it = index(locals())

    return Base


REFUSED: list[tuple[Callable[[dict[str, Any]], Index], str]] = [
    (lambda of: Index(of["phone"]), "None"),
    (lambda of: Index(of["phone"], nulls=True), "None"),
    (lambda of: Index(of["kind"]), "default"),
    (lambda of: Index(of["email"], of["points"]), "composite"),
    (lambda of: Index(of["email"], of["number"]), "composite"),
    (lambda of: Index(of["number"]), "row key"),
    (lambda of: Index(of["email"], where=of["points"] == 1), "partial"),
    (lambda of: Index(of["email"], unique=True), "unique"),
    (lambda of: Index(of["email"], include=[of["points"]]), "include"),
    (lambda of: Index(of["email"], include=[of["points"]], covering=True), "covering"),
    (lambda of: Index(func.each(of["labels"])), "collection"),
    (lambda of: Index(of["notes"]["a"]), "dynamic"),
]


@pytest.mark.parametrize(("index", "word"), REFUSED, ids=[word for _, word in REFUSED])
def test_an_index_that_needs_guards_is_refused_when_its_model_is_bound(
    index: Callable[[dict[str, Any]], Index], word: str
) -> None:
    engine, gateway = engine_without_thrift2()

    with pytest.raises(ConfigurationError) as caught:
        engine.create_tables(model_of(index))

    error = caught.value
    assert (error.model, error.index, gateway.requests) == ("Base", "by_it", [])
    assert word in error.reason
    assert "thrift2=" in error.fix


def test_a_table_whose_rows_expire_is_refused() -> None:
    engine, _ = engine_without_thrift2()

    with pytest.raises(ConfigurationError, match="ttl"):
        engine.create_tables(model_of(lambda of: Index(of["email"]), ttl=timedelta(days=1)))


def test_a_version_column_is_refused() -> None:
    class Versioned(Model, table="versioned"):
        d = Family()
        number: Key[str] = key()
        email: Mapped[str] = column(d)
        revision: Version = version()

    engine, _ = engine_without_thrift2()

    with pytest.raises(ConfigurationError, match="version column"):
        engine.session().add(Versioned(number="1", email="a"))


# --- writes and reads -----------------------------------------------------------------------------


def test_a_row_is_found_by_what_it_has_and_not_by_what_it_had(store: Accounts) -> None:
    store.add("1", "Ada@x", points=3)
    with store.engine.session() as session:
        ada = got(session)
        ada.email = "Bea@x"
        session.flush()

    assert (store.found("ada@x"), store.found("bea@x")) == ([], ["1"])
    with store.engine.session() as session:
        assert [a.number for a in session.all(select(Account).where(Account.points >= 3))] == ["1"]
    assert store.engine.verify_index(Account, "by_email").counters()["entries"]["SCANNED"] == 1


def test_a_write_reads_the_row_puts_entries_and_then_the_row(store: Accounts) -> None:
    store.add("0", "warm@x")
    store.gateway.requests.clear()

    store.add("1", "ada@x")

    tables = [(type(each).__name__, each.table) for each in store.gateway.requests]  # type: ignore[attr-defined]  # these have one
    assert tables == [
        ("GetRows", "account"),
        ("MutateRows", BY_EMAIL),
        ("MutateRows", "account_ix_by_points"),
        ("MutateRows", "account"),
    ]


def test_an_update_of_another_column_leaves_the_index_alone(store: Accounts) -> None:
    store.add("1", "ada@x")
    with store.engine.session() as session:
        ada = got(session)
        store.gateway.requests.clear()
        ada.note = "hello"
        session.flush()

    (write,) = store.gateway.writes
    assert isinstance(write, MutateRows)
    assert [put.column for put in write.mutations[0].puts] == [b"d:note"]


def test_a_put_of_the_value_that_is_there_puts_its_entry_again_at_its_time(store: Accounts) -> None:
    store.add("1", "ada@x")

    store.add("1", "ada@x")

    gateway = store.gateway.inner
    (row,) = gateway.execute(GetRows("account", (b"1",)))
    (entry,) = gateway.execute(GetRows(BY_EMAIL, (store_entry(store, "ada@x", "1"),)))
    assert row is not None
    assert entry is not None
    assert entry.cells[b"d:"].timestamp_ms == row.cells[b"d:email"].timestamp_ms


def store_entry(store: Accounts, email: str, number: str) -> bytes:
    bound = store.engine._bound_of(Account)
    assert bound.guarded is not None
    target = next(index for index in bound.guarded.indexes if index.name == "by_email")
    cells = {b"d:email": email.encode(), b"d:points": b""}
    (entry_key,) = target.entry_keys(number.encode(), cells)
    return entry_key


def with_clock(store: Accounts) -> list[int]:
    """Let a store go by a clock that a test sets."""
    clock = [2_000_000]
    runtime = store.engine._runtime
    runtime.writer.guard_context = replace(runtime.guard_context, now_ms=lambda: clock[0])
    return clock


def test_a_row_is_stamped_above_what_it_holds_whatever_the_clock(store: Accounts) -> None:
    clock = with_clock(store)
    store.add("1", "ada@x")
    clock[0] -= 1_000

    store.add("1", "bea@x")

    assert (store.found("ada@x"), store.found("bea@x")) == ([], ["1"])


def test_a_column_cleared_by_a_fast_clock_is_set_by_a_slow_one(store: Accounts) -> None:
    clock = with_clock(store)
    store.add("1", "ada@x", note="old")
    with store.engine.session() as session:
        clock[0] += 1_000
        session.put_row(Account, Account.note.to(None), number="1")
        cleared = got(session).note
        clock[0] -= 900

    with store.engine.session() as session:
        session.put_row(Account, Account.note.to("new"), number="1")
        assert (cleared, got(session).note) == (None, "new")


def test_put_row_changes_a_row_that_exists_and_makes_none(store: Accounts) -> None:
    store.add("1", "ada@x")
    with store.engine.session() as session:
        session.put_row(Account, Account.email.to("bea@x"), number="1")
        with pytest.raises(RowNotFoundError):
            session.put_row(Account, Account.email.to("cea@x"), number="2")
        session.put_row(Account, Account.email.to("d@x"), Account.points.to(1), number="3")

    assert [store.found(name) for name in ("ada@x", "bea@x", "cea@x", "d@x")] == [
        *([], ["1"], [], ["3"]),
    ]


def test_bulk_writes_rows_with_their_entries(store: Accounts) -> None:
    with store.engine.session() as session, session.bulk(batch_rows=7) as bulk:
        bulk.add_all(Account(number=f"{n}", email=f"e{n % 5}@x", points=n) for n in range(40))

    assert len(store.found("e3@x")) == 8
    assert store.engine.verify_index(Account, "by_points").is_sound


def test_counters_count(store: Accounts) -> None:
    store.add("1", "ada@x")
    with store.engine.session() as session:
        session.increment(Account, Account.visits.by(2), number="1")
        store.add("1", "ada@y")

        assert got(session).visits == 2


# --- what is refused ------------------------------------------------------------------------------

CALLS: dict[str, Callable[[Session, Account], object]] = {
    "insert": lambda session, _: session.insert(Account(number="2", email="b", points=1)),
    "replace": lambda session, ada: session.replace(ada),
    "delete": lambda session, ada: session.delete(ada),
    "delete_row": lambda session, _: session.delete_row(Account, number="1"),
    "delete_where": lambda session, _: session.delete_where(
        select(Account).where(Account.number == "1")
    ),
    "put_if": lambda session, ada: session.put_if(ada, Account.points == 1),
    "delete_if": lambda session, ada: session.delete_if(ada, Account.points == 1),
    "move": lambda session, ada: session.move(ada, number="2"),
    "update": lambda session, _: session.update(Account, lambda _: None, number="1"),
    "append": lambda session, _: session.append(Account, Account.note, "x", number="1"),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_needs_a_guard_is_refused_before_anything_is_sent(store: Accounts, name: str) -> None:
    store.add("1", "ada@x")
    with store.engine.session() as session:
        ada = got(session)
        store.gateway.requests.clear()

        with pytest.raises(FeatureMissingError) as caught:
            CALLS[name](session, ada)

        assert (caught.value.operation, store.gateway.requests) == (name, [])
        assert "thrift2=" in caught.value.fix
    assert store.found("ada@x") == ["1"]


def test_a_bulk_that_inserts_is_refused(store: Accounts) -> None:
    bulk = store.engine.session().bulk(insert_only=True)

    with bulk, pytest.raises(FeatureMissingError):
        bulk.add(Account(number="1", email="a", points=1))


# --- faults ---------------------------------------------------------------------------------------


def faulty(store: Accounts, table: str, error: Exception) -> Engine:
    def error_of(operation: Operation[Any]) -> Exception | None:
        is_put = isinstance(operation, MutateRows) and operation.table == table
        return error if is_put else None

    gateway = DoesWhatThrift1Does(FailsBeforeSending(store.gateway.inner, error_of))
    return Engine(gateway, EngineOptions(scheme="memory"))


def test_without_its_entries_a_row_is_not_written(store: Accounts) -> None:
    engine = faulty(store, BY_EMAIL, ConnectionLostError("cut"))
    session = engine.session()
    session.add(Account(number="1", email="ada@x", points=1))
    with pytest.raises(FlushError) as caught:
        session.flush()

    ((_, _, error),) = caught.value.not_written
    assert isinstance(error, RetryableError)
    assert store.found("ada@x") == []


def test_a_row_whose_answer_is_lost_is_unknown_and_written_again(store: Accounts) -> None:
    engine = faulty(store, "account", ConnectionLostError("cut"))
    session = engine.session()
    session.add(Account(number="1", email="ada@x", points=1))
    with pytest.raises(FlushError) as caught:
        session.flush()

    assert [row for _, row, _ in caught.value.unknown] == [b"1"]
    store.add("1", "bea@x")
    assert (store.found("ada@x"), store.found("bea@x")) == ([], ["1"])


# --- repair and verification ----------------------------------------------------------------------


def raw(store: Accounts, table: str, mutation: RowMutation) -> None:
    store.gateway.inner.execute(MutateRows(table, (mutation,)))


def test_a_stale_entry_is_counted_and_repaired(store: Accounts) -> None:
    store.add("1", "ada@x")
    stale = store_entry(store, "old@x", "1")
    raw(store, BY_EMAIL, RowMutation(stale, (Put(b"d:", b"", 5),)))
    before = store.engine.verify_index(Account, "by_email")

    counts = store.engine.repair_indexes(Account)["by_email"]

    assert (before.stale, before.missing, before.is_sound) == (1, 0, True)
    assert (counts.repaired, counts.in_flight) == (1, 0)
    assert store.engine.verify_index(Account, "by_email").stale == 0


def test_an_entry_newer_than_its_row_is_left(store: Accounts) -> None:
    store.add("1", "ada@x")
    later = store_entry(store, "later@x", "1")
    raw(store, BY_EMAIL, RowMutation(later, (Put(b"d:", b"", 2**50),)))

    counts = store.engine.repair_indexes(Account, min_age_ms=0)["by_email"]

    assert (counts.repaired, counts.in_flight) == (0, 1)


def test_an_entry_of_the_row_s_own_time_is_deleted_once_its_cells_are_lifted(
    store: Accounts,
) -> None:
    store.add("1", "ada@x", points=7)
    (row,) = store.gateway.inner.execute(GetRows("account", (b"1",)))
    assert row is not None
    t = row.cells[b"d:email"].timestamp_ms
    raw(store, BY_EMAIL, RowMutation(store_entry(store, "tie@x", "1"), (Put(b"d:", b"", t),)))

    young = store.engine.repair_indexes(Account)["by_email"]
    old = store.engine.repair_indexes(Account, min_age_ms=0)["by_email"]

    assert ((young.in_flight, young.repaired), (old.in_flight, old.repaired)) == ((1, 0), (0, 1))
    (after,) = store.gateway.inner.execute(GetRows("account", (b"1",), (b"d",)))
    assert after is not None
    assert {cell.timestamp_ms for cell in after.cells.values()} == {t + 1}
    for index in ("by_email", "by_points"):
        found = store.engine.verify_index(Account, index)
        assert (found.missing, found.stale, found.scanned) == (0, 0, 2)


def test_an_entry_that_another_program_deleted_is_put_again(store: Accounts) -> None:
    store.add("1", "ada@x")
    gone = store_entry(store, "ada@x", "1")
    raw(store, BY_EMAIL, RowMutation(gone, deletes=(Delete(b"d"),)))
    assert store.engine.verify_index(Account, "by_email").missing == 1

    store.engine.verify_index(Account, "by_email", repair=True)

    assert store.engine.verify_index(Account, "by_email").missing == 0
    assert store.found("ada@x") == ["1"]


# --- the life of an index -------------------------------------------------------------------------


def test_an_index_is_dropped_and_built_again(store: Accounts) -> None:
    store.add("1", "ada@x")
    store.engine.drop_index(Account, Account.by_email)
    store.add("2", "ada@x")

    status = store.engine.build_index(Account, Account.by_email)

    assert status.state is IndexState.READABLE
    assert store.found("ada@x") == ["1", "2"]
    assert store.engine.verify_index(Account, "by_email").missing == 0


def test_a_build_waits_until_every_writer_knows_the_index_before_it_looks_at_rows(
    store: Accounts,
) -> None:
    store.add("1", "ada@x")
    store.engine.drop_index(Account, "by_email")
    waiting = Engine(store.gateway, EngineOptions(scheme="hbase", timeout_s=0.05, lease_s=1.0))
    phases: list[str] = []

    waiting.build_index(
        Account,
        "by_email",
        gateway_timeout_s=0,
        on_progress=lambda progress: phases.append(progress.phase),
    )

    assert [*dict.fromkeys(phases)] == ["wait", "rows", "check"]
    assert store.found("ada@x") == ["1"]


# --- one table, one protocol ----------------------------------------------------------------------


def test_a_program_with_thrift2_does_not_write_a_table_without_guards(store: Accounts) -> None:
    store.add("1", "ada@x")
    guarded = Engine(store.gateway.inner, EngineOptions(scheme="memory"))

    with pytest.raises(
        SchemaError, match="for rows without guards, but this program writes rows with them"
    ):
        guarded.create_tables(Account)
    session = guarded.session()
    session.add(Account(number="1", email="bea@x", points=1))
    with pytest.raises(FlushError) as caught:
        session.flush()

    ((_, _, error),) = caught.value.not_written
    assert isinstance(error, SchemaError)
    assert "leave thrift2 out" in error.fix
    with guarded.session() as session:
        stmt = select(Account).where(func.lower(Account.email) == "ada@x")
        assert [each.number for each in session.all(stmt)] == ["1"]


def test_a_program_without_thrift2_does_not_write_a_table_with_guards(store: Accounts) -> None:
    store.engine.drop_tables(Account)
    guarded = Engine(store.gateway.inner, EngineOptions(scheme="memory"))
    guarded.create_tables(Account)

    with pytest.raises(SchemaError, match="rows with guards"):
        store.engine.create_tables(Account)
    session = store.engine.session()
    session.add(Account(number="1", email="bea@x", points=1))
    with pytest.raises(FlushError) as caught:
        session.flush()

    assert isinstance(caught.value.not_written[0][2], SchemaError)


def test_a_row_with_a_guard_is_refused(store: Accounts) -> None:
    store.add("1", "ada@x")
    guard = b"L" + bytes(18)
    raw(store, "account", RowMutation(b"1", (Put(b"_:g", guard, 5),)))

    with pytest.raises(FlushError) as caught:
        store.add("1", "bea@x")

    assert isinstance(caught.value.not_written[0][2], SchemaError)
    assert store.found("bea@x") == []


def test_reads_of_a_program_of_the_other_kind_repair_nothing(
    store: Accounts, caplog: pytest.LogCaptureFixture
) -> None:
    store.add("1", "ada@x")
    stale = store_entry(store, "old@x", "1")
    raw(store, BY_EMAIL, RowMutation(stale, (Put(b"d:", b"", 5),)))
    guarded = Engine(store.gateway.inner, EngineOptions(scheme="memory"))

    with caplog.at_level(logging.INFO), guarded.session() as session:
        stmt = select(Account).where(func.lower(Account.email) == "old@x")
        assert session.all(stmt) == []

    assert store.engine.verify_index(Account, "by_email").stale == 1
    assert store.found("old@x") == []
    assert store.engine.verify_index(Account, "by_email").stale == 0


def test_memory_has_everything() -> None:
    with connect("memory://") as engine:
        engine.create_tables(Account)
        with engine.session() as session:
            session.insert(Account(number="1", email="a", points=1))
