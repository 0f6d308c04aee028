"""The writing half of a session: what is pending, what a write leaves behind, and bulk writes."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from hbase_orm.errors import ValidationError
from hbase_orm.model import Model, check_key_arguments
from hbase_orm.ops import Increment
from hbase_orm.query import Select
from hbase_orm.schema import AddAmount
from hbase_orm.session.binding import BoundModel
from hbase_orm.session.bulk import Bulk, Progress
from hbase_orm.session.deletes import delete_rows
from hbase_orm.session.gets import key_to_change
from hbase_orm.session.identity import supersede
from hbase_orm.session.increments import amounts_by_column, checked_values
from hbase_orm.session.options import WriteOptions, options_of
from hbase_orm.session.origins import refuse_foreign
from hbase_orm.session.period_tables import send
from hbase_orm.session.state import ChangeNoter, SessionState, check_statement
from hbase_orm.session.unit_of_work import Outcome, RowWrite, keep_row
from hbase_orm.session.without_guards import refuse_without_guards


class SessionWrites(SessionState):
    """What a session writes: at flush, or at once."""

    def add(
        self, obj: Model, /, *, ttl: timedelta | None = None, timestamp_ms: int | None = None
    ) -> None:
        """Note that `obj` is to be written by the next flush.

        A new object puts its non-None cells, a loaded one its changes; other cells of the row stay.

        Args:
            obj: The object.
            ttl: How long the cells live that are put, if that is shorter than their family's ttl;
                what lies below is seen again afterwards. Plain models only.
            timestamp_ms: The timestamp of what is written, milliseconds since 1970; a cell with a
                newer one, or a delete at this one, hides it. Plain models only.

        Raises:
            RowKeyError: Its row key cannot be made.
            ValidationError: The session holds another object of this row, the object belongs to
                another session or engine, or an option does not fit.
        """
        self._note(obj, "put", ttl=ttl, timestamp_ms=timestamp_ms)

    def add_all(self, objects: Iterable[Model], /) -> None:
        """Note that all of them are to be written."""
        for obj in objects:
            self.add(obj)

    def delete(self, obj: Model, /, *, timestamp_ms: int | None = None) -> None:
        """Note that the row of `obj` is to be deleted by the next flush.

        Args:
            obj: The object.
            timestamp_ms: Delete cells up to this timestamp, milliseconds since 1970; newer ones
                stay. Plain models only.

        Raises:
            RowKeyError: Its row key cannot be made.
            ValidationError: The session holds another object of this row, the object belongs to
                another session or engine, or the timestamp does not fit.
        """
        self._note(obj, "delete", timestamp_ms=timestamp_ms)

    def expunge(self, obj: Model, /) -> None:
        """Forget `obj` and what is pending for it; the object lives on, unattached."""
        self._pending.pop(id(obj), None)
        self._watched.forget(obj)
        self._options.pop(id(obj), None)
        bound = self._bound_to(obj)
        key = bound.known_key(obj)
        if key is not None and self._identity.find(bound, key) is obj:
            self._identity.forget(bound, key)
        if self._owner_of(obj) in {None, self}:
            obj._note_change = None  # noqa: SLF001 - the model's own state

    def bulk(
        self,
        *,
        batch_rows: int = 1000,
        insert_only: bool = False,
        parallel: int | None = None,
        progress: Progress | None = None,
    ) -> Bulk:
        """Return a writer for any number of rows, in constant memory.

        It takes objects inside its `with` block only, and in one block: elsewhere `add` raises
        `QueryError`. Safe to abandon before the block: it has no threads until then.

        Args:
            batch_rows: Most rows in one request; it also ends at about 2 MiB of cells.
            insert_only: The rows are known to be new. A table with indexes that nobody has written
                yet is then loaded in plain batches that carry their guards; an interrupted load is
                resumed by loading the same rows again, and nothing is doubled. A row that stands
                twice in a load is refused with `DuplicateRowError` while the first is on its way;
                further apart that is not noticed, and the row may lack index entries: load each
                row once, and from one process at a time. Otherwise each row of a table with
                indexes is checked, and one that exists is reported with `DuplicateRowError`.
                Without indexes nothing is checked.
            parallel: Most batches under way at once, each on a connection; more than the pool has
                only wait for each other. None: 3, and 6 in such a load. 1 sends a batch when the
                one before it was answered.
            progress: Called in this thread after each batch with a `FlushReport` of what was
                written so far. What it raises ends the bulk.

        Raises:
            QueryError: `batch_rows` or `parallel` is not a positive integer.
            ConfigurationError: The session is closed.
        """
        self._refuse_closed()
        return Bulk(
            self._runtime,
            self._bound_of,
            self._refuse_closed,
            batch_rows=batch_rows,
            insert_only=insert_only,
            parallel=parallel,
            progress=progress,
        )

    def increment(self, model: type[Model], /, *increments: AddAmount, **key: Any) -> list[int]:
        """Add to counters of one row at once, atomically; return their new values in order.

        Never repeated by itself: after `ConnectionLostError` the outcome is unknown. Counters have
        64 bits: above 2**63 - 1 HBase goes on at -2**63.

        Raises:
            QueryError: Nothing to add, an amount outside 64 bits, or a field that is no counter of
                the model.
            RowKeyError: A key field is missing or does not fit.
            SchemaError: Other programs keep indexes of the table that the model does not declare.
            CounterOverflowError: A counter went past 64 bits. The amounts were added; `values` are
                the new values.
        """
        bound = self._bound(model)
        amounts = amounts_by_column(bound, increments)
        check_key_arguments(bound.schema, key)
        bound = bound.placed(key)
        where = bound.schema.table, key_to_change(bound, key, self._runtime)
        self._runtime.wait_for_ties([where])
        try:
            values = send(Increment(*where, amounts), bound, self._runtime)
        finally:
            self._runtime.note_counted(where)
        return checked_values(bound, where[1], amounts, values)

    def delete_where(self, stmt: Select[Any], /) -> int:
        """Delete every row that the statement selects, at once; return how many they were.

        Rows are read page by page in bounded memory, each is checked against all conditions, and
        they are deleted in batches, rows with indexes one by one through their guards. The whole is
        not atomic: a row that is changed after it was read is deleted all the same, and one that
        comes later may stay. Safe to repeat. What is pending in the session stays pending.

        Args:
            stmt: Needs a range of keys, or `.allow_full_scan()`; its limit and order hold.

        Raises:
            QueryError: The statement asks for more than whole rows.
            UnboundedScanError: It would read the whole table and does not allow it.
            FlushError: Some rows were not deleted, or their outcome is unknown; `written` counts
                those that were. Rows that do not decode are left and named, at most 1,000, once the
                others are deleted.
        """
        check_statement(stmt)
        bound = self._bound(stmt.model)
        refuse_without_guards(bound.schema, bound.guarded, "delete_where")
        self._note_changes_in_place()
        return delete_rows(stmt, bound, self._runtime, self._bound_to, self._note_deleted)

    def _note_changes_in_place(self) -> None:
        for obj in self._watched.changed():
            self._note_change(obj)

    def _note_deleted(self, write: RowWrite) -> None:
        """Let the object of a deleted row be a new one, written only if that is pending."""
        obj = self._identity.find(write.bound, write.key)
        if obj is None:
            return
        obj._row = None  # noqa: SLF001 - the model's own state
        if id(obj) not in self._pending:
            self._identity.forget(write.bound, write.key)
            self._watched.forget(obj)
            obj._note_change = None  # noqa: SLF001 - the model's own state

    def _note(
        self,
        obj: Model,
        kind: str,
        *,
        ttl: timedelta | None = None,
        timestamp_ms: int | None = None,
    ) -> None:
        if not isinstance(obj, Model):
            raise ValidationError(
                "this is no object of a model", got=repr(obj), fix="add(Reading(...))"
            )
        self._settle()
        options = WriteOptions()
        if ttl is not None or timestamp_ms is not None:
            options = options_of(self._bound_to(obj), ttl, timestamp_ms)
        self._refuse_other(obj)
        refuse_foreign(self._bound_to(obj), obj)
        if kind == "delete":
            self._refuse_without_guards(obj, "delete")
        self._pending.pop(id(obj), None)  # what is noted last is sent last
        self._pending[id(obj)] = (obj, kind)
        known = self._options.get(id(obj))
        if known is not None or options != WriteOptions():
            self._options[id(obj)] = options if known is None else options.with_tries_of(known)

    def _refuse_without_guards(self, obj: Model, operation: str) -> None:
        bound = self._bound_to(obj)
        refuse_without_guards(bound.schema, bound.guarded, operation)

    def _again(self, write: RowWrite) -> RowWrite:
        """Return a write with its options, which know its own earlier tries."""
        options = self._options.get(id(write.obj))
        if options is None and write.version is not None:
            # An interrupted flush must know its own write from another's: noted before it is sent.
            options = self._options[id(write.obj)] = WriteOptions()
        return write if options is None else options.of(write)

    def _settling(self, write: RowWrite) -> RowWrite:
        """Return a write with what its tries of unknown outcome left in doubt."""
        options = self._options.get(id(write.obj))
        return write if options is None else options.settling(write)

    def _note_doubt(self, write: RowWrite) -> None:
        """Remember a try whose outcome is unknown."""
        if write.obj is not None:
            known = self._options.get(id(write.obj), WriteOptions())
            self._options[id(write.obj)] = known.after(write)

    def _settle(self, *, is_late: bool = True) -> None:
        """Note what the last flush got acknowledged, unless that is done.

        An exception from outside may end a flush at any step, this one included: then the next
        use of the session goes on here. What was noted of the objects meanwhile stays.
        """
        outcome = self._outcome
        while outcome.settled < len(outcome.written):
            write = outcome.written[outcome.settled]
            noted = self._pending.get(id(write.obj))
            self._mark_clean(write)
            if is_late and noted is not None and not noted[1] == write.kind == "delete":
                self._pending[id(write.obj)] = noted  # idle, if nothing was changed since
            outcome.settled += 1
        for write, _ in outcome.unknown:
            self._note_doubt(write)
        self._outcome = Outcome()  # which holds no objects

    def _owner_of(self, obj: Model) -> object:
        """Return the session that is told of an object's changes, or None."""
        noter = getattr(obj, "_note_change", None)
        return noter.session if isinstance(noter, ChangeNoter) else None

    def _refuse_owned(self, obj: Model) -> None:
        """Refuse an object of another session, which would not write its further changes."""
        if self._owner_of(obj) not in {None, self}:
            raise ValidationError(
                "the object belongs to another session",
                model=type(obj).__name__,
                fix="expunge it there, or close that session, before you give it to this one",
            )

    def _refuse_other(self, obj: Model) -> None:
        """Refuse a second object of a row: what one writes, the other does not know."""
        self._refuse_owned(obj)
        bound = self._bound_to(obj)
        key = self._key_held(bound, obj)
        if key is not None:
            raise ValidationError(
                "the session holds another object of this row",
                model=bound.schema.model_name,
                row=key,
                fix="change that object, or expunge it first",
            )

    def _key_held(self, bound: BoundModel, obj: Model) -> bytes | None:
        """Return the row key of `obj` if the session holds another object of its row."""
        key = bound.known_key(obj)
        if key is None:
            return None  # its name has no number here, so no object of its row was read
        known = self._identity.find(bound, key) or obj
        is_to_go = self._pending.get(id(known), (known, "put"))[1] == "delete"
        return None if known is obj or is_to_go else key

    def _mark_clean(self, write: RowWrite) -> None:
        obj = write.obj
        if obj is None:
            return
        self._pending.pop(id(obj), None)
        self._options.pop(id(obj), None)
        if write.kind == "delete":
            obj._row = None  # noqa: SLF001 - the model's own state
            obj._note_change = None  # noqa: SLF001 - the model's own state
            self._watched.forget(obj)
            before = self._identity.forget(write.bound, write.key)
            self._supersede(write.bound, before, obj)
            return
        keep_row(write)
        obj._note_change = self._noter  # noqa: SLF001 - the model's own state
        self._supersede(write.bound, self._identity.find(write.bound, write.key), obj)
        self._identity.put(write.bound, write.key, obj)
        if write.bound.is_mutable:
            self._watched.add(write.bound, obj)

    def _supersede(self, bound: BoundModel, before: Model | None, obj: Model) -> None:
        if before is None or before is obj or id(before) in self._pending:
            return  # what is pending stays based on what it was read from
        supersede(before)
        if bound.is_mutable:
            self._watched.supersede(bound, before)
