"""A process of a rolling deploy: it writes the tables of all changes, with old classes or new ones.

Run as a program with the URL, "old" or "new", its number and how many rounds it makes; 0 means until
its input ends. A new process first calls `create_tables`, as a deploy does. It says "begun" after its
first round; its last line is what was acknowledged, as JSON.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Final

from hbase_orm import Engine, Session, connect, select
from hbase_orm.errors import VersionConflictError
from tests.support.changed_models import FIRST, WITH_INDEXES, Declared
from tests.support.changed_uses import HARMLESS, OPTIONS, Use

DEPLOYED: Final = {
    "nullable": HARMLESS["a new column"],
    "default": HARMLESS["a new column with a default"],
    "required": HARMLESS["a new required column above all"],
    "order": HARMLESS["another order"],
    "less": HARMLESS["a column less"],
    "renamed": HARMLESS["a field renamed"],
    "none": HARMLESS["a column may be None"],
    "options": OPTIONS["a time to live"],
}
"""What is deployed: each change in tables of its own."""

DEPLOYED_KINDS: Final = ("plain", "guarded")
SHARED: Final = "all"
"""The shop whose rows all processes write."""

SHARED_ROWS: Final = 5


def declared_as(side: str, change: str) -> Declared:
    """Return a declaration of the "old" or the "new" programs; it has one index."""
    declared = FIRST if side == "old" else DEPLOYED[change]
    return replace(declared, indexes={"by_city": "city"})


def model_of(side: str, change: str, kind: str) -> Any:
    """Return the class of the "old" or the "new" programs for one of the tables."""
    return declared_as(side, change).model(kind, f"{change}_{kind}")


@dataclass
class Ledger:
    """What was acknowledged in one table.

    Attributes:
        own: The last size of each row of the process's own, None for a deleted row.
        sizes: The last size that the process gave to each shared row.
        cities: The last city that the process gave to each shared row.
    """

    own: dict[int, int | None] = field(default_factory=dict[int, int | None])
    sizes: dict[int, int] = field(default_factory=dict[int, int])
    cities: dict[int, str] = field(default_factory=dict[int, str])


@dataclass(frozen=True)
class Side:
    """One of the tables, as a process writes it."""

    use: Use
    kind: str
    number: int
    ledger: Ledger

    @classmethod
    def of(cls, engine: Engine, side: str, change: str, kind: str, number: int) -> Side:
        """Return a table of a change; `number` is that of the process."""
        model, declared = model_of(side, change, kind), declared_as(side, change)
        return cls(Use(engine, model, declared, f"p{number}"), kind, number, Ledger())

    def write(self, n: int) -> None:
        """Make one round: write rows of its own and shared ones, and read them."""
        size = self.number * 1_000_000 + n
        with self.use.engine.session() as session:
            self._write_own(session, n, size)
        with self.use.engine.session() as session:
            self._write_shared(session, n % SHARED_ROWS, size)
        with self.use.engine.session() as session:
            self._check_reads(session, n)

    def _write_own(self, session: Session, n: int, size: int) -> None:
        new, own = self.use.made(n, s=size), self.ledger.own
        if n % 2:
            session.insert(new)
        else:
            session.add(new)
            session.flush()
        own[n] = size
        if n % 3 == 2:
            earlier = self.use.one(session, n - 1)
            earlier.size += 500_000
            session.flush()
            own[n - 1] = earlier.size
        if n % 4 == 3:
            session.delete_row(self.use.model, shop=self.use.shop, number=n - 3)
            own[n - 3] = None

    def _write_shared(self, session: Session, k: int, size: int) -> None:
        model = self.use.model
        session.put_row(model, model.size.to(size), shop=SHARED, number=k)
        self.ledger.sizes[k] = size
        row = session.get(model, shop=SHARED, number=k)
        assert row is not None
        self.use.completed(row, {k: {}})
        row.city = city = f"{SHARED}-{self.number}"
        try:
            session.flush()
        except VersionConflictError:  # another process was faster
            session.expunge(row)
            return
        self.ledger.cities[k] = city

    def _check_reads(self, session: Session, n: int) -> None:
        model, shop = self.use.model, self.use.shop
        live = sorted(k for k, size in self.ledger.own.items() if size is not None)
        assert session.count(self.use.mine) == len(live)
        assert session.count(select(model).where(model.shop == SHARED)) == SHARED_ROWS
        if self.kind in WITH_INDEXES:
            by_city = select(model).where(model.city == f"{shop}-{n % 3}").using(model.by_city)
            found = sorted(row.number for row in session.all(by_city))
            assert found == [k for k in live if k % 3 == n % 3]


def until_input_ends() -> Callable[[], bool]:
    """Return a function that says whether the input of this process has ended."""
    ended = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    return ended.is_set


def write_on(engine: Engine, side: str, number: int, rounds: int) -> dict[str, Any]:
    """Write all tables in rounds; return what was acknowledged in each."""
    sides = {
        f"{change}_{kind}": Side.of(engine, side, change, kind, number)
        for change in DEPLOYED
        for kind in DEPLOYED_KINDS
    }
    if side == "new":
        engine.create_tables(*(each.use.model for each in sides.values()))
    has_ended = until_input_ends()
    for n in range(rounds) if rounds else count():
        for each in sides.values():
            each.write(n)
        if n == 0:
            sys.stdout.write('"begun"\n')
            sys.stdout.flush()
        if not rounds and has_ended():
            break
    return {name: vars(each.ledger) for name, each in sides.items()}


def main(url: str, side: str, number: str, rounds: str) -> None:
    """Write as told, and print what was acknowledged."""
    with connect(url) as engine:
        sys.stdout.write(json.dumps(write_on(engine, side, int(number), int(rounds))) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
