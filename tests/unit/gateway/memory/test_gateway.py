"""What only the memory gateway has: its clock, its compactions, its limits as a simulation."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from hbase_orm.errors import ConfigurationError, RejectedError, ScannerExpiredError
from hbase_orm.gateway.base import Feature, Gateway
from hbase_orm.gateway.memory.cells import (
    ColumnCells,
    FamilyCells,
    Stored,
    VisibleVersion,
    When,
    compact,
    newest_version,
    raw_versions,
    visible_versions,
)
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.ops import (
    CloseScanner,
    CreateTable,
    Delete,
    FamilyDescriptor,
    FetchRows,
    GetRows,
    GetVersions,
    Increment,
    MutateRow,
    MutateRows,
    OpenScanner,
    Operation,
    Ping,
    Put,
    RowMutation,
    Scan,
    StoredVersion,
    TableDescriptor,
)

T0 = 1_000_000


class SetClock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now_ms = T0

    def __call__(self) -> int:
        return self.now_ms


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
def gateway(clock: SetClock) -> Iterator[MemoryGateway]:
    made = MemoryGateway(clock, scanner_lease_ms=1_000)
    families = (
        FamilyDescriptor(b"d"),
        FamilyDescriptor(b"v", versions=3),
        FamilyDescriptor(b"k", versions=3, keep_deleted_cells="TRUE"),
    )
    made.execute(CreateTable(TableDescriptor("t", families)))
    yield made
    made.close()


def _put(gateway: Gateway, column: bytes, value: bytes, ts: int | None = None) -> None:
    gateway.execute(MutateRows("t", (RowMutation(b"r", (Put(column, value, ts),)),)))


def _delete(gateway: Gateway, column: bytes, ts: int | None = None) -> None:
    gateway.execute(MutateRows("t", (RowMutation(b"r", deletes=(Delete(column, ts),)),)))


def _value(gateway: Gateway, column: bytes, before_ms: int | None = None) -> bytes | None:
    row = gateway.execute(GetRows("t", (b"r",), (column,), before_ms))[0]
    return row.cells[column].value if row else None


def _raw(gateway: Gateway) -> list[tuple[int, str]]:
    found = gateway.execute(GetVersions("t", b"r", (), 10, raw=True))
    return [(cell.timestamp_ms, cell.kind) for cell in found]


# --- the clock ------------------------------------------------------------------------------------


def test_the_clock_stamps_what_has_no_timestamp(gateway: MemoryGateway, clock: SetClock) -> None:
    clock.now_ms = 77
    _put(gateway, b"d:x", b"1")

    row = gateway.execute(GetRows("t", (b"r",)))[0]

    assert row is not None
    assert row.cells[b"d:x"].timestamp_ms == 77


def test_put_delete_put_in_one_millisecond_loses_the_last_put(
    gateway: MemoryGateway, clock: SetClock
) -> None:
    _put(gateway, b"d:x", b"1")
    _delete(gateway, b"d:x")
    _put(gateway, b"d:x", b"2")
    assert _value(gateway, b"d:x") is None

    clock.now_ms += 1
    _put(gateway, b"d:x", b"3")

    assert _value(gateway, b"d:x") == b"3"


def test_two_increments_in_one_millisecond_have_two_timestamps(gateway: MemoryGateway) -> None:
    gateway.execute(Increment("t", b"r", {b"v:n": 1}))
    gateway.execute(Increment("t", b"r", {b"v:n": 1}))

    found = gateway.execute(GetVersions("t", b"r", (b"v:n",), 3))

    assert [cell.timestamp_ms for cell in found] == [T0 + 1, T0]


def test_an_increment_keeps_what_it_overwrites_until_a_flush(gateway: MemoryGateway) -> None:
    _put(gateway, b"d:n", bytes(8), 10)
    gateway.execute(Increment("t", b"r", {b"d:n": 1}))
    assert _value(gateway, b"d:n", before_ms=11) == bytes(8)

    gateway.flush("t")

    assert _value(gateway, b"d:n", before_ms=11) is None


def test_a_scanner_expires_by_the_clock(gateway: MemoryGateway, clock: SetClock) -> None:
    scanner = gateway.execute(OpenScanner(Scan("t")))
    clock.now_ms += 1_000
    assert gateway.execute(FetchRows(scanner, 1)) == []

    clock.now_ms += 1_001

    with pytest.raises(ScannerExpiredError):
        gateway.execute(FetchRows(scanner, 1))
    gateway.execute(CloseScanner(scanner))


# --- flush and major compaction -------------------------------------------------------------------


def test_a_flush_keeps_tombstones_and_drops_what_they_mask(gateway: MemoryGateway) -> None:
    _put(gateway, b"v:x", b"1", 10)
    _delete(gateway, b"v:x", 10)
    gateway.flush("t")

    assert _raw(gateway) == [(10, "delete_column")]


def test_a_major_compaction_drops_tombstones_and_empty_rows(gateway: MemoryGateway) -> None:
    _put(gateway, b"v:x", b"1", 10)
    _delete(gateway, b"v", 10)
    gateway.major_compact("t")

    assert _raw(gateway) == []


def test_a_major_compaction_keeps_a_tombstone_that_covers_a_kept_cell(
    gateway: MemoryGateway,
) -> None:
    _put(gateway, b"k:x", b"1", 10)
    _delete(gateway, b"k:x", 20)
    _delete(gateway, b"k:y", 5)
    gateway.major_compact("t")

    assert _raw(gateway) == [(20, "delete_column"), (10, "put")]
    assert _value(gateway, b"k:x", before_ms=20) == b"1"


def test_surplus_versions_are_read_as_of_before_only_until_a_flush(gateway: MemoryGateway) -> None:
    _put(gateway, b"d:x", b"1", 10)
    _put(gateway, b"d:x", b"2", 20)
    assert _value(gateway, b"d:x", before_ms=20) == b"1"

    gateway.flush("t")

    assert _value(gateway, b"d:x", before_ms=20) is None


# --- the gateway ----------------------------------------------------------------------------------


def test_it_has_every_feature(gateway: MemoryGateway) -> None:
    assert gateway.features == frozenset(Feature)


def test_a_closed_gateway_is_unusable_and_closing_twice_is_fine(gateway: MemoryGateway) -> None:
    gateway.close()
    gateway.close()

    with pytest.raises(ConfigurationError):
        gateway.execute(Ping())


def test_a_request_it_does_not_know_is_refused(gateway: MemoryGateway) -> None:
    unknown: Operation[None] = Operation()

    with pytest.raises(RejectedError):
        gateway.execute(unknown)


def test_a_filter_it_does_not_simulate_is_refused_by_name(gateway: MemoryGateway) -> None:
    with pytest.raises(RejectedError) as caught:
        gateway.execute(OpenScanner(Scan("t", filter=b"ColumnCountGetFilter(1)")))

    assert caught.value.details["filter"] == "ColumnCountGetFilter"


def test_its_repr_names_the_tables(gateway: MemoryGateway) -> None:
    assert repr(gateway) == "MemoryGateway(tables=['t'])"


def test_a_scan_goes_on_after_rows_came_and_went(gateway: MemoryGateway) -> None:
    def write(*mutations: RowMutation) -> None:
        gateway.execute(MutateRows("t", mutations))

    write(*(RowMutation(key, (Put(b"d:x", b"1", 1),)) for key in (b"a", b"c", b"e")))
    scanner = gateway.execute(OpenScanner(Scan("t")))
    first = gateway.execute(FetchRows(scanner, 1))
    write(RowMutation(b"c", deletes=(Delete(b"d", 1),)))
    write(RowMutation(b"d", (Put(b"d:x", b"1", 1),)))
    gateway.major_compact("t")

    rest = gateway.execute(FetchRows(scanner, 9))

    assert [row.key for row in first + rest] == [b"a", b"d", b"e"]


def test_readers_never_see_half_of_a_mutation(gateway: MemoryGateway) -> None:
    torn = []
    is_over = threading.Event()

    def read() -> None:
        while not is_over.is_set():
            row = gateway.execute(GetRows("t", (b"r",)))[0]
            values = {cell.value for cell in row.cells.values()} if row else set()
            if len(values) > 1:
                torn.append(values)

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(300):
        puts = tuple(Put(b"d:%d" % column, b"%d" % number, number) for column in range(5))
        gateway.execute(MutateRow("t", RowMutation(b"r", puts)))
    is_over.set()
    reader.join()

    assert torn == []


# --- visible cells --------------------------------------------------------------------------------

FAMILY = FamilyDescriptor(b"f", versions=2)


def _column(*puts: tuple[int, bytes, int | None]) -> ColumnCells:
    column = ColumnCells()
    for timestamp_ms, value, ttl_ms in puts:
        column.put(timestamp_ms, Stored(value, ttl_ms))
    return column


def _visible(
    column: ColumnCells,
    family: FamilyDescriptor = FAMILY,
    *,
    tombstones: tuple[int, ...] = (),
    when: When | None = None,
) -> list[VisibleVersion]:
    cells = FamilyCells({b"q": column}, set(tombstones))
    return list(visible_versions(family, cells, column, when or When(T0)))


def test_surplus_versions_are_not_seen() -> None:
    column = _column((1, b"a", None), (3, b"c", None), (2, b"b", None))

    assert _visible(column) == [VisibleVersion(3, b"c"), VisibleVersion(2, b"b")]


def test_versions_above_a_time_range_do_not_count() -> None:
    column = _column((1, b"a", None), (2, b"b", None), (3, b"c", None), (4, b"d", None))

    assert _visible(column, when=When(T0, 3)) == [VisibleVersion(2, b"b"), VisibleVersion(1, b"a")]


def test_the_family_and_the_column_each_mask_with_their_highest_tombstone() -> None:
    column = _column((1, b"a", None), (2, b"b", None), (3, b"c", None))
    column.tombstones = {1}

    assert _visible(column, tombstones=(2, 0)) == [VisibleVersion(3, b"c")]


def test_an_earlier_write_at_the_same_timestamp_returns_when_the_later_expires() -> None:
    column = _column((T0 - 10, b"stays", None), (T0 - 10, b"goes", 5))

    assert _visible(column) == [VisibleVersion(T0 - 10, b"stays")]
    assert _visible(column, when=When(T0 - 8)) == [VisibleVersion(T0 - 10, b"goes")]


def test_a_cell_lives_through_the_last_millisecond_of_its_ttl() -> None:
    column = _column((T0, b"a", 5))

    assert _visible(column, when=When(T0 + 5)) != []
    assert _visible(column, when=When(T0 + 6)) == []


def test_a_familys_ttl_ends_a_column_at_its_first_expired_cell() -> None:
    family = FamilyDescriptor(b"f", versions=3, ttl_s=1)
    column = _column((T0 - 1_000, b"young", None), (T0 - 1_001, b"old", None))

    assert _visible(column, family) == [VisibleVersion(T0 - 1_000, b"young")]


def test_min_versions_count_unexpired_versions_too() -> None:
    family = FamilyDescriptor(b"f", versions=3, min_versions=2, ttl_s=1)
    column = _column((T0, b"young", None), (2, b"old", None), (1, b"older", None))

    assert _visible(column, family) == [VisibleVersion(T0, b"young"), VisibleVersion(2, b"old")]


def test_kept_deleted_cells_are_masked_by_tombstones_below_the_time_only() -> None:
    family = FamilyDescriptor(b"f", versions=3, keep_deleted_cells="TRUE")
    column = _column((1, b"a", None), (5, b"b", None))
    column.tombstones = {3, 7}

    assert _visible(column, family) == []
    assert _visible(column, family, when=When(T0, 7)) == [VisibleVersion(5, b"b")]
    assert _visible(column, family, when=When(T0, 3)) == [VisibleVersion(1, b"a")]


def test_the_newest_version_of_nothing_is_none() -> None:
    assert newest_version(FAMILY, FamilyCells(), ColumnCells(), When(T0)) is None


def test_a_raw_read_counts_puts_only() -> None:
    column = _column((1, b"a", None), (2, b"b", None), (3, b"c", None))
    column.tombstones = {2}

    found = list(raw_versions(FAMILY, FamilyCells({b"q": column}), T0, 2))

    assert found == [
        StoredVersion(b"f:q", 3, "put", b"c"),
        StoredVersion(b"f:q", 2, "delete_column", b""),
        StoredVersion(b"f:q", 2, "put", b"b"),
    ]


def test_a_compaction_without_kept_cells_drops_a_ttl_familys_expired_tombstones() -> None:
    family = FamilyDescriptor(b"f", ttl_s=1, keep_deleted_cells="TTL")
    cells = FamilyCells({b"q": _column((1, b"a", None))}, {1})
    compact(family, cells, T0, major=True)

    assert (cells.columns, cells.tombstones) == ({}, set())
