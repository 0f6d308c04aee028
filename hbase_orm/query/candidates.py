"""The ways to read what a statement asks for, and the order in which each gives the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hbase_orm.query.paths import KeyAccess
from hbase_orm.query.selection import OBJECTS, Fetch, streams_groups
from hbase_orm.query.statement import Select
from hbase_orm.rowkey import KeyLayout, Part
from hbase_orm.rowkey.derivations import OffsetOf, PeriodOf
from hbase_orm.schema import IndexSchema, Order


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to read the rows.

    Attributes:
        index: The index, or None for the row key.
        layout: The key that is read.
        parts: The parts of that key that decide the order of the rows, the row key's behind an
            index's own.
        access: How far the conditions narrow it.
        fetch: What is read of each row.
    """

    index: IndexSchema | None
    layout: KeyLayout
    parts: tuple[Part, ...]
    access: KeyAccess
    fetch: Fetch = OBJECTS

    @property
    def rank(self) -> tuple[int, int, bool]:
        """What a better one has more of: a whole key that can be got, a longer run, a range."""
        is_complete, run, has_range = self.access.rank
        # A whole index prefix is no whole key, but for a unique index: then it names a claim.
        is_got = is_complete and (self.index is None or self.index.unique)
        return (1 if self.index is not None else 2) if is_got else 0, run, has_range

    @property
    def following(self) -> list[Part]:
        """The parts that decide the order of the rows: those that are not the same in all."""
        return [part for part in self.parts if part.name not in self.access.constant]

    @property
    def is_placed(self) -> bool:
        """Whether the rows come table by table."""
        return len({path.start for path in self.access.paths}) > 1

    def gives(self, statement: Select[Any]) -> bool | None:
        """Return whether the scan runs in reverse to give a statement's order; None if it cannot.

        The groups of a statement must come one after the other.
        """
        reverse = self.direction(statement.orders)
        groups = {group.name for group in statement.groups}
        if self.is_placed and not groups <= self.access.constant:
            return None
        is_grouped = streams_groups(statement, self.following, self.access.constant)
        return reverse if is_grouped else None

    def direction(self, orders: Sequence[Order]) -> bool | None:
        """Return whether the scan runs in reverse to give `orders`; None if it cannot give them."""
        following = self.following
        deciding = [order for order in orders if order.field.name not in self.access.constant]
        period = self.layout.table_period
        first = deciding[0].field.name if deciding and self.is_placed else None
        if first is not None and period is not None and first != period.field:
            return None
        reverse: bool | None = None
        for order in deciding:
            ascending = self._take(following, order.field.name)
            if ascending is None:
                return None
            backwards = order.descending is ascending
            if reverse is not None and backwards is not reverse:
                return None
            reverse = backwards
        return bool(reverse)

    def _take(self, following: list[Part], name: str) -> bool | None:
        """Take the parts that sort by a field off the front; return whether they ascend."""
        first = following.pop(0) if following else None
        if first is None or name not in first.fields or not first.is_ordered:
            return None
        if isinstance(first.derivation, PeriodOf):
            second = following.pop(0) if following else None
            fits = second is not None and second.is_ordered and _tells_time(second, name)
            if second is None or not fits or second.is_descending is not first.is_descending:
                return None
        elif isinstance(first.derivation, OffsetOf):
            if not self._is_within_period(first):
                return None
        elif first.derivation is not None:
            return None
        return not first.is_descending

    def _is_within_period(self, offset: Part) -> bool:
        joining = self.layout.joining(offset.fields[0])
        if joining is None or joining[0] is None:
            return joining is not None  # rows come table by table
        return joining[0].name in self.access.constant

    def order_text(self, *, reverse: bool) -> str:
        """Return the order of the rows in words."""
        shown = []
        for part in self.following:
            if not part.is_ordered or (part.derivation is not None and part.derivation.gives_bytes):
                shown.append(f"{part.name} by its bytes")
                break
            shown.append(f"{part.name} {'desc' if part.is_descending is not reverse else 'asc'}")
        if not shown and len(self.access.paths) > 1:
            return "by the row key"
        return ", ".join(dict.fromkeys(shown)) or "at most one row"


def _tells_time(part: Part, name: str) -> bool:
    is_time = part.derivation is None or isinstance(part.derivation, OffsetOf)
    return is_time and part.fields == (name,)
