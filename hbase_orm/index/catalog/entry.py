"""The catalog's entry of a table, and its encoding as JSON in a cell."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from types import MappingProxyType
from typing import Any, Final

from hbase_orm.errors import CorruptRowError, SchemaError
from hbase_orm.index.catalog.entry_details import has_same_codes, same_declaration
from hbase_orm.index.catalog.loaders import TableLoader, load_of, stored_load
from hbase_orm.index.catalog.move_phases import CatalogMove
from hbase_orm.index.entries.guard_cell import MAX_EPOCH
from hbase_orm.index.protocol.load import LoadTicket

FORMAT_VERSION: Final = 2
LWW_FORMAT_VERSION: Final = 3
"""The format version of the entries of tables without guards.

Programs with an older version of this library, which knows only tables with guards, cannot decode
such an entry, and so do not write the table.
"""

RECORDED_FORMAT_VERSION: Final = 4
"""The format version of the entries of tables that have a record of their declaration.

Programs with an older version of this library, which cannot read the record, cannot decode such an
entry either. So they neither read by the table's indexes nor write the table: rows could be hidden.
"""

MOVING_FORMAT_VERSION: Final = 5
"""The format version of entries with a move: other programs would write rows that have moved."""

VERSION_COLUMN: Final = "version column"
"""In dicts of indexes by name, this key has the version column. No index has this name."""


class TableState(Enum):
    """The state of a table; the values are stored in the catalog."""

    NEW = "NEW"
    LOADING = "LOADING"
    READABLE = "READABLE"
    TRUNCATING = "TRUNCATING"
    EXCLUSIVE = "EXCLUSIVE"
    DROPPED = "DROPPED"


HOW_TO_FINISH: Final[Mapping[TableState, str]] = MappingProxyType(
    {
        TableState.LOADING: "wait for the load to finish; run an interrupted load again to finish "
        "it, or run 'hbase-orm tables release' to open the table without the rest of its rows",
        TableState.TRUNCATING: "wait until the table is truncated; call engine.truncate_tables, or "
        "run 'hbase-orm tables truncate', to finish an interrupted truncation",
    }
)
"""The advice for a table that one process is loading or truncating, by the table's state."""


class IndexState(Enum):
    """The state of an index; the values are stored in the catalog."""

    ABSENT = "ABSENT"
    WRITE_ONLY = "WRITE_ONLY"
    READABLE = "READABLE"
    DROPPING = "DROPPING"


@dataclass(frozen=True, slots=True)
class BuildRange:
    """The progress of a build in one range of row keys.

    Attributes:
        start: The first row key of the range.
        stop: The row key at which the range ends, excluded; empty if the range ends with the table.
        next: The first row key that is not processed yet; None if all are processed.
    """

    start: bytes
    stop: bytes
    next: bytes | None


@dataclass(frozen=True, slots=True)
class CatalogIndex:
    """The catalog's entry of one index.

    Attributes:
        entries: The declaration text of the index's entries.
        state: The state of the index.
        table: The index table that writes and queries use now. It is empty if this is the first
            index table, which has the name that the model declares.
        incarnation: The number of the newest index table; 0 if there was none yet. Each build
            creates a new table, so that late writes to the old table do not change the new one.
            During a build, the newest table is the one that is being built. The number never
            decreases, also if the table of the rows is dropped and created again.
        epoch: The catalog's epoch since which writers maintain the index. Rows whose guards have an
            older epoch may lack entries.
        is_manual: Whether only builds write the index.
        build: The progress of the build; empty if no build is in progress.
        retired: The previous index table, which is dropped as soon as no process uses it. Empty if
            there is none.
    """

    entries: str
    state: IndexState = IndexState.READABLE
    table: str = ""
    incarnation: int = 1
    epoch: int = 0
    is_manual: bool = False
    build: tuple[BuildRange, ...] = ()
    retired: str = ""

    @property
    def is_number_only(self) -> bool:
        """Whether only the number is known: an earlier table of the rows had the index."""
        return not self.entries

    @property
    def has_entries(self) -> bool:
        """Whether the index exists or is being built, so that entries may have any of its codes."""
        return self.state is not IndexState.ABSENT or bool(self.build)

    @property
    def is_kept(self) -> bool:
        """Whether every write maintains the index."""
        is_used = self.state in {IndexState.WRITE_ONLY, IndexState.READABLE}
        return is_used and not self.is_manual


@dataclass(frozen=True, slots=True)
class TableHold:
    """The exclusive use of a table by one program, as the catalog stores it.

    Attributes:
        id: A random text; no other hold has it.
        holder: The program and its purpose, for people.
        since_ms: When the use began, by the program's clock, in milliseconds since 1970.
        renewals: A number that the program increases as long as it runs.
        before: The table's state before, for the end of the use. None if there was no entry.
    """

    id: str
    holder: str
    since_ms: int
    renewals: int = 0
    before: TableState | None = None


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """The catalog's entry of one table.

    Attributes:
        epoch: A number that increases with each change of the catalog that writers must know. Every
            guard contains the epoch under which it was written.
        state: The state of the table.
        load: The ticket of the load that is in progress or finished. None if there was no load.
        indexes: The indexes, by name. Some are in the state ABSENT, and only their number is known:
            those of earlier tables of the same name (see `numbers_only`).
        is_lww: Whether the table's rows are written without guards (last writer wins).
        is_recorded: Whether the table has a record, which all programs must be able to read.
        hold: The exclusive use of the table in the state EXCLUSIVE; None in every other state.
        move: The table's part in a move of rows to another table, also when it has ended; None if
            there was none.
        loaders: The programs that load the table, in the state LOADING.
    """

    epoch: int
    state: TableState
    load: LoadTicket | None = None
    indexes: Mapping[str, CatalogIndex] = field(default_factory=dict[str, CatalogIndex])
    is_lww: bool = False
    is_recorded: bool = False
    hold: TableHold | None = None
    move: CatalogMove | None = None
    loaders: tuple[TableLoader, ...] = ()

    def differing(self, declared: Mapping[str, str]) -> list[str]:
        """Return the names of the indexes that a program declares differently from the catalog.

        An index that only the catalog has differs too. An index that only the program declares is
        ignored. Manual indexes, and indexes in the state ABSENT or DROPPING, are ignored too,
        because writes do not maintain them.

        The version column is compared like an index, also if only one side has it.

        Args:
            declared: The declaration text of each index in the program.
        """
        kept = {name: index.entries for name, index in self.indexes.items() if index.is_kept}
        names = dict.fromkeys([*kept, *(name for name in declared if name == VERSION_COLUMN)])
        return [name for name in names if not same_declaration(kept.get(name), declared.get(name))]

    def with_other_codes(self, declared: Mapping[str, str]) -> list[str]:
        """Return the names of the built indexes that have other codes here than in a program.

        A program that lacks codes cannot judge their entries. One that has further codes may
        contradict another program, because the catalog does not have them yet. Indexes with
        another declaration are left out.

        Args:
            declared: The declaration text of each index in the program.
        """
        return [
            name
            for name, index in self.indexes.items()
            if name in declared
            and index.state in {IndexState.WRITE_ONLY, IndexState.READABLE}
            and same_declaration(index.entries, declared[name])
            and not has_same_codes(index.entries, declared[name])
        ]

    @property
    def is_unregistered(self) -> bool:
        """Whether the table was dropped, or never had an entry before its exclusive use."""
        return self.state_without_hold in {None, TableState.DROPPED}

    @property
    def state_without_hold(self) -> TableState | None:
        """The table's state, or the state that it gets when its exclusive use ends."""
        return self.state if self.hold is None else self.hold.before

    def with_state(self, state: TableState) -> CatalogEntry:
        """Return this entry with a state; during an exclusive use, the table gets it at the end."""
        if self.hold is None:
            return replace(self, state=state)
        # The program of the exclusive use may write a new table, so it is not new afterwards.
        before = TableState.READABLE if state is TableState.NEW else state
        return replace(self, hold=replace(self.hold, before=before))

    @property
    def known_indexes(self) -> dict[str, CatalogIndex]:
        """The indexes, by name, without those of which only the number is known."""
        return {name: index for name, index in self.indexes.items() if not index.is_number_only}

    def keeps(self, name: str, declared: str, table: str) -> bool:
        """Return whether writes maintain an index in `table`; its first table is `declared`."""
        index = None if self.is_unregistered else self.indexes.get(name)
        return index is not None and index.is_kept and (index.table or declared) == table

    def numbers_only(self) -> dict[str, CatalogIndex]:
        """Return what the entry of the next table of this name keeps of the indexes.

        These are the numbers of their newest index tables. The next index tables get greater
        numbers, so a name is never used again: a program that was suspended may still drop a table
        that it saw.
        """
        return {
            name: CatalogIndex("", IndexState.ABSENT, incarnation=index.incarnation)
            for name, index in self.indexes.items()
            if name != VERSION_COLUMN and index.incarnation
        }

    @property
    def declarations(self) -> dict[str, str]:
        """The declaration text of each index, by the index's name."""
        return {name: index.entries for name, index in self.indexes.items()}

    def encode(self) -> bytes:
        """Return this entry as JSON, the value of its cell in the catalog."""
        content: dict[str, Any] = {
            "version": LWW_FORMAT_VERSION if self.is_lww else FORMAT_VERSION,
            "epoch": self.epoch,
            **stored_load(self.state.value, self.load, self.loaders),
            "indexes": {name: _stored(index) for name, index in sorted(self.indexes.items())},
        }
        if self.is_recorded:
            content |= {"version": RECORDED_FORMAT_VERSION, "lww": self.is_lww}
        if self.move is not None:
            content |= {
                "version": MOVING_FORMAT_VERSION,
                "lww": self.is_lww,
                "move": self.move.stored(),
            }
        if self.hold is not None:
            content["hold"] = _stored_hold(self.hold)
        return json.dumps(content, separators=(",", ":")).encode()

    @classmethod
    def decode(cls, value: bytes) -> CatalogEntry:
        """Return the entry that is encoded in `value`, the value of a cell in the catalog.

        Raises:
            CorruptRowError: This version of the library cannot decode the cell.
        """
        try:
            return _entry_of(json.loads(value))
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptRowError(
                "the catalog cell does not decode",
                value=value,
                fix="use a version of hbase_orm that is not older than the one that wrote the "
                "catalog",
            ) from error


def _stored(index: CatalogIndex) -> dict[str, Any]:
    return {
        "state": index.state.value,
        "entries": index.entries,
        "table": index.table,
        "incarnation": index.incarnation,
        "epoch": index.epoch,
        "manual": index.is_manual,
        "build": [
            [each.start.hex(), each.stop.hex(), None if each.next is None else each.next.hex()]
            for each in index.build
        ],
        "retired": index.retired,
    }


def _stored_hold(hold: TableHold) -> dict[str, Any]:
    before = None if hold.before is None else hold.before.value
    return {
        "id": hold.id,
        "holder": hold.holder,
        "since": hold.since_ms,
        "renewals": hold.renewals,
        "before": before,
    }


def _hold_of(stored: dict[str, Any]) -> TableHold:
    before = None if stored["before"] is None else TableState(stored["before"])
    return TableHold(stored["id"], stored["holder"], stored["since"], stored["renewals"], before)


def _entry_of(content: dict[str, Any]) -> CatalogEntry:
    make = _READERS.get(content["version"])
    if make is None:
        message = f"unknown version of the format: {content['version']!r}"
        raise ValueError(message)
    epoch, (state_value, ticket, loaders) = content["epoch"], load_of(content)
    indexes = {name: make(index) for name, index in content["indexes"].items()}
    is_recorded = content["version"] in {RECORDED_FORMAT_VERSION, MOVING_FORMAT_VERSION}
    is_lww = content["lww"] if is_recorded else content["version"] == LWW_FORMAT_VERSION
    state = TableState(state_value)
    hold = _hold_of(content["hold"]) if state is TableState.EXCLUSIVE else None
    is_moved = content["version"] == MOVING_FORMAT_VERSION
    move = CatalogMove.of(content["move"]) if is_moved else None
    return CatalogEntry(epoch, state, ticket, indexes, is_lww, is_recorded, hold, move, loaders)


def _index_of(stored: dict[str, Any]) -> CatalogIndex:
    ranges = tuple(
        BuildRange(
            bytes.fromhex(start), bytes.fromhex(stop), None if at is None else bytes.fromhex(at)
        )
        for start, stop, at in stored["build"]
    )
    return CatalogIndex(
        stored["entries"],
        IndexState(stored["state"]),
        stored["table"],
        stored["incarnation"],
        stored["epoch"],
        stored["manual"],
        ranges,
        stored["retired"],
    )


def _index_of_first_format(stored: dict[str, Any]) -> CatalogIndex:
    """Return an index from the first format of the catalog, in which all indexes were readable."""
    return CatalogIndex(stored["entries"])


_READERS: Final = MappingProxyType(
    {
        1: _index_of_first_format,
        FORMAT_VERSION: _index_of,
        LWW_FORMAT_VERSION: _index_of,
        RECORDED_FORMAT_VERSION: _index_of,
        MOVING_FORMAT_VERSION: _index_of,
    }
)


def next_epoch(epoch: int) -> int:
    """Return the epoch after `epoch`.

    Raises:
        SchemaError: `epoch` is the greatest epoch that fits the two bytes in a guard.
    """
    if epoch >= MAX_EPOCH:
        raise SchemaError(
            "the table has used all its epochs",
            epoch=epoch,
            most=MAX_EPOCH,
            fix="copy the rows to a new table with the model; if the catalog was lost, delete the "
            "cells _:g of the rows whose guards have this epoch, and call engine.create_tables",
        )
    return epoch + 1
