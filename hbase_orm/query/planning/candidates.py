"""The ways to read a statement's rows: by the row key or by an index, and in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hbase_orm.errors import QueryError
from hbase_orm.ops import KeyRange
from hbase_orm.query.conditions.bounds import Alternative, Bounds
from hbase_orm.query.planning.constants import constant_names, single_parts
from hbase_orm.query.planning.grouping import streams_groups
from hbase_orm.query.planning.implied import is_implied
from hbase_orm.query.planning.index_bounds import index_bounds
from hbase_orm.query.planning.key_ranges import KeyAccess, united
from hbase_orm.query.planning.key_search import Search
from hbase_orm.query.plans.index_plan import IndexPlan
from hbase_orm.query.statements.clauses import AnyIndex
from hbase_orm.query.statements.selection import OBJECTS, Fetch, fields_read
from hbase_orm.query.statements.statement import Select
from hbase_orm.rowkey import KeyLayout, Part
from hbase_orm.rowkey.derivations import OffsetOf, PeriodOf
from hbase_orm.rowkey.nulls import OrNone
from hbase_orm.rowkey.salting import bucket_of
from hbase_orm.schema import (
    ColumnSchema,
    EntryExpr,
    Expr,
    FunctionExpr,
    Index,
    IndexSchema,
    Order,
    TableSchema,
    column_field,
)

SALT_BYTES: Final = 1
"""The width of the salt at the beginning of every entry key of a salted index."""

_NOTHING: Final = Bounds()


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to read a statement's rows: by the row key, or by one index.

    Attributes:
        index: The index, or None for the row key.
        layout: The layout of the key that is read: the row key or the index's entry key.
        parts: The parts that decide the order of the rows. For the row key, these are its parts.
            For an index, the parts of the row key follow the parts of the index. They do not follow
            if the index is unique, or if row keys begin with a part that spreads keys.
        access: The known values and the ranges of the key, which follow from the conditions.
        fetch: The columns that are read of each row, and the filters for them.
    """

    index: IndexSchema | None
    layout: KeyLayout
    parts: tuple[Part, ...]
    access: KeyAccess
    fetch: Fetch = OBJECTS

    @property
    def rank(self) -> tuple[int, int, bool]:
        """The sort key of the planner, which chooses the candidate with the greatest rank.

        Candidates that get rows by complete keys rank highest. The others rank by the number of
        leading parts that are known from conditions. A range after these parts decides a tie.
        """
        is_complete, run, has_range = self.access.rank
        # Known values of all parts of an index are a whole key only if it is unique: a claim's key.
        is_got = is_complete and (self.index is None or self.index.unique)
        return (1 if self.index is not None else 2) if is_got else 0, run, has_range

    @property
    def following(self) -> list[Part]:
        """The parts that decide the order: `parts` without those that are the same in all rows."""
        return [part for part in self.parts if part.name not in self.access.constant]

    @property
    def is_placed(self) -> bool:
        """Whether rows of several tables are read, one table after another."""
        return len({path.start for path in self.access.paths}) > 1

    def scan_direction(self, statement: Select[Any]) -> bool | None:
        """Return True if a reverse scan gives a statement's order, False if a forward scan does.

        The result is None if no scan gives the order. It is also None if the rows of a group would
        not be read one after another.
        """
        reverse = self.order_direction(statement.orders)
        groups = {group.name for group in statement.groups}
        if self.is_placed and not groups <= self.access.constant:
            return None
        is_grouped = streams_groups(
            statement.groups, self.following, self.access.constant, self._sorts_by
        )
        return reverse if is_grouped else None

    def _sorts_by(self, parts: Sequence[Part], name: str) -> bool:
        return self._take([*parts], name) is not None

    def order_direction(self, orders: Sequence[Order]) -> bool | None:
        """Return True if a reverse scan gives `orders`, False if a forward scan does, else None."""
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
        """Remove the first part of `following`; return whether it sorts field `name` ascending.

        False means descending order. None means that the part does not sort by the field. If the
        part is the period of a time, the offset of the time is removed too.
        """
        first = following.pop(0) if following else None
        if first is None or name not in first.fields or not first.is_ordered:
            return None
        if isinstance(first.derivation, PeriodOf):
            second = following.pop(0) if following else None
            fits = second is not None and second.is_ordered and _holds_time(second, name)
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
            return joining is not None  # one table after another is read
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


def _holds_time(part: Part, name: str) -> bool:
    is_time = part.derivation is None or isinstance(part.derivation, OffsetOf)
    return is_time and part.fields == (name,)


# --- by an index ----------------------------------------------------------------------------------


def candidates_by_index(
    statement: Select[Any],
    schema: TableSchema,
    alternatives: Sequence[Alternative],
    whole: Alternative,
) -> list[Candidate]:
    """Return one candidate for each index that a statement may use.

    If the statement names no index, candidates that would read a whole index are left out.

    Args:
        statement: The statement.
        schema: The table.
        alternatives: The alternatives of the statement's conditions.
        whole: All conditions as one alternative, with wider bounds. It replaces `alternatives` if
            they give too many ranges.

    Raises:
        QueryError: The statement names an index of another model, or an index in which a
            matching row may have no entry.
    """
    named = statement.index
    if isinstance(named, AnyIndex):
        usable = [index for index in schema.indexes if index.maintained == "always"]
        candidates = [_candidate(schema, index, alternatives, whole) for index in usable]
        return [one for one in candidates if one is not None and one.access.narrows]
    assert named is not None
    return [_named(statement, schema, named, alternatives, whole)]


def _named(
    statement: Select[Any],
    schema: TableSchema,
    index: Index,
    alternatives: Sequence[Alternative],
    whole: Alternative,
) -> Candidate:
    if getattr(statement.model, index.name, None) is not index:
        raise QueryError(
            "the index belongs to another model", index=repr(index), model=schema.model_name
        )
    declared = next(each for each in schema.indexes if each.name == index.name)
    candidate = _candidate(schema, declared, alternatives, whole)
    if candidate is not None:
        return candidate
    if not all(is_implied(schema, alternative, declared.where) for alternative in alternatives):
        raise QueryError(
            "the index is partial: it has no entries for rows that do not fulfil its condition",
            index=index.name,
            where=repr(index.where),
            fix="add the index's condition, or one that implies it, to the statement",
        )
    raise QueryError(
        "the index has no entries for rows in which an indexed field is None",
        index=index.name,
        fix="add conditions that exclude None on every indexed field that is nullable, and a "
        "condition on func.each(...); or declare the index with nulls=True",
    )


def _candidate(
    schema: TableSchema, index: IndexSchema, alternatives: Sequence[Alternative], whole: Alternative
) -> Candidate | None:
    """Return the candidate that reads an index, or None if a matching row may have no entry."""
    if not all(_covers(schema, index, alternative) for alternative in alternatives):
        return None
    layout = index.layout
    bounds = [index_bounds(schema, index, each.bounds) for each in alternatives]
    access = united([Search(layout, of).access() for of in bounds], are_whole_keys=index.unique)
    if access is None:
        bounds = [index_bounds(schema, index, whole.bounds)]
        access = Search(layout, bounds[0]).access()
    # Where row keys begin with a salt, entries of equal values are not in the order of other parts.
    behind = () if schema.layout.spread is not None or index.unique else schema.layout.parts
    access = access.with_constants(constant_names([*single_parts(index), *behind], bounds))
    return Candidate(index, layout, (*layout.parts, *behind), access)


def _covers(schema: TableSchema, index: IndexSchema, alternative: Alternative) -> bool:
    """Return whether every row that fulfils an alternative has an entry in the index."""
    parts = zip(index.layout.parts, index.expressions, strict=True)
    return is_implied(schema, alternative, index.where) and all(
        _has_value(schema, part, of, alternative.bounds) for part, of in parts
    )


def _has_value(
    schema: TableSchema, part: Part, of: Expr[Any], bounds: Mapping[str, Bounds]
) -> bool:
    if isinstance(part.codec, OrNone):
        return True
    own = bounds.get(part.name, _NOTHING)
    if None in (own.equals or ()):
        return False
    if isinstance(of, FunctionExpr) and of.is_each:
        return own.excludes_none
    field = column_field(of)
    column = schema.column_by_name.get(field.name)
    if not isinstance(field, EntryExpr) and (column is None or not column.nullable):
        return True
    return own.excludes_none or bounds.get(field.name, _NOTHING).excludes_none


# --- what is read ---------------------------------------------------------------------------------


def bucket_before(index: IndexSchema, key: bytes) -> bytes:
    """Return an entry's key, with the byte of its bucket in front if the index is salted."""
    return bytes((bucket_of(key, index.salt),)) + key if index.salt else key


def in_buckets(index: IndexSchema, ranges: Sequence[KeyRange]) -> list[list[KeyRange]]:
    """Return one list for each bucket of a salted index: `ranges` with the bucket in front."""
    return [[_behind(bytes((n,)), each) for each in ranges] for n in range(index.salt)]


def _behind(bucket: bytes, key_range: KeyRange) -> KeyRange:
    last = KeyRange.prefix(bucket).stop
    stop = last if key_range.stop is None else bucket + key_range.stop
    return KeyRange(bucket + key_range.start, stop)


def reads_of_shape(template: IndexPlan, ranges: Sequence[KeyRange], key: bytes) -> dict[str, Any]:
    """Return the attributes to replace in `template`, an index plan, for new compared values.

    The statement with the new values has the shape of the template's statement.

    Args:
        template: The plan of an earlier statement.
        ranges: The ranges of entry keys for the new values, without buckets.
        key: The encoded new values. They are the key of the claim if the plan reads a claim.
    """
    if template.keys:
        return {"keys": (bucket_before(template.index, key),)}
    if template.buckets:
        return {"buckets": tuple(map(tuple, in_buckets(template.index, ranges)))}
    return {"ranges": tuple(ranges)}


def is_covered(statement: Select[Any], schema: TableSchema, index: IndexSchema) -> bool:
    """Return whether a statement can be answered from index entries, without their rows.

    Each value must be in the row key, in an included column, or in a decodable part of the entry
    key. Objects always need the rows. So does an index in which a row can have several entries,
    because each row must count only once.
    """
    if (
        index.is_multi_valued
        or not index.covering
        or statement.selection is None
        or not schema.storage.has_own_rows
    ):
        return False
    names = {column.name for column in index.included} | set(schema.layout.decoded)
    names |= decoded_columns(index).keys()
    return all(field.name in names for field in fields_read(statement))


def decoded_columns(index: IndexSchema) -> dict[str, ColumnSchema]:
    """Return the columns whose values can be decoded from an entry key, by their names."""
    plain = {of.name for of in index.expressions if not isinstance(of, FunctionExpr)}
    return {column.name: column for column in index.columns if column.name in plain}
