"""Immediate writes: the methods of a session that send their write immediately, without a flush."""

from __future__ import annotations

from functools import partial
from typing import Any, TypeVar

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.protocol import refuse_without_guards
from hbase_orm.errors import RowKeyError, ValidationError
from hbase_orm.model import Model
from hbase_orm.objects.identity import refuse_part
from hbase_orm.objects.ownership import refuse_foreign
from hbase_orm.ops import Protocol, RenewTimeLimit, Row, ask, offline_result
from hbase_orm.query import Select
from hbase_orm.reading.stream import planned, read_of
from hbase_orm.schema import NO_FIELDS, Condition
from hbase_orm.session.keyed_writes import KeyedWrites
from hbase_orm.session.state import check_statement
from hbase_orm.writing.assign_numbers import assign_substitute_numbers
from hbase_orm.writing.conditional import duplicate_error, insert_row, stored_row, write_if
from hbase_orm.writing.delete_where import corrupt_rows_of, delete_rows, refuse_extras
from hbase_orm.writing.hook_calls import call_after_write_hooks, prepare
from hbase_orm.writing.move import RowLocation, location_of, move_row, new_values
from hbase_orm.writing.replace import replace_row
from hbase_orm.writing.row_write import RowWrite, write_of

M = TypeVar("M", bound=Model)
T = TypeVar("T")


class ImmediateWrites(KeyedWrites):
    """The methods of a session that write an object, or the rows of a statement, immediately.

    A request without an answer raises `ConnectionLostError`: its outcome is unknown. For a guarded
    row (its model has an index or a version column) the row is read again to find out the outcome.
    The write is then finished if possible, and nothing is raised.
    """

    # --- one object -------------------------------------------------------------------------------

    def insert(self, obj: Model, /) -> None:
        """Write `obj` only if its row does not exist.

        A plain row is read first. Then HBase checks one column that every insert writes, so of two
        inserts at the same time one wins. If the gateway itself repeats the request, this method
        may raise `DuplicateRowError` for its own row. Guarded rows do not have this problem. A row
        with a random salt is looked up in all buckets. But two inserts at the same time may both
        succeed, each in another bucket.

        Raises:
            DuplicateRowError: The row exists already; `model`, `table` and `row` name it.
            FeatureMissingError: The engine has no Thrift2 gateway.
            ValidationError: A value does not fit, or the value that HBase checks would be empty. Or
                the object was read only in part (see `replace`), or belongs to another session. Or
                the session still holds another object of this row, which was deleted.
            ConnectionLostError: The outcome is unknown: read the row again, and decide whether to
                repeat the write.
        """
        self._refuse_without_guards(obj, "insert")
        refuse_part(obj)
        self._state.use(type(obj))
        write = self._run(self._insertion(obj))
        inserted = self._run_locked(write.row_id, insert_row(write, self._writer))
        self._pending.mark_clean(inserted)
        call_after_write_hooks((write,))

    def replace(self, obj: Model, /) -> None:
        """Replace the row by `obj` in one atomic call: all other cells, counters too, are deleted.

        Readers see either the old row or the new one. In a plain row, cells that another program
        writes during the call may remain.

        Raises:
            FeatureMissingError: The engine has no Thrift2 gateway.
            ValidationError: The object was read only in part: by `columns_between`, or without
                deferred fields that were not set since. Or it belongs to another session. Or the
                session holds another object of this row.
            ConflictError: Other writers kept writing the row with timestamps in the future.
            ConnectionLostError: The outcome is unknown; replacing again is safe.
        """
        self._refuse_without_guards(obj, "replace")
        refuse_part(obj)
        self._state.use(type(obj))
        call_after_write_hooks((self._run(self._replacement(obj)),))

    def put_if(self, obj: Model, /, *conditions: Condition) -> bool:
        """Write `obj` if its row fulfils the conditions; return whether it was written.

        Fields are written as in a flush: the changes of a loaded object, or all fields of a new
        object that are not None. A row that does not exist fulfils only `is_null()`. A guarded row
        is read and written under its guard, so all conditions are allowed. For a plain row HBase
        compares one stored cell with one value. Then a column without a cell fulfils no comparison,
        and a condition that cannot be decided from the bytes is refused. The version column is
        compared only if a condition names it.

        Raises:
            QueryError: There is no condition, or HBase cannot check it on a plain row.
            ValidationError: A value does not fit, or the object belongs to another session or
                engine.
            FeatureMissingError: The engine has no Thrift2 gateway.
            ConnectionLostError: The outcome is unknown: read the row again, and decide whether to
                repeat the write.
        """
        bound = self._prepared(obj, "put", conditions)
        write = self._pending.settling(self._run(write_of(bound, obj, "put")))
        return self._write_if(write, conditions)

    def delete_if(self, obj: Model, /, *conditions: Condition) -> bool:
        """Delete the row of `obj` if it fulfils the conditions; return whether it was deleted.

        The conditions are checked as in `put_if`. For a guarded row that does not exist the method
        returns False.

        Raises:
            QueryError, ValidationError, FeatureMissingError, ConnectionLostError: As for `put_if`.
        """
        bound = self._prepared(obj, "delete", conditions)
        write = self._run(self._deletion(bound, obj))
        return write is not None and self._write_if(write, conditions)

    def move(self, obj: M, /, **new_key: Any) -> M:
        """Move the row of `obj` to other key fields; return the object of the moved row.

        All cells in the model's families, counters and dynamic columns too, are inserted under the
        new row key and read back. Then the original row is deleted, and its index entries updated.
        For a moment readers see both rows. Call `move` again to finish an interrupted move. Only
        the newest version of each cell is moved. Cells get new timestamps, so that a TTL starts
        again. No program may increment the row's counters during the move.

        Args:
            obj: An object without unflushed changes. After the move it belongs to no row.
            new_key: The key fields that change.

        Raises:
            RowKeyError: A name is not a key field, a value does not fit, or the row already has
                this key.
            ValidationError: The object has changes that are not flushed, or belongs to another
                session or engine. Or its row has a value of a unique index, which the new row would
                have too.
            DuplicateRowError: Another row has the new key; neither row was changed.
            RowNotFoundError: The object's row does not exist.
            ConflictError: Other writers changed the row at every attempt.
            CorruptRowError: The row does not decode; neither row was changed.
            FeatureMissingError: The engine has no Thrift2 gateway.
            ConnectionLostError: Some steps may be done, others not; call `move` again.
        """
        self._state.use(type(obj), request=lambda: self._moving(obj, new_key))
        return self._run(self._moving(obj, new_key))

    def _moving(self, obj: M, new_key: dict[str, Any]) -> Protocol[M]:
        self._refuse_without_guards(obj, "move")
        self._state.refuse_owned(obj)
        bound = self._state.bound_to(obj)
        values = new_values(bound, obj, new_key)
        yield from self._refuse_unflushed(bound, obj)
        old = RowLocation(bound, (yield from bound.keys.of(obj)))
        yield from ask(RenewTimeLimit())
        new = yield from location_of(self._state.bound(type(obj)), values)
        if (new.bound.schema.table, new.key) == (bound.schema.table, old.key):
            raise RowKeyError(
                "the row has this key already",
                model=bound.schema.model_name,
                table=bound.schema.table,
                row=old.key,
                fix="give the row another key, or do not move it",
            )
        loaded, deferred = obj.__state__.row, obj.__state__.deferred
        cells = {} if loaded is None else {c: cell.value for c, cell in loaded.cells.items()}
        readable = partial(bound.hydrate, loaded=deferred)
        names = yield from bound.load_names([Row(old.key, {})])
        yield from ask(RenewTimeLimit())
        row = yield from move_row(old, new, values, cells, self._writer, check=readable)
        self._pending.mark_clean(RowWrite(bound, obj, old.key, "delete"))
        yield from ask(RenewTimeLimit())
        names = yield from new.bound.load_names([row])
        moved: M = self._state.attach(new.bound, new.bound.hydrate(row, deferred))
        del names  # held until here: making the object needs them
        return moved

    # --- many rows --------------------------------------------------------------------------------

    def delete_where(self, stmt: Select[Any], /) -> int:
        """Immediately delete every row that the statement selects; return how many were deleted.

        Rows are read page by page in bounded memory and checked against all conditions. Plain rows
        are deleted in batches, guarded rows one by one. The operation is not atomic. A row that
        changes after it was read is deleted nevertheless. A row that is written during the call may
        remain. Safe to repeat. Pending objects of the session stay pending.

        Args:
            stmt: A statement that limits the row key, or has `.allow_full_scan()`; its limit and
                order apply.

        Raises:
            QueryError: The statement selects fields, single dynamic columns or groups. Or it reads
                the past, sorts in memory, or loads related rows.
            UnboundedScanError: The statement would read the whole table, without
                `.allow_full_scan()`.
            FlushError: Some rows were not deleted, or their outcome is unknown. `written` counts
                the deleted rows. Rows that do not decode are not deleted. The error names at most
                1,000 of them, after all other rows are deleted. With `.on_corrupt("skip")` or a
                function they are left and not reported as failures; the engine's rule for reads is
                not used.
        """
        check_statement(stmt)
        state = self._state
        runtime = self._runtime
        bound = state.bound(stmt.model)
        refuse_without_guards(bound.schema, bound.guarded, "delete_where")
        refuse_extras(stmt)
        if state.unread(stmt.model):
            offline_result(planned(stmt, bound, runtime.writer))
            state.use(stmt.model)
        bound = state.bound(stmt.model)
        state.note_changes_in_place()
        chosen = self._run(planned(stmt, bound, runtime.writer))
        runtime.show_statement(stmt)
        corrupt, undeleted = corrupt_rows_of(stmt, bound, runtime.corrupt_rows)
        read = read_of(stmt, chosen, bound, runtime.writer, corrupt)
        deleting = delete_rows(
            read.rows,
            stmt,
            bound,
            runtime.writer,
            bound_to=state.bound_to,
            note=self._pending.mark_deleted,
            corrupt=corrupt,
            undeleted=undeleted,
        )
        return runtime.read(deleting, read.after_report(corrupt)).result()

    # --- shared -----------------------------------------------------------------------------------

    def _refuse_without_guards(self, obj: Model, operation: str) -> None:
        bound = self._state.bound_to(obj)
        refuse_without_guards(bound.schema, bound.guarded, operation)

    def _insertion(self, obj: Model) -> Protocol[RowWrite]:
        """Return the write that inserts an object.

        Raises:
            DuplicateRowError: The session has another object of the row, and the row exists.
        """
        bound = self._state.bound_to(obj)
        key = self._state.key_of_other(bound, obj)
        if key is not None and (yield from stored_row(bound, key, NO_FIELDS)) is not None:
            raise duplicate_error(RowWrite(bound, obj, key, "insert"))
        return (yield from self._whole_write(obj, "insert"))

    def _replacement(self, obj: Model) -> Protocol[RowWrite]:
        """Replace the row of an object, and return the row write."""
        write = yield from self._whole_write(obj, "replace")
        self._pending.mark_clean((yield from replace_row(write, self._writer)))
        return write

    def _deletion(self, bound: BoundModel, obj: Model) -> Protocol[RowWrite | None]:
        """Return the delete of an object's row; None if a name in the row key has no number."""
        if (yield from assign_substitute_numbers([(obj, "delete")], self._state.bound)):
            return None
        return (yield from write_of(bound, obj, "delete"))

    def _whole_write(self, obj: Model, kind: Any) -> Protocol[RowWrite]:
        prepare(self._state.refuse_other(obj), obj, "whole")
        return (yield from write_of(self._state.bound_to(obj), obj, kind))

    def _prepared(self, obj: Model, kind: Any, conditions: tuple[Condition, ...]) -> BoundModel:
        """Check an object, call its `before_*` hook, and return its bound model."""
        self._refuse_without_guards(obj, f"{kind}_if")
        bound = self._state.refuse_other(obj)
        refuse_foreign(bound, obj)
        prepare(bound, obj, kind)
        self._state.use(type(obj), request=lambda: self._conditional(obj, kind, conditions))
        return self._state.bound_to(obj)

    def _conditional(
        self, obj: Model, kind: Any, conditions: tuple[Condition, ...]
    ) -> Protocol[RowWrite | None]:
        """Write or delete the row of an object if it fulfils the conditions."""
        write = yield from write_of(self._state.bound_to(obj), obj, kind)
        return (yield from write_if(write, conditions, self._writer))

    def _write_if(self, write: RowWrite, conditions: tuple[Condition, ...]) -> bool:
        written = self._run_locked(write.row_id, write_if(write, conditions, self._writer))
        if written is None:
            return False
        self._pending.mark_clean(written)
        call_after_write_hooks((written,))
        return True

    def _refuse_unflushed(self, bound: BoundModel, obj: Model) -> Protocol[None]:
        if obj.__state__.row is None:
            return
        write = yield from write_of(bound, obj, "put")
        if not self._pending.settling(write).is_idle:
            raise ValidationError(
                "the object has changes that are not flushed",
                model=bound.schema.model_name,
                row=write.key,
                fix="flush or refresh it first",
            )
