"""Sends the writes of a flush and says of each row how it ended.

Plain rows travel in batches of one table, deletes and puts apart; a row that changes some cells and
clears others is one atomic row mutation where the gateway has it. Rows with a guard go through the
index protocol, side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from hbase_orm.errors import (
    CatalogLeaseError,
    ConnectionLostError,
    GatewayError,
    HBaseORMError,
    NamespaceNotFoundError,
    RetryableError,
    TableDisabledError,
    TableNotFoundError,
    UniqueViolationError,
)
from hbase_orm.gateway.base import Feature
from hbase_orm.gateway.drive import Outcome as Ended
from hbase_orm.index.catalog_entry import CatalogEntry
from hbase_orm.index.guard import History
from hbase_orm.index.targets import RowChange, WriteOutcome
from hbase_orm.index.writing import write_row
from hbase_orm.ops import (
    Delete,
    MutateRow,
    MutateRows,
    Operation,
    Protocol,
    Put,
    RowMutation,
)
from hbase_orm.schema import packed_mutations
from hbase_orm.session.binding import BoundModel
from hbase_orm.session.catalog_checks import check_indexes, check_unguarded
from hbase_orm.session.catalogued import kept_table
from hbase_orm.session.period_tables import makes_tables, send
from hbase_orm.session.runtime import Runtime
from hbase_orm.session.unit_of_work import Outcome, RowWrite, acknowledged, rounds_of
from hbase_orm.session.versions import change_of

BATCH_ROWS: Final = 1000

BATCH_BYTES: Final = 2 * 1024 * 1024
"""Cells in one request: as much as HBase's own client collects, hbase.client.write.buffer.

Gateway and region server hold a request in memory several times over; 1,000 rows of 400 KB in one
request end a server of 512 MB.
"""

RENEWALS: Final = 3
"""How often one write looks at the catalog anew before it gives up."""

# These refuse a whole request before any of its rows is looked at.
_REFUSED_AT_THE_DOOR: Final = (TableNotFoundError, TableDisabledError, NamespaceNotFoundError)


def emit(writes: Sequence[RowWrite], runtime: Runtime, outcome: Outcome | None = None) -> Outcome:
    """Send `writes` and return how each ended; the errors of single rows are not raised.

    A round whose rows did not all get written ends the flush: what stands after it may build on
    it and is reported as not written.

    Args:
        writes: What to send.
        runtime: Sends it.
        outcome: Where to enter how each ended, as it ends; None makes one.
    """
    outcome = Outcome() if outcome is None else outcome
    rounds = rounds_of(write for write in writes if not write.is_idle)
    for number, one_round in enumerate(rounds):
        _emit_round(one_round, runtime, outcome)
        failed = outcome.not_written or outcome.unknown
        if failed:
            reason = failed[0][1]
            held_back = [(write, reason) for later in rounds[number + 1 :] for write in later]
            outcome.not_written += held_back
            break
    return outcome


def _emit_round(writes: Sequence[RowWrite], runtime: Runtime, outcome: Outcome) -> None:
    plain = [write for write in writes if write.bound.guarded is None]
    runtime.wait_for_counts(write.where for write in writes if _meets_counters(write))
    plain = _stamped(plain, runtime)
    guarded = [write for write in writes if write.bound.guarded is not None]
    by_request: dict[tuple[str, int, bytes], list[RowWrite]] = {}
    for write in plain:
        by_request.setdefault(_request_of(write), []).append(write)
    for alike in by_request.values():
        _emit_plain(alike, runtime, outcome)
    if guarded:
        _emit_guarded(guarded, runtime, outcome)


def _meets_counters(write: RowWrite) -> bool:
    """Say whether cells that the server stamped ahead of its clock would hide a write.

    A guarded row is stamped above them, but for the deletes of its counters: increments follow.
    """
    if write.bound.guarded is not None:
        return write.kind in {"delete", "replace"}
    return write.timestamp_ms is None


def _stamped(writes: list[RowWrite], runtime: Runtime) -> list[RowWrite]:
    """Return writes with this client's timestamp where their models want it and they have none."""
    schemas = {id(write.bound): write.bound.schema for write in writes}
    if not any(runtime.stamps(schema) for schema in schemas.values()):
        return writes
    stamp_ms = runtime.stamp_ms()
    return [
        replace(w, timestamp_ms=stamp_ms)
        if w.timestamp_ms is None and runtime.stamps(w.bound.schema)
        else w
        for w in writes
    ]


def _request_of(write: RowWrite) -> tuple[str, int, bytes]:
    """Return what writes have in common that may share a request: the table, and how cells pack."""
    schema = write.bound.schema
    width_bytes = schema.packed_bytes
    return schema.table, width_bytes, schema.columns[0].column if width_bytes else b""


def _emit_plain(writes: Sequence[RowWrite], runtime: Runtime, outcome: Outcome) -> None:
    deletes = [write for write in writes if write.kind == "delete"]
    mixed = [write for write in writes if write.puts and write.clears]
    rest = [
        write for write in writes if write.kind != "delete" and not (write.puts and write.clears)
    ]
    try:
        check_unguarded(writes[0].bound, runtime)
    except HBaseORMError as error:  # only the catalog was read: no row was sent
        outcome.not_written += [(write, error) for write in writes]
        return
    runtime.wait_for_ties([write.where for write in writes if write.kind != "delete"])
    for batch in _batches(rest):
        _send((_batch_of(batch),), batch, runtime, outcome)
    for write in mixed:
        _send(_mixed(write, runtime), (write,), runtime, outcome)
    for batch in _batches(deletes):
        _send((_batch_of(batch),), batch, runtime, outcome)


def _batches(writes: Sequence[RowWrite]) -> Iterator[Sequence[RowWrite]]:
    """Yield the writes by requests; a write larger than `BATCH_BYTES` has one of its own."""
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
    mutations = [mutation_of(write) for write in writes]
    if schema.packed_bytes:
        mutations = packed_mutations(schema, mutations)
    return MutateRows(schema.table, tuple(mutations))


def mutation_of(write: RowWrite) -> RowMutation:
    """Return a plain row's mutation."""
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


def _mixed(write: RowWrite, runtime: Runtime) -> list[Operation[None]]:
    table, mutation = write.bound.schema.table, mutation_of(write)
    if Feature.ATOMIC_ROW in runtime.features:
        return [MutateRow(table, mutation)]
    # Without Thrift2 a reader may see the new cells while the cleared ones are still there.
    return [
        MutateRows(table, (RowMutation(write.key, puts=mutation.puts, ttl_ms=mutation.ttl_ms),)),
        MutateRows(table, (RowMutation(write.key, deletes=mutation.deletes),)),
    ]


def _send(
    operations: Sequence[Operation[None]],
    writes: Sequence[RowWrite],
    runtime: Runtime,
    outcome: Outcome,
) -> None:
    """Send requests that together make these writes, one after the other."""
    bound = next((w.bound for w in writes if makes_tables(w.bound)), writes[0].bound)
    sent = 0
    try:
        for operation in operations:
            send(operation, bound, runtime)
            sent += 1
    except HBaseORMError as error:
        for write in writes:
            place(write, error, outcome, batch_rows=len(writes), is_begun=sent > 0)
    else:
        outcome.written += writes
    runtime.note_deletes([w.where for w in writes if w.kind == "delete" or w.clears])


def place(
    write: RowWrite,
    error: HBaseORMError,
    outcome: Outcome,
    *,
    batch_rows: int,
    is_begun: bool = False,
) -> None:
    """Enter a write that failed: not written, or unknown.

    A batch is not atomic: when it fails for one row, the others may be written or not. Neither is
    a write of two requests of which the first was answered. What is no error of the gateway comes
    before a request is sent.
    """
    is_refused = isinstance(error, _REFUSED_AT_THE_DOOR) or not isinstance(error, GatewayError)
    is_whole = batch_rows == 1 or is_refused
    certain = is_whole and not is_begun and not isinstance(error, ConnectionLostError)
    (outcome.not_written if certain else outcome.unknown).append((write, error))


def _emit_guarded(writes: Sequence[RowWrite], runtime: Runtime, outcome: Outcome) -> None:
    """Send guarded rows side by side, and again those whose unique value another may have left.

    A row refused for its unique value was not written. While others of the round were, one of them
    may have been the owner.
    """
    todo = _permitted(writes, runtime, outcome)
    while todo:
        protocols = [guarded_protocol(write, runtime) for write in todo]
        # What a row is given is the best guess at what it had.
        results = runtime.run_many(protocols, [write.size_bytes for write in todo])
        ended = list(zip(todo, results, strict=True))
        taken = [write for write, result in ended if _is_taken(result)]
        again = taken if len(taken) < len(todo) else []
        _place_guarded([one for one in ended if not again or not _is_taken(one[1])], outcome)
        todo = again


def _permitted(
    writes: Sequence[RowWrite], runtime: Runtime, outcome: Outcome
) -> Sequence[RowWrite]:
    """Renew the leases that have run out, once a table; return the writes whose lease runs."""
    tables = {write.bound.schema.table: write for write in reversed(writes)}
    stale = {table: w for table, w in tables.items() if not runtime.catalog.is_fresh(table)}
    if not stale:
        return writes
    renewals = [_renew_lease(table, write.key, runtime) for table, write in stale.items()]
    ended = zip(stale, runtime.run_many(renewals), strict=True)
    refused = {table: result.error for table, result in ended if result.error is not None}
    permitted: list[RowWrite] = []
    for write in writes:
        error = refused.get(write.bound.schema.table)
        if error is None:
            permitted.append(write)
        else:
            outcome.not_written.append((write, error))
    return permitted


def _is_taken(result: Ended[WriteOutcome]) -> bool:
    return isinstance(result.error, UniqueViolationError)


def _place_guarded(ended: Sequence[tuple[RowWrite, Ended[WriteOutcome]]], outcome: Outcome) -> None:
    for write, result in ended:
        if result.error is None:
            outcome.written.append(acknowledged(write, result.value))
        elif isinstance(result.error, HBaseORMError):
            place(write, result.error, outcome, batch_rows=1)
        else:  # a fault of a codec or of this library: the other rows are told apart all the same
            outcome.unknown.append((write, result.error))


def guarded_protocol(write: RowWrite, runtime: Runtime) -> Protocol[WriteOutcome]:
    """Return the protocol that writes one guarded row, its catalog lease renewed as needed."""
    history = History()
    write.tries.append(history)
    return guarded_change(write.bound, change_of(write), runtime, history)


def guarded_change(
    bound: BoundModel, change: RowChange, runtime: Runtime, history: History | None = None
) -> Protocol[WriteOutcome]:
    """Change one guarded row, the catalog lease renewed as needed.

    Args:
        bound: The row's model.
        change: What is done to the row.
        runtime: What is known of the catalog.
        history: Where to note what is sent.

    Raises:
        SchemaError: The model's indexes are not those that the catalog knows.
        HBaseORMError: As `write_row` does.
    """
    guarded = bound.guarded
    if guarded is None:
        raise AssertionError(bound)
    history = history or History()
    for renewals_left in reversed(range(RENEWALS)):
        entry = runtime.catalog.entry(guarded.table) or (
            yield from _renew_lease(guarded.table, change.row, runtime)
        )
        check_indexes(bound, entry)
        target, context = kept_table(bound, entry), runtime.context_under(entry.epoch)
        try:
            return (yield from write_row(target, change, context, history))
        except CatalogLeaseError:
            runtime.catalog.forget(guarded.table)
            if not renewals_left:
                raise
    raise AssertionError(change)  # the last renewal returned or raised


def _renew_lease(table: str, row: bytes, runtime: Runtime) -> Protocol[CatalogEntry]:
    try:
        return (yield from runtime.catalog.refresh(table))
    except ConnectionLostError as error:
        raise RetryableError(
            "the row was not written: the catalog could not be read",
            table=table,
            row=row,
            fix="write it again",
        ) from error
