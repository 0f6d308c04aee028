"""Moves of rows that end, stand still or are given up at any request, and programs beside them."""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import timedelta
from typing import Any, TypeVar

import pytest

from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Version,
    codecs,
    column,
    connect,
    key,
    select,
    version,
)
from hbase_orm.errors import (
    ConflictError,
    HBaseORMError,
    MigrationError,
    SchemaDriftError,
    ValidationError,
)
from hbase_orm.gateway.base import Gateway
from hbase_orm.migrate.errors import MigrationStoppedError
from hbase_orm.migrate.operations.copies import RekeyTable
from hbase_orm.migrate.operations.refusals import NeedsExclusiveUseError, RefusedRowsError
from hbase_orm.ops import (
    Delete,
    GetRows,
    MutateRow,
    Operation,
    PutStampedRows,
    RowMutation,
    ask,
)
from hbase_orm.record.closed_tables import closed_why
from tests.support.migrated_tables import (
    SHORT_LEASE_S,
    EndError,
    EndsBefore,
    Revision,
    Saved,
    contents,
    with_short_lease,
)
from tests.support.moved_trips import (
    NOON,
    Program,
    filled,
    new_class,
    old_class,
    phase,
)
from tests.support.recording import LetsAnotherWork, RecordsRequests, gateway_of, through

R = TypeVar("R")

OPERATION = RekeyTable("t", new_table="t_2")


class Move:
    """A table in memory whose rows are to be moved, and what its rows are."""

    def __init__(self, old: Any = None, new: Any = None) -> None:
        self.engine = with_short_lease(connect("memory://"))
        self.old, self.new = old or old_class("t"), new or new_class("t_2")
        self.saved = Saved()

    def fill(self) -> None:
        self.ledger = filled(self.engine, self.old)

    @property
    def revision(self) -> Revision:
        return Revision(self.engine, (self.old,), (self.new,))

    def another(self, gateway: Gateway | None = None) -> Engine:
        """Return the engine of another program."""
        return with_short_lease(through(gateway or gateway_of(self.engine), self.engine))

    def upgrade(self, engine: Engine | None = None, **options: Any) -> None:
        OPERATION.run(self.revision.migration(engine, **options), self.saved)

    def downgrade(self) -> None:
        self.revision.downgrade(OPERATION)

    @property
    def is_over(self) -> bool:
        """Whether the old table is closed, so that a downgrade moves the rows back."""
        record = contents(self.engine, "t").record
        return record is not None and bool(closed_why(record))

    def ends_before(self, last: int, **options: Any) -> bool:
        """Upgrade in a program that ends before a request; return whether it has ended so."""
        try:
            self.upgrade(through(EndsBefore(gateway_of(self.engine), last), self.engine), **options)
        except EndError:
            return True
        return False


@pytest.fixture
def move(monkeypatch: pytest.MonkeyPatch) -> Move:
    monkeypatch.setattr("tests.support.moved_trips.ROWS", 6)
    made = Move()
    made.fill()
    return made


def test_a_mover_whose_lease_ends_within_a_page_and_at_the_next_look_at_the_catalog_goes_on(
    move: Move,
) -> None:
    def sleep() -> None:
        time.sleep(SHORT_LEASE_S)

    def is_seal(request: Operation[Any]) -> bool:
        is_there = isinstance(request, PutStampedRows) and request.table == "t"
        return is_there and phase(move.engine, "t") == "MOVING"

    def is_next_look(request: Operation[Any]) -> bool:
        is_look = isinstance(request, GetRows) and request.keys == (b"t_2",)
        return is_look and within.has_worked

    within = LetsAnotherWork(gateway_of(move.engine), is_seal, sleep)
    slow = LetsAnotherWork(within, is_next_look, sleep, is_after=True)
    move.upgrade(with_short_lease(through(slow, move.engine)))

    assert slow.has_worked
    Program(move.another(), move.new).check(move.ledger)


@pytest.mark.usefixtures("move")
@pytest.mark.parametrize("last", range(0, 150, 7))
def test_a_move_that_ended_is_given_up_or_finished_never_both(last: int) -> None:
    move = Move()
    move.fill()
    before = contents(move.engine, "t")
    ended = move.ends_before(last)
    is_halfway = phase(move.engine, "t_2") in {"MOVING", "NEW"} and not move.is_over

    if is_halfway and ended:
        with pytest.raises(ConflictError, match="finish the move"):
            move.downgrade()
        move.upgrade()
        Program(move.another(), move.new).check(move.ledger)
        return
    move.downgrade()
    time.sleep(SHORT_LEASE_S)
    Program(move.another(), move.old).check(move.ledger)
    assert contents(move.engine, "t").cells == before.cells


class Watches(RecordsRequests):
    """Lets a program of the new class read before each request."""

    def __init__(self, inner: Gateway, move: Move) -> None:
        super().__init__(inner)
        self.move = move
        self.seen: set[str] = set()

    def execute(self, operation: Operation[R], /) -> R:
        try:
            rows = Program(self.move.another(self.inner), self.move.new).rows()
        except SchemaDriftError:
            self.seen.add("refused")
        except HBaseORMError as error:
            self.seen.add(type(error).__name__)
        else:
            assert rows == self.move.ledger
            self.seen.add("read")
        return super().execute(operation)


def test_programs_of_the_new_class_never_take_the_new_table_for_an_empty_one(move: Move) -> None:
    watches = Watches(gateway_of(move.engine), move)

    move.upgrade(through(watches, move.engine))

    assert watches.seen == {"refused", "read", "TableNotFoundError"}


class MovesFirst(RecordsRequests):
    """Stands still in front of its first read of a table until the rows have moved."""

    def __init__(self, inner: Gateway, move: Move) -> None:
        super().__init__(inner)
        self.move = move

    def execute(self, operation: Operation[R], /) -> R:
        if isinstance(operation, GetRows) and operation.table == "t" and not self.requests:
            self.requests.append(operation)
            self.move.upgrade()
            time.sleep(SHORT_LEASE_S)
        return self.inner.execute(operation)


def test_a_program_that_stood_still_does_not_return_what_the_old_table_says(move: Move) -> None:
    slow = move.another(MovesFirst(gateway_of(move.engine), move))

    with slow.session() as session, pytest.raises(SchemaDriftError, match="handed over"):
        session.get(move.old, at=NOON, tail="N0")


@pytest.mark.parametrize("overtaken_before", range(12, 72, 5))
def test_a_mover_that_stood_still_does_not_begin_the_move_again(
    move: Move, overtaken_before: int
) -> None:
    class OvertakenOnce(RecordsRequests):
        def execute(self, operation: Operation[R], /) -> R:
            if len(self.requests) == overtaken_before:
                self.requests.append(operation)
                OPERATION.run(move.revision.migration(move.another()), Saved(move.saved.position))
            return super().execute(operation)

    slow = OvertakenOnce(gateway_of(move.engine))

    with suppress(ConflictError, MigrationError):  # or it finds nothing left to do
        move.upgrade(through(slow, move.engine))

    assert (phase(move.engine, "t"), phase(move.engine, "t_2")) == ("NEW", "NEW")
    Program(move.another(), move.new).check(move.ledger)


def test_rows_that_would_not_exist_any_more_are_found_before_any_row_moves() -> None:
    class Reading(Model, table="t"):
        d = Family()
        at: Key[int] = key(codecs.uint32())
        tail: Mapped[str] = column(d)
        value: Mapped[int] = column(d)
        by_tail = Index(tail)

    def later() -> Any:
        class Reading(Model, table="t_2"):
            d = Family()
            tail: Key[str] = key(codecs.text(separator=b"\x00"))
            at: Key[int] = key(codecs.uint32())
            value: Mapped[int] = column(d)
            by_value = Index(value)

        return Reading

    new = later()
    move = Move(Reading, new)
    move.engine.create_tables(Reading)
    with move.engine.session() as session:
        session.add_all([Reading(at=n, tail="N", value=n) for n in (1, 2)])
    bare = RowMutation((1).to_bytes(4, "big"), deletes=(Delete(b"d:value"),))
    move.engine._runtime.run(ask(MutateRow("t", bare)))  # the column by which new rows exist

    with pytest.raises(RefusedRowsError, match="do not fit") as refused:
        move.upgrade()

    assert "no place for any cell" in str(refused.value)
    with move.another().session() as session:
        session.put_row(Reading, Reading.value.to(1), at=1)
    move.upgrade()
    with move.another().session() as session:
        rows = session.all(select(new).allow_full_scan())
    assert {(each.at, each.value) for each in rows} == {(1, 1), (2, 2)}


def test_values_that_do_not_fit_are_found_before_any_row_moves() -> None:
    class Reading(Model, table="t"):
        d = Family()
        at: Key[int] = key(codecs.uint32())
        tail: Key[str] = key()
        value: Mapped[int] = column(d, codec=codecs.uint32())
        mark: Mapped[int] = column(d)
        revision: Version = version(d)

    def later() -> Any:
        class Reading(Model, table="t_2"):
            d = Family()
            tail: Key[str] = key()
            at: Key[int] = key(codecs.uint32())
            value: Mapped[int] = column(d, codec=codecs.uint16())
            mark: Mapped[int] = column(d)
            revision: Version = version(d)

        return Reading

    move = Move(Reading, later())
    move.engine.create_tables(Reading)
    with move.engine.session() as session:
        session.add(Reading(at=1, tail="N", value=70_000, mark=1))
        session.add(Reading(at=2, tail="N", value=2, mark=1))

    with pytest.raises(RefusedRowsError, match="do not fit"):
        move.upgrade()
    with move.another().session() as session:
        row = session.get(Reading, at=1, tail="N")
        assert row is not None
        row.value = 3
    with pytest.raises(MigrationStoppedError):
        move.upgrade(stop_before="prepared")
    with move.another().session() as session:
        with pytest.raises(ValidationError, match="to which the rows are being moved"):
            session.put_row(Reading, Reading.value.to(70_000), at=2, tail="N")
        session.put_row(Reading, Reading.value.to(4), at=2, tail="N")
    move.upgrade()

    with move.another().session() as session:
        rows = session.all(select(move.new).allow_full_scan())
    assert [(r.tail, r.at, r.value, r.revision) for r in rows] == [("N", 1, 3, 2), ("N", 2, 4, 2)]


def test_programs_of_the_new_class_use_its_indexes_before_old_programs_are_refused(
    move: Move,
) -> None:
    with pytest.raises(MigrationStoppedError):
        move.upgrade(stop_before="prepared")
    assert (phase(move.engine, "t"), phase(move.engine, "t_2")) == ("INDEXING", "PREPARED")
    before, after = Program(move.another(), move.old), Program(move.another(), move.new)

    for n in range(6):
        before.write(move.ledger, n)
        after.check(move.ledger)
        after.write(move.ledger, n + 50)
        before.check(move.ledger)
    with after.engine.session() as session:
        new = move.new
        by_miles = select(new.miles).where(new.miles >= 0).using(new.by_miles)
        miles = session.all(by_miles.order_by(new.miles.asc()).limit(3))

    assert miles == sorted(each for each, _ in move.ledger.values())[:3]
    with pytest.raises(ConflictError, match="being moved"):
        after.engine.verify_index(move.new, "by_miles")


@pytest.mark.parametrize(("first", "then"), [(True, False), (False, True)])
def test_a_move_goes_on_in_the_way_in_which_it_was_begun(*, first: bool, then: bool) -> None:
    interrupted = 0
    for last in range(30, 120, 9):
        move = Move()
        move.fill()
        if not move.ends_before(last, exclusive=first):
            break
        interrupted += 1
        is_begun = bool(move.saved.position)
        if first and is_begun:
            with pytest.raises(NeedsExclusiveUseError, match="begun with --exclusive"):
                move.upgrade(exclusive=then)
            move.upgrade(exclusive=first)
        else:
            move.upgrade(exclusive=then)
        Program(move.another(), move.new).check(move.ledger)
    assert interrupted > 3


def test_tables_that_are_moved_on_keep_their_floor(move: Move) -> None:
    from hbase_orm.index.catalog.catalog import read_entry  # noqa: PLC0415

    def floor(table: str) -> int:
        entry = move.engine._runtime.run_as_is(read_entry(table))
        return 0 if entry is None or entry.move is None else entry.move.floor_ms

    move.upgrade()
    known = floor("t_2")
    on = RekeyTable("t_2", new_table="t_3")
    made = Revision(move.engine, (move.new,), (old_class("t_3"),))
    with pytest.raises(MigrationStoppedError):
        on.run(made.migration(stop_before="moving"), Saved())
    during = floor("t_2")
    made.downgrade(on)

    assert known > 0
    assert (during, floor("t_2")) == (known, known)
    late = NOON + timedelta(days=400)
    with move.another().session() as session:
        session.add(move.new(tail="N", at=late, miles=1))
        session.flush()
        assert session.get(move.new, tail="N", at=late) is not None
