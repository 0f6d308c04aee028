"""The pending writes of a session, which the next flush sends, and the last flush's outcome."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.protocol import refuse_without_guards
from hbase_orm.errors import ValidationError
from hbase_orm.model import Model
from hbase_orm.model.hints import model_in
from hbase_orm.objects.identity import supersede
from hbase_orm.objects.ownership import refuse_foreign
from hbase_orm.session.state import SessionState
from hbase_orm.writing.flush_outcome import FlushOutcome
from hbase_orm.writing.options import WriteOptions, options_of
from hbase_orm.writing.row_write import RowWrite, keep_row


@dataclass(slots=True)
class PendingWrites:
    """Records the writes that the next flush has to send, and applies the results of a flush.

    Attributes:
        outcome: The results of the last flush; None if they were applied to the objects already.
    """

    _state: SessionState
    outcome: FlushOutcome | None = None

    # --- what is to be written --------------------------------------------------------------------

    def note(
        self,
        obj: Model,
        kind: str,
        *,
        ttl: timedelta | None = None,
        timestamp_ms: int | None = None,
    ) -> None:
        """Record that the next flush has to "put" or "delete" the row of an object.

        Raises:
            RowKeyError: The object's row key cannot be computed.
            ValidationError: The session has another object of this row, the object belongs to
                another session or engine, or an option does not fit.
        """
        if not isinstance(obj, Model):
            raise ValidationError(
                "the argument is not an object of a model",
                got=repr(obj),
                fix=f"write session.add({model_in(obj)}(...))",
            )
        self.settle()
        state, options = self._state, None
        if ttl is not None or timestamp_ms is not None:
            options = options_of(state.bound_to(obj), ttl, timestamp_ms)
        bound = state.refuse_other(obj)
        is_of_row = obj.__state__.row is not None
        if is_of_row:
            refuse_foreign(bound, obj)
        if kind == "delete":
            refuse_without_guards(bound.schema, bound.guarded, "delete")
        if is_of_row:
            obj.__state__.on_change = state.listener  # from now on no other session takes it
        state.pending.pop(id(obj), None)  # the write recorded last is sent last
        state.pending[id(obj)] = (obj, kind)
        earlier = state.options.get(id(obj))
        if earlier is not None:
            options = (options or WriteOptions()).with_tries_of(earlier)
        if options is not None:
            state.options[id(obj)] = options

    def expunge(self, obj: Model) -> None:
        """Remove an object and its pending write from the session."""
        state = self._state
        self.drop(obj)
        state.tracker.forget(obj)
        bound = state.bound_to(obj)
        key = bound.keys.known_of(obj)
        if key is not None and state.identity.find(bound, key) is obj:
            state.identity.forget(bound, key)
        if state.owner_of(obj) in {None, state}:
            obj.__state__.on_change = None

    def drop(self, obj: Model) -> None:
        """Forget the pending write of an object, if there is one."""
        self._state.pending.pop(id(obj), None)
        self._state.options.pop(id(obj), None)

    # --- attempts of unknown outcome --------------------------------------------------------------

    def with_options(self, write: RowWrite) -> RowWrite:
        """Return `write` with the options of its object's pending write, ready to be sent.

        The result also writes the columns that earlier attempts of unknown outcome wrote. For a
        model with a version column the result always has options, which record attempts.
        """
        options = self._state.options.get(id(write.obj))
        if options is None and write.version is not None:
            # Recorded before the write is sent: after an interrupt, the next flush must distinguish
            # this write from another program's.
            options = self._state.options[id(write.obj)] = WriteOptions()
        return write if options is None else options.of(write)

    def settling(self, write: RowWrite) -> RowWrite:
        """Return `write` with the columns that earlier attempts of unknown outcome wrote."""
        options = self._state.options.get(id(write.obj))
        return write if options is None else options.settling(write)

    def note_doubt(self, write: RowWrite) -> None:
        """Record that the outcome of `write` is unknown; do nothing if `write` has no object."""
        if write.obj is not None:
            earlier = self._state.options.get(id(write.obj), WriteOptions())
            self._state.options[id(write.obj)] = earlier.after(write)

    # --- what was written -------------------------------------------------------------------------

    def settle(self, *, is_late: bool = True) -> None:
        """Apply the results of the last flush to its objects, unless that is done already.

        An exception from outside, such as Ctrl-C, may end a flush at any step, even in this method.
        The next use of the session then calls this method again.

        Args:
            is_late: Whether the flush has ended, so that the program may have recorded further
                writes after it. These further writes stay pending.
        """
        outcome, pending = self.outcome, self._state.pending
        if outcome is None:
            return
        while outcome.settled < len(outcome.written):
            write = outcome.written[outcome.settled]
            noted = pending.get(id(write.obj))
            self.mark_clean(write)
            if is_late and noted is not None and not noted[1] == write.kind == "delete":
                pending[id(write.obj)] = noted  # sends nothing if the object is unchanged since
            outcome.settled += 1
        for write, _ in outcome.unknown:
            self.note_doubt(write)
        self.outcome = None

    def mark_clean(self, write: RowWrite) -> None:
        """Apply an acknowledged write to the session and to the write's object, if it has one.

        After a put the object matches its row and belongs to the session. After a delete the object
        has no row and leaves the session.
        """
        obj, state = write.obj, self._state
        if obj is None:
            return
        self.drop(obj)
        if write.kind == "delete":
            obj.__state__.row = None
            obj.__state__.on_change = None
            state.tracker.forget(obj)
            self._supersede(write.bound, state.identity.forget(write.bound, write.key), obj)
            return
        keep_row(write)
        obj.__state__.on_change = state.listener
        self._supersede(write.bound, state.identity.find(write.bound, write.key), obj)
        state.identity.put(write.bound, write.key, obj)
        if write.bound.is_mutable:
            state.tracker.add(write.bound, obj)

    def mark_deleted(self, write: RowWrite) -> None:
        """Detach the session's object of a deleted row, if there is one, from that row.

        If a write of the object is pending, the object stays in the session, and a put writes it as
        a new object. Otherwise the object leaves the session.
        """
        state = self._state
        obj = state.identity.find(write.bound, write.key)
        if obj is None:
            return
        obj.__state__.row = None
        if id(obj) not in state.pending:
            state.identity.forget(write.bound, write.key)
            state.tracker.forget(obj)
            obj.__state__.on_change = None

    def _supersede(self, bound: BoundModel, earlier: Model | None, obj: Model) -> None:
        if earlier is None or earlier is obj or id(earlier) in self._state.pending:
            return  # its pending write is still compared with the row that it was read from
        supersede(earlier)
        if bound.is_mutable:
            self._state.tracker.supersede(bound, earlier)
