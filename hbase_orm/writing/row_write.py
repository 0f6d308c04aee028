"""The writes of a flush, computed before anything is sent.

For a new object, all fields that are not None are put. For a loaded object, changed fields are put,
and columns whose field became None are cleared. Several writes of one row keep their order, because
each is in a different round. A round is sent when all answers to the previous round have arrived.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.in_place import changed_cells, loaded_entries
from hbase_orm.codecs.counters import Long
from hbase_orm.errors import CodecError, VersionConflictError
from hbase_orm.gateway.checks import CELL_OVERHEAD_BYTES
from hbase_orm.index.entries.targets import RowBefore, RowChange, WriteOutcome
from hbase_orm.index.protocol.guarded_write import History
from hbase_orm.model import Model
from hbase_orm.model.fields.deferring import cleared, note_written, refuse_unloaded
from hbase_orm.model.mapping.entries import settle
from hbase_orm.objects.ownership import refuse_foreign
from hbase_orm.ops import MAX_ROW_KEY_BYTES, Cell, Protocol, Row

# A row key and values of so few bytes in all make index entries that are short enough for HBase,
# however an index encodes or repeats them.
SURELY_SHORT_BYTES: Final = MAX_ROW_KEY_BYTES // 8


@dataclass(frozen=True, slots=True)
class RowWrite:
    """One write of one row.

    Attributes:
        bound: The bound model.
        obj: The object, or None for a write without an object.
        key: The row key.
        kind: "put" changes cells. "update" changes cells of a loaded row. "insert" writes a row
            that must not exist. "delete" deletes the row. "replace" writes `puts` and deletes all
            other cells of the row.
        puts: The values to put, by column.
        clears: The columns to delete.
        cells: The row's values after the write, by column. Columns that the object does not have
            are left out.
        timestamp_ms: The timestamp of the cells; None if the server sets it.
        ttl_ms: The time to live of the put cells, in milliseconds. None means the TTL of their
            family.
        version: The version cell that the row must still have; None if it is not checked.
        size_bytes: The size of the puts and clears as HBase stores them. A write without puts and
            clears, such as a delete, has the size of one empty cell.
        tries: The earlier attempts of the same guarded write. Their changes do not count as changes
            by another writer. An attempt is recorded before its request is sent.
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
    def row_id(self) -> tuple[str, bytes]:
        """The table and the row key."""
        return self.bound.schema.table, self.key

    def __post_init__(self) -> None:
        """Compute the size once."""
        changes = len(self.puts) + len(self.clears)
        contents = len(b"".join(self.puts)) + sum(map(len, self.puts.values()))
        size_bytes = (changes or 1) * (CELL_OVERHEAD_BYTES + len(self.key)) + contents
        object.__setattr__(self, "size_bytes", size_bytes)

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to send."""
        return self.kind in {"put", "update"} and not self.puts and not self.clears

    @property
    def has_after_hook(self) -> bool:
        """Whether an `after_*` hook is called when the write is acknowledged."""
        obj = self.obj
        return obj is not None and type(obj).__hooks__.has_after_write and not self.is_idle


def write_of(
    bound: BoundModel, obj: Model, kind: Literal["put", "insert", "delete", "replace"]
) -> Protocol[RowWrite]:
    """Return the write of `obj`; give numbers to new names in its key.

    Raises:
        ValidationError: A value does not fit its codec. Or the object lacks deferred fields that
            the row needs. Or the object's changes belong to a row of another engine.
        RowKeyError: The row key, or the key of an index entry, cannot be computed.
    """
    if obj.__state__.row is not None and kind in {"put", "delete"}:
        refuse_foreign(bound, obj)
    key = bound.keys.known_of(obj)
    if key is None:
        key = yield from bound.keys.of(obj)
    return write_with_key(bound, obj, kind, key)


def write_with_key(
    bound: BoundModel,
    obj: Model,
    kind: Literal["put", "insert", "delete", "replace"],
    key: bytes,
) -> RowWrite:
    """Return the write of `obj`, like `write_of`, with a row key that is already known."""
    loaded = obj.__state__.row
    if kind == "delete":
        return RowWrite(bound, obj, key, "delete", version=_loaded_version(bound, loaded))
    is_whole = loaded is None or kind in {"insert", "replace"}
    if is_whole and bound.schema.deferred:
        refuse_unloaded(obj)
    cells = bound.cells(obj, key, is_whole=is_whole)
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
        clears = clears.union(cleared(obj))
    if bound.schema.dynamics:
        clears |= loaded_entries(bound.schema, obj.__dict__, old) - cells.keys()
    if marker is not None and (puts or (clears and marker not in old)):
        puts[marker] = cells[marker]
    version = _loaded_version(bound, loaded)
    return RowWrite(bound, obj, key, "update", puts, clears, cells, version=version)


def _loaded_version(bound: BoundModel, loaded: Row | None) -> Cell | None:
    """Return the version cell of a loaded row; an empty cell if the row had no version.

    None if the model has no version column, or if `loaded` is None.
    """
    version = bound.schema.version
    if version is None or loaded is None:
        return None
    return loaded.cells.get(version.column, Cell(b"", 0))


def acknowledged(write: RowWrite, outcome: WriteOutcome | None) -> RowWrite:
    """Return a guarded write with the timestamp and the version that the row has after the write.

    If the model has no version column, `write` is returned unchanged.
    """
    version = write.bound.schema.version
    if outcome is None or version is None or version.column not in outcome.cells:
        return write
    cells = {**write.cells, version.column: outcome.cells[version.column]}
    return replace(write, cells=cells, timestamp_ms=outcome.timestamp_ms)


def change_of(write: RowWrite) -> RowChange:
    """Return the change that a guarded write makes; it includes the check of the loaded version."""
    change = RowChange(write.key, write.puts, write.clears, write.kind)
    version = write.bound.schema.version
    if version is None or write.version is None:
        return change

    def decide(before: RowBefore) -> RowChange:
        check_version(write, version.column, before)
        return change

    return replace(change, reads=frozenset((version.column,)), decide=decide)


def check_version(write: RowWrite, column: bytes, before: RowBefore) -> None:
    """Raise an error if another write changed the row after it was loaded.

    Both the version and the timestamp of its cell are compared. After a delete, versions start at 1
    again, but timestamps differ.

    Raises:
        VersionConflictError: The row has another version cell, and no earlier attempt of this write
            put it.
    """
    loaded, stored = write.version, before.cells.get(column, Cell(b"", 0))
    if stored == loaded or any(before.nonce in each.sent for each in write.tries):
        return
    raise VersionConflictError(
        "the row was written since the object was loaded",
        model=write.bound.schema.model_name,
        table=write.bound.schema.table,
        row=write.key,
        loaded_version=_number(loaded),
        stored_version=_number(stored),
        fix="call session.refresh(obj) or get the row again, and decide whether to repeat the "
        "change",
    )


def _number(cell: Cell | None) -> int:
    try:
        return Long().decode(cell.value) if cell is not None and cell.value else 0
    except CodecError:
        return 0  # what another program wrote counts as no version


def check_entries(bound: BoundModel, key: bytes, cells: Mapping[bytes, bytes]) -> None:
    """Raise an error if HBase cannot store the row's index entries, before anything is sent.

    Raises:
        RowKeyError: The row key of an entry is too long.
    """
    if bound.guarded is None:
        return
    if len(key) + sum(map(len, cells.values())) > SURELY_SHORT_BYTES:
        bound.guarded.entries(key, cells)


def rounds_of(writes: Iterable[RowWrite]) -> Sequence[Sequence[RowWrite]]:
    """Return the writes in rounds, so that no round has two writes of the same row.

    The second write of a row is in the second round, and so on. The order is kept.
    """
    writes = list(writes)
    if len({write.row_id for write in writes}) == len(writes):
        return [writes] if writes else []
    rounds: list[list[RowWrite]] = []
    seen: dict[tuple[str, bytes], int] = {}
    for write in writes:
        number = seen.get(write.row_id, 0)
        seen[write.row_id] = number + 1
        if number == len(rounds):
            rounds.append([])
        rounds[number].append(write)
    return rounds


def keep_row(write: RowWrite) -> None:
    """Store the written row in the state of its object, after the write was acknowledged."""
    obj = write.obj
    if obj is None:
        return
    loaded = obj.__state__.row
    is_whole = write.kind in {"insert", "replace"}
    kept = {} if loaded is None or is_whole else dict(loaded.cells)
    kept = {column: cell for column, cell in kept.items() if column not in write.clears}
    kept.update({c: Cell(value, write.timestamp_ms or 0) for c, value in write.cells.items()})
    obj.__state__.row = Row(write.key, kept)
    obj.__state__.origin = write.bound.origin
    schema = write.bound.schema
    for counter in schema.counters if is_whole else ():
        obj.__dict__.pop(counter.name, None)
    if schema.deferred:
        note_written(obj)
    version = schema.version
    if version is not None and version.column in kept:
        obj.__dict__[version.name] = version.codec.decode(kept[version.column].value)
    if write.bound.is_mutable:
        settle(schema, obj.__dict__)
