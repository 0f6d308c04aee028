"""Uses the tables of one declaration by programs with another one, and checks all they see and do.

The first program creates the tables and writes rows. The second program has the edited declaration.
Then the first one reads and writes again, and the second one reads again. Every read is compared
with the raw cells (`cell_oracle`), every write with what it must leave in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from random import Random
from typing import Any

from hbase_orm import Engine, select
from hbase_orm.errors import (
    FeatureMissingError,
    HBaseORMError,
    SchemaDriftError,
    SchemaError,
)
from hbase_orm.ops import (
    DescribeTable,
    ListRegions,
)
from tests.support.declarations.cell_oracle import is_view
from tests.support.declarations.pair_tables import (
    periods_of,
)
from tests.support.declarations.pair_verbs import error_of, verbs_of
from tests.support.declarations.pair_writes import PairWrites
from tests.support.declarations.programs import Programs
from tests.support.declarations.random_pairs import Pair
from tests.support.declarations.refusal_shares import PairOutcome, Shares


class PairRun(PairWrites):
    """One pair: the first program, the second one, and the first one again."""

    is_refused: bool = False

    def run(self) -> None:
        """Raise an error if anything is wrong."""
        specs = (self.recorded, self.pair.second.spec)
        self._versions = {each.version.column.encode() for each in specs if each.version}
        self._write_first()
        self.programs.wait()
        self.is_refused = self._probe()
        if self.pair.is_contradictory:
            self._check_refused()
        else:
            self._check_used()
        self.programs.wait()
        self._check_first_again()

    # --- the first program ------------------------------------------------------------------------

    def _write_first(self) -> None:
        engine, _ = self.programs.new(self.recorded)
        engine.create_tables(self.first.model, periods=periods_of(self.first))
        for _ in range(5):
            row = self._new_row(self.first)
            if row is not None:
                with engine.session() as session:
                    session.add(self._object(self.first, row))
        counters = [f for f in self.recorded.fields if f.role == "counter"]
        counted = self._new_row(self.first)  # a row of counters alone, if there are counters
        for row in (*self.ids[:2], *([] if counted is None else [counted])):
            for each in counters:
                self._increment(engine, self.first, row, each)
        self._check_cells()
        self._check_reads(engine, self.first)

    def _check_first_again(self) -> None:
        engine, _ = self.programs.new(self.recorded)
        self._check_reads(engine, self.first)
        self._check_indexes(engine, self.first, is_first=True)
        self._check_writes(engine, self.first)
        self._check_reads(engine, self.first)
        if not self.pair.is_contradictory:
            other, _ = self.programs.new(self.recorded)
            self._check_reads(other, self.pair.second)
        self.programs.wait()
        last, _ = self.programs.new(self.recorded)
        self._check_reads(last, self.first)
        self._check_indexes(last, self.first, is_first=True)

    # --- the second program -----------------------------------------------------------------------

    def _probe(self) -> bool:
        """Return whether a program with the second declaration is refused."""
        engine, _ = self.programs.new(self.recorded)
        with engine.session() as session:
            try:
                session.exists(select(self.pair.second.model).allow_full_scan())
            except SchemaDriftError:
                return True
        return False

    def _check_refused(self) -> None:
        before = self._snapshot()
        engine, sent = self.programs.new(self.recorded)
        for name, verb in verbs_of(self.pair, self.chance).items():
            sent.requests.clear()
            error = error_of(verb, engine)
            assert isinstance(error, self._refusals()), (name, error)
            touched = [request for request in sent.requests if self._is_use(request)]
            assert not touched, (name, touched)
        assert self._snapshot() == before

    def _refusals(self) -> tuple[type[HBaseORMError], ...]:
        """Return the errors that refuse a model which contradicts the record.

        Arguments are checked first: against indexes that the catalog is known to keep, and against
        what a gateway cannot do.
        """
        errors: tuple[type[HBaseORMError], ...] = (SchemaDriftError,)
        if self.recorded.is_guarded:
            errors += (SchemaError,)
        if self.recorded.without_thrift2:
            errors += (FeatureMissingError,)
        return errors

    def _is_use(self, request: Any) -> bool:
        """Return whether a request reads or writes a table of the pair."""
        table = getattr(getattr(request, "scan", request), "table", "")
        is_own = str(table).startswith(self.programs.named(self.recorded.table))
        return is_own and not isinstance(request, (DescribeTable, ListRegions))

    def _check_used(self) -> None:
        used, before = self.pair.second, self._snapshot()
        engine, _ = self.programs.new(self.recorded)
        if self.chance.random() < 0.35:
            self._create_again(engine)
        self._check_reads(engine, used)
        self._check_indexes(engine, used, is_first=False)
        after = self._snapshot()
        assert {place: after.get(place) for place in before} == before, "a read or repair wrote"
        self._check_writes(engine, used)
        self._check_reads(engine, used)

    def _create_again(self, engine: Engine) -> None:
        """Let the second program call `create_tables`, as programs do when they start."""
        refused = () if self._may_write(self.pair.second) else (SchemaError,)
        with suppress(*refused):
            engine.create_tables(self.pair.second.model, periods=periods_of(self.pair.second))
            self.is_view_recorded = is_view(self.recorded, self.pair.second.spec)


def run_pair(pair: Pair, programs: Programs) -> PairOutcome:
    """Run a pair, and return how it ended; raise an error if anything is wrong."""
    run = PairRun(pair, programs, Random(pair.name))
    try:
        run.run()
    except BaseException as error:
        error.add_note(f"repeat it: run_pair(pair_named({pair.name!r}), InMemoryPrograms())")
        error.add_note(f"edits: {pair.edits}\nfirst: {pair.first.spec}")
        error.add_note(f"second: {pair.second.spec}")
        raise
    return PairOutcome(pair.edits, run.is_refused, run.writes_refused)


def run_pairs(pairs: Iterable[Pair], programs: Callable[[], Programs]) -> Shares:
    """Run pairs, each among programs of its own; return the shares of refusals."""
    shares = Shares()
    for pair in pairs:
        shares.add(run_pair(pair, programs()))
    return shares
