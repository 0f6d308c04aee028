"""Converts dynamic columns from cells to an object's maps and back.

`reading_lines` and `writing_lines` return Python source for the generated functions of a model. The
source converts the usual names and values. For all other names and values, the generated functions
use `read_entries` and `entry_cells`, which call the codecs and raise precise errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hbase_orm.codecs import Codec
from hbase_orm.codecs.inline import decode_source, encode_source, settled_source
from hbase_orm.codecs.source import Scope, literal
from hbase_orm.errors import CodecError, CorruptRowError, ValidationError
from hbase_orm.ops import Row
from hbase_orm.schema import DynamicSchema, TableSchema


def reading_lines(schema: TableSchema, scope: Scope) -> list[str]:
    """Return the source lines that read the dynamic columns of the variable `row`.

    The lines store one dict for each field in the variable `d`, the object's `__dict__`.
    """
    if not schema.dynamics:
        return []
    lines, branches = [], []
    for number, dynamic in enumerate(schema.dynamics):
        entries = scope.local("entries")
        lines.append(f"        {entries} = d[{literal(dynamic.name)}] = {{}}")
        test = _belongs(dynamic, "column", scope)
        name = decode_source(dynamic.name_codec, "rest", scope)
        value = decode_source(dynamic.codec, "data", scope)
        branches += [
            f"            {'el' if number else ''}if {test}:",
            f"                rest = column[{len(dynamic.prefix)}:]",
            "                data = row_cells[column].value",
            f"                {entries}[{name}] = {value}",
        ]
    # Thrift1 returns the cells of a row in no order; sorting restores the order in HBase.
    return [
        *lines,
        "        row_cells = row.cells",
        "        for column in sorted(row_cells):",
        *branches,
    ]


def _belongs(dynamic: DynamicSchema, column: str, scope: Scope) -> str:
    """Return the source of a test whether a column is one of these dynamic columns.

    The test compares a slice, so that it calls no method.
    """
    test = f"{column}[:{len(dynamic.prefix)}] == {literal(dynamic.prefix)}"
    if not dynamic.taken:
        return test
    return f"{test} and {column} not in {scope.bind(dynamic.taken, 'taken')}"


def read_entries(schema: TableSchema, values: dict[str, Any], row: Row) -> None:
    """Read the dynamic columns of `row` into an object's `__dict__`, by calls to the codecs.

    Raises:
        CorruptRowError: A qualifier or a cell does not decode.
    """
    for dynamic in schema.dynamics:
        entries = values[dynamic.name] = {}
        for column in sorted(filter(dynamic.holds, row.cells)):
            name = _decoded(schema, dynamic, row, column, column[len(dynamic.prefix) :])
            data = row.cells[column].value
            entries[name] = _decoded(schema, dynamic, row, column, data, is_name=False)


def _decoded(
    schema: TableSchema,
    dynamic: DynamicSchema,
    row: Row,
    column: bytes,
    data: bytes,
    *,
    is_name: bool = True,
) -> Any:
    codec = dynamic.name_codec if is_name else dynamic.codec
    try:
        return codec.decode(data)
    except CodecError as error:
        text = "a stored qualifier" if is_name else "a stored cell"
        raise CorruptRowError(
            f"{text} of dynamic columns does not decode as the model declares",
            model=schema.model_name,
            field=dynamic.name,
            row=row.key,
            column=column,
            codec=codec.name,
            value=data,
        ) from error


def writing_lines(schema: TableSchema, scope: Scope) -> list[str]:
    """Return the source lines that add the cells of dynamic columns to the variable `cells`.

    The lines read the names and values from the variable `d`, the object's `__dict__`.
    """
    lines: list[str] = []
    for dynamic in schema.dynamics:
        column = scope.bind(dynamic.prefix, "prefix")
        column += f" + {encode_source(dynamic.name_codec, 'name', scope)}"
        tests = [
            settled_source(dynamic.name_codec, "name", scope),
            settled_source(dynamic.codec, "value", scope),
        ]
        lines += [
            f"        for name, value in d.get({literal(dynamic.name)}, {{}}).items():",
            f"            if not ({' and '.join(tests)}): return write_plainly(d)",
            f"            column = {column}",
        ]
        if dynamic.taken:
            taken = scope.bind(dynamic.taken, "taken")
            lines.append(f"            if column in {taken}: return write_plainly(d)")
        lines.append(f"            cells[column] = {encode_source(dynamic.codec, 'value', scope)}")
    return lines


def entry_cells(schema: TableSchema, dynamic: DynamicSchema, entries: object) -> dict[bytes, bytes]:
    """Return the cells of one field of dynamic columns; a value that is None has no cell.

    Raises:
        ValidationError: A name or a value has the wrong type or does not fit; the error names it.
    """
    cells: dict[bytes, bytes] = {}
    for name, value in _checked_map(schema, dynamic, entries).items():
        where = _where(schema, dynamic, name)
        column = dynamic.prefix + _encoded(dynamic.name_codec, name, "name", where)
        if column in dynamic.taken:
            raise ValidationError(
                "the entry's name is the name of a declared column or of the marker cell",
                **where,
                column=column,
                fix="choose another name, or set the declared field",
            )
        if value is None:
            continue
        if column in cells:
            raise ValidationError(
                "two names of the mapping have the same qualifier",
                **where,
                fix="leave one of them out",
            )
        cells[column] = _encoded(dynamic.codec, value, "value", where)
    return cells


def checked_entries(schema: TableSchema, dynamic: DynamicSchema, entries: object) -> dict[Any, Any]:
    """Return a copy of `entries`, rounded as they are stored, without values that are None.

    Raises:
        ValidationError: `entries` is not a mapping, or a name or a value in it does not fit.
    """
    entry_cells(schema, dynamic, entries)
    checked = dict(_checked_map(schema, dynamic, entries))
    settle_map(dynamic, checked)
    return checked


def settle_map(dynamic: DynamicSchema, entries: dict[Any, Any]) -> None:
    """Change a valid map in place to what a read of the stored map would return."""
    codecs = (dynamic.name_codec, dynamic.codec)
    if None not in entries.values() and not any(codec.coarse for codec in codecs):
        return
    kept = {
        dynamic.name_codec.normalize(name): dynamic.codec.normalize(value)
        for name, value in entries.items()
        if value is not None
    }
    entries.clear()
    entries.update(kept)


def settle(schema: TableSchema, values: Mapping[str, Any]) -> None:
    """Change the maps in an object's `__dict__` to what a read of its row would return."""
    for dynamic in schema.dynamics:
        if dynamic.name in values:
            settle_map(dynamic, values[dynamic.name])


def _checked_map(schema: TableSchema, dynamic: DynamicSchema, entries: object) -> Mapping[Any, Any]:
    if isinstance(entries, Mapping):
        return entries
    raise ValidationError(
        "dynamic columns can only be set to a mapping",
        model=schema.model_name,
        field=dynamic.name,
        value=entries,
        fix="give a dict; {} deletes all entries",
    )


def _where(schema: TableSchema, dynamic: DynamicSchema, name: Any) -> dict[str, Any]:
    return {"model": schema.model_name, "field": dynamic.name, "name": name}


def _encoded(codec: Codec[Any], value: Any, what: str, where: Mapping[str, Any]) -> bytes:
    if not codec.accepts_type(value):
        raise ValidationError(
            f"the entry's {what} has the wrong type",
            **{**where, what: value},
            expected=codec.python_type.__name__,
            fix=f"give {codec.python_type.__name__}",
        )
    try:
        return codec.encode(value)
    except CodecError as error:
        raise ValidationError(error.text, fix=error.fix, **{**error.details, **where}) from None
