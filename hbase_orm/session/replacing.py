"""Replaces a whole row: one atomic request leaves exactly the new cells.

The deletes reach up to the newest timestamp that the row holds, tombstones included, and the puts
have the server's own time, which lies above it: no client's clock decides. Where the row's cells
lie in the server's future, the puts are stamped one above them.
"""

from __future__ import annotations

import logging
from typing import Final

from hbase_orm.errors import (
    ConflictError,
    ConnectionLostError,
    FeatureMissingError,
    GatewayError,
    TableNotFoundError,
)
from hbase_orm.gateway.base import Feature
from hbase_orm.index.attempt import CLOCK_WARN_MS
from hbase_orm.ops import Delete, GetRows, GetVersions, MutateRow, Put, RowMutation
from hbase_orm.session.catalog_checks import check_unguarded
from hbase_orm.session.flush import emit, guarded_protocol
from hbase_orm.session.period_tables import send
from hbase_orm.session.runtime import TIE_S, Runtime
from hbase_orm.session.unit_of_work import RowWrite, acknowledged

logger = logging.getLogger("hbase_orm.session")

MAX_TRIES: Final = 5
# No two clocks are assumed to be further apart.
_LARGEST_SKEW_MS: Final = 3_600_000


def replace_row(write: RowWrite, runtime: Runtime) -> RowWrite:
    """Make a row exactly what is written.

    Raises:
        FeatureMissingError: The engine has no Thrift2 gateway.
        ConflictError: Other writers kept stamping the row ahead of all clocks.
        ConnectionLostError: The outcome is unknown; replacing again is safe.
    """
    runtime.wait_for_counts([write.where])
    if write.bound.guarded is not None:
        return acknowledged(write, runtime.run(guarded_protocol(write, runtime)))
    if Feature.ATOMIC_ROW not in runtime.features:
        raise FeatureMissingError(
            "replacing a row in one atomic call needs a Thrift2 gateway",
            model=write.bound.schema.model_name,
            fix="add thrift2=host:9091 to the URL, or delete the object and add it",
        )
    if write.bound.schema.packed_bytes:  # the row is one cell: a put replaces it
        outcome = emit([write], runtime)
        for _, error in (*outcome.not_written, *outcome.unknown):
            raise error
        return write
    check_unguarded(write.bound, runtime)  # before the row is read
    runtime.wait_for_ties([write.where])
    is_ahead = False
    for _ in range(MAX_TRIES):
        newest_ms = newest_ms_of(write, runtime)
        _replace(write, newest_ms, runtime, is_ahead=is_ahead)
        if (
            newest_ms is None
            or runtime.stamps(write.bound.schema)
            or _shows(write, newest_ms, runtime)
        ):
            return write
        is_ahead = True
    raise ConflictError(
        "other writers stamp the row ahead of all clocks",
        table=write.bound.schema.table,
        row=write.key,
        fix="set the clocks of all writers right",
    )


def newest_ms_of(write: RowWrite, runtime: Runtime) -> int | None:
    """Return the newest timestamp that the row holds, tombstones included; None without any."""
    schema = write.bound.schema
    asked = GetVersions(schema.table, write.key, schema.family_names, raw=True)
    try:
        versions = runtime.execute(asked)
    except TableNotFoundError:
        if schema.layout.table_period is None:
            raise
        return None  # the first row of its period
    return max((version.timestamp_ms for version in versions), default=None)


def _replace(write: RowWrite, newest_ms: int | None, runtime: Runtime, *, is_ahead: bool) -> None:
    schema = write.bound.schema
    if runtime.stamps(schema):
        stamp_ms: int | None = max(runtime.stamp_ms(), (newest_ms or 0) + 1)
    else:
        stamp_ms = None if newest_ms is None or not is_ahead else newest_ms + 1
    deletes: tuple[Delete, ...] = ()
    if newest_ms is not None:
        ahead_ms = newest_ms - runtime.guard_context.now_ms()
        if ahead_ms > CLOCK_WARN_MS:
            logger.warning(
                "row %r of %s is %d ms ahead of this clock", write.key, schema.table, ahead_ms
            )
        last_ms = newest_ms if stamp_ms is None else stamp_ms - 1
        deletes = tuple(Delete(family, last_ms) for family in schema.family_names)
        runtime.sleep(TIE_S)  # the server's time is then above what it stamped
    puts = tuple(Put(column, value, stamp_ms) for column, value in write.puts.items())
    send(MutateRow(schema.table, RowMutation(write.key, puts, deletes)), write.bound, runtime)


def _shows(write: RowWrite, newest_ms: int, runtime: Runtime) -> bool:
    """Say whether the new cells are above the deletes, as they are unless a clock was wrong."""
    if newest_ms < runtime.guard_context.now_ms() - _LARGEST_SKEW_MS:
        return True
    columns = tuple(write.puts)
    try:
        (row,) = runtime.execute(GetRows(write.bound.schema.table, (write.key,), columns))
    except GatewayError as error:
        raise ConnectionLostError(
            "the row was replaced, and could not be read back: its cells may be hidden",
            table=write.bound.schema.table,
            row=write.key,
            fix="replace it again: that is safe",
        ) from error
    cells = {} if row is None else row.cells
    return any(cell.timestamp_ms > newest_ms for cell in cells.values())
