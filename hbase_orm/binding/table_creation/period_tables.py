"""Creates the missing table of a period for a write, and then repeats the write."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, TypeVar, cast

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.table_creation.table_records import create_recorded
from hbase_orm.errors import NamespaceNotFoundError, TableNotFoundError
from hbase_orm.gateway.base import Feature
from hbase_orm.model.declare.placement import base_of
from hbase_orm.ops import MutateRows, Operation, Protocol, RetryPolicy, ask_with_retry

R = TypeVar("R")

MISSING_TABLE: Final = (TableNotFoundError, NamespaceNotFoundError)
# Another process that is making the table needs about a second.
_RETRIES: Final = RetryPolicy(
    attempts=5, first_pause_s=0.1, longest_pause_s=3.0, factor=3.0, errors=MISSING_TABLE
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
