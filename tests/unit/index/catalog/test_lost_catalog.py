"""The catalog or the tables were dropped, copied or restored by other means than this library.

Each test follows the errors: it calls what their `fix` says, and looks at what reads answer then.
"""

from __future__ import annotations

import time

import pytest

from hbase_orm import (
    Engine,
    Family,
    Index,
    IndexState,
    Key,
    Mapped,
    Model,
    Version,
    codecs,
    column,
    key,
    select,
    version,
)
from hbase_orm.errors import (
    CatalogLeaseError,
    CorruptRowError,
    FlushError,
    QueryError,
    SchemaError,
    UnboundedScanError,
)
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.catalog.catalog import CATALOG_TABLE, read_entry
from hbase_orm.index.entries.targets import GUARD_COLUMN
from hbase_orm.index.upkeep.compare import Finding
from hbase_orm.ops import DropTable, GetRows, ListTables, MutateRow, Put, RowMutation
from hbase_orm.session import BuildProgress
from tests.support.operator_actions import copy, delete_row, restore, snapshot, truncate
from tests.support.shop_processes import Clock, Process, engine_on

ROWS = 40


class Part(Model, table="parts"):
    d = Family()
    number: Key[int] = key(codecs.uint16())
    city: Mapped[str] = column(d)
    price: Mapped[int] = column(d, codec=codecs.int64(), default=0)
    by_city = Index(city, include=[price], covering=True)
    by_price = Index(price)


class CountedPart(Model, table="counted"):
    d = Family()
    number: Key[int] = key(codecs.uint16())
    city: Mapped[str] = column(d)
    edition: Version = version(d)


TABLE, BY_CITY, BY_PRICE = "parts", "parts_ix_by_city", "parts_ix_by_price"


def program(gateway: MemoryGateway) -> Engine:
    """Return the engine of a program that has just started."""
    return engine_on(Process(gateway), Clock())


def fill(engine: Engine, price: int = 0, rows: int = ROWS) -> None:
    with engine.session() as session:
        session.add_all(Part(number=n, city=f"city{n % 4}", price=price + n) for n in range(rows))


@pytest.fixture
def gateway() -> MemoryGateway:
    gateway = MemoryGateway()
    engine = program(gateway)
    engine.create_tables(Part)
    fill(engine)
    return gateway


def rebuild(gateway: MemoryGateway, *names: str) -> None:
    for name in names or ("by_city", "by_price"):
        program(gateway).build_index(Part, name, rebuild=True)


def prices_of(engine: Engine, city: str) -> list[int]:
    """Return what the covering index answers without a look at any row."""
    wanted = select(Part.price).where(Part.city == city).using(Part.by_city)
    assert "multi-get" not in str(engine.session().explain(wanted))
    return sorted(engine.session().all(wanted))


def assert_right(gateway: MemoryGateway) -> None:
    """Check that both indexes are readable and sound, and writes and reads work and agree."""
    engine = program(gateway)
    with engine.session() as session:
        session.add(Part(number=900, city="city1", price=-900))
        session.add(Part(number=3, city="city1", price=-3))
    for name in ("by_city", "by_price"):
        assert engine.indexes(Part)[name].state is IndexState.READABLE
        found = engine.verify_index(Part, name)
        assert (found.is_sound, found.missing, found.invalid) == (True, 0, 0)
    by_scan = select(Part).where(Part.city == "city1").using(None).allow_full_scan()
    prices = sorted(row.price for row in engine.session().all(by_scan))
    assert {-900, -3} <= set(prices)
    assert prices_of(engine, "city1") == prices


# --- the catalog ----------------------------------------------------------------------------------


def lose_table(gateway: MemoryGateway) -> None:
    gateway.execute(DropTable(CATALOG_TABLE))


def lose_row(gateway: MemoryGateway) -> None:
    delete_row(gateway, CATALOG_TABLE, TABLE.encode(), b"d")
    time.sleep(0.002)  # a put in the same millisecond as the delete would not be seen


LOSSES = pytest.mark.parametrize("lose", [lose_table, lose_row])


@LOSSES
def test_without_the_catalog_nothing_is_written_and_no_index_is_read(
    gateway: MemoryGateway, lose: object
) -> None:
    lose(gateway)  # type: ignore[operator]  # one of the losses
    engine = program(gateway)
    session = engine.session()
    session.add(Part(number=1, city="x"))

    with pytest.raises(FlushError) as refused:
        session.flush()
    with pytest.raises(QueryError) as unread:
        engine.session().all(select(Part).where(Part.city == "x").using(Part.by_city))
    with pytest.raises(UnboundedScanError):
        engine.session().all(select(Part.price).where(Part.city == "city1"))
    with pytest.raises(CatalogLeaseError) as unbuilt:
        engine.build_index(Part, "by_city")

    reason = refused.value.not_written[0][2]
    assert isinstance(reason, CatalogLeaseError)
    for error in (reason, unread.value, unbuilt.value):
        assert "create_tables" in error.fix


@LOSSES
def test_a_catalog_that_was_lost_is_made_again_above_the_epochs_of_the_rows(
    gateway: MemoryGateway, lose: object
) -> None:
    rebuild(gateway)
    rebuild(gateway, "by_city")
    lose(gateway)  # type: ignore[operator]  # one of the losses

    program(gateway).create_tables(Part)

    status = program(gateway).indexes(Part)
    assert {each.state for each in status.values()} == {IndexState.ABSENT}
    fill(program(gateway), price=100, rows=10)  # writes go on
    engine = program(gateway)
    assert engine.build_index(Part, "by_city").table == f"{BY_CITY}.4"
    assert engine.build_index(Part, "by_price").table == f"{BY_PRICE}.3"
    assert_right(gateway)


def test_a_build_after_the_catalog_was_lost_believes_no_copy_of_before(
    gateway: MemoryGateway,
) -> None:
    """The rows change while nobody keeps the index, whose table is still there."""
    lose_table(gateway)
    program(gateway).create_tables(Part)
    with program(gateway).session() as session:
        session.add(Part(number=1, city="moved", price=1))
        session.delete(Part(number=5, city="city1", price=5))

    for name in ("by_city", "by_price"):
        program(gateway).build_index(Part, name)

    assert prices_of(program(gateway), "moved") == [1]
    assert {1, 5}.isdisjoint(prices_of(program(gateway), "city1"))
    assert_right(gateway)


def test_a_version_column_is_counted_on_when_the_catalog_was_lost() -> None:
    gateway, of_first = MemoryGateway(), select(CountedPart.city).where(CountedPart.number == 1)
    engine = program(gateway)
    engine.create_tables(CountedPart)
    with engine.session() as session:
        session.add(CountedPart(number=1, city="a"))
    engine.drop_tables(CountedPart)
    engine.create_tables(CountedPart)
    with engine.session() as session:
        session.add(CountedPart(number=1, city="a"))
    lose_table(gateway)

    program(gateway).create_tables(CountedPart)

    with program(gateway).session() as session:
        part = session.get(CountedPart, number=1)
        assert part is not None
        part.city = "b"
    assert program(gateway).session().one(of_first) == "b"


def test_a_catalog_of_an_earlier_time_is_overtaken_and_its_indexes_are_built_again(
    gateway: MemoryGateway,
) -> None:
    earlier = snapshot(gateway, CATALOG_TABLE)
    rebuild(gateway)
    restore(gateway, earlier)
    session = program(gateway).session()
    session.add(Part(number=1, city="x"))
    with pytest.raises(FlushError) as refused:
        session.flush()
    assert "create_tables" in refused.value.not_written[0][2].fix
    with pytest.raises(SchemaError, match="table was dropped"):
        program(gateway).create_tables(Part)

    for name in ("by_city", "by_price"):
        program(gateway).build_index(Part, name)

    assert_right(gateway)


def test_creating_tables_overtakes_a_catalog_of_an_earlier_time_whose_index_tables_are_there(
    gateway: MemoryGateway,
) -> None:
    earlier, tables = snapshot(gateway, CATALOG_TABLE), [BY_CITY, BY_PRICE]
    copies = [snapshot(gateway, table) for table in tables]
    rebuild(gateway)
    with program(gateway).session() as session:
        session.add(Part(number=1, city="moved", price=1))
    restore(gateway, earlier)
    for each in copies:
        copy(gateway, each)

    program(gateway).create_tables(Part)

    status = program(gateway).indexes(Part)
    assert {each.state for each in status.values()} == {IndexState.WRITE_ONLY}
    for name in ("by_city", "by_price"):
        program(gateway).build_index(Part, name)
    assert prices_of(program(gateway), "moved") == [1]
    assert_right(gateway)


def test_verifying_names_the_epoch_of_rows_that_is_above_the_catalog_s(
    gateway: MemoryGateway,
) -> None:
    earlier, table = snapshot(gateway, CATALOG_TABLE), snapshot(gateway, BY_CITY)
    rebuild(gateway, "by_city")
    restore(gateway, earlier)
    copy(gateway, table)

    found = program(gateway).verify_index(Part, "by_city")

    assert not found.is_sound
    assert found.newer_epoch == 2
    assert (found.missing, found.invalid) == (0, 0)


def test_an_interrupted_build_of_an_earlier_catalog_does_not_go_on_in_a_table_of_later(
    gateway: MemoryGateway,
) -> None:
    class StopError(BaseException):
        pass

    def stop(progress: BuildProgress) -> None:
        if progress.phase != "wait":
            raise StopError

    with pytest.raises(StopError):
        program(gateway).build_index(Part, "by_city", rebuild=True, on_progress=stop)
    earlier = snapshot(gateway, CATALOG_TABLE)
    program(gateway).build_index(Part, "by_city")
    program(gateway).build_index(Part, "by_price", rebuild=True)
    restore(gateway, earlier)

    for name in ("by_city", "by_price"):
        program(gateway).build_index(Part, name)

    assert program(gateway).indexes(Part)["by_city"].table == f"{BY_CITY}.3"
    assert_right(gateway)


# --- the base table -------------------------------------------------------------------------------


def test_a_base_table_that_was_dropped_is_made_again_without_the_entries_of_before(
    gateway: MemoryGateway,
) -> None:
    gateway.execute(DropTable(TABLE))

    made = program(gateway).create_tables(Part)

    assert made == [f"{BY_CITY}.2", f"{BY_PRICE}.2", TABLE]
    assert prices_of(program(gateway), "city1") == []
    fill(program(gateway), price=500, rows=8)
    assert prices_of(program(gateway), "city1") == [501, 505]
    assert_right(gateway)


def test_dropping_tables_drops_those_that_were_passed_over_too(gateway: MemoryGateway) -> None:
    gateway.execute(DropTable(TABLE))
    engine = program(gateway)
    engine.create_tables(Part)

    engine.drop_tables(Part)

    assert gateway.execute(ListTables()) == [CATALOG_TABLE]


def test_a_base_table_and_a_catalog_that_were_dropped_leave_no_entries_to_believe(
    gateway: MemoryGateway,
) -> None:
    gateway.execute(DropTable(TABLE))
    lose_table(gateway)

    program(gateway).create_tables(Part)

    assert prices_of(program(gateway), "city1") == []
    assert_right(gateway)


def test_a_base_table_that_was_truncated_is_verified_as_unsound_and_its_indexes_built_again(
    gateway: MemoryGateway,
) -> None:
    truncate(gateway, TABLE)

    found = program(gateway).verify_index(Part, "by_city")
    with pytest.raises(SchemaError, match="the table has no rows") as refused:
        program(gateway).create_tables(Part)
    for name in ("by_city", "by_price"):
        program(gateway).build_index(Part, name, rebuild=True)

    assert not found.is_sound
    assert found.entries[Finding.INVALID] == ROWS
    assert "rebuild=True" in refused.value.fix
    assert prices_of(program(gateway), "city1") == []
    program(gateway).create_tables(Part)
    assert_right(gateway)


def test_a_repair_deletes_the_copies_of_rows_that_were_truncated(gateway: MemoryGateway) -> None:
    truncate(gateway, TABLE)

    program(gateway).verify_index(Part, "by_city", repair=True, min_age_ms=0)

    assert prices_of(program(gateway), "city1") == []
    assert program(gateway).verify_index(Part, "by_city").is_sound


@pytest.mark.parametrize("mends", ["rebuild", "repair"])
def test_a_base_table_of_an_earlier_time_is_verified_as_unsound_and_put_right(
    gateway: MemoryGateway, mends: str
) -> None:
    earlier = snapshot(gateway, TABLE)
    with program(gateway).session() as session:
        session.add(Part(number=1, city="moved", price=1))
        session.add(Part(number=2, city="city2", price=77))
        session.delete(Part(number=5, city="city1", price=5))
        session.add(Part(number=700, city="new", price=7))
    restore(gateway, earlier)

    found = program(gateway).verify_index(Part, "by_city")
    if mends == "rebuild":
        rebuild(gateway)
    else:
        for name in ("by_city", "by_price"):
            program(gateway).verify_index(Part, name, repair=True, min_age_ms=0)

    assert not found.is_sound
    assert (found.missing, found.rows[Finding.INVALID]) == (2, 1)
    assert found.entries[Finding.INVALID] == 3
    assert prices_of(program(gateway), "new") == prices_of(program(gateway), "moved") == []
    assert prices_of(program(gateway), "city1") == [1, 5, 9, 13, 17, 21, 25, 29, 33, 37]
    assert 2 in prices_of(program(gateway), "city2")
    assert_right(gateway)


# --- copies ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("tables", [[TABLE], [TABLE, BY_CITY, BY_PRICE]], ids=["base", "all"])
def test_tables_copied_to_another_cluster_are_built_there(
    gateway: MemoryGateway, tables: list[str]
) -> None:
    """The copies of index tables are of another moment than that of the rows."""
    copies = {table: snapshot(gateway, table) for table in tables}
    with program(gateway).session() as session:
        session.add(Part(number=1, city="moved", price=1))
    copies[TABLE] = snapshot(gateway, TABLE)
    other = MemoryGateway()
    for each in copies.values():
        copy(other, each)

    with pytest.raises(UnboundedScanError) as unread:
        program(other).session().all(select(Part.price).where(Part.city == "city1"))
    program(other).create_tables(Part)
    for name in ("by_city", "by_price"):
        program(other).build_index(Part, name)

    assert "create_tables" in unread.value.fix
    assert prices_of(program(other), "moved") == [1]
    assert 1 not in prices_of(program(other), "city1")
    assert_right(other)


# --- index tables ---------------------------------------------------------------------------------


def test_an_index_table_that_was_truncated_is_verified_as_unsound_and_put_right(
    gateway: MemoryGateway,
) -> None:
    truncate(gateway, BY_CITY)

    found = program(gateway).verify_index(Part, "by_city")
    repaired = program(gateway).verify_index(Part, "by_city", repair=True)

    assert (found.is_sound, found.missing) == (False, ROWS)
    assert repaired.repaired == ROWS
    assert_right(gateway)


def test_an_index_table_of_an_earlier_time_is_verified_as_unsound_and_built_again(
    gateway: MemoryGateway,
) -> None:
    earlier = snapshot(gateway, BY_CITY)
    with program(gateway).session() as session:
        session.add(Part(number=1, city="moved", price=1))
    restore(gateway, earlier)

    found = program(gateway).verify_index(Part, "by_city")
    rebuild(gateway, "by_city")

    assert (found.is_sound, found.missing, found.entries[Finding.INVALID]) == (False, 1, 1)
    assert_right(gateway)


# --- loads ----------------------------------------------------------------------------------------


def test_a_new_table_into_which_rows_were_copied_is_not_loaded_without_checks() -> None:
    """A load puts rows blindly: it would leave the entries of the rows that it puts over."""
    gateway = MemoryGateway()
    program(gateway).create_tables(Part)
    made = snapshot(gateway, TABLE)
    with program(gateway).session() as session:
        session.add(Part(number=1, city="there", price=1))
    rows = snapshot(gateway, TABLE)
    program(gateway).drop_tables(Part)
    program(gateway).create_tables(Part)
    restore(gateway, rows)

    with (
        pytest.raises(FlushError, match="not all rows"),
        program(gateway).session().bulk(insert_only=True) as bulk,
    ):
        bulk.add(Part(number=1, city="loaded", price=2))

    assert made.rows == ()
    assert program(gateway).session().one(select(Part.city).where(Part.number == 1)) == "there"


# --- programs that know of no index ---------------------------------------------------------------


class PlainPart(Model, table="parts"):
    d = Family()
    number: Key[int] = key(codecs.uint16())
    city: Mapped[str] = column(d)
    price: Mapped[int] = column(d, codec=codecs.int64(), default=0)


def test_an_index_of_an_empty_table_that_plain_programs_may_be_writing_is_built_first() -> None:
    gateway = MemoryGateway()
    old = program(gateway)
    old.create_tables(PlainPart)
    with old.session() as session:  # its lease begins
        session.delete_row(PlainPart, number=2)
    new = program(gateway)
    new.add_guard_family(Part)

    new.create_tables(Part)
    with old.session() as session:
        session.add(PlainPart(number=1, city="city1", price=7))

    assert new.indexes(Part)["by_city"].state is IndexState.ABSENT
    for name in ("by_city", "by_price"):
        new.build_index(Part, name)
    assert prices_of(new, "city1") == [7]
    assert_right(gateway)


def test_tables_whose_making_was_broken_off_are_finished_without_a_build() -> None:
    gateway = MemoryGateway()
    program(gateway).create_tables(Part)
    lose_row(gateway)

    program(gateway).create_tables(Part)

    assert program(gateway).indexes(Part)["by_city"].state is IndexState.READABLE
    assert_right(gateway)


# --- damaged guards -------------------------------------------------------------------------------


def damage_guard(gateway: MemoryGateway, number: int, head: bytes, rest: bytes = b"") -> None:
    """Overwrite the begin of a row's guard, or all of it but the ring, under its timestamp."""
    key = number.to_bytes(2, "big")
    (row,) = gateway.execute(GetRows(TABLE, (key,), (GUARD_COLUMN,)))
    assert row is not None
    cell = row.cells[GUARD_COLUMN]
    value = head + (rest or cell.value[len(head) :])
    put = Put(GUARD_COLUMN, value, cell.timestamp_ms)
    gateway.execute(MutateRow(TABLE, RowMutation(key, (put,))))


def epoch_and_states(gateway: MemoryGateway) -> tuple[int, set[IndexState]]:
    entry = program(gateway)._runtime.run(read_entry(TABLE))
    assert entry is not None
    return entry.epoch, {index.state for index in entry.indexes.values()}


def cities(gateway: MemoryGateway, city: str) -> list[Part]:
    session = program(gateway).session()
    return list(session.all(select(Part).where(Part.city == city).using(Part.by_city)))


DAMAGES = pytest.mark.parametrize(
    ("head", "rest"),
    [
        (b"L\xff\xff", b"\xff" * 16),  # its timestamp is above its cell's
        (b"L\x12\x34", b"\xff" * 16),
        (b"L\xff\xff", b""),
        (b"L\xff\xfe", b""),
        (b"D\x75\x30", b""),
    ],
)


@DAMAGES
def test_a_damaged_guard_takes_no_index_from_queries(
    gateway: MemoryGateway, head: bytes, rest: bytes
) -> None:
    rebuild(gateway)
    before = epoch_and_states(gateway)
    damage_guard(gateway, 2, head, rest)

    program(gateway).create_tables(Part)

    assert epoch_and_states(gateway) == before
    assert 2 in {part.number for part in cities(gateway, "city2")}
    program(gateway).verify_index(Part, "by_city", repair=True)
    assert_right(gateway)


@DAMAGES
def test_a_repair_gives_a_row_with_a_damaged_guard_a_new_one(
    gateway: MemoryGateway, head: bytes, rest: bytes
) -> None:
    damage_guard(gateway, 2, head, rest)
    engine = program(gateway)
    session = engine.session()
    session.put_row(Part, Part.price.to(7), number=3)
    with pytest.raises(CorruptRowError) as refused:
        session.put_row(Part, Part.price.to(7), number=2)
    assert "repair=True" in refused.value.fix

    found = engine.verify_index(Part, "by_city")
    engine.verify_index(Part, "by_city", repair=True)

    assert (found.is_sound, found.newer_epoch) == (False, 0)
    assert engine.verify_index(Part, "by_city").is_sound
    session.put_row(Part, Part.price.to(7), number=2)
    assert_right(gateway)


@pytest.mark.parametrize("verb", ["replace", "delete_row"])
def test_a_row_whose_guard_has_an_impossible_epoch_is_replaced_and_deleted(
    gateway: MemoryGateway, verb: str
) -> None:
    damage_guard(gateway, 2, b"L\xff\xff")
    session = program(gateway).session()

    if verb == "replace":
        session.replace(Part(number=2, city="new"))
    else:
        session.delete_row(Part, number=2)

    session.put_row(Part, Part.city.to("new"), Part.price.to(0), number=2)
    assert epoch_and_states(gateway)[0] == 1
    assert_right(gateway)


def test_a_build_goes_past_a_damaged_guard(gateway: MemoryGateway) -> None:
    damage_guard(gateway, 2, b"L\xff\xff")

    rebuild(gateway)

    assert epoch_and_states(gateway) == (3, {IndexState.READABLE})
    assert_right(gateway)


@LOSSES
def test_a_damaged_guard_gives_a_lost_catalog_no_epoch(
    gateway: MemoryGateway, lose: object
) -> None:
    rebuild(gateway)
    fill(program(gateway))
    damage_guard(gateway, 2, b"L\xff\xff")
    damage_guard(gateway, 3, b"L\x00\x00")

    before, _ = epoch_and_states(gateway)
    lose(gateway)  # type: ignore[operator]  # one of the losses

    program(gateway).create_tables(Part)

    assert epoch_and_states(gateway)[0] == before + 1
