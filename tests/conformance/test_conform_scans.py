"""Scans: ranges, order, projection, regions, and the life of a scanner."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from hbase_orm.errors import (
    FamilyNotFoundError,
    RejectedError,
    ScannerExpiredError,
    TableNotFoundError,
)
from hbase_orm.gateway.base import Feature
from hbase_orm.ops import (
    MAX_ROW_KEY_BYTES,
    Cell,
    CloseScanner,
    FamilyDescriptor,
    FetchRows,
    FirstRows,
    GetRows,
    KeyRange,
    MutateRows,
    OpenScanner,
    Put,
    ReadFirstRows,
    Row,
    RowMutation,
    Scan,
    ScannerId,
    StaleRow,
)
from tests.conformance.bench import Bench, Subject, row_values

LETTERS = [b"a", b"b", b"c", b"d", b"e"]


@pytest.fixture
def letters(bench: Bench) -> Bench:
    """Return a bench with the rows a to e."""
    bench.run_rows(*(bench.mutation(Put(b"d:x", name, 10), row=name) for name in LETTERS))
    return bench


@pytest.mark.feature(Feature.TIMELINE)
@pytest.mark.parametrize("reverse", [False, True])
def test_a_timeline_scan_of_regions_that_answer_is_a_strong_one(
    letters: Bench, *, reverse: bool
) -> None:
    letters.put_row(b"c", {b"e:%02d" % number: b"1" for number in range(20)}, 10)

    rows = letters.scan(
        Scan(letters.table, KeyRange.prefix(letters.prefix), reverse=reverse, is_timeline=True)
    )

    strong = letters.scan(Scan(letters.table, KeyRange.prefix(letters.prefix), reverse=reverse))
    assert len(rows) == len(LETTERS)
    assert rows == strong
    assert not any(isinstance(row, StaleRow) for row in rows)


@pytest.mark.feature(Feature.TIMELINE)
@pytest.mark.parametrize("names", [[b"a"], [b"a", b"x", b"e"]])
def test_a_timeline_get_of_regions_that_answer_is_a_strong_one(
    letters: Bench, names: list[bytes]
) -> None:
    keys = tuple(map(letters.key, names))

    rows = letters.run(GetRows(letters.table, keys, is_timeline=True))

    assert rows == letters.run(GetRows(letters.table, keys))
    assert not any(isinstance(row, StaleRow) for row in rows)


def test_rows_come_in_key_order_with_their_cells(bench: Bench) -> None:
    bench.put(b"d:x", b"2", 20, row=b"b")
    bench.put_row(b"a", {b"d:x": b"1", b"e:y": b"3"}, 10)

    assert bench.rows() == [
        Row(b"a", {b"d:x": Cell(b"1", 10), b"e:y": Cell(b"3", 10)}),
        Row(b"b", {b"d:x": Cell(b"2", 20)}),
    ]


def test_keys_are_ordered_as_unsigned_bytes_and_a_prefix_comes_first(bench: Bench) -> None:
    names = [b"a", b"a\x00", b"a\x00\x00", b"a\x01", b"a\x7f", b"a\x80", b"a\xff", b"b"]
    bench.run_rows(*(bench.mutation(Put(b"d:x", b"", 1), row=name) for name in reversed(names)))

    assert bench.keys() == names


def test_the_start_is_included_and_the_stop_is_not(letters: Bench) -> None:
    assert letters.keys(b"b", b"d") == [b"b", b"c"]


def test_a_start_between_two_rows_begins_at_the_next(letters: Bench) -> None:
    assert letters.keys(b"b\x00", b"d\x00") == [b"c", b"d"]


def test_a_reverse_scan_gives_the_same_rows_in_descending_order(letters: Bench) -> None:
    assert letters.keys(b"b", b"d", reverse=True) == [b"c", b"b"]
    assert letters.keys(reverse=True) == list(reversed(LETTERS))


def test_a_reverse_scan_includes_the_low_end_and_nothing_just_below(bench: Bench) -> None:
    names = [b"a", b"a\xff", b"a\xff\xff", b"b", b"b\x00"]
    bench.run_rows(*(bench.mutation(Put(b"d:x", b"", 1), row=name) for name in names))

    assert bench.keys(b"b", b"b\x00", reverse=True) == [b"b"]
    assert bench.keys(b"a\xff", b"b\x00", reverse=True) == [b"b", b"a\xff\xff", b"a\xff"]


@pytest.mark.parametrize("reverse", [False, True])
def test_an_empty_range_gives_no_rows(letters: Bench, *, reverse: bool) -> None:
    assert letters.keys(b"b", b"b", reverse=reverse) == []
    assert letters.keys(b"d", b"b", reverse=reverse) == []


@pytest.mark.parametrize("reverse", [False, True])
def test_the_range_of_a_single_key_gives_that_row(letters: Bench, *, reverse: bool) -> None:
    letters.put(b"d:x", b"", 1, row=b"c\x00")

    found = letters.scan(Scan(letters.table, KeyRange.single(letters.key(b"c")), reverse=reverse))

    assert [row.key for row in found] == [letters.key(b"c")]


@pytest.mark.parametrize("reverse", [False, True])
def test_the_range_of_the_longest_key_gives_that_row(bench: Bench, *, reverse: bool) -> None:
    # So long a key is only found once the gateway knows its region: see ops.longest_row_key_bytes.
    bench.put_row(b"", {b"d:x": b"1"})
    key = bench.prefix.ljust(MAX_ROW_KEY_BYTES, b"\xff")
    bench.run(MutateRows(bench.table, (RowMutation(key, (Put(b"d:x", b"1"),)),)))

    found = bench.scan(Scan(bench.table, KeyRange.single(key), reverse=reverse))

    assert [row.key for row in found] == [key]


def test_columns_asked_for_leave_out_rows_that_lack_them(bench: Bench) -> None:
    bench.put_row(b"a", {b"d:x": b"1", b"d:y": b"2"})
    bench.put_row(b"b", {b"d:y": b"3"})
    bench.put_row(b"c", {b"e:z": b"4"})

    found = bench.rows(columns=(b"d:x", b"e"))

    assert [(row.key, row_values(row)) for row in found] == [
        (b"a", {b"d:x": b"1"}),
        (b"c", {b"e:z": b"4"}),
    ]


def test_unknown_qualifiers_give_no_rows(letters: Bench) -> None:
    assert letters.keys(columns=(b"d:nope",)) == []


@pytest.mark.parametrize("columns", [(b"d", b"d:x"), (b"d:x", b"d")])
def test_a_bare_family_beside_its_column_scans_the_whole_family(
    bench: Bench, columns: tuple[bytes, ...]
) -> None:
    bench.put_row(b"a", {b"d:x": b"1", b"d:y": b"2"})

    assert row_values(bench.rows(columns=columns)[0]) == {b"d:x": b"1", b"d:y": b"2"}


def test_a_scan_of_an_unknown_family_is_refused(bench: Bench) -> None:
    with pytest.raises(FamilyNotFoundError):
        bench.rows(columns=(b"nope:x",))


def test_a_scan_shows_the_newest_version_only(bench: Bench) -> None:
    bench.put(b"v:x", b"1", 10)
    bench.put(b"v:x", b"2", 20)

    assert bench.rows() == [Row(b"r", {b"v:x": Cell(b"2", 20)})]


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_before_a_timestamp_excludes_that_timestamp(bench: Bench, *, reverse: bool) -> None:
    bench.put(b"v:x", b"1", 10)
    bench.put(b"v:x", b"2", 20)
    bench.put(b"v:x", b"3", 20, row=b"s")

    assert bench.rows(before_ms=20, reverse=reverse) == [Row(b"r", {b"v:x": Cell(b"1", 10)})]


@pytest.mark.feature(Feature.RAW_READ)
@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_from_a_timestamp_on_includes_that_timestamp(bench: Bench, *, reverse: bool) -> None:
    bench.put(b"v:x", b"1", 10)
    bench.put(b"v:x", b"2", 20)
    bench.put(b"v:x", b"3", 20, row=b"s")
    bench.put(b"v:x", b"4", 30, row=b"s")
    bench.put(b"v:x", b"5", 10, row=b"t")

    expected = [Row(b"r", {b"v:x": Cell(b"2", 20)}), Row(b"s", {b"v:x": Cell(b"3", 20)})]
    if reverse:
        expected.reverse()
    found = bench.rows(from_ms=20, before_ms=30, reverse=reverse, caching_rows=1)
    assert found == expected


def test_deleted_rows_are_left_out(letters: Bench) -> None:
    letters.delete(b"d:x", row=b"b")
    letters.delete(b"d", row=b"d")

    assert letters.keys() == [b"a", b"c", b"e"]


@pytest.mark.parametrize("caching_rows", [1, 2, 5, 1000])
def test_the_caching_does_not_change_the_rows(letters: Bench, caching_rows: int) -> None:
    assert letters.keys(caching_rows=caching_rows) == LETTERS


def test_more_rows_come_than_one_fetch_holds(bench: Bench) -> None:
    names = [b"%04d" % number for number in range(2_500)]
    bench.run_rows(*(bench.mutation(Put(b"d:x", b"", 1), row=name) for name in names))

    assert bench.keys() == names
    assert bench.keys(reverse=True) == names[::-1]


# --- regions --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def regions_table(subject: Subject) -> Iterator[str]:
    """Make a table of four regions with ten rows in each, read by all tests and changed by none."""
    table = subject.new_table(FamilyDescriptor(b"d"), splits=(b"1", b"2", b"3"))
    bench = Bench(subject, table, b"")
    names = [b"%d%d" % (region, number) for region in range(4) for number in range(10)]
    bench.run_rows(*(bench.mutation(Put(b"d:x", name, 10), row=name) for name in names))
    yield table
    subject.drop(table)


@pytest.fixture
def regions(subject: Subject, regions_table: str) -> Bench:
    return Bench(subject, regions_table, b"")


ALL = [b"%d%d" % (region, number) for region in range(4) for number in range(10)]


def test_a_scan_crosses_regions_in_key_order(regions: Bench) -> None:
    assert [row.key for row in regions.scan(Scan(regions.table))] == ALL


def test_a_reverse_scan_crosses_regions_in_descending_order(regions: Bench) -> None:
    assert [row.key for row in regions.scan(Scan(regions.table, reverse=True))] == ALL[::-1]


def test_a_reverse_scan_may_begin_and_end_within_regions(regions: Bench) -> None:
    scan = Scan(regions.table, KeyRange(b"08", b"22"), reverse=True)

    assert [row.key for row in regions.scan(scan)] == ALL[8:22][::-1]


def test_a_fetch_crosses_regions(regions: Bench) -> None:
    scanner = regions.run(OpenScanner(Scan(regions.table)))

    assert len(regions.run(FetchRows(scanner, 35))) == 35
    assert len(regions.run(FetchRows(scanner, 35))) == 5
    regions.run(CloseScanner(scanner))


def test_a_page_filter_counts_each_region_apart(regions: Bench) -> None:
    found = regions.scan(Scan(regions.table, filter=b"PageFilter(3)"))

    assert [row.key for row in found] == [key for key in ALL if key[1] < ord("3")]


def test_an_inclusive_stop_filter_works_across_regions(regions: Bench) -> None:
    found = regions.scan(Scan(regions.table, filter=b"InclusiveStopFilter('22')"))

    assert [row.key for row in found] == ALL[:23]


def test_a_prefix_filter_works_across_regions(regions: Bench) -> None:
    found = regions.scan(Scan(regions.table, filter=b"PrefixFilter('2')"))

    assert [row.key for row in found] == ALL[20:30]


def test_a_filtered_reverse_scan_crosses_regions_in_descending_order(regions: Bench) -> None:
    text = b"RowFilter(>=, 'binary:15')"
    found = regions.scan(Scan(regions.table, filter=text, reverse=True))

    assert [row.key for row in found] == ALL[15:][::-1]


def test_a_while_filter_ends_the_scan(regions: Bench) -> None:
    found = regions.scan(Scan(regions.table, filter=b"WHILE RowFilter(<, 'binary:25')"))

    assert [row.key for row in found] == ALL[:25]


# --- scanners -------------------------------------------------------------------------------------


def _open(bench: Bench, caching_rows: int = 1000) -> ScannerId:
    scan = Scan(bench.table, KeyRange.prefix(bench.prefix), caching_rows=caching_rows)
    return bench.run(OpenScanner(scan))


def test_a_fetch_gives_at_most_the_rows_asked_for(letters: Bench) -> None:
    scanner = _open(letters)

    sizes = [len(letters.run(FetchRows(scanner, 2))) for _ in range(5)]
    letters.run(CloseScanner(scanner))

    assert sizes == [2, 2, 1, 0, 0]


def test_two_scanners_do_not_disturb_each_other(letters: Bench) -> None:
    first, second = _open(letters), _open(letters)

    letters.run(FetchRows(first, 3))
    found = letters.run(FetchRows(second, 1))
    rest = letters.run(FetchRows(first, 3))
    letters.run(CloseScanner(first))
    letters.run(CloseScanner(second))

    assert [row.key for row in found] == [letters.key(b"a")]
    assert [row.key for row in rest] == [letters.key(b"d"), letters.key(b"e")]


def test_closing_twice_is_no_error(letters: Bench) -> None:
    scanner = _open(letters)
    letters.run(CloseScanner(scanner))
    letters.run(CloseScanner(scanner))


def test_a_closed_scanner_is_gone(letters: Bench) -> None:
    scanner = _open(letters)
    letters.run(CloseScanner(scanner))

    with pytest.raises(ScannerExpiredError):
        letters.run(FetchRows(scanner, 1))


def test_a_scanner_lives_as_long_as_it_is_read_within_its_lease(letters: Bench) -> None:
    # Rows that were read ahead would be there without a lease.
    resting, busy = _open(letters, caching_rows=1), _open(letters, caching_rows=1)
    rows_read = 0
    while rows_read < 2:  # A fetch may give fewer rows than there are.
        rows_read += len(letters.run(FetchRows(resting, 2 - rows_read)))
    for _ in range(3):
        letters.subject.sleep(letters.subject.lease_s * 0.37)
        assert len(letters.run(FetchRows(busy, 1))) == 1

    # A gateway may have kept back one row more, in case it goes on in the next answer.
    with pytest.raises(ScannerExpiredError):
        _fetch_one_by_one(letters, resting, 2)

    letters.run(CloseScanner(resting))
    letters.run(CloseScanner(busy))


def _fetch_one_by_one(bench: Bench, scanner: ScannerId, times: int) -> None:
    for _ in range(times):
        bench.run(FetchRows(scanner, 1))


def test_a_scanner_of_another_gateway_is_refused(letters: Bench) -> None:
    scanner = _open(letters)
    stranger = ScannerId(scanner.number, object())

    with pytest.raises(RejectedError):
        letters.run(FetchRows(stranger, 1))

    letters.run(CloseScanner(scanner))


@pytest.mark.parametrize("count", [0, -1])
def test_a_fetch_of_no_rows_is_refused(letters: Bench, count: int) -> None:
    scanner = _open(letters)

    with pytest.raises(RejectedError):
        letters.run(FetchRows(scanner, count))

    letters.run(CloseScanner(scanner))


def test_a_caching_below_one_is_refused(bench: Bench) -> None:
    with pytest.raises(RejectedError):
        bench.run(OpenScanner(Scan(bench.table, caching_rows=0)))


# --- the first rows in one call -------------------------------------------------------------------


def _first(bench: Bench, count: int, **options: Any) -> FirstRows:
    scan = Scan(bench.table, KeyRange.prefix(bench.prefix), **options)
    while True:
        # Few rows come at first, until the gateway knows how large they are.
        first = bench.run(ReadFirstRows(scan, count))
        if first.is_all or len(first.rows) == count:
            return first


@pytest.mark.feature(Feature.FIRST_ROWS)
@pytest.mark.parametrize("reverse", [False, True])
def test_the_first_rows_of_a_scan_come_in_one_call(letters: Bench, *, reverse: bool) -> None:
    first = _first(letters, 3, reverse=reverse)

    names = LETTERS[::-1] if reverse else LETTERS
    assert [row.key for row in first.rows] == [letters.key(name) for name in names[:3]]
    assert not first.is_all
    assert [row_values(row) for row in first.rows] == [{b"d:x": name} for name in names[:3]]


@pytest.mark.feature(Feature.FIRST_ROWS)
def test_fewer_rows_than_asked_for_may_be_all(letters: Bench) -> None:
    first = _first(letters, 6)

    assert [row.key for row in first.rows] == [letters.key(name) for name in LETTERS]
    assert first.is_all


@pytest.mark.feature(Feature.FIRST_ROWS)
def test_the_first_rows_of_an_empty_range_are_all(letters: Bench) -> None:
    scan = Scan(letters.table, KeyRange(letters.key(b"x"), letters.key(b"x")))
    assert letters.run(ReadFirstRows(scan, 3)) == FirstRows([], is_all=True)


@pytest.mark.feature(Feature.FIRST_ROWS)
def test_the_first_rows_are_of_the_columns_that_are_read(bench: Bench) -> None:
    bench.put_row(b"a", {b"d:x": b"1", b"d:y": b"2"})
    bench.put_row(b"b", {b"d:y": b"3"})

    first = _first(bench, 3, columns=(b"d:x",))

    assert [row_values(row) for row in first.rows] == [{b"d:x": b"1"}]


@pytest.mark.feature(Feature.FIRST_ROWS)
def test_no_more_rows_come_than_asked_for_after_rows_of_many_cells(bench: Bench) -> None:
    bench.put_row(b"wide", {b"d:%03d" % n: b"v" for n in range(100)})
    for name in LETTERS:
        bench.put_row(b"narrow" + name, {b"d:x": name})
    of_wide = Scan(bench.table, KeyRange.prefix(bench.key(b"wide")))
    while not bench.run(ReadFirstRows(of_wide, 3)).is_all:
        pass  # until the gateway knows into how many results a row is cut

    first = bench.run(ReadFirstRows(Scan(bench.table, KeyRange.prefix(bench.key(b"narrow"))), 3))

    assert [row.key for row in first.rows] == [bench.key(b"narrow" + name) for name in LETTERS[:3]]
    assert not first.is_all


@pytest.mark.feature(Feature.FIRST_ROWS)
def test_no_row_of_many_cells_is_cut(bench: Bench) -> None:
    wide = {b"d:%03d" % n: b"v" for n in range(100)}
    for name in (b"a", b"b", b"c"):
        bench.put_row(name, wide)

    scan, rows = Scan(bench.table, KeyRange.prefix(bench.prefix)), []
    for _ in range(20):
        first = bench.run(ReadFirstRows(scan, 3))
        rows += first.rows
        assert all(row_values(row) == wide for row in first.rows)
        scan = scan.after(rows[-1].key) if rows else scan
        if first.is_all:
            break

    assert [row.key for row in rows] == [bench.key(name) for name in (b"a", b"b", b"c")]


@pytest.mark.feature(Feature.FIRST_ROWS)
def test_the_first_rows_of_a_missing_table_are_an_error(bench: Bench) -> None:
    with pytest.raises(TableNotFoundError):
        bench.run(ReadFirstRows(Scan("conformance_none"), 3))


def test_no_first_row_is_a_request_that_is_refused(letters: Bench) -> None:
    with pytest.raises(RejectedError):
        letters.run(ReadFirstRows(Scan(letters.table), 0))
