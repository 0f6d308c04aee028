"""Rows by their keys: which row keys in which tables one asks for, and what stands there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from hbase_orm.errors import MultipleRowsError, QueryError, RowKeyError, TableNotFoundError
from hbase_orm.execute.by_keys import rows_by_key
from hbase_orm.model import check_key_arguments
from hbase_orm.ops import GetRows, Row
from hbase_orm.schema import NO_FIELDS, cells_as_rows, columns_read, packed_get
from hbase_orm.session.binding import BoundModel
from hbase_orm.session.runtime import Runtime

GET_MANY_ROWS: Final = 100
"""More row keys are asked for by several requests."""

KeyValues = tuple[Any, ...] | Mapping[str, Any]


def several_keys(keys: Iterable[KeyValues]) -> list[KeyValues]:
    """Return keys as a list.

    Raises:
        QueryError: It is no list of keys: one key, a text, None.
    """
    if isinstance(keys, (str, bytes, Mapping)) or not isinstance(keys, Iterable):
        raise QueryError(
            "this is no list of keys",
            got=keys,
            fix='give a list of tuples or dicts, as [("web-1", 7), {"host": "web-2", "n": 7}]',
        )
    return list(keys)


def found_rows(
    bound: BoundModel, keys: Sequence[KeyValues], runtime: Runtime, *, most: int = GET_MANY_ROWS
) -> Iterator[tuple[int, BoundModel, Row]]:
    """Yield the rows of these keys: the position of each, the model with its table, and the row.

    One request reads at most `most` rows of one table.

    Raises:
        RowKeyError: A key field is missing, unknown or does not fit; nothing was sent.
        MultipleRowsError: Several rows have one key.
    """
    by_table: dict[str, list[tuple[int, BoundModel, bytes]]] = {}
    for position, (placed, row_keys) in enumerate(_asked(bound, keys)):
        wanted = by_table.setdefault(placed.schema.table, [])
        wanted += [(position, placed, row_key) for row_key in row_keys]
    seen: dict[int, bytes] = {}
    for wanted in by_table.values():
        for start in range(0, len(wanted), most):
            some = wanted[start : start + most]
            rows = read_rows(some[0][1], [key for _, _, key in some], runtime)
            bound.load_names([row for row in rows if row is not None])
            for (position, placed, _), row in zip(some, rows, strict=True):
                if row is None or not placed.exists(row):
                    continue
                if position in seen:
                    raise several_rows(bound, [seen[position], row.key])
                seen[position] = row.key
                yield position, placed, row


def _asked(
    bound: BoundModel, keys: Sequence[KeyValues]
) -> list[tuple[BoundModel, tuple[bytes, ...]]]:
    """Return the table and the row keys that each key asks for; names are looked up all at once."""
    named = [_named(bound, key) for key in keys]
    placed = [bound.placed(key) for key in named]
    bound.look_up_names(named)
    return [(one, one.keys(key)) for one, key in zip(placed, named, strict=True)]


def _named(bound: BoundModel, key: KeyValues) -> Mapping[str, Any]:
    if isinstance(key, Mapping) or bound.schema.kinds is not None:
        check_key_arguments(bound.schema, key if isinstance(key, Mapping) else {})
    if isinstance(key, Mapping):
        return key
    names = bound.schema.layout.arguments
    if not isinstance(key, tuple) or len(key) != len(names):
        raise RowKeyError(
            "a key is a tuple of all key fields, or a mapping",
            model=bound.schema.model_name,
            key=key,
            fix=f"give ({', '.join(names)})",
        )
    return dict(zip(names, key, strict=True))


def row_keys(bound: BoundModel, key: Mapping[str, Any]) -> tuple[bytes, ...]:
    """Return every row key that a row with these key fields can have.

    Raises:
        RowKeyError: A key field is missing, unknown or does not fit; nothing was sent.
    """
    (found,) = _asked(bound, [key])
    return tuple(each[: len(each) - bound.schema.packed_bytes] for each in found[1])


def read_rows(
    bound: BoundModel,
    keys: Sequence[bytes],
    runtime: Runtime,
    loaded: frozenset[str] = NO_FIELDS,
) -> Sequence[Row | None]:
    """Return rows by key, as objects need them; a table of a period that does not exist has none.

    Args:
        bound: The model.
        keys: The row keys.
        runtime: Where requests go.
        loaded: The deferred fields that are read, too.
    """
    schema = bound.schema
    try:
        if schema.packed_bytes:
            rows = runtime.execute(packed_get(schema, keys))
            found = {row.key: row for row in cells_as_rows(schema, rows)}
            return [found.get(key) for key in keys]
        columns = columns_read(schema, loaded)
        if columns == schema.family_names:
            return runtime.execute(GetRows(schema.table, tuple(keys), columns))
        return runtime.run(rows_by_key(schema.table, keys, columns, schema.family_names))
    except TableNotFoundError:
        if schema.layout.table_period is None:
            raise
        return [None] * len(keys)


def key_to_change(bound: BoundModel, values: Mapping[str, Any], runtime: Runtime) -> bytes:
    """Return the key of the row to change that has these key fields; new names get numbers.

    Under a random salt it is the key of the row that exists; where none does, always the first of
    the possible ones, so that two programs at once change the same row.

    Raises:
        RowKeyError: A key field is missing, unknown or does not fit; nothing was sent.
        MultipleRowsError: Several rows have this key.
    """
    bound.allocate_names([values])
    keys = bound.keys(values)
    if len(keys) == 1:
        return keys[0]
    found = [row.key for row in read_rows(bound, keys, runtime) if row is not None]
    if len(found) > 1:
        raise several_rows(bound, found)
    return found[0] if found else keys[0]


def several_rows(bound: BoundModel, keys: Sequence[bytes]) -> MultipleRowsError:
    """Return the error of a key that was stored under several random salts."""
    names = " and ".join(
        f"{bound.schema.model_name}.{name} == ..." for name in bound.schema.layout.arguments
    )
    return MultipleRowsError(
        "several rows have this key, each under a salt of its own",
        model=bound.schema.model_name,
        rows=list(keys),
        fix=f"read them all, where {names}, and delete all but one; where a key is written more "
        "than once use Salt, which gives it the same bucket each time",
    )
