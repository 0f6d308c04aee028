"""`hbase-orm key`: take row keys apart and put them together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import click

from hbase_orm.cli.frame import Group, answer, settings
from hbase_orm.cli.parameters import KEY, MODEL
from hbase_orm.cli.values import json_value, read_value
from hbase_orm.errors import RowKeyError, TableNotFoundError
from hbase_orm.model import Model
from hbase_orm.model.kinds import kind_of
from hbase_orm.ops import Region
from hbase_orm.rowkey.anatomy import pieces, value_text
from hbase_orm.rowkey.notation import to_string_binary
from hbase_orm.session import Engine, connect

_NO_TABLE = "there is no such table"


@click.group(cls=Group)
def key() -> None:
    r"""Take the row keys of a model apart and put them together.

    Row keys are written as HBase prints them: text, \xNN for any byte, \\ for a backslash. With a
    URL, the gateways are asked for the region that holds the key; else nothing is sent.
    """


_model = click.argument("model", type=MODEL, metavar="MODULE:CLASS")


@key.command()
@_model
@click.argument("text", metavar="KEY")
@click.option("--hex", "is_hex", is_flag=True, help="KEY is written in hexadecimal digits.")
def decode(*, model: type[Model], text: str, is_hex: bool) -> None:
    """Show what the components of a row key are.

    It also says if the model writes the same fields as another key, as with a wrong salt. Names
    that the key holds numbers of are looked up if there is a URL.
    """
    data = _from_hex(text) if is_hex else KEY.convert(text, None, None)
    with _engine() as engine:
        _show(model, data, engine, {})


@key.command()
@_model
@click.argument("values", nargs=-1, required=True, metavar="FIELD=VALUE…")
def encode(*, model: type[Model], values: tuple[str, ...]) -> None:
    """Show the row key that the values of the key fields make.

    Times are ISO 8601 with an offset, durations are seconds, bytes are written like row keys, and
    members of an enum by their names. A key that holds numbers of names needs a URL: they are
    looked up, and no name gets a number.
    """
    fields = _read(model, values)
    with _engine() as engine:
        _show(model, _encoded(model, fields, engine), engine, fields)


def _engine() -> AbstractContextManager[Engine | None]:
    url = settings().url
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
        raise click.UsageError(f"the key holds numbers of names: {shown}; give --url.")
    keys = engine.row_keys(model, **fields)
    if not keys:
        raise RowKeyError(
            "a name has no number yet, so no row can have this key",
            names={field: fields[field] for field in names},
            fix="only writing gives numbers to names",
        )
    return keys[0]


def _show(model: type[Model], data: bytes, engine: Engine | None, given: Mapping[str, Any]) -> None:
    model = kind_of(model, data)
    found = pieces(model.__schema__.row_layout, data)
    fields = model.decode_key(data) if engine is None else engine.decode_key(model, data)
    shown: dict[str, Any] = {
        "key": to_string_binary(data),
        "hex": data.hex(),
        "length_bytes": len(data),
        "components": [
            {
                "name": piece.name,
                "codec": piece.codec,
                "bytes": to_string_binary(piece.data),
                "hex": piece.data.hex(),
                "value": json_value(piece.value),
            }
            for piece in found
        ],
    }
    lines = [
        f"key     {shown['key']}",
        f"hex     {shown['hex']}",
        f"length  {len(data)} bytes",
    ]
    for word, value, text in _notes(model, data, engine, {**fields, **given}):
        shown[word] = value
        lines.append(f"{word.ljust(6)}  {text}")
    told = _told_otherwise(model, fields)
    if told:
        shown["other_fields"] = {
            name: json_value(value) for name, (value, reason) in told.items() if reason is None
        }
    answer(shown, lambda: [*lines, "", model.describe_key(data), *_as_lines(told)])


def _notes(
    model: type[Model], data: bytes, engine: Engine | None, fields: Mapping[str, Any]
) -> Iterator[tuple[str, Any, str]]:
    """Yield what else there is to say of a key: a word, for programs, for people."""
    period = model.__schema__.layout.table_period
    if period is not None and period.field in fields:
        table = period.unit.name_of(period.pattern, period.unit.start(fields[period.field]))
        yield "table", table, table
    objection = _objection(model, data, fields)
    if objection is not None:
        yield "but", objection, objection
    if engine is not None:
        yield "region", *_region(model, data, engine, fields)


def _told_otherwise(
    model: type[Model], fields: Mapping[str, Any]
) -> dict[str, tuple[Any, str | None]]:
    """Return the key fields that stand in the key otherwise than as they are.

    Each with its value, or with None and the reason why the key does not give it back.
    """
    layout = model.__schema__.row_layout
    lost: Mapping[str, str] = getattr(fields, "unrecoverable", {})
    return {
        name: (fields.get(name), lost.get(name))
        for name in layout.arguments
        if layout.part(name) is None and (name in fields or name in lost)
    }


def _as_lines(told: Mapping[str, tuple[Any, str | None]]) -> list[str]:
    width = max(map(len, told), default=0)
    lines = [
        f"{name.ljust(width)}  {value_text(value) if reason is None else f'({reason})'}"
        for name, (value, reason) in told.items()
    ]
    return ["", *lines] if lines else []


def _objection(model: type[Model], data: bytes, fields: Mapping[str, Any]) -> str | None:
    """Say how the model would write a key's fields, if it does so otherwise or not at all."""
    layout = model.__schema__.row_layout
    if set(fields) != set(layout.arguments) or layout.lookups:
        return None  # the key does not give all of them back
    try:
        own = layout.keys(fields)
    except RowKeyError as error:
        return f"the model would not write these fields: {error.text}"
    if data in own:
        return None if len(own) == 1 else f"the salt is drawn: it may be any of {len(own)}"
    return f"the model writes these fields as {to_string_binary(own[0])}"


def _region(
    model: type[Model], data: bytes, engine: Engine, fields: Mapping[str, Any]
) -> tuple[dict[str, str | None] | None, str]:
    """Return the region that holds a key, for programs and for people."""
    period = model.__schema__.layout.table_period
    at = None if period is None else fields.get(period.field)
    if period is not None and at is None:
        return None, "not known: the key does not tell its table"
    try:
        regions = engine.regions(model, at=at)
    except TableNotFoundError:
        return None, _NO_TABLE
    found = next(
        region
        for region in regions
        if region.start <= data and (region.stop is None or data < region.stop)
    )
    return _as_json(found), _as_text(found)


def _as_json(region: Region) -> dict[str, str | None]:
    return {
        "start": to_string_binary(region.start),
        "stop": None if region.stop is None else to_string_binary(region.stop),
        "server": region.server,
    }


def _as_text(region: Region) -> str:
    start, stop = to_string_binary(region.start), to_string_binary(region.stop or b"")
    return f"[{start}, {stop}) on {region.server}"
