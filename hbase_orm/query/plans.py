"""Plans: what will be sent for a statement, as frozen values that print as trees.

A plan says which rows are read from where and in which order. Every row read is checked against
all conditions on the client, so a plan may read more than it returns, never less.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hbase_orm.errors import shown
from hbase_orm.ops import KeyRange
from hbase_orm.query.explain import range_text, tree
from hbase_orm.query.fetching import Fetches, fetches
from hbase_orm.query.measured import Measured
from hbase_orm.query.times import TimeRange
from hbase_orm.rowkey.notation import to_string_binary
from hbase_orm.schema import NO_FIELDS, Condition, EntryRange, IndexSchema, TableSchema

_SHOWN = 4
_SHOWN_FILTER_BYTES = 500


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
        """What requests ask for: columns, or bare families."""
        return self.columns or self.schema.family_names

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
        return [
            f"resolve {name!r} in {table}: {'unknown' if number is None else number}"
            for table, name, number in self.resolved[:_SHOWN]
        ] + _more(len(self.resolved), "names")

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values."""
        found: dict[str, Any] = {
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
            found["times"] = repr(self.times)
        if self.unused:
            found["unused_indexes"] = list(self.unused)
        if self.measured is not None:
            found["measured"] = self.measured.to_dict()
        return found

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
        families: What is asked of those of them that show none of the columns: rows may have cells
            in others. Empty where they have not.
    """

    keys: tuple[bytes, ...] = ()
    families: tuple[bytes, ...] = ()

    def steps(self) -> list[str]:
        """Return the keys, the first few of many."""
        shown = [f"get {to_string_binary(key)}" for key in self.keys[:_SHOWN]]
        return shown + _more(len(self.keys), "keys")

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
        shown = [f"{verb} {range_text(key_range)}" for key_range in self.ranges[:_SHOWN]]
        return shown + _more(len(self.ranges), "ranges") + _filter_line(self.filter)

    @property
    def requests(self) -> str:
        """One scanner a range."""
        return f"{len(self.ranges)} scanner{_s(self.ranges)}, {self.fetches} rows a call"

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
        first = [f"{verb} {range_text(r)}" for r in self.buckets[0][:_SHOWN]]
        last = [f"{verb} {range_text(r)}" for r in self.buckets[-1][:1]]
        gap = ["…"] if len(self.buckets) > 2 else []  # noqa: PLR2004 - the first and the last
        body = [*first, *_more(len(self.buckets[0]), "ranges"), *gap, *last]
        merging = tree(f"merge {len(self.buckets)} buckets by the key without its first part", body)
        return [merging, *_filter_line(self.filter)]

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

    def steps(self) -> list[str]:
        """Return the tables, the first few of many, with their plans."""
        shown = [tree(inner.schema.table, inner.steps()) for _, inner in self.plans[:_SHOWN]]
        return shown + _more(len(self.plans), "tables")

    @property
    def requests(self) -> str:
        """What the first of the tables needs, for each."""
        tables = f"{len(self.plans)} table{_s(self.plans)}"
        return f"{tables}, each: {self.plans[0][1].requests}"


@dataclass(frozen=True, slots=True)
class Passed:
    """The entries that pages before this one have read.

    Attributes:
        key: The last of them.
        since_ms: When the first page was asked for.
    """

    key: bytes
    since_ms: int


@dataclass(frozen=True, slots=True, eq=False)
class IndexPlan(Plan):
    """Entries of an index, then the rows they name; each row is checked against its entry.

    Attributes:
        index: The index.
        families: What is asked of rows that show none of the columns: they may have cells in
            others. Empty where they have not.
        keys: The claims of a unique index that are asked for, in the order of the rows; then
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
            shown = [f"get {to_string_binary(key)}" for key in self.keys[:_SHOWN]]
            return shown + _more(len(self.keys), "keys")
        ranges = self.buckets[0] if self.buckets else self.ranges
        shown = [f"{verb} {range_text(each)}" for each in ranges[:_SHOWN]]
        shown += _more(len(ranges), "ranges")
        if not self.buckets:
            return shown
        return [tree(f"merge {len(self.buckets)} buckets by the key without its first byte", shown)]

    @property
    def requests(self) -> str:
        """One scanner a range, one multi-get a page of entries."""
        if self.keys:
            owner = "1 get of its owner" if len(self.keys) == 1 else "1 multi-get of the owners"
            return f"1 get of {len(self.keys)} claim{_s(self.keys)}, {owner}"
        ranges = self.ranges or tuple(each for bucket in self.buckets for each in bucket)
        found = f"{len(ranges)} scanner{_s(ranges)}"
        if self.is_covered:
            return f"{found}, {self.fetches} entries a call"
        return f"{found}, 1 multi-get for each {self.fetches} entries"

    @property
    def fetches(self) -> Fetches:
        """How many entries each fetch has, and so many rows each look-up."""
        return fetches(self.caching_rows, self.most_rows, self.limit, len(self.buckets) or 1)


def _filter_line(text: bytes | None) -> list[str]:
    if text is None:
        return []
    cut = "…" if len(text) > _SHOWN_FILTER_BYTES else ""
    return [f"filter: {to_string_binary(text[:_SHOWN_FILTER_BYTES])}{cut}"]


def _more(count: int, what: str) -> list[str]:
    return [f"… {count - _SHOWN} more {what}"] if count > _SHOWN else []


def _s(things: tuple[object, ...]) -> str:
    return "" if len(things) == 1 else "s"
