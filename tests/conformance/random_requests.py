"""Random requests for the differential run, and answers made comparable.

Rows are few, timestamps small and colliding, so that tombstones, versions and ties meet often.
What the server stamps itself is only ever newer than them, and is compared as `NOW_MS`: no delete
goes without a timestamp, for its tie with a put in the same millisecond would be a matter of luck.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from hbase_orm.errors import HBaseORMError
from hbase_orm.gateway.base import Gateway
from hbase_orm.ops import (
    Append,
    Cell,
    CheckAndMutate,
    CloseScanner,
    Delete,
    FamilyDescriptor,
    FetchRows,
    GetRows,
    GetVersions,
    GetVersionsOfRows,
    Increment,
    KeyRange,
    MutateRow,
    MutateRows,
    OpenScanner,
    Operation,
    Put,
    PutRows,
    PutStampedRows,
    Row,
    RowMutation,
    Scan,
    StampedRows,
    StoredVersion,
)

FAMILIES = (
    FamilyDescriptor(b"d"),
    FamilyDescriptor(b"k", versions=3, keep_deleted_cells="TRUE"),
    FamilyDescriptor(b"m", versions=3, min_versions=1, ttl_s=1),
    FamilyDescriptor(b"v", versions=3),
)

# Far beyond the clock: 2100-01-01.
FUTURE_MS = 4_102_444_800_000
NOW_MS = "now"
_SMALL_MS = 1_000_000

_ROWS = (b"a", b"a\x00", b"b", b"c")
_QUALIFIERS = (b"", b"x", b"xy", b"y")
_VALUES = (b"", b"a", b"ab", b"b", (5).to_bytes(8, "big"), b"\xff" * 8)
_TIMES = (1, 2, 3, 4, FUTURE_MS)

rows = st.sampled_from(_ROWS)
values = st.sampled_from(_VALUES)
times = st.sampled_from(_TIMES)
families = st.sampled_from([family.name for family in FAMILIES])
columns = st.builds(
    lambda family, name: family + b":" + name, families, st.sampled_from(_QUALIFIERS)
)
selections = st.one_of(
    st.just(()), st.lists(st.one_of(families, columns), min_size=1, max_size=3).map(tuple)
)
before = st.one_of(st.none(), st.sampled_from((1, 2, 3, 4, 5, FUTURE_MS + 1)))

puts = st.builds(Put, columns, values, times)
# Server-stamped puts only where one version is kept: two in one millisecond make one version.
server_puts = st.builds(Put, st.sampled_from((b"d:x", b"d:y")), values, st.none())
deletes = st.builds(Delete, st.one_of(families, columns), times)
# Long past, or not yet.
ttls = st.sampled_from((None, None, None, 1, 10 * FUTURE_MS))


def _mutations(*, mixed: bool) -> st.SearchStrategy[RowMutation]:
    put_lists = st.lists(st.one_of(puts, puts, server_puts), min_size=1, max_size=3).map(tuple)
    delete_lists = (
        st.lists(deletes, min_size=1, max_size=2, unique_by=lambda each: each.column)
        .filter(_is_told_apart)
        .map(tuple)
    )
    only_puts = st.builds(RowMutation, rows, put_lists, ttl_ms=ttls).map(_without_race)
    only_deletes = st.builds(RowMutation, rows, deletes=delete_lists)
    if not mixed:
        return st.one_of(only_puts, only_puts, only_deletes)
    both = st.builds(RowMutation, rows, put_lists, delete_lists, ttls).map(_without_race)
    return st.one_of(only_puts, only_deletes, both)


def _is_told_apart(wanted: list[Delete]) -> bool:
    """Return whether no family is deleted beside one of its columns.

    Thrift1 then drops the column's tombstone, which the family's covers: only a raw read sees it.
    """
    bare = {each.column for each in wanted if b":" not in each.column}
    return not any(each.column.partition(b":")[0] in bare for each in wanted if b":" in each.column)


def _without_race(mutation: RowMutation) -> RowMutation:
    """Let what is written now live on: else the next read races against its end."""
    is_stamped_now = any(put.timestamp_ms is None for put in mutation.puts)
    return replace(mutation, ttl_ms=None) if is_stamped_now else mutation


_TEXTS = (
    b"KeyOnlyFilter()",
    b"FirstKeyOnlyFilter()",
    b"FirstKeyOnlyFilter() AND KeyOnlyFilter()",
    b"(FamilyFilter(=, 'binary:v') AND QualifierFilter(=, 'binary:x')) OR FirstKeyOnlyFilter()",
    b"ValueFilter(=, 'binary:a')",
    b"ValueFilter(!=, 'binaryprefix:a')",
    b"ValueFilter(>, 'binary:a') OR QualifierFilter(=, 'binary:y')",
    b"SKIP ValueFilter(!=, 'binary:ab')",
    b"WHILE ValueFilter(!=, 'binary:ab')",
    b"ColumnPrefixFilter('x')",
    b"MultipleColumnPrefixFilter('xy', 'y')",
    b"ColumnRangeFilter('x', false, 'y', true)",
    b"ColumnPaginationFilter(2, 1)",
    b"ColumnRangeFilter('x', true, 'z', false) AND ColumnPaginationFilter(1, 0)",
    b"FamilyFilter(>, 'binary:d')",
    b"PageFilter(2)",
    b"SingleColumnValueFilter('d', 'x', =, 'binary:a')",
    b"SingleColumnValueFilter('v', 'x', >=, 'binary:a', true, true)",
    b"SingleColumnValueFilter('v', 'x', =, 'binary:ab', true, false)",
    b"SingleColumnValueFilter('v', 'x', =, 'substring:A', true, true) AND ColumnPrefixFilter('x')",
    b"ColumnPrefixFilter('y') AND SingleColumnValueFilter('v', 'x', =, 'binary:a', true, true)",
    (
        b"SingleColumnValueFilter('d', 'x', =, 'binary:a', true, true) OR "
        b"SingleColumnValueFilter('v', 'y', !=, 'binary:a', true, true)"
    ),
    b"ValueFilter(==, 'binary:a')",
)


@st.composite
def _scans(draw: st.DrawFn) -> Scan:
    low, high = draw(rows), draw(st.one_of(st.none(), rows))
    return Scan(
        table="",
        key_range=KeyRange(low, high),
        columns=draw(selections),
        filter=draw(st.one_of(st.none(), st.sampled_from(_TEXTS))),
        reverse=draw(st.booleans()),
        caching_rows=draw(st.sampled_from((1, 2, 100))),
        before_ms=draw(before),
    )


@st.composite
def _flat_rows(draw: st.DrawFn) -> PutRows:
    named = tuple(draw(st.lists(columns, min_size=1, max_size=3, unique=True)))
    keys = draw(st.lists(rows, min_size=1, max_size=3, unique=True))
    gaps = [st.one_of(values, values, st.none())] * (len(named) - 1)
    cells = st.tuples(values, *gaps)
    # One is there in any case: a row without a cell is refused.
    return PutRows("", named, tuple((key, *draw(cells)) for key in keys), draw(times))


@st.composite
def _stamped_groups(draw: st.DrawFn) -> StampedRows:
    named = tuple(draw(st.lists(columns, min_size=1, max_size=3, unique=True)))
    keys = draw(st.lists(rows, min_size=1, max_size=3, unique=True))
    cells = st.tuples(*[values] * len(named))
    stamps = st.tuples(*[times] * len(named))
    return StampedRows(
        named, tuple((key, *draw(cells)) for key in keys), tuple(draw(stamps) for _ in keys)
    )


def _without_twins(groups: list[StampedRows]) -> bool:
    """Return whether no cell is put twice: which value wins is not defined."""
    named = [(row[0], column) for each in groups for row in each.rows for column in each.columns]
    return len(set(named)) == len(named)


_stamped_rows = st.builds(
    PutStampedRows,
    st.just(""),
    st.lists(_stamped_groups(), min_size=1, max_size=2).filter(_without_twins).map(tuple),
)
reads = st.one_of(
    st.builds(GetRows, st.just(""), st.lists(rows, max_size=3).map(tuple), selections, before),
    st.builds(GetVersions, st.just(""), rows, selections, st.integers(1, 4)),
    st.builds(
        GetVersionsOfRows,
        st.just(""),
        st.lists(rows, max_size=3).map(tuple),
        selections,
        st.integers(1, 4),
    ),
    st.builds(OpenScanner, _scans()),
    st.builds(OpenScanner, _scans()),
)
writes = st.one_of(
    st.builds(
        MutateRows,
        st.just(""),
        st.lists(
            _mutations(mixed=False), min_size=1, max_size=3, unique_by=lambda each: each.row
        ).map(tuple),
    ),
    _flat_rows(),
    _stamped_rows,
    st.builds(MutateRow, st.just(""), _mutations(mixed=True)),
    st.builds(CheckAndMutate, st.just(""), columns, values, _mutations(mixed=True)),
)
counts = st.one_of(
    st.builds(
        Increment,
        st.just(""),
        rows,
        st.dictionaries(columns, st.sampled_from((0, 1, -1, 2**63 - 1)), min_size=1, max_size=2),
    ),
    st.builds(Append, st.just(""), rows, st.dictionaries(columns, values, min_size=1, max_size=2)),
)
_unknown = RowMutation(b"a", (Put(b"d:x", b"a", 1), Put(b"nope:x", b"a", 1)))
mistakes = st.sampled_from(
    (
        MutateRow("", _unknown),
        MutateRows("", (_unknown,)),
        GetRows("", (b"a",), (b"nope",)),
        Increment("", b"a", {b"nope:x": 1}),
        OpenScanner(Scan("", columns=(b"nope:x",))),
    )
)
request_lists = st.lists(
    st.one_of(writes, writes, writes, writes, reads, reads, counts, mistakes),
    min_size=2,
    max_size=12,
)


def placed(request: Operation[Any], table: str, prefix: bytes) -> Operation[Any]:
    """Return the request on `table`, its row keys below `prefix`."""
    if isinstance(request, OpenScanner):
        span = request.scan.key_range
        stop = prefix[:-1] + bytes([prefix[-1] + 1]) if span.stop is None else prefix + span.stop
        key_range = KeyRange(prefix + span.start, stop)
        return OpenScanner(replace(request.scan, table=table, key_range=key_range))
    if isinstance(request, (GetRows, GetVersionsOfRows)):
        return replace(request, table=table, keys=tuple(prefix + key for key in request.keys))
    if isinstance(request, GetVersions):
        return replace(request, table=table, key=prefix + request.key)
    return _placed_write(request, table, prefix)


def _placed_write(request: Operation[Any], table: str, prefix: bytes) -> Operation[Any]:
    if isinstance(request, MutateRows):
        mutations = tuple(_below(prefix, mutation) for mutation in request.mutations)
        return replace(request, table=table, mutations=mutations)
    if isinstance(request, PutRows):
        flat = tuple((prefix + (row[0] or b""), *row[1:]) for row in request.rows)
        return replace(request, table=table, rows=flat)
    if isinstance(request, PutStampedRows):
        groups = tuple(
            replace(each, rows=tuple((prefix + key, *data) for key, *data in each.rows))
            for each in request.groups
        )
        return replace(request, table=table, groups=groups)
    if isinstance(request, (MutateRow, CheckAndMutate)):
        return replace(request, table=table, mutation=_below(prefix, request.mutation))
    assert isinstance(request, (Increment, Append))
    return replace(request, table=table, row=prefix + request.row)


def _below(prefix: bytes, mutation: RowMutation) -> RowMutation:
    return replace(mutation, row=prefix + mutation.row)


def final_reads() -> Sequence[Operation[Any]]:
    """Return requests that show everything a run has left."""
    return (
        *(GetVersions("", row, (), 10) for row in _ROWS),
        *(GetVersions("", row, (b"k", b"v"), 10, raw=True) for row in _ROWS),
        GetRows("", _ROWS),
        OpenScanner(Scan("", KeyRange(b"a"))),
        OpenScanner(Scan("", KeyRange(b"a"), reverse=True)),
        *(OpenScanner(Scan("", KeyRange(b"a"), before_ms=time)) for time in (2, 3, 4)),
    )


def outcome(gateway: Gateway, request: Operation[Any]) -> object:
    """Run a request and return its comparable answer, or the name of its error's class."""
    try:
        if isinstance(request, OpenScanner):
            return comparable(_read_all(gateway, request.scan))
        return comparable(gateway.execute(request))
    except HBaseORMError as error:
        return type(error).__name__


def _read_all(gateway: Gateway, scan: Scan) -> list[Row]:
    scanner = gateway.execute(OpenScanner(scan))
    found: list[Row] = []
    while batch := gateway.execute(FetchRows(scanner, scan.caching_rows)):
        found += batch
    gateway.execute(CloseScanner(scanner))
    return found


def comparable(answer: object) -> object:
    """Return an answer with server timestamps made equal."""
    if isinstance(answer, (list, tuple)) and not isinstance(answer, (Cell, StoredVersion)):
        return [comparable(part) for part in answer]
    if isinstance(answer, Row):
        cells = {
            column: (cell.value, _time(cell.timestamp_ms)) for column, cell in answer.cells.items()
        }
        return answer.key, cells
    if isinstance(answer, StoredVersion):
        return answer.column, _time(answer.timestamp_ms), answer.kind, answer.value
    return answer


def _time(timestamp_ms: int) -> object:
    return NOW_MS if _SMALL_MS < timestamp_ms < FUTURE_MS else timestamp_ms
