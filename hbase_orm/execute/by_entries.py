"""Reads rows through an index: reads its entries in order, and checks each against its row.

An entry may be stale: its row may be deleted, or have other values now. So an entry counts only if
its row still has the entry. A verified entry of a covering index has copies of its row's included
columns, so the row is not looked up. Stale and unverified entries are emitted together with the
rows, so that the entries can be repaired.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from hbase_orm.errors import CodecError, CorruptRowError
from hbase_orm.execute.merge import merge
from hbase_orm.execute.reader import Pace, RangeReader, pace_of
from hbase_orm.execute.steps import DoubtfulEntry, Emit, Rows, through
from hbase_orm.index.entries.index_entries import base_key_of, index_target
from hbase_orm.index.entries.possible_entries import IsPossible, possible_entries
from hbase_orm.index.entries.targets import ENTRY_COLUMN, GuardedTable, IndexTarget
from hbase_orm.index.entries.unknown_members import UnknownValueError
from hbase_orm.index.protocol.claims import CLAIM_COLUMN, StoredClaim, corrupt_claim
from hbase_orm.index.protocol.covering import trusted_cells
from hbase_orm.ops import Cell, CorruptRow, GetRows, KeyRange, Row, Scan, ask
from hbase_orm.query import IndexPlan
from hbase_orm.query.planning.candidates import SALT_BYTES, decoded_columns
from hbase_orm.schema import IndexSchema, TableSchema


@dataclass(slots=True)
class IndexedRow(Row):
    """A row that was read through an index; `entry` is the key of its index entry."""

    entry: bytes


def look_up(plan: IndexPlan, guarded: GuardedTable) -> Rows:
    """Read index entries, get their rows, and emit the rows that still have their entry.

    A `CorruptRow` is emitted for a row whose entries cannot be computed, because an indexed value
    does not decode, and for a claim of a unique value that does not decode.

    A row is emitted only once, even if several of its entries are read. This happens if the row
    has several entries in the index, or changes during the read.
    """
    paces: list[Pace] = []
    look_ups = _LookUp(plan, guarded, paces)
    return through(_entries(plan, paces), look_ups.answer)


def _entries(plan: IndexPlan, paces: list[Pace]) -> Rows:
    """Read the index entries of a plan, and emit them in the plan's order."""
    if plan.keys:
        return _claims(plan)
    if not plan.buckets:
        return _in_turn(_reader(plan, plan.ranges, paces))
    readers = [_reader(plan, ranges, paces) for ranges in plan.buckets]
    return merge(readers, skipped_bytes=SALT_BYTES, reverse=plan.reverse, emit=Emit)


def _claims(plan: IndexPlan) -> Rows:
    rows = yield from ask(GetRows(plan.index.table, plan.keys))
    yield Emit([row for row in rows if row is not None])


def _in_turn(reader: RangeReader) -> Rows:
    while (yield from reader.fill()):
        yield Emit(reader.take())


def _reader(plan: IndexPlan, ranges: Sequence[KeyRange], paces: list[Pace]) -> RangeReader:
    pace = pace_of(plan)
    paces.append(pace)
    # The copies of included columns are requested only if the plan is answered from them.
    is_repeated = bool(plan.index.included) and not plan.is_covered
    scans = [
        Scan(
            plan.index.table,
            key_range,
            columns=(ENTRY_COLUMN,) if is_repeated else (),
            reverse=plan.reverse,
            caching_rows=pace.caching_rows,
        )
        for key_range in ranges
    ]
    return RangeReader(scans, pace)


def _target_of(plan: IndexPlan, guarded: GuardedTable) -> IndexTarget:
    """Return the plan's index as an `IndexTarget`, with the index table that the plan reads."""
    for target in guarded.indexes:
        if (target.name, target.table) == (plan.index.name, plan.index.table):
            return target
    return index_target(plan.schema, plan.index)


@dataclass(frozen=True, slots=True)
class _Comparison:
    """The result of comparing an entry with its row.

    Attributes:
        has_entry: Whether the row has the entry, or may have it.
        keys: The keys of the row's entries; only this entry's key if they cannot be computed.
        is_certain: Whether the row's entries can be computed, so that the entry may be repaired.
    """

    has_entry: bool
    keys: frozenset[bytes] = frozenset()
    is_certain: bool = True


def _at_entry(error: CorruptRowError, entry: bytes) -> CorruptRowError:
    at_entry = CorruptRowError(error.text, fix=error.fix, **{**error.details, "entry": entry})
    at_entry.__cause__ = error
    return at_entry


class _LookUp:
    """Looks up the rows of index entries, and emits the rows that still have their entry."""

    def __init__(self, plan: IndexPlan, guarded: GuardedTable, paces: Sequence[Pace]) -> None:
        self._plan = plan
        self._guarded = guarded
        self._paces = paces
        self._index = _target_of(plan, guarded)
        self._base_key = owner_of(plan.index, self._index)
        self._covered = covered_row(plan.schema, plan.index) if plan.is_covered else None
        self._was_given = was_given(plan, self._index) if plan.within and plan.passed else None
        self._seen: set[bytes] = set()

    def answer(self, emit: Emit) -> Rows:
        """Emit the rows that the entries in `emit` belong to; look up one batch after another."""
        entries, most = emit.rows, max(self._plan.fetches.most, 1)
        for start in range(0, len(entries), most):
            yield from self._rows_with(entries[start : start + most])

    def _rows_with(self, entries: Sequence[Row]) -> Rows:
        covered = [None if self._covered is None else self._covered(entry) for entry in entries]
        owners = {
            entry.key: self._owner(entry)
            for entry, row in zip(entries, covered, strict=True)
            if row is None
        }
        keys = tuple(dict.fromkeys(key for key in owners.values() if isinstance(key, bytes)))
        rows: Sequence[Row | None] = ()
        if keys:
            plan = self._plan
            request = GetRows(plan.schema.table, keys, plan.fetched)
            rows = yield from plan.schema.storage.get(request, plan.families)
        rows_by_key = dict(zip(keys, rows, strict=True))
        self._estimate_row_size(rows)
        kept: list[Row] = []
        doubtful: list[DoubtfulEntry] = []
        for entry, row in zip(entries, covered, strict=True):
            if row is not None:
                kept += self._first_seen(row)
                continue
            owner = owners[entry.key]
            if owner is None:
                continue  # no row can have this entry
            if isinstance(owner, CorruptRowError):
                kept.append(CorruptRow(b"", {}, owner))
                continue
            compared = self._compared(entry.key, rows_by_key[owner])
            if isinstance(compared, CorruptRowError):
                kept += self._first_seen(CorruptRow(owner, {}, compared))
                continue
            if compared.has_entry:
                kept += self._counted(rows_by_key[owner], entry.key, compared.keys)
            if compared.is_certain and (self._covered is not None or not compared.has_entry):
                doubtful.append(self._doubtful(entry, owner, is_stale=not compared.has_entry))
        yield Emit(kept, tuple(doubtful))

    def _owner(self, entry: Row) -> bytes | CorruptRowError | None:
        try:
            return self._base_key(entry)
        except CorruptRowError as error:
            return error

    def _doubtful(self, entry: Row, owner: bytes, *, is_stale: bool) -> DoubtfulEntry:
        return DoubtfulEntry(self._index.name, entry.key, _newest_ms(entry), owner, is_stale)

    def _estimate_row_size(self, rows: Sequence[Row | None]) -> None:
        present = [row for row in rows if row is not None]
        for pace in self._paces:
            pace.estimate_row_size(present)

    def _compared(self, entry: bytes, row: Row | None) -> _Comparison | CorruptRowError:
        """Compare an entry with its row; return an error if a value of the row is corrupt."""
        if row is None:
            return _Comparison(has_entry=False)
        values = {column: cell.value for column, cell in row.cells.items()}
        try:
            keys = self._guarded.entry_keys(self._index, row.key, values)
            return _Comparison(has_entry=entry in keys, keys=keys)
        except UnknownValueError:
            return self._possible(entry, row.key, values)
        except CorruptRowError as error:
            return _at_entry(error, entry)

    @cached_property
    def _is_possible(self) -> IsPossible:
        return possible_entries(self._plan.schema, self._plan.index)

    def _possible(
        self, entry: bytes, row: bytes, values: Mapping[bytes, bytes]
    ) -> _Comparison | CorruptRowError:
        """Compare an entry with a row that has a value which only a newer program knows.

        The entry may be stale, if it has another unknown value. Then the row is read nevertheless:
        the conditions are checked on the row.
        """
        try:
            may_have = self._is_possible(entry, row, values)
        except CorruptRowError as error:
            return _at_entry(error, entry)
        return _Comparison(has_entry=may_have, keys=frozenset((entry,)), is_certain=False)

    def _counted(self, row: Row | None, entry: bytes, keys: frozenset[bytes]) -> list[Row]:
        """Return the row in a list; an empty list if an earlier entry or page returned the row."""
        assert row is not None
        if self._was_given is not None and self._was_given(row, keys):
            return []
        return self._first_seen(IndexedRow(row.key, row.cells, entry))

    def _first_seen(self, row: Row) -> list[Row]:
        if row.key in self._seen:
            return []
        self._seen.add(row.key)
        return [row]


def owner_of(index: IndexSchema, target: IndexTarget) -> Callable[[Row], bytes | None]:
    """Return a function from an index entry to the key of the row that it belongs to.

    The function returns None if the entry's key does not decode, because no row can have such an
    entry. It also returns None for an entry of a unique index (a claim) without an owner. It raises
    CorruptRowError for a claim that does not decode, because some row may own the value.
    """
    base_key = base_key_of(index)

    def owner(entry: Row) -> bytes | None:
        try:
            own_key = base_key(entry.key)
        except CorruptRowError:
            return None
        if not index.unique:
            return own_key
        stored = StoredClaim.of(entry.cells.get(CLAIM_COLUMN))
        if stored.is_corrupt:
            raise corrupt_claim(target, entry.key, stored)
        return None if stored.claim is None else stored.claim.owner

    return owner


def _newest_ms(entry: Row) -> int:
    return max((cell.timestamp_ms for cell in entry.cells.values()), default=0)


def was_given(plan: IndexPlan, index: IndexTarget) -> Callable[[Row, frozenset[bytes]], bool]:
    """Return a function that tests whether an earlier page returned a row.

    The arguments of the function are a row and the keys of the row's entries. It returns True if
    both conditions are true:

    - The pages so far have passed the place of one of these entries.
    - No indexed cell of the row is newer than the first page.

    A row with a newer cell may have got the entry after the pages had passed its place. So such a
    row may be returned twice, but is never missing.
    """
    passed, skipped = plan.passed, SALT_BYTES if plan.index.salt else 0
    if passed is None:
        raise AssertionError(plan)
    last = passed.key[skipped:]

    def has_passed(key: bytes) -> bool:
        is_before = key >= last if plan.reverse else key <= last
        return is_before and any(key in one for one in plan.within)

    def given(row: Row, keys: frozenset[bytes]) -> bool:
        cells = [row.cells[column] for column in index.columns & row.cells.keys()]
        is_young = any(cell.timestamp_ms >= passed.since_ms for cell in cells)
        return not is_young and any(has_passed(key[skipped:]) for key in keys)

    return given


def covered_row(schema: TableSchema, index: IndexSchema) -> Callable[[Row], Row | None]:
    """Return a function that makes a row from an entry of a covering index.

    The row has these cells:

    - the included columns;
    - the indexed columns that the entry's key contains;
    - the cell that shows that the row exists.

    The function returns None if the entry is not verified or does not decode. The row must then be
    looked up.
    """
    target: IndexTarget = index_target(schema, index)
    decoded = decoded_columns(index)
    parts = index.layout.parts
    begin = SALT_BYTES if index.salt else 0
    mark = schema.marker if schema.anchor is None else schema.anchor.column
    decoders = [(column.column, column.codec.decode) for column in index.included]
    decode_row_key = schema.row_layout.decode_parts

    def row_of(entry: Row) -> Row | None:
        copied = trusted_cells(target.included, entry.cells)
        if copied is None:
            return None
        timestamp_ms = entry.cells[ENTRY_COLUMN].timestamp_ms
        cells = {column: Cell(value, timestamp_ms) for column, value in copied.items()}
        position = begin
        try:
            for name, decode in decoders:
                if name in copied:
                    decode(copied[name])
            for part in parts:
                value, position = part.take(entry.key, position)
                column = decoded.get(part.name)
                if column is not None and value is not None:
                    cells[column.column] = Cell(column.codec.encode(value), timestamp_ms)
            decode_row_key(entry.key[position:])
        except (CodecError, CorruptRowError):
            return None  # the row itself is looked up, if there is one
        if position == len(entry.key):
            return None
        if mark is not None:  # a verified entry shows that its row exists
            cells.setdefault(mark, Cell(b"", timestamp_ms))
        return IndexedRow(entry.key[position:], cells, entry.key)

    return row_of
