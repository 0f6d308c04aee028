"""Moving rows to a table with another row key: `RekeyTable`, beside what one would write by hand.

By hand the rows of the old table are streamed into a bulk write of the new one. That loses what
other programs write meanwhile; the online move does not, and gives every row to the indexes of both
tables first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks.models import Source, reading
from benchmarks.paired import Variant, compare, pair_by_hand
from benchmarks.place import BATCH_ROWS, Place
from benchmarks.results import OWN, Comparison
from hbase_orm import Engine, Model, select
from hbase_orm.binding.runtime import Runtime
from hbase_orm.migrate.operations.copies import RekeyTable
from hbase_orm.migrate.operations.operation import Migration, MigrationOptions
from hbase_orm.migrate.operations.rows.row_walk import Walk, WalkPosition
from hbase_orm.record.snapshots import declaration_of
from tests.support.recording import gateway_of

INDEXED = reading("bench_old_indexed", is_salted=False, is_indexed=True)
INDEXED_SALTED = reading("bench_new_indexed", is_salted=True, is_indexed=True)
PLAIN = reading("bench_old_plain", is_salted=False, is_indexed=False)
PLAIN_SALTED = reading("bench_new_plain", is_salted=True, is_indexed=False)
MODELS = (INDEXED, INDEXED_SALTED, PLAIN, PLAIN_SALTED)

LEASE_S = 2.0
LATE_S = 0.1
"""How long a request may be late: a move waits for it and for a lease between two phases."""


@dataclass
class _Checkpoint:
    """A checkpoint in memory."""

    position: Mapping[str, str] = field(default_factory=dict[str, str])
    interrupted: None = None

    def save(self, position: Mapping[str, str]) -> None:
        """Save a position."""
        self.position = dict(position)


@dataclass
class _Walks:
    """How long the walks over rows of an operation took, and all of it."""

    seconds: float = 0.0
    check_s: float = 0.0
    operation_s: float = 0.0

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Time one operation, and the walks that are made in it."""
        walk_class: Any = Walk
        run = Walk.run
        self.seconds = self.check_s = 0.0

        def timed_run(walk: Walk[Any], tables: Sequence[str]) -> WalkPosition:
            begun_s = time.perf_counter()
            try:
                return run(walk, tables)
            finally:
                walked_s = time.perf_counter() - begun_s
                self.seconds += walked_s
                self.check_s += walked_s if walk.step == "check rows" else 0.0

        begun_s = time.perf_counter()
        walk_class.run = timed_run
        try:
            yield
        finally:
            walk_class.run = run
            self.operation_s = time.perf_counter() - begun_s

    def rest_s(self) -> float:
        """Return how long the operation did something else: it made tables, and waited."""
        return self.operation_s - self.seconds

    def all_but_copy_s(self) -> float:
        """Return how long the operation did not copy: `rest_s`, and the check of the new table."""
        return self.rest_s() + self.check_s


@dataclass
class _Waits:
    """How long an engine has slept: an operation sleeps until leases have ended."""

    seconds: float = 0.0

    def sleep(self, seconds: float) -> None:
        """Sleep."""
        self.seconds += seconds
        time.sleep(seconds)


def moving(place: Place) -> list[Comparison]:
    """Compare moves of rows beside other programs, and exclusive copies, with code by hand."""
    return [_online(place), _exclusively(place)]


def _online(place: Place) -> Comparison:
    return _compared(
        place,
        "move",
        f"Move of {place.rows:,} rows with an index to a salted row key, beside other programs",
        INDEXED,
        INDEXED_SALTED,
        exclusive=False,
    )


def _exclusively(place: Place) -> Comparison:
    return _compared(
        place,
        "move-exclusively",
        f"Copy of {place.rows:,} plain rows to a salted row key, exclusively",
        PLAIN,
        PLAIN_SALTED,
        exclusive=True,
    )


def _compared(
    place: Place, name: str, title: str, old: type[Model], new: type[Model], *, exclusive: bool
) -> Comparison:
    waits, walks = _Waits(), _Walks()
    engine = _with_short_waits(place.engine, waits)

    def prepare(*made: type[Model]) -> Callable[[], None]:
        def prepared() -> None:
            place.engine.drop_tables(old, new)
            place.engine.create_tables(old, *made)
            with engine.session() as session, session.bulk(insert_only=True) as bulk:
                bulk.add_all(old(**source._asdict()) for source in place.readings)

        return prepared

    def by_hand() -> int:
        with place.engine.session() as session, session.bulk(batch_rows=BATCH_ROWS) as bulk:
            every: Any = session.stream(select(old).allow_full_scan())
            bulk.add_all(new(**_values(row)) for row in every)
        return place.rows

    def by_operation() -> int:
        waits.seconds = 0.0
        before, after = (declaration_of([model.__schema__]) for model in (old, new))
        names = old.__schema__.table, new.__schema__.table
        options = MigrationOptions(exclusive=exclusive, gateway_timeout_s=0)
        migration = Migration(
            engine, {names[0]: before}, {names[1]: after}, options, lambda _: None
        )
        with walks.timed():
            RekeyTable(names[0], new_table=names[1]).run(migration, _Checkpoint())
        return place.rows

    variants = [
        *pair_by_hand("stream and bulk, by hand", by_hand, prepare(new)),
        Variant(OWN, "RekeyTable", by_operation, prepare()),
        Variant(
            "without-waits",
            "RekeyTable without its waits for leases",
            by_operation,
            prepare(),
            lambda: waits.seconds,
        ),
        Variant(
            "rows-alone",
            "RekeyTable, its rows alone: without making tables and waits",
            by_operation,
            prepare(),
            walks.rest_s,
        ),
        Variant(
            "copy-alone",
            "RekeyTable, its copy alone: also without the check of the new table",
            by_operation,
            prepare(),
            walks.all_but_copy_s,
        ),
    ]
    return compare(name, title, "row", variants, repetitions=place.repetitions, seed=6)


def _values(row: Any) -> dict[str, Any]:
    return {name: getattr(row, name) for name in Source._fields}


def _with_short_waits(engine: Engine, waits: _Waits) -> Engine:
    options = replace(engine.options, lease_s=LEASE_S, timeout_s=LATE_S)
    made = Engine(gateway_of(engine), options, engine._connections)  # noqa: SLF001  # the same gateways
    made._runtime = Runtime(  # noqa: SLF001  # with the same gateways
        gateway_of(engine),
        parallel=made._runtime.parallel,  # noqa: SLF001  # as before
        lease_s=LEASE_S,
        sleep=waits.sleep,
    )
    return made
