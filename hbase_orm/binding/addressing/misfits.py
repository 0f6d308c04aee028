"""The error of a key field whose value does not fit."""

from __future__ import annotations

from hbase_orm.errors import CodecError, RowKeyError
from hbase_orm.schema import TableSchema


def misfit(schema: TableSchema, field: str, error: CodecError) -> RowKeyError:
    """Return the error of a codec as that of a model's key field."""
    details = {"model": schema.model_name, "field": field, **error.details}
    return RowKeyError(error.text, fix=error.fix, **details)
