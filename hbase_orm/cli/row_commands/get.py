"""`hbase-orm get`: show rows by their keys."""

from __future__ import annotations

import click

from hbase_orm.cli.frame import Command, settings
from hbase_orm.cli.row_commands.key_arguments import ModelAndKeys, model_and_keys, shown_key
from hbase_orm.cli.row_commands.row_output import RowOutput, columns_option, format_option
from hbase_orm.cli.row_commands.shown_fields import deferred_fields, fields_of_objects, read_names
from hbase_orm.errors import RowNotFoundError
from hbase_orm.session import connect


@click.command(cls=Command)
@model_and_keys()
@columns_option
@format_option
def get(*, target: ModelAndKeys, columns: str | None, row_format: str) -> None:
    """Show the rows with these keys.

    KEY is a value of each key field, as host=web-1 at=2026-01-31; a field that comes again begins
    the key of the next row. The values alone, in the order of declaration, are a KEY too. Values
    are typed as for 'key encode'.

    If a row does not exist, the others are shown, and the exit code is 4.

    \b
    Examples:
      hbase-orm get shop.models:Order 7
      hbase-orm get shop.models:Order number=7 number=8 --format json
      hbase-orm get shop.models:Reading host=web-1 at=2026-01-31T08:00:00+00:00 --format hbase
    """  # noqa: D301 -- click's mark, not an escape
    model, keys = target.model, target.required_keys()
    names = read_names(model, columns)
    deferred = [getattr(model, name) for name in names if name in deferred_fields(model)]
    with connect(settings().require_url()) as engine, engine.session() as session:
        objects = session.get_many(model, keys)
        existing = [obj for obj in objects if obj is not None]
        for obj in existing if deferred else ():
            session.refresh(obj, *deferred)
        output = RowOutput(row_format, f"getting {model.__name__}", is_of_records=True)
        if existing or settings().is_json:
            output.show(fields_of_objects(model, names), existing)
    missing = [key for key, obj in zip(keys, objects, strict=True) if obj is None]
    if missing:
        raise RowNotFoundError(
            "no row has this key" if len(missing) == 1 else "no rows have these keys",
            model=model.__name__,
            keys=[shown_key(key) for key in missing],
        )
