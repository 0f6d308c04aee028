"""The arguments of a guarded write, all in bytes: the table, its indexes and the change.

`GuardedTable` and `IndexTarget` are created once for each model, a `RowChange` for each write. Only
`GuardedTable` decides which entries a row has: for writes, repairs and verifications.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from hbase_orm.errors import CodecError, ConfigurationError, RowKeyError, ValidationError
from hbase_orm.index.entries.compiled import FlatKeys
from hbase_orm.index.entries.guard_cell import ABSENT_NONCE, GuardCell
from hbase_orm.index.entries.unknown_members import refuse_unknown_code
from hbase_orm.ops import Cell, MutateRows, Protocol, RetryPolicy
from hbase_orm.schema import KnownColumns

GUARD_FAMILY: Final = b"_"
GUARD_COLUMN: Final = b"_:g"
CLEARED_COLUMN: Final = b"_:t"
"""An empty cell in rows without guards; its timestamp is the time of the last clear of a column."""

ENTRY_FAMILY: Final = b"d"
ENTRY_COLUMN: Final = b"d:"
"""The only cell of a plain entry, with an empty value; in a covering entry it holds the flag."""

MARKER_VALUE: Final = b"x"
VERSION_BYTES: Final = 8


class EntryKind(Enum):
    """What a row of an index table stores besides its key."""

    PLAIN = "one empty cell: the key has all information"
    COVERING = "a flag; if the entry is verified, also copies of the row's columns"
    CLAIM = "the key of the row that owns the values in the entry's key"


class Entry(NamedTuple):
    """One index entry: a row of an index table."""

    table: str
    key: bytes
    kind: EntryKind = EntryKind.PLAIN


def _unchanged(key: bytes) -> bytes:
    return key


@dataclass(frozen=True, slots=True)
class IndexTarget:
    """The description of one secondary index for writes.

    Attributes:
        name: The name of the index.
        table: The index table.
        columns: The data columns from which entries and the index's condition are computed.
        entry_keys: A function from a row key and the row's cells to the keys of the row's entries.
            Only the cells of `columns` are needed. A unique index has the key of the claim: the
            values without a row key. Only `GuardedTable` calls it.
        unique: Whether no two rows may have the same values.
        included: The data columns that entries copy; see `index.protocol.covering`.
        maintained_by_writes: Whether writes maintain the entries; False for a manual index.
        may_have_unknown_values: Whether newer programs may have entries of new members or codes.
        owner_of: A function from a row key to the key that claims of the row hold. They differ only
            in a table whose rows move to another one: claims hold the later key.
        row_of: The inverse of `owner_of`.
        keys_of_flat: `index.entries.compiled.keys_of_flat` for this index: a function that gets the
            columns of flat rows, and returns what makes the entry keys of many such rows, or None.
    """

    name: str
    table: str
    columns: frozenset[bytes]
    entry_keys: Callable[[bytes, Mapping[bytes, bytes]], frozenset[bytes]]
    unique: bool = False
    included: tuple[bytes, ...] = ()
    maintained_by_writes: bool = True
    may_have_unknown_values: bool = False
    owner_of: Callable[[bytes], bytes] = field(default=_unchanged, compare=False, repr=False)
    row_of: Callable[[bytes], bytes] = field(default=_unchanged, compare=False, repr=False)
    keys_of_flat: Callable[[Sequence[bytes]], FlatKeys | None] = field(
        default=lambda _: None, compare=False, repr=False
    )

    def __post_init__(self) -> None:
        """Raise an error if a unique index includes columns."""
        if self.unique and self.included:
            raise ConfigurationError(
                "a unique index cannot include columns", index=self.name, included=self.included
            )

    @property
    def entry_kind(self) -> EntryKind:
        """The kind of the index's entries."""
        if self.unique:
            return EntryKind.CLAIM
        return EntryKind.COVERING if self.included else EntryKind.PLAIN

    def entry(self, key: bytes) -> Entry:
        """Return the entry with this key."""
        return Entry(self.table, key, self.entry_kind)


@dataclass(frozen=True, slots=True)
class GuardedTable:
    """Describes a table whose rows have guards or index entries, for the functions that write it.

    Attributes:
        table: The table of the rows.
        families: The data families, without the family of the guard.
        anchor: The first required plain column, which every row has; None if there is none.
        marker: The column that each put of a model without an anchor writes; None for other models.
        counters: The counter columns, which cannot be indexed and are put only by an insert.
        known: The only columns that show that rows without an anchor exist; None: all but counters.
        columns: All plain columns of the model.
        indexes: The secondary indexes.
        expires: Whether a data family has a TTL. If so, each write puts the anchor, the indexed
            columns and the entries again, so that a row does not expire in part.
        version: The column that counts the row's writes; None if the model has none.
        is_lww: Whether rows have no guards, and the last writer wins; see
            `index.protocol.last_writer_wins`.
        keeps_dead_guards: Whether the guards of deleted rows do not expire. True while rows are
            handed over to this table, because the absence of a guard then has a meaning. Counters
            may then have timestamps of another server; see `index.protocol.attempt`.
        counter_ttls_s: The TTLs of counters' families, in seconds, by column; none without a TTL.
        floor_ms: A timestamp that every write of a row without a guard exceeds. It is not 0 in a
            table that was filled from another table, whose writers left tombstones in the index
            tables.
        maintained: The indexes whose entries writes of rows maintain.
        indexed_columns: All columns that maintained indexes use or include.
        has_claims: Whether a maintained index is unique, so that writes claim its values.
    """

    table: str
    families: tuple[bytes, ...]
    anchor: bytes | None
    marker: bytes | None
    counters: frozenset[bytes]
    columns: frozenset[bytes]
    indexes: tuple[IndexTarget, ...]
    expires: bool = False
    version: bytes | None = None
    is_lww: bool = False
    known: KnownColumns | None = None
    keeps_dead_guards: bool = False
    floor_ms: int = 0
    counter_ttls_s: Mapping[bytes, int] = field(default_factory=dict[bytes, int], hash=False)
    maintained: tuple[IndexTarget, ...] = field(init=False, compare=False, repr=False)
    indexed_columns: frozenset[bytes] = field(init=False, compare=False, repr=False)
    has_claims: bool = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Compute the derived attributes; raise an error unless there is one anchor or marker."""
        if (self.anchor is None) == (self.marker is None):
            raise ConfigurationError(
                "a guarded table needs either an anchor or a marker, but not both",
                table=self.table,
                anchor=self.anchor,
                marker=self.marker,
            )
        maintained = tuple(index for index in self.indexes if index.maintained_by_writes)
        columns = (index.columns.union(index.included) for index in maintained)
        set_ = object.__setattr__
        set_(self, "maintained", maintained)
        set_(self, "indexed_columns", frozenset[bytes]().union(*columns))
        set_(self, "has_claims", any(index.unique for index in maintained))

    def index_of(self, entry: Entry) -> IndexTarget:
        """Return the index that an entry belongs to."""
        return next(index for index in self.indexes if index.table == entry.table)

    @property
    def existence_columns(self) -> frozenset[bytes]:
        """The anchor, which shows whether a row exists; all data families if there is no anchor."""
        return frozenset(self.families) if self.anchor is None else frozenset((self.anchor,))

    def exists(self, cells: Mapping[bytes, object]) -> bool:
        """Return whether a row with these data cells exists. A row with only counters does not."""
        if self.anchor is not None:
            return self.anchor in cells
        return any(c not in self.counters and (not self.known or c in self.known) for c in cells)

    def entries(self, row: bytes, cells: Mapping[bytes, bytes]) -> frozenset[Entry]:
        """Return the index entries that a row with these data cells must have.

        Raises:
            ValidationError, RowKeyError, CorruptRowError: As for `needed_keys`.
        """
        return frozenset(
            index.entry(key)
            for index in self.maintained
            for key in self.needed_keys(index, row, cells)
        )

    def needed_keys(
        self, index: IndexTarget, row: bytes, cells: Mapping[bytes, bytes]
    ) -> frozenset[bytes]:
        """Return the keys of a row's entries in one index; empty if the row does not exist.

        Raises:
            ValidationError: A value does not fit the codec of the index.
            RowKeyError: An entry's key is longer than HBase stores.
            CorruptRowError: A stored value does not decode.
        """
        try:
            return index.entry_keys(row, cells) if self.exists(cells) else frozenset()
        except CodecError as error:
            raise ValidationError(
                "the value does not fit the codec of an index",
                **{**error.details, "index": index.name, "table": self.table, "row": row},
                fix="store a value that fits, or give the index a wider codec; if the value is one "
                "that another program has added, write the row with that program",
            ) from error
        except RowKeyError as error:
            details = {**error.details, "index": index.name, "table": self.table, "row": row}
            raise RowKeyError(error.text, **details, fix=error.fix) from error

    def entry_keys(
        self, index: IndexTarget, row: bytes, cells: Mapping[bytes, bytes]
    ) -> frozenset[bytes]:
        """Return the keys of a stored row's entries in one index, like `needed_keys`.

        If a value of the row does not fit the index, the result is empty.

        Raises:
            CorruptRowError: A stored value does not decode, or this program lacks its code.
        """
        try:
            return index.entry_keys(row, cells) if self.exists(cells) else frozenset()
        except (CodecError, RowKeyError) as error:
            refuse_unknown_code(error, table=self.table, row=row, index=index.name)
            return frozenset()

    def read_columns(self, change: RowChange) -> tuple[bytes, ...]:
        """Return the columns that a write of `change` reads first."""
        if change.kind in {"delete", "replace"}:
            return (*self.families, GUARD_COLUMN)
        counted = frozenset(filter(None, (self.version,)))
        touched = change.puts.keys() | change.clears | change.reads | counted
        return with_guard(self.existence_columns | self.indexed_columns | touched)


def with_guard(columns: AbstractSet[bytes]) -> tuple[bytes, ...]:
    """Return the columns to read: `columns` and the column of the guard.

    If `columns` has a whole family, the single columns of this family are left out.
    """
    return _with_guard(frozenset(columns))


@lru_cache(maxsize=1024)
def _with_guard(columns: frozenset[bytes]) -> tuple[bytes, ...]:
    families = {column for column in columns if b":" not in column}
    wanted = {c for c in columns if c in families or family_of(c) not in families}
    return (*sorted(wanted), GUARD_COLUMN)


def family_of(column: bytes) -> bytes:
    """Return the family of `family:qualifier`."""
    return column.partition(b":")[0]


@dataclass(frozen=True, slots=True)
class RowBefore:
    """The state of a row that a write has read.

    Attributes:
        guard_bytes: The stored value of the guard; empty if there is none.
        guard: The decoded guard; None if there is none or it does not decode.
        cells: The data cells that were read.
        newest_seen_ms: The newest timestamp that was read, or 0; later writes need a greater one.
    """

    guard_bytes: bytes
    guard: GuardCell | None
    cells: Mapping[bytes, Cell]
    newest_seen_ms: int

    def written_ms(self, columns: Collection[bytes]) -> int:
        """Return the time of the guard; without one that of the newest cell in `columns`, or 0."""
        if self.guard is not None:
            return self.guard.timestamp_ms
        return max((self.cells[c].timestamp_ms for c in columns if c in self.cells), default=0)

    @property
    def has_corrupt_guard(self) -> bool:
        """Whether there is a guard that does not decode."""
        return self.guard is None and bool(self.guard_bytes)

    @property
    def is_sealed(self) -> bool:
        """Whether the row was handed over to another table, and may not be written."""
        return self.guard is not None and self.guard.is_sealed

    @property
    def nonce(self) -> bytes:
        """The nonce of the row's last write; `ABSENT_NONCE` if the row has no decoded guard."""
        return ABSENT_NONCE if self.guard is None else self.guard.nonce

    @property
    def values(self) -> dict[bytes, bytes]:
        """The values of `cells`, by column."""
        return {column: cell.value for column, cell in self.cells.items()}


@dataclass(frozen=True, slots=True)
class RowChange:
    """The change of one row by a guarded write.

    Attributes:
        row: The row key.
        puts: The new values by column.
        clears: The columns to delete.
        kind: "put" writes columns and may create the row. "update" fails if the row does not exist.
            "insert" fails if the row exists. "replace" also deletes all columns that are not
            written. "delete" deletes the row. "reindex" puts all entries of a row again and renews
            its guard.
        ttl_ms: Must be None; see `check_change`.
        reads: The columns or whole families that `check` and `decide` need, besides `puts` and
            `clears`.
        check: A function that is called at each attempt with the row that was read. If it raises an
            error, nothing is sent. It may raise only for rows that the write itself did not change.
        decide: A function that is called at each attempt with the row that was read, and returns
            the change to make. If it raises an error, nothing is sent. A write with this function
            is not repeated if the outcome of an attempt is unknown.
    """

    row: bytes
    puts: Mapping[bytes, bytes] = field(default_factory=dict[bytes, bytes])
    clears: frozenset[bytes] = frozenset()
    kind: Literal["put", "update", "insert", "delete", "replace", "reindex"] = "put"
    ttl_ms: int | None = None
    reads: frozenset[bytes] = frozenset()
    check: Callable[[RowBefore], None] | None = None
    decide: Callable[[RowBefore], RowChange] | None = None

    @property
    def is_relative(self) -> bool:
        """Whether the change depends on the row that was read."""
        return self.kind == "insert" or self.decide is not None


GUARDED_RETRIES: Final = RetryPolicy(
    attempts=5, first_pause_s=0.005, longest_pause_s=0.1, factor=None
)
"""The retry policy for guarded rows; add a jitter where several processes may write."""


@dataclass(frozen=True, slots=True)
class GuardContext:
    """The clock, the retry policy and the functions that guarded writes use.

    Attributes:
        now_ms: The wall clock, milliseconds since 1970; correctness does not depend on it.
        nonce: A function that returns eight random bytes.
        retries: How often a request that may be repeated is sent, and the pauses in between.
        permit: A function that is called with the data table before each attempt and each
            check-and-mutate. It returns the epoch for writes, or raises CatalogLeaseError.
        renew: A function that renews an expired lease before a fence; None: it raises an error.
        put_off: A function that takes the deletes of stale entries to send them later, or None.
        take_over: A function that is called for a row without a guard, before the row is written or
            repaired. It gives the row a guard, if the row has to be handed over from another table.
            The row is then read again. None if the table takes over no rows.
    """

    now_ms: Callable[[], int]
    nonce: Callable[[], bytes]
    retries: RetryPolicy
    permit: Callable[[str], int]
    renew: Callable[[], Protocol[None]] | None = None
    put_off: Callable[[Iterable[MutateRows]], None] | None = None
    take_over: Callable[[str, bytes], Protocol[None]] | None = None


@dataclass(frozen=True, slots=True)
class WriteOutcome:
    """An acknowledged guarded write.

    Attributes:
        timestamp_ms: The timestamp of the cells and the entries.
        guard: The new value of the guard's cell; empty if the row has no guard.
        cells: The data cells that the write read or wrote, as they are after the write.
        rounds: The number of attempts; more than 1 after conflicts.
        is_tidy: Whether no delete of a stale entry failed. Deletes that were put off count as done.
            The index repair deletes the entries that are left.
    """

    timestamp_ms: int
    guard: bytes
    cells: Mapping[bytes, bytes]
    rounds: int
    is_tidy: bool
