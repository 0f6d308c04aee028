"""`hbase-orm put`: insert or update one row."""

from __future__ import annotations

from typing import Any, Literal

import click

from hbase_orm.cli.frame import Command, answer, settings
from hbase_orm.cli.model_arguments import model_and_texts
from hbase_orm.cli.row_commands.assignments import Assignments, read_assignments
from hbase_orm.cli.row_commands.key_arguments import check_key, is_no_model
from hbase_orm.cli.row_commands.stored_places import stored_row, stored_table
from hbase_orm.errors import DuplicateRowError, FeatureMissingError
from hbase_orm.model import Model
from hbase_orm.rowkey.notation import to_string_binary
from hbase_orm.session import Session, connect

Outcome = Literal["inserted", "updated", "unchanged"]


@click.command(cls=Command)
@model_and_texts("FIELD=VALUE...", is_text=is_no_model)
@click.option(
    "--null", "nulls", multiple=True, metavar="FIELD", help="Set this field to None; repeatable."
)
def put(target: tuple[type[Model], tuple[str, ...]], nulls: tuple[str, ...]) -> None:
    """Insert a row, or update the given fields of an existing row; show which of the two was done.

    All key fields must be given, and for a new row all required fields. The other fields of an
    existing row are kept. Values are typed as for 'key encode'; those of packed fields, such as
    lists, are JSON. Dynamic columns are written as tags[rack]=r7.

    Nothing is sent if a value does not fit. The model's validators and hooks are called.

    \b
    Examples:
      hbase-orm put shop.models:Order number=7 customer=12 status=NEW
      hbase-orm put shop.models:Order number=7 'labels=["gift", "fragile"]' --null note
    """  # noqa: D301 -- click's mark, not an escape
    model, texts = target
    given = read_assignments(model, texts, nulls)
    check_key(model, given.key(model))
    given.check(model)
    with connect(settings().require_url()) as engine, engine.session() as session:
        outcome, obj = _put(session, model, given)
    table, key = stored_table(obj), to_string_binary(stored_row(obj))
    answer(
        {"outcome": outcome, "table": table, "row": key},
        lambda: [f"{outcome}: {table} {key}"],
    )


def _put(session: Session, model: type[Model], given: Assignments) -> tuple[Outcome, Model]:
    """Write the values; return whether the row was inserted or updated, and its object."""
    obj = session.get(model, **given.key(model))
    if obj is not None:
        return _update(session, obj, given), obj
    new = _new(model, given)
    try:
        _insert(session, new)
    except DuplicateRowError:
        # Another program has inserted the row since it was looked up.
        obj = session.get(model, **given.key(model))
        if obj is None:
            raise
        return _update(session, obj, given), obj
    return "inserted", new


def _new(model: type[Model], given: Assignments) -> Any:
    obj = model(**given.fields)
    for name, entries in given.entries.items():
        setattr(obj, name, entries)
    return obj


def _insert(session: Session, new: Model) -> None:
    """Insert a row. Without a Thrift2 gateway, a row that was written meanwhile is overwritten."""
    try:
        session.insert(new)
    except FeatureMissingError:
        session.add(new)
        session.flush()


def _update(session: Session, obj: Any, given: Assignments) -> Outcome:
    """Set the values that were given, and write those that have changed."""
    for name, value in given.others(type(obj)).items():
        setattr(obj, name, value)
    for name, entries in given.entries.items():
        getattr(obj, name).update(entries)
    session.add(obj)
    return "updated" if session.flush().written else "unchanged"
