"""The reads of a session: gets, statements, streams and pages.

The docstrings of `Session` describe what each method returns and raises. Reads return what HBase
stores; pending writes are not visible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, TypeVar

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.dictionaries import LoadedNames
from hbase_orm.binding.runtime import Runtime
from hbase_orm.errors import MultipleRowsError, RowNotFoundError, SchemaError
from hbase_orm.execute import CorruptRows
from hbase_orm.model import Model
from hbase_orm.model.fields.deferring import deferred_among
from hbase_orm.ops import GetRows, Protocol, Row, offline_result
from hbase_orm.query import ROWS_ONLY, EmptyPlan, OnCorrupt, Plan, Select, positive
from hbase_orm.reading.analyze import analyzed
from hbase_orm.reading.by_key import made_of, request_for_key, rows_with_keys, several_keys
from hbase_orm.reading.columnar.arrow_columns import Types, check_has_columns, columns_of
from hbase_orm.reading.columnar.batch_reader import batch_reader
from hbase_orm.reading.columnar.record_batches import record_batches, schema_of
from hbase_orm.reading.history import CellVersion, StoredCell, history_of, stored_cells
from hbase_orm.reading.pages import Page, page_request
from hbase_orm.reading.related_objects import (
    Load,
    list_statement,
    loader,
    related_lists,
    with_related,
)
from hbase_orm.reading.stream import Stream, only_get, planned, read_of, selected
from hbase_orm.reading.timeline import check_can_read_timeline
from hbase_orm.schema import Expr
from hbase_orm.session.pending import PendingWrites
from hbase_orm.session.state import SessionState, check_statement
from hbase_orm.writing.conditional import stored_row
from hbase_orm.writing.hook_calls import call_after_load_hook, with_after_load

M = TypeVar("M", bound=Model)
T = TypeVar("T")


@dataclass(slots=True)
class Reader:
    """Reads rows and returns them as objects of a session."""

    _state: SessionState
    _runtime: Runtime

    # --- by key -----------------------------------------------------------------------------------

    def get(self, model: type[M], key: Mapping[str, Any]) -> M | None:
        """Return the object of one row; None if the row does not exist."""
        state, runtime = self._state, self._runtime
        bound = state.bound(model)
        request = request_for_key(bound, key) if bound.is_compared(runtime.catalog) else None
        if request is None:
            return self.get_many(model, [key])[0]
        runtime.open_reads.close_dropped()
        (row,) = runtime.rows(request)
        if row is None or not bound.exists(row):
            return None
        corrupt = self._corrupt_rows(model)
        obj: M | None = made_of(row, bound, corrupt)
        corrupt.report()
        return None if obj is None else state.attach(bound, obj)

    def get_many(
        self, model: type[M], keys: Iterable[tuple[Any, ...] | Mapping[str, Any]]
    ) -> list[M | None]:
        """Return the objects of rows in the order of the keys; None where a row does not exist."""
        wanted = several_keys(model, keys)
        state = self._state
        state.use(model, request=lambda: rows_with_keys(state.bound(model), wanted))
        bound = state.bound(model)
        self._runtime.open_reads.close_dropped()
        objects: list[M | None] = [None] * len(wanted)
        keyed = self._runtime.run(rows_with_keys(bound, wanted))
        corrupt = self._corrupt_rows(model)
        for position, placed, row in keyed.rows:
            obj = made_of(row, placed, corrupt)
            objects[position] = None if obj is None else state.attach(placed, obj)
        corrupt.report()
        return objects

    def history(self, obj: Model, field: Expr[T], limit: int) -> list[CellVersion[T]]:
        """Return the newest versions of a field of an object's row, newest first."""
        state = self._state
        state.use(type(obj), request=lambda: history_of(state.bound_to(obj), obj, field, limit))
        return self._runtime.run(history_of(state.bound_to(obj), obj, field, limit))

    def stored_cells(self, model: type[Model], key: dict[str, Any]) -> list[StoredCell]:
        """Return what HBase stores of a row: every version, deleted cells, and tombstones."""
        features = self._runtime.features
        return self._runtime.run(
            self._state.used_at(model, key, lambda bound: stored_cells(bound, key, features))
        )

    def refresh(self, obj: Model, fields: Iterable[Expr[Any]], pending: PendingWrites) -> None:
        """Read the row of an object again; drop the object's changes and its pending write."""
        state = self._state
        pending.settle()
        state.use(type(obj))
        bound = state.refuse_other(obj)
        deferred = obj.__state__.deferred | deferred_among(bound.schema, fields)
        key, row, names = self._runtime.run(_stored(bound, obj, deferred))
        if key is None or row is None:
            raise RowNotFoundError(
                "the row of the object does not exist",
                model=bound.schema.model_name,
                row=key,
                fix="the row was deleted or never written: add the object",
            )
        pending.drop(obj)
        state.tracker.forget(obj)
        if bound.is_mutable:
            state.tracker.add(bound, obj)
        state.reread(bound, obj, bound.hydrate(row, deferred), drops_changes=True)
        del names  # held until here, for the objects that are compared
        obj.__state__.on_change = state.listener
        state.identity.put(bound, key, obj)
        call_after_load_hook(obj)

    # --- by statement -----------------------------------------------------------------------------

    def all(self, stmt: Select[T]) -> list[T]:
        """Return all objects or values that the statement selects."""
        check_statement(stmt)
        if stmt.selection is not None:
            with self.stream(stmt) as values:
                return list(values)
        bound, chosen = self._planned(stmt)
        corrupt = self._corrupt_rows(stmt.model, stmt.corrupt_rule)
        request = only_get(chosen, bound)
        try:
            if request is not None:
                objects = self._by_get(request, bound, stmt, corrupt)
            else:
                plain = replace(stmt, related=()) if stmt.related else stmt
                with self._selected(plain, bound, chosen, corrupt) as stream:
                    objects = [self._attach_whole(stmt, bound, obj) for obj in stream]
            self._load_related(stmt, objects, corrupt)
        finally:
            corrupt.report()
        return objects

    def _by_get(
        self, request: GetRows, bound: BoundModel, stmt: Select[Any], corrupt: CorruptRows
    ) -> list[Any]:
        """Return the session's objects of a statement that one request for rows by key answers."""
        self._runtime.open_reads.close_dropped()
        rows = [row for row in self._runtime.rows(request) if row is not None]
        objects = selected(iter((rows,)), bound, stmt, corrupt)
        return [self._attach_whole(stmt, bound, obj) for obj in objects]

    def first(self, stmt: Select[T]) -> T | None:
        """Return the first object or value that the statement selects; None if there is none."""
        check_statement(stmt)
        items = self.all(stmt.limit(1))
        return items[0] if items else None

    def one(self, stmt: Select[T]) -> T:
        """Return the only object or value that the statement selects."""
        check_statement(stmt)
        items = self.all(stmt.limit(min(stmt.row_limit or 2, 2)))
        if not items:
            raise RowNotFoundError("no row matches", statement=repr(stmt.conditions))
        if len(items) > 1:
            raise MultipleRowsError("more than one row matches", statement=repr(stmt.conditions))
        return items[0]

    def stream(self, stmt: Select[T]) -> Stream[T]:
        """Return an iterator over the objects or values that the statement selects."""
        check_statement(stmt)
        bound, chosen = self._planned(stmt)
        corrupt = self._corrupt_rows(stmt.model, stmt.corrupt_rule)
        convert = partial(with_after_load, stmt)
        return self._selected(stmt, bound, chosen, corrupt, convert, reports=True)

    def arrow(self, stmt: Select[Any], batch_rows: int, types: Types) -> Any:
        """Return a `pyarrow.RecordBatchReader` of the results of the statement."""
        check_statement(stmt)
        check_has_columns(stmt)
        positive("arrow", batch_rows)
        bound, runtime = self._used(stmt), self._runtime
        columns = columns_of(stmt, bound, types)
        chosen = runtime.run(planned(stmt, bound, runtime.writer))
        runtime.show_statement(stmt)
        corrupt = self._corrupt_rows(stmt.model, stmt.corrupt_rule)
        read = read_of(stmt, chosen, bound, runtime.writer, corrupt)
        pages = runtime.read(read.rows, read.after_report(corrupt))
        batches = record_batches(pages, bound, stmt, columns, batch_rows, corrupt=corrupt)
        stream = Stream[Any](batches, pages.close, read.staleness, of=stmt, corrupt=corrupt)
        return batch_reader(stream, schema_of(columns))

    def page(self, stmt: Select[T], size: int, token: str | None) -> Page[T]:
        """Return one page of the objects that the statement selects, with the next page's token."""
        check_statement(stmt)
        bound, runtime = self._used(stmt), self._runtime
        request = page_request(stmt, size, token, bound=bound, now_ms=runtime.guard_context.now_ms)
        chosen = request.plan_from(runtime.run(planned(request.stmt, bound, runtime.writer)))
        runtime.show_statement(stmt)
        corrupt = self._corrupt_rows(stmt.model, stmt.corrupt_rule)
        read = read_of(stmt, chosen, bound, runtime.writer, corrupt)
        attach = partial(self._attach_whole, stmt, bound)
        reading = request.page(read.rows, chosen, attach, corrupt)
        try:
            page = runtime.read(reading, read.after).result()
            corrupt.is_after_page = False
            self._load_related(stmt, page.items, corrupt)
        finally:
            corrupt.report()
        stale = read.staleness is not None and read.staleness.is_stale
        return replace(page, stale=stale, corrupt_rows=corrupt.count)

    def count(self, stmt: Select[Any]) -> int:
        """Return how many objects, tuples or groups the statement selects."""
        check_statement(stmt)
        if not stmt.is_aggregated:
            stmt = replace(stmt, selection=ROWS_ONLY, sort=None, related=(), entries=None)
        with self.stream(stmt) as items:
            return sum(1 for _ in items)

    def exists(self, stmt: Select[Any]) -> bool:
        """Return whether the statement selects anything."""
        check_statement(stmt)
        return bool(self.count(stmt.limit(1)))

    def explain(self, stmt: Select[Any], *, analyze: bool) -> Plan:
        """Return the plan of the statement; with `analyze`, run it and add measurements."""
        check_statement(stmt)
        bound = self._used(stmt)
        if analyze:
            return analyzed(stmt, self._state.bound, self._runtime)
        return self._runtime.run(planned(stmt, bound, self._runtime.writer))

    # --- shared -----------------------------------------------------------------------------------

    def _used(self, stmt: Select[Any]) -> BoundModel:
        """Compare the statement's model, and those of related objects, with their tables' records.

        Return the model to use. A statement that cannot be planned is refused before anything is
        sent.

        Raises:
            SchemaDriftError: A model contradicts the record of its table.
            QueryError: The statement cannot be planned.
            FeatureMissingError: A timeline read has no Thrift2 gateway.
        """
        bound, runtime = self._state.bound(stmt.model), self._runtime
        if stmt.is_timeline:
            check_can_read_timeline(stmt, runtime.features)
        is_compared = bound.is_compared(runtime.catalog)
        if is_compared and not stmt.related:
            return bound
        if not is_compared:
            # The record is the better reason to refuse a model than its indexes are.
            with suppress(SchemaError):
                if isinstance(offline_result(planned(stmt, bound, runtime.writer)), EmptyPlan):
                    return bound
        related = (stmt.model.__related__[field.name].target for field in stmt.related)
        self._state.use(stmt.model, *related)
        return self._state.bound(stmt.model)

    def _planned(self, stmt: Select[Any]) -> tuple[BoundModel, Plan]:
        """Return the bound model and the plan of a statement that is to be run."""
        bound, runtime = self._used(stmt), self._runtime
        # Planning rarely needs a request, and without one it needs nobody who sends it.
        chosen = offline_result(planned(stmt, bound, runtime.writer))
        if chosen is None:
            chosen = runtime.run(planned(stmt, bound, runtime.writer))
        runtime.show_statement(stmt)
        return bound, chosen

    def _selected(
        self,
        stmt: Select[Any],
        bound: BoundModel,
        chosen: Plan,
        corrupt: CorruptRows,
        convert: Callable[[Iterator[Any]], Iterator[Any]] = iter,
        *,
        reports: bool = False,
    ) -> Stream[Any]:
        """Return a stream of the results of a statement, converted by `convert`.

        The load hooks of related objects are called. The load hooks of the results are not called.
        The rows that `corrupt` leaves out are reported at the end if `reports`.
        """
        runtime = self._runtime
        read = read_of(stmt, chosen, bound, runtime.writer, corrupt)
        rows, after = read.rows, read.after_report(corrupt) if reports else read.after
        if stmt.related:
            rows = with_related(rows, bound, stmt, corrupt, self._loader(stmt, corrupt))
        pages = runtime.read(rows, after)
        if stmt.related:
            load = partial(self._load_lists, stmt, self._streamed)
            results: Iterator[Any] = chain.from_iterable(map(load, pages))
        else:
            results = selected(pages, bound, stmt, corrupt)
        return Stream(convert(results), pages.close, read.staleness, of=stmt, corrupt=corrupt)

    def _corrupt_rows(self, model: type[Model], rule: OnCorrupt | None = None) -> CorruptRows:
        """Return what decides about corrupt rows; without a rule, by the rule of the engine."""
        return self._runtime.corrupt_rows.of(rule, model.__name__)

    def _loader(self, stmt: Select[Any], corrupt: CorruptRows) -> Load:
        bound_of = self._state.bound
        return loader(stmt, bound_of, lambda _, obj: call_after_load_hook(obj), corrupt)

    def _load_related(self, stmt: Select[Any], objects: list[Any], corrupt: CorruptRows) -> None:
        if stmt.related:
            load = loader(stmt, self._state.bound, self._state.attach, corrupt)
            self._runtime.run(load(objects))
            self._load_lists(stmt, self.all, objects)

    def _streamed(self, stmt: Select[T]) -> list[T]:
        with self.stream(stmt) as results:
            return list(results)

    @staticmethod
    def _load_lists(
        stmt: Select[Any], read: Callable[[Select[Any]], list[Any]], objects: Sequence[Any]
    ) -> Sequence[Any]:
        """Load the related lists of objects by `read`, and return the objects."""
        for relation in related_lists(stmt):
            lists: dict[tuple[Any, ...], list[Any]] = {}
            for obj in objects:
                key = relation.key_of(obj)
                if key not in lists:
                    wanted = list_statement(stmt, relation, key)
                    lists[key] = [] if wanted is None else read(wanted)
                relation.put(obj, [*lists[key]])
        return objects

    def _attach_whole(self, stmt: Select[Any], bound: BoundModel, obj: Any) -> Any:
        """Return the session's object of the row that `obj` was read from.

        There are two exceptions. If the statement selects values of fields, `obj` is such a value
        and is returned as it is. If the statement reads only a part of each row, or if replicas
        may answer it, `obj` is returned after its load hook, without being attached to the session.
        """
        if stmt.selection is not None:
            return obj  # values of fields
        is_whole = stmt.entries is None and stmt.times is None
        is_attached = is_whole and not stmt.is_timeline
        return self._state.attach(bound, obj) if is_attached else call_after_load_hook(obj)


def _stored(
    bound: BoundModel, obj: Model, deferred: frozenset[str]
) -> Protocol[tuple[bytes | None, Row | None, LoadedNames | None]]:
    """Return an object's row key, its stored row, and the names whose numbers the key holds.

    The row key is None if a name in the key has no number. The row is None if there is no row key,
    or if the row does not exist. The names are None if the model's row keys hold no numbers.
    """
    yield from bound.keys.look_up_names([obj.__dict__])
    key = bound.keys.known_of(obj)
    row = None if key is None else (yield from stored_row(bound, key, deferred))
    return key, row, (yield from bound.load_names([] if row is None else [row]))
