"""Plans: what will be sent for a statement, as frozen values that print as trees.

A plan says which rows are read from where and in which order. Every row read is checked against
all conditions on the client, so a plan may read more than it returns, never less.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from hbase_orm.errors import shown
from hbase_orm.ops import KeyRange
from hbase_orm.query.conditions.versions import TimeRange
from hbase_orm.query.plans.explain import filter_line, first_lines, plural, range_text, tree
from hbase_orm.query.plans.fetch_sizes import Fetches, fetches
from hbase_orm.query.plans.measured import Measured
from hbase_orm.rowkey.notation import to_string_binary
from hbase_orm.schema import NO_FIELDS, Condition, EntryRange, IndexSchema, TableSchema


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What every plan has.

    Attributes:
        schema: The base table.
        conditions: Checked on the client for every row.
        limit: At most so many rows, or None.
        order: The order of the rows, in words.
        resolved: Names that were looked up before planning: the dictionary's table, the name, and
            its number or None.
        measured: What running the plan showed, or None if it was not run.
        columns: What is read of each row, columns or bare families; empty means all families.
        reads: The same in words; empty for objects.
        after: What is done with the rows once they are read, in words.
        loaded: The deferred fields that are read all the same, for what is compared or sorted by.
        times: Which versions are read; None means the newest.
        unused: Indexes that are declared, and that the catalog does not let queries use, in words.
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
    measured: Measured | None = field(default=None, kw_only=True)
    unused: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    def fetched(self) -> tuple[bytes, ...]:
        """The columns, or bare families, that requests name."""
        return self.columns or self.schema.family_names

    @property
    def timestamps(self) -> tuple[int | None, int]:
        """The timestamps of the cells that are read: before which, None for all, and from which."""
        return (None, 0) if self.times is None else (self.times.before_ms, self.times.from_ms)

    @property
    def tables(self) -> frozenset[str]:
        """The tables whose rows are read."""
        return frozenset((self.schema.table,))

    def in_each_table(self, change: Callable[[Plan], Plan]) -> Plan:
        """Return the plan changed; where it reads several tables, the plan for each of them."""
        return change(self)

    @property
    def kind(self) -> str:
        """The plan's name."""
        return type(self).__name__.removesuffix("Plan")

    def steps(self) -> list[str]:
        """Return what is sent, one line a step."""
        return []

    @property
    def requests(self) -> str:
        """How many requests are expected, in words."""
        return "0"

    def resolutions(self) -> list[str]:
        """Return what was looked up, one line a name."""
        lines = [
            f"resolve {name!r} in {table}: {'unknown' if number is None else number}"
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
        if self.unused:
            as_dict["unused_indexes"] = list(self.unused)
        if self.measured is not None:
            as_dict["measured"] = self.measured.to_dict()
        return as_dict

    def __str__(self) -> str:
        """Return the plan as a tree."""
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
        lines += self.after
        lines += [f"not used: {each}" for each in self.unused]
        each = "" if self.entries is None else ", and 1 scanner for each row"
        lines.append(f"requests: {self.requests}{each}")
        if self.measured is not None:
            lines.append(str(self.measured))
        return tree(f"{self.kind} {self.schema.table}", lines)


@dataclass(frozen=True, slots=True, eq=False)
class EmptyPlan(Plan):
    """No row can match: nothing is sent.

    Attributes:
        reason: Why.
    """

    reason: str = ""

    def steps(self) -> list[str]:
        """Return the reason."""
        return [f"nothing is sent: {self.reason}"]


@dataclass(frozen=True, slots=True, eq=False)
class GetPlan(Plan):
    """Whole row keys are known.

    Attributes:
        keys: The row keys, in the order of the rows.
        families: What is read of those that have none of the columns: rows may have cells
            in others. Empty where they have not.
    """

    keys: tuple[bytes, ...] = ()
    families: tuple[bytes, ...] = ()

    def steps(self) -> list[str]:
        """Return the keys, the first few of many."""
        return first_lines(self.keys, lambda key: f"get {to_string_binary(key)}", "keys")

    @property
    def requests(self) -> str:
        """One get, or one multi-get."""
        return "1 get" if len(self.keys) == 1 else f"1 multi-get of {len(self.keys)} rows"


@dataclass(frozen=True, slots=True, eq=False)
class ScanPlan(Plan):
    """Ranges of the row key, read one after the other.

    Attributes:
        ranges: Disjoint, in the order of the rows.
        reverse: Rows come in falling key order.
        caching_rows: Rows fetched at once.
        most_rows: What later fetches grow to; 0 if the statement says how many each has.
        filter: What the server applies, in HBase's filter language, or None.
        unconditional: What it applies instead, of no condition, where a call with `filter` was not
            answered in time; it drops no row.
        mask: What it applies to every call: cells that come without their values, or None.
    """

    ranges: tuple[KeyRange, ...] = ()
    reverse: bool = False
    caching_rows: int = 0
    most_rows: int = 0
    filter: bytes | None = None
    unconditional: bytes | None = None
    mask: bytes | None = None

    def steps(self) -> list[str]:
        """Return the ranges, the first few of many, and the filter."""
        verb = "reverse scan" if self.reverse else "scan"
        scans = first_lines(self.ranges, lambda each: f"{verb} {range_text(each)}", "ranges")
        return scans + filter_line(self.filter)

    @property
    def requests(self) -> str:
        """One scanner a range."""
        return f"{len(self.ranges)} scanner{plural(self.ranges)}, {self.fetches} rows a call"

    @property
    def fetches(self) -> Fetches:
        """How many rows each fetch has."""
        return fetches(self.caching_rows, self.most_rows, self.limit)


@dataclass(frozen=True, slots=True, eq=False)
class SaltedScanPlan(Plan):
    """The same ranges in several salt buckets, merged by the key without its first part.

    Attributes:
        buckets: For each bucket its ranges, in the order of the rows.
        reverse: Rows come in falling key order.
        caching_rows: Rows fetched at once from each bucket.
        most_rows: What later fetches grow to; 0 if the statement says how many each has.
        skipped_bytes: The width of the salt, which is left out when keys are compared.
        filter: What the server applies, in HBase's filter language, or None.
        unconditional: What it applies instead, of no condition, where a call with `filter` was not
            answered in time; it drops no row.
        mask: What it applies to every call: cells that come without their values, or None.
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
        """Return the fan-out, the first bucket's ranges and the filter."""
        verb = "reverse scan" if self.reverse else "scan"
        first = first_lines(self.buckets[0], lambda r: f"{verb} {range_text(r)}", "ranges")
        last = [f"{verb} {range_text(r)}" for r in self.buckets[-1][:1]]
        gap = ["…"] if len(self.buckets) > 2 else []  # noqa: PLR2004 - the first and the last
        body = [*first, *gap, *last]
        merging = tree(f"merge {len(self.buckets)} buckets by the key without its first part", body)
        return [merging, *filter_line(self.filter)]

    @property
    def requests(self) -> str:
        """One scanner a range and bucket."""
        count = sum(len(ranges) for ranges in self.buckets)
        return f"{count} scanners, {self.fetches} rows a call"

    @property
    def fetches(self) -> Fetches:
        """How many rows each fetch of each bucket has."""
        return fetches(self.caching_rows, self.most_rows, self.limit, len(self.buckets))


@dataclass(frozen=True, slots=True, eq=False)
class TablesPlan(Plan):
    """The same question to several tables, one for each period, one after the other.

    Attributes:
        plans: The start of each period and the plan for its table, in the order of the rows. A
            table that does not exist has no rows.
        falls: The last period comes first.
    """

    plans: tuple[tuple[datetime, Plan], ...] = ()
    falls: bool = False

    @property
    def tables(self) -> frozenset[str]:
        """The tables whose rows are read."""
        return frozenset(inner.schema.table for _, inner in self.plans)

    def in_each_table(self, change: Callable[[Plan], Plan]) -> Plan:
        """Return the plan with the plan for each table changed."""
        plans = tuple((start, inner.in_each_table(change)) for start, inner in self.plans)
        return replace(self, plans=plans)

    def steps(self) -> list[str]:
        """Return the tables, the first few of many, with their plans."""
        plans = [inner for _, inner in self.plans]
        return first_lines(plans, lambda inner: tree(inner.schema.table, inner.steps()), "tables")

    @property
    def requests(self) -> str:
        """What the first of the tables needs, for each."""
        tables = f"{len(self.plans)} table{plural(self.plans)}"
        return f"{tables}, each: {self.plans[0][1].requests}"


@dataclass(frozen=True, slots=True)
class Passed:
    """The entries that pages before this one have read.

    Attributes:
        key: The last of them.
        since_ms: When the first page was requested.
    """

    key: bytes
    since_ms: int


@dataclass(frozen=True, slots=True, eq=False)
class IndexPlan(Plan):
    """Entries of an index, then the rows they name; each row is checked against its entry.

    Attributes:
        index: The index.
        families: What is read of rows that have none of the columns: they may have cells in
            others. Empty where they have not.
        keys: The claims of a unique index that are read, in the order of the rows; then
            there are no ranges.
        ranges: Ranges of entry keys, in the order of the rows.
        buckets: Of a salted index, for each bucket its ranges instead.
        within: The ranges, without buckets, in which a row counts once: where it may have several
            entries, at the first of them that is read.
        passed: What pages before this one have read, or None.
        is_covered: Whether entries that are verified answer without their rows.
        reverse: Entries come in falling key order.
        caching_rows: Entries fetched at once, and rows looked up at once.
        most_rows: What later fetches grow to; 0 if the statement says how many each has.
    """

    index: IndexSchema = field(kw_only=True)
    families: tuple[bytes, ...] = ()
    keys: tuple[bytes, ...] = ()
    ranges: tuple[KeyRange, ...] = ()
    buckets: tuple[tuple[KeyRange, ...], ...] = ()
    within: tuple[KeyRange, ...] = ()
    passed: Passed | None = None
    is_covered: bool = False
    reverse: bool = False
    caching_rows: int = 0
    most_rows: int = 0

    def steps(self) -> list[str]:
        """Return the index ranges and the look-up."""
        look_up = "look up each entry's row and check it against the entry"
        if self.keys:
            look_up = "look up the row that owns the value and check it"
        elif self.is_covered:
            look_up = "answer from verified entries; look up the rows of the others"
        if self.within:
            look_up += "; a row counts at its first entry"
        return [tree(f"index {self.index.table}", self._entry_steps()), look_up]

    def _entry_steps(self) -> list[str]:
        verb = "reverse scan" if self.reverse else "scan"
        if self.keys:
            return first_lines(self.keys, lambda key: f"get {to_string_binary(key)}", "keys")
        ranges = self.buckets[0] if self.buckets else self.ranges
        scans = first_lines(ranges, lambda each: f"{verb} {range_text(each)}", "ranges")
        if not self.buckets:
            return scans
        return [tree(f"merge {len(self.buckets)} buckets by the key without its first byte", scans)]

    @property
    def requests(self) -> str:
        """One scanner a range, one multi-get a page of entries."""
        if self.keys:
            owner = "1 get of its owner" if len(self.keys) == 1 else "1 multi-get of the owners"
            return f"1 get of {len(self.keys)} claim{plural(self.keys)}, {owner}"
        ranges = self.ranges or tuple(each for bucket in self.buckets for each in bucket)
        scanners = f"{len(ranges)} scanner{plural(ranges)}"
        if self.is_covered:
            return f"{scanners}, {self.fetches} entries a call"
        return f"{scanners}, 1 multi-get for each {self.fetches} entries"

    @property
    def fetches(self) -> Fetches:
        """How many entries each fetch has, and so many rows each look-up."""
        return fetches(self.caching_rows, self.most_rows, self.limit, len(self.buckets) or 1)
