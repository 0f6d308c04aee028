"""The indexes of a model: added to what describes its table once all of its fields are known."""

from __future__ import annotations

from dataclasses import replace

from hbase_orm.errors import SchemaError
from hbase_orm.model.declare import declared, of_model
from hbase_orm.schema import Index, TableSchema, index_schema


def with_indexes(cls: type, schema: TableSchema) -> TableSchema:
    """Return the description of a model's table with its indexes.

    Raises:
        SchemaError: A declaration is wrong; it names the class, the index and the fix.
    """
    indexes: dict[str, Index] = declared(cls, Index)
    if not indexes:
        return schema
    with of_model(cls):
        if schema.layout.table_period is not None:
            raise SchemaError(
                "a model with a table for each period cannot have indexes: an entry does not tell "
                "which table its row is in",
                index=next(iter(indexes)),
                fix="leave the index out, or keep all rows in one table",
            )
        made = tuple(index_schema(index, schema) for index in indexes.values())
        return replace(schema, indexes=made)
