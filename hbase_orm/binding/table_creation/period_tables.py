"""Creates the missing tables of periods: for a write, and for rows that move to a period."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, TypeVar, cast

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.table_creation.model_tables import add_guard_family
from hbase_orm.binding.table_creation.table_descriptors import SLOP, base_table, guard_family
from hbase_orm.binding.table_creation.table_records import create_recorded
from hbase_orm.errors import (
    ConflictError,
    ConnectionLostError,
    FeatureMissingError,
    NamespaceNotFoundError,
    RetryableError,
    TableDisabledError,
    TableNotFoundError,
)
from hbase_orm.gateway.base import Feature
from hbase_orm.index.entries.targets import GUARD_COLUMN, GUARD_FAMILY
from hbase_orm.model.declare.placement import base_of
from hbase_orm.numbering.create_tables import create_if_missing
from hbase_orm.ops import (
    CreateTable,
    DescribeTable,
    GetRows,
    MutateRows,
    Operation,
    Protocol,
    RetryPolicy,
    TableDescriptor,
    ask_with_retry,
)
from hbase_orm.record.store import ID_ATTRIBUTE, read_record

R = TypeVar("R")

MISSING_TABLE: Final = (TableNotFoundError, NamespaceNotFoundError)
# Another process that is making the table needs about a second.
_RETRIES: Final = RetryPolicy(
    attempts=5, first_pause_s=0.1, longest_pause_s=3.0, factor=3.0, errors=MISSING_TABLE
)
# Until all its regions are open, requests for it fail in other ways, too.
_OPENING: Final = replace(
    _RETRIES,
    attempts=8,
    errors=(*MISSING_TABLE, TableDisabledError, RetryableError, ConnectionLostError),
)

_HOW_TO_MAKE: Final = (
    "call engine.create_tables(M, periods=(first, after_last)), or declare "
    "TablePerPeriod(..., create=True)"
)
_WHO_MAKES: Final = "add thrift2=host:9091 to the URL: only Thrift2 gateways make such tables"


def send_to_missing_table(
    operation: Operation[R],
    bound: BoundModel,
    features: frozenset[Feature],
    error: TableNotFoundError | NamespaceNotFoundError,
) -> Protocol[R]:
    """Create the missing table of a write, then send the write again; return its answer.

    For a `MutateRows` that only deletes, nothing is created or sent, because there are no rows
    to delete.

    Args:
        operation: The write.
        bound: The bound model, with the table of a period.
        features: The features that the gateway supports.
        error: The error of the write.

    Raises:
        TableNotFoundError: Writes of this model do not create tables, or there is no Thrift2
            gateway to create one.
    """
    if isinstance(operation, MutateRows) and not any(m.puts for m in operation.mutations):
        return cast("R", None)  # what MutateRows answers
    if not bound.tables.are_made_by_writes:
        raise _missing(bound, _HOW_TO_MAKE) from error
    if Feature.SCHEMA not in features:
        raise _missing(bound, _WHO_MAKES) from error
    yield from create_recorded(_shared(bound), features)
    return (yield from ask_with_retry(operation, _RETRIES))


def make_period_of_move(
    bound: BoundModel, features: frozenset[Feature], known: set[str]
) -> Protocol[None]:
    """Create the table of a period to which rows move, unless it exists; wait until it is open.

    The table gets the family of guards and the id of the record. It is safe to repeat, and several
    programs may do it at once.

    Args:
        bound: The bound model, with the table of a period.
        features: The features that the gateway supports.
        known: The tables that were open before; the table is added.

    Raises:
        ConflictError: The table exists, and another program made it for other rows.
        FeatureMissingError: The table is missing, and there is no Thrift2 gateway.
    """
    table, schema = bound.schema.table, bound.schema
    if table in known:
        return
    record = yield from read_record(bound.declared_table)
    table_id = "" if record is None else record.table_id
    there = yield from _described(table)
    if there is None:
        if Feature.SCHEMA not in features:
            raise FeatureMissingError(
                "only Thrift2 gateways create the table of a period to which rows move",
                model=schema.model_name,
                table=table,
                fix="add thrift2=host:9091 to the URL",
            )
        own = base_table(schema, table_id)
        families = [each for each in own.families if each.name != GUARD_FAMILY]
        families.append(guard_family(schema))
        attributes = {**own.attributes, **SLOP}
        wanted = replace(own, families=tuple(families), attributes=attributes)
        yield from create_if_missing(CreateTable(wanted, schema.split_keys), is_repeatable=True)
        there = yield from _described(table)
    if there is not None and there.attributes.get(ID_ATTRIBUTE) != table_id:
        raise ConflictError(
            "the table of the period was not made by the move of rows to it",
            model=schema.model_name,
            table=table,
            fix="drop the table if its rows are not needed; the move makes it again",
        )
    if there is not None and GUARD_FAMILY not in {family.name for family in there.families}:
        yield from add_guard_family(bound)
    # Another program may just be making it.
    yield from ask_with_retry(GetRows(table, (b"\x00",), (GUARD_COLUMN,)), _OPENING)
    known.add(table)


def _described(table: str) -> Protocol[TableDescriptor | None]:
    try:
        return (yield from ask_with_retry(DescribeTable(table), RetryPolicy(5, 0.1)))
    except MISSING_TABLE:
        return None


def _shared(bound: BoundModel) -> BoundModel:
    """Return the bound model of the class that declares the table.

    For a record type this class is its base; for any other model, the model itself.
    """
    base = base_of(bound.model)
    if base is None:
        return bound
    own = bound.schema
    schema = replace(base.__schema__, table=own.table, namespace=own.namespace)
    return replace(bound, model=base, schema=schema)


def _missing(bound: BoundModel, fix: str) -> TableNotFoundError:
    return TableNotFoundError(
        "the table of the row's period does not exist",
        model=bound.schema.model_name,
        table=bound.schema.table,
        fix=fix,
    )
