"""Requests that read and write rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from hbase_orm.ops.operation import Operation
from hbase_orm.ops.ranges import KeyRange
from hbase_orm.ops.rows import FirstRows, Row, ScannerId, StoredVersion


@dataclass(frozen=True, slots=True)
class GetRows(Operation[list[Row | None]]):
    """Read rows by key. The answer has one item for each key, in order; None for an absent row.

    Attributes:
        columns: The columns or whole families to read; empty means everything.
        before_ms: Read only cells with a timestamp before this; None means all.
        from_ms: Read only cells with this timestamp or a later one. Values above 0 need Thrift2.
        is_timeline: Whether a replica of a region may answer. Its answers are `StaleRow` objects,
            also for rows that it does not have. Needs Thrift2.
    """

    table: str
    keys: tuple[bytes, ...]
    columns: tuple[bytes, ...] = ()
    before_ms: int | None = None
    from_ms: int = 0
    is_timeline: bool = False


@dataclass(frozen=True, slots=True)
class GetVersions(Operation[tuple[StoredVersion, ...]]):
    """Read several versions of one row's cells, newest first within a column.

    Attributes:
        max_versions: The largest number of versions of a column.
        raw: Whether to return tombstones and deleted cells too. Needs Thrift2 (attribute `_raw_`).
    """

    table: str
    key: bytes
    columns: tuple[bytes, ...] = ()
    max_versions: int = 1
    raw: bool = False


@dataclass(frozen=True, slots=True)
class GetVersionsOfRows(Operation[list[tuple[StoredVersion, ...]]]):
    """Read several versions of the cells of several rows, in few calls. Needs Thrift2.

    The answer has one item for each key, in order. Each item is like the answer of `GetVersions`,
    and empty for an absent row.
    """

    table: str
    keys: tuple[bytes, ...]
    columns: tuple[bytes, ...] = ()
    max_versions: int = 1
    raw: bool = False

    def of(self, key: bytes) -> GetVersions:
        """Return the `GetVersions` request for one of the rows."""
        return GetVersions(self.table, key, self.columns, self.max_versions, self.raw)


@dataclass(frozen=True, slots=True)
class Scan:
    """The description of what a scanner reads.

    Attributes:
        key_range: The range of row keys; `start` is the low end, included, also in a reverse scan.
        columns: The columns or whole families to read; empty means everything.
        filter: A filter in HBase's filter language, or None.
        reverse: Whether rows are returned in descending order of their keys.
        caching_rows: The number of rows that the gateway fetches from a region server per call.
        before_ms: Read only cells with a timestamp before this; None means all.
        from_ms: Read only cells with this timestamp or a later one. Values above 0 need Thrift2.
        is_timeline: Whether replicas of regions may answer. Their rows are `StaleRow` objects.
            Needs Thrift2.
    """

    table: str
    key_range: KeyRange = field(default_factory=KeyRange)
    columns: tuple[bytes, ...] = ()
    filter: bytes | None = None
    reverse: bool = False
    caching_rows: int = 1000
    before_ms: int | None = None
    from_ms: int = 0
    is_timeline: bool = False

    def after(self, key: bytes) -> Scan:
        """Return the scan of the rows that come after the row with this key in this scan."""
        whole = self.key_range
        rest = KeyRange(whole.start, key) if self.reverse else KeyRange(key + b"\x00", whole.stop)
        return replace(self, key_range=rest)


@dataclass(frozen=True, slots=True)
class OpenScanner(Operation[ScannerId]):
    """Open a scanner; it must be closed with `CloseScanner` unless it expired.

    Attributes:
        scan: What is read.
        wanted_rows: How many rows will be fetched at most, 1 or more; None if that is not known.
    """

    scan: Scan
    wanted_rows: int | None = None


@dataclass(frozen=True, slots=True)
class FetchRows(Operation[list[Row]]):
    """Read the next rows of a scanner, at most `count`. Only an empty answer means the end.

    The gateway raises ScannerExpiredError if the scanner's lease expired, the server was restarted,
    or the connection that opened the scanner was closed.

    Attributes:
        scanner: The scanner.
        count: The largest number of rows.
        share: The part of the read's time limit that this request may use, from 0 to 1. The read
            keeps the remaining time for another attempt in case this request gets no answer.
    """

    scanner: ScannerId
    count: int
    share: float = field(default=1.0, compare=False)


@dataclass(frozen=True, slots=True)
class ReadFirstRows(Operation[FirstRows]):
    """Read the first rows of a scan in one call, which opens and closes the scanner itself.

    At most `count` rows are returned, and fewer if they are large; none, or few, do not mean the
    end. Needs Thrift2.
    """

    scan: Scan
    count: int


@dataclass(frozen=True, slots=True)
class CloseScanner(Operation[None]):
    """Close a scanner on the server; do nothing if the scanner does not exist any more."""

    scanner: ScannerId


@dataclass(frozen=True, slots=True)
class Put:
    """One cell to write.

    An empty `value` is stored as an empty cell. With `timestamp_ms` None the server sets the
    timestamp.
    """

    column: bytes
    value: bytes
    timestamp_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """A delete of one column of a row, or of a whole family if `column` is only a family.

    All versions with timestamps up to `timestamp_ms`, included, are deleted. None means the
    server's time.
    """

    column: bytes
    timestamp_ms: int | None = None


@dataclass(frozen=True, slots=True)
class RowMutation:
    """Changes of one row.

    Attributes:
        deletes: The cells to delete; empty for a put.
        puts: The cells to write.
        ttl_ms: The time to live of the cells in `puts`, in milliseconds. None means that only the
            TTL of their family applies.
    """

    row: bytes
    puts: tuple[Put, ...] = ()
    deletes: tuple[Delete, ...] = ()
    ttl_ms: int | None = None


@dataclass(frozen=True, slots=True)
class MutateRows(Operation[None]):
    """Write many rows of one table. Each row is written atomically, by either puts or deletes.

    The batch is not atomic: after an error some rows may be written. A batch with puts and deletes
    of the same row is refused. HBase would run all puts first, and the deletes would hide them.
    """

    table: str
    mutations: tuple[RowMutation, ...]


@dataclass(frozen=True, slots=True)
class PutRows(Operation[None]):
    """Put cells into the same columns of many rows of one table; faster than `MutateRows`.

    Each row is atomic, the batch is not: after an error some rows may be written. If a row is given
    twice, the later values win.

    Attributes:
        columns: The columns of the values of each row, all different.
        rows: For each row, its key and then one value for each column. None means no cell. At least
            one value of a row must not be None.
        timestamp_ms: The timestamp of all cells; None lets the server set it.
    """

    table: str
    columns: tuple[bytes, ...]
    rows: tuple[tuple[bytes | None, ...], ...]
    timestamp_ms: int | None = None

    def as_mutations(self) -> MutateRows:
        """Return a `MutateRows` request that puts the same cells."""
        return MutateRows(self.table, tuple(map(self._mutation, self.rows)))

    def _mutation(self, row: tuple[bytes | None, ...]) -> RowMutation:
        pairs = zip(self.columns, row[1:], strict=True)
        cells = [(column, value) for column, value in pairs if value is not None]
        puts = tuple([Put(column, value, self.timestamp_ms) for column, value in cells])
        return RowMutation(row[0] or b"", puts=puts)


@dataclass(frozen=True, slots=True)
class StampedRows:
    """Rows with the same columns, in which each cell has its own timestamp.

    Attributes:
        columns: The columns of the values of each row; a column with several versions is repeated.
        rows: For each row, its key and then one value for each column.
        stamps: For each row, the timestamp of each value in milliseconds.
    """

    columns: tuple[bytes, ...]
    rows: tuple[tuple[bytes, ...], ...]
    stamps: tuple[tuple[int, ...], ...]

    def mutations(self) -> Iterator[RowMutation]:
        """Yield a mutation for each row that puts the same cells."""
        for (key, *values), stamps in zip(self.rows, self.stamps, strict=True):
            yield RowMutation(key, tuple(map(Put, self.columns, values, stamps)))


@dataclass(frozen=True, slots=True)
class PutStampedRows(Operation[None]):
    """Put cells with their own timestamps into many rows; faster than `MutateRows`. Needs Thrift2.

    Each row is atomic, the batch is not: after an error some rows may be written. It may be sent
    again, because every cell has a timestamp.
    """

    table: str
    groups: tuple[StampedRows, ...]

    def as_mutations(self) -> MutateRows:
        """Return a `MutateRows` request that puts the same cells."""
        return MutateRows(
            self.table, tuple(row for each in self.groups for row in each.mutations())
        )


@dataclass(frozen=True, slots=True)
class MutateRow(Operation[None]):
    """Change one row atomically. A mutation with both puts and deletes needs Thrift2."""

    table: str
    mutation: RowMutation


@dataclass(frozen=True, slots=True)
class CheckAndMutate(Operation[bool]):
    """Change one row atomically if a comparison of one column is true. Needs Thrift2.

    The answer is True if the comparison was true and the row was changed. The answer False does not
    prove that the row is unchanged. HBase's Thrift gateway repeats a request after its own timeout.
    The second attempt then compares with the change that the first attempt made.

    The comparison is `stored operator expected`, in unsigned lexicographic order. If `expected` is
    empty, the only operator is "==", which then matches an absent or empty cell. If `expected` is
    not empty, an absent cell makes every comparison false, also "!=".
    """

    table: str
    column: bytes
    expected: bytes
    mutation: RowMutation
    operator: Literal["==", "!=", "<", "<=", ">", ">="] = "=="


@dataclass(frozen=True, slots=True)
class Increment(Operation[dict[bytes, int]]):
    """Increment counters of one row; the answer has the new values by column. Never sent twice."""

    table: str
    row: bytes
    amounts: Mapping[bytes, int]


@dataclass(frozen=True, slots=True)
class Append(Operation[dict[bytes, bytes]]):
    """Append bytes to cells of one row; the answer has the new values by column.

    Never sent twice.
    """

    table: str
    row: bytes
    values: Mapping[bytes, bytes]
