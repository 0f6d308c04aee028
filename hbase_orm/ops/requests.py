"""Requests that read and write rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from hbase_orm.ops.operation import Operation
from hbase_orm.ops.ranges import KeyRange
from hbase_orm.ops.rows import Row, ScannerId, StoredVersion


@dataclass(frozen=True, slots=True)
class GetRows(Operation[list[Row | None]]):
    """Read rows by key. The answer has one entry a key, in order; None where no cell is visible.

    Attributes:
        columns: Columns or bare families; empty means everything.
        before_ms: Only cells with a timestamp below this; None means all.
        from_ms: Only cells with this timestamp or a higher one. Above 0 it needs Thrift2.
    """

    table: str
    keys: tuple[bytes, ...]
    columns: tuple[bytes, ...] = ()
    before_ms: int | None = None
    from_ms: int = 0


@dataclass(frozen=True, slots=True)
class GetVersions(Operation[tuple[StoredVersion, ...]]):
    """Read several versions of one row's cells, newest first within a column.

    Attributes:
        max_versions: At most so many versions a column.
        raw: Show tombstones and masked cells too. Needs Thrift2 (attribute `_raw_`).
    """

    table: str
    key: bytes
    columns: tuple[bytes, ...] = ()
    max_versions: int = 1
    raw: bool = False


@dataclass(frozen=True, slots=True)
class GetVersionsOfRows(Operation[list[tuple[StoredVersion, ...]]]):
    """`GetVersions` for several rows, in their order, in few calls. Needs Thrift2."""

    table: str
    keys: tuple[bytes, ...]
    columns: tuple[bytes, ...] = ()
    max_versions: int = 1
    raw: bool = False

    def of(self, key: bytes) -> GetVersions:
        """Return the request for one row."""
        return GetVersions(self.table, key, self.columns, self.max_versions, self.raw)


@dataclass(frozen=True, slots=True)
class Scan:
    """What a scanner reads.

    Attributes:
        key_range: Which row keys; in a reverse scan too, `start` is the low end, included.
        columns: Columns or bare families; empty means everything.
        filter: A filter in HBase's filter language, or None.
        reverse: Rows come in descending key order.
        caching_rows: Rows fetched by one call.
        before_ms: Only cells with a timestamp below this; None means all.
        from_ms: Only cells with this timestamp or a higher one. Above 0 it needs Thrift2.
    """

    table: str
    key_range: KeyRange = field(default_factory=KeyRange)
    columns: tuple[bytes, ...] = ()
    filter: bytes | None = None
    reverse: bool = False
    caching_rows: int = 1000
    before_ms: int | None = None
    from_ms: int = 0


@dataclass(frozen=True, slots=True)
class OpenScanner(Operation[ScannerId]):
    """Open a scanner; it must be closed with `CloseScanner` unless it expired."""

    scan: Scan


@dataclass(frozen=True, slots=True)
class FetchRows(Operation[list[Row]]):
    """Read the next rows of a scanner, at most `count`. Only an empty answer means the end.

    Raises (from the driver): ScannerExpiredError when the lease has run out, the server was
    restarted, or the connection that opened it is gone.

    Attributes:
        scanner: The scanner.
        count: At most so many rows.
        share: How much of the time for one read it may take, from 0 to 1: the rest is for reading
            on in another way if it is not answered.
    """

    scanner: ScannerId
    count: int
    share: float = field(default=1.0, compare=False)


@dataclass(frozen=True, slots=True)
class CloseScanner(Operation[None]):
    """Release a scanner on the server. A scanner that is gone already is no error."""

    scanner: ScannerId


@dataclass(frozen=True, slots=True)
class Put:
    """One cell to write.

    An empty `value` is stored as such. `timestamp_ms` None leaves it to the server.
    """

    column: bytes
    value: bytes
    timestamp_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """Cells to delete: a column, or with a bare family name the whole family.

    `timestamp_ms` T deletes every version at or below T; None means the server's now.
    """

    column: bytes
    timestamp_ms: int | None = None


@dataclass(frozen=True, slots=True)
class RowMutation:
    """Changes of one row.

    Attributes:
        deletes: Deletions; an empty tuple in a pure put.
        puts: Cells to write.
        ttl_ms: Cell TTL of all puts, milliseconds; None means only the family's.
    """

    row: bytes
    puts: tuple[Put, ...] = ()
    deletes: tuple[Delete, ...] = ()
    ttl_ms: int | None = None


@dataclass(frozen=True, slots=True)
class MutateRows(Operation[None]):
    """Write many rows of one table; each row is all puts or all deletes, and each row is atomic.

    The batch is not atomic: after an error some rows may be written. Mixing puts and deletes of
    one row in one batch is refused: HBase would run all puts first and lose them to the deletes.
    """

    table: str
    mutations: tuple[RowMutation, ...]


@dataclass(frozen=True, slots=True)
class PutRows(Operation[None]):
    """Put cells of many rows of one table that share their columns: `MutateRows` in less time.

    Each row is atomic, the batch is not: after an error some rows may be written. Of a row that
    stands twice the later values win.

    Attributes:
        columns: What the values of each row are put to, all different.
        rows: Of each row its key and then a value for each column; None puts no cell there, and
            one value at least is not None.
        timestamp_ms: Of all cells; None leaves it to the server.
    """

    table: str
    columns: tuple[bytes, ...]
    rows: tuple[tuple[bytes | None, ...], ...]
    timestamp_ms: int | None = None

    def as_mutations(self) -> MutateRows:
        """Return the request that puts the same cells, row by row."""
        return MutateRows(self.table, tuple(map(self._mutation, self.rows)))

    def _mutation(self, row: tuple[bytes | None, ...]) -> RowMutation:
        pairs = zip(self.columns, row[1:], strict=True)
        cells = [(column, value) for column, value in pairs if value is not None]
        puts = tuple([Put(column, value, self.timestamp_ms) for column, value in cells])
        return RowMutation(row[0] or b"", puts=puts)


@dataclass(frozen=True, slots=True)
class MutateRow(Operation[None]):
    """Change one row atomically, deletes and puts together. Needs Thrift2 when it has both."""

    table: str
    mutation: RowMutation


@dataclass(frozen=True, slots=True)
class CheckAndMutate(Operation[bool]):
    """Change one row atomically if `column` compares so with `expected`; answers whether it did.

    Bytes compare unsigned from the left: `stored operator expected`. HBase takes an empty
    `expected` for "absent": with "==" it matches a missing and an empty cell, with another operator
    it is refused. A missing cell fails every other comparison, "!=" too. Needs Thrift2.
    False may also mean "applied": the gateway itself repeats after its own time-out, and the second
    try then sees the first (INDEX protocol, "answers").
    """

    table: str
    column: bytes
    expected: bytes
    mutation: RowMutation
    operator: Literal["==", "!=", "<", "<=", ">", ">="] = "=="


@dataclass(frozen=True, slots=True)
class Increment(Operation[dict[bytes, int]]):
    """Add to counters of one row; answers the new values by column. Never sent twice."""

    table: str
    row: bytes
    amounts: Mapping[bytes, int]


@dataclass(frozen=True, slots=True)
class Append(Operation[dict[bytes, bytes]]):
    """Append bytes to cells of one row; answers the new values by column. Never sent twice."""

    table: str
    row: bytes
    values: Mapping[bytes, bytes]
