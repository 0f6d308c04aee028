"""Which cells of a row both tables of a copy keep: by the versions and TTLs of their families.

The new table may keep fewer versions than the old one, or have a shorter TTL. Its newest versions
are copied, as many as it keeps, and cells that a TTL removes from either table soon are not
compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from hbase_orm.index.entries.targets import family_of
from hbase_orm.migrate.operations.rows.row_copies import RowCopy
from hbase_orm.ops import FamilyDescriptor
from hbase_orm.schema import TableSchema

_MS: Final = 1000
_SKEW_MS: Final = 60_000
"""How far the clocks of this process and of the servers may differ."""

_LEAST_HORIZON_MS: Final = 2 * _SKEW_MS
_LONGEST_HORIZON_MS: Final = 3_600_000
_HORIZON_SHARE: Final = 20
"""The part of a TTL within which expiring cells are not compared; at most an hour."""


@dataclass(frozen=True, slots=True)
class FamilyLimits:
    """How many cells of a column are kept in a family of the new table, and for how long.

    Attributes:
        versions: The largest number of versions.
        ttls: The TTLs of the family and of the old families of its cells: each in milliseconds,
            with the number of versions that are kept nevertheless.
    """

    versions: int
    ttls: frozenset[tuple[int, int]]

    def lasts(self, number: int, stamp_ms: int, until_ms: int) -> bool:
        """Return whether both tables have a version, which `number` newer ones precede, then."""
        return all(stamp_ms + ttl_ms > until_ms or number < least for ttl_ms, least in self.ttls)


@dataclass(frozen=True)
class KeptCells:
    """Which cells of the copies are put, and which are compared.

    Attributes:
        limits: The limits by family of the new table.
        has_fewer_versions: Whether the old table may have more versions of a cell than the new one
            keeps.
    """

    limits: Mapping[bytes, FamilyLimits]
    has_fewer_versions: bool

    @cached_property
    def ttl_ms(self) -> int | None:
        """The shortest TTL of either table; None if no cell expires."""
        return min((ttl for each in self.limits.values() for ttl, _ in each.ttls), default=None)

    def horizon_ms(self, now_ms: int, taken_ms: int = 0) -> int:
        """Return until when cells must last to be compared; 0 if no cell expires.

        Args:
            now_ms: The present time.
            taken_ms: How long an earlier comparison took.
        """
        if self.ttl_ms is None:
            return 0
        share_ms = min(self.ttl_ms // _HORIZON_SHARE, _LONGEST_HORIZON_MS)
        return now_ms + max(share_ms, _LEAST_HORIZON_MS, 2 * taken_ms + _SKEW_MS)

    def has_passed(self, horizon_ms: int, now_ms: int) -> bool:
        """Return whether cells that were to be compared may have expired."""
        return self.ttl_ms is not None and now_ms >= horizon_ms - _SKEW_MS

    def put(self, copy: RowCopy) -> RowCopy:
        """Return the cells of a copy that are put: the newest versions that the new table keeps."""
        if not self.has_fewer_versions:
            return copy
        return self._selected(copy, lambda limits, number, _: number < limits.versions)

    def compared(self, copy: RowCopy, horizon_ms: int) -> RowCopy:
        """Return the cells of a row that both tables have until `horizon_ms`, perhaps none."""
        if self.ttl_ms is None:
            return copy
        return self._selected(
            copy, lambda limits, number, stamp_ms: limits.lasts(number, stamp_ms, horizon_ms)
        )

    def _selected(
        self, copy: RowCopy, is_kept: Callable[[FamilyLimits, int, int], bool]
    ) -> RowCopy:
        """Return the cells that a function selects by limits, number and timestamp."""
        places: list[int] = []
        before, number = b"", 0
        for place, (column, stamp_ms) in enumerate(zip(copy.columns, copy.stamps, strict=True)):
            number = number + 1 if column == before else 0
            before = column
            if is_kept(self.limits[family_of(column)], number, stamp_ms):
                places.append(place)
        if len(places) == len(copy.columns):
            return copy
        key, *values = copy.row
        return RowCopy(
            tuple([copy.columns[place] for place in places]),
            (key, *[values[place] for place in places]),
            tuple([copy.stamps[place] for place in places]),
        )


def kept_cells(
    pairs: Iterable[tuple[TableSchema, TableSchema]],
    old: Sequence[FamilyDescriptor],
) -> KeptCells:
    """Return which cells are kept of the rows of one or several models.

    Args:
        pairs: The old and the new schema of each model.
        old: The families of the old tables as they are, of all tables.
    """
    limits: dict[bytes, FamilyLimits] = {}
    fewer = False
    for source, target in pairs:
        for family in target.families:
            sources = {family.name, *_sources(source, target, family.name)}
            before = [each for each in old if each.name in sources]
            known = limits.get(family.name)
            ttls = {_ttl(each) for each in (family, *before) if each.ttl_s is not None}
            limits[family.name] = FamilyLimits(
                family.versions, frozenset(ttls) | (known.ttls if known else frozenset())
            )
            fewer = fewer or any(each.versions > family.versions for each in before)
    return KeptCells(limits, fewer)


def _ttl(family: FamilyDescriptor) -> tuple[int, int]:
    return (family.ttl_s or 0) * _MS, family.min_versions


def _sources(source: TableSchema, target: TableSchema, family: bytes) -> set[bytes]:
    """Return the families of the old table whose cells come to a family of the new one."""
    old = {each.name: each.column for each in (*source.columns, *source.numbers)}
    old |= {each.name: each.prefix for each in source.dynamics}
    new = {each.name: each.column for each in (*target.columns, *target.numbers)}
    new |= {each.name: each.prefix for each in target.dynamics}
    return {
        family_of(old[name])
        for name, column in new.items()
        if family_of(column) == family and name in old
    }
