"""What comes after a write was applied makes no failure of it; one bad row ends no whole command."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Version,
    column,
    connect,
    key,
    select,
    version,
)
from hbase_orm.errors import (
    ConfigurationError,
    ConnectionLostError,
    CorruptRowError,
    FlushError,
    HBaseORMError,
    RegionUnavailableError,
)
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.catalog.catalog import CATALOG_TABLE
from hbase_orm.index.entries.targets import GUARD_COLUMN
from hbase_orm.ops import (
    CheckAndMutate,
    CloseScanner,
    GetRows,
    MutateRow,
    MutateRows,
    Operation,
    Put,
    RowMutation,
)
from tests.support.garbage_bytes import GUARDS
from tests.support.recording import FailsBeforeSending, gateway_of, through
from tests.support.shop_processes import Clock, OldOrder, Order, engine_on


class Note(Model, table="notes"):
    d = Family()
    name: Key[str] = key()
    text: Mapped[str] = column(d)
    size: Mapped[int] = column(d, default=0)


class Draft(Model, table="drafts"):
    d = Family()
    name: Key[str] = key()
    text: Mapped[str] = column(d)
    revision: Version = version(d)


class Tagged(Model, table="tagged"):
    d = Family()
    name: Key[str] = key()
    tag: Mapped[str] = column(d)
    by_tag = Index(tag)


@pytest.fixture
def engine() -> Iterator[Engine]:
    with connect("memory://") as connected:
        connected.create_tables(Note, Draft, Tagged)
        yield connected


def store(engine: Engine, table: str, row: bytes, where: bytes, value: bytes) -> None:
    put = Put(where, value)
    gateway_of(engine).execute(MutateRows(table, (RowMutation(row, puts=(put,)),)))


def stored(engine: Engine, table: str, row: bytes, where: bytes) -> bytes | None:
    (found,) = gateway_of(engine).execute(GetRows(table, (row,), (where,)))
    return None if found is None else found.cells[where].value


def failing_after(
    engine: Engine, kind: type[Any], error: Exception, what: Callable[[Any], bool]
) -> Engine:
    """Return an engine whose requests that `what` names fail once one of `kind` was sent."""
    sent: list[Any] = []

    def error_of(operation: Operation[Any]) -> Exception | None:
        is_after = bool(sent)
        sent.extend([operation] if isinstance(operation, kind) else [])
        return error if is_after and what(operation) else None

    return through(FailsBeforeSending(gateway_of(engine), error_of), engine)


# --- appends, replaces, moves ----------------------------------------------------------------------


def test_an_append_that_was_made_says_so_though_the_whole_does_not_decode(engine: Engine) -> None:
    store(engine, "notes", b"a", b"d:text", b"\xff")

    with (
        pytest.raises(CorruptRowError, match="was appended") as caught,
        engine.session() as session,
    ):
        session.append(Note, Note.text, "x", name="a")

    assert (caught.value.table, caught.value.row, caught.value.field) == ("notes", b"a", "text")
    assert stored(engine, "notes", b"a", b"d:text") == b"\xffx"


def test_nothing_is_appended_under_a_guard_to_bytes_that_do_not_decode(engine: Engine) -> None:
    with engine.session() as session:
        session.insert(Draft(name="a", text="t"))
        store(engine, "drafts", b"a", b"d:text", b"\xff")

        with pytest.raises(CorruptRowError, match="nothing was appended"):
            session.append(Draft, Draft.text, "x", name="a")

    assert stored(engine, "drafts", b"a", b"d:text") == b"\xff"


def test_a_replaced_row_that_cannot_be_read_back_is_not_reported_as_not_written(
    engine: Engine,
) -> None:
    with engine.session() as session:
        session.insert(Note(name="a", text="old"))
    busy = RegionUnavailableError("the region moves")
    other = failing_after(engine, MutateRow, busy, lambda each: isinstance(each, GetRows))

    with pytest.raises(ConnectionLostError, match="was replaced"), other.session() as session:
        session.replace(Note(name="a", text="new"))

    assert stored(engine, "notes", b"a", b"d:text") == b"new"


def test_a_row_that_does_not_decode_is_not_moved(engine: Engine) -> None:
    with engine.session() as session:
        session.insert(Note(name="a", text="t"))
        note = session.get(Note, name="a")
        assert note is not None
        store(engine, "notes", b"a", b"d:size", b"bad")

        with pytest.raises(CorruptRowError):
            session.move(note, name="b")

    assert stored(engine, "notes", b"a", b"d:text") == b"t"
    assert stored(engine, "notes", b"b", b"d:text") is None


# --- flushes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error", [ConfigurationError("the gateway is closed"), CorruptRowError("bad")]
)
def test_a_flush_that_fails_in_the_middle_says_what_was_written(
    engine: Engine, error: HBaseORMError
) -> None:
    def error_of(operation: Operation[Any]) -> Exception | None:
        is_tagged = isinstance(operation, (MutateRows, CheckAndMutate))
        return error if is_tagged and getattr(operation, "table", "") == "notes" else None

    with engine.session() as session:
        session.insert(Note(name="a", text="old"))
    other = through(FailsBeforeSending(gateway_of(engine), error_of), engine)
    session = other.session()
    draft = Draft(name="d", text="t")
    session.add_all([Tagged(name="t", tag="t"), draft, Note(name="b", text="t")])

    with pytest.raises(FlushError) as caught:
        session.flush()

    assert [row[:2] for row in caught.value.not_written] == [("notes", b"b")]
    assert sorted(caught.value.written) == [("drafts", b"d"), ("tagged", b"t")]
    assert draft.revision == 1
    session.close()


# --- whole tables ----------------------------------------------------------------------------------


def test_a_deletion_of_many_rows_goes_on_behind_those_that_do_not_decode(engine: Engine) -> None:
    with engine.session() as session:
        session.add_all(Note(name=f"n{number:03}", text="t") for number in range(250))
        session.flush()
        for row in (b"n001", b"n120"):
            store(engine, "notes", row, b"d:size", b"bad")

        with pytest.raises(FlushError) as caught:
            session.delete_where(select(Note).where(Note.text == "t").allow_full_scan())

        assert caught.value.written == 248
        named = [(table, row) for table, row, _ in caught.value.not_written]
        assert named == [("notes", b"n001"), ("notes", b"n120")]
        assert session.count(select(Note).allow_full_scan()) == 2


def test_a_limited_deletion_counts_no_row_that_does_not_decode(engine: Engine) -> None:
    with engine.session() as session:
        session.add_all(Note(name=f"n{number}", text="t") for number in range(5))
        session.flush()
        store(engine, "notes", b"n4", b"d:size", b"bad")

        assert session.delete_where(select(Note).allow_full_scan().limit(2)) == 2
        assert session.count(select(Note).allow_full_scan()) == 3


@pytest.mark.parametrize("kind", GUARDS)
def test_a_build_gives_rows_with_garbage_guards_new_ones(kind: str) -> None:
    gateway, clock = MemoryGateway(), Clock()
    old = engine_on(gateway, clock)
    old.create_tables(OldOrder)
    with old.session() as session:
        session.add_all(OldOrder(number=n, customer="c", state="new") for n in range(5))
    for number in (0, 3):
        store(old, "orders", number.to_bytes(2, "big"), GUARD_COLUMN, GUARDS[kind])
    engine = engine_on(gateway, clock)
    engine.create_tables(Order)

    engine.build_index(Order, Order.by_customer, gateway_timeout_s=0)

    with engine.session() as session:
        found = session.all(select(Order).where(Order.customer == "c").using(Order.by_customer))
        assert [order.number for order in found] == list(range(5))
        session.put_row(Order, Order.customer.to("d"), number=3)
    assert engine.verify_index(Order, Order.by_customer).is_sound


def test_a_read_repair_that_cannot_read_the_catalog_fails_no_read() -> None:
    gateway, clock = MemoryGateway(), Clock()
    engine = engine_on(gateway, clock)
    engine.create_tables(Order)
    with engine.session() as session:
        session.insert(Order(number=1, customer="c", state="new"))
    stale = RowMutation(b"new\x00\x01\x00\x09", puts=(Put(b"d:", b"", 1),))
    gateway.execute(MutateRows("orders_ix_by_state", (stale,)))
    is_read: list[bool] = []

    def error_of(operation: Operation[Any]) -> Exception | None:
        if isinstance(operation, CloseScanner):
            is_read.append(True)
            clock.sleep(31)  # the lease is over when the repair asks
        is_catalog = isinstance(operation, GetRows) and operation.table == CATALOG_TABLE
        return RegionUnavailableError("the region moves") if is_read and is_catalog else None

    other = engine_on(FailsBeforeSending(gateway, error_of), clock)
    by_state = select(Order).where(Order.state == "new").using(Order.by_state)
    with other.session() as session:
        assert [order.number for order in session.all(by_state)] == [1]
