"""The columns that a statement reads of each row, for objects, for values or for row keys only.

For values, these columns are read:

- the columns of the fields that are selected, compared, grouped by or sorted by
- for guarded models, also the first required column, which shows that the row exists
- whole families instead, if a row without these columns may exist and match

For objects, whole families are read, but not the values of deferred columns. The values of a
deferred column are read only if the statement compares or sorts by them.

If all fields that a statement reads are in the row key, the server sends only the keys of cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from hbase_orm.errors import QueryError
from hbase_orm.model import ListRelation
from hbase_orm.query.conditions.bounds import Bounds
from hbase_orm.query.conditions.filters import (
    AllOf,
    AnyOf,
    Filter,
    FirstKeyOnly,
    KeyOnly,
    NotColumn,
    OnlyColumn,
)
from hbase_orm.query.statements.aggregates import SORTED_TYPES, Aggregate, check_type
from hbase_orm.query.statements.slices import slice_of
from hbase_orm.query.statements.statement import Select
from hbase_orm.rowkey.notation import to_string_binary
from hbase_orm.schema import (
    NO_FIELDS,
    ColumnSchema,
    EntryExpr,
    Expr,
    FunctionExpr,
    IndexSchema,
    Order,
    TableSchema,
    codec_of,
    column_field,
    columns_read,
    compared_by,
    deferred_names,
    left_out,
    record_types_of,
    stored_column,
)


def check_selection(schema: TableSchema, statement: Select[Any]) -> None:
    """Raise an error for fields that cannot be selected, grouped or sorted.

    Raises:
        QueryError: A field belongs to another model, has a wrong type, or is missing in group_by().
    """
    if statement.related and statement.selection is not None:
        raise QueryError(
            "a statement that selects values cannot load related objects",
            related=[repr(field) for field in statement.related],
            fix=f"select({schema.model_name}) for objects, or leave .load_related() out",
        )
    _check_functions(statement)
    _check_entries(schema, statement)
    for group in statement.groups:
        codec_of(schema, group)
    for order in () if statement.sort is None else statement.sort.orders:
        _check_sorted(schema, order)
    grouped = {group.name for group in statement.groups}
    for item in statement.items:
        if isinstance(item, Aggregate):
            if item.field is not None:
                check_type(item, codec_of(schema, item.field))
            continue
        codec_of(schema, item)
        if statement.is_aggregated and item.name not in grouped:
            raise QueryError(
                "a field that is selected beside an aggregate is missing in group_by()",
                field=repr(item),
                fix=f"add .group_by({item!r})"
                + ("" if isinstance(item, FunctionExpr) else f", or select func.min({item!r})"),
            )
    if statement.groups and not statement.items:
        raise QueryError(
            "a statement with group_by cannot select objects",
            groups=[repr(group) for group in statement.groups],
            fix="select the grouped fields and aggregates: select(M.a, func.count()).group_by(M.a)",
        )
    if statement.is_aggregated and statement.sort is not None:
        raise QueryError(
            "a statement with aggregates cannot be sorted in memory",
            fix="sort the list that session.all returns: it has one row for each group",
        )


def _check_functions(statement: Select[Any]) -> None:
    """Raise an error for functions of fields in places where only fields are allowed.

    A function can be selected if the statement groups by it. Rows are neither grouped nor ordered
    by the items of a collection.
    """
    sorts = () if statement.sort is None else statement.sort.orders
    aggregated = [item.field for item in statement.items if isinstance(item, Aggregate)]
    plain = () if statement.groups else statement.items
    for field in (*plain, *aggregated, *(order.field for order in sorts)):
        if isinstance(field, FunctionExpr):
            raise QueryError(
                "a function of a field cannot be selected, unless the statement groups by it; it "
                "can be compared, indexed and ordered by",
                field=repr(field),
                fix=f"select {field.of!r}, and compute the function in Python",
            )
    for group in statement.groups:
        if isinstance(group, FunctionExpr) and group.is_each:
            raise QueryError(
                "rows cannot be grouped by the items of a collection, since a row may have "
                "several items",
                group=repr(group),
                fix=f"select {group.of!r}, and count the items in Python",
            )
    for order in statement.orders:
        if isinstance(order.field, FunctionExpr) and order.field.is_each:
            raise QueryError(
                "rows cannot be ordered by the items of a collection, since a row may have "
                "several items",
                order=repr(order),
                fix="leave order_by() out: rows are returned in the order of the index",
            )


def _check_entries(schema: TableSchema, statement: Select[Any]) -> None:
    entries = statement.entries
    if entries is None:
        return
    slice_of(schema, entries)
    sorts = () if statement.sort is None else statement.sort.orders
    is_by_entry = any(isinstance(order.field, EntryExpr) for order in sorts)
    if statement.selection is not None or is_by_entry:
        raise QueryError(
            "columns_between() works only for objects, and not with a sort in memory by dynamic "
            "columns",
            entries=repr(entries),
            fix=f"select({schema.model_name}) and sort by other fields, or leave "
            ".columns_between() out",
        )


def _check_sorted(schema: TableSchema, order: Order) -> None:
    kind = codec_of(schema, order.field).python_type
    if not issubclass(kind, SORTED_TYPES):
        raise QueryError(
            "values of this type have no order",
            field=repr(order.field),
            type=kind.__name__,
            fix="sort the list that session.all returns in Python, with key=",
        )


def fields_read(statement: Select[Any]) -> tuple[Expr[Any], ...]:
    """Return the fields that a statement selects, aggregates, groups by, sorts by or compares.

    Each field is returned once. The selected fields come first.
    """
    sorts = () if statement.sort is None else statement.sort.orders
    fields = [*fields_given(statement), *(each.field for each in sorts)]
    fields += [column_field(of) for each in statement.conditions for of in compared_by(each)]
    by_name: dict[str, Expr[Any]] = {}
    for field in fields:
        by_name.setdefault(field.name, field)
    return tuple(by_name.values())


def fields_given(statement: Select[Any]) -> list[Expr[Any]]:
    """Return the fields that are selected, aggregated or grouped by, or used by a function there.

    A field that is named several times is returned several times.
    """
    items = [item.field if isinstance(item, Aggregate) else item for item in statement.items]
    return [column_field(of) for of in (*items, *statement.groups) if of is not None]


@dataclass(frozen=True, slots=True)
class Fetch:
    """The columns and filters for reading a row.

    Attributes:
        columns: Columns or whole families; empty means all families, for objects.
        filter: The filter for a scan, or None. It leaves out cells, but no rows.
        wanted: The columns that `filter` passes, besides the first cell of each row. Empty without
            a filter, or if the filter passes only keys.
        got: The columns that a get requests. Empty if a get requests `columns`, as a scan does.
        families: The families of a second get, for rows without any of `got`. The second get shows
            whether these rows exist. Empty if no second get is needed.
        mask: The filter with which a scan leaves out the values of `hidden`, or None.
        hidden: The columns whose values neither a scan nor a get returns.
    """

    columns: tuple[bytes, ...] = ()
    filter: Filter | None = None
    wanted: tuple[bytes, ...] = ()
    got: tuple[bytes, ...] = ()
    families: tuple[bytes, ...] = ()
    mask: Filter | None = None
    hidden: tuple[bytes, ...] = ()

    def text(self, *, is_filtered: bool) -> str:
        """Return the columns that are read, as text; empty for objects with all columns.

        `is_filtered` is whether the read applies `filter`.
        """
        if not self.columns:
            return f"columns: all but {_listed(self.hidden)}" if self.hidden else ""
        if self.filter is None or not is_filtered:
            return f"columns: {_listed(self.columns)}"
        if not self.wanted:
            return "keys only"
        return f"columns: {_listed(self.wanted)}, and the first cell of each row"


def _listed(columns: Sequence[bytes]) -> str:
    return ", ".join(map(to_string_binary, columns))


OBJECTS: Final = Fetch()
_FIRST_KEY: Final = AllOf((FirstKeyOnly(), KeyOnly()))
# A server compares each cell with each named column; with more, sending whole rows costs less.
_MOST_NAMED: Final = 8


def fetched(
    statement: Select[Any],
    schema: TableSchema,
    alternatives: Sequence[Mapping[str, Bounds]],
    index: IndexSchema | None = None,
) -> Fetch:
    """Return the columns and filters for reading a statement's rows.

    Args:
        statement: The statement.
        schema: The table.
        alternatives: The bounds of each alternative of the conditions.
        index: The index that is read, or None. The columns of the index are read of each row too,
            because index entries are checked against their rows.
    """
    if statement.selection is None:
        return _without_deferred(schema, OBJECTS, loaded_by(statement, schema))
    columns = [each for field in fields_read(statement) for each in _columns_of(schema, field)]
    if index is not None:
        columns += index.columns
    named = tuple(dict.fromkeys(column.column for column in columns))
    fetch = _of_values(statement, schema, alternatives, columns, named)
    return _without_deferred(schema, fetch, loaded_by(statement, schema))


def loaded_by(statement: Select[Any], schema: TableSchema) -> frozenset[str]:
    """Return the deferred fields that a statement selects, compares or sorts by."""
    deferred = deferred_names(schema)
    if not deferred:
        return NO_FIELDS
    return deferred & {field.name for field in fields_read(statement)}


def _without_deferred(schema: TableSchema, fetch: Fetch, loaded: frozenset[str]) -> Fetch:
    """Return `fetch` without the values of deferred columns that are not in `loaded`.

    A fetch of single columns is returned unchanged.
    """
    if fetch.columns not in {(), schema.family_names}:
        return fetch
    hidden = tuple(column.column for column in left_out(schema, loaded))
    if not hidden:
        return fetch
    return replace(
        fetch,
        got=columns_read(schema, loaded),
        families=schema.family_names,
        mask=_mask(hidden),
        hidden=hidden,
    )


def _mask(hidden: Sequence[bytes]) -> Filter:
    """Return a filter that passes all cells, but removes the values of the columns in `hidden`."""
    others = [NotColumn(column) for column in hidden]
    those = [OnlyColumn(column) for column in hidden]
    rest = others[0] if len(others) == 1 else AllOf(tuple(others))
    some = those[0] if len(those) == 1 else AnyOf(tuple(those))
    return AnyOf((rest, AllOf((some, KeyOnly()))))


def _of_values(
    statement: Select[Any],
    schema: TableSchema,
    alternatives: Sequence[Mapping[str, Bounds]],
    columns: Sequence[ColumnSchema],
    named: tuple[bytes, ...],
) -> Fetch:
    """Return the fetch for the values of `columns`; `named` has their `family:qualifier` names."""
    if not schema.storage.has_own_rows:  # each row holds many objects, by qualifiers that vary
        return Fetch(schema.family_names, None if named else KeyOnly())
    if not named and not schema.has_guards:
        return Fetch(schema.family_names, _FIRST_KEY)
    if not schema.has_guards and _is_proof(schema, statement, columns, alternatives):
        return Fetch(named)
    anchors = tuple(dict.fromkeys(each.anchor for each in record_types_of(schema)))
    if not schema.has_guards or None in anchors:
        return _whole(schema, named)
    existing = tuple(anchor.column for anchor in anchors if anchor is not None)
    return Fetch(tuple(dict.fromkeys(named + existing)), None if named else KeyOnly())


def _whole(schema: TableSchema, named: tuple[bytes, ...]) -> Fetch:
    """Return a fetch of whole families, for models in which any cell makes a row exist."""
    if not named:
        return Fetch(schema.family_names, KeyOnly())
    if len(named) > _MOST_NAMED or not _first_cell_shows_row(schema):
        return Fetch(schema.family_names)
    some = AnyOf((*(OnlyColumn(column) for column in named), FirstKeyOnly()))
    return Fetch(schema.family_names, some, named)


def _first_cell_shows_row(schema: TableSchema) -> bool:
    """Return whether any cell shows that a row exists: no counter, and none the record lacks."""
    if not schema.has_guards:
        return True
    has_record = any(each.existence is not None for each in record_types_of(schema))
    return not schema.counted and not has_record


def _columns_of(schema: TableSchema, field: Expr[Any]) -> list[ColumnSchema]:
    """Return the columns of a field, in the model and in each record type that declares it."""
    models = () if schema.record_types is None else schema.record_types.models.values()
    existing = []
    for each in (schema, *(model.__schema__ for model in models)):
        column = stored_column(each, field)
        if column is not None and field.name not in each.layout.decoded:
            existing.append(column)
    return existing


def _is_proof(
    schema: TableSchema,
    statement: Select[Any],
    columns: Sequence[ColumnSchema],
    alternatives: Sequence[Mapping[str, Bounds]],
) -> bool:
    """Return whether every valid row that matches has a cell in one of the columns."""
    if any(_is_needed(schema, field) for field in fields_given(statement)):
        return True
    return bool(alternatives) and all(
        any(_shows(schema, column, bounds.get(column.name)) for column in columns)
        for bounds in alternatives
    )


def _is_needed(schema: TableSchema, field: Expr[Any]) -> bool:
    """Return whether a selected field is required in every record type."""
    return not isinstance(field, EntryExpr) and all(
        field.name not in each.layout.names
        and any(
            column.name == field.name and not column.has_default for column in each.in_every_row
        )
        for each in record_types_of(schema)
    )


def _shows(schema: TableSchema, column: ColumnSchema, bounds: Bounds | None) -> bool:
    """Return whether all rows that match the bounds of a column have a cell in the column."""
    if bounds is None or not bounds.excludes_none or schema.record_types is not None:
        return False
    is_plain = column not in schema.numbers and column.name not in schema.layout.names
    return is_plain and (column.nullable or not column.has_default)


def steps_after(statement: Select[Any]) -> tuple[str, ...]:
    """Return the descriptions of the steps that follow the read of the rows, for display."""
    steps = []
    if statement.is_aggregated:
        made = ", ".join(map(repr, statement.items))
        groups = ", ".join(map(repr, statement.groups))
        steps.append(f"compute {made}" + (f" for each {groups}" if groups else ""))
    if statement.sort is not None:
        orders = ", ".join(map(repr, statement.sort.orders))
        steps.append(f"sort in memory by {orders}: at most {statement.sort.max_rows} rows")
    if steps and statement.row_limit is not None:
        steps.append(f"give the first {statement.row_limit}")
    for field in statement.related:
        is_list = isinstance(statement.model.__related__[field.name], ListRelation)
        steps.append(f"load {field!r}: 1 {'read an object' if is_list else 'multi-get a page'}")
    return tuple(steps)
