"""`hbase-orm key`: decode and encode row keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

import click

from hbase_orm.binding.addressing.tables import tables_of
from hbase_orm.cli.frame import Group, answer, settings
from hbase_orm.cli.model_arguments import model_and_texts
from hbase_orm.cli.parameters import KEY
from hbase_orm.cli.values import json_value, read_value
from hbase_orm.errors import RowKeyError, TableNotFoundError
from hbase_orm.model import Model
from hbase_orm.model.declare.placement import model_of_key
from hbase_orm.ops import RegionRange
from hbase_orm.rowkey import KeyContext
from hbase_orm.rowkey.key_text import Piece, pieces, value_text
from hbase_orm.rowkey.notation import to_string_binary
from hbase_orm.session import Engine, connect

_NO_TABLE = "there is no such table"
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


@click.group(cls=Group)
def key() -> None:
    r"""Decode and encode the row keys of a model.

    Row keys are written as HBase prints them: text, \xNN for any byte, \\ for a backslash. With a
    URL, the region of the key is shown too; otherwise nothing is sent.
    """


@key.command()
@model_and_texts("KEY")
@click.option("--hex", "is_hex", is_flag=True, help="KEY is written in hexadecimal digits.")
@click.option("--table", metavar="NAME", help="The table of the key, where each period has one.")
def decode(*, target: tuple[type[Model], tuple[str, ...]], is_hex: bool, table: str | None) -> None:
    """Show the components of a row key and their values.

    The command also shows if the model would write the same fields with another key, for example
    because of a wrong salt. With a URL, the names of numbers in the key are looked up. For a model
    with a table for each period, --table is needed to show the whole time.
    """
    model, texts = target
    if len(texts) != 1:
        raise click.UsageError(f"exactly one KEY is expected, not {len(texts)}.")
    (text,) = texts
    data = _from_hex(text) if is_hex else KEY.convert(text, None, None)
    with _engine() as engine:
        _show(model, data, engine, table=table)


@key.command()
@model_and_texts("FIELD=VALUE...", is_text=lambda text: "=" in text)
def encode(*, target: tuple[type[Model], tuple[str, ...]]) -> None:
    """Show the row key for these values of the key fields.

    Times are ISO 8601 with an offset, and durations are seconds. Bytes are written like row keys,
    and members of an enum by their names. A key that stores names as numbers needs a URL: the
    numbers are looked up, and no name gets a new number. If a table or column has a part of the
    time in its name, its name is shown too.
    """
    model, values = target
    fields = _read(model, values)
    with _engine() as engine:
        _show(model, _encoded(model, fields, engine), engine, given=fields)


def _engine() -> AbstractContextManager[Engine | None]:
    url = settings().find_url()
    return nullcontext() if url is None else connect(url)


def _from_hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not in pairs of hexadecimal digits") from None


def _read(model: type[Model], given: tuple[str, ...]) -> dict[str, Any]:
    types = _types(model)
    values: dict[str, Any] = {}
    for one in given:
        name, equals, text = one.partition("=")
        if not equals or name not in types or name in values:
            fields = ", ".join(types)
            raise click.BadParameter(f"{one!r}: expected FIELD=VALUE once for each of {fields}")
        values[name] = read_value(name, types[name], text)
    missing = [name for name in types if name not in values]
    if missing:
        raise click.UsageError(f"no value is given for {', '.join(missing)}")
    return values


def _types(model: type[Model]) -> dict[str, type]:
    """Return the types of the key fields in the order of their declaration."""
    layout = model.__schema__.layout
    return {name: layout.codecs[name].python_type for name in layout.arguments}


def _encoded(model: type[Model], fields: Mapping[str, Any], engine: Engine | None) -> bytes:
    names = {lookup.field: lookup.dictionary for lookup in model.__schema__.layout.lookups}
    if not names:
        return model.encode_key(**fields)
    if engine is None:
        shown = ", ".join(f"{field} (in {table})" for field, table in names.items())
        raise click.UsageError(
            f"the row key stores names as numbers; to look them up, give --url: {shown}."
        )
    keys = engine.row_keys(model, **fields)
    if not keys:
        raise RowKeyError(
            "a name in the key has no number in its dictionary yet, so no row can have this key",
            names={field: fields[field] for field in names},
            fix="a name gets its number when the first row with it is written",
        )
    return keys[0]


def _show(
    model: type[Model],
    data: bytes,
    engine: Engine | None,
    *,
    table: str | None = None,
    given: Mapping[str, Any] = _NOTHING,
) -> None:
    """Print a row key, its components, and further facts, such as its table and region.

    Args:
        model: The model.
        data: The row key.
        engine: The engine; None if no URL is given, so that nothing is sent.
        table: The table of the row key, if the user named it.
        given: The key fields that the row key was computed from; empty if the user typed the key.
    """
    model = model_of_key(model, data)
    layout = model.__schema__.row_layout
    components = pieces(layout, data)
    decoded = _decoded(model, data, engine, table)
    fields = {**decoded, **{name: layout.codecs[name].normalize(given[name]) for name in given}}
    shown: dict[str, Any] = {
        "key": to_string_binary(data),
        "hex": data.hex(),
        "length_bytes": len(data),
        "components": [_component(piece) for piece in components],
    }
    lines = [
        f"key     {shown['key']}",
        f"hex     {shown['hex']}",
        f"length  {len(data)} bytes",
    ]
    for word, value, text in _notes(model, data, engine, fields, table):
        shown[word] = value
        lines.append(f"{word.ljust(6)}  {text}")
    if given and not model.__schema__.storage.has_own_rows:
        shown["column"] = _column(model, fields)
        lines.append(f"column  {shown['column']}")
    texts = _fields_not_in_key(model, fields, decoded)
    if texts:
        shown["other_fields"] = {name: json_value(fields[name]) for name in texts if name in fields}
    answer(shown, lambda: [*lines, "", model.describe_key(data), *_as_lines(texts)])


def _component(piece: Piece) -> dict[str, Any]:
    return {
        "name": piece.name,
        "codec": piece.codec or None,
        "bytes": to_string_binary(piece.data),
        "hex": piece.data.hex(),
        "value": json_value(piece.value),
    }


def _decoded(
    model: type[Model], data: bytes, engine: Engine | None, table: str | None
) -> Mapping[str, Any]:
    if engine is not None:
        return engine.decode_key(model, data, table=table)
    start = _start(model, table)
    return model.__schema__.row_layout.decode(data, KeyContext(start))


def _start(model: type[Model], table: str | None) -> datetime | None:
    """Return the start of a table's period; None if `table` is None or the model has one table."""
    if table is None:
        return None
    return tables_of(model.__schema__).start_of_table(_as_declared(model, table))


def _as_declared(model: type[Model], table: str) -> str:
    """Return a table's name as the model declares it, with or without a namespace."""
    return table if ":" in model.__schema__.table else table.rpartition(":")[2]


def _notes(
    model: type[Model],
    data: bytes,
    engine: Engine | None,
    fields: Mapping[str, Any],
    table: str | None,
) -> Iterator[tuple[str, Any, str]]:
    """Yield further facts about a row key, each as (name, value for JSON, text)."""
    meant = _meant_table(model, fields)
    holding = meant if table is None else table
    if holding is not None:
        yield "table", holding, holding
    objection = _misplaced(model, table, meant) or _objection(model, data, fields)
    if objection is not None:
        yield "but", objection, objection
    if engine is not None:
        yield "region", *_region(model, data, engine, _start(model, table), fields)


def _meant_table(model: type[Model], fields: Mapping[str, Any]) -> str | None:
    """Return the name of the period's table to which the model writes an object with these fields.

    None if the model does not have a table for each period, or if the field of the time is unknown.
    """
    period = model.__schema__.layout.table_period
    if period is None or period.field not in fields:
        return None
    return period.table_of(fields[period.field])


def _misplaced(model: type[Model], table: str | None, meant: str | None) -> str | None:
    if table is None or meant is None or meant == _as_declared(model, table):
        return None
    return f"the model writes these fields to the table {meant}"


def _column(model: type[Model], fields: Mapping[str, Any]) -> str:
    """Return the column of the cell that holds an object, for a model whose objects are cells."""
    schema = model.__schema__
    part = schema.layout.parts[-1]
    qualifier = part.encode(schema.layout.value(part, fields))
    return to_string_binary(schema.columns[0].column + qualifier)


def _fields_not_in_key(
    model: type[Model], fields: Mapping[str, Any], decoded: Mapping[str, Any]
) -> dict[str, str]:
    """Return a text for each key field that is not stored directly in the key.

    The text has the value, the reason why the value cannot be decoded from the key, or both.
    """
    layout = model.__schema__.row_layout
    lost: Mapping[str, str] = getattr(decoded, "unrecoverable", {})
    texts: dict[str, str] = {}
    for name in layout.arguments:
        if layout.part(name) is None and (name in fields or name in lost):
            value = [value_text(fields[name])] if name in fields else []
            reason = [f"({lost[name]})"] if name in lost else []
            texts[name] = "  ".join(value + reason)
    return texts


def _as_lines(texts: Mapping[str, str]) -> list[str]:
    width = max(map(len, texts), default=0)
    lines = [f"{name.ljust(width)}  {text}" for name, text in texts.items()]
    return ["", *lines] if lines else []


def _objection(model: type[Model], data: bytes, fields: Mapping[str, Any]) -> str | None:
    """Return a remark if the model would write these fields with another key, or not at all.

    The remark names the key or the error, or shows that the salt is random. None if there is
    nothing to remark, or if some key fields are unknown.
    """
    layout = model.__schema__.row_layout
    if set(fields) != set(layout.arguments) or layout.lookups:
        return None  # not all key fields can be decoded from the key
    try:
        own = layout.keys(fields)
    except RowKeyError as error:
        return f"the model would not write these fields: {error.text}"
    if data in own:
        return None if len(own) == 1 else f"the salt is random: it may be any of {len(own)}"
    return f"the model writes these fields as {to_string_binary(own[0])}"


def _region(
    model: type[Model],
    data: bytes,
    engine: Engine,
    start: datetime | None,
    fields: Mapping[str, Any],
) -> tuple[dict[str, str | None] | None, str]:
    """Return the region that holds a key, as a value for JSON and as text.

    If the region is unknown, the value is None, and the text has the reason.
    """
    period = model.__schema__.layout.table_period
    at = start if period is None or start is not None else fields.get(period.field)
    if period is not None and at is None:
        return None, "not known: give the table with --table"
    try:
        regions = engine.regions(model, at=at)
    except TableNotFoundError:
        return None, _NO_TABLE
    holding = next(
        region
        for region in regions
        if region.start <= data and (region.stop is None or data < region.stop)
    )
    return _as_json(holding), _as_text(holding)


def _as_json(region: RegionRange) -> dict[str, str | None]:
    return {
        "start": to_string_binary(region.start),
        "stop": None if region.stop is None else to_string_binary(region.stop),
        "server": region.server,
    }


def _as_text(region: RegionRange) -> str:
    start, stop = to_string_binary(region.start), to_string_binary(region.stop or b"")
    return f"[{start}, {stop}) on {region.server}"
