"""Converts instances to cells and back, by functions that are generated once for each model.

For speed, the generated source names each column and contains what its codec does with usual
values. So no codec is looked up or called for a cell. For other values the codecs are called cell
by cell, and raise an error or convert the value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache, partial
from itertools import takewhile
from typing import Any

from hbase_orm.codecs.inline import decode_source, encode_source, refuses_none, settled_source
from hbase_orm.codecs.source import MISFITS, Scope, literal, renamed
from hbase_orm.errors import CodecError, CorruptRowError, ValidationError
from hbase_orm.model.fields.validation import validated
from hbase_orm.model.mapping.entries import (
    checked_entries,
    entry_cells,
    read_entries,
    reading_lines,
    writing_lines,
)
from hbase_orm.model.state import SetState, state_lines
from hbase_orm.ops import Cell, Row
from hbase_orm.schema import ColumnSchema, TableSchema

Hydrator = Callable[..., Any]
Dehydrator = Callable[[dict[str, Any]], dict[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Mapping:
    """The generated functions of one model.

    Attributes:
        initialize: A function that fills a new object's `__dict__` from constructor arguments.
        hydrate: A function that makes an object from a row that was read without deferred columns.
            Its second argument is the `KeyContext` if the row key needs one.
        hydrator: A function that takes the names of deferred fields, and returns a function like
            `hydrate` for rows that were read with these fields.
        dehydrate: A function from an object's `__dict__` to its cells. A field that is None has no
            cell.
        dehydrate_loaded: A function like `dehydrate`, for an object whose row lacked required
            columns. The fields of these columns have no cells until they are set.
        encode_key: A function from an object's `__dict__` to its row key. If the key holds numbers
            from dictionary tables, the looked-up numbers must be added to the argument.
    """

    initialize: Callable[..., None]
    hydrate: Hydrator
    hydrator: Callable[[AbstractSet[str]], Hydrator]
    dehydrate: Dehydrator
    dehydrate_loaded: Dehydrator
    encode_key: Callable[[dict[str, Any]], bytes]


def hydrators(
    cls: type, schema: TableSchema, set_state: SetState
) -> Callable[[AbstractSet[str]], Hydrator]:
    """Return a function that takes names of deferred fields and returns a hydrator.

    The hydrator makes objects from rows that were read with these deferred fields. Names of fields
    that are not deferred are ignored.
    """
    names = frozenset(column.name for column in schema.deferred)

    @cache
    def hydrator(loaded: frozenset[str]) -> Hydrator:
        return _compile_hydrator(cls, schema, set_state, loaded)

    return lambda loaded: hydrator(names & loaded)


def _compile_hydrator(
    cls: type,
    schema: TableSchema,
    set_state: SetState,
    loaded: frozenset[str],
) -> Hydrator:
    """Return a function that makes an object from a row read with the deferred fields `loaded`."""
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
    lines += ["    get = row.cells.get", "    try:"]
    for column in columns:
        lines += [*_present(column, scope), *_absent(column, scope)]
    for number in schema.numbers:  # without a cell, the descriptor returns 0
        lines += _present(number, scope)
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


def _present(column: ColumnSchema, scope: Scope) -> list[str]:
    return [
        f"        cell = get({literal(column.column)})",
        "        if cell is not None:",
        "            data = cell.value",
        f"            d[{literal(column.name)}] = {decode_source(column.codec, 'data', scope)}",
    ]


def _absent(column: ColumnSchema, scope: Scope) -> list[str]:
    if column.nullable:
        return ["        else:", f"            d[{literal(column.name)}] = None"]
    if not column.has_default:
        return []
    with_default = scope.bind(partial(_with_default, column), "with_default")
    return ["        else:", f"            row = {with_default}(d, row)"]


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


def compile_dehydrator(schema: TableSchema) -> Dehydrator:
    """Return a function from an object's `__dict__` to its cells, without fields that are None."""
    scope = Scope(MISFITS=(*MISFITS, KeyError), write_plainly=partial(_write_plainly, schema))
    always = list(takewhile(_is_always_written, schema.columns))
    lines, items = ["def dehydrate(d):", "    try:"], []
    for number, column in enumerate(always):
        lines += _required(column, f"v{number}")
        items.append(
            f"{literal(column.column)}: {encode_source(column.codec, f'v{number}', scope)}"
        )
    lines.append(f"        cells = {{{', '.join(items)}}}")
    for number, column in enumerate(schema.columns[len(always) :], len(always)):
        value = f"v{number}"
        cell = f"cells[{literal(column.column)}] = {encode_source(column.codec, value, scope)}"
        if column.nullable:
            lines.append(f"        {value} = d.get({literal(column.name)})")
            lines.append(f"        if {value} is not None: {cell}")
        elif column.deferred:
            lines.append(f"        if {literal(column.name)} in d:")
            lines += [f"    {line}" for line in (*_required(column, value), f"        {cell}")]
        else:
            lines += [*_required(column, value), f"        {cell}"]
    lines += writing_lines(schema, scope)
    lines += ["        return cells", "    except MISFITS:", "        return write_plainly(d)"]
    dehydrate: Dehydrator = scope.compiled(lines, "dehydrate")
    return dehydrate


def _is_always_written(column: ColumnSchema) -> bool:
    return not (column.nullable or column.deferred)


def _required(column: ColumnSchema, value: str) -> list[str]:
    lines = [f"        {value} = d[{literal(column.name)}]"]
    if not refuses_none(column.codec):
        lines.append(f"        if {value} is None: return write_plainly(d)")
    return lines


def dehydrator_of_loaded(schema: TableSchema) -> Dehydrator:
    """Return a function like `dehydrate` for objects whose rows lacked required columns."""
    return partial(_write_plainly, schema, is_whole=False)


def _write_plainly(
    schema: TableSchema, values: dict[str, Any], *, is_whole: bool = True
) -> dict[bytes, bytes]:
    """Return the cells of an object's `__dict__`, by calls to the codecs.

    Args:
        schema: The model's description.
        values: The `__dict__`.
        is_whole: Whether every required field that is not deferred must have a value.

    Raises:
        ValidationError: A field does not fit its codec, or a required field has no value.
    """
    cells: dict[bytes, bytes] = {}
    for column in schema.columns:
        value = values.get(column.name)
        where = {"model": schema.model_name, "field": column.name}
        if value is not None:
            try:
                cells[column.column] = column.codec.encode(value)
            except CodecError as error:
                raise ValidationError(error.text, fix=error.fix, **where, **error.details) from None
        elif (column.deferred or not is_whole) and column.name not in values:
            continue  # the object was read without it
        elif not column.nullable:
            raise ValidationError(
                "a required field has no value", **where, fix="set it, or declare it nullable"
            )
    for dynamic in schema.dynamics:
        cells.update(entry_cells(schema, dynamic, values.get(dynamic.name, {})))
    return cells


def compile_initializer(
    schema: TableSchema, fields: Sequence[Any], set_state: SetState
) -> Callable[..., None]:
    """Return the `__init__` of a model, which fills in defaults and checks types.

    Args:
        schema: The model's description.
        fields: The Mapped fields in order of declaration; `__init__` takes them by keyword.
        set_state: A function that sets an object's `__state__`.
    """
    codecs = {column.name: column.codec for column in schema.columns}
    codecs.update(schema.layout.codecs)
    nullable = {column.name for column in schema.columns if column.nullable}
    scope = Scope(_UNSET=object())  # no field starts with an underscore, as names of ours do
    signature, names = list[str](), dict[str, str]()
    body = [*state_lines("_self", "None", scope, set_state), "    _d = _self.__dict__"]
    for number, field in enumerate(fields):
        name, codec, value = field.name, codecs[field.name], f"_v{number}"
        names[value] = name
        is_key = name in schema.layout.names
        checker = _checker(schema.model_name, name, codec, name in nullable, is_key=is_key)
        checker = validated(schema.model_name, field, checker)
        if not field.has_default:
            signature.append(value)
        elif field.default_factory is not None:
            signature.append(f"{value}=_UNSET")
            make = scope.bind(field.default_factory, "make")
            body.append(f"    if {value} is _UNSET: {value} = {make}()")
        else:
            signature.append(f"{value}={scope.bind(field.default, 'default')}")
        settled, check = settled_source(codec, value, scope), scope.bind(checker, "check")
        if name in nullable:
            settled = f"{value} is None or {settled}"
        checked = f"{value} if {settled} else {check}({value})"
        checked = checked if field.validate is None else f"{check}({value})"
        body.append(f"    _d[{literal(name)}] = {checked}")
    body += [f"    _d[{literal(dynamic.name)}] = {{}}" for dynamic in schema.dynamics]
    keywords = "*, " + ", ".join(signature) if signature else ""
    lines = [f"def __init__(_self, {keywords}):", *body]
    initialize: Callable[..., None] = renamed(scope.compiled(lines, "__init__"), names)
    return initialize


def _checker(
    model: str,
    name: str,
    codec: Any,
    nullable: bool,  # noqa: FBT001 - bound once per field
    *,
    is_key: bool = False,
) -> Callable[[Any], Any]:
    fix = f"give {codec.python_type.__name__}"
    if nullable:
        fix += " or None"
    elif not is_key:
        fix += "; declare the field nullable to allow None"

    def check(value: Any) -> Any:
        if value is None and nullable:
            return None
        if not codec.accepts_type(value):
            raise ValidationError(
                "the value has the wrong type",
                model=model,
                field=name,
                value=value,
                expected=codec.python_type.__name__,
                fix=fix,
            )
        try:
            is_exact = value.__class__ is codec.python_type and not codec.coarse
            return value if is_exact else codec.normalize(value)
        except CodecError as error:
            raise ValidationError(
                error.text, fix=error.fix, model=model, field=name, **error.details
            ) from None

    return check


def checkers(schema: TableSchema) -> dict[str, Callable[[Any], Any]]:
    """Return for each field name a function that checks a value and rounds it as it is stored."""
    checks = {
        name: _checker(schema.model_name, name, codec, nullable=False, is_key=True)
        for name, codec in schema.layout.codecs.items()
    }
    for column in schema.columns:
        if column.name in checks:
            continue
        check = _checker(schema.model_name, column.name, column.codec, column.nullable)
        checks[column.name] = validated(schema.model_name, schema.fields[column.name], check)
    for dynamic in schema.dynamics:
        checks[dynamic.name] = partial(checked_entries, schema, dynamic)
    return checks


def compile_key_encoder(schema: TableSchema) -> Callable[[dict[str, Any]], bytes]:
    """Return a function from an object's `__dict__` to its row key."""
    arguments = ", ".join(f"d[{literal(name)}]" for name in schema.layout.inputs)
    scope = Scope(encode=schema.layout.encode_parts)
    lines = ["def encode_key(d):", f"    return encode({arguments})"]
    encode: Callable[[dict[str, Any]], bytes] = scope.compiled(lines, "encode_key")
    return encode
