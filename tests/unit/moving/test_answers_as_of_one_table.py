"""Requests that read a table to which rows move are answered as by a table that has all rows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hbase_orm.index.catalog.move_phases import Phase
from hbase_orm.ops import (
    GetRows,
    GetVersions,
    GetVersionsOfRows,
    KeyRange,
    Scan,
)
from tests.support.moved_readings import (
    NAME,
    NOTE,
    REGION,
    VALUE,
)
from tests.support.moved_worlds import (
    BEFORE_SEALS,
    KEYS,
    MOVING,
    SIMPLE_FILTERS,
    WITH_SEALS,
    World,
    of_oracle,
    scanned,
    worlds,
    worlds_in_phases,
)

COLUMNS = st.lists(
    st.sampled_from((b"d", b"e", REGION, NAME, VALUE, NOTE)), max_size=3, unique=True
).map(tuple)
SOUGHT = st.lists(st.sampled_from((*KEYS, b"c\x00d1", b"c\x00d2")), min_size=6, max_size=24).map(
    tuple
)
ENDS = st.sampled_from((b"a", b"a\x00d2", b"a\x00d3\x00", b"aa", b"aa\x00d4", b"b", b"c"))
RANGES = st.builds(KeyRange, st.one_of(st.just(b""), ENDS), st.one_of(st.none(), ENDS))
FILTERS = st.recursive(
    st.sampled_from(SIMPLE_FILTERS),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: b"((%b) AND (%b))" % pair),
        st.tuples(inner, inner).map(lambda pair: b"((%b) OR (%b))" % pair),
        inner.map(lambda one: b"(SKIP (%b))" % one),
        inner.map(lambda one: b"(WHILE (%b))" % one),
    ),
    max_leaves=3,
)
SCANS = st.builds(
    Scan,
    st.just("new"),
    RANGES,
    COLUMNS,
    st.one_of(st.none(), FILTERS),
    st.booleans(),
)


@given(worlds_in_phases(), SOUGHT, COLUMNS)
def test_gets_are_answered_as_by_a_table_that_has_all_rows(
    at: tuple[World, Phase], keys: tuple[bytes, ...], columns: tuple[bytes, ...]
) -> None:
    world, phase = at

    rows = world.read(GetRows("new", keys, columns), phase)

    assert rows == world.tables.gateway.execute(GetRows("truth", keys, columns))
    assert [list(row.cells) for row in rows if row] == [
        list(row.cells)
        for row in world.tables.gateway.execute(GetRows("truth", keys, columns))
        if row
    ]


@given(worlds_in_phases(), SOUGHT, COLUMNS, st.integers(1, 3))
def test_versions_are_answered_as_by_a_table_that_has_all_rows(
    at: tuple[World, Phase], keys: tuple[bytes, ...], columns: tuple[bytes, ...], limit: int
) -> None:
    world, phase = at

    versions = world.read(GetVersionsOfRows("new", keys, columns, limit), phase)
    one = world.read(GetVersions("new", keys[0], columns, limit), phase)

    expected = GetVersionsOfRows("versions", keys, columns, limit)
    assert versions == world.tables.gateway.execute(expected)
    assert one == versions[0]


@given(worlds_in_phases(), SCANS, st.lists(st.integers(1, 5), min_size=1, max_size=3))
def test_scans_are_answered_as_by_a_table_that_has_all_rows(
    at: tuple[World, Phase], scan: Scan, counts: list[int]
) -> None:
    world, phase = at
    expected = of_oracle(world, scan)
    if expected is not None:
        assert world.scan(scan, phase, *counts) == expected


@given(worlds((*BEFORE_SEALS, *WITH_SEALS)), SCANS, st.data())
def test_rows_that_are_handed_over_at_any_moment_of_a_scan_are_read_once(
    world: World, scan: Scan, data: st.DataObject
) -> None:
    left = list(data.draw(st.permutations(KEYS)))

    def hand_over_some(_: object = None) -> None:
        for _each in range(data.draw(st.integers(0, 3))):
            if left:
                world.hand_over(left.pop())

    expected = of_oracle(world, scan)
    if expected is None:
        return
    world.before_request = hand_over_some
    assert world.scan(scan, MOVING, data.draw(st.integers(1, 3))) == expected


@given(worlds((*BEFORE_SEALS, *WITH_SEALS)), SOUGHT, COLUMNS, st.data())
def test_rows_that_are_handed_over_at_any_moment_of_a_get_are_read(
    world: World, keys: tuple[bytes, ...], columns: tuple[bytes, ...], data: st.DataObject
) -> None:
    left = list(data.draw(st.permutations(KEYS)))

    def hand_over_some(_: object) -> None:
        for _each in range(data.draw(st.integers(0, 9))):
            if left:
                world.hand_over(left.pop())

    world.before_request = hand_over_some
    rows = world.read(GetRows("new", keys, columns))
    left = list(KEYS)
    versions = world.read(GetVersionsOfRows("new", keys, columns, 3))

    gateway = world.tables.gateway
    assert rows == gateway.execute(GetRows("truth", keys, columns))
    assert versions == gateway.execute(GetVersionsOfRows("versions", keys, columns, 3))


@given(worlds((*BEFORE_SEALS, *WITH_SEALS)))
def test_the_oracle_has_the_rows_that_the_new_table_has_in_the_end(world: World) -> None:
    world.tables.move_all()
    world.tables.run(world.tables.move.make_new())

    in_the_end = world.tables.run(scanned(Scan("new", columns=(b"d", b"e")), (9,)))
    assert in_the_end == world.tables.run(scanned(Scan("truth"), (9,)))
