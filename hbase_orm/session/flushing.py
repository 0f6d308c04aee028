"""The flush of a session: it sends the pending writes, then the writes that hooks added, in rounds.

A round calls the `before_*` hooks of its objects, computes all their writes, and sends the writes.
Nothing of a round is sent if a value of one object does not fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from hbase_orm.errors import (
    HBaseORMError,
    QueryError,
    RetryableError,
    ValidationError,
)
from hbase_orm.model import Model
from hbase_orm.ops import Protocol, RenewTimeLimit, ask, offline_result
from hbase_orm.session.pending import PendingWrites
from hbase_orm.session.state import SessionState
from hbase_orm.writing.assign_numbers import assign_substitute_numbers
from hbase_orm.writing.flush_outcome import FlushOutcome, FlushReport
from hbase_orm.writing.hook_calls import (
    MAX_ROUNDS,
    HookErrors,
    call_every_after_write_hook,
    prepare,
)
from hbase_orm.writing.row_write import RowWrite, write_of
from hbase_orm.writing.send import send_writes, warn_of_future


@dataclass(slots=True)
class Flush:
    """Sends the pending writes of a session."""

    _state: SessionState
    _pending: PendingWrites
    _is_running: bool = False

    def run(self) -> FlushReport:
        """Send the pending writes and return a report; raise the errors of `Session.flush`."""
        if self._is_running:
            raise QueryError(
                "a hook of a flush cannot flush",
                fix="leave session.flush() out of the hook: the running flush writes what its "
                "hooks add and delete",
            )
        outcome, errors = FlushOutcome(), HookErrors()
        self._is_running = True
        try:
            self._state.runtime.run_as_is(self._flush_rounds(outcome, errors))
        except Exception:
            self._raise_failed(outcome, errors)
            raise
        finally:  # an interrupt is raised unchanged
            self._is_running = False
        self._raise_failed(outcome, errors)
        return FlushReport(written=len(outcome.written))

    def _raise_failed(self, outcome: FlushOutcome, errors: HookErrors) -> None:
        """Raise the error of a flush with failures; do nothing if there were none.

        If some rows were not acknowledged, this is a `FlushError`. Otherwise it is the first error
        of an `after_*` hook. If there are both, the hook's error is the `FlushError`'s context.
        """
        try:
            if errors.raised:
                errors.raise_first()
        finally:
            self._refuse_failed(outcome)

    def _flush_rounds(self, outcome: FlushOutcome, errors: HookErrors) -> Protocol[None]:
        """Send the pending writes, then the writes that hooks added, until nothing is pending."""
        self._pending.settle()
        if self._state.is_tracking:
            self._state.tracker.prune()
            self._state.note_changes_in_place()
        if not self._state.pending:
            self._refuse_lost_changes()
            return
        for _ in range(MAX_ROUNDS):
            try:
                written = yield from self._send_pending(outcome)
            except HBaseORMError as error:
                if not outcome.written:
                    raise
                self._hold_back(error, outcome)
                return
            hooked = [write for write in written if write.has_after_hook]
            if not hooked:
                return
            call_every_after_write_hook(hooked, errors)
            if outcome.has_failures:
                return
            self._state.note_changes_in_place()
            if not self._state.pending:
                return
        self._hold_back(self._endless(), outcome)

    def _send_pending(self, outcome: FlushOutcome) -> Protocol[Sequence[RowWrite]]:
        """Send the pending writes, record their results, and return the acknowledged writes."""
        runtime = self._state.runtime
        self._prepare()
        self._refuse_lost_changes()
        for obj, _ in self._state.pending.values():
            self._state.refuse_owned(obj)
        unchecked = yield from self._use()
        yield from self._assign_numbers()
        writes = yield from self._writes()
        warn_of_future(writes, runtime.clock.now_ms())
        self._pending.outcome = ended = FlushOutcome()
        try:
            yield from ask(RenewTimeLimit())
            for write in writes:
                if write.bound.model in unchecked:
                    ended.record_not_written((write,), unchecked[write.bound.model])
            checked = [write for write in writes if write.bound.model not in unchecked]
            yield from send_writes(checked, runtime.writer, ended)
        except BaseException:  # also GeneratorExit, when an interrupt has ended the flush
            self._note_interrupted(writes, ended)
            raise
        finally:
            self._pending.settle(is_late=False)
        outcome.add(ended)
        for write in writes:
            if write.is_idle:
                self._pending.mark_clean(write)
        return ended.written

    def _use(self) -> Protocol[dict[type[Model], HBaseORMError]]:
        """Compare the models of pending objects with the records of their tables.

        Return the models whose record could not be read, each with the reason: their objects are
        not written.

        Raises:
            SchemaDriftError: A model contradicts the record of its table; nothing is sent.
        """
        state, unchecked = self._state, dict[type[Model], HBaseORMError]()
        pending = list(state.pending.values())
        unread = state.unread(*dict.fromkeys(type(obj) for obj, _ in pending))
        for obj, kind in pending:
            if type(obj) in unread:  # values that do not fit are refused before a request
                offline_result(assign_substitute_numbers([(obj, kind)], state.bound))
                offline_result(write_of(state.bound_to(obj), obj, _kind(kind)))
        for model in unread:
            try:
                yield from state.usable(model)
            except RetryableError as error:
                unchecked[model] = error
        return unchecked

    def _refuse_lost_changes(self) -> None:
        if self._state.is_tracking:
            self._state.tracker.refuse_lost_changes(self._state.pending)

    def _assign_numbers(self) -> Protocol[None]:
        """Give a number to each new name in the row keys of objects that will be put.

        A pending delete is dropped if a name in its row key has no number, because the row cannot
        exist.
        """
        state = self._state
        named = [
            (obj, kind)
            for obj, kind in state.pending.values()
            if state.bound(type(obj)).keys.names is not None
        ]
        if named:
            yield from ask(RenewTimeLimit())
            for obj in (yield from assign_substitute_numbers(named, state.bound)):
                self._pending.drop(obj)  # there is no such row to delete

    def _writes(self) -> Protocol[list[RowWrite]]:
        """Return the writes of the pending objects."""
        writes: list[RowWrite] = []
        for obj, kind in self._state.pending.values():
            bound = self._state.bound_to(obj)
            write = yield from write_of(bound, obj, _kind(kind))
            writes.append(self._pending.with_options(write))
        return writes

    def _note_interrupted(self, writes: Sequence[RowWrite], ended: FlushOutcome) -> None:
        """After an interrupt, record writes without an answer as writes of unknown outcome."""
        answered = {id(write.obj) for write in ended.written}
        answered.update(id(write.obj) for write, _ in ended.failures)
        for write in writes:
            if id(write.obj) not in answered and not write.is_idle:
                self._pending.note_doubt(write)

    def _hold_back(self, error: Exception, outcome: FlushOutcome) -> None:
        """Record in `outcome` that the pending writes were not written because of `error`.

        This is needed after earlier rounds: the `FlushError` then has the rows of all rounds.
        """
        for obj, _ in self._state.pending.values():
            key = b""
            with suppress(HBaseORMError):  # such an object may be what the error is about
                key = self._state.bound_to(obj).keys.known_of(obj) or b""
            write = RowWrite(self._state.bound(type(obj)), obj, key, "put")
            outcome.record_not_written((write,), error)

    def _endless(self) -> ValidationError:
        """Return the error to raise if hooks add more objects in every round."""
        obj, _ = next(reversed(self._state.pending.values()))
        return ValidationError(
            "the hooks of a flush add more objects in every round, without end",
            model=type(obj).__name__,
            rounds=MAX_ROUNDS,
            fix="change the hooks so that they stop adding objects; expunge the objects they "
            "added last, which are still pending",
        )

    def _refuse_failed(self, outcome: FlushOutcome) -> None:
        """Raise the `FlushError` of the flush if some rows were not acknowledged."""
        if outcome.unexpected is not None:
            raise outcome.flush_error() from outcome.unexpected
        if outcome.has_failures:
            raise outcome.flush_error()

    def _prepare(self) -> None:
        """Call the `before_*` hooks of the pending objects; a hook may change or add objects."""
        prepared: dict[tuple[int, str], Model] = {}
        rounds = 0
        while waiting := [
            (obj, kind)
            for obj, kind in self._state.pending.values()
            if type(obj).__hooks__.has_before_write and (id(obj), kind) not in prepared
        ]:
            rounds += 1
            if rounds > MAX_ROUNDS:
                raise self._endless()
            for obj, kind in waiting:
                prepared[id(obj), kind] = obj
                if self._state.pending.get(id(obj), (None, ""))[1] == kind:
                    prepare(self._state.bound_to(obj), obj, _kind(kind))
            self._state.note_changes_in_place()


def _kind(pending: str) -> Literal["put", "delete"]:
    """Return the kind of the write of a pending object."""
    return "delete" if pending == "delete" else "put"
