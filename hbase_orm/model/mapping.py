"""Instances to cells and back, by functions generated once a model and column set.

Nothing here looks a codec up per cell: the generated source names each column and binds its codec.
A row that does not decode is then gone through once more, slowly, to say which cell is corrupt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hbase_orm.errors import CodecError, CorruptRowError, ValidationError
from hbase_orm.ops import Cell, Row
from hbase_orm.rowkey.layout import compiled
from hbase_orm.schema import ColumnSchema, TableSchema

Hydrator = Callable[[Row], Any]
Dehydrator = Callable[[dict[str, Any]], dict[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Mapping:
    """The generated functions of one model.

    Attributes:
        initialize: Fills a new object's `__dict__` from constructor arguments.
        hydrate: Makes an object of a row that was read with all of the model's columns.
        dehydrate: Returns the non-None cells of an object's `__dict__`.
        encode_key: Returns the row key of an object's `__dict__`.
    """

    initialize: Callable[..., None]
    hydrate: Hydrator
    dehydrate: Dehydrator
    encode_key: Callable[[dict[str, Any]], bytes]


def compile_hydrator(
    cls: type, schema: TableSchema, set_row: Callable[[Any, Row], None]
) -> Hydrator:
    """Return a function that makes an object of `cls` from a row."""
    scope: dict[str, Any] = {
        "new": cls.__new__,
        "cls": cls,
        "set_row": set_row,
        "decode_key": schema.layout.decode_parts,
        "CodecError": CodecError,
        "explain": lambda row: _corrupt_cell(schema, row),
    }
    targets = ", ".join(f"d[{name!r}]" for name in schema.layout.names)
    lines = ["def hydrate(row):", "    obj = new(cls)", "    d = obj.__dict__"]
    lines += [f"    {targets}, = decode_key(row.key)", "    get = row.cells.get", "    try:"]
    counters = {column.name for column in schema.counters}  # absent, the descriptor answers 0
    for number, column in enumerate((*schema.columns, *schema.counters)):
        scope[f"decode{number}"] = column.codec.decode
        lines.append(f"        cell = get({column.column!r})")
        lines.append("        if cell is not None:")
        lines.append(f"            d[{column.name!r}] = decode{number}(cell.value)")
        if column.name not in counters:
            lines += _absent(column, number, scope)
    if not schema.columns and not schema.counters:
        lines.append("        pass")
    lines += ["    except CodecError as error:", "        raise explain(row) from error"]
    lines += ["    set_row(obj, row)", "    return obj"]
    hydrate: Hydrator = compiled(lines, scope, "hydrate")
    return hydrate


def _absent(column: ColumnSchema, number: int, scope: dict[str, Any]) -> list[str]:
    if column.nullable:
        return ["        else:", f"            d[{column.name!r}] = None"]
    if not column.has_default:
        return []
    default = column.default
    scope[f"default{number}"] = column.default_factory or (lambda: default)
    scope[f"encode{number}"] = column.codec.encode
    # The row the object remembers gets the cell too: a default is no change of the user's.
    scope["with_cell"] = _with_cell
    return [
        "        else:",
        f"            value = d[{column.name!r}] = default{number}()",
        f"            row = with_cell(row, {column.column!r}, encode{number}(value))",
    ]


def _with_cell(row: Row, column: bytes, value: bytes) -> Row:
    return Row(row.key, {**row.cells, column: Cell(value, 0)})


def _corrupt_cell(schema: TableSchema, row: Row) -> CorruptRowError:
    for column in (*schema.columns, *schema.counters):
        cell = row.cells.get(column.column)
        if cell is None:
            continue
        try:
            column.codec.decode(cell.value)
        except CodecError:
            return CorruptRowError(
                "a stored cell does not decode as the model declares",
                model=schema.model_name,
                field=column.name,
                row=row.key,
                column=column.column,
                codec=column.codec.name,
                value=cell.value,
            )
    return CorruptRowError("the row does not decode", model=schema.model_name, row=row.key)


def compile_dehydrator(schema: TableSchema) -> Dehydrator:
    """Return a function from an object's `__dict__` to its non-None cells."""
    scope: dict[str, Any] = {
        "CodecError": CodecError,
        "explain": lambda values: _misfit(schema, values),
    }
    lines = ["def dehydrate(d):", "    cells = {}", "    get = d.get", "    try:"]
    for number, column in enumerate(schema.columns):
        scope[f"encode{number}"] = column.codec.encode
        lines.append(f"        value = get({column.name!r})")
        lines.append("        if value is not None:")
        lines.append(f"            cells[{column.column!r}] = encode{number}(value)")
        if not column.nullable:
            lines.append("        else:")
            lines.append("            raise CodecError('a required field has no value')")
    if not schema.columns:
        lines.append("        pass")
    lines += ["    except CodecError:", "        raise explain(d) from None", "    return cells"]
    dehydrate: Dehydrator = compiled(lines, scope, "dehydrate")
    return dehydrate


def _misfit(schema: TableSchema, values: dict[str, Any]) -> ValidationError:
    for column in schema.columns:
        value = values.get(column.name)
        where = {"model": schema.model_name, "field": column.name}
        if value is None and not column.nullable:
            return ValidationError(
                "a required field has no value", **where, fix="set it, or declare it nullable"
            )
        try:
            if value is not None:
                column.codec.encode(value)
        except CodecError as error:
            return ValidationError(error.text, fix=error.fix, **where, **error.details)
    return ValidationError("a field does not fit its codec", model=schema.model_name)


def compile_initializer(schema: TableSchema, fields: Sequence[Any]) -> Callable[..., None]:
    """Return the `__init__` of a model: keywords only, defaults filled in, types checked.

    Args:
        schema: The model's description.
        fields: The Mapped fields in order of declaration.
    """
    codecs = {part.name: part.codec for part in schema.layout.parts}
    codecs.update({column.name: column.codec for column in schema.columns})
    nullable = {column.name for column in schema.columns if column.nullable}
    # No field starts with an underscore: names of ours that do cannot meet a user's.
    scope: dict[str, Any] = {"_UNSET": object()}
    signature, body = [], ["    _d = _self.__dict__"]
    for number, field in enumerate(fields):
        name, codec = field.name, codecs[field.name]
        scope[f"_kind{number}"] = codec.python_type
        scope[f"_check{number}"] = _checker(
            schema.model_name, name, codec, name in nullable, is_key=name in schema.layout.names
        )
        if not field.has_default:
            signature.append(name)
        elif field.default_factory is not None:
            scope[f"_make{number}"] = field.default_factory
            signature.append(f"{name}=_UNSET")
            body.append(f"    if {name} is _UNSET: {name} = _make{number}()")
        else:
            scope[f"_default{number}"] = field.default
            signature.append(f"{name}=_default{number}")
        if codec.coarse:
            body.append(f"    _d[{name!r}] = _check{number}({name})")
        else:
            body.append(
                f"    if {name}.__class__ is not _kind{number}: {name} = _check{number}({name})"
            )
            body.append(f"    _d[{name!r}] = {name}")
    keywords = "*, " + ", ".join(signature) if signature else ""
    lines = [f"def __init__(_self, {keywords}):", *body]
    initialize: Callable[..., None] = compiled(lines, scope, "__init__")
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
    """Return, by field, the function that checks and rounds a value that is set."""
    found = {
        part.name: _checker(schema.model_name, part.name, part.codec, nullable=False, is_key=True)
        for part in schema.layout.parts
    }
    for column in schema.columns:
        found[column.name] = _checker(schema.model_name, column.name, column.codec, column.nullable)
    return found


def compile_key_encoder(schema: TableSchema) -> Callable[[dict[str, Any]], bytes]:
    """Return a function from an object's `__dict__` to its row key."""
    arguments = ", ".join(f"d[{name!r}]" for name in schema.layout.names)
    scope: dict[str, Any] = {"encode": schema.layout.encode_parts}
    encode: Callable[[dict[str, Any]], bytes] = compiled(
        ["def encode_key(d):", f"    return encode({arguments})"], scope, "encode_key"
    )
    return encode
