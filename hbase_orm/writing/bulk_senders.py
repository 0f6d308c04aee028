"""The senders of a bulk writer: they send batches like a flush, as flat rows, or as a load.

A flat row is a tuple: the row key, then the encoded value of each column, or None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Self
from typing import Protocol as Interface

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.maintained_indexes import maintained_table
from hbase_orm.binding.table_creation.existing_tables import has_cells
from hbase_orm.binding.table_holds.table_load import TableLoad
from hbase_orm.binding.table_writer import TableWriter
from hbase_orm.errors import CatalogLeaseError, ConflictError, GatewayError, HBaseORMError
from hbase_orm.gateway.checks import CELL_OVERHEAD_BYTES
from hbase_orm.index.catalog.catalog import read_entry
from hbase_orm.index.catalog.entry import CatalogEntry, TableState
from hbase_orm.index.catalog.loaders import TableLoader
from hbase_orm.index.catalog.loading import begin_loading
from hbase_orm.index.entries.targets import MARKER_VALUE, GuardedTable, RowChange
from hbase_orm.index.protocol.load import (
    FlatLoad,
    KeyedRow,
    LoadedRow,
    LoadTicket,
    can_load,
    constants,
    guarded_load,
    load_rows,
)
from hbase_orm.model import Model
from hbase_orm.model.mapping.flat import FlatRow, Flattener, flattener_of
from hbase_orm.ops import MAX_CELL_BYTES, MAX_ROW_KEY_BYTES, Protocol, PutRows
from hbase_orm.writing.flush_outcome import FlushOutcome
from hbase_orm.writing.row_write import SURELY_SHORT_BYTES, RowWrite
from hbase_orm.writing.send import send_writes

# Values of so few bytes in all make cells that fit, whatever their names.
_SURELY_FITS_BYTES: Final = MAX_CELL_BYTES - 2 * MAX_ROW_KEY_BYTES


class BatchSender(Interface):
    """Sends the rows of one buffer."""

    @property
    def flattener(self) -> RowFlattener | None:
        """The object that makes flat rows; None if the sender does not send flat rows."""
        ...

    @property
    def ticket(self) -> LoadTicket | None:
        """The ticket of the load to which the rows belong; None outside of a load."""
        ...

    def send(self, items: Sequence[Any], /) -> Protocol[FlushOutcome]:
        """Send a batch; return an outcome with at least the writes that were not acknowledged."""
        ...

    def writes(self, items: Sequence[Any], /) -> Sequence[RowWrite]:
        """Return the write of each item of a batch; a report of failures lists them."""
        ...


@dataclass(frozen=True, slots=True)
class WriteSender:
    """Sends writes like a flush: plain rows in batches, guarded rows through their guards."""

    writer: TableWriter
    flattener: None = None
    ticket: None = None

    def send(self, items: Sequence[RowWrite], /) -> Protocol[FlushOutcome]:
        """Send a batch."""
        return send_writes(items, self.writer, FlushOutcome())

    def writes(self, items: Sequence[RowWrite], /) -> Sequence[RowWrite]:
        """Return the writes of a batch."""
        return items


@dataclass(frozen=True, slots=True)
class LoadSender:
    """Sends rows of a table that is being loaded, with their entries and guards.

    All cells have the timestamp of the load, so failed writes may be sent again, by this process or
    later by another one.
    """

    part: TableLoad
    target: GuardedTable
    flattener: None = None

    @property
    def ticket(self) -> LoadTicket:
        """The ticket of the load in progress."""
        return self.part.ticket

    def item(self, write: RowWrite) -> tuple[RowWrite, LoadedRow]:
        """Return a write, and the mutations that load its row, index entries and guard."""
        return write, guarded_load(self.target, RowChange(write.key, write.puts), self.ticket)

    def send(self, items: Sequence[tuple[RowWrite, LoadedRow]], /) -> Protocol[FlushOutcome]:
        """Send a batch."""
        writes, rows = self.writes(items), [row for _, row in items]
        loading = load_rows(writes[0].bound.schema.table, rows, self.part.permit)
        return _failures_of(loading, lambda: writes)

    def writes(self, items: Sequence[tuple[RowWrite, LoadedRow]], /) -> Sequence[RowWrite]:
        """Return the writes of a batch."""
        return [write for write, _ in items]


@dataclass(frozen=True, slots=True)
class RowFlattener:
    """Makes flat rows from a model's objects.

    Attributes:
        bound: The model.
        columns: The columns of the values in a flat row.
        encode_key: A function from an object's `__dict__` to its row key.
        flatten: A function from an object's `__dict__` to its flat row.
        most_bytes: The largest size of a flat row's key and values together. Larger rows are not
            written as flat rows.
    """

    bound: BoundModel
    columns: tuple[bytes, ...]
    encode_key: Callable[[dict[str, Any]], bytes]
    flatten: Flattener
    most_bytes: int

    @classmethod
    def of(cls, bound: BoundModel, constants: Sequence[tuple[bytes, bytes]]) -> Self | None:
        """Return the object that makes flat rows of a model; None for a model without flat rows.

        These models cannot have flat rows:

        - a model with a table for each period
        - a model with a hook before writes
        - a model with a varying set of columns, such as dynamic columns
        - a model whose row keys need look-ups or a random salt

        Args:
            bound: The model.
            constants: Further columns, each with the value that it has in all rows.
        """
        schema = bound.schema
        is_alike = bound.tables.is_only and bound.keys.are_computed
        if not is_alike or bound.model.__hooks__.has_before_write:
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
        """Return an object's flat row and its size in HBase, in bytes.

        None if the object must be written by a `RowWrite` instead. For example, if a value is
        wrong, the `RowWrite` raises the error.
        """
        flat = self.flatten(obj.__dict__, key)
        if flat is None or len(key) > self.bound.keys.longest_bytes:
            return None
        size_bytes, row = flat
        if size_bytes > self.most_bytes and sum(map(len, filter(None, row))) > self.most_bytes:
            return None
        return row, size_bytes

    def writes(self, items: Sequence[FlatRow]) -> Sequence[RowWrite]:
        """Return a `RowWrite` for each flat row, with only the row key, for reports of failures."""
        return [RowWrite(self.bound, None, row[0] or b"", "put") for row in items]


@dataclass(frozen=True, slots=True)
class FlatRowSender:
    """Sends flat rows of a plain model, many in one request."""

    writer: TableWriter
    flattener: RowFlattener
    ticket: None = None

    def item(self, obj: Model, key: bytes) -> tuple[FlatRow, int] | None:
        """Return an object's flat row and its size in bytes, or None, like `RowFlattener.item`."""
        return self.flattener.item(obj, key)

    def send(self, items: Sequence[FlatRow], /) -> Protocol[FlushOutcome]:
        """Send a batch."""
        bound, clock, outcome = self.flattener.bound, self.writer.clock, FlushOutcome()
        try:
            model = yield from self.writer.usable(bound)
            if model.guarded is not None:  # rows are being moved
                guarded = list(self._guarded(items, model))
                return (yield from send_writes(guarded, self.writer, outcome))
            yield from self.writer.check(bound)
        except HBaseORMError as error:  # only the catalog was read: no row was sent
            outcome.record_not_written(self.writes(items), error)
            return outcome
        table = bound.schema.table
        rows = [(table, row[0] or b"") for row in items]
        yield from clock.wait_out_counter_skew(rows)
        yield from clock.wait_out_tombstone_tie(rows)
        stamp_ms = (yield from clock.stamp()) if clock.stamps(bound.schema) else None
        request = PutRows(table, self.flattener.columns, tuple(items), stamp_ms)
        try:
            yield from self.writer.send(request, bound)
        except HBaseORMError as error:
            outcome.record_failure(self.writes(items), error)
        return outcome

    def _guarded(self, items: Sequence[FlatRow], model: BoundModel) -> Iterator[RowWrite]:
        """Yield flat rows as writes of a model with guards."""
        for key, *values in items:
            cells = zip(self.flattener.columns, values, strict=True)
            puts = {column: value for column, value in cells if value is not None}
            yield RowWrite(model, None, key or b"", "put", puts, cells=puts)

    def writes(self, items: Sequence[FlatRow], /) -> Sequence[RowWrite]:
        """Return the writes of a batch."""
        return self.flattener.writes(items)


@dataclass(frozen=True, slots=True)
class FlatLoadSender:
    """Sends flat rows of a table that is being loaded, with their entries and guards."""

    flattener: RowFlattener
    part: TableLoad
    load: FlatLoad

    @property
    def ticket(self) -> LoadTicket:
        """The ticket of the load in progress."""
        return self.part.ticket

    def item(self, obj: Model, key: bytes) -> tuple[KeyedRow, int] | None:
        """Return an object's flat row with the keys of its index entries, and its size in bytes.

        None if the object must be written by a `RowWrite` instead. A wrong value raises an error
        for this object only.

        Raises:
            ValidationError, RowKeyError, CorruptRowError: An index entry of the row cannot be
                computed or stored.
        """
        flat = self.flattener.item(obj, key)
        return None if flat is None else (self.load.keyed(flat[0]), flat[1])

    def send(self, items: Sequence[KeyedRow], /) -> Protocol[FlushOutcome]:
        """Send a batch."""
        loading = self.load.load(items, self.part.permit)
        return _failures_of(loading, lambda: self.writes(items))

    def writes(self, items: Sequence[KeyedRow], /) -> Sequence[RowWrite]:
        """Return the writes of a batch."""
        return self.flattener.writes([row for row, _ in items])


FlatSender = FlatRowSender | FlatLoadSender


def _failures_of(
    sending: Protocol[None], writes: Callable[[], Sequence[RowWrite]]
) -> Protocol[FlushOutcome]:
    """Send a batch by running `sending`; return an outcome that has only its failed writes.

    Args:
        sending: The protocol that sends all rows of the batch.
        writes: A function that returns the write of each row; it is called only after a failure.
    """
    outcome = FlushOutcome()
    try:
        yield from sending
    except (GatewayError, CatalogLeaseError) as error:
        outcome.record_failure(writes(), error)
    return outcome


@dataclass(frozen=True, slots=True)
class BegunLoad:
    """This program's part in a load, and the table with the indexes that the load writes."""

    part: TableLoad
    target: GuardedTable


def begin_load(
    bound: BoundModel, writer: TableWriter, loader: TableLoader
) -> Protocol[CatalogEntry | None]:
    """Begin or join a load of a model's table; return None if the table cannot be loaded.

    A table can be loaded if it is new and empty, if other programs load it, or if a load of it was
    interrupted. The model must have guards and no unique index. If a table cannot be loaded, rows
    are written as by a flush.

    Raises:
        SchemaError: The model's indexes differ from those in the catalog.
    """
    if bound.guarded is None or not can_load(bound.guarded):
        return None
    if not bound.tables.is_only:
        return None  # its rows have guards only while rows of another table move to it
    context, table = writer.guard_context, bound.schema.table
    entry = yield from read_entry(table)
    if entry is not None and entry.state is TableState.NEW and (yield from has_cells(table)):
        return None  # rows were copied into it: a load would leave their entries
    begin = begin_loading(
        table,
        loader,
        now_ms=context.now_ms(),
        nonce=context.nonce(),
        check=partial(maintained_table, bound),
    )
    try:
        return (yield from begin)
    except ConflictError:
        return None  # guarded writers are at work: each row is checked


def senders_of(
    bound: BoundModel, load: BegunLoad | None, writer: TableWriter
) -> tuple[BatchSender, FlatSender | None]:
    """Return the sender of a model's rows, and the sender of its flat rows.

    The second sender is None if the model cannot have flat rows. It is also None if the rows have
    guards and `load` is None: no load has begun.
    """
    if bound.guarded is None:
        marker = bound.schema.marker
        flattener = RowFlattener.of(bound, () if marker is None else ((marker, MARKER_VALUE),))
        flat_rows = None if flattener is None else FlatRowSender(writer, flattener)
        return WriteSender(writer), flat_rows
    if load is None:
        return WriteSender(writer), None
    part, target = load.part, load.target
    ticket = part.ticket
    any_row = LoadSender(part, target)
    flattener = RowFlattener.of(bound, constants(target, ticket))
    if flattener is None:
        return any_row, None
    return any_row, FlatLoadSender(flattener, part, FlatLoad(target, ticket, flattener.columns))
