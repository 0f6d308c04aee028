"""`hbase-orm key`: take row keys apart and put them together."""

from __future__ import annotations

from typing import Any

import click

from hbase_orm.cli.frame import Group, answer, settings
from hbase_orm.cli.parameters import KEY, MODEL
from hbase_orm.cli.values import json_value, read_value
from hbase_orm.errors import RowKeyError, TableNotFoundError
from hbase_orm.model import Model
from hbase_orm.ops import Region
from hbase_orm.rowkey.anatomy import describe, pieces
from hbase_orm.rowkey.notation import to_string_binary
from hbase_orm.session import connect

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

    It also says if the model writes the same fields as another key, as with a wrong salt.
    """
    _show(model, _from_hex(text) if is_hex else KEY.convert(text, None, None))


@key.command()
@_model
@click.argument("values", nargs=-1, required=True, metavar="FIELD=VALUE…")
def encode(*, model: type[Model], values: tuple[str, ...]) -> None:
    """Show the row key that the values of the key fields make.

    Times are ISO 8601 with an offset, durations are seconds, bytes are written like row keys, and
    members of an enum by their names.
    """
    _show(model, model.encode_key(**_read(model, values)))


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
    found = {part.name: part.codec.python_type for part in layout.parts}
    return {name: found[name] for name in layout.arguments}


def _show(model: type[Model], data: bytes) -> None:
    layout = model.__schema__.layout
    found = pieces(layout, data)
    shown = {
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
    objection = _objection(model, data)
    if objection is not None:
        shown["but"] = objection
        lines.append(f"but     {objection}")
    if settings().url is not None:
        region = _region(model, data)
        shown["region"] = None if region is None else _as_json(region)
        lines.append(f"region  {_NO_TABLE if region is None else _as_text(region)}")
    answer(shown, lambda: [*lines, "", describe(layout, data)])


def _objection(model: type[Model], data: bytes) -> str | None:
    """Say how the model would write a key's fields, if it does so otherwise or not at all."""
    fields = model.decode_key(data)
    if set(fields) != set(model.__schema__.layout.arguments):
        return None  # the key does not give all of them back
    try:
        own = model.encode_key(**fields)
    except RowKeyError as error:
        return f"the model would not write these fields: {error.text}"
    return None if own == data else f"the model writes these fields as {to_string_binary(own)}"


def _region(model: type[Model], data: bytes) -> Region | None:
    with connect(settings().require_url()) as engine:
        try:
            regions = engine.regions(model)
        except TableNotFoundError:
            return None
    return next(
        region
        for region in regions
        if region.start <= data and (region.stop is None or data < region.stop)
    )


def _as_json(region: Region) -> dict[str, str | None]:
    return {
        "start": to_string_binary(region.start),
        "stop": None if region.stop is None else to_string_binary(region.stop),
        "server": region.server,
    }


def _as_text(region: Region) -> str:
    start, stop = to_string_binary(region.start), to_string_binary(region.stop or b"")
    return f"[{start}, {stop}) on {region.server}"
