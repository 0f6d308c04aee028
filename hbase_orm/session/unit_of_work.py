"""What a flush will write, worked out before anything is sent.

An object that is new puts its non-None cells; one that was loaded puts the cells that differ from
the loaded ones and clears those that became None. Several writes of one row keep their order: they
go into rounds, and a round is sent when the one before it was answered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from hbase_orm.errors import FlushConflictError, FlushError, HBaseORMError, VersionConflictError
from hbase_orm.gateway.checks import CELL_OVERHEAD_BYTES
from hbase_orm.index.guard import History
from hbase_orm.index.targets import WriteOutcome
from hbase_orm.model import Model
from hbase_orm.model.base import set_origin
from hbase_orm.model.deferring import cleared, note_written, refuse_unloaded
from hbase_orm.model.entries import settle
from hbase_orm.ops import MAX_ROW_KEY_BYTES, Cell, Row
from hbase_orm.session.binding import BoundModel
from hbase_orm.session.mutable import changed_cells, loaded_entries
from hbase_orm.session.origins import refuse_foreign

# However an index frames or repeats them, a row key and values of so few bytes in all make entries
# that HBase stores.
SURELY_SHORT_BYTES: Final = MAX_ROW_KEY_BYTES // 8


@dataclass(frozen=True, slots=True)
class RowWrite:
    """One row to write.

    Attributes:
        bound: Its model.
        obj: Its object, or None for a write by key alone.
        key: Its row key.
        kind: "put" changes cells, "update" those of a row that was loaded, "insert" those of an
            absent row; "delete" removes the row, "replace" leaves nothing of it but its puts.
        puts: Values by column.
        clears: Columns that become absent.
        cells: The row's cells afterwards, as far as the object knows them.
        timestamp_ms: The timestamp of what is written; None where the server gives it.
        ttl_ms: How long the cells live that are put; None means as long as their family's.
        version: The version cell that the row must still have; None for any.
        size_bytes: How much the row is on its way: its cells as HBase stores them, or its key
            alone.
        tries: What tries of the same guarded write have sent: what they wrote is no other's. Each
            notes a request before it is sent, so that one that was interrupted is here as well.
    """

    bound: BoundModel
    obj: Model | None
    key: bytes
    kind: Literal["put", "update", "insert", "delete", "replace"]
    puts: Mapping[bytes, bytes] = field(default_factory=dict[bytes, bytes])
    clears: frozenset[bytes] = frozenset()
    cells: Mapping[bytes, bytes] = field(default_factory=dict[bytes, bytes])
    timestamp_ms: int | None = None
    ttl_ms: int | None = None
    version: Cell | None = None
    tries: list[History] = field(default_factory=list[History], compare=False)
    size_bytes: int = field(init=False)

    @property
    def where(self) -> tuple[str, bytes]:
        """The table and the row key."""
        return self.bound.schema.table, self.key

    def __post_init__(self) -> None:
        """Measure it, once."""
        changes = len(self.puts) + len(self.clears)
        contents = len(b"".join(self.puts)) + sum(map(len, self.puts.values()))
        size_bytes = (changes or 1) * (CELL_OVERHEAD_BYTES + len(self.key)) + contents
        object.__setattr__(self, "size_bytes", size_bytes)

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to send."""
        return self.kind in {"put", "update"} and not self.puts and not self.clears


@dataclass(frozen=True, slots=True)
class FlushReport:
    """What a flush did.

    Attributes:
        written: How many rows were acknowledged.
    """

    written: int = 0


@dataclass(slots=True)
class Outcome:
    """How the writes of a flush ended, each with table and row key.

    Attributes:
        written: Acknowledged.
        not_written: Certainly not written, with the reason.
        unknown: Sent and not answered, or ended by an error that is none of this library's.
        settled: How many of those acknowledged the session has noted.
    """

    written: list[RowWrite] = field(default_factory=list)
    not_written: list[tuple[RowWrite, Exception]] = field(default_factory=list)
    unknown: list[tuple[RowWrite, Exception]] = field(default_factory=list)
    settled: int = 0

    @property
    def unexpected(self) -> Exception | None:
        """The first error that is none of this library's."""
        errors = (error for _, error in self.unknown)
        return next((error for error in errors if not isinstance(error, HBaseORMError)), None)


def loaded_row(obj: Model) -> Row | None:
    """Return the row an object was read from or last written as; None for a new object."""
    row: Row | None = obj._row  # noqa: SLF001 - the model's own state
    return row


def write_of(
    bound: BoundModel, obj: Model, kind: Literal["put", "insert", "delete", "replace"]
) -> RowWrite:
    """Return what writes `obj` now.

    Raises:
        ValidationError: A value does not fit its codec, the object lacks deferred fields of the
            row that it shall be, or its changes are those of another engine's row.
        RowKeyError: The row key cannot be made, or that of an index entry.
    """
    if kind in {"put", "delete"}:
        refuse_foreign(bound, obj)
    key = bound.key(obj)
    loaded = loaded_row(obj)
    if kind == "delete":
        return RowWrite(bound, obj, key, "delete", version=_loaded_version(bound, loaded))
    is_whole = loaded is None or kind in {"insert", "replace"}
    if is_whole:
        refuse_unloaded(obj)
    cells = bound.cells(obj, key)
    check_entries(bound, key, cells)
    if loaded is None or is_whole:
        return RowWrite(bound, obj, key, kind, cells, frozenset(), cells)
    old = loaded.cells
    marker = bound.schema.marker
    differing = {
        column: value
        for column, value in cells.items()
        if column != marker and (column not in old or old[column].value != value)
    }
    puts = changed_cells(bound.schema, old, differing) if bound.is_mutable else differing
    known = {column.column for column in bound.schema.columns}
    clears = frozenset(column for column in known if column in old and column not in cells)
    if bound.schema.deferred:
        clears = clears.union(cleared(bound.schema, obj.__dict__))
    if bound.schema.dynamics:
        clears |= loaded_entries(bound.schema, obj.__dict__, old) - cells.keys()
    if marker is not None and (puts or (clears and marker not in old)):
        puts[marker] = cells[marker]
    version = _loaded_version(bound, loaded)
    return RowWrite(bound, obj, key, "update", puts, clears, cells, version=version)


def _loaded_version(bound: BoundModel, loaded: Row | None) -> Cell | None:
    """Return the version cell of a row that was loaded; an empty one where it had none."""
    version = bound.schema.version
    if version is None or loaded is None:
        return None
    return loaded.cells.get(version.column, Cell(b"", 0))


def acknowledged(write: RowWrite, outcome: WriteOutcome | None) -> RowWrite:
    """Return a guarded write with what its acknowledgement tells: timestamp and version."""
    version = write.bound.schema.version
    if outcome is None or version is None or version.column not in outcome.cells:
        return write
    cells = {**write.cells, version.column: outcome.cells[version.column]}
    return replace(write, cells=cells, timestamp_ms=outcome.timestamp_ms)


def check_entries(bound: BoundModel, key: bytes, cells: Mapping[bytes, bytes]) -> None:
    """Refuse a row whose index entries HBase cannot store, before anything is sent.

    Raises:
        RowKeyError: The row key of an entry is too long.
    """
    if bound.guarded is None:
        return
    if len(key) + sum(map(len, cells.values())) > SURELY_SHORT_BYTES:
        bound.guarded.entries(key, cells)


def rounds_of(writes: Iterable[RowWrite]) -> Sequence[Sequence[RowWrite]]:
    """Return the writes in rounds: a row stands once in a round, its writes in their order."""
    writes = list(writes)
    if len({write.where for write in writes}) == len(writes):
        return [writes] if writes else []
    rounds: list[list[RowWrite]] = []
    seen: dict[tuple[str, bytes], int] = {}
    for write in writes:
        number = seen.get(write.where, 0)
        seen[write.where] = number + 1
        if number == len(rounds):
            rounds.append([])
        rounds[number].append(write)
    return rounds


def flush_error(outcome: Outcome) -> FlushError:
    """Return the error of a flush whose rows were not all written."""
    ended = {
        "written": [write.where for write in outcome.written],
        "not_written": described(outcome.not_written),
        "unknown": described(outcome.unknown),
    }
    for _, error in outcome.not_written:
        if isinstance(error, VersionConflictError):
            return FlushConflictError(
                "not all rows were written: some were changed since they were loaded",
                **{**error.details, **ended},
                fix="session.refresh(obj) or expunge it, decide, and flush again: what was written "
                "is not sent twice",
            )
    return FlushError(
        "not all rows were written",
        **ended,
        fix="mend the cause and flush again: what was written is not sent twice",
    )


def described(pairs: Iterable[tuple[RowWrite, Exception]]) -> list[tuple[str, bytes, Any]]:
    """Return (table, row key, error) of writes that did not end well."""
    return [(*write.where, error) for write, error in pairs]


def keep_row(write: RowWrite) -> None:
    """Give the object of an acknowledged put the row that it now has."""
    obj = write.obj
    if obj is None:
        return
    loaded = loaded_row(obj)
    is_whole = write.kind in {"insert", "replace"}
    kept = {} if loaded is None or is_whole else dict(loaded.cells)
    kept = {column: cell for column, cell in kept.items() if column not in write.clears}
    kept.update({c: Cell(value, write.timestamp_ms or 0) for c, value in write.cells.items()})
    obj._row = Row(write.key, kept)  # noqa: SLF001 - the model's own state
    set_origin(obj, write.bound.origin)
    schema = write.bound.schema
    for counter in schema.counters if is_whole else ():
        obj.__dict__.pop(counter.name, None)
    note_written(schema, obj.__dict__)
    version = schema.version
    if version is not None and version.column in kept:
        obj.__dict__[version.name] = version.codec.decode(kept[version.column].value)
    if write.bound.is_mutable:
        settle(schema, obj.__dict__)
