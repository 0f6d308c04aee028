"""Makes objects of rows, by functions that are generated for each model and the columns of rows.

The source of such a function names each column, and contains what the column's codec does with
usual values. For other values the codecs are called cell by cell, and raise precise errors. If the
columns of the rows are known before (`ListedRow`), the values are taken by their places; otherwise
each cell is looked up by its column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache, partial
from typing import Any

from hbase_orm.codecs.inline import decode_source
from hbase_orm.codecs.source import MISFITS, Scope, literal
from hbase_orm.errors import CodecError, CorruptRowError
from hbase_orm.model.mapping.compiled_reading import object_maker
from hbase_orm.model.mapping.entries import read_entries, reading_lines
from hbase_orm.model.state import SetState, state_lines
from hbase_orm.ops import FIELDS_PER_CELL, VALUE_FIELD, Cell, Row
from hbase_orm.schema import NO_FIELDS, ColumnSchema, TableSchema

Hydrator = Callable[..., Any]
"""A function that makes an object of a row."""

Listed = tuple[bytes, ...]
"""The columns of `ListedRow`s."""

HydratorOf = Callable[[AbstractSet[str], Listed | None], Hydrator]

Maker = Callable[[], Any]
"""A function that returns the compiled maker of objects; None if there is none."""

# A model's rows are read with few combinations of columns, unless other programs add columns.
_KEPT_HYDRATORS = 64


def hydrators(cls: type, schema: TableSchema, set_state: SetState) -> HydratorOf:
    """Return a function that takes names of deferred fields and returns a hydrator.

    The hydrator makes objects from rows that were read with these deferred fields. Names of fields
    that are not deferred are ignored. The function's second argument is in `Mapping.hydrator`.
    """
    names = frozenset(column.name for column in schema.deferred)

    @lru_cache(maxsize=_KEPT_HYDRATORS)
    def hydrator(loaded: frozenset[str], listed: Listed | None) -> Hydrator:
        return _compile_hydrator(cls, schema, set_state, loaded, listed)

    def hydrator_of(loaded: AbstractSet[str], listed: Listed | None) -> Hydrator:
        loaded = names & loaded
        # Cells of any other column are needed by name.
        if schema.dynamics or loaded != names:
            listed = None
        return hydrator(loaded, listed)

    return hydrator_of


def maker(cls: type, schema: TableSchema, set_state: SetState, hydrator_of: HydratorOf) -> Maker:
    """Return a function that returns the compiled maker, which is made at the first call."""

    @cache
    def made() -> Any:
        if schema.deferred:  # their cells may be there without their values
            return None
        hydrate = hydrator_of(NO_FIELDS, None)
        return object_maker(cls, schema, set_state, read_columns(schema), hydrate)

    return made


def _compile_hydrator(
    cls: type,
    schema: TableSchema,
    set_state: SetState,
    loaded: frozenset[str],
    listed: Listed | None,
) -> Hydrator:
    """Return a function that makes an object from a row read with the deferred fields `loaded`.

    If `listed` is given, the function is for `ListedRow`s with these columns.
    """
    hidden = frozenset(each.column for each in schema.deferred if each.name not in loaded)
    columns = [column for column in read_columns(schema) if column.column not in hidden]
    scope = Scope(new=cls.__new__, cls=cls, MISFITS=MISFITS)
    scope.values["decode_key"] = schema.layout.decode_parts
    scope.values["read_plainly"] = partial(_read_plainly, schema, columns)
    targets = "".join(f"d[{literal(name)}], " for name in schema.layout.decoded)
    lines = ["def hydrate(row, context=None):", "    obj = new(cls)", "    d = obj.__dict__"]
    lines += [f"    ({targets}) = decode_key(row.key, context)"]
    if hidden:
        without = scope.bind(partial(_without, hidden), "without")
        lines.append(f"    row = {without}(row)")
    first, values = values_source(listed)
    lines.append(first)
    lines.append("    try:")
    for column in columns:
        lines += _reading(column, _absent(column, scope), scope, values)
    for number in schema.numbers:  # without a cell, the descriptor returns 0
        lines += _reading(number, [], scope, values)
    lines += reading_lines(schema, scope)
    lines += ["        pass", "    except MISFITS:", "        row = read_plainly(d, row)"]
    lines += [*state_lines("obj", "row", scope, set_state, loaded), "    return obj"]
    hydrate: Hydrator = scope.compiled(lines, "hydrate")
    return hydrate


def _without(hidden: frozenset[bytes], row: Row) -> Row:
    """Return a row without the cells of deferred fields, which a scan returns with empty values."""
    if hidden.isdisjoint(row.cells):
        return row
    return Row(row.key, {name: cell for name, cell in row.cells.items() if name not in hidden})


def read_columns(schema: TableSchema) -> list[ColumnSchema]:
    """Return the columns from which fields are read.

    A key field that can be decoded from the row key is not read from its column.
    """
    return [column for column in schema.columns if column.name not in schema.layout.decoded]


def values_source(listed: Listed | None) -> tuple[str, Mapping[bytes, str] | None]:
    """Return the source line before those of `cell_lines`, and their last argument.

    Args:
        listed: The columns of the `ListedRow`s to read; None for other rows.
    """
    if listed is None:
        return "    get = row.cells.get", None
    values = {column: f"c{place}" for place, column in enumerate(listed)}
    targets = "".join(f"{value}, " for value in values.values())
    return f"    ({targets}) = row.fields[{VALUE_FIELD}::{FIELDS_PER_CELL}]", values


def cell_lines(
    column: bytes,
    present: Callable[[str], Sequence[str]],
    absent: Sequence[str],
    values: Mapping[bytes, str] | None,
) -> list[str]:
    """Return the source lines that read the cell of one column, inside of a `try`.

    Args:
        column: The column.
        present: A function that takes the name of the variable with the cell's value, and returns
            source lines.
        absent: The source lines for a row without such a cell.
        values: The variable of each column that has one. If None, `get` returns the cells.
    """
    value = "data" if values is None else values.get(column)
    if value is None:
        return [f"        {line}" for line in absent]
    lines = [f"            {line}" for line in present(value)]
    if absent:
        lines += ["        else:", *(f"            {line}" for line in absent)]
    if values is not None:
        return [f"        if {value} is not None:", *lines]
    get = f"        cell = get({literal(column)})"
    return [get, "        if cell is not None:", "            data = cell.value", *lines]


def _reading(
    column: ColumnSchema,
    absent: Sequence[str],
    scope: Scope,
    values: Mapping[bytes, str] | None,
) -> list[str]:
    """Return the source lines that read a field from its cell, see `cell_lines`."""

    def present(value: str) -> list[str]:
        return [f"d[{literal(column.name)}] = {decode_source(column.codec, value, scope)}"]

    return cell_lines(column.column, present, absent, values)


def _absent(column: ColumnSchema, scope: Scope) -> list[str]:
    if column.nullable:
        return [f"d[{literal(column.name)}] = None"]
    if not column.has_default:
        return []
    with_default = scope.bind(partial(_with_default, column), "with_default")
    return [f"row = {with_default}(d, row)"]


def _with_default(column: ColumnSchema, values: dict[str, Any], row: Row) -> Row:
    """Set a field that has no cell to its default; return the row with a cell for it."""
    value = column.new_default()
    values[column.name] = value
    return Row(row.key, {**row.cells, column.column: Cell(column.codec.encode(value), 0)})


def _read_plainly(
    schema: TableSchema, columns: Sequence[ColumnSchema], values: dict[str, Any], row: Row
) -> Row:
    """Read the fields of a row into `values`, by calls to the codecs.

    Return the row, with a cell added for each default that was used.

    Raises:
        CorruptRowError: A cell does not decode.
    """
    numbers = {column.name for column in schema.numbers}
    for column in (*columns, *schema.numbers):
        cell = row.cells.get(column.column)
        try:
            if cell is not None:
                values[column.name] = column.codec.decode(cell.value)
            elif column.name in numbers:
                continue
            elif column.nullable:
                values[column.name] = None
            elif column.has_default:
                row = _with_default(column, values, row)
        except CodecError as error:
            raise corrupt(schema, row, column) from error
    read_entries(schema, values, row)
    return row


def corrupt(schema: TableSchema, row: Row, column: ColumnSchema) -> CorruptRowError:
    """Return the error for a row whose cell in `column` does not decode."""
    cell = row.cells.get(column.column)
    if cell is None:
        return CorruptRowError("the row does not decode", model=schema.model_name, row=row.key)
    return CorruptRowError(
        "a stored cell does not decode as the model declares",
        model=schema.model_name,
        field=column.name,
        row=row.key,
        column=column.column,
        codec=column.codec.name,
        value=cell.value,
    )
