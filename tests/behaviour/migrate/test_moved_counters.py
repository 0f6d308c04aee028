"""Counters of rows that move to another table while programs of both classes increment them."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeVar
from uuid import uuid4

import pytest

from hbase_orm import (
    Engine,
)
from hbase_orm.binding.dictionaries import in_namespace
from hbase_orm.errors import HBaseORMError, SchemaDriftError, TableNotFoundError
from hbase_orm.gateway.base import Gateway
from hbase_orm.index.entries.targets import GUARD_COLUMN
from hbase_orm.migrate.errors import MigrationStoppedError
from hbase_orm.migrate.operations.copies import RekeyTable
from hbase_orm.migrate.operations.operation import Migration, Progress
from hbase_orm.migrate.operations.tables import DropTable
from hbase_orm.ops import CheckAndMutate, ListRegions, OpenScanner, Operation
from tests.support.backends import Backend
from tests.support.migrated_tables import (
    SHORT_LEASE_S,
    EndError,
    Revision,
    Saved,
    contents,
    with_short_lease,
    with_short_waits,
)
from tests.support.moved_pages import (
    ROWS,
    Beside,
    StandsStill,
    check,
    count,
    filled,
    moved,
    new_class,
    old_class,
    phase,
    place,
)
from tests.support.recording import RecordsRequests, gateway_of, through

R = TypeVar("R")

THREADS: Final = 4


def prepare(_: Engine) -> None:
    """Make no table: each test has its own."""


@pytest.fixture
def tables(engine: Engine) -> Engine:
    return with_short_waits(engine)


@pytest.fixture
def name() -> str:
    return f"pages_{uuid4().hex[:8]}"


def test_counters_add_up_in_every_phase(tables: Engine, backend: Backend, name: str) -> None:
    old, new = old_class(name), new_class(f"{name}_2")
    ledger = filled(tables, old)
    before = with_short_lease(backend.another(tables))
    after = with_short_lease(backend.another(tables))
    seen = set()

    def act(n: int) -> None:
        time.sleep(SHORT_LEASE_S)  # in memory nothing waits until leases have ended
        now = phase(tables, f"{name}_2")
        seen.add(now)
        if phase(tables, name) == "INDEXING":
            count(before, old, ledger, n, 7)
            check(before, old, ledger)
        elif now not in {"none", "INDEXING"}:
            with pytest.raises(SchemaDriftError, match=r"handed over|moved to"):
                count(before, old, ledger, n, 7)
        if now != "none":
            count(after, new, ledger, n + 100, 1000)
            check(after, new, ledger)

    moved(Revision(tables, (old,), (new,)), name, Beside(act))

    assert seen >= {"INDEXING", "PREPARED", "MOVING"}
    time.sleep(SHORT_LEASE_S)
    check(after, new, ledger)
    count(after, new, ledger, 3, 1)
    last = backend.another(tables)
    check(last, new, ledger)
    assert last.verify_index(new, "by_title").is_sound


@pytest.mark.only_on("memory")
@pytest.mark.parametrize("stop", ["prepared", "moving"])
@pytest.mark.parametrize("is_old", [False, True], ids=["new class", "old class"])
@pytest.mark.parametrize("is_dropped", [False, True], ids=["kept", "dropped"])
def test_a_program_that_stood_still_through_the_move_adds_once_or_is_refused(
    tables: Engine, name: str, stop: str, *, is_old: bool, is_dropped: bool
) -> None:
    old, new = old_class(name), new_class(f"{name}_2")
    ledger = filled(tables, old)
    made, operation = Revision(tables, (old,), (new,)), RekeyTable(name, new_table=f"{name}_2")
    saved = Saved()
    with pytest.raises(MigrationStoppedError):
        operation.run(made.migration(stop_before=stop, gateway_timeout_s=0.0), saved)

    def move_on() -> None:
        time.sleep(SHORT_LEASE_S)
        operation.run(made.migration(gateway_timeout_s=0.0), saved)
        if is_dropped:
            DropTable(name).run(made.migration(gateway_timeout_s=0.0), Saved())

    program = with_short_lease(through(StandsStill(gateway_of(tables), move_on), tables))
    with program.session() as session:
        if is_old and stop == "moving":
            with pytest.raises(SchemaDriftError):
                session.increment(old, old.hits.by(5), **place(2))
            move_on()
        elif is_old:
            with pytest.raises((SchemaDriftError, TableNotFoundError)):
                session.increment(old, old.hits.by(5), **place(2))
        else:
            assert list(session.increment(new, new.hits.by(5), **place(2))) == [ledger[2][0] + 5]
            ledger[2][0] += 5

    time.sleep(SHORT_LEASE_S)
    check(with_short_lease(through(gateway_of(tables), tables)), new, ledger)


class EndsAfterASeal(RecordsRequests):
    """A program that ends when it has sealed a guard, before it seals the counters."""

    def execute(self, request: Operation[R], /) -> R:
        answer = super().execute(request)
        if isinstance(request, CheckAndMutate) and request.column == GUARD_COLUMN:
            raise EndError
        return answer


class MeetsAHandOver(RecordsRequests):
    """Lets something happen when all rows have moved, before a table is scanned to check them."""

    def __init__(self, inner: Gateway, table: str, meanwhile: Callable[[], None]) -> None:
        super().__init__(inner)
        self.step = ""
        self._table = table
        self._meanwhile = meanwhile
        self._scans = -1

    def execute(self, request: Operation[R], /) -> R:
        if self.step == "move rows" and isinstance(request, ListRegions):
            self._scans = 0  # rows are checked now
        if isinstance(request, OpenScanner) and request.scan.table == self._table:
            self._scans += self._scans >= 0
            if self._scans == 2:  # the first scan hands rows over, the second checks
                self._meanwhile()
        return super().execute(request)


@pytest.mark.only_on("memory")
@pytest.mark.parametrize("verb", ["insert", "increment"])
def test_a_row_that_a_program_is_handing_over_is_not_reported_as_left(
    tables: Engine, name: str, verb: str
) -> None:
    old, new = old_class(name), new_class(f"{name}_2")
    ledger = filled(tables, old)
    ended = []

    def begin() -> None:
        program = with_short_lease(through(EndsAfterASeal(gateway_of(tables)), tables))
        session = program.session()
        write: Callable[[], object] = partial(session.increment, new, new.hits.by(1), **place(ROWS))
        if verb == "insert":
            write = partial(session.insert, new(**place(ROWS), title="late"))
        with pytest.raises(EndError):
            write()
        ended.append(verb)

    table = in_namespace(name, tables.options.namespace)
    gateway = MeetsAHandOver(gateway_of(tables), table, begin)
    plan = Revision(tables, (old,), (new,)).migration(
        through(gateway, tables), gateway_timeout_s=0.0
    )

    def report(progress: Progress) -> None:
        gateway.step = progress.step

    migration = Migration(plan.engine, plan.before, plan.after, plan.options, report)
    RekeyTable(name, new_table=f"{name}_2").run(migration, Saved())

    assert ended == [verb]
    time.sleep(SHORT_LEASE_S)
    check(with_short_lease(through(gateway_of(tables), tables)), new, ledger)


def test_counters_move_back_with_their_timestamps(
    tables: Engine, backend: Backend, name: str
) -> None:
    old, new = old_class(name), new_class(f"{name}_2")
    ledger = filled(tables, old)
    operation, made = RekeyTable(name, new_table=f"{name}_2"), Revision(tables, (old,), (new,))
    before = contents(tables, name).cells

    made.upgrade(operation, gateway_timeout_s=0.0)
    made.downgrade(operation, gateway_timeout_s=0.0)

    program = with_short_lease(backend.another(tables))
    check(program, old, ledger)
    assert contents(tables, name).cells == before
    count(program, old, ledger, 3, 5)
    check(program, old, ledger)


@dataclass
class Counting:
    """A thread that increments counters of random rows; it takes the new class when it must."""

    engine: Engine
    classes: list[Any]
    random: random.Random
    ended: threading.Event
    added: dict[int, list[int]] = field(default_factory=lambda: {n: [0, 0] for n in range(ROWS)})
    refused: int = 0
    errors: list[BaseException] = field(default_factory=list)

    def run(self) -> None:
        try:
            while not self.ended.is_set():
                self._step()
        except HBaseORMError as error:
            self.errors.append(error)

    def _step(self) -> None:
        n, by = self.random.randrange(ROWS), self.random.randrange(-5, 20)
        model = self.classes[0]
        with self.engine.session() as session:
            try:
                if self.random.random() < 0.5:
                    session.increment(model, model.hits.by(by), model.errors.by(1), **place(n))
                    self.added[n][1] += 1
                else:
                    session.increment(model, model.hits.by(by), **place(n))
            except SchemaDriftError:
                assert len(self.classes) > 1
                del self.classes[0]
                self.refused += 1
                return
        self.added[n][0] += by


def test_no_increment_is_lost_or_doubled_while_rows_move(
    tables: Engine, backend: Backend, name: str
) -> None:
    old, new = old_class(name), new_class(f"{name}_2")
    ledger = filled(tables, old)
    ended = threading.Event()
    counting = [
        Counting(with_short_lease(backend.another(tables)), [old, new], random.Random(n), ended)
        for n in range(THREADS)
    ]
    threads = [threading.Thread(target=each.run) for each in counting]
    for thread in threads:
        thread.start()

    try:
        moved(
            Revision(tables, (old,), (new,)),
            name,
            Beside(lambda _: time.sleep(SHORT_LEASE_S)),
        )
        time.sleep(2 * SHORT_LEASE_S)
    finally:
        ended.set()
        for thread in threads:
            thread.join()

    assert [each.errors for each in counting] == [[]] * THREADS
    assert [each.refused for each in counting] == [1] * THREADS
    for each in counting:
        for n, (hits, errors) in each.added.items():
            ledger[n][0] += hits
            ledger[n][1] += errors
    assert sum(errors for _, errors in ledger.values()) > 50
    check(backend.another(tables), new, ledger)
