"""`hbase-orm delete`: delete rows by their keys, or those that fulfil conditions."""

from __future__ import annotations

from typing import Any

import click

from hbase_orm.cli.confirm import confirm_at
from hbase_orm.cli.frame import Command, answer, note, settings
from hbase_orm.cli.progress import WorkLines
from hbase_orm.cli.row_commands.key_arguments import ModelAndKeys, model_and_keys, shown_key
from hbase_orm.cli.row_commands.narrowing import narrowing
from hbase_orm.query import Select
from hbase_orm.session import Session, connect


@click.command(cls=Command)
@model_and_keys()
@narrowing()
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(*, target: ModelAndKeys, stmt: Select[Any], yes: bool) -> None:
    """Delete the rows with these keys, or those that fulfil conditions; show how many there were.

    KEY is written as for 'get', and conditions as for 'scan'. The command counts the rows and asks
    before it deletes them; without a terminal it needs --yes. The model's hooks are called for
    rows that are named by their keys. Conditions that would read a whole table need
    --allow-full-scan. 'hbase-orm tables truncate' deletes all rows of a table.

    If the command is interrupted, some rows are deleted and others are not: run it again.

    \b
    Examples:
      hbase-orm delete shop.models:Order 7 8
      hbase-orm delete shop.models:Order --where customer=12 --where 'at<2020-01-01' --yes
    """  # noqa: D301 -- click's mark, not an escape
    if bool(target.keys) == bool(stmt.conditions):
        raise click.UsageError(
            "give either KEY or --where; 'hbase-orm tables truncate' deletes all rows of a table."
        )
    with connect(settings().require_url()) as engine, engine.session() as session:
        if target.keys:
            deleted = _delete_keys(session, target, yes=yes)
        else:
            deleted = _delete_where(session, stmt, yes=yes)
    rows = "row" if deleted == 1 else "rows"
    answer({"deleted": deleted}, lambda: [f"deleted {deleted} {rows} of {_table(target)}"])


def _table(target: ModelAndKeys) -> str:
    return target.model.__schema__.table


def _delete_keys(session: Session, target: ModelAndKeys, *, yes: bool) -> int:
    objects = session.get_many(target.model, target.keys)
    for key, obj in zip(target.keys, objects, strict=True):
        if obj is None:
            note(f"no row has the key {shown_key(key)}")
    existing = {id(obj): obj for obj in objects if obj is not None}  # a key may come twice
    _confirm(len(existing), target.model.__schema__.table, yes=yes)
    for obj in existing.values():
        session.delete(obj)
    return session.flush().written


def _delete_where(session: Session, stmt: Select[Any], *, yes: bool) -> int:
    table = stmt.model.__schema__.table
    if not yes:
        with WorkLines(f"counting rows of {table}"):
            number = session.count(stmt)
        if not number:
            return 0
        _confirm(number, table, yes=yes)
    with WorkLines(f"deleting rows of {table}"):
        return session.delete_where(stmt)


def _confirm(number: int, table: str, *, yes: bool) -> None:
    """Ask whether to delete rows, unless there are none, or the user has said --yes."""
    if number and not yes:
        rows = "1 row" if number == 1 else f"{number} rows"
        confirm_at(f"delete {rows} of {table}", settings().require_url())
