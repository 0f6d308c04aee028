"""Who stamps the cells of a model."""

from __future__ import annotations

from dataclasses import replace

from hbase_orm.errors import SchemaError
from hbase_orm.schema import TableSchema


def stamped(schema: TableSchema, timestamps: str | None) -> TableSchema:
    """Return a description with who stamps the cells.

    Raises:
        SchemaError: There is no such choice, or the model is guarded.
    """
    if timestamps not in {None, "server", "client"}:
        raise SchemaError(
            "timestamps are the server's or the client's",
            model=schema.model_name,
            timestamps=timestamps,
            fix='write timestamps="server" or "client"',
        )
    if timestamps is not None and schema.is_guarded:
        raise SchemaError(
            "a model with indexes or a version has the timestamps of its guards",
            model=schema.model_name,
            fix="leave timestamps= out",
        )
    return replace(schema, timestamps=timestamps)
