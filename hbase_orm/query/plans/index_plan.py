"""The plan that reads entries of an index, and the rows that they lead to."""

from __future__ import annotations

from dataclasses import dataclass, field

from hbase_orm.ops import KeyRange
from hbase_orm.query.plans.explain import first_lines, key_in_short, plural, range_text, tree
from hbase_orm.query.plans.fetch_sizes import Fetches, fetches
from hbase_orm.query.plans.passed_entries import Passed
from hbase_orm.query.plans.plans import Plan
from hbase_orm.schema import IndexSchema


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class IndexPlan(Plan):
    """Reads entries of an index, then looks up their rows; each row is checked against its entry.

    Attributes:
        index: The index.
        families: The families that a second request reads for rows without any of `columns`, to see
            whether these rows exist. Empty if no second request is needed.
        keys: The keys of claims (entries of a unique index), in the order of the rows.
            If there are keys, `ranges` and `buckets` are empty.
        ranges: The ranges of entry keys, in the order of the rows; empty for a salted index.
        buckets: The ranges of each bucket of a salted index; empty for other indexes.
        within: For an index in which a row can have several entries: all ranges, without buckets.
            A row is returned only at its first entry within them. Empty for other indexes.
        passed: How far earlier pages have read the entries, or None for the first page.
        is_covered: Whether verified entries answer the statement without a look-up of their rows.
        reverse: Whether the entries are read in descending order of their keys.
        caching_rows: The caching of the scanners. It also limits the entries of the first fetch.
        most_rows: The most entries in later fetches, and the most rows in one look-up. 0 if every
            fetch has `caching_rows` entries.
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
        """Return two texts for display: the reads of the index, and the look-up of the rows."""
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
            return first_lines(self.keys, lambda key: f"get {key_in_short(key)}", "keys")
        ranges = self.buckets[0] if self.buckets else self.ranges
        scans = first_lines(ranges, lambda each: f"{verb} {range_text(each)}", "ranges")
        if not self.buckets:
            return scans
        return [tree(f"merge {len(self.buckets)} buckets by the key without its first byte", scans)]

    @property
    def requests(self) -> str:
        """The description of the requests: scanners or gets in the index, and look-ups of rows."""
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
        """The numbers of entries fetched per call; `most` also limits the rows of one look-up."""
        return fetches(self.caching_rows, self.most_rows, self.limit, len(self.buckets) or 1)
