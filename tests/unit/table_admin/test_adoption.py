"""Records for tables that others made: what is sampled, refused and written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    RecordType,
    Salt,
    Table,
    TablePerPeriod,
    codecs,
    column,
    connect,
    key,
    rowkey,
    select,
)
from hbase_orm.errors import (
    ConfigurationError,
    ConflictError,
    RecordError,
    SchemaDriftError,
    SchemaError,
    TableNotFoundError,
)
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.catalog.catalog import CATALOG_TABLE, RECORD_COLUMN
from hbase_orm.index.catalog.entry import IndexState
from hbase_orm.ops import (
    CheckAndMutate,
    CreateTable,
    DescribeTable,
    DropTable,
    FamilyDescriptor,
    MutateRows,
    OpenScanner,
    Operation,
    Put,
    RowMutation,
    TableDescriptor,
    run_protocol,
)
from hbase_orm.record.declaration import TableRecord
from hbase_orm.record.store import ID_ATTRIBUTE, read_record
from tests.support.recording import FailsBeforeSending, RecordsRequests, gateway_of, through
from tests.support.shop_processes import Clock, CrashError, Process, crash_at, engine_on
from tests.support.store import WithoutThrift2

MOST_REQUESTS = 28


class Person(Model, table="people"):
    d = Family()
    number: Key[int] = key(codecs.uint32())
    name: Mapped[str] = column(d)
    age: Mapped[int] = column(d, codec=codecs.uint8())


class NumberedPerson(Model, table="people"):
    d = Family()
    number: Key[int] = key(codecs.uint32())
    name: Mapped[int] = column(d, codec=codecs.uint16())


class SaltedPerson(Model, table="people"):
    d = Family()
    part: Key[int] = key(codecs.uint16())
    rest: Key[int] = key(codecs.uint8())
    __rowkey__ = rowkey(Salt(4), part, rest)
    name: Mapped[str] = column(d)


class ForeignPerson(Model, table=Table("people", foreign=True)):
    d = Family()
    number: Key[int] = key(codecs.uint32())
    name: Mapped[str] = column(d)


class IndexedPerson(Model, table="people"):
    d = Family()
    number: Key[int] = key(codecs.uint32())
    name: Mapped[str] = column(d)
    by_name = Index(name)


class Visit(Model, table=TablePerPeriod("visits_%Y%m%d", of="at", period="day")):
    d = Family()
    name: Key[str] = key()
    at: Key[datetime] = key()
    pages: Mapped[int] = column(d)


class Thing(Model, table="things"):
    d = Family()
    owner: Key[str] = key()
    __rowkey__ = rowkey(RecordType(), owner)


class Box(Thing, record_type="b"):
    d = Family()
    size: Mapped[int] = column(d, codec=codecs.uint8())


class Bag(Thing, record_type="g"):
    d = Family()
    colour: Mapped[str] = column(d)


def foreign(gateway: MemoryGateway, table: str = "people") -> None:
    """Make a table of three regions with 30 rows, as another program would."""
    families = (FamilyDescriptor(b"d", versions=4), FamilyDescriptor(b"other"))
    splits = (number_key(10), number_key(20))
    gateway.execute(CreateTable(TableDescriptor(table, families, {"owner": "hr"}), splits))
    rows = [
        RowMutation(
            number_key(number),
            puts=(Put(b"d:name", f"n{number}".encode()), Put(b"d:age", bytes([number]))),
        )
        for number in range(30)
    ]
    gateway.execute(MutateRows(table, tuple(rows)))


def number_key(number: int) -> bytes:
    return number.to_bytes(4, "big")


def put(gateway: MemoryGateway, key: bytes, **values: bytes) -> None:
    puts = tuple(Put(b"d:" + name.encode(), value) for name, value in values.items())
    gateway.execute(MutateRows("people", (RowMutation(key, puts=puts),)))


@pytest.fixture
def engine() -> Iterator[Engine]:
    with connect("memory://") as engine:
        yield engine


@pytest.fixture
def gateway(engine: Engine) -> MemoryGateway:
    gateway = gateway_of(engine)
    assert isinstance(gateway, MemoryGateway)
    foreign(gateway)
    return gateway


def record_of(gateway: MemoryGateway, table: str = "people") -> TableRecord | None:
    return run_protocol(read_record(table), gateway.execute)


def write_raw(gateway: MemoryGateway, value: bytes, table: str = "people") -> None:
    mutation = RowMutation(table.encode(), puts=(Put(RECORD_COLUMN, value),))
    gateway.execute(MutateRows(CATALOG_TABLE, (mutation,)))


def test_a_foreign_table_gets_a_record_and_its_id_and_keeps_all_else(
    engine: Engine, gateway: MemoryGateway
) -> None:
    before = gateway.execute(DescribeTable("people"))

    (adopted,) = engine.adopt_tables(Person)

    described = gateway.execute(DescribeTable("people"))
    record = record_of(gateway)
    assert (adopted.reason, adopted.sampled, adopted.undeclared) == ("no record", 30, {})
    assert record == adopted.record
    assert record is not None
    assert described.attributes == {"owner": "hr", ID_ATTRIBUTE: record.table_id}
    assert replace(described, attributes=before.attributes) == before
    assert record.current.families == {b"d": before.families[0]}
    assert record.current.rows[0].anchor == b"d:name"
    with pytest.raises(SchemaDriftError, match="codec of column d:name"):
        engine.session().get(NumberedPerson, number=1)


def test_a_table_is_adopted_only_once(engine: Engine, gateway: MemoryGateway) -> None:
    engine.adopt_tables(Person)
    before = record_of(gateway)

    (again,) = engine.adopt_tables(Person)

    assert (again.reason, again.record) == ("recorded already", None)
    assert record_of(gateway) == before


def test_a_dry_run_writes_nothing(engine: Engine, gateway: MemoryGateway) -> None:
    (adopted,) = engine.adopt_tables(Person, dry_run=True)

    assert adopted.record is not None
    assert record_of(gateway) is None
    assert ID_ATTRIBUTE not in gateway.execute(DescribeTable("people")).attributes


def test_a_wrong_codec_is_refused_with_the_first_rows(
    engine: Engine, gateway: MemoryGateway
) -> None:
    with pytest.raises(SchemaDriftError) as caught:
        engine.adopt_tables(NumberedPerson)

    assert (caught.value.undecodable, caught.value.sampled) == (20, 30)  # n0 to n9 decode
    assert caught.value.differences[0].startswith(
        r"row \x00\x00\x00\x0A of people: NumberedPerson: column d:name (field name, uint16) has n10"
    )
    assert len(caught.value.differences) == 5
    assert record_of(gateway) is None


def test_a_wrong_row_key_is_refused(engine: Engine, gateway: MemoryGateway) -> None:
    put(gateway, b"\x01", name=b"a")

    with pytest.raises(SchemaDriftError) as caught:
        engine.adopt_tables(Person)

    assert (caught.value.undecodable, caught.value.sampled) == (1, 31)
    assert r"row \x01 of people: Person: the row key does not decode" in caught.value.differences[0]


def test_a_salt_that_is_computed_otherwise_is_refused(
    engine: Engine, gateway: MemoryGateway
) -> None:
    with pytest.raises(SchemaDriftError, match="its fields have another row key"):
        engine.adopt_tables(SaltedPerson)

    assert record_of(gateway) is None


def test_rows_are_sampled_from_the_start_of_each_region(
    engine: Engine, gateway: MemoryGateway
) -> None:
    put(gateway, number_key(25), name=b"\xff")  # no text, but behind the sample

    (adopted,) = engine.adopt_tables(Person, rows=9)

    assert adopted.sampled == 9


def test_no_more_rows_are_read_than_wanted_however_many_regions_there_are(
    engine: Engine, gateway: MemoryGateway
) -> None:
    sent = RecordsRequests(gateway)

    (adopted,) = through(sent, engine).adopt_tables(Person, rows=2, dry_run=True)

    starts = [r.scan.key_range.start for r in sent.requests if isinstance(r, OpenScanner)]
    assert adopted.sampled == 2
    assert starts == [b"", number_key(10)]


def test_what_rows_have_and_lack_is_shown_and_recorded(
    engine: Engine, gateway: MemoryGateway
) -> None:
    put(gateway, number_key(100), age=b"\x07", extra=b"e")

    (adopted,) = engine.adopt_tables(Person)

    record = record_of(gateway)
    assert adopted.undeclared == {b"d:extra": 1}
    assert adopted.lacking == {b"d:name": 1}
    assert record is not None
    rows = record.current.rows[0]
    assert (rows.anchor, rows.marker) == (b"d:age", None)
    assert [each.is_required for each in rows.columns.values()] == [False, True]
    with engine.session() as session:
        assert session.get(Person, number=100) is not None
        names = session.all(select(Person.age).where(Person.number >= 29).allow_full_scan())
        assert len(names) == 2


def test_without_a_column_in_every_row_puts_write_the_marker(
    engine: Engine, gateway: MemoryGateway
) -> None:
    put(gateway, number_key(100), age=b"\x07")
    put(gateway, number_key(101), name=b"n")

    engine.adopt_tables(Person)

    record = record_of(gateway)
    assert record is not None
    rows = record.current.rows[0]
    assert (rows.anchor, rows.marker) == (None, b"d:_0")
    with engine.session() as session:
        session.add(Person(number=102, name="m", age=1))
    with engine.session() as session:
        assert len(session.all(select(Person.number).allow_full_scan())) == 33


def test_an_empty_table_is_recorded_as_declared(engine: Engine) -> None:
    gateway = gateway_of(engine)
    gateway.execute(CreateTable(TableDescriptor("people", (FamilyDescriptor(b"d"),))))

    (adopted,) = engine.adopt_tables(Person)

    assert adopted.sampled == 0
    assert adopted.record is not None
    assert adopted.record.current.rows[0].anchor == b"d:name"


def test_a_record_of_an_earlier_table_is_replaced(engine: Engine, gateway: MemoryGateway) -> None:
    gateway.execute(DropTable("people"))
    engine.create_tables(NumberedPerson)
    gateway.execute(DropTable("people"))
    foreign(gateway)

    (adopted,) = engine.adopt_tables(Person)

    assert adopted.reason == "a record of another table"
    with engine.session() as session:
        assert session.get(Person, number=7) is not None


def test_a_damaged_record_is_replaced_and_one_of_a_newer_library_is_kept(
    engine: Engine, gateway: MemoryGateway
) -> None:
    engine.adopt_tables(Person)
    before = record_of(gateway)
    write_raw(gateway, b"{")

    (adopted,) = engine.adopt_tables(Person)

    assert adopted.reason == "a damaged record"
    assert record_of(gateway) == before
    write_raw(gateway, b'{"version":99}')
    with pytest.raises(RecordError, match="a newer version"):
        engine.adopt_tables(Person)


@pytest.mark.usefixtures("gateway")
def test_a_model_that_contradicts_the_record_is_refused(engine: Engine) -> None:
    engine.adopt_tables(Person)

    with pytest.raises(SchemaDriftError, match="declare what the record says") as caught:
        engine.adopt_tables(NumberedPerson)

    assert "adopt" not in caught.value.fix


def test_models_that_contradict_each_other_are_refused(
    engine: Engine, gateway: MemoryGateway
) -> None:
    with pytest.raises(SchemaError, match="different codecs"):
        engine.adopt_tables(Person, NumberedPerson)

    assert record_of(gateway) is None


def test_an_indexed_model_needs_the_family_of_the_guards(
    engine: Engine, gateway: MemoryGateway
) -> None:
    with pytest.raises(SchemaError, match="add_guard_family"):
        engine.adopt_tables(IndexedPerson)

    engine.add_guard_family(IndexedPerson)
    engine.adopt_tables(IndexedPerson)
    engine.create_tables(IndexedPerson)
    engine.build_index(IndexedPerson, "by_name")
    with engine.session() as session:
        found = session.all(select(IndexedPerson).where(IndexedPerson.name == "n7"))
    assert [each.number for each in found] == [7]
    record = record_of(gateway)
    assert record is not None
    assert record.current.is_guarded


def test_a_missing_family_a_missing_table_and_a_wrong_number_are_refused(engine: Engine) -> None:
    with pytest.raises(TableNotFoundError):
        engine.adopt_tables(Person)
    with pytest.raises(ConfigurationError, match="rows"):
        engine.adopt_tables(Person, rows=0)

    gateway_of(engine).execute(CreateTable(TableDescriptor("people", (FamilyDescriptor(b"x"),))))
    with pytest.raises(SchemaError, match="lacks families"):
        engine.adopt_tables(Person)


def test_all_tables_of_periods_get_the_id_of_one_record(engine: Engine) -> None:
    gateway = gateway_of(engine)
    days = [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2, 3)]
    engine.create_tables(Visit, periods=(days[0], datetime(2026, 1, 4, tzinfo=UTC)))
    with engine.session() as session:
        session.add_all(Visit(name=f"n{day.day}", at=day, pages=day.day) for day in days)
    engine.drop_tables(Visit, periods=(days[0], days[1]))
    gateway.execute(CreateTable(TableDescriptor("visits_20260101", (FamilyDescriptor(b"d"),))))

    (adopted,) = engine.adopt_tables(Visit)

    assert adopted.tables == ("visits_20260101", "visits_20260102", "visits_20260103")
    assert adopted.sampled == 2
    ids = {gateway.execute(DescribeTable(name)).attributes[ID_ATTRIBUTE] for name in adopted.tables}
    assert adopted.record is not None
    assert ids == {adopted.record.table_id}
    assert engine.adopt_tables(Visit)[0].reason == "recorded already"


def test_each_record_type_has_its_own_columns(engine: Engine) -> None:
    engine.create_tables(Thing)
    gateway = gateway_of(engine)
    with engine.session() as session:
        session.add_all([Box(owner="a", size=1), Bag(owner="a", colour="red")])
    write_raw(gateway, b"{", "things")  # type: ignore[arg-type] # in memory

    (adopted,) = engine.adopt_tables(Box)

    assert adopted.models == ("Thing",)
    assert (adopted.sampled, adopted.lacking) == (2, {})
    assert adopted.record is not None
    assert [rows.anchor for rows in adopted.record.current.rows] == [b"d:size", b"d:colour"]
    gateway.execute(MutateRows("things", (RowMutation(b"x|a", puts=(Put(b"d:size", b"1"),)),)))
    write_raw(gateway, b"{", "things")  # type: ignore[arg-type] # in memory
    with pytest.raises(SchemaDriftError, match="record type that this program does not declare"):
        engine.adopt_tables(Thing)


def test_with_thrift1_alone_the_record_has_no_id(engine: Engine, gateway: MemoryGateway) -> None:
    without = through(WithoutThrift2(gateway), engine)

    (adopted,) = without.adopt_tables(Person)

    record = record_of(gateway)
    assert record is not None
    assert (adopted.has_id, record.table_id) == (False, "")
    assert without.adopt_tables(Person)[0].reason == "recorded already"


@pytest.mark.parametrize("number", range(MOST_REQUESTS))
def test_an_adoption_that_was_killed_is_finished_by_the_next(number: int) -> None:
    gateway = MemoryGateway()
    foreign(gateway)
    with suppress(CrashError):
        engine_on(Process(gateway, crash_at(number)), Clock()).adopt_tables(Person)
    table_id = gateway.execute(DescribeTable("people")).attributes.get(ID_ATTRIBUTE)

    engine_on(gateway, Clock()).adopt_tables(Person)

    record = record_of(gateway)
    assert record is not None
    now = gateway.execute(DescribeTable("people")).attributes[ID_ATTRIBUTE]
    assert now == record.table_id
    assert now == (table_id or now)


def test_an_adoption_has_no_more_requests_than_are_tried_above() -> None:
    gateway = MemoryGateway()
    foreign(gateway)
    process = Process(gateway)

    engine_on(process, Clock()).adopt_tables(Person)

    assert process.requests < MOST_REQUESTS


def test_a_model_of_a_table_that_others_own_is_refused(
    engine: Engine, gateway: MemoryGateway
) -> None:
    with pytest.raises(SchemaError, match="foreign=True"):
        engine.adopt_tables(ForeignPerson)

    assert record_of(gateway) is None


def test_thrift1_alone_knows_an_adopted_table_by_the_age_of_its_regions(
    engine: Engine, gateway: MemoryGateway
) -> None:
    alone = through(WithoutThrift2(gateway), engine)
    alone.adopt_tables(Person)

    with pytest.raises(SchemaDriftError):
        through(WithoutThrift2(gateway), engine).session().get(NumberedPerson, number=1)
    gateway.execute(DropTable("people"))
    foreign(gateway)

    (again,) = through(WithoutThrift2(gateway), engine).adopt_tables(Person)

    assert again.reason == "a record of another table"


def test_a_record_that_another_program_writes_meanwhile_is_kept(
    engine: Engine, gateway: MemoryGateway
) -> None:
    other = engine_on(gateway, Clock())

    def adopts_first(operation: Operation[object]) -> None:
        if isinstance(operation, CheckAndMutate) and record_of(gateway) is None:
            other.adopt_tables(IndexedPerson)

    engine.add_guard_family(IndexedPerson)
    with pytest.raises(ConflictError, match="another program has changed"):
        through(FailsBeforeSending(gateway, adopts_first), engine).adopt_tables(Person)

    record = record_of(gateway)
    assert record is not None
    assert list(record.current.rows[0].models) == ["IndexedPerson"]


def test_an_alteration_after_an_adoption_keeps_the_settings_of_other_programs(
    engine: Engine, gateway: MemoryGateway
) -> None:
    theirs = FamilyDescriptor(
        b"d",
        versions=3,
        configuration={"hbase.hstore.blockingStoreFiles": "30"},
        attributes={"OWNER": "them"},
    )
    gateway.execute(DropTable("people"))
    gateway.execute(CreateTable(TableDescriptor("people", (theirs,))))
    engine.adopt_tables(Person)

    changes = engine.alter_tables(Person, allow_data_loss=True)

    assert [change.subject for change in changes] == ["family d: versions", "record"]
    (family,) = gateway.execute(DescribeTable("people")).families
    assert family == replace(theirs, versions=1)
    assert not engine.alter_tables(Person)


@pytest.mark.parametrize("model", [Person, NumberedPerson])
def test_what_a_check_advises_on_an_undecided_record_helps(
    engine: Engine, gateway: MemoryGateway, model: type[Model]
) -> None:
    gateway.execute(DropTable("people"))
    engine.create_tables(Person)
    record = record_of(gateway)
    assert record is not None
    write_raw(gateway, replace(record, table_id="", regions_ms=0).encode())
    alone = through(WithoutThrift2(gateway), engine)
    assert undecided(alone, model)

    if model is Person:
        alone.create_tables(Person)
    else:
        alone.adopt_tables(NumberedPerson)

    assert not undecided(alone, model)


def undecided(engine: Engine, model: type[Model]) -> bool:
    """Return whether a check shows the record as undecided, with both ways out."""
    (check,) = engine.check_tables(model)
    fixes = [each.fix for each in check.differences if each.subject == "record"]
    return any("tables create" in fix and "tables adopt' with their model" in fix for fix in fixes)


@pytest.mark.usefixtures("gateway")
def test_one_alteration_is_enough_for_an_adopted_table_with_indexes(engine: Engine) -> None:
    engine.alter_tables(IndexedPerson, allow_data_loss=True)
    engine.adopt_tables(IndexedPerson)
    engine.create_tables(IndexedPerson)

    assert not engine.table_changes(IndexedPerson)


def test_indexes_of_an_empty_adopted_table_must_be_built(
    engine: Engine, gateway: MemoryGateway
) -> None:
    """A program that knows no index may write the table for a lease."""
    gateway.execute(DropTable("people"))
    gateway.execute(CreateTable(TableDescriptor("people", (FamilyDescriptor(b"d"),))))
    engine.alter_tables(IndexedPerson)
    engine.adopt_tables(IndexedPerson)
    engine.create_tables(IndexedPerson)

    assert {each.state for each in engine.indexes(IndexedPerson).values()} == {IndexState.ABSENT}
