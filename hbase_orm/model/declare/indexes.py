"""Adds the indexes of a model to its schema, when all fields are known."""

from __future__ import annotations

from dataclasses import replace

from hbase_orm.errors import SchemaError
from hbase_orm.model.declare.declare import declared, of_model
from hbase_orm.model.declare.names import is_identifier
from hbase_orm.schema import Index, TableSchema, index_schema


def with_indexes(cls: type, schema: TableSchema) -> TableSchema:
    """Return a schema with the model's indexes added.

    Raises:
        SchemaError: A declaration is wrong; the error names the class, the index and the fix.
    """
    indexes: dict[str, Index] = declared(cls, Index)
    with of_model(cls):
        _check_names(indexes)
        _check_lists(cls)
        if not indexes:
            return schema
        if schema.layout.table_period is not None:
            raise SchemaError(
                "a model with a table for each period cannot have indexes: an index entry "
                "does not show which table its row is in",
                index=next(iter(indexes)),
                fix="leave the index out, or keep all rows in one table",
            )
        made = tuple(index_schema(index, schema) for index in indexes.values())
        return replace(schema, indexes=made)


def _check_names(indexes: dict[str, Index]) -> None:
    """Refuse names that are not Python identifiers, and one Index object under two names."""
    for name, index in indexes.items():
        if not is_identifier(name):
            raise SchemaError(
                "the index's name is not a Python identifier",
                index=name,
                fix="choose a name of letters, digits and underscores",
            )
        if index.name != name:
            raise SchemaError(
                "the same Index object has two names",
                index=name,
                other_name=index.name,
                fix="assign each Index object to one name only",
            )


def _check_lists(cls: type) -> None:
    """Refuse indexes inside a list, a tuple or the like: they would be silently ignored."""
    for name, value in declared(cls, (list, tuple, set, dict)).items():
        held = (*value, *value.values()) if isinstance(value, dict) else value
        if any(isinstance(each, Index) for each in held):
            raise SchemaError(
                "an index must be an attribute of the class by itself",
                attribute=name,
                fix="write one line NAME = Index(FIELD) in the class's body for each index",
            )
