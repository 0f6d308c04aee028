"""One table in memory: its rows in key order, its regions, its writes and its reads.

The table has HBase's rules for writes (server timestamps, equal timestamps, increments) and for
reads of rows (selected columns, filters per region). The gateway has the locks, names and scanners.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from hbase_orm.errors import FamilyNotFoundError, RejectedError, TableDisabledError
from hbase_orm.gateway.checks import MAX_LONG
from hbase_orm.gateway.memory.cells import (
    FamilyCells,
    Stored,
    VisibleVersion,
    When,
    compact,
    newest_version,
    raw_versions,
    visible_versions,
)
from hbase_orm.gateway.memory.filtered_row import filtered_row
from hbase_orm.gateway.memory.filters import FilterCell, ServerFilter
from hbase_orm.ops import (
    Cell,
    FamilyDescriptor,
    KeyRange,
    RegionRange,
    Row,
    RowMutation,
    StoredVersion,
    TableDescriptor,
)

COUNTER_BYTES = 8
_LONG_SPAN = 2**64

# hbase.hregion.keyvalue.timestamp.slop.millisecs: how far in a server's future a put may be.
_SLOP_ATTRIBUTE = "hbase.hregion.keyvalue.timestamp.slop.millisecs"

# hbase.hstore.time.to.purge.deletes: tombstones not older than this outlive a major compaction.
_PURGE_ATTRIBUTE = "hbase.hstore.time.to.purge.deletes"

Selection = dict[bytes, tuple[bytes, ...] | None]
"""For each family to read: the qualifiers to read, or None for the whole family.

Families and qualifiers are sorted.
"""


@dataclass(slots=True)
class MemoryTable:
    """A table's descriptor, state and rows. The lock of the gateway protects it."""

    descriptor: TableDescriptor
    split_keys: Sequence[bytes] = ()
    created_ms: int = 0
    is_enabled: bool = True
    rows: dict[bytes, dict[bytes, FamilyCells]] = field(default_factory=dict)
    keys: list[bytes] = field(default_factory=list)
    families: dict[bytes, FamilyDescriptor] = field(init=False)

    def __post_init__(self) -> None:
        """Build the mapping of families by name."""
        self.families = {family.name: family for family in self.descriptor.families}

    # --- checks -----------------------------------------------------------------------------------

    def check_enabled(self) -> None:
        """Raise an error if the table is disabled."""
        if not self.is_enabled:
            raise TableDisabledError(
                "the table is disabled", table=self.descriptor.name, fix="enable the table"
            )

    def family(self, name: bytes) -> FamilyDescriptor:
        """Return the descriptor of a family; raise an error if the table does not have it."""
        family = self.families.get(name)
        if family is None:
            raise FamilyNotFoundError(
                "the table has no such column family",
                table=self.descriptor.name,
                family=name,
                fix="add the family, or name one of the table's",
            )
        return family

    def select(self, columns: Iterable[bytes]) -> Selection:
        """Return the families to read, each with its qualifiers to read.

        If `columns` names a family and also columns of it, the whole family is read. Without
        `columns`, all families are read.

        Raises:
            FamilyNotFoundError: The table does not have a family.
        """
        chosen: dict[bytes, set[bytes] | None] = {}
        for column in columns:
            name, colon, qualifier = column.partition(b":")
            self.family(name)
            qualifiers = chosen.setdefault(name, set())
            if not colon:
                chosen[name] = None
            elif qualifiers is not None:
                qualifiers.add(qualifier)
        if not chosen:
            chosen = dict.fromkeys(self.families)
        return {
            name: None if chosen[name] is None else tuple(sorted(chosen[name] or ()))
            for name in sorted(chosen)
        }

    # --- writing ----------------------------------------------------------------------------------

    def check_mutation(self, mutation: RowMutation, now_ms: int) -> None:
        """Raise an error if a family is unknown, or a put's timestamp is too far in the future."""
        for put in mutation.puts:
            self.family(_family_of(put.column))
            self._check_slop(put.timestamp_ms, now_ms)
        for delete in mutation.deletes:
            self.family(_family_of(delete.column))

    def _check_slop(self, timestamp_ms: int | None, now_ms: int) -> None:
        slop = self.descriptor.attributes.get(_SLOP_ATTRIBUTE)
        if slop is None or timestamp_ms is None or timestamp_ms == MAX_LONG:
            return
        if timestamp_ms > now_ms + int(slop):
            raise RejectedError(
                "a put's timestamp is too far in the server's future",
                table=self.descriptor.name,
                timestamp_ms=timestamp_ms,
                server_ms=now_ms,
                fix="correct the client's clock",
            )

    def apply(self, mutation: RowMutation, now_ms: int, put_now_ms: int | None = None) -> None:
        """Apply a mutation that `check_mutation` has accepted.

        Puts and deletes without a timestamp get the timestamp `now_ms`. If `put_now_ms` is given,
        puts get this timestamp instead.
        """
        row = self._row(mutation.row)
        for delete in mutation.deletes:
            name, colon, qualifier = delete.column.partition(b":")
            cells = row.setdefault(name, FamilyCells())
            tombstones = cells.column(qualifier).tombstones if colon else cells.tombstones
            tombstones.add(_stamp(delete.timestamp_ms, now_ms))
        put_now_ms = now_ms if put_now_ms is None else put_now_ms
        for put in mutation.puts:
            name, _, qualifier = put.column.partition(b":")
            column = row.setdefault(name, FamilyCells()).column(qualifier)
            column.put(
                _stamp(put.timestamp_ms, put_now_ms), Stored(bytes(put.value), mutation.ttl_ms)
            )

    def _row(self, key: bytes) -> dict[bytes, FamilyCells]:
        row = self.rows.get(key)
        if row is None:
            row = self.rows[key] = {}
            insort(self.keys, key)
        return row

    def newest(self, key: bytes, column: bytes, now_ms: int) -> VisibleVersion | None:
        """Return the newest visible version of one column; None if no version is visible."""
        name, _, qualifier = column.partition(b":")
        family = self.family(name)
        cells = self.rows.get(key, {}).get(name)
        if cells is None or qualifier not in cells.columns:
            return None
        return newest_version(family, cells, cells.columns[qualifier], When(now_ms))

    def write_over(self, key: bytes, column: bytes, value: bytes, now_ms: int) -> None:
        """Write the new value of an increment or append, at a later timestamp than the old cell."""
        old = self.newest(key, column, now_ms)
        stamp = now_ms if old is None else max(now_ms, old.timestamp_ms + 1)
        name, _, qualifier = column.partition(b":")
        cells = self._row(key).setdefault(name, FamilyCells()).column(qualifier)
        # The new cell carries the old one's tags, and with them its time to live.
        ttl_ms = None if old is None else cells.puts[old.timestamp_ms][0].ttl_ms
        cells.put(stamp, Stored(value, ttl_ms))

    def add(self, key: bytes, column: bytes, amount: int, now_ms: int) -> int:
        """Return a counter's value plus `amount`, wrapped around at 64 bits; write nothing.

        An absent counter is 0.

        Raises:
            RejectedError: The cell is not 8 bytes wide.
        """
        old = self.newest(key, column, now_ms)
        if old is None:
            return amount
        if len(old.value) != COUNTER_BYTES:
            raise RejectedError(
                "the cell is not a counter",
                column=column,
                width_bytes=len(old.value),
                fix="delete the cell, or increment another column",
            )
        total = int.from_bytes(old.value, "big", signed=True) + amount
        return (total + _LONG_SPAN // 2) % _LONG_SPAN - _LONG_SPAN // 2

    # --- reading ----------------------------------------------------------------------------------

    def read(self, key: bytes, selection: Selection, when: When) -> Row | None:
        """Return a row with the newest visible cell of each column; None if no cell is visible."""
        stored = self.rows.get(key)
        if stored is None:
            return None
        newest: dict[bytes, Cell] = {}
        for name, cells, qualifier in _columns(stored, selection):
            column = cells.columns[qualifier]
            version = newest_version(self.families[name], cells, column, when)
            if version is not None:
                newest[name + b":" + qualifier] = Cell(version.value, version.timestamp_ms)
        return Row(key, newest) if newest else None

    def read_filtered(
        self, key: bytes, selection: Selection, when: When, row_filter: ServerFilter
    ) -> Row | None:
        """Return a row with the cells that a filter passes; None if no cell passes.

        The filter also checks older versions of a column, until it has passed two of them. HBase
        does the same, because it counts versions only after the filter.
        """
        return filtered_row(key, self._cells(key, selection, when), row_filter)

    def _cells(
        self, key: bytes, selection: Selection, when: When
    ) -> Iterator[tuple[FilterCell, int]]:
        for name, cells, qualifier in _columns(self.rows[key], selection):
            family = self.families[name]
            for version in visible_versions(family, cells, cells.columns[qualifier], when):
                yield FilterCell(name, qualifier, version.value), version.timestamp_ms

    def versions(
        self, key: bytes, selection: Selection, max_versions: int, now_ms: int
    ) -> tuple[StoredVersion, ...]:
        """Return up to `max_versions` visible versions of each column."""
        versions = []
        for name, cells, qualifier in _columns(self.rows.get(key, {}), selection):
            column = cells.columns[qualifier]
            visible = visible_versions(self.families[name], cells, column, When(now_ms))
            versions += [
                StoredVersion(name + b":" + qualifier, version.timestamp_ms, "put", version.value)
                for version in islice(visible, max_versions)
            ]
        return tuple(versions)

    def raw(
        self, key: bytes, selection: Selection, max_versions: int, now_ms: int
    ) -> tuple[StoredVersion, ...]:
        """Return the tombstones of a row, and up to `max_versions` cells of each column.

        Deleted cells are included, expired cells are not.
        """
        stored = self.rows.get(key, {})
        return tuple(
            cell
            for name in selection
            if name in stored
            for cell in raw_versions(self.families[name], stored[name], now_ms, max_versions)
        )

    # --- regions ----------------------------------------------------------------------------------

    def regions(self) -> list[RegionRange]:
        """Return the regions in key order."""
        starts = [b"", *self.split_keys]
        stops = [*self.split_keys, None]
        return [
            RegionRange(start, stop, "memory", self.created_ms)
            for start, stop in zip(starts, stops, strict=True)
        ]

    def next_key(self, key_range: KeyRange, after: bytes | None, *, reverse: bool) -> bytes | None:
        """Return the row key that follows `after` in a scan of a range; None at the end.

        If `after` is None, return the first row key of the scan.
        """
        if reverse:
            above = key_range.stop if after is None else after
            position = (len(self.keys) if above is None else bisect_left(self.keys, above)) - 1
        elif after is None:
            position = bisect_left(self.keys, key_range.start)
        else:
            position = bisect_right(self.keys, after)
        if not 0 <= position < len(self.keys):
            return None
        key = self.keys[position]
        return key if key in key_range else None

    def compact(self, now_ms: int, *, major: bool) -> None:
        """Drop the cells that a flush or a major compaction drops."""
        lasting_ms = int(self.descriptor.attributes.get(_PURGE_ATTRIBUTE, "0"))
        for key in list(self.keys):
            row = self.rows[key]
            for name, cells in list(row.items()):
                compact(self.families[name], cells, now_ms, major=major, lasting_ms=lasting_ms)
                if not (cells.columns or cells.tombstones):
                    del row[name]
            if not row:
                del self.rows[key]
        self.keys = sorted(self.rows)


def _family_of(column: bytes) -> bytes:
    return column.partition(b":")[0]


def _stamp(timestamp_ms: int | None, now_ms: int) -> int:
    return now_ms if timestamp_ms is None or timestamp_ms == MAX_LONG else timestamp_ms


def _columns(
    stored: dict[bytes, FamilyCells], selection: Selection
) -> Iterator[tuple[bytes, FamilyCells, bytes]]:
    for name, wanted in selection.items():
        cells = stored.get(name)
        if cells is None:
            continue
        for qualifier in sorted(cells.columns) if wanted is None else wanted:
            if qualifier in cells.columns:
                yield name, cells, qualifier
