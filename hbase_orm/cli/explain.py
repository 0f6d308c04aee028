"""`hbase-orm explain`: show what would be sent for a statement, or run it and measure."""

from __future__ import annotations

from typing import Any

import click

from hbase_orm.binding.bound_tables import named_schema
from hbase_orm.binding.url import parse_url
from hbase_orm.cli.frame import Command, answer, settings
from hbase_orm.cli.model_arguments import statement
from hbase_orm.cli.row_commands.narrowing import narrowing
from hbase_orm.query import Plan, Select, names_in, plan
from hbase_orm.session import connect


@click.command(cls=Command)
@statement()
@narrowing(orders=True)
@click.option(
    "--analyze", is_flag=True, help="Run it, and show the rows fetched and the time taken."
)
def explain(*, stmt: Select[Any], analyze: bool) -> None:
    """Show what would be sent for a statement: ranges, filters, checks, order, requests.

    NAME is a model, a statement, or a function without arguments that returns a statement. The
    options narrow the statement further.

    Values are typed as for 'key encode'. Times are ISO 8601 with an offset, or a date, which means
    midnight in UTC. Durations are seconds. Bytes are written like row keys, and members of an enum
    by their names.

    Usually nothing is sent. A URL is needed with --analyze, and for a row key that stores names as
    numbers. It is also needed to read all tables of a model with a table for each period.

    A statement that would read a whole table is refused with advice.

    \b
    Examples:
      hbase-orm explain shop.models:Order --where 'customer=7' --order-by -at --limit 30
      hbase-orm explain shop.reports:open_orders
      hbase-orm explain shop.models:Order --where 'status in NEW,PAID' --using by_status --json
      hbase-orm --url hbase://127.0.0.1:9090 explain shop.reports:open_orders --analyze
    """  # noqa: D301 -- click's mark, not an escape
    shown_plan = _plan(stmt, analyze=analyze)
    answer(shown_plan.to_dict(), lambda: [str(shown_plan)])


def _plan(stmt: Select[Any], *, analyze: bool) -> Plan:
    url = settings().find_url()
    reason = _reason_to_read(stmt)
    if not analyze and reason is None:
        namespace = "" if url is None else parse_url(url).namespace
        return plan(stmt, named_schema(stmt.model.__schema__, namespace))
    if url is None and reason is not None:
        raise click.UsageError(f"planning needs a read from HBase, so give --url: {reason}.")
    with connect(settings().require_url()) as engine, engine.session() as session:
        return session.explain(stmt, analyze=analyze)


def _reason_to_read(stmt: Select[Any]) -> str | None:
    """Return the reason why planning must read from HBase, as text; None if there is no reason."""
    schema = stmt.model.__schema__
    names = sorted(names_in(stmt, schema))
    if names:
        shown = ", ".join(f"{name!r} (in {table})" for table, name in names)
        return f"the row key stores names as numbers, which must be looked up: {shown}"
    if schema.layout.table_period is not None and stmt.full_scan_allowed:
        return (
            f"{schema.model_name} has a table for each period, and the statement reads all of them"
        )
    return None
