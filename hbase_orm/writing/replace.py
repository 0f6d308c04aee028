"""Replaces a whole row: one atomic request leaves exactly the new cells.

The deletes have the newest timestamp of the row's cells and tombstones. The puts have the server's
own time, which is later, so no client's clock matters. If the row has timestamps in the server's
future, the deletes hide the puts. Then the row is replaced again, and the puts get the next
timestamp after the row's newest one.
"""

from __future__ import annotations

import logging
from typing import Final

from hbase_orm.binding.table_writer import TableWriter
from hbase_orm.binding.write_clock import TIE_S, WriteClock
from hbase_orm.errors import (
    ConflictError,
    ConnectionLostError,
    FeatureMissingError,
    GatewayError,
    TableNotFoundError,
)
from hbase_orm.gateway.base import Feature
from hbase_orm.index.protocol.attempt import CLOCK_WARN_MS
from hbase_orm.ops import (
    Delete,
    GetRows,
    GetVersions,
    MutateRow,
    Protocol,
    Put,
    RowMutation,
    Sleep,
    ask,
)
from hbase_orm.writing.flush_outcome import FlushOutcome
from hbase_orm.writing.row_write import RowWrite, acknowledged
from hbase_orm.writing.send import guarded_write, send_writes

logger = logging.getLogger("hbase_orm.session")

MAX_TRIES: Final = 5
# The clocks of two machines are assumed to differ by at most this.
_LARGEST_SKEW_MS: Final = 3_600_000


def replace_row(write: RowWrite, writer: TableWriter) -> Protocol[RowWrite]:
    """Replace a row, so that it has exactly the new cells.

    Raises:
        FeatureMissingError: The engine has no Thrift2 gateway.
        ConflictError: Other writers kept writing the row with timestamps in the future.
        ConnectionLostError: The outcome is unknown; replacing again is safe.
    """
    yield from writer.clock.wait_out_counter_skew([write.row_id])
    if write.bound.guarded is not None:
        return acknowledged(write, (yield from guarded_write(write, writer)))
    if Feature.ATOMIC_ROW not in writer.features:
        raise FeatureMissingError(
            "replacing a row in one atomic call needs a Thrift2 gateway",
            model=write.bound.schema.model_name,
            fix="add thrift2=host:9091 to the URL, or delete the object and add it",
        )
    if not write.bound.schema.storage.has_own_rows:  # the object is one cell: a put replaces it
        (yield from send_writes([write], writer, FlushOutcome())).raise_first()
        return write
    yield from writer.check(write.bound)  # before the row is read
    yield from writer.clock.wait_out_tombstone_tie([write.row_id])
    is_hidden = False
    for _ in range(MAX_TRIES):
        newest_ms = yield from newest_ms_of(write)
        yield from _replace(write, newest_ms, writer, is_hidden=is_hidden)
        if (
            newest_ms is None
            or writer.clock.stamps(write.bound.schema)
            or (yield from _is_seen(write, newest_ms, writer.clock))
        ):
            return write
        is_hidden = True
    raise ConflictError(
        "the row has timestamps in the future, and other writers keep adding newer ones",
        table=write.bound.schema.table,
        row=write.key,
        fix="correct the clocks of all writers",
    )


def newest_ms_of(write: RowWrite) -> Protocol[int | None]:
    """Return the newest timestamp of a row's cells and tombstones; None if there are none."""
    schema = write.bound.schema
    every = GetVersions(schema.table, write.key, schema.family_names, raw=True)
    try:
        versions = yield from ask(every)
    except TableNotFoundError:
        if write.bound.tables.is_only:
            raise
        return None  # the first row of its period
    return max((version.timestamp_ms for version in versions), default=None)


def _replace(
    write: RowWrite, newest_ms: int | None, writer: TableWriter, *, is_hidden: bool
) -> Protocol[None]:
    """Replace the row once.

    Args:
        write: The new cells of the row.
        newest_ms: The newest timestamp of the row; None if the row has no cell and no tombstone.
        writer: The object that writes the table.
        is_hidden: Whether older deletes hid the new cells of the last attempt. The cells then get
            the timestamp `newest_ms` + 1 instead of the server's time.
    """
    schema, clock = write.bound.schema, writer.clock
    stamp_ms = None if newest_ms is None or not is_hidden else newest_ms + 1
    if clock.stamps(schema):
        stamp_ms = max((yield from clock.stamp()), (newest_ms or 0) + 1)
    deletes: tuple[Delete, ...] = ()
    if newest_ms is not None:
        future_ms = newest_ms - clock.now_ms()
        if future_ms > CLOCK_WARN_MS:
            logger.warning(
                "row %r of %s is %d ms ahead of this clock", write.key, schema.table, future_ms
            )
        last_ms = newest_ms if stamp_ms is None else stamp_ms - 1
        deletes = tuple(Delete(family, last_ms) for family in schema.family_names)
        yield from ask(Sleep(TIE_S))  # then the server's time is later than its last timestamp
    puts = tuple(Put(column, value, stamp_ms) for column, value in write.puts.items())
    request = MutateRow(schema.table, RowMutation(write.key, puts, deletes))
    yield from writer.send(request, write.bound)


def _is_seen(write: RowWrite, newest_ms: int, clock: WriteClock) -> Protocol[bool]:
    """Return whether the new cells are visible.

    If a clock was wrong, `newest_ms` may be in the server's future, and deletes hide the cells.
    """
    if newest_ms < clock.now_ms() - _LARGEST_SKEW_MS:
        return True
    columns = tuple(write.puts)
    try:
        (row,) = yield from ask(GetRows(write.bound.schema.table, (write.key,), columns))
    except GatewayError as error:
        raise ConnectionLostError(
            "the row was replaced, but could not be read back: older deletes may hide its "
            "new cells",
            table=write.bound.schema.table,
            row=write.key,
            fix="replace the row again: repeating the call is safe",
        ) from error
    cells = {} if row is None else row.cells
    return any(cell.timestamp_ms > newest_ms for cell in cells.values())
