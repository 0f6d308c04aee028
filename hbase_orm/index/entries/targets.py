"""The arguments of a guarded write: the table, its indexes and the change, all in bytes.

`GuardedTable` and `IndexTarget` are made once for a model; `RowChange` once for a write. Which
entries a row has is decided by `GuardedTable.entries` alone, for writes, repairs and verifications.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Literal, NamedTuple

from hbase_orm.errors import CodecError, ConfigurationError, RowKeyError, ValidationError
from hbase_orm.index.entries.compiled import KeysOfFlat
from hbase_orm.index.entries.guard_cell import ABSENT_NONCE, GuardCell
from hbase_orm.ops import Cell, MutateRows, Protocol, RetryPolicy

GUARD_FAMILY: Final = b"_"
GUARD_COLUMN: Final = b"_:g"
CLEARED_COLUMN: Final = b"_:t"
"""Without guards, an empty cell that remembers when columns of the row were cleared last."""

ENTRY_FAMILY: Final = b"d"
ENTRY_COLUMN: Final = b"d:"
"""A plain entry is this cell alone, empty; in a covering index its value is the flag."""

MARKER_VALUE: Final = b"x"
VERSION_BYTES: Final = 8


class EntryKind(Enum):
    """What the row of an index table holds beside its key."""

    PLAIN = "one empty cell: the key says everything"
    COVERING = "a flag, and once it is verified copies of the row's columns"
    CLAIM = "which row owns the values that are the key"


class Entry(NamedTuple):
    """One index entry: a row of an index table."""

    table: str
    key: bytes
    kind: EntryKind = EntryKind.PLAIN


@dataclass(frozen=True, slots=True)
class IndexTarget:
    """One secondary index.

    Attributes:
        name: The index's name in the model.
        table: The index table.
        columns: The data columns that its entries derive from, those of its condition among them.
        entry_keys: The keys of the entries that a row with this key and these cells has, none for a
            row that the index leaves out. Cells of columns outside `columns` may be missing. Of a
            unique index it is the row of the claim: the values, without a row key. Only
            `GuardedTable` calls it, and explains its errors.
        unique: Whether no two rows may have the same values.
        included: Data columns whose bytes an entry repeats, with a flag whether that is verified.
        maintained_by_writes: Whether ordinary writes keep the entries; False leaves them to builds
            and repairs.
        keys_of_flat: Returns, for columns, a quicker way to the keys of rows that have only these;
            None where there is none.
    """

    name: str
    table: str
    columns: frozenset[bytes]
    entry_keys: Callable[[bytes, Mapping[bytes, bytes]], frozenset[bytes]]
    unique: bool = False
    included: tuple[bytes, ...] = ()
    maintained_by_writes: bool = True
    keys_of_flat: Callable[[Sequence[bytes]], KeysOfFlat | None] = field(
        default=lambda _: None, compare=False, repr=False
    )

    def __post_init__(self) -> None:
        """Refuse a unique index that includes columns."""
        if self.unique and self.included:
            raise ConfigurationError(
                "a unique index cannot include columns", index=self.name, included=self.included
            )

    @property
    def entry_kind(self) -> EntryKind:
        """What its entries hold."""
        if self.unique:
            return EntryKind.CLAIM
        return EntryKind.COVERING if self.included else EntryKind.PLAIN

    def entry(self, key: bytes) -> Entry:
        """Return the entry with this key."""
        return Entry(self.table, key, self.entry_kind)


@dataclass(frozen=True, slots=True)
class GuardedTable:
    """A table whose rows carry guards.

    Attributes:
        table: The table of the rows.
        families: The data families, without the guard's own.
        anchor: The first required plain column: a row exists exactly when it is visible. None
            if every column may be absent.
        marker: The column that each put of a model without an anchor writes; None otherwise.
        counters: The counter columns: never read for an index, never written here.
        columns: All plain columns of the model.
        indexes: The secondary indexes.
        expires: Whether a TTL applies to some data family. Each write then renews the anchor,
            the indexed columns and all entries, so that no key changes by partial expiry.
        version: The column that counts the row's writes, or None.
        is_lww: Whether rows carry no guards, and the last writer wins: see
            `index.protocol.last_writer_wins`.
        maintained: The indexes whose entries ordinary writes keep.
        indexed_columns: All columns that maintained indexes are over or include.
        has_claims: Whether a maintained index is unique: writes of its values claim them.
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
    maintained: tuple[IndexTarget, ...] = field(init=False, compare=False, repr=False)
    indexed_columns: frozenset[bytes] = field(init=False, compare=False, repr=False)
    has_claims: bool = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse a table in which no column shows whether a row exists; compute the rest once."""
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
        """What to read to know whether a row exists: the anchor, or the data families."""
        return frozenset(self.families) if self.anchor is None else frozenset((self.anchor,))

    def exists(self, cells: Mapping[bytes, object]) -> bool:
        """Return whether a row with these visible data cells exists; counters alone make none."""
        if self.anchor is not None:
            return self.anchor in cells
        return any(column not in self.counters for column in cells)

    def entries(self, row: bytes, cells: Mapping[bytes, bytes]) -> frozenset[Entry]:
        """Return the index entries that writes must keep of a row with these data cells.

        Raises:
            ValidationError, RowKeyError, CorruptRowError: As `needed_keys` does.
        """
        return frozenset(
            index.entry(key)
            for index in self.maintained
            for key in self.needed_keys(index, row, cells)
        )

    def needed_keys(
        self, index: IndexTarget, row: bytes, cells: Mapping[bytes, bytes]
    ) -> frozenset[bytes]:
        """Return the keys that one index must hold of a row; none where the row does not exist.

        Raises:
            ValidationError: A value does not fit the index's own codec.
            RowKeyError: An entry's key is longer than HBase stores.
            CorruptRowError: A stored value does not decode.
        """
        try:
            return index.entry_keys(row, cells) if self.exists(cells) else frozenset()
        except CodecError as error:
            raise ValidationError(
                "the value does not fit the codec of an index",
                **{**error.details, "index": index.name, "table": self.table, "row": row},
                fix="store a value that fits, or give the index a wider codec",
            ) from error
        except RowKeyError as error:
            details = {**error.details, "index": index.name, "table": self.table, "row": row}
            raise RowKeyError(error.text, **details, fix=error.fix) from error

    def entry_keys(
        self, index: IndexTarget, row: bytes, cells: Mapping[bytes, bytes]
    ) -> frozenset[bytes]:
        """Return the keys of one index's entries of a row as it is stored.

        None where the row does not exist, or where its values fit no entry: nobody can have put
        one.

        Raises:
            CorruptRowError: A stored value does not decode.
        """
        try:
            return index.entry_keys(row, cells) if self.exists(cells) else frozenset()
        except (CodecError, RowKeyError):
            return frozenset()

    def read_columns(self, change: RowChange) -> tuple[bytes, ...]:
        """Return what a write of `change` reads first: guard, existence, keys, what it touches."""
        if change.kind in {"delete", "replace"}:
            return (*self.families, GUARD_COLUMN)
        counted = frozenset(filter(None, (self.version,)))
        touched = change.puts.keys() | change.clears | change.reads | counted
        return with_guard(self.existence_columns | self.indexed_columns | touched)


def with_guard(columns: frozenset[bytes]) -> tuple[bytes, ...]:
    """Return `columns` and the guard's column, without columns of families that are read whole."""
    families = {column for column in columns if b":" not in column}
    wanted = {c for c in columns if c in families or family_of(c) not in families}
    return (*sorted(wanted), GUARD_COLUMN)


def family_of(column: bytes) -> bytes:
    """Return the family of `family:qualifier`."""
    return column.partition(b":")[0]


@dataclass(frozen=True, slots=True)
class RowBefore:
    """A row as a write read it.

    Attributes:
        guard_bytes: The guard's stored value; empty where there is none.
        guard: The guard, decoded; None where there is none, or it does not decode.
        cells: The data cells read.
        newest_seen_ms: The newest timestamp that a read showed; every later write must be above.
    """

    guard_bytes: bytes
    guard: GuardCell | None
    cells: Mapping[bytes, Cell]
    newest_seen_ms: int

    def written_ms(self, columns: Collection[bytes]) -> int:
        """Return when the row was written: by its guard, or else the newest of these cells."""
        if self.guard is not None:
            return self.guard.timestamp_ms
        return max((self.cells[c].timestamp_ms for c in columns if c in self.cells), default=0)

    @property
    def has_corrupt_guard(self) -> bool:
        """Whether there is a guard that does not decode."""
        return self.guard is None and bool(self.guard_bytes)

    @property
    def nonce(self) -> bytes:
        """The nonce of the write that made this state."""
        return ABSENT_NONCE if self.guard is None else self.guard.nonce

    @property
    def values(self) -> dict[bytes, bytes]:
        """The values by column."""
        return {column: cell.value for column, cell in self.cells.items()}


@dataclass(frozen=True, slots=True)
class RowChange:
    """What a guarded write does to one row.

    Attributes:
        row: The row key.
        puts: New values by column.
        clears: Columns that become absent.
        kind: "put" leaves other columns as they are and may make the row; "update" is refused
            where the row does not exist, "insert" where it does; "delete" removes the row, its
            counters included; "replace" leaves of it what it puts, and nothing else; "reindex"
            changes no data, puts all entries of the row again and renews its guard, or is refused
            where the row does not exist.
        ttl_ms: Refused when given: see `check_change`.
        reads: Columns or bare families that `decide` looks at, besides those that are changed.
        decide: Called in each try with the row as it was read; returns what to make of it, or
            raises, and then nothing is sent. What it decides holds for that row alone: it is
            never done again on top of a try whose outcome is unknown.
    """

    row: bytes
    puts: Mapping[bytes, bytes] = field(default_factory=dict[bytes, bytes])
    clears: frozenset[bytes] = frozenset()
    kind: Literal["put", "update", "insert", "delete", "replace", "reindex"] = "put"
    ttl_ms: int | None = None
    reads: frozenset[bytes] = frozenset()
    decide: Callable[[RowBefore], RowChange] | None = None

    @property
    def is_relative(self) -> bool:
        """Whether it depends on the row that it is made to."""
        return self.kind == "insert" or self.decide is not None


def check_change(target: GuardedTable, change: RowChange) -> None:
    """Refuse a change that the protocol cannot carry; nothing has been sent.

    Raises:
        ConfigurationError: The change has a TTL of its own, which would cover the guard too: a late
            write of another process could land on top of a guard that has expired.
        ValidationError: The change touches a counter of a row that exists, the version column or a
            column outside the data families; puts and clears one column; or deletes or reindexes
            the row and writes columns besides.
    """
    if change.ttl_ms is not None:
        raise ConfigurationError(
            "a row with a guard cannot have its own TTL",
            table=target.table,
            row=change.row,
            fix="give the column family a ttl",
        )
    if change.kind in {"delete", "reindex"} and (change.puts or change.clears):
        raise ValidationError(
            f"a {change.kind} cannot write columns", table=target.table, row=change.row
        )
    if not change.clears and change.puts.keys() <= target.columns:
        return  # the usual case, worth a quick answer
    for column in change.puts.keys() | change.clears:
        _check_column(target, change, column)


def _check_column(target: GuardedTable, change: RowChange, column: bytes) -> None:
    if column in target.counters and change.kind != "insert":
        raise ValidationError(
            "a counter can only be incremented", table=target.table, column=column
        )
    if column == target.version:
        raise ValidationError("a version column cannot be set", table=target.table, column=column)
    if family_of(column) not in target.families:
        raise ValidationError(
            "the column is in no data family of the table", table=target.table, column=column
        )
    if column in change.puts and column in change.clears:
        raise ValidationError("a column is both put and cleared", table=target.table, column=column)


GUARDED_RETRIES: Final = RetryPolicy(
    attempts=5, first_pause_s=0.005, longest_pause_s=0.1, factor=None
)
"""For the requests of guarded rows; add a jitter where several processes may write."""


@dataclass(frozen=True, slots=True)
class GuardContext:
    """What the protocol takes from outside: clocks, randomness and the catalog's permission.

    Attributes:
        now_ms: The wall clock, milliseconds since the epoch; never behind the servers' if the
            engine can help it. Correctness does not depend on it.
        nonce: Eight random bytes, new at each call.
        retries: How often requests that may be repeated are sent, and the pauses between tries.
        permit: Called with the data table before each try and again before each
            check-and-mutate: returns this process's epoch for the table, or raises
            CatalogLeaseError when it may not write guarded rows now.
        renew: Reads the catalog again before a fence if the lease has ended; None lets it fail.
        put_off: Takes the deletes of dead entries over, to be sent at any time after the write, or
            never; None leaves them to the write itself.
    """

    now_ms: Callable[[], int]
    nonce: Callable[[], bytes]
    retries: RetryPolicy
    permit: Callable[[str], int]
    renew: Callable[[], Protocol[None]] | None = None
    put_off: Callable[[Iterable[MutateRows]], None] | None = None


@dataclass(frozen=True, slots=True)
class WriteOutcome:
    """An acknowledged guarded write.

    Attributes:
        timestamp_ms: The timestamp of its cells and entries.
        guard: The guard's new bytes.
        cells: The row's data cells that the write read or wrote, as they are after it.
        rounds: How often the row was read and tried; above 1 after conflicts.
        is_tidy: Whether all dead index entries are deleted. Those left are found by the repair.
    """

    timestamp_ms: int
    guard: bytes
    cells: Mapping[bytes, bytes]
    rounds: int
    is_tidy: bool
