"""Names of the user's own model, for the texts of errors that show how to write a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hbase_orm.schema import TableSchema


def key_as_tuple(names: Sequence[str]) -> str:
    """Return the key fields as Python writes a tuple: `(host, at)`, and `(host,)` for one."""
    return f"({names[0]},)" if len(names) == 1 else f"({', '.join(names)})"


def key_as_keywords(names: Sequence[str]) -> str:
    """Return the key fields as keyword arguments: `host=..., at=...`."""
    return ", ".join(f"{name}=..." for name in names)


def field_of(schema: TableSchema, kind: type[Any] | tuple[type[Any], ...] = object) -> str:
    """Return `Model.field` for the model's first field of a kind, or `Model.FIELD` without one."""
    names = (name for name, field in schema.fields.items() if isinstance(field, kind))
    return f"{schema.model_name}.{next(names, 'FIELD')}"


def model_in(value: object) -> str:
    """Return the name of the model that a value is, or is an object or field of; else `Model`."""
    named = getattr(value, "model_name", "")
    if named:
        return str(named)
    model = value if isinstance(value, type) else type(value)
    return model.__name__ if hasattr(model, "__schema__") else "Model"
