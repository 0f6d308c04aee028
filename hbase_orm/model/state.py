"""The library's own data about an object, `obj.__state__`.

It has the row that the object was read from, the row's table, and a function that records changes.
A few objects have more data, such as the names of the deferred fields that were read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from hbase_orm.codecs.source import Scope
from hbase_orm.ops import Cell, Row
from hbase_orm.schema import NO_FIELDS

# These names stand in the pickles of earlier releases.
_DEFERRED: Final = "_loaded_deferred"
_RELATED: Final = "_loaded_related"
_SALTED_KEY: Final = "_drawn_key"
_READ_IN_PART: Final = "_read_in_part"
_READ_FROM_REPLICA: Final = "_read_from_replica"

_RARE: Final = frozenset({_DEFERRED, _RELATED, _SALTED_KEY, _READ_IN_PART, _READ_FROM_REPLICA})

NOTHING_RARE: Final[dict[str, Any]] = {}
"""The attribute `rare` of most states."""

SetState = Callable[[Any, "InstanceState"], None]

RelatedObject = tuple[tuple[Any, ...], Any]
"""The key values by which a related row was loaded, and its object (None if it does not exist)."""


class InstanceState:
    """The state of one object; made by `new_state`, or by a model's generated functions.

    Attributes:
        row: The row that the object was read from or last written as. None for a new object, and
            for one that was read as of a time in the past. Also None if the row was deleted, or
            belongs to another object now.
        origin: The table and the cluster of that row, as one text; None if they are not recorded.
        on_change: A function that is called with the object after a field was set, or None.
        rare: Data that only few objects have, by name. The mapping is never changed in place,
            because several objects may share it.
    """

    # No `__init__`: one of Python costs every object that is read about 0.2 us.
    __slots__ = ("on_change", "origin", "rare", "row")

    row: Row | None
    origin: str | None
    on_change: Callable[[Any], None] | None
    rare: Mapping[str, Any]

    def is_foreign(self, origin: str) -> bool:
        """Return whether the object's row is in another table or cluster than `origin`.

        False for an object without a row, and if the row's origin was not recorded.
        """
        return self.row is not None and self.origin not in {None, origin}

    @property
    def deferred(self) -> frozenset[str]:
        """The names of the deferred fields whose values were read from the row or written to it."""
        names: frozenset[str] = self.rare.get(_DEFERRED, NO_FIELDS)
        return names

    @deferred.setter
    def deferred(self, names: frozenset[str]) -> None:
        self._set_rare(_DEFERRED, names or None)

    @property
    def related(self) -> Mapping[str, RelatedObject]:
        """The related objects that were loaded, by the name of the field."""
        objects: Mapping[str, RelatedObject] = self.rare.get(_RELATED, NOTHING_RARE)
        return objects

    @related.setter
    def related(self, objects: Mapping[str, RelatedObject]) -> None:
        self._set_rare(_RELATED, objects)

    @property
    def salted_key(self) -> bytes | None:
        """The row key, with its random salt, that was chosen for an object without a row.

        None if no key was chosen yet.
        """
        key: bytes | None = self.rare.get(_SALTED_KEY)
        return key

    @salted_key.setter
    def salted_key(self, key: bytes) -> None:
        self._set_rare(_SALTED_KEY, key)

    @property
    def entry_range(self) -> str | None:
        """The range of dynamic columns that `columns_between` selected for the read, as text.

        None if the whole row was read.
        """
        text: str | None = self.rare.get(_READ_IN_PART)
        return text

    @entry_range.setter
    def entry_range(self, text: str | None) -> None:
        self._set_rare(_READ_IN_PART, text)

    @property
    def is_stale(self) -> bool:
        """Whether a replica returned the object's row, and no strong read returned it since."""
        return _READ_FROM_REPLICA in self.rare

    @is_stale.setter
    def is_stale(self, value: bool) -> None:
        self._set_rare(_READ_FROM_REPLICA, value or None)

    def _set_rare(self, name: str, value: Any) -> None:
        rare = {key: each for key, each in self.rare.items() if key != name}
        self.rare = rare if value is None else {**rare, name: value}


def new_state(row: Row | None = None) -> InstanceState:
    """Return the state of an object that belongs to no session.

    Args:
        row: The row that the object was read from; None for a new object.
    """
    state = InstanceState()
    state.row = row
    state.origin = state.on_change = None
    state.rare = NOTHING_RARE
    return state


def state_lines(
    obj: str, row: str, scope: Scope, set_state: SetState, deferred: frozenset[str] = NO_FIELDS
) -> list[str]:
    """Return the source lines that give an object the state that `new_state` returns.

    Args:
        obj: The name of the variable that holds the object.
        row: The name of the variable that holds its row, or "None".
        scope: The global names of the generated function.
        set_state: A function that sets an object's `__state__`.
        deferred: The deferred fields that were read with the row.
    """
    rare = {_DEFERRED: deferred} if deferred else NOTHING_RARE
    state = scope.local("state")
    return [
        f"    {state} = {scope.bind(InstanceState, 'InstanceState')}()",
        f"    {state}.row = {row}",
        f"    {state}.origin = {state}.on_change = None",
        f"    {state}.rare = {scope.bind(rare, 'rare')}",
        f"    {scope.bind(set_state, 'set_state')}({obj}, {state})",
    ]


def row_key_of(obj: object) -> bytes | None:
    """Return the key of the row that an object belongs to; None if it belongs to no row."""
    state: InstanceState | None = getattr(obj, "__state__", None)  # unset while it is made
    return None if state is None or state.row is None else state.row.key


def pickled_state(values: Mapping[str, Any], state: InstanceState) -> tuple[Any, ...]:
    """Return the data that a pickle or a copy of an object has: fields, row and origin."""
    row = state.row
    if row is not None:
        row = Row(row.key, {column: Cell(*cell) for column, cell in row.cells.items()})
    return {**values, **state.rare}, row, *(() if state.origin is None else (state.origin,))


def unpickled_state(pickled: tuple[Any, ...]) -> tuple[dict[str, Any], InstanceState]:
    """Return the fields and the state from the result of `pickled_state`."""
    values, row, *origin = pickled
    state = new_state(row)
    state.origin = origin[0] if origin else None
    names = _RARE & values.keys()
    state.rare = {name: values[name] for name in names} or NOTHING_RARE
    return {name: value for name, value in values.items() if name not in names}, state
