"""A model with the tables of one engine: their names, guards and origin."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hbase_orm.errors import ConfigurationError, shown
from hbase_orm.gateway.base import Feature
from hbase_orm.index.described import described_indexes
from hbase_orm.model import Model
from hbase_orm.model.kinds import kind_finder, kind_test
from hbase_orm.ops import longest_row_key_bytes
from hbase_orm.rowkey import KeyContext
from hbase_orm.schema import TableSchema
from hbase_orm.session.binding import BoundModel
from hbase_orm.session.mutable import has_mutable_values
from hbase_orm.session.naming import Names, in_namespace
from hbase_orm.session.without_guards import written_table


def named_schema(schema: TableSchema, namespace: str) -> TableSchema:
    """Return a schema with its tables in `namespace`, unless it names one of its own."""
    return replace(
        schema,
        table=in_namespace(schema.table, namespace),
        indexes=tuple(
            replace(index, table=in_namespace(index.table, namespace)) for index in schema.indexes
        ),
    )


def checked_model(model: Any) -> type[Model]:
    """Return a model, if it is one with a table.

    Raises:
        ConfigurationError: It is none.
    """
    if isinstance(model, type) and issubclass(model, Model) and hasattr(model, "__schema__"):
        return model
    fix = "name the class: session.get(Reading, host=...)"
    if isinstance(model, (list, tuple, set, frozenset)):
        fix = "give the classes one by one: engine.create_tables(*models)"
    raise ConfigurationError("this is no model with a table", got=shown(model), fix=fix)


def bind(
    model: type[Model],
    namespace: str,
    features: frozenset[Feature],
    names: Names,
    servers: str = "",
) -> BoundModel:
    """Return `model` with its tables in `namespace`.

    Args:
        model: The class.
        namespace: Where its tables are.
        features: What the gateways can do.
        names: The engine's dictionaries.
        servers: Where the namespace is: two that differ have different tables.

    Raises:
        ConfigurationError: Not a concrete model, or one whose rows need guards, and so Thrift2.
    """
    schema: TableSchema = checked_model(model).__schema__
    named = named_schema(schema, namespace)
    return BoundModel(
        model,
        named,
        written_table(named, features),
        described_indexes(named),
        longest_row_key_bytes(named.table),
        names,
        KeyContext(name_of=names.name_of) if schema.layout.lookups else None,
        kind_finder(model) if named.kinds is not None else None,
        kind_test(model),
        has_mutable_values(schema),
        f"{servers} {named.table}",
    )
