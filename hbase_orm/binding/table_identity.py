"""Decides whether a table is the one that a record was written for.

A table that was dropped and created again by other means must not be compared with the old record.
With Thrift2, the table's id is compared with the id in the record. Thrift1 shows no attributes of
tables, only the times when regions were created:

- The parts of a split region are younger than the region. A merged region is as old as its youngest
  part. So a region that is not younger than the record shows that the table is the same.
- All regions of a new or truncated table have the same time. If all regions are younger than the
  record and their times differ, or if there are just two regions, they may be parts of the recorded
  table's regions. Then the result is UNKNOWN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from hbase_orm.binding.addressing.tables import Tables
from hbase_orm.errors import (
    ConflictError,
    NamespaceNotFoundError,
    RegionUnavailableError,
    RejectedError,
    TableNotFoundError,
)
from hbase_orm.gateway.base import Feature
from hbase_orm.ops import DescribeTable, ListRegions, Protocol, ask
from hbase_orm.record.declaration import TableRecord
from hbase_orm.record.store import ID_ATTRIBUTE

# Each merge adds one millisecond. Within this time nobody can drop a table and create it again.
_MERGES_MS: Final = 100
_PARTS_OF_A_SPLIT: Final = 2

MOST_TABLES: Final = 8
"""How many tables of periods are compared with their record at most."""


class Identity(Enum):
    """Whether the tables of a model are those that a record was written for."""

    SAME = "same"
    OTHER = "other"
    UNKNOWN = "unknown"
    MISSING = "missing"


def identity(
    record: TableRecord, tables: Tables, features: frozenset[Feature]
) -> Protocol[Identity]:
    """Return whether a record was written for a model's tables; MISSING if no table exists.

    Args:
        record: The record.
        tables: The tables of the model. If there is a table for each period, one table that has the
            record's id is enough.
        features: The features that the gateway supports.
    """
    try:
        names = (yield from tables.existing())[:MOST_TABLES]
        if Feature.SCHEMA in features:
            ids = yield from _ids(names)
            if not ids:
                return Identity.MISSING
            if record.table_id:  # else a program without Thrift2 wrote the record
                return Identity.SAME if record.table_id in ids else Identity.OTHER
        times = yield from _region_times(names)
    except RejectedError:
        return Identity.UNKNOWN
    return _by_regions(record.regions_ms, times, is_only=tables.is_only)


@dataclass(frozen=True, slots=True)
class SeenTable:
    """What distinguishes a table from a later one of the same name.

    Attributes:
        table_id: The id of its record; empty if it has none, or if only Thrift1 is available.
        regions_ms: The times when its regions were created; empty if they are unknown.
    """

    table_id: str
    regions_ms: frozenset[int]


def seen_table(table: str) -> Protocol[SeenTable | None]:
    """Return what distinguishes a table from a later one of its name; None if it does not exist."""
    try:
        there = yield from ask(DescribeTable(table))
    except (TableNotFoundError, NamespaceNotFoundError):
        return None
    table_id = there.attributes.get(ID_ATTRIBUTE, "")
    try:
        regions = yield from ask(ListRegions(table, needs_times=True))
    except (TableNotFoundError, NamespaceNotFoundError):
        return None
    except (RejectedError, RegionUnavailableError):  # it may be disabled
        return SeenTable(table_id, frozenset())
    return SeenTable(table_id, frozenset(each.created_ms for each in regions) - {0})


def is_same_table(now: SeenTable, seen: SeenTable) -> bool:
    """Return whether a table is the one that was seen before: same id, and a region as old.

    The result is False too if all regions were split, or if the table was truncated.
    """
    is_undecided = not (now.regions_ms and seen.regions_ms)
    has_seen_region = is_undecided or bool(now.regions_ms & seen.regions_ms)
    return now.table_id == seen.table_id and has_seen_region


def refuse_later_table(table: str, seen: SeenTable | None) -> Protocol[None]:
    """Raise an error if a table is another one than before; call it right before a removal.

    Nothing is raised if the table does not exist now.

    Raises:
        ConflictError: The table has another id, or no region of it is as old as before: another
            program has created or truncated it. It is also raised if all regions were split.
    """
    now = yield from seen_table(table)
    if now is None or (seen is not None and is_same_table(now, seen)):
        return
    raise ConflictError(
        "another program has created or truncated the table at the same time",
        table=table,
        fix="check whether the rows of the present table are needed; if they are not, repeat the "
        "call",
    )


def newest_region_ms(table: str) -> Protocol[int]:
    """Return the time when a table's youngest region was created, in ms of HBase's clock.

    The time is 0 if the table does not exist, or if HBase refuses to list its regions.
    """
    try:
        return max(
            region.created_ms for region in (yield from ask(ListRegions(table, needs_times=True)))
        )
    except RejectedError:
        return 0


def _ids(names: Sequence[str]) -> Protocol[list[str]]:
    """Return the ids of the tables that exist; an empty text for a table without an id."""
    ids: list[str] = []
    for name in names:
        try:
            there = yield from ask(DescribeTable(name))
        except TableNotFoundError:
            continue
        ids.append(there.attributes.get(ID_ATTRIBUTE, ""))
    return ids


def _region_times(names: Sequence[str]) -> Protocol[list[list[int]]]:
    """Return, for each table that exists, the times when its regions were created."""
    times: list[list[int]] = []
    for name in names:
        try:
            regions = yield from ask(ListRegions(name, needs_times=True))
        except TableNotFoundError:
            continue
        times.append([region.created_ms for region in regions])
    return times


def _by_regions(recorded_ms: int, times: list[list[int]], *, is_only: bool) -> Identity:
    if not times:
        return Identity.MISSING
    if not recorded_ms:
        return Identity.UNKNOWN
    if min(map(min, times)) <= recorded_ms + _MERGES_MS:
        return Identity.SAME
    (regions, *_) = times
    # The tables of later periods are younger than the record too.
    is_new = is_only and len(set(regions)) == 1 and len(regions) != _PARTS_OF_A_SPLIT
    return Identity.OTHER if is_new else Identity.UNKNOWN
