"""Loads of new tables: programs may load one table together, and the last one to end opens it.

1. `begin_loading` changes the state of a new table to LOADING, or joins the load of other programs.
   All loaders get the same ticket, and write the indexes of the same entry of the catalog.
2. Each loader calls `renew_loader` several times in each lease. It sends nothing if its last
   renewal is more than a lease ago.
3. `finish_loading` ends a loader whose rows were all acknowledged. If it is the last one, it opens
   the table. `leave_load` ends a loader that failed; the table stays LOADING.

A loader that was killed stays in the catalog, without renewals. A loader that ends leaves the table
to another one only if it has seen that one renew (`LoaderWatch`). If it has seen no renewal, it
waits until one is renewed, or until all are surely dead: no gateway can still have a request of
them. Then it opens the table.

If the last loader was killed, the next load of the table opens it, or an exclusive use: see
`index.catalog.table_hold`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from hbase_orm.errors import ConflictError, CorruptRowError
from hbase_orm.index.catalog.catalog import change_entry, known
from hbase_orm.index.catalog.entry import CatalogEntry, TableState
from hbase_orm.index.catalog.loaders import TableLoader
from hbase_orm.index.protocol.load import LoadTicket
from hbase_orm.ops import Protocol, Sleep, ask

_LOOKS_PER_LEASE: Final = 8
"""A loader renews four times in a lease; so each renewal of another one is seen quickly."""

logger = logging.getLogger("hbase_orm.session")


class _Seen(NamedTuple):
    renewals: int
    at_s: float
    is_renewed: bool


class LoaderWatch:
    """What one loader has seen of the renewals of the others, by its own clock.

    Attributes:
        own_id: The id of the loader that watches.
    """

    def __init__(
        self, own_id: str, monotonic_s: Callable[[], float], lease_s: float, held_s: float
    ) -> None:
        """Start without having seen anything.

        Args:
            own_id: The id of the loader that watches.
            monotonic_s: A monotonic clock.
            lease_s: How long a loader may send requests after its last renewal.
            held_s: How long a request may then still be applied, e.g. repeated by a gateway.
        """
        self.own_id = own_id
        self._monotonic_s = monotonic_s
        self._lease_s = lease_s
        self._held_s = held_s
        self._seen: dict[str, _Seen] = {}
        self._has_begun = False
        self._has_warned = False

    def note(self, entry: CatalogEntry | None) -> None:
        """Note which loaders the entry of the table has, just after it was read."""
        now_s = self._monotonic_s()
        for each in () if entry is None else entry.loaders:
            seen = self._seen.get(each.id)
            if seen is None:  # whoever joined after the first look is running
                self._seen[each.id] = _Seen(each.renewals, now_s, self._has_begun)
            elif seen.renewals != each.renewals:
                self._seen[each.id] = _Seen(each.renewals, now_s, is_renewed=True)
        self._has_begun = True

    def is_running(self, loader: TableLoader) -> bool:
        """Return whether a loader was seen to renew itself in the last lease."""
        seen = self._seen[loader.id]
        return seen.is_renewed and self._silent_s(loader) < self._lease_s

    def is_dead(self, loader: TableLoader) -> bool:
        """Return whether a loader sends nothing any more, and none of its requests is under way."""
        return self._silent_s(loader) >= self._lease_s + self._held_s

    def wait(self, table: str, others: Sequence[TableLoader]) -> Protocol[None]:
        """Wait a moment for other loaders that were not seen to renew themselves."""
        silent = [each for each in others if self._silent_s(each) >= self._lease_s]
        if silent and not self._has_warned:
            self._has_warned = True
            longest_s = self._lease_s + self._held_s - min(map(self._silent_s, others))
            logger.warning(
                "table %s is opened in %.0f s: these loaders seem to be dead, but a gateway may "
                "still have their requests: %s",
                *(table, longest_s, "; ".join(each.holder for each in silent)),
            )
        yield from ask(Sleep(self._lease_s / _LOOKS_PER_LEASE))

    def _silent_s(self, loader: TableLoader) -> float:
        return self._monotonic_s() - self._seen[loader.id].at_s


def begin_loading(
    table: str,
    loader: TableLoader,
    *,
    now_ms: int,
    nonce: bytes,
    check: Callable[[CatalogEntry], object] | None = None,
) -> Protocol[CatalogEntry]:
    """Start a load of a new table, or join the load of other programs; return the table's entry.

    The ticket in the entry has the timestamp and the nonce of everything that the load writes. So a
    load that is repeated with the same rows writes the same cells and duplicates nothing.

    Args:
        table: The table.
        loader: The program that loads it.
        now_ms: The wall clock, for the ticket of a new load.
        nonce: Eight random bytes, for the ticket of a new load.
        check: A function that is called with the entry, and raises an error if the program must
            not write the indexes of the entry. Then nothing is changed.

    Raises:
        ConflictError: The table is not new, so other programs may be writing it.
        CatalogLeaseError: The catalog has no entry for the table.
        CorruptRowError: The table is being loaded, but its entry has no ticket.
    """

    def edit(entry: CatalogEntry | None) -> CatalogEntry:
        there = known(table, entry)
        if check is not None:
            check(there)
        if there.state is TableState.NEW:
            there = replace(there, load=LoadTicket(now_ms, nonce, there.epoch))
        elif there.state is not TableState.LOADING:
            raise ConflictError(
                "only a table without any earlier writes can be loaded without checks",
                table=table,
                state=there.state.value,
                fix="write the rows without load, or drop the table and create it again",
            )
        if there.load is None:
            raise CorruptRowError(
                "the catalog shows the table as LOADING, but names no load", table=table
            )
        return replace(there, state=TableState.LOADING, loaders=(*_others(there, loader), loader))

    return (yield from change_entry(table, edit))


def renew_loader(table: str, loader_id: str) -> Protocol[CatalogEntry | None]:
    """Show the other loaders that this one runs; return the entry, None if there is none.

    If the entry does not have the loader, another program has taken it for dead, and nothing is
    changed.
    """

    def edit(entry: CatalogEntry | None) -> CatalogEntry | None:
        if entry is None:
            return None
        loaders = [
            replace(each, renewals=each.renewals + 1) if each.id == loader_id else each
            for each in entry.loaders
        ]
        return replace(entry, loaders=tuple(loaders))

    return (yield from change_entry(table, edit))


def finish_loading(table: str, ticket: LoadTicket, watch: LoaderWatch) -> Protocol[CatalogEntry]:
    """End a loader, after all its batches were acknowledged; the last loader opens the table.

    Raises:
        ConflictError: The catalog has no record of this load.
    """

    def edit(entry: CatalogEntry | None) -> CatalogEntry:
        there = _of_load(table, entry, ticket)
        watch.note(there)
        others = _others(there, watch.own_id)
        if there.state is not TableState.LOADING or len(others) == len(there.loaders) > 0:
            return there  # this loader has ended: the answer to this very request was lost
        if all(map(watch.is_dead, others)):
            return replace(there, state=TableState.READABLE, loaders=())
        return replace(there, loaders=others) if any(map(watch.is_running, others)) else there

    while True:
        entry = yield from change_entry(table, edit)
        others = _others(entry, watch.own_id)
        if len(others) == len(entry.loaders):
            return entry
        yield from watch.wait(table, others)


def leave_load(table: str, loader_id: str, *, is_settled: bool) -> Protocol[None]:
    """End a loader that failed; the table stays LOADING.

    If a request of it may be under way, and other programs load the table too, nothing is changed:
    they then wait as for a loader that was killed. If there is no other one, the same rows are
    loaded again before the table is opened, and a late request changes nothing.

    Args:
        table: The table.
        loader_id: The loader.
        is_settled: Whether none of its requests is under way.
    """

    def edit(entry: CatalogEntry | None) -> CatalogEntry | None:
        others = () if entry is None else _others(entry, loader_id)
        is_kept = bool(others) and not is_settled
        return entry if entry is None or is_kept else replace(entry, loaders=others)

    yield from change_entry(table, edit)


def _of_load(table: str, entry: CatalogEntry | None, ticket: LoadTicket) -> CatalogEntry:
    there = known(table, entry)
    if there.load != ticket:
        raise ConflictError("the catalog has no record of this load", table=table, load=ticket)
    return there


def _others(entry: CatalogEntry, loader: TableLoader | str) -> tuple[TableLoader, ...]:
    own_id = loader if isinstance(loader, str) else loader.id
    return tuple(each for each in entry.loaders if each.id != own_id)
