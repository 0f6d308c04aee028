"""The flush of a session: what is pending is sent, then what hooks noted meanwhile, round by round.

A round prepares its objects, is worked out as a whole, and sent. Nothing of a round is sent if an
object of it does not fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from hbase_orm.errors import HBaseORMError, QueryError, ValidationError
from hbase_orm.model import Model
from hbase_orm.session.flush import emit
from hbase_orm.session.hooks import MAX_ROUNDS, HookErrors, prepare, tell_each
from hbase_orm.session.options import warn_of_future
from hbase_orm.session.pending import number_names
from hbase_orm.session.unit_of_work import FlushReport, Outcome, RowWrite, flush_error, write_of
from hbase_orm.session.writes import SessionWrites


class SessionFlush(SessionWrites):
    """What a session sends at flush."""

    _is_flushing = False

    def flush(self) -> FlushReport:
        """Send what is pending, in order, and report.

        What hooks add, delete or change is sent too: what `before_*` hooks note with the rest, and
        what `after_*` hooks note in a further round, until nothing is pending.

        Safe to call again after an error, and after an exception from outside (Ctrl-C, a time
        limit) that interrupted it: what was acknowledged is not pending any more, and of the rest
        what was written all the same is no conflict.

        Raises:
            ValidationError: A value does not fit, hooks note more without end, or an object was
                changed in place that no longer stands for its row; nothing was sent.
            RowKeyError: The row key of an index entry is too long; nothing was sent. Either way
                the flush goes on once the object is mended, or forgotten by `expunge`.
            FlushConflictError: Some were written by others since their objects were loaded.
            ConflictError: A value was changed in place after its object had got another one from
                its row; nothing was sent.
            FlushError: Some rows were not written, or their outcome is unknown. What `after_*`
                hooks noted and does not fit, or has no end, is not written: others were.
            QueryError: A hook of a flush calls this.
            Exception: What a hook raised: a `before_*` hook before its round is sent, an `after_*`
                hook when everything was written and every hook was called.
        """
        if self._is_flushing:
            raise QueryError(
                "a hook of a flush cannot flush",
                fix="leave it to the flush under way: it writes what its hooks add and delete",
            )
        outcome, raised = Outcome(), HookErrors()
        self._is_flushing = True
        try:
            self._flush_rounds(outcome, raised)
        except Exception:
            self._raise_failed(outcome, raised)
            raise
        finally:  # an interrupt goes through as it is
            self._is_flushing = False
        self._raise_failed(outcome, raised)
        return FlushReport(written=len(outcome.written))

    def _raise_failed(self, outcome: Outcome, raised: HookErrors) -> None:
        """Raise what a flush reports, or else what a hook raised, which becomes its context."""
        try:
            raised.raise_first()
        finally:
            self._refuse_failed(outcome)

    def _flush_rounds(self, outcome: Outcome, raised: HookErrors) -> None:
        """Send what is pending, then what the hooks of these writes noted, until nothing is."""
        self._settle()
        self._watched.prune()
        self._note_changes_in_place()
        for _ in range(MAX_ROUNDS):
            try:
                written = self._send_pending(outcome)
            except HBaseORMError as error:
                if not outcome.written:
                    raise
                self._hold_back(error, outcome)
                return
            are_hooks_called = tell_each(written, raised)
            if outcome.not_written or outcome.unknown or not are_hooks_called:
                return
            self._note_changes_in_place()
            if not self._pending:
                return
        self._hold_back(self._endless(), outcome)

    def _send_pending(self, outcome: Outcome) -> Sequence[RowWrite]:
        """Send what is pending, add to the outcome how it ended, and return what was written."""
        self._prepare()
        self._watched.refuse_lost_changes(self._pending)
        for obj in number_names(self._pending.values(), self._bound):
            self._pending.pop(id(obj))  # there is no such row to delete
            self._options.pop(id(obj), None)
        for obj, _ in self._pending.values():
            self._refuse_owned(obj)
        writes = [
            self._again(write_of(self._bound_to(obj), obj, "delete" if kind == "delete" else "put"))
            for obj, kind in self._pending.values()
        ]
        warn_of_future(writes, self._runtime)
        self._outcome = ended = Outcome()
        try:
            emit(writes, self._runtime, ended)
        except BaseException:
            self._note_interrupted(writes, ended)
            raise
        finally:
            self._settle(is_late=False)
        outcome.written += ended.written
        outcome.not_written += ended.not_written
        outcome.unknown += ended.unknown
        for write in writes:
            if write.is_idle:
                self._mark_clean(write)
        return ended.written

    def _note_interrupted(self, writes: Sequence[RowWrite], ended: Outcome) -> None:
        """Remember as unknown what was neither acknowledged nor refused before an interrupt."""
        known = {id(write.obj) for write in ended.written}
        known.update(id(write.obj) for write, _ in (*ended.not_written, *ended.unknown))
        for write in writes:
            if id(write.obj) not in known and not write.is_idle:
                self._note_doubt(write)

    def _hold_back(self, error: Exception, outcome: Outcome) -> None:
        """Report what is pending as not written, after earlier rounds were written."""
        for obj, _ in self._pending.values():
            key = b""
            with suppress(HBaseORMError):  # such an object may be what the error is about
                key = self._bound_to(obj).known_key(obj) or b""
            write = RowWrite(self._bound(type(obj)), obj, key, "put")
            outcome.not_written.append((write, error))

    def _endless(self) -> ValidationError:
        """Return the error of hooks that note further objects again and again."""
        obj, _ = next(reversed(self._pending.values()))
        return ValidationError(
            "the hooks of a flush note further objects without end",
            model=type(obj).__name__,
            rounds=MAX_ROUNDS,
            fix="let the hooks come to an end; what they noted last is pending: expunge it",
        )

    def _refuse_failed(self, outcome: Outcome) -> None:
        """Raise what a flush reports, if not everything was written."""
        if outcome.unexpected is not None:
            raise flush_error(outcome) from outcome.unexpected
        if outcome.not_written or outcome.unknown:
            raise flush_error(outcome)

    def _prepare(self) -> None:
        """Let what is pending prepare itself; a hook may change or note further objects."""
        prepared: dict[tuple[int, str], Model] = {}
        rounds = 0
        while waiting := [
            (obj, kind)
            for obj, kind in self._pending.values()
            if type(obj).__hooks__.has_before_write and (id(obj), kind) not in prepared
        ]:
            rounds += 1
            if rounds > MAX_ROUNDS:
                raise self._endless()
            for obj, kind in waiting:
                prepared[id(obj), kind] = obj
                if self._pending.get(id(obj), (None, ""))[1] == kind:
                    prepare(self._bound_to(obj), obj, "delete" if kind == "delete" else "put")
            self._note_changes_in_place()
