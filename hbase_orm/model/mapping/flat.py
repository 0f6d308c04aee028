"""Converts objects to flat rows: the key, then one value per column, as in `ops.PutRows`.

Bulk writes convert each object to a flat row. The generated function returns None for values that
need special treatment. The bulk writer then uses the usual conversion, which raises the errors.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from hbase_orm.codecs.inline import encode_source, refuses_none
from hbase_orm.codecs.source import MISFITS, Scope, literal
from hbase_orm.schema import ColumnSchema, TableSchema

_KEPT = 256

FlatRow = tuple[bytes | None, ...]

Flattener = Callable[[dict[str, Any], bytes], tuple[int, FlatRow] | None]
"""A function that takes an object's `__dict__` and row key, and returns a size and a flat row.

The size is the sum of the sizes of all cells, in bytes. The result is None for values that need
special treatment.
"""


@lru_cache(maxsize=_KEPT)
def flattener_of(model: Any, *more: tuple[bytes, bytes], cell_bytes: int = 0) -> Flattener | None:
    """Return a function that makes flat rows of a model's objects.

    None for a model whose rows have different columns: a model with dynamic columns, or a model
    whose objects are stored as cells.

    Args:
        model: The model; a flat row has its columns in the order of the schema.
        more: Further columns with constant values, which are added at the end of each row.
        cell_bytes: The bytes that a cell needs in addition to its row key, column and value.
    """
    schema: TableSchema = model.__schema__
    if schema.dynamics or not schema.storage.has_own_rows:
        return None
    scope = Scope(MISFITS=(*MISFITS, KeyError))
    lines, sizes = ["def flatten(d, key):", "    try:"], list[str]()
    # The cells that every row has: their number, and their size without the row key.
    cells = len(more)
    size_bytes = sum(cell_bytes + len(name) + len(value) for name, value in more)
    values = [f"c{number}" for number in range(len(schema.columns))]
    for value, column in zip(values, schema.columns, strict=True):
        lines += _encoding(column, value, scope)
        width, named_bytes = column.codec.width_bytes, cell_bytes + len(column.column)
        if column.nullable:
            sizes.append(f"(0 if {value} is None else len({value}) + {named_bytes} + len(key))")
            continue
        cells += 1
        size_bytes += named_bytes + (width or 0)
        if width is None:
            sizes.append(f"len({value})")
    size = " + ".join([*sizes, f"{cells} * len(key) + {size_bytes}"])
    row = ", ".join(["key", *values, *(literal(value) for _, value in more)])
    lines += [f"        return {size}, ({row},)", "    except MISFITS:", "        return None"]
    flatten: Flattener = scope.compiled(lines, "flatten")
    return flatten


def _encoding(column: ColumnSchema, value: str, scope: Scope) -> list[str]:
    encoded = encode_source(column.codec, "v", scope)
    if column.nullable:
        # A deferred field that was not read raises KeyError: it does not count as None.
        name = literal(column.name)
        stored = f"d[{name}]" if column.deferred else f"d.get({name})"
        return [
            f"        v = {stored}",
            f"        {value} = None if v is None else {encoded}",
        ]
    lines = [f"        v = d[{literal(column.name)}]"]
    if not refuses_none(column.codec):
        lines.append("        if v is None: return None")
    return [*lines, f"        {value} = {encoded}"]
