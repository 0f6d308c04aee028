"""Immediate writes: they are sent when they are called, and touch nothing that is pending."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.protocol import refuse_without_guards
from hbase_orm.binding.runtime import Runtime
from hbase_orm.binding.table_writer import TableWriter
from hbase_orm.errors import RowKeyError, ValidationError
from hbase_orm.model import Model
from hbase_orm.objects.identity import refuse_part
from hbase_orm.objects.ownership import refuse_foreign
from hbase_orm.ops import Protocol, RenewTimeLimit, Row, ask
from hbase_orm.query import Select
from hbase_orm.reading.stream import planned, read_of
from hbase_orm.schema import NO_FIELDS, AddAmount, Assignment, Condition, Expr
from hbase_orm.session.pending import PendingWrites
from hbase_orm.session.state import SessionState, check_statement
from hbase_orm.writing.assign_numbers import assign_substitute_numbers
from hbase_orm.writing.by_key import append_tail, delete_cells, put_cells, tail_of
from hbase_orm.writing.conditional import duplicate_error, insert_row, stored_row, write_if
from hbase_orm.writing.delete_where import delete_rows, refuse_extras
from hbase_orm.writing.hook_calls import call_after_load_hook, call_after_write_hooks, prepare
from hbase_orm.writing.increments import amounts_by_column, increment_counters
from hbase_orm.writing.move import RowLocation, location_of, move_row, new_values
from hbase_orm.writing.replace import replace_row
from hbase_orm.writing.row_write import RowWrite, write_of
from hbase_orm.writing.update import key_to_update, update_row

M = TypeVar("M", bound=Model)
T = TypeVar("T")


class ImmediateWrites:
    """The methods of a session that write at once: an object, a row, or what a statement selects.

    A request that was sent and not answered raises `ConnectionLostError`: the outcome is unknown.
    Guarded rows (models with an index or a version column) find out by themselves what became of
    it wherever they can, and then finish the write instead.
    """

    _state: SessionState
    _pending: PendingWrites
    _runtime: Runtime

    # --- one object -------------------------------------------------------------------------------

    def insert(self, obj: Model, /) -> None:
        """Write `obj` only if its row is absent.

        A plain row is read first, then written under HBase's check that one column, which
        every insert writes, has no cell: of two inserts one wins. A gateway that repeats the
        request by itself may report our own row as `DuplicateRowError`; under a guard that is found
        out. Under a random salt the row is read in all buckets, but two inserts at once may
        both win, each in its own.

        Raises:
            DuplicateRowError: The row exists; `model`, `table` and `row` name it.
            FeatureMissingError: The engine has no Thrift2 gateway.
            ValidationError: A value does not fit, the cell to check would be empty, the object was
                read in part, as `replace` says, it belongs to another session, or the session holds
                another object of a row that is gone.
            ConnectionLostError: The outcome is unknown: read the row again, and decide whether to
                repeat the write.
        """
        self._refuse_without_guards(obj, "insert")
        refuse_part(obj)
        write = self._run(self._insertion(obj))
        inserted = self._run_locked(write.row_id, insert_row(write, self._writer))
        self._pending.mark_clean(inserted)
        call_after_write_hooks((write,))

    def replace(self, obj: Model, /) -> None:
        """Make the row exactly `obj` in one atomic call: other cells, counters too, are gone.

        Readers see the row as it was or as it is. Of a plain row, cells that somebody else writes
        while this runs may stay.

        Raises:
            FeatureMissingError: The engine has no Thrift2 gateway.
            ValidationError: The object was read in part: by `columns_between`, or without deferred
                fields that were not set since; or it belongs to another session.
            ConnectionLostError: The outcome is unknown; replacing again is safe.
        """
        self._refuse_without_guards(obj, "replace")
        refuse_part(obj)
        call_after_write_hooks((self._run(self._replacement(obj)),))

    def put_if(self, obj: Model, /, *conditions: Condition) -> bool:
        """Write `obj` as a flush would, if its row fulfils the conditions; return whether it did.

        Of a loaded object the changes are written, of a new one all non-None fields. A row that
        does not exist fulfils `is_null()` and nothing else. A guarded row is read and written under
        its guard, so any conditions will do. On a plain row HBase compares one stored cell with
        one value: a column that was never written fulfils no comparison, and what its bytes do
        not decide is refused. The version column is compared only if a condition names it.

        Raises:
            QueryError: No condition, or one that a plain row cannot be checked for.
            ValidationError: A value does not fit, or the object belongs to another session or
                engine.
            FeatureMissingError: The engine has no Thrift2 gateway.
            ConnectionLostError: The outcome is unknown: read the row again, and decide whether to
                repeat the write.
        """
        bound = self._prepared(obj, "put")
        write = self._pending.settling(self._run(write_of(bound, obj, "put")))
        return self._write_if(write, conditions)

    def delete_if(self, obj: Model, /, *conditions: Condition) -> bool:
        """Delete the row of `obj` if it fulfils the conditions; return whether it did.

        They are checked as by `put_if`; of a row under a guard that does not exist the answer is
        False.

        Raises:
            QueryError, ValidationError, FeatureMissingError, ConnectionLostError: As `put_if`.
        """
        write = self._run(self._deletion(self._prepared(obj, "delete"), obj))
        return write is not None and self._write_if(write, conditions)

    def move(self, obj: M, /, **new_key: Any) -> M:
        """Give the row of `obj` other key fields; return the object of the row that it is now.

        HBase cannot rename a row: all cells in the model's families are inserted under the new key,
        counters and entries too, read back, and then the original is deleted; index entries follow.
        For a moment a reader finds both. A move that was interrupted is finished by moving again.
        Cells get new timestamps, so a TTL begins again; versions before the newest stay behind. Let
        nothing increment the row's counters meanwhile.

        Args:
            obj: Without changes that are not flushed; it stands for no row afterwards.
            new_key: The key fields that change.

        Raises:
            RowKeyError: A name is no key field, a value does not fit, or the row has this key.
            ValidationError: The object has changes that are not flushed, it belongs to another
                session or engine, or the row has a value of a unique index that the copy would
                have as well.
            DuplicateRowError: Another row stands there; neither row was changed.
            RowNotFoundError: The object has no row.
            ConflictError: Others kept changing the row.
            CorruptRowError: The row does not decode; neither row was changed.
            FeatureMissingError: The engine has no Thrift2 gateway.
            ConnectionLostError: It is not known how far this came; move again.
        """
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
        del names  # held until here, for the objects that are made
        return moved

    # --- one row by its key -----------------------------------------------------------------------

    def update(self, model: type[M], change: Callable[[M], object], /, **key: Any) -> M:
        """Read a row, change its object, and write it if nobody else did meanwhile; return it.

        After a conflict the row is read again and `change` is called again, with a new object: it
        must do nothing but set fields. Needs a guarded model, since HBase's check of a plain row
        covers one column only.

        Args:
            model: A model with a version column or an index.
            change: Sets fields of the object it is given.
            key: The fields that the row key is computed from.

        Raises:
            QueryError: The model is plain.
            RowNotFoundError: There is no such row.
            ConflictError: Others won every round.
            ConnectionLostError: The outcome is unknown.
        """
        bound = self._state.bound_at(model, key)
        refuse_without_guards(bound.schema, bound.guarded, "update")
        row = self._run(key_to_update(bound, key))
        updating = update_row(bound, row, change, self._writer)
        write = self._run_locked((bound.schema.table, row), updating)
        obj: M = self._state.object_of_row(bound, write.obj)
        if obj is not write.obj:
            call_after_load_hook(obj)
        call_after_write_hooks((replace(write, obj=obj),))
        return obj

    def put_row(self, model: type[Model], /, *assignments: Assignment, **key: Any) -> None:
        """Write fields of one row at once, without an object: `M.unit.to("s")`, None deletes.

        Objects of the row that the session holds are not changed; `refresh` them. A row of a
        guarded model that does not exist is written only if all required fields are assigned.

        Raises:
            QueryError: Nothing to write, or a field that cannot be assigned.
            RowKeyError: A key field is missing or does not fit, or is assigned.
            ValidationError: A value does not fit.
            RowNotFoundError: The row does not exist, and this would not make it.
            ConnectionLostError: The outcome is unknown; writing again is safe.
        """
        bound = self._state.bound_at(model, key)
        self._run(put_cells(bound, assignments, key, self._writer))

    def delete_row(self, model: type[Model], /, **key: Any) -> None:
        """Delete one row at once, without an object; one that does not exist is no error.

        Raises:
            RowKeyError: A key field is missing or does not fit.
            ConnectionLostError: The outcome is unknown; deleting again is safe.
        """
        self._run(delete_cells(self._state.bound_at(model, key), key, self._writer))

    def append(self, model: type[Model], field: Expr[T], value: T, /, **key: Any) -> T:
        """Append text or bytes to a column of one row, atomically; return the new value.

        A column without a cell starts empty. A plain row need not exist; a guarded one must.
        Never repeated by itself: after `ConnectionLostError` the outcome is unknown.

        Raises:
            QueryError: The column is indexed, or its codec's bytes cannot be joined.
            RowKeyError: A key field is missing or does not fit.
            RowNotFoundError: A guarded row does not exist.
            CorruptRowError: What the column holds does not decode; to a plain row the value was
                appended all the same.
        """
        bound = self._state.bound_at(model, key)
        tail = self._run(tail_of(bound, field, value, key))
        appending: Protocol[T] = append_tail(tail, self._writer)
        if bound.guarded is None:
            return self._run(appending)
        return self._run_locked(tail.row_id, appending)

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
        amounts = amounts_by_column(self._state.bound(model), increments)
        bound = self._state.bound_at(model, key)
        return self._run(increment_counters(bound, key, amounts, self._writer))

    # --- many rows --------------------------------------------------------------------------------

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
        state = self._state
        bound = state.bound(stmt.model)
        refuse_without_guards(bound.schema, bound.guarded, "delete_where")
        state.note_changes_in_place()
        refuse_extras(stmt)
        runtime = self._runtime
        chosen = self._run(planned(stmt, bound, runtime.catalog))
        read = read_of(stmt, chosen, bound, runtime.writer)
        deleting = delete_rows(
            read.rows,
            stmt,
            bound,
            runtime.writer,
            bound_to=state.bound_to,
            note=self._pending.mark_deleted,
        )
        return runtime.read(deleting, read.after).result()

    # --- shared -----------------------------------------------------------------------------------

    @property
    def _writer(self) -> TableWriter:
        return self._runtime.writer

    def _run(self, protocol: Protocol[T]) -> T:
        return self._runtime.run(protocol)

    def _run_locked(self, row_id: tuple[str, bytes], protocol: Protocol[T]) -> T:
        """Run a protocol while no other thread of this engine changes the row."""
        return self._runtime.row_locks.hold(row_id, partial(self._runtime.run, protocol))

    def _refuse_without_guards(self, obj: Model, operation: str) -> None:
        bound = self._state.bound_to(obj)
        refuse_without_guards(bound.schema, bound.guarded, operation)

    def _insertion(self, obj: Model) -> Protocol[RowWrite]:
        """Return what inserts an object."""
        bound = self._state.bound_to(obj)
        key = self._state.key_of_other(bound, obj)
        if key is not None and (yield from stored_row(bound, key, NO_FIELDS)) is not None:
            raise duplicate_error(RowWrite(bound, obj, key, "insert"))
        return (yield from self._whole_write(obj, "insert"))

    def _replacement(self, obj: Model) -> Protocol[RowWrite]:
        """Replace the row of an object, and return its write."""
        write = yield from self._whole_write(obj, "replace")
        self._pending.mark_clean((yield from replace_row(write, self._writer)))
        return write

    def _deletion(self, bound: BoundModel, obj: Model) -> Protocol[RowWrite | None]:
        """Return what deletes the row of an object; None if a name in its key has no number."""
        if (yield from assign_substitute_numbers([(obj, "delete")], self._state.bound)):
            return None
        return (yield from write_of(bound, obj, "delete"))

    def _whole_write(self, obj: Model, kind: Any) -> Protocol[RowWrite]:
        prepare(self._state.refuse_other(obj), obj, "whole")
        return (yield from write_of(self._state.bound_to(obj), obj, kind))

    def _prepared(self, obj: Model, kind: Any) -> BoundModel:
        """Return the model of an object that was checked and has prepared itself."""
        self._refuse_without_guards(obj, f"{kind}_if")
        bound = self._state.refuse_other(obj)
        refuse_foreign(bound, obj)
        prepare(bound, obj, kind)
        return self._state.bound_to(obj)

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
