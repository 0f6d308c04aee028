"""What crosses the gateway: requests, answers and the ranges they speak of, all in bytes.

A request is a frozen value that names its answer's type: `Operation[R]`. Protocols of more than
one request are generators that yield requests and are sent answers (`ask` types one exchange), so
the blocking driver, an asyncio driver and an exhaustive scheduler run the same code. This module
knows neither models nor Thrift.

Columns are `b"family:qualifier"`; in reads a bare `b"family"` asks for the whole family.
Timestamps are milliseconds since the epoch; None in a write leaves the timestamp to the server.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, NamedTuple, TypeVar, cast

from hbase_orm.errors import RowKeyError

R = TypeVar("R")

# HConstants.MAX_ROW_LENGTH is Short.MAX_VALUE; 32768 bytes are refused, 32767 stored (HBase 2.6).
MAX_ROW_KEY_BYTES = 32_767

# HBase's own client, within the gateways, finds a row's region by `table,key,99999999999999` in
# hbase:meta, which must itself be a row key. A longer one works only while the region happens to be
# known; otherwise the request hangs until its deadline (HBase 2.6).
_LOCATOR_BYTES = 16

# hbase.client.keyvalue.maxsize and hbase.server.keyvalue.maxsize: 10 MiB a cell, key included.
MAX_CELL_BYTES = 10_485_760


@dataclass(frozen=True, slots=True)
class KeyRange:
    """A range of row keys: `start` included, `stop` excluded.

    Attributes:
        start: The least row key of the range; empty means the table's beginning.
        stop: The least row key after the range; None means the table's end.
    """

    start: bytes = b""
    stop: bytes | None = None

    @classmethod
    def prefix(cls, prefix: bytes) -> KeyRange:
        r"""Return the range of every row key that starts with `prefix`.

        The stop key is the shortest byte string greater than all of them: trailing `0xFF`
        bytes are dropped and the last remaining byte is incremented. A prefix of only `0xFF`
        bytes has no such string, so the range then runs to the end of the table.

        Raises:
            RowKeyError: `prefix` is longer than the longest row key HBase stores.

        Examples:
            >>> KeyRange.prefix(b"a\xff")
            KeyRange(start=b'a\xff', stop=b'b')
            >>> KeyRange.prefix(b"\xff\xff")
            KeyRange(start=b'\xff\xff', stop=None)
        """
        check_row_key_length(prefix)
        return cls(prefix, after_prefix(prefix))

    @classmethod
    def single(cls, key: bytes) -> KeyRange:
        r"""Return the range that holds `key` and no other row key.

        Examples:
            >>> KeyRange.single(b"a")
            KeyRange(start=b'a', stop=b'a\x00')
        """
        return cls(key, key + b"\x00")

    @property
    def is_empty(self) -> bool:
        """Say whether no row key lies in the range."""
        return self.stop is not None and self.start >= self.stop

    def __contains__(self, key: bytes) -> bool:
        """Say whether `key` lies in the range."""
        return self.start <= key and (self.stop is None or key < self.stop)

    def intersect(self, other: KeyRange) -> KeyRange:
        """Return the keys that lie in both ranges, as a range."""
        stops = [stop for stop in (self.stop, other.stop) if stop is not None]
        return KeyRange(max(self.start, other.start), min(stops) if stops else None)


def after_prefix(prefix: bytes) -> bytes | None:
    r"""Return the least byte string above every string with this prefix, or None if there is none.

    The naive "add one" of `b"\xff"` gives `b"\x01\x00"`, which sorts *below* it.
    """
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else None


def check_row_key_length(key: bytes) -> None:
    """Refuse a row key that HBase would not store.

    Raises:
        RowKeyError: `key` is longer than 32,767 bytes.
    """
    if len(key) > MAX_ROW_KEY_BYTES:
        raise RowKeyError(
            "the row key is longer than HBase stores",
            length_bytes=len(key),
            limit_bytes=MAX_ROW_KEY_BYTES,
            starts_with=key[:16],
            fix="shorten a component, or put a Digest of it in the key",
        )


def longest_row_key_bytes(table: str) -> int:
    """Return how long a row key of a table may be, so that its region is always found.

    Examples:
        >>> longest_row_key_bytes("ns:flights")
        32741
    """
    return MAX_ROW_KEY_BYTES - _LOCATOR_BYTES - len(table.encode())


# --- answers --------------------------------------------------------------------------------------


class Cell(NamedTuple):
    """One value of one column: the newest version in a read."""

    value: bytes
    timestamp_ms: int


@dataclass(slots=True)
class Row:
    """A row as a read returned it: only the columns asked for, newest version of each.

    Not frozen for speed: a scan makes one for each row. Nobody changes it.
    """

    key: bytes
    cells: dict[bytes, Cell]


class CellVersion(NamedTuple):
    """One stored version of a column, or, in a raw read, a tombstone.

    `kind` is "put", or for tombstones "delete" (that version only), "delete_column" (that
    version and older), "delete_family" (the whole family, that timestamp and older),
    "delete_family_version" (the family's cells of exactly that timestamp).
    """

    column: bytes
    timestamp_ms: int
    kind: Literal["put", "delete", "delete_column", "delete_family", "delete_family_version"]
    value: bytes


class ScannerId(NamedTuple):
    """An open scanner. Only the gateway that opened it can read on; opaque to everyone else."""

    number: int
    owner: object


# --- requests -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Operation(Generic[R]):
    """A request whose answer is an `R`."""


@dataclass(frozen=True, slots=True)
class Together(Operation[tuple[Any, ...]]):
    """Several independent requests; a driver may send them at once. Answers keep positions.

    If some fail, the driver still waits for all, then raises the first failure by position.
    """

    operations: tuple[Operation[Any], ...]


@dataclass(frozen=True, slots=True)
class Sleep(Operation[None]):
    """Wait for `seconds`; the driver's clock decides what that means."""

    seconds: float


@dataclass(frozen=True, slots=True)
class GetRows(Operation[list[Row | None]]):
    """Read rows by key. The answer has one entry a key, in order; None where no cell is visible.

    Attributes:
        columns: Columns or bare families; empty means everything.
        before_ms: Only cells with a timestamp below this; None means all.
    """

    table: str
    keys: tuple[bytes, ...]
    columns: tuple[bytes, ...] = ()
    before_ms: int | None = None


@dataclass(frozen=True, slots=True)
class GetVersions(Operation[tuple[CellVersion, ...]]):
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
class Scan:
    """What a scanner reads.

    Attributes:
        key_range: Which row keys; in a reverse scan too, `start` is the low end, included.
        columns: Columns or bare families; empty means everything.
        filter: A filter in HBase's filter language, or None.
        reverse: Rows come in descending key order.
        caching_rows: Rows fetched by one call.
        before_ms: Only cells with a timestamp below this; None means all.
    """

    table: str
    key_range: KeyRange = field(default_factory=KeyRange)
    columns: tuple[bytes, ...] = ()
    filter: bytes | None = None
    reverse: bool = False
    caching_rows: int = 1000
    before_ms: int | None = None


@dataclass(frozen=True, slots=True)
class OpenScanner(Operation[ScannerId]):
    """Open a scanner; it must be closed with `CloseScanner` unless it expired."""

    scan: Scan


@dataclass(frozen=True, slots=True)
class FetchRows(Operation[list[Row]]):
    """Read the next rows of a scanner, at most `count`. Only an empty answer means the end.

    Raises (from the driver): ScannerExpiredError when the lease has run out, the server was
    restarted, or the connection that opened it is gone.
    """

    scanner: ScannerId
    count: int


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
        ttl_ms: Cell TTL of all puts, milliseconds; None means the family's alone.
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
class MutateRow(Operation[None]):
    """Change one row atomically, deletes and puts together. Needs Thrift2 when it has both."""

    table: str
    mutation: RowMutation


@dataclass(frozen=True, slots=True)
class CheckAndMutate(Operation[bool]):
    """Change one row atomically if `column` holds exactly `expected`; say whether it did.

    HBase takes an empty `expected` for "absent": it matches a missing and an empty cell.
    Needs Thrift2. False may also mean "applied": the gateway itself repeats after its own
    time-out, and the second try then sees the first (INDEX protocol, "answers").
    """

    table: str
    column: bytes
    expected: bytes
    mutation: RowMutation


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


# --- administration -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FamilyDescriptor:
    """A column family as HBase knows it.

    Attributes:
        versions: Most versions kept a column (1 or more).
        min_versions: Versions kept although their TTL has run out.
        ttl_s: Time to live in seconds; None means for ever.
        compression: NONE, SNAPPY, LZ4, ZSTD or GZ, if the server has the codec.
        bloom: NONE, ROW or ROWCOL.
        block_encoding: NONE, PREFIX, DIFF, FAST_DIFF or ROW_INDEX_V1.
        keep_deleted_cells: FALSE, TRUE or TTL.
        block_size_bytes: Size of a block in a store file.
        scope: 1 to replicate the family to other clusters, 0 not to.
    """

    name: bytes
    versions: int = 1
    min_versions: int = 0
    ttl_s: int | None = None
    compression: str = "NONE"
    bloom: str = "ROW"
    block_encoding: str = "NONE"
    keep_deleted_cells: str = "FALSE"
    block_size_bytes: int = 65_536
    block_cache: bool = True
    in_memory: bool = False
    cache_data_on_write: bool = False
    evict_on_close: bool = False
    scope: int = 0


@dataclass(frozen=True, slots=True)
class TableDescriptor:
    """A table as HBase knows it: `namespace:name` (the default namespace is left out).

    Attributes:
        attributes: Free table attributes, and those HBase reads.
        durability: USE_DEFAULT, SKIP_WAL, ASYNC_WAL, SYNC_WAL or FSYNC_WAL.
    """

    name: str
    families: tuple[FamilyDescriptor, ...]
    attributes: Mapping[str, str] = field(default_factory=dict)
    durability: str = "USE_DEFAULT"
    region_replication: int = 1


@dataclass(frozen=True, slots=True)
class Region:
    """One region: keys from `start` (included) to `stop` (excluded; None is the table's end)."""

    start: bytes
    stop: bytes | None
    server: str


@dataclass(frozen=True, slots=True)
class Ping(Operation[None]):
    """Ask for something small that every working gateway can answer."""


@dataclass(frozen=True, slots=True)
class ListTables(Operation[list[str]]):
    """Name all user tables, namespaces included unless default, sorted."""


@dataclass(frozen=True, slots=True)
class DescribeTable(Operation[TableDescriptor]):
    """Describe one table. Thrift1 shows less: fields it does not know keep their defaults."""

    table: str


@dataclass(frozen=True, slots=True)
class CreateTable(Operation[None]):
    """Create a table, pre-split at `split_keys` (non-empty, distinct). Needs Thrift2.

    Raises (from the driver): TableExistsError, NamespaceNotFoundError.
    """

    descriptor: TableDescriptor
    split_keys: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class DropTable(Operation[None]):
    """Disable and delete a table with all its data."""

    table: str


@dataclass(frozen=True, slots=True)
class DisableTable(Operation[None]):
    """Disable a table: reads and writes are refused until it is enabled."""

    table: str


@dataclass(frozen=True, slots=True)
class EnableTable(Operation[None]):
    """Enable a disabled table."""

    table: str


@dataclass(frozen=True, slots=True)
class AddFamily(Operation[None]):
    """Add a column family to an existing table, online. Needs Thrift2."""

    table: str
    family: FamilyDescriptor


@dataclass(frozen=True, slots=True)
class ListRegions(Operation[list[Region]]):
    """List a table's regions in key order."""

    table: str


@dataclass(frozen=True, slots=True)
class ListNamespaces(Operation[list[str]]):
    """Name all namespaces, sorted. Needs Thrift2."""


@dataclass(frozen=True, slots=True)
class CreateNamespace(Operation[None]):
    """Create a namespace. Needs Thrift2."""

    namespace: str


@dataclass(frozen=True, slots=True)
class DropNamespace(Operation[None]):
    """Delete an empty namespace. Needs Thrift2."""

    namespace: str


# --- protocols ------------------------------------------------------------------------------------

Protocol = Generator[Operation[Any], Any, R]
"""A sans-I/O protocol: yields requests, is sent their answers (or thrown errors), returns an R."""


def ask(operation: Operation[R]) -> Generator[Operation[Any], Any, R]:
    """Yield one request and return its answer, typed.

    Used as `rows = yield from ask(GetRows(...))`.
    """
    return cast("R", (yield operation))


def ask_all(operations: Sequence[Operation[R]]) -> Generator[Operation[Any], Any, tuple[R, ...]]:
    """Yield independent requests at once and return their answers in order."""
    return cast("tuple[R, ...]", (yield Together(tuple(operations))))
