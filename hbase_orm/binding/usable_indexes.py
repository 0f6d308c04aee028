"""Decides by the catalog which indexes of a model queries may use, and checks it during reads."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import replace
from typing import Any, Final, TypeGuard, TypeVar, cast

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.catalog_cache import CatalogCache
from hbase_orm.errors import (
    ConflictError,
    QueryError,
    RejectedError,
    TableDisabledError,
    TableNotFoundError,
    UnboundedScanError,
)
from hbase_orm.execute import Emit, Note, Rows, Step
from hbase_orm.index.catalog.catalog import refuse_differences
from hbase_orm.index.catalog.entry import (
    HOW_TO_FINISH,
    CatalogEntry,
    CatalogIndex,
    IndexState,
    TableState,
)
from hbase_orm.index.catalog.entry_details import same_declaration
from hbase_orm.index.catalog.move_phases import Phase
from hbase_orm.ops import (
    CloseScanner,
    Operation,
    Protocol,
    ProtocolRun,
    SideBySide,
    Sleep,
    Together,
    ask,
)
from hbase_orm.query import IndexPlan, Plan, Select, Shapes
from hbase_orm.schema import Index, IndexSchema, TableSchema

R = TypeVar("R")

# Requests that consist of other requests, or do not read an index.
_UNCHECKED: Final = (SideBySide, Together, CloseScanner, Sleep)
_TRUNCATED: Final = "the table is being truncated"
_FILLED: Final = "it does not have all entries yet: the move of the table's rows has just begun"


def readable_model(bound: BoundModel, entry: CatalogEntry | None) -> BoundModel:
    """Return the model with only the indexes that queries may use, each with its current table."""
    cached = bound.as_catalogued.get("readable")
    if cached is not None and cached[0] is entry:
        model: BoundModel = cached[1]
        return model
    refused = unreadable(bound, entry)
    tables = {} if entry is None else {n: index.table for n, index in entry.indexes.items()}
    indexes = tuple(
        replace(index, table=tables.get(index.name) or index.table)
        for index in bound.schema.indexes
        if index.name not in refused
    )
    readable = bound
    if indexes != bound.schema.indexes:
        readable = replace(bound, schema=replace(bound.schema, indexes=indexes))
    bound.as_catalogued["readable"] = (entry, readable)
    return readable


def by_readable_index(
    stmt: Select[Any],
    chosen: IndexPlan,
    again: Callable[[TableSchema, Shapes], Plan],
    bound: BoundModel,
    catalog: CatalogCache,
) -> Protocol[Plan]:
    """Return `chosen` if queries may use all declared indexes in their declared tables.

    Otherwise return a new plan, which uses only the indexes that the catalog lets queries use, and
    their current tables.

    Args:
        stmt: The statement.
        chosen: The plan that was chosen from all indexes that the model declares.
        again: A function that plans the statement for another schema.
        bound: The bound model.
        catalog: The cache of the catalog; the entry is read again if it is older than a lease.

    Raises:
        SchemaError: The catalog has the index with another declaration.
        QueryError: The statement names an index that queries may not use, or cannot be planned
            without such an index.
    """
    read = catalog.fresh(bound.schema.table)
    entry = read.entry if read is not None else (yield from catalog.entry(bound.schema.table))
    model = readable_model(bound, entry)
    if model is bound:
        return chosen
    refused = unreadable(bound, entry)
    refusal = None if read is None else read.refusal
    if refusal is not None:
        refused = dict.fromkeys(refused, f"the catalog cannot be read: {refusal.text}")
    name = chosen.index.name
    if name in refused:
        if entry is not None:
            declared = {**entry.declarations, name: bound.indexes[name]}
            refuse_differences(bound.schema.table, entry, declared, model=bound.schema.model_name)
        if isinstance(stmt.index, Index):
            advice = _advice(bound, entry, refused, refusal)
            raise QueryError("the index cannot be read now", **advice)
    try:
        plan = again(model.schema, model.shapes)
    except UnboundedScanError as error:
        details = {**error.details, **_advice(bound, entry, refused, refusal)}
        raise UnboundedScanError(error.text, **details) from None
    return replace(plan, unused=tuple(f"{name}: {why}" for name, why in refused.items()))


def _advice(
    bound: BoundModel,
    entry: CatalogEntry | None,
    refused: dict[str, str],
    refusal: RejectedError | None,
) -> dict[str, Any]:
    model = bound.schema.model_name
    fix = f"build it: engine.build_index({model}, ...) or 'hbase-orm index build'"
    if refusal is not None:
        fix = "ask for the permission to read the catalog; without it no index is used"
    elif entry is not None and entry.state is TableState.TRUNCATING:
        fix = HOW_TO_FINISH[entry.state]
    elif not _is_there(entry):
        fix = f"call engine.create_tables({model}); if it has rows, {fix}"
    return {"model": model, "unreadable": refused, "fix": fix}


def while_usable(
    rows: Rows,
    chosen: IndexPlan,
    bound: BoundModel,
    catalog: CatalogCache,
    note: Note | None = None,
) -> Rows:
    """Return the read `rows`, with checks that queries may still use the statement's index.

    When queries must stop using an index, writers still maintain it for one more lease. So the
    answer to a request is complete if the catalog entry was read less than a lease before the
    request. An older entry is read again before the request, because rows could be missing.

    Args:
        rows: The read of the statement's rows, without these checks.
        chosen: The statement's plan.
        bound: The bound model.
        catalog: The cache of the catalog, which is read once per lease.
        note: A function that is called with stale and unverified index entries, before the rows
            that were read with them are emitted.

    Returns:
        A read that raises ConflictError if the index was rebuilt or dropped in the meantime.
    """
    return _UsableIndex(chosen.index, bound, catalog, note).checked(rows)


class _UsableIndex:
    """Checks before each request of a read that queries may still use its index."""

    def __init__(
        self, index: IndexSchema, bound: BoundModel, catalog: CatalogCache, note: Note | None
    ) -> None:
        self._index = index
        self._bound = bound
        self._table = bound.schema.table
        self._catalog = catalog
        self._note = note
        self._seen: CatalogEntry | None = None

    def checked(self, reading: Generator[Step, Any, R]) -> Generator[Step, Any, R]:
        """Yield the steps of `reading`; before each read, check that the index is still usable."""
        run = ProtocolRun(reading)
        try:
            run.begin()
            while (step := run.request) is not None:
                if isinstance(step, Emit):
                    if step.doubtful and self._note is not None:
                        self._note(step.doubtful)
                    yield step
                    run.send(None)
                    continue
                is_checked = not isinstance(step, _UNCHECKED)
                try:
                    if not is_checked:
                        answer = yield self._with_checks(step)
                    else:
                        if not self._is_as_seen():
                            yield from self._check()
                        answer = yield step
                except Exception as error:  # noqa: BLE001  # the read handles it
                    if is_checked and isinstance(error, (TableNotFoundError, TableDisabledError)):
                        run.throw((yield from self._reason(error)))
                    else:
                        run.throw(error)
                else:
                    run.send(tuple(answer) if isinstance(step, Together) else answer)
            return run.result
        finally:
            run.close()

    def _with_checks(self, step: Operation[Any]) -> Operation[Any]:
        if isinstance(step, SideBySide):
            return SideBySide(self._all_checked(step.protocols), step.expected_bytes)
        if isinstance(step, Together):
            return SideBySide(self._all_checked(ask(each) for each in step.operations))
        return step

    def _all_checked(self, protocols: Iterable[Protocol[Any]]) -> tuple[Protocol[Any], ...]:
        return tuple(cast("Protocol[Any]", self.checked(protocol)) for protocol in protocols)

    def _is_as_seen(self) -> bool:
        """Return whether the last checked catalog entry is still less than a lease old."""
        read = self._catalog.fresh(self._table)
        return read is not None and read.entry is not None and read.entry is self._seen

    def _check(self) -> Protocol[None]:
        entry = yield from self._catalog.entry(self._table)
        _refuse_other_table(self._index, self._bound, entry)
        self._seen = entry

    def _reason(self, error: Exception) -> Protocol[Exception]:
        """Return the error to raise for a table that is missing or disabled.

        If the index was rebuilt or dropped, this is a `ConflictError`. If the catalog cannot be
        read, this is the error of that request. Otherwise it is `error`.
        """
        self._catalog.forget(self._table)
        try:
            yield from self._check()
        except Exception as reason:  # noqa: BLE001  # for example, the catalog could not be read
            return reason
        return error


def _refuse_other_table(index: IndexSchema, bound: BoundModel, entry: CatalogEntry | None) -> None:
    """Raise an error if an index was rebuilt or dropped during a read.

    Raises:
        ConflictError: The index was rebuilt or dropped, or the catalog has no entry for the table
            any more.
    """
    known = None if entry is None else entry.indexes.get(index.name)
    declared = next(each.table for each in bound.schema.indexes if each.name == index.name)
    table = declared if known is None else known.table or declared
    if index.name in unreadable(bound, entry) or table != index.table:
        raise ConflictError(
            "the index was rebuilt or dropped while the statement read it",
            model=bound.schema.model_name,
            index=index.name,
            read=index.table,
            state=None if known is None else known.state.value,
            fix="run the statement again",
        )


def _is_there(entry: CatalogEntry | None) -> TypeGuard[CatalogEntry]:
    return entry is not None and entry.state is not TableState.DROPPED


def unreadable(bound: BoundModel, entry: CatalogEntry | None) -> dict[str, str]:
    """Return the reasons why queries may not use declared indexes, by the name of the index."""
    if not _is_there(entry):
        # Its index tables may be old or copied: it is unknown whether writes maintained them.
        unknown = "the catalog has no entry for the table"
        return dict.fromkeys([index.name for index in bound.schema.indexes], unknown)
    if entry.state is TableState.TRUNCATING:
        return dict.fromkeys([index.name for index in bound.schema.indexes], _TRUNCATED)
    if entry.move is not None and not entry.move.is_old and entry.move.phase < Phase.PREPARED:
        return dict.fromkeys([index.name for index in bound.schema.indexes], _FILLED)
    reasons = {}
    for index in bound.schema.indexes:
        reason = _reason(index, bound, entry.indexes.get(index.name))
        if reason:
            reasons[index.name] = reason
    return reasons


def _reason(index: IndexSchema, bound: BoundModel, known: CatalogIndex | None) -> str:
    if known is None or known.state is IndexState.ABSENT:
        return "ABSENT, it is not built"
    if not same_declaration(known.entries, bound.indexes[index.name]):
        return "it was built with another declaration"
    if known.state is not IndexState.READABLE:
        doing = "being built" if known.build else "being dropped, or must be built again"
        return f"{known.state.value}, it is {doing}"
    return ""
