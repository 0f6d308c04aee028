"""What every part of a session works on: the models it knows, its objects, what is pending."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import ref

from hbase_orm.errors import ConfigurationError, QueryError
from hbase_orm.model import Model
from hbase_orm.query import Select
from hbase_orm.session.binding import BoundModel
from hbase_orm.session.hooks import tell_loaded
from hbase_orm.session.identity import IdentityMap
from hbase_orm.session.options import WriteOptions
from hbase_orm.session.rereading import refresh
from hbase_orm.session.runtime import Runtime
from hbase_orm.session.unit_of_work import Outcome, loaded_row
from hbase_orm.session.watch import Watched


class ChangeNoter:
    """Tells a session of the changes of its objects, for as long as somebody holds the session."""

    __slots__ = ("_session",)

    def __init__(self, session: SessionState) -> None:
        """Tell `session`."""
        self._session = ref(session)

    def __call__(self, obj: Model) -> None:
        """Note that an object has changed."""
        session = self.session
        if session is not None:
            session._note_change(obj)  # noqa: SLF001 - this class is a part of the session

    @property
    def session(self) -> SessionState | None:
        """The session; None once it is gone."""
        return self._session()


class SessionState:
    """The state that reading and writing share."""

    def __init__(self, runtime: Runtime, bound_of: Callable[[type[Model]], BoundModel]) -> None:
        """Start with nothing loaded and nothing pending."""
        self._runtime = runtime
        self._bound_of = bound_of
        self._is_closed = False
        self._noter = ChangeNoter(self)
        self._identity = IdentityMap()
        self._pending: dict[int, tuple[Model, str]] = {}
        self._watched = Watched()
        self._options: dict[int, WriteOptions] = {}
        self._outcome = Outcome()  # the last flush's

    def _refuse_closed(self) -> None:
        if self._is_closed:
            raise ConfigurationError(
                "the session is closed", fix="make another one: engine.session()"
            )

    def _bound(self, model: type[Model]) -> BoundModel:
        self._refuse_closed()
        return self._bound_of(model)

    def _bound_to(self, obj: Model) -> BoundModel:
        """Return the model of an object, with the table of its row."""
        return self._bound(type(obj)).placed(obj.__dict__)

    def _note_change(self, obj: Model) -> None:
        self._pending.setdefault(id(obj), (obj, "put"))

    def _attach(self, bound: BoundModel, obj: Any) -> Any:
        """Return the session's one object of a row, told that it was loaded."""
        return tell_loaded(self._held(bound, obj))

    def _held(self, bound: BoundModel, obj: Any) -> Any:
        """Return the session's one object of a row: `obj`, or the known one brought up to date."""
        if bound.kinds is not None or bound.schema.layout.table_period is not None:
            bound = self._bound_to(obj)
        key = obj._row.key  # noqa: SLF001 - the model's own state
        known = self._identity.find(bound, key)
        if known is not None and loaded_row(known) is None:
            known = None  # its row was deleted since: it is pending as a new object
        if bound.is_mutable:
            self._watched.add(bound, obj if known is None else known)
        if known is not None:
            self._reread(bound, known, obj)
            return known
        obj._note_change = self._noter  # noqa: SLF001 - the model's own state
        self._identity.put(bound, key, obj)
        return obj

    def _reread(
        self, bound: BoundModel, known: Model, fresh: Model, *, drops_changes: bool = False
    ) -> None:
        """Bring the session's object of a row up to date."""
        noted = self._pending.get(id(known))
        in_doubt = self._options.get(id(known), WriteOptions()).in_doubt
        replaced = refresh(
            bound,
            known,
            fresh,
            in_doubt,
            is_to_go=noted is not None and noted[1] == "delete",
            is_unchanged=noted is None and not in_doubt and not bound.is_mutable,
            drops_changes=drops_changes,
        )
        self._watched.note_replaced(known, replaced)


def check_statement(stmt: object) -> None:
    """Refuse what is no statement.

    Raises:
        QueryError: It is none.
    """
    if not isinstance(stmt, Select):
        raise QueryError(
            "this is no statement", got=repr(stmt), fix="write session.all(select(Reading))"
        )
