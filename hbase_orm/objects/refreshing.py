"""Updates an object from its row when the row is read again, and keeps the program's changes.

A changed field keeps its value. The object's stored row keeps the old cell of that field and the
old version cell, because the flush compares with them. So reading a row again does not affect how a
flush writes the changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.in_place import can_change
from hbase_orm.codecs import Codec
from hbase_orm.errors import CodecError
from hbase_orm.model import Model
from hbase_orm.model.fields.deferring import set_unread
from hbase_orm.ops import Row
from hbase_orm.schema import NO_FIELDS, DynamicSchema, TableSchema


@dataclass(frozen=True, slots=True)
class Replaced:
    """A former value of an object, which the program may still refer to.

    Attributes:
        field: The name of the field that had the value.
        codec: The codec of the field.
        values: A dict from the field's name to the value. The session has no other reference to the
            value.
        data: The encoding that the value had when it was replaced.
    """

    field: str
    codec: Codec[Any]
    values: Mapping[str, Any]
    data: bytes

    @property
    def is_changed(self) -> bool:
        """Whether the value was changed after it was replaced."""
        try:
            return bool(self.codec.encode(self.values[self.field]) != self.data)
        except CodecError:
            return True


@dataclass(frozen=True, slots=True)
class _Changes:
    """The changes that a program made in an object since its row was read.

    Attributes:
        fields: The names of the changed fields, without fields of dynamic columns.
        entries: For each field of dynamic columns, the names whose values were changed.
    """

    fields: frozenset[str] = NO_FIELDS
    entries: Mapping[str, frozenset[Any]] = field(default_factory=dict[str, frozenset[Any]])

    def __bool__(self) -> bool:
        return bool(self.fields or any(self.entries.values()))

    def columns(self, schema: TableSchema) -> set[bytes]:
        """Return the columns in which the changed fields and dynamic columns are stored."""
        by_name = schema.column_by_name
        columns = {by_name[name].column for name in self.fields if name in by_name}
        for name, keys in self.entries.items():
            dynamic = schema.dynamic_by_name[name]
            for key in keys:
                try:
                    columns.add(dynamic.prefix + dynamic.name_codec.encode(key))
                except CodecError:
                    continue  # no row has an entry of this name
        return columns


def refresh(
    bound: BoundModel,
    obj: Model,
    fresh: Model,
    in_doubt: frozenset[bytes] = frozenset(),
    *,
    is_to_go: bool = False,
    is_unchanged: bool = False,
    drops_changes: bool = False,
) -> list[Replaced]:
    """Update `obj` from `fresh`, except for the fields that the program has changed.

    Deferred fields that were not read again are unloaded, because their values may be outdated.
    Mutable values that are equal to the newly read values stay the same Python objects.

    Args:
        bound: The bound model.
        obj: The object.
        fresh: A new object of the row, as it was read now.
        in_doubt: The columns that requests with an unknown outcome wrote. Their fields count as
            changed by the program.
        is_to_go: Whether a delete of the object is pending; the object then keeps its version.
        is_unchanged: Whether the program surely changed nothing, so that no comparison is needed.
        drops_changes: Whether fields that the program has changed are updated too.

    Returns:
        The former values that were replaced, without values that cannot change in place.
    """
    schema, values, new = bound.schema, obj.__dict__, fresh.__dict__
    state, read = obj.__state__, fresh.__state__
    loaded = None if drops_changes else state.row
    changes = _Changes()
    if loaded is not None and not is_unchanged:
        changes = _changes_of(bound, loaded, obj, in_doubt)
    kept = changes.columns(schema)
    version = schema.version
    keeps_version = version is not None and loaded is not None and (is_to_go or bool(changes))
    if version is not None and keeps_version:
        kept.add(version.column)
    replaced: list[Replaced] = []
    for name in schema.fields:
        if name in schema.dynamic_by_name:
            mine = changes.entries.get(name, NO_FIELDS)
            replaced += _take_entries(schema.dynamic_by_name[name], mine, values, new)
        elif name not in changes.fields and not (
            keeps_version and version is not None and name == version.name
        ):
            replaced += _take_field(schema, name, values, new)
    state.entry_range = None
    if state.is_stale is not read.is_stale:
        state.is_stale = read.is_stale
    # Changed fields stay loaded or unloaded, as they were.
    state.deferred = (read.deferred - changes.fields) | (state.deferred & changes.fields)
    state.origin = bound.origin
    state.row = _based(read.row, loaded, kept)
    return replaced


def _based(row: Row | None, loaded: Row | None, kept: set[bytes]) -> Row | None:
    """Return `row`, but with the cells of the earlier row `loaded` in the columns `kept`."""
    if row is None or loaded is None or not kept:
        return row
    cells = {column: cell for column, cell in row.cells.items() if column not in kept}
    cells.update({c: cell for c, cell in loaded.cells.items() if c in kept})
    return Row(row.key, cells)


# --- what changed ---------------------------------------------------------------------------------


def _changes_of(bound: BoundModel, loaded: Row, obj: Model, in_doubt: frozenset[bytes]) -> _Changes:
    schema, values = bound.schema, obj.__dict__
    old = bound.hydrate(loaded, obj.__state__.deferred).__dict__
    fields = [name for name in schema.fields if name not in schema.dynamic_by_name]
    changed = {name for name in fields if _is_changed(schema, name, old, values)}
    changed |= {column.name for column in schema.columns if column.column in in_doubt}
    entries = {
        dynamic.name: _changed_entries(dynamic, old.get(dynamic.name, {}), values[dynamic.name])
        | _entries_among(dynamic, in_doubt)
        for dynamic in schema.dynamics
        if dynamic.name in values
    }
    unread = set_unread(obj)  # None in such a field is a change: it deletes the cell
    return _Changes(frozenset(changed) | unread, entries)


def _is_changed(
    schema: TableSchema, name: str, old: Mapping[str, Any], values: Mapping[str, Any]
) -> bool:
    before, now = old.get(name), values.get(name)
    if name not in schema.column_by_name:
        is_nan = before != before and now != now  # noqa: PLR0124  # only NaN differs from itself
        return bool(before != now and not is_nan)
    return _differs(schema.column_by_name[name].codec, before, now)


def _changed_entries(
    dynamic: DynamicSchema, before: Mapping[Any, Any], now: Mapping[Any, Any]
) -> frozenset[Any]:
    keys = before.keys() | now.keys()
    return frozenset(k for k in keys if _differs(dynamic.codec, before.get(k), now.get(k)))


def _entries_among(dynamic: DynamicSchema, columns: frozenset[bytes]) -> frozenset[Any]:
    """Return the names of one field's dynamic columns that are among `columns`."""
    names = (column[len(dynamic.prefix) :] for column in columns if dynamic.holds(column))
    return frozenset(map(dynamic.name_codec.decode, names))


def _differs(codec: Codec[Any], before: Any, now: Any) -> bool:
    """Return whether the encodings of two values differ.

    `==` would be wrong: NaN is not equal to itself, and True is equal to 1.
    """
    if before is None or now is None:
        return before is not now
    if codec.canonical and codec.python_type is not float and before == now:
        return False
    try:
        return bool(codec.encode(before) != codec.encode(now))
    except CodecError:  # the program set an unfit value, or the codec does not write what it reads
        return bool(before != now)


# --- taking over ----------------------------------------------------------------------------------


def _take_field(
    schema: TableSchema, name: str, values: dict[str, Any], new: Mapping[str, Any]
) -> list[Replaced]:
    before, column = values.get(name), schema.column_by_name.get(name)
    is_kept = column is not None and can_change(column.codec) and before is not None
    if column is None or not is_kept:
        if name in new:
            values[name] = new[name]
        else:
            values.pop(name, None)
        return []
    if name not in new:
        del values[name]
    elif _differs(column.codec, new[name], before):
        values[name] = new[name]
    else:
        return []
    return _replaced(name, column.codec, before)


def _take_entries(
    dynamic: DynamicSchema,
    mine: frozenset[Any],
    values: dict[str, Any],
    new: Mapping[str, Any],
) -> list[Replaced]:
    """Update a field of dynamic columns; keep the values of the names `mine`.

    The program changed these values. Return the replaced values that can change in place.
    """
    name, codec = dynamic.name, dynamic.codec
    if name not in new:
        return []
    if name not in values:  # the program deleted the attribute, which changes nothing in the row
        values[name] = new[name]
        return []
    now, entries = values[name], {k: v for k, v in new[name].items() if k not in mine}
    entries.update({k: now[k] for k in now if k in mine and now[k] is not None})
    replaced: list[Replaced] = []
    if can_change(codec):
        for key, value in now.items():
            if key in mine or value is None:
                continue
            if key in entries and not _differs(codec, entries[key], value):
                entries[key] = value
            else:
                replaced += _replaced(name, codec, value)
    now.clear()  # the dict stays the same: the program may hold it
    now.update(entries)
    return replaced


def _replaced(name: str, codec: Codec[Any], value: Any) -> list[Replaced]:
    try:
        return [Replaced(name, codec, {name: value}, codec.encode(value))]
    except CodecError:
        return []  # the codec reads what it would not write, so no change of it could be written
