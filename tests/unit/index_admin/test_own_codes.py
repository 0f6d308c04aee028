"""Codes that several programs add to an index's own codec: joined in the catalog, or refused."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from enum import Enum
from types import new_class
from typing import Any

import pytest

from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    codecs,
    column,
    connect,
    func,
    key,
    select,
)
from hbase_orm.errors import ConflictError, SchemaDriftError, SchemaError, UniqueViolationError
from hbase_orm.index.catalog.catalog import read_entry
from hbase_orm.index.entries.targets import ENTRY_COLUMN
from hbase_orm.ops import (
    CreateTable,
    MutateRows,
    Put,
    RowMutation,
    Scan,
    TruncateTable,
    ask,
    fetch_once,
)
from hbase_orm.record.store import read_record
from tests.support.migrated_tables import with_short_waits
from tests.support.recording import FailsBeforeSending, gateway_of, through

Codes = Mapping[Any, bytes]

BASE: Codes = {"a": b"1"}
MORE_X: Codes = {**BASE, "x": b"3"}
MORE_Y: Codes = {**BASE, "y": b"4"}
ALL: Codes = {**MORE_X, **MORE_Y}
OTHER_X: Codes = {**BASE, "x": b"4"}
SAME_CODE: Codes = {**BASE, "z": b"3"}


def indexed(codes: Codes, *, kind: Any = str, of: Any = None, **options: Any) -> Any:
    """Return a model with an index that has these codes of its own."""
    d = Family()
    city, shade = column(d), column(d)
    by_shade = Index((shade if of is None else of(shade), codecs.code(codes)), **options)
    hints = {"no": Key[str], "city": Mapped[str], "shade": Mapped[kind]}
    body = {"no": key(), "d": d, "city": city, "shade": shade, "by_shade": by_shade}

    def fill(namespace: dict[str, Any]) -> None:
        namespace.update(body, __annotations__=hints, __module__=__name__)

    return new_class("Part", (Model,), {"table": "parts"}, fill)


def beside(engine: Engine) -> Engine:
    return through(gateway_of(engine), engine)


@pytest.fixture
def engine() -> Iterator[Engine]:
    with connect("memory://") as engine:
        yield engine


def add(engine: Engine, model: Any, no: str, shade: Any) -> None:
    with beside(engine).session() as session:
        session.add(model(no=no, city="Oslo", shade=shade))


def entries(engine: Engine, table: str = "parts_ix_by_shade") -> list[bytes]:
    return [row.key for row in engine._runtime.run(fetch_once(Scan(table, caching_rows=100)))]


def catalogued(engine: Engine, table: str = "parts") -> Mapping[str, str]:
    """Return the codes that the catalog has, by value."""
    entry = engine._runtime.run(read_entry(table))
    assert entry is not None
    details = json.loads(entry.indexes["by_shade"].entries.partition(" || ")[2])
    codes: Mapping[str, str] = details["codecs"]["0"]["codes"]
    return codes


def recorded(engine: Engine, table: str = "parts") -> Mapping[str, str]:
    record = engine._runtime.run(read_record(table))
    assert record is not None
    spec = record.current.indexes["by_shade"].spec
    assert spec is not None
    codes: Mapping[str, str] = spec["of"][0]["codec"]["codes"]
    return codes


def put_entry(engine: Engine, entry: bytes) -> None:
    put = RowMutation(entry, puts=(Put(ENTRY_COLUMN, b"", 1),))
    engine._runtime.run(ask(MutateRows("parts_ix_by_shade", (put,))))


@pytest.mark.parametrize("options", [{}, {"unique": True}, {"nulls": True}])
def test_the_codes_of_all_programs_are_joined_and_stay(
    engine: Engine, options: dict[str, Any]
) -> None:
    kind = str | None if "nulls" in options else str
    base, more_x, more_y = (
        indexed(codes, kind=kind, **options) for codes in (BASE, MORE_X, MORE_Y)
    )
    for program in (base, more_x, more_y, base):
        beside(engine).create_tables(program)

    joined = {"'a'": "31", "'x'": "33", "'y'": "34"}
    assert catalogued(engine) == joined
    assert recorded(engine) == joined


@pytest.mark.parametrize("second", [OTHER_X, SAME_CODE], ids=["other code", "same code"])
@pytest.mark.parametrize("options", [{}, {"unique": True}])
def test_two_programs_whose_new_codes_contradict_each_other_do_not_both_write(
    engine: Engine, second: Codes, options: dict[str, Any]
) -> None:
    base, one, other = (indexed(codes, **options) for codes in (BASE, MORE_X, second))
    engine.create_tables(base)
    beside(engine).create_tables(one)
    add(engine, one, "1", "x")
    written = entries(engine)

    program = beside(engine)
    with pytest.raises(SchemaError, match="differ from those that the catalog has"):
        program.create_tables(other)
    with pytest.raises(SchemaError, match="another declaration of the index"):
        program.verify_index(other, "by_shade", repair=True, min_age_ms=0)
    with pytest.raises(SchemaError, match="differ from those that the catalog has"):
        program.repair_indexes(other, min_age_ms=0)
    with pytest.raises(SchemaError, match="differ from those that the catalog has"):
        program.session().insert(other(no="2", city="Oslo", shade="a"))
    with pytest.raises(SchemaError, match="differ from those that the catalog has"):
        program.session().all(select(other).where(other.shade == "a"))

    assert entries(engine) == written


@pytest.mark.parametrize("codes", [MORE_X, MORE_Y, BASE], ids=["x", "y", "none"])
def test_a_program_that_lacks_codes_of_the_catalog_repairs_nothing(
    engine: Engine, codes: Codes
) -> None:
    lacking, whole = indexed(codes), indexed(ALL)
    for program in (lacking, whole):
        beside(engine).create_tables(program)
    add(engine, whole, "1", "x")
    add(engine, whole, "2", "y")
    put_entry(engine, b"31")  # stale for everybody
    before = entries(engine)

    program = beside(engine)
    with pytest.raises(SchemaDriftError, match="other codes than the catalog"):
        program.verify_index(lacking, "by_shade", repair=True, min_age_ms=0)
    with pytest.raises(SchemaDriftError, match="other codes than the catalog"):
        program.repair_indexes(lacking, min_age_ms=0)
    assert program.verify_index(lacking, "by_shade").invalid == 0
    assert entries(engine) == before

    beside(engine).repair_indexes(whole, min_age_ms=0)
    assert entries(engine) == [b"31", b"42"]


def test_a_read_by_a_program_with_other_codes_deletes_no_entry(engine: Engine) -> None:
    base, more = indexed(BASE), indexed(MORE_X)
    beside(engine).create_tables(base)
    beside(engine).create_tables(more)
    add(engine, more, "1", "x")
    add(engine, more, "2", "x")
    with beside(engine).session() as session:
        session.delete_row(more, no="2")
    put_entry(engine, b"12")
    before = entries(engine)

    assert beside(engine).session().all(select(base.no).where(base.shade == "a")) == []
    assert entries(engine) == before

    assert beside(engine).session().all(select(more.no).where(more.shade == "a")) == []
    assert entries(engine) == [b"31"]


def test_a_program_with_new_codes_repairs_after_they_are_in_the_catalog(engine: Engine) -> None:
    base, more = indexed(BASE), indexed(MORE_X)
    engine.create_tables(base)
    add(engine, more, "1", "x")
    put_entry(engine, b"11")

    with pytest.raises(SchemaDriftError, match=r"call engine\.create_tables") as caught:
        beside(engine).repair_indexes(more, min_age_ms=0)
    assert caught.value.details["indexes"] == ["by_shade"]
    beside(engine).create_tables(more)
    beside(engine).repair_indexes(more, min_age_ms=0)

    assert entries(engine) == [b"31"]


def test_a_unique_value_stays_claimed_if_the_other_program_lacks_its_code(engine: Engine) -> None:
    base, more = indexed(BASE, unique=True), indexed(MORE_X, unique=True)
    beside(engine).create_tables(more)
    beside(engine).create_tables(base)
    add(engine, more, "1", "x")

    with pytest.raises(SchemaDriftError):
        beside(engine).repair_indexes(base, min_age_ms=0)
    with pytest.raises(UniqueViolationError):
        beside(engine).session().insert(more(no="2", city="Oslo", shade="x"))


def test_a_build_by_a_program_with_fewer_codes_keeps_those_of_others(engine: Engine) -> None:
    base, more = indexed(BASE), indexed(MORE_X)
    beside(engine).create_tables(more)
    add(engine, base, "1", "a")

    with_short_waits(beside(engine)).build_index(base, "by_shade", rebuild=True)

    assert catalogued(engine) == {"'a'": "31", "'x'": "33"}


def test_an_index_may_have_other_codes_after_it_was_dropped(engine: Engine) -> None:
    before, after = indexed(MORE_X), indexed(OTHER_X)
    engine.create_tables(before)
    add(engine, before, "1", "x")

    beside(engine).drop_index(before, "by_shade")
    beside(engine).create_tables(after)
    beside(engine).build_index(after, "by_shade")
    beside(engine).repair_indexes(after, min_age_ms=0)

    assert catalogued(engine) == recorded(engine) == {"'a'": "31", "'x'": "34"}
    assert beside(engine).session().all(select(after.no).where(after.shade == "x")) == ["1"]


def test_a_build_after_a_drop_starts_with_the_codes_of_its_program(engine: Engine) -> None:
    before, after = indexed({**BASE, "x": b"3"}), indexed(BASE)
    engine.create_tables(before)
    add(engine, before, "1", "a")
    engine.drop_index(before, "by_shade")

    beside(engine).create_tables(before)  # adds nothing to an index that does not exist
    beside(engine).create_tables(indexed(MORE_Y))
    beside(engine).build_index(after, "by_shade")

    assert catalogued(engine) == {"'a'": "31"}
    beside(engine).repair_indexes(after, min_age_ms=0)
    beside(engine).verify_index(after, "by_shade", repair=True, min_age_ms=0)
    reused = indexed({**BASE, "z": b"3"})
    beside(engine).create_tables(reused)
    assert catalogued(engine) == {"'a'": "31", "'z'": "33"}
    assert recorded(engine) == {"'a'": "31", "'z'": "33"}


def test_a_build_that_goes_on_after_a_drop_keeps_the_codes_that_were_added_meanwhile(
    engine: Engine,
) -> None:
    before, after, more = indexed(MORE_X), indexed(BASE), indexed(MORE_Y)
    engine.create_tables(before)
    add(engine, before, "1", "a")
    engine.drop_index(before, "by_shade")
    killed = FailsBeforeSending(
        gateway_of(engine),
        lambda op: RuntimeError("killed") if isinstance(op, CreateTable) else None,
    )
    with pytest.raises(RuntimeError, match="killed"):
        through(killed, engine).build_index(after, "by_shade")

    beside(engine).create_tables(more)
    beside(engine).build_index(after, "by_shade")

    assert catalogued(engine) == {"'a'": "31", "'y'": "34"}


def test_codes_are_not_added_while_the_table_is_truncated(engine: Engine) -> None:
    base, more = indexed(BASE), indexed(MORE_X)
    engine.create_tables(base)
    killed = FailsBeforeSending(
        gateway_of(engine),
        lambda op: RuntimeError("killed") if isinstance(op, TruncateTable) else None,
    )
    with pytest.raises(RuntimeError, match="killed"):
        through(killed, engine).truncate_tables(base)

    beside(engine).create_tables(base)
    with pytest.raises(ConflictError, match="the table is being truncated") as caught:
        beside(engine).create_tables(more)
    assert "create_tables again" in str(caught.value)
    beside(engine).truncate_tables(base)
    beside(engine).create_tables(more)

    assert catalogued(engine) == recorded(engine) == {"'a'": "31", "'x'": "33"}
    with pytest.raises(SchemaError, match="differ from those that the catalog has"):
        beside(engine).create_tables(indexed(OTHER_X))


def test_codes_of_the_results_of_a_function_are_compared_too(engine: Engine) -> None:
    engine.create_tables(indexed(MORE_X, of=func.lower))

    with pytest.raises(SchemaError, match="differ from those that the catalog has"):
        beside(engine).create_tables(indexed(OTHER_X, of=func.lower))


# --- members of enums ------------------------------------------------------------------------------


class Shade(Enum):
    RED = "r"
    BLUE = "b"


class Renamed(Enum):
    CRIMSON = "r"
    BLUE = "b"


class Exchanged(Enum):
    RED = "b"
    BLUE = "r"


class Reused(Enum):
    RED = "c"  # a new member has the name of an old one
    CRIMSON = "r"
    BLUE = "b"


SHADES = indexed({Shade.RED: b"1", Shade.BLUE: b"2"}, kind=Shade)
RENAMED = indexed({Renamed.CRIMSON: b"1", Renamed.BLUE: b"2"}, kind=Renamed)


def test_a_member_may_be_renamed(engine: Engine) -> None:
    engine.create_tables(SHADES)
    add(engine, SHADES, "1", Shade.RED)
    program = beside(engine)

    program.create_tables(RENAMED)
    program.session().insert(RENAMED(no="2", city="Oslo", shade=Renamed.CRIMSON))
    program.verify_index(RENAMED, "by_shade", repair=True, min_age_ms=0)
    beside(engine).repair_indexes(SHADES, min_age_ms=0)

    for model, shade in ((RENAMED, Renamed.CRIMSON), (SHADES, Shade.RED)):
        found = beside(engine).session().all(select(model.no).where(model.shade == shade))
        assert found == ["1", "2"]
    assert catalogued(engine) == {"Shade.RED": "31", "Shade.BLUE": "32"}


@pytest.mark.parametrize(
    "other",
    [
        indexed({Exchanged.RED: b"1", Exchanged.BLUE: b"2"}, kind=Exchanged),
        indexed({Renamed.CRIMSON: b"2", Renamed.BLUE: b"1"}, kind=Renamed),
        indexed({Reused.RED: b"1", Reused.BLUE: b"2"}, kind=Reused),
    ],
    ids=["exchanged values", "exchanged codes", "a code for another value"],
)
def test_another_code_for_what_rows_store_is_refused(engine: Engine, other: Any) -> None:
    engine.create_tables(SHADES)
    add(engine, SHADES, "1", Shade.RED)
    before = entries(engine)

    with pytest.raises(SchemaError, match="differ from those that the catalog has"):
        beside(engine).create_tables(other)
    with pytest.raises(SchemaError, match="another declaration of the index"):
        beside(engine).verify_index(other, "by_shade", repair=True, min_age_ms=0)

    assert entries(engine) == before


def test_a_new_member_may_have_the_name_that_another_one_had(engine: Engine) -> None:
    reused = indexed({Reused.RED: b"3", Reused.CRIMSON: b"1", Reused.BLUE: b"2"}, kind=Reused)
    engine.create_tables(SHADES)
    add(engine, SHADES, "1", Shade.RED)

    beside(engine).create_tables(reused)
    add(engine, reused, "2", Reused.RED)
    beside(engine).repair_indexes(reused, min_age_ms=0)

    assert sorted(catalogued(engine).values()) == ["31", "32", "33"]
    found = beside(engine).session().all(select(reused.no).where(reused.shade == Reused.RED))
    assert found == ["2"]
    with pytest.raises(SchemaDriftError, match="other codes than the catalog"):
        beside(engine).repair_indexes(SHADES, min_age_ms=0)
