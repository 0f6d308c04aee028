"""Reads a few fields of rows without making objects, by a function generated per selection.

A value is decoded from the row key if the row key holds the field, otherwise from the field's cell.
If the row has no such cell, the value depends on the field:

- A counter or a version is 0.
- A field that has a default and cannot be None is the default.
- Any other field is None. For a required field this is an error, which `check_present` raises.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, cast

from hbase_orm.codecs.inline import decode_source
from hbase_orm.codecs.source import MISFITS, Scope
from hbase_orm.errors import CodecError, MissingCellError
from hbase_orm.model.mapping.compiled_reading import value_reader
from hbase_orm.model.mapping.hydrators import Listed, cell_lines, corrupt, values_source
from hbase_orm.ops import ListedRow, Row
from hbase_orm.schema import ColumnSchema, EntryExpr, Expr, TableSchema, absent_value, stored_column

Reader = Callable[..., tuple[Any, ...]]
"""A function from a row, and a `KeyContext` if its key needs one, to the values of the fields."""

_KEPT = 256


def reader_of(model: Any, fields: Sequence[Expr[Any]]) -> Reader:
    """Return a function that takes a row and returns the values of `fields`.

    A field may be a field of the model, or one of its dynamic columns such as `tags["rack"]`.
    """
    names = tuple(field.name for field in fields)
    entries = [stored_column(model.__schema__, f) for f in fields if isinstance(f, EntryExpr)]
    return _reader(model, names, tuple(entry for entry in entries if entry is not None))


@lru_cache(maxsize=_KEPT)
def _reader(model: Any, names: tuple[str, ...], entries: tuple[ColumnSchema, ...]) -> Reader:
    """Return a function that reads rows of both kinds, by a function for each kind."""
    plain = _compiled(model, names, entries, None)
    schema: TableSchema = model.__schema__
    columns = _read_columns(schema, names, entries)
    compiled = value_reader(schema, columns, names, plain)
    if compiled is not None:
        return cast("Reader", compiled)
    # One value, because threads share it.
    last: tuple[Listed | None, Reader] = (None, plain)

    def read_any(row: Row, context: Any = None) -> tuple[Any, ...]:
        nonlocal last
        if not isinstance(row, ListedRow):
            return plain(row, context)
        listed, read = last
        if row.listed is not listed:
            read = _compiled(model, names, entries, row.listed)
            last = row.listed, read
        return read(row, context)

    return read_any


@lru_cache(maxsize=_KEPT)
def _compiled(
    model: Any,
    names: tuple[str, ...],
    entries: tuple[ColumnSchema, ...],
    listed: Listed | None,
) -> Reader:
    schema: TableSchema = model.__schema__
    decoded = schema.layout.decoded
    places = {name: f"v{number}" for number, name in enumerate(names)}
    scope = Scope(MISFITS=MISFITS, decode_key=schema.layout.decode_parts)
    lines = ["def read(row, context=None):"]
    if any(name in decoded for name in names):
        # The variable `_` takes the values that are not selected.
        targets = "".join(f"{places.get(name, '_')}, " for name in decoded)
        lines.append(f"    ({targets}) = decode_key(row.key, context)")
    columns = _read_columns(schema, names, entries)
    if columns:
        scope.values["read_plainly"] = partial(_read_plainly, schema, tuple(columns.values()))
        first, values = values_source(listed)
        lines += [first, "    try:"]
        for name, column in columns.items():
            lines += _from_cell(schema, column, places[name], scope, values)
        targets = "".join(f"{places[name]}, " for name in columns)
        lines += ["    except MISFITS:", f"        ({targets}) = read_plainly(row)"]
    lines.append(f"    return ({''.join(f'{place}, ' for place in places.values())})")
    reader: Reader = scope.compiled(lines, "read")
    return reader


def _read_columns(
    schema: TableSchema, names: Sequence[str], entries: Sequence[ColumnSchema]
) -> dict[str, ColumnSchema]:
    """Return the columns of the fields that are not decoded from the row key, by name."""
    by_name = {**schema.column_by_name, **{entry.name: entry for entry in entries}}
    return {name: by_name[name] for name in names if name not in schema.layout.decoded}


def _from_cell(
    schema: TableSchema,
    column: ColumnSchema,
    place: str,
    scope: Scope,
    values: Mapping[bytes, str] | None,
) -> list[str]:
    absent = scope.bind(partial(absent_value, schema, column), "absent")
    constant = "0" if column in schema.numbers else "None" if column.nullable else f"{absent}()"
    return cell_lines(
        column.column,
        lambda data: [f"{place} = {decode_source(column.codec, data, scope)}"],
        [f"{place} = {constant}"],
        values,
    )


def _read_plainly(
    schema: TableSchema, columns: Sequence[ColumnSchema], row: Row
) -> tuple[Any, ...]:
    """Return the values of the columns in a row, by calls to the codecs.

    Raises:
        CorruptRowError: A cell does not decode.
    """
    values = []
    for column in columns:
        cell = row.cells.get(column.column)
        try:
            value = (
                absent_value(schema, column) if cell is None else column.codec.decode(cell.value)
            )
        except CodecError as error:
            raise corrupt(schema, row, column) from error
        values.append(value)
    return tuple(values)


def required(schema: TableSchema, names: Sequence[str]) -> list[tuple[int, ColumnSchema]]:
    """Return each required field among `names`: its position in `names` and its column."""
    columns = []
    for place, name in enumerate(names):
        column = schema.column_by_name.get(name)
        if column is None or name in schema.layout.decoded or column in schema.numbers:
            continue
        if not (column.nullable or column.has_default):
            columns.append((place, column))
    return columns


def check_present(
    schema: TableSchema, wanted: Sequence[tuple[int, ColumnSchema]], row: Row, values: Sequence[Any]
) -> None:
    """Raise an error if a row lacks the cell of a required field.

    Args:
        schema: The schema of the model.
        wanted: The result of `required` for the selected fields.
        row: The row.
        values: The values of the selected fields in the row.

    Raises:
        MissingCellError: A cell is missing; the error names the row and the column.
    """
    for place, column in wanted:
        if values[place] is None and column.column not in row.cells:
            raise MissingCellError(
                "the row has no cell for this required field",
                model=schema.model_name,
                field=column.name,
                row=row.key,
                column=column.column,
                fix="declare the field nullable, or give it a default",
            )
