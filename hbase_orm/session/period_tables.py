"""The tables of periods: which one a name names, and writes to one that may not exist yet."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Final, TypeVar, cast

from hbase_orm.errors import ConfigurationError, NamespaceNotFoundError, TableNotFoundError
from hbase_orm.gateway.base import Feature
from hbase_orm.model.kinds import base_of
from hbase_orm.ops import MutateRows, Operation, Protocol, Sleep, ask
from hbase_orm.schema import TableSchema
from hbase_orm.session import tables
from hbase_orm.session.binding import BoundModel
from hbase_orm.session.catalog_checks import check_unguarded
from hbase_orm.session.runtime import Runtime

R = TypeVar("R")

_MISSING: Final = (TableNotFoundError, NamespaceNotFoundError)
# Another process that is making the table needs about a second.
_PAUSES_S: Final = (0.1, 0.3, 1.0, 3.0)

_HOW_TO_MAKE: Final = (
    "call engine.create_tables(M, periods=(first, after_last)), or declare "
    "TablePerPeriod(..., create=True)"
)
_WHO_MAKES: Final = "add thrift2=host:9091 to the URL: only Thrift2 gateways make such tables"


def makes_tables(bound: BoundModel) -> bool:
    """Say whether writing to a table of a period that does not exist makes it."""
    period = bound.schema.layout.table_period
    return period is not None and period.is_made_by_writes


def period_start(schema: TableSchema, table: str) -> datetime | None:
    """Return the start of the period whose rows `table` holds; None if a model has one table.

    Raises:
        ConfigurationError: It is no table of the model's.
    """
    period = schema.layout.table_period
    start = None if period is None else period.unit.start_of(schema.table, table)
    if start is None and (period is not None or table != schema.table):
        raise ConfigurationError(
            "the table is none of the model's",
            model=schema.model_name,
            table=table,
            declared=schema.table,
            fix="give the name as HBase lists it",
        )
    return start


def send(operation: Operation[R], bound: BoundModel, runtime: Runtime) -> R:
    """Send a write of one table and return its answer; make the table if its model says so.

    A write to a table that does not exist was not applied, so it may be sent again. Deletes have
    nothing to do there.

    Raises:
        TableNotFoundError: There is no such table, and writing does not make it.
        SchemaError, RetryableError: As `check_unguarded` does.
    """
    check_unguarded(bound, runtime, operation)
    try:
        return runtime.execute(operation)
    except _MISSING as error:
        period = bound.schema.layout.table_period
        if period is None:
            raise
        if isinstance(operation, MutateRows) and not any(m.puts for m in operation.mutations):
            return cast("R", None)  # what MutateRows answers
        if not makes_tables(bound):
            raise _missing(bound, _HOW_TO_MAKE) from error
        if Feature.SCHEMA not in runtime.features:
            raise _missing(bound, _WHO_MAKES) from error
    return runtime.run(_send_to_new_table(operation, bound))


def _send_to_new_table(operation: Operation[R], bound: BoundModel) -> Protocol[R]:
    yield from tables.create(_shared(bound))
    for pause_s in _PAUSES_S:
        try:
            return (yield from ask(operation))
        except _MISSING:  # another process has begun to make it
            yield from ask(Sleep(pause_s))
    return (yield from ask(operation))


def _shared(bound: BoundModel) -> BoundModel:
    """Return the model that decides what its table is: of a record type its base, as it is now."""
    base = base_of(bound.model)
    if base is None:
        return bound
    schema = replace(base.__schema__, table=bound.schema.table)
    return replace(bound, model=base, schema=schema)


def _missing(bound: BoundModel, fix: str) -> TableNotFoundError:
    return TableNotFoundError(
        "the table of the row's period does not exist",
        model=bound.schema.model_name,
        table=bound.schema.table,
        fix=fix,
    )
