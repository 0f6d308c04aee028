"""A range of a row's dynamic columns: its qualifiers, and the scan that reads the range.

A wide row is read in two steps. First its declared columns are read. They also show that the row
exists. Then the dynamic columns in the range are read. By a filter, the server seeks to the first
column of the range and stops after the last one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from hbase_orm.errors import QueryError
from hbase_orm.ops import KeyRange, Scan
from hbase_orm.query.conditions.bounds import NothingMatchesError, high_end, low_end
from hbase_orm.query.conditions.filters import (
    AllOf,
    ByteTest,
    ColumnPage,
    ColumnRange,
    Filter,
    FirstKeyOnly,
    KeyOnly,
    QualifierFilter,
)
from hbase_orm.schema import (
    NO_FIELDS,
    And,
    Condition,
    DynamicSchema,
    EntryExpr,
    EntryRange,
    Expr,
    FunctionExpr,
    Not,
    Or,
    TableSchema,
    dynamic_of,
    left_out,
    record_types_of,
    stored_column,
)

EXISTENCE: Final = AllOf((FirstKeyOnly(), KeyOnly()))
"""A filter that passes one cell of each row, without the value, to show that the row exists."""


@dataclass(frozen=True, slots=True)
class Slice:
    """A range of a row's dynamic columns, as a range of qualifiers.

    Attributes:
        dynamic: The field of dynamic columns.
        columns: The range of qualifiers.
        limit: The largest number of dynamic columns to read of a row, or None.
    """

    dynamic: DynamicSchema
    columns: ColumnRange
    limit: int | None

    @property
    def filter(self) -> Filter:
        """The filter for the server: it passes the dynamic columns in the range, up to `limit`.

        Declared columns in the range are left out first. So the limit counts only dynamic columns.
        """
        taken = sorted(column.partition(b":")[2] for column in self.dynamic.taken)
        parts: list[Filter] = [self.columns]
        parts += [QualifierFilter(ByteTest("!=", q)) for q in taken if self.columns.holds(q)]
        if self.limit is not None:
            parts.append(ColumnPage(self.limit))
        return parts[0] if len(parts) == 1 else AllOf(tuple(parts))

    def scan_of(self, table: str, key: bytes) -> Scan:
        """Return the scan that reads this range of the row with `key`."""
        return Scan(
            table=table,
            key_range=KeyRange.single(key),
            columns=(self.dynamic.prefix.partition(b":")[0],),
            filter=bytes(self.filter),
            caching_rows=1,
        )


def slice_of(schema: TableSchema, entries: EntryRange) -> Slice | None:
    """Return the `Slice` for a range of dynamic columns, or None if the range is empty.

    Raises:
        QueryError: The field belongs to another model, or its stored names do not sort like names.
            Or an end has another type than the names.
    """
    dynamic = dynamic_of(schema, entries.of)
    codec = dynamic.name_codec
    _check_ordered(entries, dynamic)
    try:
        low = low_end(codec, ">=", codec.comparable(entries.start))
        high = high_end(codec, "<", codec.comparable(entries.stop))
    except NothingMatchesError:
        return None
    prefix = dynamic.prefix.partition(b":")[2]
    ends = [
        None if end is None else (prefix + codec.encode(end.value), end.included)
        for end in ((high, low) if codec.desc else (low, high))
    ]
    first, last = ends[0] or (prefix, True), ends[1]
    if last == (b"", False):  # for HBase's filter, an empty end means no end
        return None
    columns = ColumnRange(*first, *(last or (KeyRange.prefix(prefix).stop or b"", False)))
    return None if columns.is_empty else Slice(dynamic, columns, entries.limit)


def _check_ordered(entries: EntryRange, dynamic: DynamicSchema) -> None:
    codec = dynamic.name_codec
    if not codec.ordered:
        raise QueryError(
            "columns_between() needs names whose bytes sort like the names themselves",
            field=repr(entries.of),
            codec=codec.name,
            fix="declare name= with a codec that keeps the order: codecs.text(), uint64(), "
            "millis() ...",
        )
    for name in (entries.start, entries.stop):
        if not codec.compares(name):
            raise QueryError(
                "an end of the range has another type than the names",
                field=repr(entries.of),
                value=name,
                expected=codec.python_type.__name__,
                fix="give a value of this type",
            )


def has_anchor(schema: TableSchema) -> bool:
    """Return whether a row's declared columns and its marker show that the row exists.

    If false, any cell makes a row exist, even a cell of a dynamic column.
    """
    return schema.has_guards or all(each.anchor is not None for each in record_types_of(schema))


def columns_beside(
    schema: TableSchema, conditions: tuple[Condition, ...], loaded: frozenset[str] = NO_FIELDS
) -> tuple[bytes, ...]:
    """Return the columns of a row that are read besides its range of dynamic columns.

    They are the declared columns, the marker, and the dynamic columns that the conditions compare.
    A deferred column is left out, unless its field is in `loaded`.
    """
    columns: list[bytes] = []
    for each in (schema, *record_types_of(schema)):
        columns += [column.column for column in each.column_by_name.values()]
        columns += [] if each.marker is None else [each.marker]
    for entry in _entries_in(And(conditions)):
        column = stored_column(schema, entry)
        columns += [] if column is None else [column.column]
    hidden = {column.column for column in left_out(schema, loaded)}
    return tuple(column for column in dict.fromkeys(columns) if column not in hidden)


def _entries_in(condition: Condition) -> list[Expr[Any]]:
    match condition:
        case And(conditions=inner) | Or(conditions=inner):
            return [entry for part in inner for entry in _entries_in(part)]
        case Not(condition=single):
            return _entries_in(single)
    of = getattr(condition, "field", None)
    of = of.of if isinstance(of, FunctionExpr) else of
    return [of] if isinstance(of, EntryExpr) else []
