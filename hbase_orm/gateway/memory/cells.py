"""HBase's rules for the visible cells of a row: versions, tombstones and times to live.

Pure data and functions, without clocks (the time is an argument), locks or tables. The rules are
those of the store scanner of HBase 2.6. The newest cells are checked first. A cell is dropped in
these cases:

- The TTL of the cell's family is over.
- The cell's own TTL is over.
- A tombstone with the same or a later timestamp deletes the cell.
- The cell is outside of the time range.
- Enough versions of the cell's column were returned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from hbase_orm.ops import FamilyDescriptor, StoredVersion

_MS_PER_SECOND = 1000


class Stored(NamedTuple):
    """A stored value. `ttl_ms` is None if only the family's time to live applies to the value."""

    value: bytes
    ttl_ms: int | None


class VisibleVersion(NamedTuple):
    """One visible version of a column."""

    timestamp_ms: int
    value: bytes


class When(NamedTuple):
    """The time of a read, and the time range of the cells to return.

    Attributes:
        now_ms: The time of the read.
        before_ms: The upper end of the time range, excluded; None for no upper end.
        from_ms: The lower end of the time range, included.
    """

    now_ms: int
    before_ms: int | None = None
    from_ms: int = 0


@dataclass(slots=True)
class ColumnCells:
    """All cells and tombstones of one column of one row.

    Attributes:
        puts: For each timestamp, the values that were written with it, the latest write first. An
            earlier value is kept only if the later value has its own time to live. When that is
            over, the earlier value becomes visible again.
        tombstones: The timestamps of the column's deletes.
    """

    puts: dict[int, tuple[Stored, ...]] = field(default_factory=dict)
    tombstones: set[int] = field(default_factory=set)

    def put(self, timestamp_ms: int, stored: Stored) -> None:
        """Write a value, which hides an earlier value with the same timestamp."""
        below = self.puts.get(timestamp_ms, ()) if stored.ttl_ms is not None else ()
        self.puts[timestamp_ms] = (stored, *below)


@dataclass(slots=True)
class FamilyCells:
    """All cells and tombstones of one family of one row.

    Attributes:
        columns: The cells and tombstones of each column, by qualifier.
        tombstones: The timestamps of the deletes of the whole family.
    """

    columns: dict[bytes, ColumnCells] = field(default_factory=dict)
    tombstones: set[int] = field(default_factory=set)

    def column(self, qualifier: bytes) -> ColumnCells:
        """Return the cells of a column; add the column if it is absent."""
        return self.columns.setdefault(qualifier, ColumnCells())


def visible_versions(
    family: FamilyDescriptor,
    cells: FamilyCells,
    column: ColumnCells,
    when: When,
) -> Iterator[VisibleVersion]:
    """Yield the visible versions of one column, newest first, at most the family's `versions`."""
    mask = _mask(family, (*cells.tombstones, *column.tombstones), when.before_ms)
    oldest = _oldest_unexpired(family, when.now_ms)
    seen = 0
    for timestamp in sorted(column.puts, reverse=True):
        expired = timestamp < oldest
        if timestamp <= mask or (expired and not family.min_versions):
            return
        if timestamp < when.from_ms:
            return
        stored = _unexpired(column.puts[timestamp], timestamp, when.now_ms)
        if stored is None or (when.before_ms is not None and timestamp >= when.before_ms):
            continue
        seen += 1
        if seen > family.versions or (expired and seen > family.min_versions):
            return
        yield VisibleVersion(timestamp, stored.value)


def newest_version(
    family: FamilyDescriptor, cells: FamilyCells, column: ColumnCells, when: When
) -> VisibleVersion | None:
    """Return the newest visible version of one column; None if no version is visible."""
    return next(visible_versions(family, cells, column, when), None)


def raw_versions(
    family: FamilyDescriptor, cells: FamilyCells, now_ms: int, max_versions: int
) -> Iterator[StoredVersion]:
    """Yield the stored cells and tombstones of one family of one row, in HBase's order.

    Deleted cells are included, expired cells are not. At most `max_versions` cells of each column
    are included, besides the tombstones. A tombstone of the whole family has the empty qualifier.
    """
    oldest = _oldest_unexpired(family, now_ms) if not family.min_versions else 0
    family_tombstones = [t for t in cells.tombstones if t >= oldest]
    qualifiers = set(cells.columns) | ({b""} if family_tombstones else set())
    for qualifier in sorted(qualifiers):
        name = family.name + b":" + qualifier
        column = cells.columns.get(qualifier, ColumnCells())
        versions = list(_raw_column(name, column, oldest, now_ms, max_versions))
        if not qualifier:
            versions += [StoredVersion(name, t, "delete_family", b"") for t in family_tombstones]
        versions.sort(key=_raw_order)
        yield from versions


def _raw_column(
    name: bytes, column: ColumnCells, oldest: int, now_ms: int, max_versions: int
) -> Iterator[StoredVersion]:
    for timestamp in column.tombstones:
        if timestamp >= oldest:
            yield StoredVersion(name, timestamp, "delete_column", b"")
    count = 0
    for timestamp in sorted(column.puts, reverse=True):
        stored = _unexpired(column.puts[timestamp], timestamp, now_ms)
        if timestamp < oldest or count == max_versions:
            return
        if stored is not None:
            count += 1
            yield StoredVersion(name, timestamp, "put", stored.value)


# KeyValue.Type: at one timestamp the higher code sorts first (DeleteFamily 14 … Put 4).
_TYPE_ORDER = {
    "delete_family": 0,
    "delete_column": 1,
    "delete_family_version": 2,
    "delete": 3,
    "put": 4,
}


def _raw_order(cell: StoredVersion) -> tuple[int, int]:
    return -cell.timestamp_ms, _TYPE_ORDER[cell.kind]


def _mask(family: FamilyDescriptor, tombstones: Iterable[int], before_ms: int | None) -> int:
    """Return the timestamp of the newest tombstone that counts; -1 if none counts.

    A put with this timestamp or an earlier one is deleted. Usually all tombstones count. But if
    `before_ms` is given (a read of the past) and the family keeps deleted cells, only tombstones
    with timestamps before `before_ms` count.
    """
    if family.keep_deleted_cells != "FALSE" and before_ms is not None:
        tombstones = [t for t in tombstones if t < before_ms]
    return max(tombstones, default=-1)


def _oldest_unexpired(family: FamilyDescriptor, now_ms: int) -> int:
    return now_ms - family.ttl_s * _MS_PER_SECOND if family.ttl_s is not None else 0


def _unexpired(writes: tuple[Stored, ...], timestamp_ms: int, now_ms: int) -> Stored | None:
    """Return the latest write whose own time to live is not over; None if all are expired."""
    for stored in writes:
        if stored.ttl_ms is None or timestamp_ms + stored.ttl_ms >= now_ms:
            return stored
    return None


# --- what stays on disk ---------------------------------------------------------------------------


def compact(
    family: FamilyDescriptor, cells: FamilyCells, now_ms: int, *, major: bool, lasting_ms: int = 0
) -> None:
    """Drop the cells that HBase drops in a flush; with `major`, also drop tombstones.

    Deleted, expired and surplus versions are dropped. Reads of the past no longer return them. Two
    things are kept:

    - If the family keeps deleted cells: deleted versions, and the tombstones that delete them.
    - The tombstones of the last `lasting_ms` milliseconds.
    """
    keeps = _keeps_deleted(family, cells, now_ms)
    for column in cells.columns.values():
        column.puts = dict(_kept_puts(family, cells, column, now_ms, keeps=keeps))
    if major:
        _drop_tombstones(cells, keeps=keeps, young_ms=now_ms - lasting_ms if lasting_ms else None)


def _keeps_deleted(family: FamilyDescriptor, cells: FamilyCells, now_ms: int) -> bool:
    if family.keep_deleted_cells == "TTL":
        oldest = _oldest_unexpired(family, now_ms)
        return any(t >= oldest for t in _all_tombstones(cells))
    return family.keep_deleted_cells == "TRUE"


def _all_tombstones(cells: FamilyCells) -> set[int]:
    return cells.tombstones.union(*(c.tombstones for c in cells.columns.values()))


def _kept_puts(
    family: FamilyDescriptor, cells: FamilyCells, column: ColumnCells, now_ms: int, *, keeps: bool
) -> Iterator[tuple[int, tuple[Stored, ...]]]:
    shown = FamilyCells() if keeps else cells
    counted = ColumnCells(column.puts) if keeps else column
    for version in visible_versions(family, shown, counted, When(now_ms)):
        stored = _unexpired(column.puts[version.timestamp_ms], version.timestamp_ms, now_ms)
        if stored is not None:
            yield version.timestamp_ms, (stored,)


def _drop_tombstones(cells: FamilyCells, *, keeps: bool, young_ms: int | None) -> None:
    puts = [t for column in cells.columns.values() for t in column.puts]
    # A tombstone is kept only while it is young, or covers a deleted cell that is kept.
    covering = min(puts, default=None) if keeps else None
    earliest = min((t for t in (covering, young_ms) if t is not None), default=None)
    cells.tombstones = _covering(cells.tombstones, earliest)
    for qualifier, column in list(cells.columns.items()):
        column.tombstones = _covering(column.tombstones, earliest)
        if not (column.puts or column.tombstones):
            del cells.columns[qualifier]


def _covering(tombstones: set[int], earliest: int | None) -> set[int]:
    return set() if earliest is None else {t for t in tombstones if t >= earliest}
