"""The writes of one row by its key: the methods of a session that need no object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Never, TypeVar

from hbase_orm.binding.protocol import refuse_without_guards
from hbase_orm.binding.runtime import Runtime
from hbase_orm.binding.table_writer import TableWriter
from hbase_orm.model import Model
from hbase_orm.model.refusals import refuse_unnamed
from hbase_orm.ops import Protocol, offline_result
from hbase_orm.schema import AddAmount, Assignment, Expr
from hbase_orm.session.pending import PendingWrites
from hbase_orm.session.state import SessionState
from hbase_orm.writing.by_key import append_tail, delete_cells, put_cells, tail_of
from hbase_orm.writing.hook_calls import call_after_load_hook, call_after_write_hooks
from hbase_orm.writing.increments import amounts_by_column, increment_counters
from hbase_orm.writing.update import key_to_update, update_row

M = TypeVar("M", bound=Model)
T = TypeVar("T")


class KeyedWrites:
    """The methods of a session that write a row immediately, by its key fields, without a flush."""

    _state: SessionState
    _pending: PendingWrites
    _runtime: Runtime

    def update(
        self, model: type[M], change: Callable[[M], object], /, *values: Never, **key: Any
    ) -> M:
        """Read a row, change its object by `change`, write the row, and return the object.

        The row is written only if no other writer has changed it since the read. Otherwise the row
        is read again, and `change` is called with a new object. So `change` must only set fields.
        The model must be guarded, because HBase checks only one column of a plain row.

        Args:
            model: A model with a version column or an index.
            change: A function that sets fields of its argument, the object.
            values: Nothing: key fields are given by name.
            key: The fields that the row key is computed from.

        Raises:
            QueryError: The model is plain.
            RowNotFoundError: The row does not exist.
            ConflictError: Other writers changed the row at every attempt.
            ConnectionLostError: The outcome is unknown.
        """
        refuse_unnamed("session.update", model, values, ["CHANGE"])
        state = self._state
        bound = state.bound_at(model, key)
        refuse_without_guards(bound.schema, bound.guarded, "update")
        offline_result(key_to_update(bound, key))
        state.use(model)
        bound = state.bound_at(model, key)
        row = self._run(key_to_update(bound, key))
        updating = update_row(bound, row, change, self._writer)
        write = self._run_locked((bound.schema.table, row), updating)
        obj: M = self._state.object_of_row(bound, write.obj)
        if obj is not write.obj:
            call_after_load_hook(obj)
        call_after_write_hooks((replace(write, obj=obj),))
        return obj

    def put_row(self, model: type[Model], /, *assignments: Assignment, **key: Any) -> None:
        """Write fields of one row immediately, without an object.

        `M.unit.to("s")` is an assignment. An assignment of None deletes the field's cell. Objects
        of the row that the session holds are not changed; `refresh` them. A missing row of a
        guarded model is written only if all required fields are assigned.

        Raises:
            QueryError: There is no assignment, or a field cannot be assigned.
            RowKeyError: A key field is missing, does not fit, or is assigned.
            ValidationError: A value does not fit.
            RowNotFoundError: The guarded row does not exist, and some required fields are not
                assigned.
            ConnectionLostError: The outcome is unknown; writing again is safe.
        """
        writer = self._writer
        self._run(
            self._state.used_at(
                model, key, lambda bound: put_cells(bound, assignments, key, writer)
            )
        )

    def delete_row(self, model: type[Model], /, *values: Never, **key: Any) -> None:
        """Delete one row immediately, without an object; do nothing if the row does not exist.

        Raises:
            RowKeyError: A key field is missing or does not fit.
            ConnectionLostError: The outcome is unknown; deleting again is safe.
        """
        refuse_unnamed("session.delete_row", model, values)
        writer = self._writer
        self._run(self._state.used_at(model, key, lambda bound: delete_cells(bound, key, writer)))

    def append(
        self, model: type[Model], field: Expr[T], value: T, /, *values: Never, **key: Any
    ) -> T:
        """Append text or bytes to a column of one row, atomically; return the new value.

        A column without a cell counts as empty. A plain row need not exist; a guarded row must. The
        library never repeats the request: after `ConnectionLostError` the outcome is unknown.

        Raises:
            QueryError: The column is indexed, or its codec's bytes cannot be joined.
            RowKeyError: A key field is missing or does not fit.
            RowNotFoundError: A guarded row does not exist.
            CorruptRowError: The column's value does not decode; in a plain row the value was
                appended nevertheless.
        """
        refuse_unnamed("session.append", model, values, ["FIELD", "VALUE"])
        state = self._state
        offline_result(tail_of(state.bound_at(model, key), field, value, key))
        state.use(model)
        bound = state.bound_at(model, key)
        tail = self._run(tail_of(bound, field, value, key))
        appending: Protocol[T] = append_tail(tail, self._writer)
        if bound.guarded is None:
            return self._run(appending)
        return self._run_locked(tail.row_id, appending)

    def increment(self, model: type[Model], /, *increments: AddAmount, **key: Any) -> list[int]:
        """Increment counters of one row immediately and atomically; return the new values.

        The values have the order of the arguments. The library never repeats the request: after
        `ConnectionLostError` the outcome is unknown. Counters have 64 bits: after 2**63 - 1 HBase
        continues with -2**63.

        Raises:
            QueryError: There is no amount, an amount does not fit 64 bits, or a field is not a
                counter of the model.
            RowKeyError: A key field is missing or does not fit.
            SchemaError: The table has indexes that the model does not declare.
            CounterOverflowError: A counter overflowed 64 bits. The amounts were added; `values` has
                the new values.
        """
        amounts = amounts_by_column(self._state.bound(model), increments)
        writer = self._writer
        return self._run(
            self._state.used_at(
                model, key, lambda bound: increment_counters(bound, key, amounts, writer)
            )
        )

    # --- shared -----------------------------------------------------------------------------------

    @property
    def _writer(self) -> TableWriter:
        return self._runtime.writer

    def _run(self, protocol: Protocol[T]) -> T:
        return self._runtime.run(protocol)

    def _run_locked(self, row_id: tuple[str, bytes], protocol: Protocol[T]) -> T:
        """Run a protocol under the engine's lock on the row, to avoid conflicts between threads."""
        return self._runtime.row_locks.hold(row_id, partial(self._runtime.run, protocol))
