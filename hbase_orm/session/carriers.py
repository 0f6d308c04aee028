"""How the rows of a bulk writer travel: as flat rows, through the guards, or as a load."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, Self

from hbase_orm.errors import ConflictError, GatewayError, HBaseORMError
from hbase_orm.gateway.checks import CELL_OVERHEAD_BYTES
from hbase_orm.index import catalog
from hbase_orm.index.catalog_entry import TableState
from hbase_orm.index.loading import (
    FlatLoad,
    KeyedRow,
    LoadedRow,
    LoadTicket,
    can_load,
    constants,
    guarded_load,
    load_rows,
)
from hbase_orm.index.targets import MARKER_VALUE, GuardedTable, RowChange
from hbase_orm.model import Model
from hbase_orm.model.flat import FlatRow, Flattener, flattener_of
from hbase_orm.ops import MAX_CELL_BYTES, MAX_ROW_KEY_BYTES, PutRows
from hbase_orm.session.binding import BoundModel
from hbase_orm.session.catalog_checks import check_indexes, check_unguarded
from hbase_orm.session.catalogued import kept_table
from hbase_orm.session.existing_tables import has_cells
from hbase_orm.session.flush import emit, place
from hbase_orm.session.runtime import Runtime
from hbase_orm.session.unit_of_work import SURELY_SHORT_BYTES, Outcome, RowWrite

# Values of so few bytes in all make cells that fit, whatever their names.
_SURELY_FITS_BYTES: Final = MAX_CELL_BYTES - 2 * MAX_ROW_KEY_BYTES


class Carrier(Protocol):
    """Sends the rows of one lane."""

    @property
    def shape(self) -> Shape | None:
        """How flat rows are made; None where rows are no flat ones."""
        ...

    @property
    def ticket(self) -> LoadTicket | None:
        """The load under way, or None."""
        ...

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
    shape: None = None
    ticket: None = None

    def send(self, items: Sequence[RowWrite], /) -> Outcome:
        """Send a batch."""
        return emit(items, self.runtime)

    def writes(self, items: Sequence[RowWrite], /) -> Sequence[RowWrite]:
        """Return what was to be written."""
        return items


@dataclass(frozen=True, slots=True)
class Load:
    """Sends rows of a table that is being loaded, with their entries and guards.

    Everything carries the load's timestamp, so what fails may be sent again, by the same or
    afterwards by another process.
    """

    runtime: Runtime
    ticket: LoadTicket
    target: GuardedTable
    shape: None = None

    def item(self, write: RowWrite) -> tuple[RowWrite, LoadedRow]:
        """Return a write with what loads it."""
        return write, guarded_load(self.target, RowChange(write.key, write.puts), self.ticket)

    def send(self, items: Sequence[tuple[RowWrite, LoadedRow]], /) -> Outcome:
        """Send a batch."""
        outcome = Outcome()
        writes = self.writes(items)
        table = writes[0].bound.schema.table
        try:
            rows = [loaded for _, loaded in items]
            self.runtime.run(load_rows(table, rows))
        except GatewayError as error:
            for write in writes:
                place(write, error, outcome, batch_rows=len(writes))
        return outcome

    def writes(self, items: Sequence[tuple[RowWrite, LoadedRow]], /) -> Sequence[RowWrite]:
        """Return what was to be written."""
        return [write for write, _ in items]


@dataclass(frozen=True, slots=True)
class Shape:
    """How flat rows are made of a model's objects.

    Attributes:
        bound: The model.
        columns: What the values of a flat row are put to.
        encode_key: Returns an object's row key, of its `__dict__`.
        flatten: Returns its flat row.
        most_bytes: Rows whose key and values have more bytes are made the plain way.
    """

    bound: BoundModel
    columns: tuple[bytes, ...]
    encode_key: Callable[[dict[str, Any]], bytes]
    flatten: Flattener
    most_bytes: int

    @classmethod
    def of(cls, bound: BoundModel, constants: Sequence[tuple[bytes, bytes]]) -> Self | None:
        """Return the shape of a model's rows; None where more must be asked of each object.

        Args:
            bound: The model.
            constants: Columns that all rows have in addition, and their value.
        """
        schema, layout = bound.schema, bound.schema.layout
        is_asked = layout.lookups or layout.is_random or layout.table_period is not None
        if is_asked or bound.model.__hooks__.has_before_write:
            return None
        model: Any = bound.model
        flatten = flattener_of(model, *constants, cell_bytes=CELL_OVERHEAD_BYTES)
        if flatten is None:
            return None
        columns = *(each.column for each in schema.columns), *(column for column, _ in constants)
        return cls(
            bound,
            columns,
            bound.model.__mapping__.encode_key,
            flatten,
            SURELY_SHORT_BYTES if bound.guarded is not None else _SURELY_FITS_BYTES,
        )

    def item(self, obj: Model, key: bytes) -> tuple[FlatRow, int] | None:
        """Return an object's flat row and how many bytes HBase stores of it.

        None if the plain way must say what is wrong with it, or what else to do.
        """
        flat = self.flatten(obj.__dict__, key)
        if flat is None or len(key) > self.bound.longest_key_bytes:
            return None
        size_bytes, row = flat
        if size_bytes > self.most_bytes and sum(map(len, filter(None, row))) > self.most_bytes:
            return None
        return row, size_bytes

    def writes(self, items: Sequence[FlatRow]) -> Sequence[RowWrite]:
        """Return what was to be written."""
        return [RowWrite(self.bound, None, row[0] or b"", "put") for row in items]


@dataclass(frozen=True, slots=True)
class FlatRows:
    """Sends rows of a plain model whose objects are of one shape, many in one request."""

    runtime: Runtime
    shape: Shape
    ticket: None = None

    def item(self, obj: Model, key: bytes) -> tuple[FlatRow, int] | None:
        """Return an object's flat row and its size, as its shape does."""
        return self.shape.item(obj, key)

    def send(self, items: Sequence[FlatRow], /) -> Outcome:
        """Send a batch."""
        runtime, bound, outcome = self.runtime, self.shape.bound, Outcome()
        table = bound.schema.table
        rows = [(table, row[0] or b"") for row in items]
        try:
            check_unguarded(bound, runtime)
        except HBaseORMError as error:  # only the catalog was read: no row was sent
            outcome.not_written += [(write, error) for write in self.writes(items)]
            return outcome
        runtime.wait_for_counts(rows)
        runtime.wait_for_ties(rows)
        stamp_ms = runtime.stamp_ms() if runtime.stamps(bound.schema) else None
        try:
            runtime.execute(PutRows(table, self.shape.columns, tuple(items), stamp_ms))
        except GatewayError as error:
            for write in self.writes(items):
                place(write, error, outcome, batch_rows=len(items))
        return outcome

    def writes(self, items: Sequence[FlatRow], /) -> Sequence[RowWrite]:
        """Return what was to be written."""
        return self.shape.writes(items)


@dataclass(frozen=True, slots=True)
class FlatLoads:
    """Sends rows of one shape of a table that is being loaded, as `Load` does."""

    runtime: Runtime
    shape: Shape
    load: FlatLoad

    @property
    def ticket(self) -> LoadTicket:
        """The load under way."""
        return self.load.ticket

    def item(self, obj: Model, key: bytes) -> tuple[KeyedRow, int] | None:
        """Return an object's flat row with its entries' keys, and its size, as its shape does.

        The keys are made here, where the object is taken: what fits no entry fails alone.

        Raises:
            ValidationError, RowKeyError, CorruptRowError: The row has no entries that HBase stores.
        """
        flat = self.shape.item(obj, key)
        return None if flat is None else (self.load.keyed(flat[0]), flat[1])

    def send(self, items: Sequence[KeyedRow], /) -> Outcome:
        """Send a batch."""
        outcome = Outcome()
        try:
            self.runtime.run(self.load.load(items))
        except GatewayError as error:
            for write in self.writes(items):
                place(write, error, outcome, batch_rows=len(items))
        return outcome

    def writes(self, items: Sequence[KeyedRow], /) -> Sequence[RowWrite]:
        """Return what was to be written."""
        return self.shape.writes([row for row, _ in items])


FlatCarrier = FlatRows | FlatLoads


@dataclass(frozen=True, slots=True)
class BegunLoad:
    """A load, and the indexes that it keeps: none changes its state while its table is loaded."""

    ticket: LoadTicket
    target: GuardedTable


def begin_load(bound: BoundModel, runtime: Runtime) -> BegunLoad | None:
    """Begin a load, or go on with one; None where each row is written by itself.

    Raises:
        SchemaError: The model's indexes are not those that the catalog knows.
    """
    if bound.guarded is None or not can_load(bound.guarded):
        return None
    context, table = runtime.guard_context, bound.schema.table
    entry = runtime.run(catalog.read_entry(table))
    if entry is not None:
        check_indexes(bound, entry)
        if entry.state is TableState.NEW and runtime.run(has_cells(table)):
            return None  # rows were copied into it: a load would leave their entries
    begin = catalog.begin_loading(table, now_ms=context.now_ms(), nonce=context.nonce())
    try:
        ticket = runtime.run(begin)
    except ConflictError:
        return None  # guarded writers are at work: each row is checked
    if entry is None:
        raise AssertionError(table)  # a table that the catalog does not know is not loaded
    return BegunLoad(ticket, kept_table(bound, entry))


def carriers_of(
    bound: BoundModel, load: BegunLoad | None, runtime: Runtime
) -> tuple[Carrier, FlatCarrier | None]:
    """Return what sends any row of a model, and what sends those of one shape, if it has one."""
    if bound.guarded is None:
        marker = bound.schema.marker
        shape = Shape.of(bound, () if marker is None else ((marker, MARKER_VALUE),))
        return RowByRow(runtime), None if shape is None else FlatRows(runtime, shape)
    if load is None:
        return RowByRow(runtime), None
    ticket, target = load.ticket, load.target
    any_row = Load(runtime, ticket, target)
    shape = Shape.of(bound, constants(target, ticket))
    if shape is None:
        return any_row, None
    return any_row, FlatLoads(runtime, shape, FlatLoad(target, ticket, shape.columns))
