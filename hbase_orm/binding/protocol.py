"""Checks which models with indexes work without Thrift2, and which operations on them."""

from __future__ import annotations

from hbase_orm.errors import ConfigurationError
from hbase_orm.gateway.base import Feature
from hbase_orm.index.entries.index_entries import guarded_table
from hbase_orm.index.entries.targets import GuardedTable
from hbase_orm.index.protocol.last_writer_rules import CONFIGURE_THRIFT2, needs_guard, obstacle
from hbase_orm.schema import TableSchema


def written_table(
    schema: TableSchema, features: frozenset[Feature], *, guards_plain_models: bool = False
) -> GuardedTable | None:
    """Return the description of a model's table for guarded writes; None for a plain model.

    Without Thrift2 the description's `is_lww` is true: rows have index entries, but no guards.

    Args:
        schema: The schema of the model.
        features: The features that the gateways support.
        guards_plain_models: Whether a plain model has guards, too, as the record of its table says.
            Without Thrift2 the result is None all the same: such a program can only read.

    Raises:
        ConfigurationError: The model needs guards, and there is no Thrift2 gateway.
    """
    if not schema.is_guarded and not guards_plain_models:
        return None
    if Feature.CHECK_AND_MUTATE in features:
        return guarded_table(schema)
    if not schema.is_guarded:
        return None
    missing = obstacle(schema)
    if missing is not None:
        raise ConfigurationError(
            "the model needs a Thrift2 gateway: with Thrift1 alone, only indexes over one "
            "required column can be maintained",
            model=schema.model_name,
            index=missing.index,
            reason=missing.reason,
            fix=CONFIGURE_THRIFT2,
        )
    return guarded_table(schema, is_lww=True)


def refuse_without_guards(
    schema: TableSchema, guarded: GuardedTable | None, operation: str
) -> None:
    """Raise an error if an operation needs guards, but the rows have indexes without guards.

    Raises:
        FeatureMissingError: The table has indexes without guards; nothing was sent.
    """
    if guarded is not None and guarded.is_lww:
        raise needs_guard(operation, model=schema.model_name, table=schema.table)
