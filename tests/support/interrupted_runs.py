"""Upgrades and downgrades in memory that end before any of their requests."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from hbase_orm import Engine, Model
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.catalog.catalog import read_entry
from hbase_orm.migrate import MigrationOptions, Migrations, Revision
from hbase_orm.ops import ListTables
from hbase_orm.record.snapshots import declaration_of
from tests.support.revisions import Listed
from tests.support.shop_processes import Clock, CrashError, Process, crash_at, engine_on

Fill = Callable[[Engine], None]


@dataclass
class Runs:
    """A store in memory with rows, and the programs that apply one revision to it, or undo it."""

    revision: Revision
    options: MigrationOptions
    fill: Fill
    gateway: MemoryGateway = field(default_factory=MemoryGateway)
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        self.engine = engine_on(Process(self.gateway), self.clock)
        self.fill(self.engine)

    def fresh(self) -> Runs:
        """Return the same rows in another store."""
        return Runs(self.revision, self.options, self.fill)

    def run(self, direction: str, engine: Engine | None = None) -> None:
        migrations = Migrations(engine or self.engine, Listed(revisions=(self.revision,)))
        if direction == "upgrade":
            migrations.upgrade(options=self.options)
        else:
            migrations.downgrade("base", options=self.options)

    def ends(self, direction: str, number: int) -> bool:
        """Run in a program that ends before a request; return whether it has ended so."""
        try:
            self.run(direction, engine_on(Process(self.gateway, crash_at(number)), self.clock))
        except CrashError:
            return True
        return False

    def requests_of(self, direction: str) -> int:
        """Run to the end; return the number of requests."""
        process = Process(self.gateway)
        self.run(direction, engine_on(process, self.clock))
        return process.requests

    def tables(self, *beginnings: str) -> list[str]:
        """Return the tables with these beginnings; an index may have got a table of a later build."""
        names = self.engine._runtime.execute(ListTables())
        return sorted({n.partition(".")[0] for n in names if n.startswith(beginnings)})

    def is_held(self, table: str) -> bool:
        """Return whether a program uses the table exclusively."""
        entry = self.engine._runtime.run_as_is(read_entry(table))
        return entry is not None and entry.hold is not None


def there_and_back(seed: int, requests: int) -> Iterator[tuple[str, int]]:
    """Yield runs in either direction, and before which request each ends."""
    chance = random.Random(seed)
    for _ in range(chance.randint(2, 5)):
        yield chance.choice(("upgrade", "downgrade")), chance.randrange(requests)


def declared(*models: type[Model]) -> dict[str, Any]:
    """Return the declarations of models that have a table each."""
    return {each.__schema__.table: declaration_of([each.__schema__]) for each in models}
