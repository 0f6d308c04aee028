"""Programs that create, alter or drop one table at the same time: the record fits its rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    TablePerPeriod,
    codecs,
    column,
    connect,
    key,
)
from hbase_orm.errors import ConflictError, FlushSchemaError, SchemaDriftError
from hbase_orm.ops import (
    CheckAndMutate,
    CreateTable,
    DescribeTable,
    DropTable,
    FamilyDescriptor,
    ListTables,
    OpenScanner,
    Operation,
    TableDescriptor,
)
from hbase_orm.record.store import ID_ATTRIBUTE, read_record
from tests.support.recording import LetsAnotherWork, gateway_of, through


def beside(engine: Engine) -> Engine:
    """Return the engine of another program on the same tables."""
    return through(gateway_of(engine), engine)


def interrupted(
    engine: Engine,
    meets: Callable[[Operation[Any]], bool],
    work: Callable[[Engine], object],
    *,
    is_after: bool = False,
) -> Engine:
    """Return the engine of a program that another one overtakes at the first met request."""
    gateway = gateway_of(engine)
    return through(
        LetsAnotherWork(gateway, meets, lambda: work(beside(engine)), is_after=is_after), engine
    )


def creates(table: str) -> Callable[[Operation[Any]], bool]:
    return lambda each: isinstance(each, CreateTable) and each.descriptor.name == table


def drops(table: str) -> Callable[[Operation[Any]], bool]:
    return lambda each: isinstance(each, DropTable) and each.table == table


def swaps(each: Operation[Any]) -> bool:
    return isinstance(each, CheckAndMutate)


def opens_scanner(each: Operation[Any]) -> bool:
    return isinstance(each, OpenScanner)


def sized(name: str, codec: Any, *above: str, **options: Any) -> Any:
    """Return a model of people with a size, and with required columns above their city."""
    d = Family(**options)
    fields: dict[str, Any] = {"d": d, "name": key(), **{each: column(d) for each in above}}
    fields |= {"city": column(d), "size": column(d, codec=codec, default=None)}
    hints: dict[str, Any] = {"name": Key[str], "size": Mapped[int | None]}
    hints |= dict.fromkeys((*above, "city"), Mapped[str])
    declared: Any = type(Model)
    body = {"__annotations__": hints, "__module__": __name__, **fields}
    return declared(name, (Model,), body, table="people")


class First(Model, table="people"):
    d = Family()
    name: Key[str] = key()
    city: Mapped[str] = column(d)


Unsigned = sized("Unsigned", codecs.uint32())
Signed = sized("Signed", codecs.int32())
Lowest = -(2**31) + 1


def write_signed(program: Engine) -> None:
    program.create_tables(Signed)
    with program.session() as session:
        session.add(Signed(name="ann", city="Oslo", size=Lowest))


def size_of_ann(engine: Engine) -> Any:
    ann = beside(engine).session().get(Signed, name="ann")
    return None if ann is None else ann.size


def test_the_record_of_a_table_that_a_program_has_just_created_may_be_another_programs() -> None:
    with connect("memory://") as engine:
        slow = interrupted(engine, creates("people"), write_signed, is_after=True)

        with pytest.raises(SchemaDriftError, match="d:size"):
            slow.create_tables(Unsigned)

        assert size_of_ann(engine) == Lowest
        with pytest.raises(SchemaDriftError, match="d:size"):
            slow.session().get(Unsigned, name="ann")


class City(Model, table="places"):
    d = Family()
    name: Key[str] = key()
    city: Mapped[str] = column(d)
    code: Mapped[str | None] = column(d, default=None)
    by_code = Index(code)


class Mail(Model, table="places"):
    d = Family()
    name: Key[str] = key()
    mail: Mapped[str] = column(d)
    code: Mapped[str | None] = column(d, default=None)
    by_code = Index(code)


def test_guarded_rows_keep_their_anchor_while_a_slow_program_finishes_the_creation() -> None:
    def write(program: Engine) -> None:
        program.create_tables(Mail)
        with program.session() as session:
            session.add(Mail(name="ann", mail="a@x", code="1"))

    with connect("memory://") as engine:
        interrupted(engine, creates("places"), write, is_after=True).create_tables(City)

        assert beside(engine).session().get(Mail, name="ann") is not None
        with pytest.raises(SchemaDriftError, match="d:mail"):
            beside(engine).session().insert(City(name="ann", city="Oslo", code="2"))
        report = beside(engine).verify_index(City, "by_code", repair=True, min_age_ms=0)
        assert (report.stale, report.missing, report.invalid) == (0, 0, 0)


def test_two_programs_that_add_one_column_with_two_codecs_are_compared() -> None:
    with connect("memory://") as engine:
        engine.create_tables(First)

        with pytest.raises(SchemaDriftError, match="d:size"):
            interrupted(engine, opens_scanner, write_signed).create_tables(Unsigned)

        assert size_of_ann(engine) == Lowest


def test_a_model_is_compared_with_the_record_of_a_table_that_was_created_again() -> None:
    def create_again(program: Engine) -> None:
        program.drop_tables(First)
        write_signed(program)

    with connect("memory://") as engine:
        engine.create_tables(First)

        with pytest.raises(SchemaDriftError, match="d:size"):
            interrupted(engine, swaps, create_again).create_tables(Unsigned)

        assert size_of_ann(engine) == Lowest


def daily(codec: Any) -> Any:
    class Daily(Model, table=TablePerPeriod("d_%Y%m%d", of="at", period="day", create=True)):
        d = Family()
        name: Key[str] = key()
        at: Key[datetime] = key()
        size: Mapped[int] = column(d, codec=codec)

    return Daily


FIRST_DAY = datetime(2024, 1, 1, tzinfo=UTC)
SECOND_DAY = datetime(2024, 1, 2, tzinfo=UTC)


def write_day(program: Engine, model: Any, at: datetime) -> None:
    with program.session() as session:
        session.add(model(name="a", at=at, size=1))


def ids_of(engine: Engine, *tables: str) -> set[str | None]:
    gateway = gateway_of(engine)
    return {gateway.execute(DescribeTable(each)).attributes.get(ID_ATTRIBUTE) for each in tables}


def test_first_writes_of_two_periods_with_contradictory_models_are_not_both_made() -> None:
    unsigned, signed = daily(codecs.uint32()), daily(codecs.int32())
    with connect("memory://") as engine:
        slow = interrupted(
            engine,
            creates("d_20240101"),
            lambda other: write_day(other, signed, SECOND_DAY),
            is_after=True,
        )

        with pytest.raises(FlushSchemaError, match="d:size"):
            write_day(slow, unsigned, FIRST_DAY)

        assert beside(engine).session().get(signed, name="a", at=SECOND_DAY) is not None


def test_tables_of_periods_that_two_programs_create_at_once_get_the_id_of_one_record() -> None:
    model = daily(codecs.uint32())
    with connect("memory://") as engine:
        slow = interrupted(
            engine,
            creates("d_20240101"),
            lambda other: write_day(other, model, SECOND_DAY),
            is_after=True,
        )
        write_day(slow, model, FIRST_DAY)

        record = engine._runtime.run(read_record("d_%Y%m%d"))
        assert record is not None
        assert ids_of(engine, "d_20240101", "d_20240102") == {record.table_id}


def test_an_alteration_is_compared_with_the_record_that_it_changes() -> None:
    altered = sized("Altered", codecs.uint32(), versions=3)
    with connect("memory://") as engine:
        engine.create_tables(First)

        def write_before_record(progress: Any) -> None:
            if progress.changes[0].kind == "record":
                write_signed(beside(engine))

        with pytest.raises(SchemaDriftError, match="d:size") as caught:
            beside(engine).alter_tables(altered, on_progress=write_before_record)

        assert caught.value.details["made"]
        assert size_of_ann(engine) == Lowest


@pytest.mark.parametrize("is_created_again", [False, True])
def test_an_alteration_of_a_table_that_was_dropped_meanwhile_says_so(
    *, is_created_again: bool
) -> None:
    altered = sized("Altered", codecs.uint32(), versions=3)
    with connect("memory://") as engine:
        engine.create_tables(First)

        def drop_before_record(progress: Any) -> None:
            if progress.changes[0].kind == "record":
                beside(engine).drop_tables(First)
                if is_created_again:
                    beside(engine).create_tables(First)

        with pytest.raises(ConflictError, match="dropped, or created again"):
            beside(engine).alter_tables(altered, on_progress=drop_before_record)


def write_places(program: Engine) -> None:
    program.create_tables(City)
    with program.session() as session:
        session.add(City(name="ann", city="Oslo", code="1"))


def test_a_slow_drop_keeps_the_index_and_the_record_of_the_next_table_of_the_name() -> None:
    with connect("memory://") as engine:
        engine.create_tables(City)

        interrupted(engine, drops("places"), write_places, is_after=True).drop_tables(City)

        with beside(engine).session() as session:
            session.add(City(name="bob", city="Rome", code="2"))
        report = beside(engine).verify_index(City, "by_code")
        assert (report.missing, report.stale, report.invalid) == (0, 0, 0)
        assert engine._runtime.run(read_record("places")) is not None


def test_a_slow_drop_keeps_an_index_table_that_the_next_table_uses() -> None:
    with connect("memory://") as engine:
        engine.create_tables(City)
        other = beside(engine)

        def create_twice(program: Engine) -> None:
            write_places(program)
            program.drop_tables(City)
            write_places(program)

        slow = interrupted(other, drops("places"), create_twice, is_after=True)
        slow.drop_tables(City)

        report = beside(engine).verify_index(City, "by_code")
        assert (report.missing, report.stale, report.invalid) == (0, 0, 0)


def test_a_slow_drop_of_a_plain_table_keeps_the_record_of_the_next_one() -> None:
    with connect("memory://") as engine:
        engine.create_tables(First)

        interrupted(engine, drops("people"), write_signed, is_after=True).drop_tables(First)

        with pytest.raises(SchemaDriftError, match="d:size"):
            beside(engine).session().get(Unsigned, name="ann")


def test_a_drop_of_all_periods_keeps_the_record_of_a_period_that_a_write_creates() -> None:
    unsigned, signed = daily(codecs.uint32()), daily(codecs.int32())
    with connect("memory://") as engine:
        write_day(engine, signed, FIRST_DAY)

        interrupted(
            engine,
            drops("d_20240101"),
            lambda other: write_day(other, signed, SECOND_DAY),
        ).drop_tables(signed)

        assert "d_20240102" in gateway_of(engine).execute(ListTables())
        with pytest.raises(SchemaDriftError, match="d:size"):
            beside(engine).session().get(unsigned, name="a", at=SECOND_DAY)


def test_the_last_drop_of_a_period_writes_the_record_again_for_a_period_that_was_created() -> None:
    unsigned, signed = daily(codecs.uint32()), daily(codecs.int32())
    with connect("memory://") as engine:
        write_day(engine, signed, FIRST_DAY)
        gateway = gateway_of(engine)
        described = gateway.execute(DescribeTable("d_20240101"))
        # A write has compared its model with the record, and creates the table of its period.
        create = CreateTable(replace(described, name="d_20240102"))

        interrupted(engine, swaps, lambda _: gateway.execute(create)).drop_tables(signed)

        with pytest.raises(SchemaDriftError, match="d:size"):
            beside(engine).session().get(unsigned, name="a", at=SECOND_DAY)


def test_a_slow_drop_of_an_index_keeps_the_index_of_the_next_table_of_the_name() -> None:
    def create_again(program: Engine) -> None:
        program.drop_tables(City)
        write_places(program)

    with connect("memory://") as engine:
        write_places(engine)

        interrupted(engine, lambda each: isinstance(each, ListTables), create_again).drop_index(
            City, "by_code"
        )

        report = beside(engine).verify_index(City, "by_code")
        assert (report.missing, report.stale, report.invalid) == (0, 0, 0)


def test_a_slow_adoption_keeps_the_id_of_a_table_that_another_program_has_recorded() -> None:
    with connect("memory://") as engine:
        gateway = gateway_of(engine)
        gateway.execute(CreateTable(TableDescriptor("people", (FamilyDescriptor(b"d"),))))
        slow = interrupted(engine, opens_scanner, lambda other: other.adopt_tables(First))

        with pytest.raises(ConflictError, match="changed the table's record"):
            slow.adopt_tables(First)

        record = engine._runtime.run(read_record("people"))
        assert record is not None
        assert ids_of(engine, "people") == {record.table_id}
