"""The part of one bulk writer in the load of a table, while it lasts.

`index.catalog.loading` has the protocols. A thread of its own renews the part, so that the other
loaders know that this one runs.
"""

from __future__ import annotations

import logging
import os
import socket
from typing import Final

from hbase_orm.binding.runner import Runner
from hbase_orm.binding.table_holds.renewals import Renewals
from hbase_orm.errors import CatalogLeaseError, HBaseORMError
from hbase_orm.index.catalog.entry import CatalogEntry
from hbase_orm.index.catalog.loaders import TableLoader
from hbase_orm.index.catalog.loading import (
    LoaderWatch,
    finish_loading,
    leave_load,
    renew_loader,
)
from hbase_orm.index.protocol.load import LoadTicket

logger = logging.getLogger("hbase_orm.session")

_ID_BYTES: Final = 8


class TableLoad:
    """The part of one bulk writer in the load of a table.

    Attributes:
        table: The table.
        loader: This part, as the catalog stores it at first.
        ticket: The ticket of the load.
    """

    ticket: LoadTicket

    def __init__(self, runner: Runner, table: str, held_s: float) -> None:
        """Prepare; then join the load, and call `start`.

        Args:
            runner: Runs the protocols.
            table: The table.
            held_s: How long after its lease a request of a killed program may still be applied.
        """
        self.table = table
        program = f"process {os.getpid()} on {socket.gethostname()}"
        self.loader = TableLoader(os.urandom(_ID_BYTES).hex(), program)
        clock_s, lease_s = runner.catalog.monotonic_s, runner.catalog.lease_s
        self._runner = runner
        self._watch = LoaderWatch(self.loader.id, clock_s, lease_s, held_s)
        self._renewed_s: float | None = clock_s()
        self._renewals = Renewals(self._renew, lease_s, f"the load of the table {table}", logger)

    def start(self, entry: CatalogEntry) -> None:
        """Begin to renew this part, which `entry` of the catalog has."""
        if entry.load is None:
            raise AssertionError(entry)
        self.ticket = entry.load
        self._watch.note(entry)
        self._renewals.start()

    def permit(self) -> None:
        """Raise an error unless this loader may send rows now.

        Raises:
            CatalogLeaseError: Its last renewal is more than a lease ago, so other programs may have
                opened the table.
        """
        lease_s, renewed_s = self._runner.catalog.lease_s, self._renewed_s
        if renewed_s is None or self._runner.catalog.monotonic_s() >= renewed_s + lease_s:
            raise CatalogLeaseError(
                "this process has not renewed its part in the load of the table for a lease, so "
                "others may take it for dead",
                table=self.table,
                lease_s=lease_s,
                fix="load the rows that were not written again",
            )

    def finish(self) -> None:
        """End the load after all rows were acknowledged; the last loader opens the table.

        Raises:
            ConflictError: The catalog has no record of this load.
        """
        try:
            self._runner.run(finish_loading(self.table, self.ticket, self._watch))
        finally:
            self._renewals.end()

    def give_up(self, *, is_settled: bool) -> None:
        """End the load after an error; the table stays LOADING.

        Args:
            is_settled: Whether no request can be under way any more; see `leave_load`.
        """
        self._renewals.end()
        try:
            self._runner.run(leave_load(self.table, self.loader.id, is_settled=is_settled))
        except HBaseORMError as error:
            logger.warning("the load of the table %s was not left: %s", self.table, error)

    def _renew(self) -> bool:
        begun_s = self._runner.catalog.monotonic_s()
        entry = self._runner.run(renew_loader(self.table, self.loader.id))
        self._watch.note(entry)
        is_there = entry is not None and self.loader.id in [each.id for each in entry.loaders]
        self._renewed_s = begun_s if is_there else None
        return is_there
