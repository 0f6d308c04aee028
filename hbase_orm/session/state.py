"""The state that the parts of a session share: bound models, objects and pending writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from weakref import ref

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.runtime import Runtime
from hbase_orm.errors import ConfigurationError, QueryError, ValidationError
from hbase_orm.model import Model, check_key_arguments
from hbase_orm.model.hints import model_in
from hbase_orm.objects.identity import IdentityMap
from hbase_orm.objects.refreshing import refresh
from hbase_orm.ops import Protocol, offline_result
from hbase_orm.query import Select
from hbase_orm.session.tracking import MutationTracker
from hbase_orm.writing.hook_calls import call_after_load_hook
from hbase_orm.writing.options import WriteOptions

T = TypeVar("T")


class ChangeListener:
    """Records in a session that an object has changed; refers to the session only weakly."""

    __slots__ = ("_session",)

    def __init__(self, session: SessionState) -> None:
        """Record changes in `session`."""
        self._session = ref(session)

    def __call__(self, obj: Model) -> None:
        """Record that an object has changed."""
        session = self.session
        if session is not None:
            session.note_change(obj)

    @property
    def session(self) -> SessionState | None:
        """The session; None if Python has freed the session."""
        return self._session()


class SessionState:
    """The models, the objects and the pending writes of a session.

    Attributes:
        runtime: The runtime that sends the session's requests.
        is_closed: Whether the session is closed.
        identity: The objects of the session by row.
        pending: The objects with a pending write, by their `id()`: each value is the object and
            "put" or "delete".
        options: The options and the earlier attempts of the pending writes, by the `id()` of the
            written object.
        listener: The function that the objects call when they change.
        usable: Compares a model with the record of its table, and returns its bound model.
    """

    def __init__(
        self,
        runtime: Runtime,
        bound_of: Callable[[type[Model]], BoundModel],
        usable: Callable[[type[Model]], Protocol[BoundModel]],
    ) -> None:
        """Start without objects and without pending writes.

        Args:
            runtime: The runtime that sends the session's requests.
            bound_of: Returns a model's bound model; sends nothing.
            usable: Compares a model with the record of its table, and returns its bound model.
        """
        self.runtime = runtime
        self.is_closed = False
        self.identity = IdentityMap()
        self.pending: dict[int, tuple[Model, str]] = {}
        self.options: dict[int, WriteOptions] = {}
        self.listener = ChangeListener(self)
        self._tracker: MutationTracker | None = None
        self._bound_of = bound_of
        self.usable = usable

    @property
    def tracker(self) -> MutationTracker:
        """The tracker, which holds the objects of the session whose values can change in place."""
        if self._tracker is None:
            self._tracker = MutationTracker()
        return self._tracker

    @property
    def is_tracking(self) -> bool:
        """Whether the session holds objects whose values can change in place."""
        return bool(self._tracker)

    @property
    def is_clean(self) -> bool:
        """Whether the next flush has nothing to send and nothing to compare.

        No write is pending, and the session holds no objects whose values can change in place.
        """
        return not self.pending and not self._tracker

    def close(self) -> None:
        """Forget all objects and pending writes."""
        self.is_closed = True
        for obj, _ in self.pending.values():
            if self.owner_of(obj) is self:
                obj.__state__.on_change = None
        self.pending.clear()
        if self._tracker is not None:
            self._tracker.clear()
        self.options.clear()
        for obj in self.identity.clear():
            obj.__state__.on_change = None

    # --- models -----------------------------------------------------------------------------------

    def refuse_closed(self) -> None:
        """Raise an error if the session is closed.

        Raises:
            ConfigurationError: The session is closed.
        """
        if self.is_closed:
            raise ConfigurationError(
                "the session is closed", fix="open a new session: engine.session()"
            )

    def use(self, *models: type[Model], request: Callable[[], Protocol[Any]] | None = None) -> None:
        """Compare models with the records of their tables, unless that was done within a lease.

        Args:
            models: The models.
            request: A function that returns the protocol to run after the comparison. The protocol
                is started first, so that wrong arguments raise their errors before anything is
                sent. If it needs no request, the models are not compared.

        Raises:
            SchemaDriftError: A model contradicts the record of its table.
            ConfigurationError: The session is closed.
        """
        for model in self.unread(*models):
            if request is not None and offline_result(request()) is not None:
                return
            request = None
            self.runtime.run(self.usable(model))

    def used_at(
        self,
        model: type[Model],
        key: dict[str, Any],
        request: Callable[[BoundModel], Protocol[T]],
    ) -> Protocol[T]:
        """Compare a model with its table's record, then return `request` for the row of a key.

        Raises:
            SchemaDriftError: The model contradicts the record of its table.
            RowKeyError: A key field is missing or unknown.
        """
        self.use(model, request=lambda: request(self.bound_at(model, key)))
        return request(self.bound_at(model, key))

    def unread(self, *models: type[Model]) -> list[type[Model]]:
        """Return the models that must be compared with the record of their table before use."""
        catalog = self.runtime.catalog
        return [model for model in models if not self.bound(model).is_compared(catalog)]

    def bound(self, model: type[Model]) -> BoundModel:
        """Return the bound model of a model: the model with its tables in this engine.

        Raises:
            ConfigurationError: The session is closed.
        """
        if self.is_closed:
            self.refuse_closed()
        return self._bound_of(model)

    def bound_to(self, obj: Model) -> BoundModel:
        """Return the bound model of an object, with the table of the object's row."""
        return self.bound(type(obj)).with_table_of(obj.__dict__)

    def bound_at(self, model: type[Model], key: dict[str, Any]) -> BoundModel:
        """Return a bound model with the table of the row that has these key fields.

        Raises:
            RowKeyError: A key field is missing or unknown.
        """
        bound = self.bound(model)
        check_key_arguments(bound.schema, key)
        return bound.with_table_of(key)

    # --- objects ----------------------------------------------------------------------------------

    def note_change(self, obj: Model) -> None:
        """Record that the next flush has to write an object's changes."""
        self.pending.setdefault(id(obj), (obj, "put"))

    def note_changes_in_place(self) -> None:
        """Record that the next flush has to write the values that were changed in place."""
        if self.is_tracking:
            for obj in self.tracker.changed():
                self.note_change(obj)

    def attach(self, bound: BoundModel, obj: Any) -> Any:
        """Return the session's object of the row that `obj` was read from; call its load hook.

        `object_of_row` decides which object this is.
        """
        return call_after_load_hook(self.object_of_row(bound, obj))

    def object_of_row(self, bound: BoundModel, obj: Any) -> Any:
        """Return the session's object of the row that `obj` was read from.

        If the session has an object of the row already, that object gets the values of `obj` and
        is returned. Otherwise `obj` becomes the session's object of the row.
        """
        if bound.kinds is not None or not bound.tables.is_only:
            bound = self.bound_to(obj)
        state = obj.__state__
        key = state.row.key
        earlier = self.identity.find(bound, key)
        if earlier is not None and earlier.__state__.row is None:
            earlier = None  # its row was deleted, and it is pending as a new object
        if bound.is_mutable:
            kept = obj if earlier is None else earlier
            self.tracker.add(bound, kept, is_new=earlier is None)
        if earlier is not None:
            self.reread(bound, earlier, obj)
            return earlier
        state.on_change = self.listener
        self.identity.put(bound, key, obj)
        return obj

    def reread(
        self, bound: BoundModel, obj: Model, fresh: Model, *, drops_changes: bool = False
    ) -> None:
        """Update `obj` from `fresh`, a new object that was read from the same row.

        Fields that the program changed keep their values, unless `drops_changes` is true.

        Args:
            bound: The bound model.
            obj: The session's object of the row.
            fresh: The new object.
            drops_changes: Whether fields that the program changed get the values of `fresh` too.
        """
        pending = self.pending.get(id(obj))
        in_doubt = self.options.get(id(obj), WriteOptions()).in_doubt
        replaced = refresh(
            bound,
            obj,
            fresh,
            in_doubt,
            is_to_go=pending is not None and pending[1] == "delete",
            is_unchanged=pending is None and not in_doubt and not bound.is_mutable,
            drops_changes=drops_changes,
        )
        if replaced:
            self.tracker.note_replaced(obj, replaced)

    # --- the session that an object belongs to ----------------------------------------------------

    def owner_of(self, obj: Model) -> SessionState | None:
        """Return the session that an object belongs to; None if it belongs to no session."""
        listener = obj.__state__.on_change
        return listener.session if isinstance(listener, ChangeListener) else None

    def refuse_owned(self, obj: Model) -> None:
        """Raise an error if an object belongs to another session.

        An object belongs to the session that records its changes.

        Raises:
            ValidationError: The object belongs to another session.
        """
        listener = obj.__state__.on_change
        if listener is None or listener is self.listener:
            return
        if self.owner_of(obj) not in {None, self}:
            raise ValidationError(
                "the object belongs to another session",
                model=type(obj).__name__,
                fix="expunge it there, or close that session, before you give it to this one",
            )

    def refuse_other(self, obj: Model) -> BoundModel:
        """Return the bound model of `obj`; raise an error if another object stands for its row.

        The session may have only one object of each row. An object whose delete is pending does not
        count.

        Raises:
            ValidationError: The session has another object of the row, or another session has
                `obj`.
        """
        self.refuse_owned(obj)
        bound = self.bound_to(obj)
        key = self.key_of_other(bound, obj)
        if key is not None:
            raise ValidationError(
                "the session holds another object of this row",
                model=bound.schema.model_name,
                row=key,
                fix="change that object, or expunge it first",
            )
        return bound

    def key_of_other(self, bound: BoundModel, obj: Model) -> bytes | None:
        """Return the row key of `obj` if the session has another object of the same row, else None.

        An object whose delete is pending does not count. The result is also None if the number of
        a name in the row key is not cached.
        """
        key = bound.keys.known_of(obj)
        if key is None:
            return None  # a name in the key has no number here, so no object of the row was read
        other = self.identity.find(bound, key) or obj
        is_to_go = self.pending.get(id(other), (other, "put"))[1] == "delete"
        return None if other is obj or is_to_go else key


def check_statement(stmt: object) -> None:
    """Raise an error if the argument is not a statement.

    Raises:
        QueryError: The argument is not a statement.
    """
    if not isinstance(stmt, Select):
        raise QueryError(
            "the argument is not a statement",
            got=repr(stmt),
            fix=f"write session.all(select({model_in(stmt)}))",
        )
