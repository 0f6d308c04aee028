"""Binds a model to the tables of one engine: their names, guards and origin."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hbase_orm.binding.addressing.keys import keys_of
from hbase_orm.binding.addressing.tables import tables_of
from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.dictionaries import Dictionaries, in_namespace
from hbase_orm.binding.in_place import has_mutable_values
from hbase_orm.binding.protocol import written_table
from hbase_orm.errors import ConfigurationError, shown
from hbase_orm.gateway.base import Feature
from hbase_orm.index.catalog.declaration_text import declaration_texts
from hbase_orm.model import Model
from hbase_orm.model.declare.placement import model_finder, record_type_test
from hbase_orm.schema import TableSchema, deferred_names


def named_schema(schema: TableSchema, namespace: str) -> TableSchema:
    """Return a schema with `namespace` added to the table names that have no namespace."""
    return replace(
        schema,
        table=in_namespace(schema.table, namespace),
        namespace=namespace,
        indexes=tuple(
            replace(index, table=in_namespace(index.table, namespace)) for index in schema.indexes
        ),
    )


def checked_model(model: Any) -> type[Model]:
    """Check that a model has a table, and return it.

    Raises:
        ConfigurationError: The argument is not a model with a table.
    """
    if isinstance(model, type) and issubclass(model, Model) and hasattr(model, "__schema__"):
        return model
    fix = "name a class that derives from Model and has table=..."
    if isinstance(model, Model):
        fix = f"name the class: {type(model).__name__}"
    if isinstance(model, (list, tuple, set, frozenset)):
        fix = "give the classes one by one: engine.create_tables(*models)"
    raise ConfigurationError("the argument is not a model with a table", got=shown(model), fix=fix)


def bind(
    model: type[Model],
    namespace: str,
    features: frozenset[Feature],
    dictionaries: Dictionaries,
    servers: str = "",
    *,
    on_drift: str = "refuse",
) -> BoundModel:
    """Bind a model to the tables of one engine.

    Args:
        model: The model's class.
        namespace: The namespace of tables whose name has none.
        features: The features that the gateways support.
        dictionaries: The dictionaries of the engine.
        servers: The addresses of the gateways. They become part of the model's origin, because
            tables of the same name on other servers are other tables.
        on_drift: What happens if the model contradicts the record of its table: "refuse" or "warn".
            A model that writes guards or index entries is always refused.

    Raises:
        ConfigurationError: The model has no table, or it needs guards and there is no Thrift2
            gateway.
    """
    schema: TableSchema = checked_model(model).__schema__
    named = named_schema(schema, namespace)
    origin = f"{servers} {named.table}"
    keys = keys_of(model, named, dictionaries, origin)
    warns_of_drift = on_drift == "warn" and not named.is_guarded
    return BoundModel(
        model,
        named,
        written_table(named, features),
        declaration_texts(named),
        tables_of(named),
        keys,
        None if keys.names is None else keys.names.context,
        model_finder(model) if named.record_types is not None else None,
        record_type_test(model),
        has_mutable_values(schema),
        origin,
        bool(deferred_names(named)),
        warns_of_drift=warns_of_drift,
    )
