"""Gets rows by the values of their key fields, which give the tables and the row keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.bound_tables import checked_model
from hbase_orm.binding.dictionaries import LoadedNames
from hbase_orm.errors import (
    CorruptRowError,
    MultipleRowsError,
    QueryError,
    RowKeyError,
    TableNotFoundError,
)
from hbase_orm.execute import CorruptRows
from hbase_orm.model import Model, check_key_arguments
from hbase_orm.model.hints import key_as_tuple
from hbase_orm.ops import GetRows, Protocol, Row, run_all
from hbase_orm.schema import NO_FIELDS, columns_read

GET_MANY_ROWS: Final = 100
"""The most row keys in one request; more row keys are read by several requests."""

KeyValues = tuple[Any, ...] | Mapping[str, Any]

KeyedRow = tuple[int, BoundModel, Row]
"""The position of the row's key in the list of keys, the bound model of its table, and the row."""


_ReadPart = tuple[Sequence[Row | None], LoadedNames | None]
"""The rows of some keys, in their order, and the names whose numbers are in these keys."""


@dataclass(slots=True)
class KeyedRows:
    """Rows that were read by their keys, with the names that are needed to make objects of them.

    Attributes:
        rows: The rows.
        names: For each request, the names whose numbers are in the row keys. None for a request if
            its row keys have no numbers. The list keeps the names until the objects are made.
    """

    rows: Sequence[KeyedRow] = ()
    names: list[LoadedNames | None] = field(default_factory=list[LoadedNames | None])


def several_keys(model: type[Model], keys: Iterable[KeyValues]) -> list[KeyValues]:
    """Return the collection `keys` as a list.

    Raises:
        QueryError: The argument is not a list of keys, but for example one key, a text, or None.
    """
    if isinstance(keys, list):
        return list(keys)
    if isinstance(keys, (str, bytes, Mapping)) or not isinstance(keys, Iterable):
        name, fields = model.__name__, checked_model(model).__schema__.layout.arguments
        raise QueryError(
            "the argument is not a list of keys",
            got=keys,
            fix="give a list of tuples or dicts: "
            f"session.get_many({name}, [{key_as_tuple(fields)}, ...])",
        )
    return list(keys)


def rows_with_keys(
    bound: BoundModel, keys: Sequence[KeyValues], *, most: int = GET_MANY_ROWS
) -> Protocol[KeyedRows]:
    """Return the existing rows with these keys.

    Each row comes with the position of its key in `keys`, and with its bound model. A request reads
    at most `most` rows of one table.

    Raises:
        RowKeyError: A key field is missing, unknown or does not fit; nothing was sent.
        MultipleRowsError: Several rows have the same key.
    """
    by_table: dict[str, list[tuple[int, BoundModel, bytes]]] = {}
    for position, (placed, row_keys) in enumerate((yield from _addresses(bound, keys))):
        wanted = by_table.setdefault(placed.schema.table, [])
        wanted += [(position, placed, row_key) for row_key in row_keys]
    parts = [
        wanted[start : start + most]
        for wanted in by_table.values()
        for start in range(0, len(wanted), most)
    ]
    read: list[_ReadPart] = []
    if len(parts) == 1:
        read = [(yield from _read_part(bound, parts[0]))]
    elif parts:
        read = yield from run_all([_read_part(bound, part) for part in parts])
    keyed: dict[int, KeyedRow] = {}
    for part, (rows, _) in zip(parts, read, strict=True):
        for (position, placed, _), row in zip(part, rows, strict=True):
            if row is None or not placed.exists(row):
                continue
            if position in keyed:
                raise several_rows(bound, [keyed[position][2].key, row.key])
            keyed[position] = position, placed, row
    return KeyedRows(list(keyed.values()), [names for _, names in read])


def request_for_key(bound: BoundModel, key: Mapping[str, Any]) -> GetRows | None:
    """Return the request for the row of a key, if one request for one row is all that is needed.

    None if the row key cannot be computed from the key alone, if an object has no row of its own,
    or if columns are left out, so that a second request may have to show that the row exists.

    Raises:
        RowKeyError: A key field is missing, unknown or does not fit.
    """
    schema, keys = bound.schema, bound.keys
    if not (bound.tables.is_only and keys.are_computed and schema.storage.has_own_rows):
        return None
    if bound.defers:
        return None
    check_key_arguments(schema, key)
    return GetRows(schema.table, (keys.checked(schema.layout.encode(key)),), schema.family_names)


def _read_part(
    bound: BoundModel, part: Sequence[tuple[int, BoundModel, bytes]]
) -> Protocol[_ReadPart]:
    """Read rows of one table by their keys, with the names whose numbers are in the keys."""
    rows = yield from read_rows(part[0][1], [key for _, _, key in part])
    names = yield from bound.load_names([row for row in rows if row is not None])
    return rows, names


def made_of(row: Row, placed: BoundModel, corrupt: CorruptRows) -> Any:
    """Return the object of a row; None if the row does not decode and is left out.

    Raises:
        CorruptRowError: The row does not decode, and `corrupt` does not leave it out.
    """
    try:
        return placed.hydrate(row)
    except CorruptRowError as error:
        if corrupt.leaves_out(error, placed.schema.table, row.key):
            return None
        raise


def _addresses(
    bound: BoundModel, keys: Sequence[KeyValues]
) -> Protocol[list[tuple[BoundModel, tuple[bytes, ...]]]]:
    """Return for each key the bound model, with the key's table, and the possible row keys.

    The numbers of all names in the keys are looked up together.
    """
    computed = _computed_addresses(bound, keys)
    if computed is not None:
        return computed
    named = [_named(bound, key) for key in keys]
    placed = [bound.with_table_of(key) for key in named]
    yield from bound.keys.look_up_names(named)
    return [(one, one.keys.possible(key)) for one, key in zip(placed, named, strict=True)]


def _computed_addresses(
    bound: BoundModel, keys: Sequence[KeyValues]
) -> list[tuple[BoundModel, tuple[bytes, ...]]] | None:
    """Return the same as `_addresses` if each row key follows from a tuple of all fields alone."""
    layout = bound.schema.layout
    if not (bound.tables.is_only and bound.keys.are_computed and layout.inputs == layout.arguments):
        return None
    if any(type(key) is not tuple or len(key) != len(layout.inputs) for key in keys):
        return None
    encode, checked = layout.encode_parts, bound.keys.checked
    return [(bound, (checked(encode(*key)),)) for key in keys]


def _named(bound: BoundModel, key: KeyValues) -> Mapping[str, Any]:
    if isinstance(key, (dict, Mapping)):  # a dict is found without the slow check of an ABC
        check_key_arguments(bound.schema, key)
        return key
    if bound.schema.record_types is not None:
        check_key_arguments(bound.schema, {})  # raises its error
    names = bound.schema.layout.arguments
    if not isinstance(key, tuple) or len(key) != len(names):
        raise RowKeyError(
            "a key must be a tuple of all key fields or a mapping",
            model=bound.schema.model_name,
            key=key,
            fix=f"give {key_as_tuple(names)}",
        )
    return dict(zip(names, key, strict=True))


def row_keys(bound: BoundModel, key: Mapping[str, Any]) -> Protocol[tuple[bytes, ...]]:
    """Return every row key that a row with these key fields can have.

    Raises:
        RowKeyError: A key field is missing, unknown or does not fit; nothing was sent.
    """
    ((_, keys),) = yield from _addresses(bound, [key])
    return tuple(map(bound.schema.storage.row_of, keys))


def read_rows(
    bound: BoundModel, keys: Sequence[bytes], loaded: frozenset[str] = NO_FIELDS
) -> Protocol[Sequence[Row | None]]:
    """Return the rows with these keys, in the order of `keys`.

    The columns that an object needs are read. A missing row is None. If the table of a period does
    not exist, all its rows are missing.

    Args:
        bound: The bound model.
        keys: The row keys.
        loaded: The deferred fields that are read too.

    Raises:
        TableNotFoundError: The model has only one table, which does not exist.
    """
    schema = bound.schema
    columns = columns_read(schema, loaded) if bound.defers else schema.family_names
    request = GetRows(schema.table, tuple(keys), columns)
    try:
        return (yield from schema.storage.get(request, schema.family_names))
    except TableNotFoundError:
        if bound.tables.is_only:
            raise
        return [None] * len(keys)


def key_to_change(bound: BoundModel, values: Mapping[str, Any]) -> Protocol[bytes]:
    """Return the row key of the row to change, and allocate numbers for new names in its key.

    With a random salt, there are several possible row keys. The result is the key of the existing
    row. If no row exists, the result is the first possible key, so that two programs that create
    the row at the same time use the same key.

    Raises:
        RowKeyError: A key field is missing, unknown or does not fit; nothing was sent.
        MultipleRowsError: Several rows have this key.
    """
    yield from bound.keys.allocate_names([values])
    keys = bound.keys.possible(values)
    if len(keys) == 1:
        return keys[0]
    rows = yield from read_rows(bound, keys)
    existing = [row.key for row in rows if row is not None]
    if len(existing) > 1:
        raise several_rows(bound, existing)
    return existing[0] if existing else keys[0]


def several_rows(bound: BoundModel, keys: Sequence[bytes]) -> MultipleRowsError:
    """Return the error for a key that several rows have, with different random salts."""
    names = " and ".join(
        f"{bound.schema.model_name}.{name} == ..." for name in bound.schema.layout.arguments
    )
    return MultipleRowsError(
        "several rows have this key, each with another random salt",
        model=bound.schema.model_name,
        rows=list(keys),
        fix=f"select the rows with {names} and delete all but one; if keys are written more "
        "than once, use Salt, which gives a key the same bucket each time",
    )
