"""Converts instances to cells and back, by functions that are generated once for each model.

For speed, the generated source names each column and contains what its codec does with usual
values. So no codec is looked up or called for a cell. For other values the codecs are called cell
by cell, and raise an error or convert the value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Any

from hbase_orm.codecs.inline import encode_source, refuses_none, settled_source
from hbase_orm.codecs.source import MISFITS, Scope, literal, renamed
from hbase_orm.errors import CodecError, ValidationError
from hbase_orm.model.fields.validation import validated
from hbase_orm.model.mapping.entries import (
    checked_entries,
    entry_cells,
    writing_lines,
)
from hbase_orm.model.mapping.hydrators import Hydrator, HydratorOf, Maker
from hbase_orm.model.state import SetState, state_lines
from hbase_orm.schema import ColumnSchema, TableSchema

Dehydrator = Callable[[dict[str, Any]], dict[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Mapping:
    """The generated functions of one model.

    Attributes:
        initialize: A function that fills a new object's `__dict__` from constructor arguments.
        hydrate: A function that makes an object from a row that was read without deferred columns.
            Its second argument is the `KeyContext` if the row key needs one.
        hydrator: A function that takes the names of deferred fields, and returns a function like
            `hydrate` for rows that were read with these fields. Its second argument is None; if it
            is the columns of `ListedRow`s, the function is for such rows.
        maker: A function that returns the compiled maker of objects from encoded rows; None if
            there is none.
        dehydrate: A function from an object's `__dict__` to its cells. A field that is None has no
            cell.
        dehydrate_loaded: A function like `dehydrate`, for an object whose row lacked required
            columns. The fields of these columns have no cells until they are set.
        encode_key: A function from an object's `__dict__` to its row key. If the key holds numbers
            from dictionary tables, the looked-up numbers must be added to the argument.
    """

    initialize: Callable[..., None]
    hydrate: Hydrator
    hydrator: HydratorOf
    maker: Maker
    dehydrate: Dehydrator
    dehydrate_loaded: Dehydrator
    encode_key: Callable[[dict[str, Any]], bytes]


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
        checker = _checker(
            *(schema.model_name, name, codec, name in nullable),
            is_key=is_key,
            is_encoded=field.validate is not None,
        )
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
    is_encoded: bool = False,
) -> Callable[[Any], Any]:
    """Return a function that checks a value's type, and rounds the value as it is stored.

    Whether the value fits in range is otherwise seen when it is written. With `is_encoded` it is
    seen at once, for a validator gets no value that the codec refuses.
    """
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
            is_exact = value.__class__ is codec.python_type and not (codec.coarse or is_encoded)
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
        field = schema.fields[column.name]
        is_encoded = getattr(field, "validate", None) is not None
        check = _checker(
            schema.model_name, column.name, column.codec, column.nullable, is_encoded=is_encoded
        )
        checks[column.name] = validated(schema.model_name, field, check)
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
