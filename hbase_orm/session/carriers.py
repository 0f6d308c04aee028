"""How the rows of a bulk writer travel: as flat rows, through the guards, or as a load."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, Self

from hbase_orm.errors import GatewayError, HBaseORMError
from hbase_orm.gateway.checks import CELL_OVERHEAD_BYTES
from hbase_orm.index.loading import LoadedRow, LoadTicket, guarded_load
from hbase_orm.index.targets import MARKER_VALUE, RowChange
from hbase_orm.model import Model
from hbase_orm.model.flat import FlatRow, Flattener, flattener_of
from hbase_orm.ops import (
    MAX_CELL_BYTES,
    MAX_ROW_KEY_BYTES,
    MutateRows,
    PutRows,
    RowMutation,
    ask,
    ask_all,
)
from hbase_orm.ops import Protocol as Steps
from hbase_orm.session.binding import BoundModel
from hbase_orm.session.flush import emit, place, refuse_guarded_table
from hbase_orm.session.runtime import Runtime
from hbase_orm.session.unit_of_work import Outcome, RowWrite

# Values of so few bytes in all make cells that fit, whatever their names.
_SURELY_FITS_BYTES: Final = MAX_CELL_BYTES - 2 * MAX_ROW_KEY_BYTES


class Carrier(Protocol):
    """Sends the rows of one lane."""

    def send(self, items: Sequence[Any], /) -> Outcome:
        """Send a batch and tell what did not end well."""
        ...

    def writes(self, items: Sequence[Any], /) -> Sequence[RowWrite]:
        """Return what was to be written."""
        ...


@dataclass(frozen=True, slots=True)
class RowByRow:
    """Sends writes as a flush does: plain ones in batches, guarded ones through their guards."""

    runtime: Runtime

    def send(self, items: Sequence[RowWrite], /) -> Outcome:
        """Send a batch."""
        return emit(items, self.runtime)

    def writes(self, items: Sequence[RowWrite], /) -> Sequence[RowWrite]:
        """Return what was to be written."""
        return items


@dataclass(frozen=True, slots=True)
class Load:
    """Sends rows of a table that is being loaded: entries first, then rows with their guards.

    Everything carries the load's timestamp, so what fails may be sent again, by the same or by
    another process.
    """

    runtime: Runtime
    ticket: LoadTicket

    def item(self, write: RowWrite) -> tuple[RowWrite, LoadedRow]:
        """Return a write with what loads it."""
        guarded: Any = write.bound.guarded  # a load is of a guarded table
        return write, guarded_load(guarded, RowChange(write.key, write.puts), self.ticket)

    def send(self, items: Sequence[tuple[RowWrite, LoadedRow]], /) -> Outcome:
        """Send a batch."""
        outcome = Outcome()
        writes = self.writes(items)
        table = writes[0].bound.schema.table
        try:
            self.runtime.run(_load(table, [loaded for _, loaded in items]))
        except GatewayError as error:
            for write in writes:
                place(write, error, outcome, batch_rows=len(writes))
        return outcome

    def writes(self, items: Sequence[tuple[RowWrite, LoadedRow]], /) -> Sequence[RowWrite]:
        """Return what was to be written."""
        return [write for write, _ in items]


def _load(table: str, rows: Sequence[LoadedRow]) -> Steps[None]:
    entries: dict[str, list[RowMutation]] = {}
    for row in rows:
        for index_table, puts in row.entries.items():
            entries.setdefault(index_table, []).extend(puts)
    batches = [MutateRows(index_table, tuple(puts)) for index_table, puts in entries.items()]
    if batches:
        yield from ask_all(batches)
    yield from ask(MutateRows(table, tuple(row.data for row in rows)))


@dataclass(frozen=True, slots=True)
class FlatRows:
    """Sends rows of a plain model whose objects are of one shape, many in one request.

    Attributes:
        bound: The model.
        columns: What the values of a flat row are put to.
        encode_key: Returns an object's row key, of its `__dict__`.
        flatten: Returns its flat row.
        overhead_bytes: What HBase stores of a row beside its values and, for each cell, its key.
    """

    runtime: Runtime
    bound: BoundModel
    columns: tuple[bytes, ...]
    encode_key: Callable[[dict[str, Any]], bytes]
    flatten: Flattener
    overhead_bytes: int

    @classmethod
    def of(cls, bound: BoundModel, runtime: Runtime) -> Self | None:
        """Return the carrier of a model; None for one that must be asked more of each object."""
        schema, layout = bound.schema, bound.schema.layout
        is_asked = layout.lookups or layout.is_random or layout.table_period is not None
        if bound.guarded is not None or is_asked or bound.model.__hooks__.has_before_write:
            return None
        more = () if schema.marker is None else (MARKER_VALUE,)
        model: Any = bound.model
        flatten = flattener_of(model, *more)
        if flatten is None:
            return None
        columns = tuple(column.column for column in schema.columns)
        columns += () if schema.marker is None else (schema.marker,)
        overhead_bytes = sum(CELL_OVERHEAD_BYTES + len(column) for column in columns)
        encode_key = bound.model.__mapping__.encode_key
        return cls(runtime, bound, columns, encode_key, flatten, overhead_bytes)

    def item(self, obj: Model, key: bytes) -> tuple[FlatRow, int] | None:
        """Return an object's flat row and how many bytes HBase stores of it at most.

        None if the plain way must say what is wrong with it, or what else to do.
        """
        flat = self.flatten(obj.__dict__, key)
        if flat is None or len(key) > self.bound.longest_key_bytes:
            return None
        size_bytes, row = flat
        if size_bytes > _SURELY_FITS_BYTES:
            return None
        return row, size_bytes + self.overhead_bytes + len(self.columns) * len(key)

    def send(self, items: Sequence[FlatRow], /) -> Outcome:
        """Send a batch."""
        runtime, schema, outcome = self.runtime, self.bound.schema, Outcome()
        rows = [(schema.table, row[0] or b"") for row in items]
        try:
            refuse_guarded_table(self.bound, runtime)
        except HBaseORMError as error:  # only the catalog was read: no row was sent
            outcome.not_written += [(write, error) for write in self.writes(items)]
            return outcome
        runtime.wait_for_counts(rows)
        runtime.wait_for_ties(rows)
        stamp_ms = runtime.stamp_ms() if runtime.stamps(schema) else None
        try:
            runtime.execute(PutRows(schema.table, self.columns, tuple(items), stamp_ms))
        except GatewayError as error:
            for write in self.writes(items):
                place(write, error, outcome, batch_rows=len(items))
        return outcome

    def writes(self, items: Sequence[FlatRow], /) -> Sequence[RowWrite]:
        """Return what was to be written."""
        return [RowWrite(self.bound, None, row[0] or b"", "put") for row in items]
