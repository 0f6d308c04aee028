"""Writes at once: they are sent when they are called, and touch nothing that is pending."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from hbase_orm.errors import RowKeyError, RowNotFoundError, ValidationError
from hbase_orm.model import Model, check_key_arguments
from hbase_orm.model.deferring import deferred_among, loaded_fields
from hbase_orm.schema import NO_FIELDS, Assignment, Condition, Expr
from hbase_orm.session.binding import BoundModel
from hbase_orm.session.by_key import append_tail, delete_cells, put_cells
from hbase_orm.session.conditional import duplicate, insert_row, stored_row, write_if
from hbase_orm.session.hooks import prepare, tell_loaded, tell_written
from hbase_orm.session.identity import refuse_part
from hbase_orm.session.moves import Place, move_row, new_values, place_of
from hbase_orm.session.origins import refuse_foreign
from hbase_orm.session.pending import number_names
from hbase_orm.session.replacing import replace_row
from hbase_orm.session.unit_of_work import RowWrite, loaded_row, write_of
from hbase_orm.session.updating import update_row
from hbase_orm.session.without_guards import refuse_without_guards
from hbase_orm.session.writes import SessionWrites

M = TypeVar("M", bound=Model)
T = TypeVar("T")


class SessionAtOnce(SessionWrites):
    """What a session writes at once.

    A request that was sent and not answered raises `ConnectionLostError`: the outcome is unknown.
    Guarded rows (models with an index or a version column) find out by themselves what became of
    it wherever they can, and then finish the write instead.
    """

    # --- one object -------------------------------------------------------------------------------

    def insert(self, obj: Model, /) -> None:
        """Write `obj` only if its row is absent.

        A plain row is looked for first, then written under HBase's check that one column, which
        every insert writes, has no cell: of two inserts one wins. A gateway that repeats the
        request by itself may report our own row as `DuplicateRowError`; under a guard that is found
        out. Under a random salt the row is looked for in all buckets, but two inserts at once may
        both win, each in its own.

        Raises:
            DuplicateRowError: The row exists; `model`, `table` and `row` name it.
            FeatureMissingError: The engine has no Thrift2 gateway.
            ValidationError: A value does not fit, the cell to check would be empty, the object was
                read in part, as `replace` says, it belongs to another session, or the session holds
                another object of a row that is gone.
            ConnectionLostError: The outcome is unknown: read the row and decide.
        """
        self._refuse_without_guards(obj, "insert")
        refuse_part(obj)
        bound = self._bound_to(obj)
        held = self._key_held(bound, obj)
        if held is not None and stored_row(bound, held, self._runtime, NO_FIELDS) is not None:
            raise duplicate(RowWrite(bound, obj, held, "insert"))
        write = self._whole(obj, "insert")
        inserted = self._runtime.alone(write.where, lambda: insert_row(write, self._runtime))
        self._mark_clean(inserted)
        tell_written((write,))

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
        write = self._whole(obj, "replace")
        self._mark_clean(replace_row(write, self._runtime))
        tell_written((write,))

    def put_if(self, obj: Model, /, *conditions: Condition) -> bool:
        """Write `obj` as a flush would, if its row fulfils the conditions; say whether it did.

        Of a loaded object the changes are written, of a new one all non-None fields. A row that
        does not exist fulfils `is_null()` and nothing else. A guarded row is read and written under
        its guard, so any conditions will do. On a plain row HBase compares one stored cell with
        one value: a column that was never written fulfils no comparison, and what its bytes do
        not decide is refused. The version column is compared only if a condition says so.

        Raises:
            QueryError: No condition, or one that a plain row cannot be checked for.
            ValidationError: A value does not fit, or the object belongs to another session or
                engine.
            FeatureMissingError: The engine has no Thrift2 gateway.
            ConnectionLostError: The outcome is unknown: read the row and decide.
        """
        self._refuse_without_guards(obj, "put_if")
        self._refuse_other(obj)
        refuse_foreign(self._bound_to(obj), obj)
        prepare(self._bound_to(obj), obj, "put")
        write = self._settling(write_of(self._bound_to(obj), obj, "put"))
        return self._write_if(write, conditions)

    def delete_if(self, obj: Model, /, *conditions: Condition) -> bool:
        """Delete the row of `obj` if it fulfils the conditions; say whether it did.

        They are checked as by `put_if`; of a row under a guard that does not exist the answer is
        False.

        Raises:
            QueryError, ValidationError, FeatureMissingError, ConnectionLostError: As `put_if`.
        """
        self._refuse_without_guards(obj, "delete_if")
        self._refuse_other(obj)
        refuse_foreign(self._bound_to(obj), obj)
        prepare(self._bound_to(obj), obj, "delete")
        if number_names([(obj, "delete")], self._bound):
            return False
        return self._write_if(write_of(self._bound_to(obj), obj, "delete"), conditions)

    def refresh(self, obj: Model, /, *fields: Expr[Any]) -> None:
        """Read the row of `obj` again; its changes and what is pending for it are dropped.

        Args:
            obj: The object.
            fields: Deferred fields to load: `session.refresh(doc, Doc.body)`. Those that the object
                was loaded with are read again without being named.

        Raises:
            RowNotFoundError: There is no such row.
            QueryError: Not a field of the model.
            ValidationError: The session holds another object of it, or it belongs to another
                session.
        """
        self._settle()
        self._refuse_other(obj)
        bound = self._bound_to(obj)
        loaded = loaded_fields(obj.__dict__) | deferred_among(bound.schema, fields)
        bound.look_up_names([obj.__dict__])
        key = bound.known_key(obj)
        row = None if key is None else stored_row(bound, key, self._runtime, loaded)
        if key is None or row is None:
            raise RowNotFoundError(
                "the object has no row",
                model=bound.schema.model_name,
                row=key,
                fix="it was deleted, or never written: add it",
            )
        self._pending.pop(id(obj), None)
        self._options.pop(id(obj), None)
        self._watched.forget(obj)
        if bound.is_mutable:
            self._watched.add(bound, obj)
        self._reread(bound, obj, bound.hydrate(row, loaded), drops_changes=True)
        obj._note_change = self._noter  # noqa: SLF001 - the model's own state
        self._identity.put(bound, key, obj)
        tell_loaded(obj)

    def move(self, obj: M, /, **new_key: Any) -> M:
        """Give the row of `obj` other key fields; return the object of the row that it is now.

        HBase cannot rename a row: all cells in the model's families are inserted under the new key,
        counters and entries too, read back, and then the original is deleted; index entries follow.
        For a moment a reader finds both. A move that was interrupted is finished by moving again.
        Cells get new timestamps, so a TTL begins anew; versions before the newest stay behind. Let
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
        self._refuse_without_guards(obj, "move")
        self._refuse_owned(obj)
        bound = self._bound_to(obj)
        values = new_values(bound, obj, new_key)
        self._refuse_unflushed(bound, obj)
        old = Place(bound, bound.key(obj))
        new = place_of(self._bound(type(obj)), values, self._runtime)
        if (new.bound.schema.table, new.key) == (bound.schema.table, old.key):
            raise RowKeyError(
                "the row has this key already",
                model=bound.schema.model_name,
                table=bound.schema.table,
                row=old.key,
                fix="give it another key, or leave it where it is",
            )
        loaded = loaded_row(obj)
        known = {} if loaded is None else {c: cell.value for c, cell in loaded.cells.items()}
        readable = partial(bound.hydrate, loaded=loaded_fields(obj.__dict__))
        row = move_row(old, new, values, known, self._runtime, check=readable)
        self._mark_clean(RowWrite(bound, obj, old.key, "delete"))
        new.bound.load_names([row])
        moved: M = self._attach(new.bound, new.bound.hydrate(row, loaded_fields(obj.__dict__)))
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
        bound = self._placed(model, key)
        refuse_without_guards(bound.schema, bound.guarded, "update")
        write = update_row(bound, change, key, self._runtime)
        found: M = self._held(bound, write.obj)
        if found is not write.obj:
            tell_loaded(found)
        tell_written((replace(write, obj=found),))
        return found

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
        put_cells(self._placed(model, key), assignments, key, self._runtime)

    def delete_row(self, model: type[Model], /, **key: Any) -> None:
        """Delete one row at once, without an object; one that does not exist is no error.

        Raises:
            RowKeyError: A key field is missing or does not fit.
            ConnectionLostError: The outcome is unknown; deleting again is safe.
        """
        delete_cells(self._placed(model, key), key, self._runtime)

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
        bound = self._placed(model, key)
        joined: T = append_tail(bound, field, value, key, self._runtime)
        return joined

    # --- shared -----------------------------------------------------------------------------------

    def _placed(self, model: type[Model], key: dict[str, Any]) -> BoundModel:
        bound = self._bound(model)
        check_key_arguments(bound.schema, key)
        return bound.placed(key)

    def _whole(self, obj: Model, kind: Any) -> RowWrite:
        self._refuse_other(obj)
        prepare(self._bound_to(obj), obj, "whole")
        return write_of(self._bound_to(obj), obj, kind)

    def _write_if(self, write: RowWrite, conditions: tuple[Condition, ...]) -> bool:
        written = self._runtime.alone(
            write.where, lambda: write_if(write, conditions, self._runtime)
        )
        if written is None:
            return False
        self._mark_clean(written)
        tell_written((written,))
        return True

    def _refuse_unflushed(self, bound: BoundModel, obj: Model) -> None:
        if loaded_row(obj) is None:
            return
        if not self._settling(write_of(bound, obj, "put")).is_idle:
            raise ValidationError(
                "the object has changes that are not flushed",
                model=bound.schema.model_name,
                row=bound.key(obj),
                fix="flush or refresh it first",
            )
