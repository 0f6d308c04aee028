"""Lets one program use tables exclusively: the writes of all other programs are refused.

`index.catalog.table_hold` has the protocols. A hold is renewed by a thread of its own, so that no
other program takes over the table of a program that runs.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Final

from hbase_orm.binding.runner import Runner
from hbase_orm.binding.table_holds.renewals import Renewals
from hbase_orm.errors import HBaseORMError, TableHeldError
from hbase_orm.index.catalog.catalog import catalog_descriptor, read_entry
from hbase_orm.index.catalog.entry import TableHold
from hbase_orm.index.catalog.table_hold import release_hold, renew_hold, take_hold
from hbase_orm.numbering.create_tables import create_if_missing
from hbase_orm.ops import CreateTable, Protocol
from hbase_orm.ops.waits import OnWait, wait

logger = logging.getLogger("hbase_orm.session")

_ID_BYTES: Final = 8


def _silent(_: float) -> None:
    """Do nothing: the default function for waits."""


class ExclusiveTables:
    """The tables that an engine uses exclusively. Threads may share it."""

    def __init__(self, runner: Runner, now_ms: Callable[[], int]) -> None:
        """Start without tables; nothing is sent."""
        self._runner = runner
        self._now_ms = now_ms
        self.forget()

    def forget(self) -> None:
        """Forget the tables in a forked child: they are its parent's."""
        # One for each table: `begin` holds it for a lease, in which other tables are used.
        self._locks: dict[str, threading.Lock] = {}
        self._uses: dict[str, _Use] = {}
        self._runner.catalog.own_holds.clear()

    def use(
        self, table: str, purpose: str, *, wait_s: float, on_wait: OnWait = _silent
    ) -> ExclusiveUse:
        """Return a context manager that uses a table exclusively; it may be nested.

        Args:
            table: The declared name of the table; with a table for each period, the pattern.
            purpose: What the program does, for the errors of other programs.
            wait_s: How long another program may use an old catalog entry; 0 in memory.
            on_wait: A function that is called about once a second during waits, with the seconds
                that are left.
        """
        return ExclusiveUse(self, table, purpose, wait_s, on_wait)

    def _lock_of(self, table: str) -> threading.Lock:
        return self._locks.setdefault(table, threading.Lock())

    def begin(self, table: str, purpose: str, wait_s: float, on_wait: OnWait) -> None:
        """Take a table, and wait until no other program may write it."""
        with self._lock_of(table):
            use = self._uses.get(table)
            if use is not None:
                use.users += 1
                return
            program = f"{purpose}, process {os.getpid()} on {socket.gethostname()}"
            hold = TableHold(os.urandom(_ID_BYTES).hex(), program, self._now_ms())
            use = _Use(hold.id, self._renewals(table, hold.id, wait_s))
            try:
                self._runner.run(_take(table, hold, wait_s, on_wait))
                use.renewals.start()
                # Until then, other programs may use an older catalog entry.
                self._runner.run(wait(wait_s, on_wait))
            except BaseException:  # also an interrupt: the table is released
                self._end(table, use, is_failed=True)
                raise
            self._runner.catalog.own_holds.add(hold.id)
            self._runner.catalog.forget(table)
            self._uses[table] = use

    def end(self, table: str, *, is_failed: bool) -> None:
        """Release a table after its last use; see `ExclusiveUse`."""
        with self._lock_of(table):
            use = self._uses[table]
            use.users -= 1
            if not use.users:
                del self._uses[table]
                self._end(table, use, is_failed=is_failed)

    def _renewals(self, table: str, hold_id: str, wait_s: float) -> Renewals:
        def renew() -> bool:
            return self._runner.run(renew_hold(table, hold_id))

        return Renewals(renew, wait_s, f"the exclusive use of the table {table}", logger)

    def _end(self, table: str, use: _Use, *, is_failed: bool) -> None:
        use.renewals.end()
        try:
            was_held = self._runner.run(release_hold(table, use.hold_id))
        except HBaseORMError:
            logger.warning(
                "table %s may still be in exclusive use, because its release failed", table
            )
            if not is_failed:
                raise
        else:
            if not was_held and not is_failed:
                raise TableHeldError(
                    "the exclusive use of the table ended too early: another program took the "
                    "table over, because this one did not renew its use for a lease, or dropped it",
                    table=table,
                    fix="check the result of the operation, and repeat it",
                )
        finally:
            self._runner.catalog.own_holds.discard(use.hold_id)
            self._runner.catalog.forget(table)


class ExclusiveUse:
    """Uses a table exclusively within a with block; other programs' writes are refused."""

    def __init__(
        self,
        tables: ExclusiveTables,
        table: str,
        purpose: str,
        wait_s: float,
        on_wait: OnWait,
    ) -> None:
        """Prepare the use; nothing is sent."""
        self._tables = tables
        self._table = table
        self._purpose = purpose
        self._wait_s = wait_s
        self._on_wait = on_wait

    def __enter__(self) -> None:
        """Take the table, and wait until no other program may write it.

        Raises:
            TableHeldError: Another running program uses the table exclusively.
            ConflictError: The table is being loaded.
        """
        self._tables.begin(self._table, self._purpose, self._wait_s, self._on_wait)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        """Release the table.

        Raises:
            TableHeldError: Another program has taken the table over in the meantime.
            GatewayError: The table could not be released. The next exclusive use takes it over.
        """
        self._tables.end(self._table, is_failed=kind is not None)


@dataclass(slots=True)
class _Use:
    """The exclusive use of one table, and the number of with blocks that share it."""

    hold_id: str
    renewals: Renewals
    users: int = 1


def _take(table: str, hold: TableHold, lease_s: float, on_wait: OnWait) -> Protocol[None]:
    if (yield from read_entry(table)) is None:
        yield from create_if_missing(CreateTable(catalog_descriptor()))
    yield from take_hold(table, hold, lease_s, on_wait)
