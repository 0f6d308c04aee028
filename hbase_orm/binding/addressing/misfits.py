"""The error for a key field whose value does not fit."""

from __future__ import annotations

from hbase_orm.errors import CodecError, RowKeyError
from hbase_orm.schema import TableSchema


def misfit(schema: TableSchema, field: str, error: CodecError) -> RowKeyError:
    """Return a codec's error as a `RowKeyError` that names the model and the key field."""
    details = {"model": schema.model_name, "field": field, **error.details}
    return RowKeyError(error.text, fix=error.fix, **details)
