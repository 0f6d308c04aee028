"""What the library keeps of an object beside its fields, as `obj.__state__`.

That is the row it was read from, where that row is, who wants to know of its changes, and what few
objects have: which deferred fields were read, related objects, a key under a random salt.
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

_NOTHING: Final[dict[str, Any]] = {}

SetState = Callable[[Any, "InstanceState"], None]

RelatedObject = tuple[tuple[Any, ...], Any]
"""The values of the key that a related object was loaded by, and the object or None."""


class InstanceState:
    """The state of one object; made by `new_state`, or by a model's generated functions.

    Attributes:
        row: The row that the object was read from or last written as; None for a new object, and
            for one whose row was deleted or is another object's now.
        origin: The table and the servers of that row; None where nobody noted them.
        on_change: Called with the object after a field was set, or None.
        rare: What few objects have, by name. It is replaced, never changed: objects share it.
    """

    # No `__init__`: one of Python costs every object that is read about 0.2 us.
    __slots__ = ("on_change", "origin", "rare", "row")

    row: Row | None
    origin: str | None
    on_change: Callable[[Any], None] | None
    rare: Mapping[str, Any]

    def is_foreign(self, origin: str) -> bool:
        """Return whether the object stands for a row of another origin; a new object for none."""
        return self.row is not None and self.origin not in {None, origin}

    @property
    def deferred(self) -> frozenset[str]:
        """The deferred fields that the row was read with."""
        names: frozenset[str] = self.rare.get(_DEFERRED, NO_FIELDS)
        return names

    @deferred.setter
    def deferred(self, names: frozenset[str]) -> None:
        self._set_rare(_DEFERRED, names or None)

    @property
    def related(self) -> Mapping[str, RelatedObject]:
        """The related objects that were loaded, by their field."""
        objects: Mapping[str, RelatedObject] = self.rare.get(_RELATED, _NOTHING)
        return objects

    @related.setter
    def related(self, objects: Mapping[str, RelatedObject]) -> None:
        self._set_rare(_RELATED, objects)

    @property
    def salted_key(self) -> bytes | None:
        """The row key under the random salt that was chosen for an object without a row."""
        key: bytes | None = self.rare.get(_SALTED_KEY)
        return key

    @salted_key.setter
    def salted_key(self, key: bytes) -> None:
        self._set_rare(_SALTED_KEY, key)

    @property
    def entry_range(self) -> str | None:
        """What `columns_between` read of the row, as text; None for a whole row."""
        text: str | None = self.rare.get(_READ_IN_PART)
        return text

    @entry_range.setter
    def entry_range(self, text: str | None) -> None:
        self._set_rare(_READ_IN_PART, text)

    def _set_rare(self, name: str, value: Any) -> None:
        rare = {key: each for key, each in self.rare.items() if key != name}
        self.rare = rare if value is None else {**rare, name: value}


def new_state(row: Row | None = None) -> InstanceState:
    """Return the state of an object of this row, or of a new object, which no session has."""
    state = InstanceState()
    state.row = row
    state.origin = state.on_change = None
    state.rare = _NOTHING
    return state


def state_lines(
    obj: str, row: str, scope: Scope, set_state: SetState, deferred: frozenset[str] = NO_FIELDS
) -> list[str]:
    """Return the source that gives an object a state, as `new_state` makes it.

    Args:
        obj: The variable of the object.
        row: The variable of its row, or `None`.
        scope: The names of the generated function.
        set_state: Sets an object's `__state__`.
        deferred: The deferred fields that the row was read with.
    """
    rare = {_DEFERRED: deferred} if deferred else _NOTHING
    state = scope.local("state")
    return [
        f"    {state} = {scope.bind(InstanceState, 'InstanceState')}()",
        f"    {state}.row = {row}",
        f"    {state}.origin = {state}.on_change = None",
        f"    {state}.rare = {scope.bind(rare, 'rare')}",
        f"    {scope.bind(set_state, 'set_state')}({obj}, {state})",
    ]


def row_key_of(obj: object) -> bytes | None:
    """Return the key of the row that an object stands for; None if it stands for none."""
    state: InstanceState | None = getattr(obj, "__state__", None)  # unset while it is made
    return None if state is None or state.row is None else state.row.key


def pickled_state(values: Mapping[str, Any], state: InstanceState) -> tuple[Any, ...]:
    """Return what a pickle or a copy of an object has: fields, row and origin, but no session."""
    row = state.row
    if row is not None:
        row = Row(row.key, {column: Cell(*cell) for column, cell in row.cells.items()})
    return {**values, **state.rare}, row, *(() if state.origin is None else (state.origin,))


def unpickled_state(pickled: tuple[Any, ...]) -> tuple[dict[str, Any], InstanceState]:
    """Return the fields and the state that `pickled_state` gave."""
    values, row, *origin = pickled
    state = new_state(row)
    state.origin = origin[0] if origin else None
    names = {_DEFERRED, _RELATED, _SALTED_KEY, _READ_IN_PART} & values.keys()
    state.rare = {name: values[name] for name in names} or _NOTHING
    return {name: value for name, value in values.items() if name not in names}, state
