"""Objects to flat rows: a key and then a value for each column, as `ops.PutRows` takes them.

Bulk writing makes one of each object. The generated function says nothing about values that do not
fit: it answers None, and the plain way finds out what is wrong, or what else to do.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from hbase_orm.codecs.inline import encode_source, refuses_none
from hbase_orm.codecs.source import MISFITS, Scope
from hbase_orm.schema import ColumnSchema, TableSchema

_KEPT = 256

FlatRow = tuple[bytes | None, ...]

Flattener = Callable[[dict[str, Any], bytes], tuple[int, FlatRow] | None]
"""From an object's `__dict__` and row key to the bytes of its values in all, and its flat row."""


@lru_cache(maxsize=_KEPT)
def flattener_of(model: Any, *more: bytes) -> Flattener | None:
    """Return a function that makes flat rows; None for models whose rows have not one shape.

    Args:
        model: The class. A row has the columns in the order of its schema.
        more: Values that stand at the end of each row.
    """
    schema: TableSchema = model.__schema__
    if schema.dynamics or schema.packed_bytes:
        return None
    scope = Scope(MISFITS=(*MISFITS, KeyError))
    lines, sizes, width_bytes = ["def flatten(d, key):", "    try:"], list[str](), 0
    values = [f"c{number}" for number in range(len(schema.columns))]
    for value, column in zip(values, schema.columns, strict=True):
        lines += _encoding(column, value, scope)
        width = column.codec.width_bytes
        if column.nullable:
            sizes.append(f"(0 if {value} is None else len({value}))")
        elif width is None:
            sizes.append(f"len({value})")
        else:
            width_bytes += width
    size = " + ".join([*sizes, str(width_bytes + sum(map(len, more)))])
    row = ", ".join(["key", *values, *map(repr, more)])
    lines += [f"        return {size}, ({row},)", "    except MISFITS:", "        return None"]
    flatten: Flattener = scope.compiled(lines, "flatten")
    return flatten


def _encoding(column: ColumnSchema, value: str, scope: Scope) -> list[str]:
    encoded = encode_source(column.codec, "v", scope)
    if column.nullable:
        return [
            f"        v = d.get({column.name!r})",
            f"        {value} = None if v is None else {encoded}",
        ]
    lines = [f"        v = d[{column.name!r}]"]
    if not refuses_none(column.codec):
        lines.append("        if v is None: return None")
    return [*lines, f"        {value} = {encoded}"]
