"""`hbase-orm scan` and `count`: read the rows that a statement selects."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from hbase_orm.cli.frame import Command, answer, note, settings
from hbase_orm.cli.model_arguments import statement
from hbase_orm.cli.progress import WorkLines
from hbase_orm.cli.row_commands.narrowing import narrowing
from hbase_orm.cli.row_commands.row_output import CELLS, RowOutput, columns_option, format_option
from hbase_orm.cli.row_commands.shown_fields import (
    ShownFields,
    deferred_fields,
    fields_of_objects,
    fields_of_values,
    read_names,
)
from hbase_orm.query import Select, select
from hbase_orm.session import connect


@click.command(cls=Command)
@statement()
@narrowing(orders=True, reverse=True)
@columns_option
@format_option
def scan(*, stmt: Select[Any], columns: str | None, row_format: str) -> None:
    """Show the rows that a statement selects, as they are read.

    NAME is a model, a statement, or a function without arguments that returns a statement; the
    options narrow it further, as for 'explain'. A scan of a whole table needs --allow-full-scan;
    the first rows of a table need only --limit.

    Rows are printed in constant memory. If an error ends the output, a JSON array is not closed.

    \b
    Examples:
      hbase-orm scan shop.models:Order --limit 10
      hbase-orm scan shop.models:Order --where customer=7 --order-by -at --columns number,at
      hbase-orm scan shop.reports:open_orders --format csv > orders.csv
      hbase-orm scan shop.models:Order --allow-full-scan --format jsonl | jq .total
    """  # noqa: D301 -- click's mark, not an escape
    stmt, fields = _with_columns(stmt, columns, row_format)
    if stmt.row_limit is not None and not (stmt.conditions or stmt.is_aggregated or stmt.sort):
        stmt = stmt.allow_full_scan()  # it ends with the limit
    output = RowOutput(row_format, f"scanning {stmt.model.__schema__.table}")
    with (
        connect(settings().require_url()) as engine,
        engine.session() as session,
        session.stream(stmt) as results,
    ):
        output.show(fields, results)
        if results.stale:
            note("a replica answered: rows may be outdated, and others missing")


@click.command(cls=Command)
@statement()
@narrowing()
def count(stmt: Select[Any]) -> None:
    """Count the rows that a statement selects.

    NAME and the options are those of 'scan'. Row keys are read, and the columns that conditions
    compare. A count of a whole table needs --allow-full-scan.

    \b
    Examples:
      hbase-orm count shop.models:Order --where 'status in NEW,PAID'
      hbase-orm count shop.models:Order --allow-full-scan
    """  # noqa: D301 -- click's mark, not an escape
    with (
        connect(settings().require_url()) as engine,
        engine.session() as session,
        WorkLines(f"counting {stmt.model.__schema__.table}"),
    ):
        number = session.count(stmt)
    answer({"count": number}, lambda: [str(number)])


def _with_columns(
    stmt: Select[Any], columns: str | None, row_format: str
) -> tuple[Select[Any], ShownFields]:
    """Return the statement that reads only what is shown, and the fields that are shown.

    Raises:
        click.UsageError: The statement selects values, or reads the past, but objects are needed.
        click.BadParameter: The model does not have a field.
    """
    names, model = read_names(stmt.model, columns), stmt.model
    if stmt.selection is not None:
        if columns is not None or row_format == CELLS:
            wrong = "--columns" if columns is not None else f"--format {CELLS}"
            raise click.UsageError(f"{wrong} needs whole rows, but the statement selects values.")
        return stmt, fields_of_values(stmt)
    has_columns = bool(names) and all(name in model.__schema__.codecs for name in names)
    if has_columns and row_format != CELLS and stmt.entries is None:
        selection = select(*(getattr(model, name) for name in names)).selection
        stmt = replace(stmt, selection=selection, related=())
        return stmt, fields_of_values(stmt)
    _refuse_unread(stmt, names, row_format)
    return stmt, fields_of_objects(model, names)


def _refuse_unread(stmt: Select[Any], names: tuple[str, ...], row_format: str) -> None:
    """Refuse what the objects of a statement do not have: cells of the past, deferred fields."""
    if row_format == CELLS and stmt.times is not None:
        raise click.UsageError(f"--format {CELLS} shows stored rows, not those of the past.")
    deferred = sorted(deferred_fields(stmt.model) & {*names})
    if deferred:
        raise click.UsageError(
            f"{', '.join(deferred)}: deferred fields cannot be scanned with --format {CELLS} or "
            "beside dynamic columns; 'get' shows them."
        )
