"""The indexes of a model that queries may use, by the current catalog."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import replace
from typing import Any, Final, TypeGuard, TypeVar, cast

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.catalog_cache import CatalogCache
from hbase_orm.errors import (
    ConflictError,
    QueryError,
    TableDisabledError,
    TableNotFoundError,
    UnboundedScanError,
)
from hbase_orm.execute import Emit, Note, Rows, Step
from hbase_orm.index.catalog.catalog import refuse_differences
from hbase_orm.index.catalog.entry import CatalogEntry, CatalogIndex, IndexState, TableState
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

# What is made of other requests, or asks nothing of an index.
_UNCHECKED: Final = (SideBySide, Together, CloseScanner, Sleep)


def readable_model(bound: BoundModel, entry: CatalogEntry | None) -> BoundModel:
    """Return the model with the indexes that queries may use, each with its current table."""
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
    """Return a statement's plan if the catalog lets queries use its index, else a new plan.

    Args:
        stmt: The statement.
        chosen: The plan by the model's declarations.
        again: A function that plans the statement for another schema.
        bound: The bound model.
        catalog: What the catalog says: read, unless that was done less than a lease ago.

    Raises:
        SchemaError: The catalog has the index with another declaration.
        QueryError: The statement names an index that is not readable, or cannot be planned without
            it.
    """
    read = catalog.fresh(bound.schema.table)
    entry = read.entry if read is not None else (yield from catalog.entry(bound.schema.table))
    model = readable_model(bound, entry)
    if model is bound:
        return chosen
    refused = unreadable(bound, entry)
    name = chosen.index.name
    if name in refused:
        if entry is not None:
            declared = {**entry.declarations, name: bound.indexes[name]}
            refuse_differences(bound.schema.table, entry, declared, model=bound.schema.model_name)
        if isinstance(stmt.index, Index):
            raise QueryError("the index cannot be read now", **_advice(bound, entry, refused))
    try:
        plan = again(model.schema, model.shapes)
    except UnboundedScanError as error:
        details = {**error.details, **_advice(bound, entry, refused)}
        raise UnboundedScanError(error.text, **details) from None
    return replace(plan, unused=tuple(f"{name}: {why}" for name, why in refused.items()))


def _advice(
    bound: BoundModel, entry: CatalogEntry | None, refused: dict[str, str]
) -> dict[str, Any]:
    model = bound.schema.model_name
    fix = f"build it: engine.build_index({model}, ...) or 'hbase-orm index build'"
    if not _is_there(entry):
        fix = f"call engine.create_tables({model}); if it has rows, {fix}"
    return {"model": model, "unreadable": refused, "fix": fix}


def while_usable(
    rows: Rows,
    chosen: IndexPlan,
    bound: BoundModel,
    catalog: CatalogCache,
    note: Note | None = None,
) -> Rows:
    """Return what reads a statement's rows while queries may use its index.

    Writers maintain an index for one lease after queries must stop using it. So an answer is
    complete if the catalog entry was read less than a lease before; with an older entry rows may be
    missing.

    Args:
        rows: What reads them.
        chosen: The statement's plan.
        bound: The bound model.
        catalog: What the catalog says: read once a lease.
        note: Called with doubtful entries, before the rows emitted with them are.

    Returns:
        A function that raises ConflictError after the index was rebuilt or dropped.
    """
    return _UsableIndex(chosen.index, bound, catalog, note).checked(rows)


class _UsableIndex:
    """Makes the requests of a read by an index, which queries must be able to use."""

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
        """Return a read, or a part of one, each of whose requests is made while that holds."""
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
                except Exception as error:  # noqa: BLE001  # the read decides, whatever it is
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
        """Return whether the catalog, as it was read less than a lease ago, is as it was before."""
        read = self._catalog.fresh(self._table)
        return read is not None and read.entry is not None and read.entry is self._seen

    def _check(self) -> Protocol[None]:
        entry = yield from self._catalog.entry(self._table)
        _refuse_other_table(self._index, self._bound, entry)
        self._seen = entry

    def _reason(self, error: Exception) -> Protocol[Exception]:
        """Return why a table is gone: that the index was rebuilt or dropped, or just that."""
        self._catalog.forget(self._table)
        try:
            yield from self._check()
        except Exception as reason:  # noqa: BLE001  # also that the catalog could not be read
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
    """Return the reasons why queries do not use declared indexes, by the index's name."""
    if not _is_there(entry):
        # Its index tables may be of another time, or a copy's: nobody knows who has kept them.
        unknown = "the catalog has no entry for the table"
        return dict.fromkeys([index.name for index in bound.schema.indexes], unknown)
    reasons = {}
    for index in bound.schema.indexes:
        reason = _reason(index, bound, entry.indexes.get(index.name))
        if reason:
            reasons[index.name] = reason
    return reasons


def _reason(index: IndexSchema, bound: BoundModel, known: CatalogIndex | None) -> str:
    if known is None or known.state is IndexState.ABSENT:
        return "ABSENT, it is not built"
    if known.entries != bound.indexes[index.name]:
        return "it was built with another declaration"
    if known.state is not IndexState.READABLE:
        doing = "being built" if known.build else "being dropped, or must be built again"
        return f"{known.state.value}, it is {doing}"
    return ""
