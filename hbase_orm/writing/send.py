"""Sends the writes of a flush, and records their outcomes.

Plain rows are sent in batches, each for one table. Deletes of rows are sent in batches of their
own. A row with puts and cleared columns is one atomic row mutation if the gateway supports it.
Guarded rows are written by the index protocol, in parallel.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Final, TypeVar, cast

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.table_writer import TableWriter
from hbase_orm.binding.write_clock import WriteClock
from hbase_orm.errors import HBaseORMError, UniqueViolationError
from hbase_orm.gateway.base import Feature
from hbase_orm.gateway.drive import ProtocolResult, result_of
from hbase_orm.index.entries.targets import WriteOutcome
from hbase_orm.index.protocol.attempt import CLOCK_WARN_MS
from hbase_orm.index.protocol.guarded_write import History
from hbase_orm.ops import (
    Delete,
    MutateRow,
    MutateRows,
    Operation,
    Protocol,
    Put,
    RenewTimeLimit,
    RowMutation,
    SideBySide,
    ask,
)
from hbase_orm.writing.flush_outcome import FlushOutcome
from hbase_orm.writing.row_write import RowWrite, acknowledged, change_of, rounds_of

BATCH_ROWS: Final = 1000

BATCH_BYTES: Final = 2 * 1024 * 1024
"""The most bytes of cells in one request, unless a single row is larger.

HBase's own client collects as much by default (hbase.client.write.buffer). The gateway and the
region server hold several copies of a request in memory: a server with 512 MB crashes at one
request of 1,000 rows with 400 KB each.
"""

R = TypeVar("R")

logger = logging.getLogger("hbase_orm.session")


def warn_of_future(writes: Iterable[RowWrite], now_ms: int) -> None:
    """Log a warning for each plain row with a cell far in the future, which hides new puts."""
    for write in writes:
        obj: Any = write.obj
        row = None if obj is None or write.bound.guarded is not None else obj.__state__.row
        if row is None or write.is_idle:
            continue
        newest_ms = max((cell.timestamp_ms for cell in row.cells.values()), default=0)
        if newest_ms > now_ms + CLOCK_WARN_MS:
            logger.warning(
                "row %r of %s has a cell %d ms ahead of this clock: somebody's clock is wrong, "
                "and what is written now may not be seen",
                write.key,
                write.bound.schema.table,
                newest_ms - now_ms,
            )


def send_writes(
    writes: Sequence[RowWrite], writer: TableWriter, outcome: FlushOutcome
) -> Protocol[FlushOutcome]:
    """Send writes and return their outcomes; errors of single rows are not raised.

    Several writes of one row are in different rounds (see `rounds_of`). If some write of a round
    fails, later rounds are not sent. Their writes are recorded as not written.

    Args:
        writes: The writes to send.
        writer: The object that writes the tables.
        outcome: The object that records the outcome of each write as soon as it is known.
    """
    writes = yield from _as_recorded(writes, writer)
    rounds = rounds_of(write for write in writes if not write.is_idle)
    for number, one_round in enumerate(rounds):
        yield from _send_round(one_round, writer, outcome)
        if outcome.has_failures:
            later = chain.from_iterable(rounds[number + 1 :])
            outcome.record_not_written(later, outcome.failures[0][1])
            break
    return outcome


def _as_recorded(writes: Sequence[RowWrite], writer: TableWriter) -> Protocol[Sequence[RowWrite]]:
    """Return plain writes with guards where these rows are being moved to another table."""
    models = {id(write.bound): write.bound for write in writes if write.bound.guarded is None}
    now: dict[int, BoundModel] = {}
    for key, bound in models.items():
        try:
            model = yield from writer.usable(bound)
        except HBaseORMError:
            continue  # the check before the request raises it again, for the rows that it is about
        if model.guarded is not None:
            now[key] = model
    if not now:
        return writes
    return [replace(write, bound=now.get(id(write.bound), write.bound)) for write in writes]


def _send_round(
    writes: Sequence[RowWrite], writer: TableWriter, outcome: FlushOutcome
) -> Protocol[None]:
    plain = [write for write in writes if write.bound.guarded is None]
    guarded = [write for write in writes if write.bound.guarded is not None]
    hidden = (write.row_id for write in writes if _is_hidden_by_counters(write))
    yield from writer.clock.wait_out_counter_skew(hidden)
    plain = yield from _stamped(plain, writer.clock)
    by_request: dict[tuple[str, int, bytes], list[RowWrite]] = {}
    for write in plain:
        by_request.setdefault(_request_of(write), []).append(write)
    for alike in by_request.values():
        yield from _send_plain(alike, writer, outcome)
    if guarded:
        yield from _send_guarded(guarded, writer, outcome)


def _is_hidden_by_counters(write: RowWrite) -> bool:
    """Return whether counters with timestamps in the server's future could hide a write.

    They could hide these writes, which use the server's time:

    - in a plain row, every write without a timestamp of its own
    - in a guarded row, a delete or replacement, because it deletes counters with the server's time
    """
    if write.bound.guarded is not None:
        return write.kind in {"delete", "replace"}
    return write.timestamp_ms is None


def _stamped(writes: list[RowWrite], clock: WriteClock) -> Protocol[list[RowWrite]]:
    """Return the writes, with the client's time as timestamp where the model uses client time.

    A write that has a timestamp keeps it.
    """
    schemas = {id(write.bound): write.bound.schema for write in writes}
    if not any(clock.stamps(schema) for schema in schemas.values()):
        return writes
    stamp_ms = yield from clock.stamp()
    return [
        replace(w, timestamp_ms=stamp_ms)
        if w.timestamp_ms is None and clock.stamps(w.bound.schema)
        else w
        for w in writes
    ]


def _request_of(write: RowWrite) -> tuple[str, int, bytes]:
    """Return a key that is equal for writes that may share a request."""
    schema = write.bound.schema
    return schema.table, *schema.storage.batch_group


def _send_plain(
    writes: Sequence[RowWrite], writer: TableWriter, outcome: FlushOutcome
) -> Protocol[None]:
    deletes = [write for write in writes if write.kind == "delete"]
    mixed = [write for write in writes if write.puts and write.clears]
    rest = [
        write for write in writes if write.kind != "delete" and not (write.puts and write.clears)
    ]
    try:
        yield from ask(RenewTimeLimit())
        yield from writer.check(writes[0].bound)
    except HBaseORMError as error:  # only the catalog was read: no row was sent
        outcome.record_not_written(writes, error)
        return
    put_rows = [write.row_id for write in writes if write.kind != "delete"]
    yield from writer.clock.wait_out_tombstone_tie(put_rows)
    for batch in _batches(rest):
        yield from _send_batch((_batch_of(batch),), batch, writer, outcome)
    for write in mixed:
        yield from _send_batch(_mixed(write, writer.features), (write,), writer, outcome)
    for batch in _batches(deletes):
        yield from _send_batch((_batch_of(batch),), batch, writer, outcome)


def _batches(writes: Sequence[RowWrite]) -> Iterator[Sequence[RowWrite]]:
    """Yield the writes of each request; a write larger than `BATCH_BYTES` is sent by itself."""
    batch: list[RowWrite] = []
    size_bytes = 0
    for write in writes:
        if batch and (len(batch) == BATCH_ROWS or size_bytes + write.size_bytes > BATCH_BYTES):
            yield batch
            batch, size_bytes = [], 0
        batch.append(write)
        size_bytes += write.size_bytes
    if batch:
        yield batch


def _batch_of(writes: Sequence[RowWrite]) -> MutateRows:
    schema = writes[0].bound.schema
    mutations = schema.storage.mutations([mutation_of(write) for write in writes])
    return MutateRows(schema.table, tuple(mutations))


def mutation_of(write: RowWrite) -> RowMutation:
    """Return the row mutation of a plain row."""
    stamp_ms = write.timestamp_ms
    if write.kind == "delete":
        families = write.bound.schema.family_names
        return RowMutation(write.key, deletes=tuple(Delete(each, stamp_ms) for each in families))
    return RowMutation(
        write.key,
        puts=tuple([Put(column, value, stamp_ms) for column, value in write.puts.items()]),
        deletes=tuple([Delete(column, stamp_ms) for column in sorted(write.clears)]),
        ttl_ms=write.ttl_ms if write.puts else None,
    )


def _mixed(write: RowWrite, features: frozenset[Feature]) -> list[Operation[None]]:
    table, mutation = write.bound.schema.table, mutation_of(write)
    if Feature.ATOMIC_ROW in features:
        return [MutateRow(table, mutation)]
    # Without Thrift2 a reader may see the new cells while the cleared ones are still there.
    return [
        MutateRows(table, (RowMutation(write.key, puts=mutation.puts, ttl_ms=mutation.ttl_ms),)),
        MutateRows(table, (RowMutation(write.key, deletes=mutation.deletes),)),
    ]


def _send_batch(
    operations: Sequence[Operation[None]],
    writes: Sequence[RowWrite],
    writer: TableWriter,
    outcome: FlushOutcome,
) -> Protocol[None]:
    """Send the requests of some writes one after another, and record the outcome."""
    makers = (w.bound for w in writes if w.bound.tables.are_made_by_writes)
    bound = next(makers, writes[0].bound)
    sent = 0
    try:
        for operation in operations:
            yield from ask(RenewTimeLimit())  # one table that does not answer holds up no other
            yield from writer.send(operation, bound)
            sent += 1
    except HBaseORMError as error:
        outcome.record_failure(writes, error, is_begun=sent > 0)
    else:
        outcome.written += writes
    writer.clock.note_deletes([w.row_id for w in writes if w.kind == "delete" or w.clears])


def _send_guarded(
    writes: Sequence[RowWrite], writer: TableWriter, outcome: FlushOutcome
) -> Protocol[None]:
    """Send guarded rows in parallel; repeat writes that were refused because of a unique value.

    Another row of the same round may have given up the value, so it may be free now. A write is
    repeated only if some other write of the round was not refused.
    """
    todo = yield from _permitted(writes, writer, outcome)
    while todo:
        protocols = [guarded_write(write, writer) for write in todo]
        # The size of the new cells is the best estimate of the size of the stored row.
        results = yield from _results(protocols, [write.size_bytes for write in todo])
        ended = list(zip(todo, results, strict=True))
        refused = [write for write, result in ended if _is_refused(result)]
        again = refused if len(refused) < len(todo) else []
        _record_guarded([one for one in ended if not again or not _is_refused(one[1])], outcome)
        todo = again


def _permitted(
    writes: Sequence[RowWrite], writer: TableWriter, outcome: FlushOutcome
) -> Protocol[Sequence[RowWrite]]:
    """Renew expired catalog leases; return the writes to tables that now have a valid lease.

    Writes to other tables are recorded as not written.
    """
    tables = {write.bound.declared_table: write for write in reversed(writes)}
    catalog = writer.catalog
    stale = {table: w for table, w in tables.items() if not catalog.leases.is_fresh(table)}
    if not stale:
        return writes
    renewals = [catalog.renew_lease(table, write.key) for table, write in stale.items()]
    ended = zip(stale, (yield from _results(renewals)), strict=True)
    refused = {table: result.error for table, result in ended if result.error is not None}
    permitted: list[RowWrite] = []
    for write in writes:
        error = refused.get(write.bound.declared_table)
        if error is None:
            permitted.append(write)
        else:
            outcome.record_not_written((write,), error)
    return permitted


def _results(
    protocols: Sequence[Protocol[R]], expected_bytes: Sequence[int] = ()
) -> Protocol[list[ProtocolResult[R]]]:
    """Run protocols in parallel and return their results or errors, in the order of `protocols`.

    A single protocol is run directly, with its own time limit.
    """
    attempts = tuple(result_of(protocol) for protocol in protocols)
    if len(attempts) == 1:
        yield from ask(RenewTimeLimit())
        return [(yield from attempts[0])]
    return cast("list[ProtocolResult[R]]", (yield SideBySide(attempts, tuple(expected_bytes))))


def _is_refused(result: ProtocolResult[WriteOutcome]) -> bool:
    return isinstance(result.error, UniqueViolationError)


def _record_guarded(
    ended: Sequence[tuple[RowWrite, ProtocolResult[WriteOutcome]]], outcome: FlushOutcome
) -> None:
    for write, result in ended:
        if result.error is None:
            outcome.written.append(acknowledged(write, result.value))
        elif isinstance(result.error, HBaseORMError):
            outcome.record_failure((write,), result.error)
        else:  # a fault of a codec or of this library: the other rows have their own results
            outcome.record_unknown((write,), result.error)


def guarded_write(write: RowWrite, writer: TableWriter) -> Protocol[WriteOutcome]:
    """Write one guarded row, and add a record of its attempts to `write.tries`."""
    history = History()
    write.tries.append(history)
    return writer.change(write.bound, change_of(write), history)
