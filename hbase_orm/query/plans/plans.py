"""Plans: what will be sent for a statement, as frozen values that print as trees.

A plan has the tables and the ranges of keys to read, and their order. The client checks every row
against all conditions, so a plan may read more rows than match, but never fewer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from hbase_orm.errors import shown
from hbase_orm.notebook import lines_as_written
from hbase_orm.ops import KeyRange
from hbase_orm.query.conditions.versions import TimeRange
from hbase_orm.query.plans.explain import (
    filter_line,
    first_lines,
    key_in_short,
    plural,
    range_text,
    tree,
)
from hbase_orm.query.plans.fetch_sizes import Fetches, fetches
from hbase_orm.query.plans.measured import Measured
from hbase_orm.rowkey.notation import to_string_binary
from hbase_orm.schema import NO_FIELDS, Condition, EntryRange, TableSchema


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Plan:
    """The attributes that every plan has.

    Attributes:
        schema: The base table.
        conditions: The conditions that the client checks for every row.
        limit: The largest number of rows, or None.
        order: The order of the rows, in words.
        resolved: The names that were looked up before planning: (dictionary table, name, number).
            The number is None if the name has no number.
        measured: The measurements, or None if the plan was not run.
        columns: The columns or whole families that are read of each row; empty means all families.
        reads: The description of `columns` for display; empty for whole objects.
        after: The descriptions of the steps after the rows are read, such as sorting.
        entries: The range of dynamic columns to read in each row. None means all of them.
        loaded: The deferred fields that are read because the statement compares or sorts by them.
        times: The timestamps of the versions that are read; None means the newest versions.
        is_timeline: Whether replicas of regions may answer, with older rows.
        unused: The declared indexes that the catalog does not let queries use, each with the
            reason.
    """

    schema: TableSchema
    conditions: tuple[Condition, ...]
    limit: int | None
    order: str
    resolved: tuple[tuple[str, str, int | None], ...] = field(default=(), kw_only=True)
    columns: tuple[bytes, ...] = field(default=(), kw_only=True)
    reads: str = field(default="", kw_only=True)
    after: tuple[str, ...] = field(default=(), kw_only=True)
    entries: EntryRange | None = field(default=None, kw_only=True)
    loaded: frozenset[str] = field(default=NO_FIELDS, kw_only=True)
    times: TimeRange | None = field(default=None, kw_only=True)
    is_timeline: bool = field(default=False, kw_only=True)
    measured: Measured | None = field(default=None, kw_only=True)
    unused: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    def fetched(self) -> tuple[bytes, ...]:
        """The columns or families to request: `columns`, or all families if it is empty."""
        return self.columns or self.schema.family_names

    @property
    def timestamps(self) -> tuple[int | None, int]:
        """The end of the timestamps to read (excluded; None means no end), and their start."""
        return (None, 0) if self.times is None else (self.times.before_ms, self.times.from_ms)

    @property
    def tables(self) -> frozenset[str]:
        """The tables whose rows are read."""
        return frozenset((self.schema.table,))

    def in_each_table(self, change: Callable[[Plan], Plan]) -> Plan:
        """Return the plan changed by `change`.

        If the plan reads several tables, the plan of each table is changed instead.
        """
        return change(self)

    @property
    def kind(self) -> str:
        """The kind of the plan, e.g. "Get" or "Scan"."""
        return type(self).__name__.removesuffix("Plan")

    def steps(self) -> list[str]:
        """Return the description of each step of the plan, for display."""
        return []

    @property
    def requests(self) -> str:
        """The description of the expected number of requests."""
        return "0"

    def resolutions(self) -> list[str]:
        """Return one line for each of the first few names that were looked up in dictionaries."""
        lines = [
            f"resolve {shown(name)} in {table}: {'unknown' if number is None else number}"
            for table, name, number in self.resolved
        ]
        return first_lines(lines, str, "names")

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values."""
        as_dict: dict[str, Any] = {
            "kind": self.kind,
            "table": self.schema.table,
            "steps": [*self.resolutions(), *self.steps()],
            "columns": list(map(to_string_binary, self.fetched)),
            "reads": self.reads,
            "client_checks": [shown(condition) for condition in self.conditions],
            "order": self.order,
            "limit": self.limit,
            "after": list(self.after),
            "entries": None if self.entries is None else repr(self.entries),
            "requests": self.requests,
        }
        if self.times is not None:
            as_dict["times"] = repr(self.times)
        if self.is_timeline:
            as_dict["consistency"] = "timeline"
        if self.unused:
            as_dict["unused_indexes"] = list(self.unused)
        if self.measured is not None:
            as_dict["measured"] = self.measured.to_dict()
        return as_dict

    def __repr__(self) -> str:
        """Return the plan as a tree; long keys and values are cut."""
        lines = [*self.resolutions(), *self.steps()]
        if self.reads:
            lines.append(self.reads)
        if self.conditions:
            checks = " and ".join(shown(condition) for condition in self.conditions)
            lines.append(f"check on the client: {checks}")
        lines.append(f"order: {self.order}")
        if self.limit is not None:
            lines.append(f"limit: {self.limit}")
        if self.entries is not None:
            lines.append(f"of each row that matches: {self.entries!r}, by a scanner of its own")
        if self.times is not None:
            lines.append(f"cells with {self.times!r}")
        if self.is_timeline:
            lines.append("consistency: timeline, replicas may answer with older rows")
        lines += self.after
        lines += [f"not used: {each}" for each in self.unused]
        each = "" if self.entries is None else ", and 1 scanner for each row"
        lines.append(f"requests: {self.requests}{each}")
        if self.measured is not None:
            lines.append(str(self.measured))
        return tree(f"{self.kind} {self.schema.table}", lines)

    def _repr_html_(self) -> str:
        """Return the plan for a notebook: the tree."""
        return lines_as_written(repr(self))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EmptyPlan(Plan):
    """No row can match: nothing is sent.

    Attributes:
        reason: Why no row can match.
    """

    reason: str = ""

    def steps(self) -> list[str]:
        """Return the reason why nothing is sent, for display."""
        return [f"nothing is sent: {self.reason}"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GetPlan(Plan):
    """Reads rows by their complete row keys.

    Attributes:
        keys: The row keys, in the order of the rows.
        families: The families that a second request reads for rows without any of `columns`, to see
            whether these rows exist. Empty if no second request is needed.
    """

    keys: tuple[bytes, ...] = ()
    families: tuple[bytes, ...] = ()

    def steps(self) -> list[str]:
        """Return a line of text for each of the first few gets, for display."""
        return first_lines(self.keys, lambda key: f"get {key_in_short(key)}", "keys")

    @property
    def requests(self) -> str:
        """The description of the requests: one get, or one multi-get."""
        return "1 get" if len(self.keys) == 1 else f"1 multi-get of {len(self.keys)} rows"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ScanPlan(Plan):
    """Reads ranges of the row key, one after another.

    Attributes:
        ranges: The disjoint ranges, in the order of the rows.
        reverse: Whether the rows are read in descending order of their keys.
        caching_rows: The caching of the scanners. It also limits the rows of the first fetch.
        most_rows: The largest number of rows in later fetches. 0 if every fetch has `caching_rows`
            rows.
        filter: The filter that the server applies, in HBase's filter language, or None.
        unconditional: The filter that replaces `filter` after a call was not answered in time. It
            tests no condition and passes every row; None means no filter.
        mask: A filter that leaves out the values of some cells, in every call; or None.
    """

    ranges: tuple[KeyRange, ...] = ()
    reverse: bool = False
    caching_rows: int = 0
    most_rows: int = 0
    filter: bytes | None = None
    unconditional: bytes | None = None
    mask: bytes | None = None

    def steps(self) -> list[str]:
        """Return a line of text for each of the first few scans, and one for the filter."""
        verb = "reverse scan" if self.reverse else "scan"
        scans = first_lines(self.ranges, lambda each: f"{verb} {range_text(each)}", "ranges")
        return scans + filter_line(self.filter)

    @property
    def requests(self) -> str:
        """The description of the requests: one scanner for each range."""
        return f"{len(self.ranges)} scanner{plural(self.ranges)}, {self.fetches} rows a call"

    @property
    def fetches(self) -> Fetches:
        """The numbers of rows that a scanner fetches in its first and in later calls."""
        return fetches(self.caching_rows, self.most_rows, self.limit)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SaltedScanPlan(Plan):
    """Reads the same ranges in several salt buckets; merges the rows by keys without salt.

    Attributes:
        buckets: The ranges of each bucket, in the order of the rows.
        reverse: Whether the rows are read in descending order of their keys.
        caching_rows: The largest caching of a scanner. It also limits the rows of its first fetch.
        most_rows: The largest number of rows in later fetches. 0 if every fetch has `caching_rows`
            rows.
        skipped_bytes: The width of the salt, which is ignored when keys are compared.
        filter: The filter that the server applies, in HBase's filter language, or None.
        unconditional: The filter that replaces `filter` after a call was not answered in time. It
            tests no condition and passes every row; None means no filter.
        mask: A filter that leaves out the values of some cells, in every call; or None.
    """

    buckets: tuple[tuple[KeyRange, ...], ...] = ()
    reverse: bool = False
    caching_rows: int = 0
    most_rows: int = 0
    skipped_bytes: int = 1
    filter: bytes | None = None
    unconditional: bytes | None = None
    mask: bytes | None = None

    def steps(self) -> list[str]:
        """Return the text of the merge: first and last scans of the buckets, and the filter."""
        verb = "reverse scan" if self.reverse else "scan"
        first = first_lines(self.buckets[0], lambda r: f"{verb} {range_text(r)}", "ranges")
        last = [f"{verb} {range_text(r)}" for r in self.buckets[-1][:1]]
        gap = ["…"] if len(self.buckets) > 2 else []  # noqa: PLR2004 - the first and the last
        body = [*first, *gap, *last]
        merging = tree(f"merge {len(self.buckets)} buckets by the key without its first part", body)
        return [merging, *filter_line(self.filter)]

    @property
    def requests(self) -> str:
        """The description of the requests: one scanner for each range of each bucket."""
        count = sum(len(ranges) for ranges in self.buckets)
        return f"{count} scanners, {self.fetches} rows a call"

    @property
    def fetches(self) -> Fetches:
        """The numbers of rows that each bucket's scanner fetches in its first and later calls."""
        return fetches(self.caching_rows, self.most_rows, self.limit, len(self.buckets))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TablesPlan(Plan):
    """Reads several tables, one for each period, one after another.

    Attributes:
        plans: For each period, its start and the plan of its table, in the order of the rows. A
            missing table counts as empty.
        falls: Whether the tables are read in descending order of their periods.
    """

    plans: tuple[tuple[datetime, Plan], ...] = ()
    falls: bool = False

    @property
    def tables(self) -> frozenset[str]:
        """The tables whose rows are read."""
        return frozenset(inner.schema.table for _, inner in self.plans)

    def in_each_table(self, change: Callable[[Plan], Plan]) -> Plan:
        """Return this plan with each table's plan changed by `change`."""
        plans = tuple((start, inner.in_each_table(change)) for start, inner in self.plans)
        return replace(self, plans=plans)

    def steps(self) -> list[str]:
        """Return text for each of the first few tables: its name and the steps of its plan."""
        plans = [inner for _, inner in self.plans]
        return first_lines(plans, lambda inner: tree(inner.schema.table, inner.steps()), "tables")

    @property
    def requests(self) -> str:
        """The description of the requests: the number of tables, and the requests per table."""
        tables = f"{len(self.plans)} table{plural(self.plans)}"
        return f"{tables}, each: {self.plans[0][1].requests}"
