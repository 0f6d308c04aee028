"""Models whose declaration was edited after their table was created: what they may do with its rows."""

from __future__ import annotations

from datetime import UTC, datetime
from types import new_class
from typing import Any

import pytest

from hbase_orm import (
    Counter,
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    RecordType,
    TablePerPeriod,
    Version,
    codecs,
    column,
    connect,
    counter,
    func,
    key,
    rowkey,
    select,
    version,
)
from hbase_orm.errors import MissingCellError, SchemaDriftError, SchemaError, ValidationError
from tests.support.recording import gateway_of, through

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


def part_models() -> tuple[Any, Any]:
    """Return a model with indexes, and the same one with other names for most fields."""

    class Part(Model, table="parts"):
        d = Family()
        shelf: Key[str] = key()
        n: Key[int] = key(codecs.uint32())
        name: Mapped[str] = column(d, "n")
        size: Mapped[int | None] = column(d, "s", default=None)
        hits: Counter = counter(d, "h")
        by_size = Index(size, n.desc())
        by_name = Index(func.lower(name), where=size == 1)

    first = Part

    class Renamed(Model, table="parts"):
        d = Family()
        place: Key[str] = key()
        number: Key[int] = key(codecs.uint32())
        title: Mapped[str] = column(d, "n")
        width: Mapped[int | None] = column(d, "s", default=None)
        count: Counter = counter(d, "h")
        by_size = Index(width, number.desc())
        by_name = Index(func.lower(title), where=width == 1)

    Renamed.__name__ = "Part"
    return first, Renamed


def beside(engine: Engine) -> Engine:
    """Return another program on the same tables, which knows nothing yet."""
    return through(gateway_of(engine), engine)


def with_a_part() -> tuple[Engine, Any, Any]:
    engine = connect("memory://")
    first, renamed = part_models()
    engine.create_tables(first)
    with engine.session() as session:
        session.add(first(shelf="a", n=1, name="Nut", size=1))
    return engine, first, renamed


@pytest.mark.parametrize("is_recorded", [False, True])
def test_renamed_fields_are_in_the_same_indexes(*, is_recorded: bool) -> None:
    engine, first, renamed = with_a_part()
    other = beside(engine)
    if is_recorded:
        other.create_tables(renamed)

    with other.session() as session:
        part = session.one(select(renamed).where(renamed.width == 1).using(renamed.by_size))
        part.width = 2
        session.flush()
        session.add(renamed(place="b", number=2, title="NUT", width=1))

    with beside(engine).session() as session:
        by_name = select(first).where(func.lower(first.name) == "nut", first.size == 1)
        assert [each.n for each in session.all(by_name.using(first.by_name))] == [2]
        session.insert(first(shelf="c", n=3, name="Bolt", size=1))
    assert engine.verify_index(first, first.by_size).is_sound
    assert other.verify_index(renamed, renamed.by_size).is_sound


def test_an_index_of_another_field_is_still_another_index() -> None:
    engine, _, _ = with_a_part()

    class Part(Model, table="parts"):
        d = Family()
        shelf: Key[str] = key()
        n: Key[int] = key(codecs.uint32())
        name: Mapped[str] = column(d, "n")
        size: Mapped[int | None] = column(d, "s", default=None)
        by_size = Index(size, shelf)

    with pytest.raises(SchemaError, match="indexes differ"):
        beside(engine).session().put_row(Part, Part.size.to(3), shelf="a", n=1)


def test_a_row_of_counters_alone_exists_for_no_program_of_a_guarded_table() -> None:
    engine, first, _ = with_a_part()
    with engine.session() as session:
        session.increment(first, first.hits.by(1), shelf="a", n=2)

    class Part(Model, table="parts"):
        d = Family()
        shelf: Key[str] = key()
        n: Key[int] = key(codecs.uint32())
        name: Mapped[str] = column(d, "n")

    with beside(engine).session() as session:
        assert session.count(select(Part).allow_full_scan()) == 1
        assert session.all(select(Part.n).allow_full_scan()) == [1]
        assert session.get(Part, shelf="a", n=2) is None


def test_a_counter_that_a_model_leaves_out_makes_no_row() -> None:
    class Stock(Model, table="stock"):
        d = Family()
        n: Key[int] = key(codecs.uint32())
        note: Mapped[str | None] = column(d, default=None)
        hits: Counter = counter(d)
        by_note = Index(note)

    class Without(Model, table="stock"):
        d = Family()
        n: Key[int] = key(codecs.uint32())
        note: Mapped[str | None] = column(d, default=None)
        by_note = Index(note)

    engine = connect("memory://")
    engine.create_tables(Stock)
    with engine.session() as session:
        session.increment(Stock, Stock.hits.by(1), n=1)

    with beside(engine).session() as session:
        assert session.get(Without, n=1) is None
        assert not session.exists(select(Without).allow_full_scan())
        session.insert(Without(n=1, note="x"))


def test_a_view_without_the_anchor_changes_rows_also_once_it_is_recorded() -> None:
    class Stock(Model, table="stock"):
        d = Family()
        n: Key[int] = key(codecs.uint32())
        name: Mapped[str] = column(d)
        size: Mapped[int | None] = column(d, default=None)
        revision: Version = version(d)

    class Sizes(Model, table="stock"):
        d = Family()
        n: Key[int] = key(codecs.uint32())
        size: Mapped[int | None] = column(d, default=None)
        revision: Version = version(d)

    engine = connect("memory://")
    engine.create_tables(Stock)
    with engine.session() as session:
        session.add(Stock(n=1, name="x", size=1))

    for other in (beside(engine), beside(engine)):
        with other.session() as session:
            stock: Any = session.get(Sizes, n=1)
            stock.size += 1
            session.flush()
            with pytest.raises(SchemaDriftError, match="cannot write whole rows"):
                session.insert(Sizes(n=2, size=1))
        other.create_tables(Sizes)

    with engine.session() as session:
        stock = session.get(Stock, n=1)
        assert (stock.name, stock.size, stock.revision) == ("x", 3, 3)


def test_a_row_without_a_new_required_column_is_changed_without_it() -> None:
    engine, first, _ = with_a_part()

    class Part(Model, table="parts"):
        d = Family()
        weight: Mapped[int] = column(d, "w")
        shelf: Key[str] = key()
        n: Key[int] = key(codecs.uint32())
        name: Mapped[str] = column(d, "n")
        size: Mapped[int | None] = column(d, "s", default=None)
        hits: Counter = counter(d, "h")
        by_size = Index(size, n.desc())
        by_name = Index(func.lower(name), where=size == 1)

    with beside(engine).session() as session:
        part: Any = session.get(Part, shelf="a", n=1)
        part.name = "Bolt"
        session.flush()
        with pytest.raises(MissingCellError):
            _ = part.weight
        with pytest.raises(ValidationError, match="a required field has no value"):
            session.replace(part)

    with engine.session() as session:
        kept: Any = session.get(first, shelf="a", n=1)
    assert kept.name == "Bolt"


def test_a_record_type_keeps_its_text_in_row_keys() -> None:
    class Base(Model, table="records"):
        d = Family()
        n: Key[int] = key(codecs.uint32())
        __rowkey__ = rowkey(n, RecordType())

    class Order(Base, record_type="O"):
        name: Mapped[str] = column(Base.d)

    first = Order

    class Again(Model, table="records"):
        d = Family()
        n: Key[int] = key(codecs.uint32())
        __rowkey__ = rowkey(n, RecordType())

    order: Any = new_class(
        "Order", (Again,), {"record_type": "P"}, lambda body: body.update(__module__=__name__)
    )
    engine = connect("memory://")
    engine.create_tables(Base)
    with engine.session() as session:
        session.add(first(n=1, name="x"))

    with pytest.raises(SchemaDriftError, match="would misread") as caught:
        beside(engine).session().get(order, n=1)

    assert any("record type of model Order" in line for line in caught.value.differences)


def test_a_family_that_the_tables_of_periods_lack_is_refused() -> None:
    class Log(Model, table=TablePerPeriod("log_%Y%m%d", of="at", period="day", create=True)):
        d = Family()
        at: Key[datetime] = key(codecs.millis())
        text: Mapped[str] = column(d)

    class More(Model, table=TablePerPeriod("log_%Y%m%d", of="at", period="day", create=True)):
        d = Family()
        f = Family()
        at: Key[datetime] = key(codecs.millis())
        text: Mapped[str] = column(d)
        note: Mapped[str | None] = column(f, default=None)

    engine = connect("memory://")
    engine.create_tables(Log, periods=(NOON, NOON.replace(hour=13)))

    with pytest.raises(SchemaDriftError) as caught:
        beside(engine).session().get(More, at=NOON)

    assert any(line.startswith("family f") for line in caught.value.differences)
