"""What Arrow tables of statements promise: the values, order and errors of the objects' reads."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, ClassVar
from uuid import UUID

import polars as pl
import pyarrow as pa
import pytest

from hbase_orm import (
    Codec,
    Counter,
    Dynamic,
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    RecordType,
    Related,
    Salt,
    codecs,
    column,
    counter,
    dynamic,
    func,
    key,
    related,
    rowkey,
    select,
)
from hbase_orm.errors import (
    CodecError,
    ConfigurationError,
    CorruptRowError,
    MissingCellError,
    QueryError,
    StreamInterruptedError,
)
from hbase_orm.ops import CloseScanner, MutateRows, OpenScanner, Put, RowMutation
from tests.support.store import Store


class State(Enum):
    OPEN = "open"
    SHUT = "shut"


class Level(Enum):
    LOW = 1
    HIGH = 2


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Complex(Codec[complex]):
    """A user's codec of a type that Arrow does not have."""

    name: ClassVar[str] = "complex"
    python_type: ClassVar[type] = complex

    def encode(self, value: complex, /) -> bytes:
        return repr(value).encode()

    def decode(self, data: bytes, /) -> complex:
        return complex(data.decode())


class Sale(Model, table="arrow_sales"):
    d = Family()
    shop: Key[str] = key()
    at: Key[datetime] = key(codecs.millis(desc=True))
    price: Mapped[Decimal] = column(d)
    count: Mapped[int] = column(d, codec=codecs.uint16())
    weight: Mapped[float | None] = column(d, default=None)
    is_paid: Mapped[bool] = column(d, default=False)
    state: Mapped[State] = column(d)
    level: Mapped[Level | None] = column(d, default=None)
    city: Mapped[str] = column(d)
    raw: Mapped[bytes | None] = column(d, default=None)
    due: Mapped[date | None] = column(d, default=None)
    took: Mapped[timedelta | None] = column(d, default=None)
    id: Mapped[UUID | None] = column(d, default=None)
    marks: Mapped[list[int | None]] = column(d, codec=codecs.json(list[int | None]))
    where: Mapped[Point | None] = column(d, codec=codecs.msgpack(Point), default=None)
    seen: Counter = counter(d)
    by_city = Index(city)


class Reading(Model, table="arrow_readings"):
    d = Family()
    host: Key[str] = key(codecs.text(separator=b"\x00"))
    n: Key[int] = key(codecs.uint32())
    __rowkey__ = rowkey(Salt(4), host, n)
    value: Mapped[float] = column(d, "v")
    note: Mapped[str | None] = column(d, default=None)
    body: Mapped[str] = column(d, deferred=True, default="")


class Tagged(Model, table="arrow_tagged"):
    d = Family()
    name: Key[str] = key()
    size: Mapped[int] = column(d)
    tags: Dynamic[str, int] = dynamic(d, prefix="t:")
    states: Dynamic[str, State] = dynamic(d, prefix="s:")


class Thing(Model, table="arrow_things"):
    d = Family()
    name: Key[str] = key()
    __rowkey__ = rowkey(RecordType(), name)
    size: Mapped[int] = column(d)


class Box(Thing, record_type="b"):
    lid: Mapped[str] = column(Thing.d)


class Ball(Thing, record_type="a"):
    pass


class Parent(Model, table="arrow_parents"):
    d = Family()
    name: Key[str] = key()
    z: Mapped[complex | None] = column(d, codec=Complex(), default=None)
    n: Mapped[int] = column(d)
    other: Related[Tagged] = related(name=name)


MODELS = (Sale, Reading, Tagged, Thing, Parent)
START = datetime(2024, 5, 1, tzinfo=UTC)


def sale(shop: str, n: int) -> Sale:
    is_odd = bool(n % 2)
    return Sale(
        shop=shop,
        at=START + timedelta(milliseconds=n),
        price=Decimal(n) / 4,
        count=n,
        weight=n / 8 if is_odd else None,
        is_paid=is_odd,
        state=State.OPEN if is_odd else State.SHUT,
        level=Level.HIGH if n % 3 else None,
        city=("Ulm", "Köln", "Zürich")[n % 3],
        raw=bytes(n) if is_odd else None,
        due=date(2024, 5, 1 + n) if is_odd else None,
        took=timedelta(seconds=n) if is_odd else None,
        id=UUID(int=n) if is_odd else None,
        marks=[*range(n), None],
        where=Point(n, -n) if is_odd else None,
    )


def prepare(engine: Engine) -> None:
    engine.create_tables(*MODELS)
    with engine.session() as session:
        session.add_all([sale(shop, n) for shop in ("east", "west") for n in range(12)])
        session.add_all(
            [Reading(host=f"h{n % 3}", n=n, value=n / 2, body="b" * n) for n in range(40)]
        )
        for n in range(5):
            tagged = Tagged(name=f"n{n}", size=n)
            tagged.tags = {f"t{m}": m for m in range(n)}
            tagged.states = {"now": State.OPEN} if n % 2 else {}
            session.add(tagged)
        session.add_all([Box(name="x", size=1, lid="oak"), Ball(name="y", size=2)])
        session.add(Parent(name="p", n=1, z=1j))
        session.flush()
        session.increment(Sale, Sale.seen.by(7), shop="east", at=START)


def column_values(table: Any, objects: list[Any], name: str) -> tuple[list[Any], list[Any]]:
    return table[name].to_pylist(), [getattr(obj, name) for obj in objects]


def test_a_table_has_the_fields_in_declared_order_with_the_types_of_their_codecs(
    store: Store,
) -> None:
    with store.engine.session() as session:
        schema = session.arrow(select(Sale).allow_full_scan()).schema

    assert str(schema).replace("\n  child 0, item: int64", "").splitlines() == [
        "shop: string not null",
        "at: timestamp[ms, tz=UTC] not null",
        "price: decimal128(38, 9) not null",
        "count: uint16 not null",
        "weight: double",
        "is_paid: bool not null",
        "state: dictionary<values=string, indices=int8, ordered=0> not null",
        "level: dictionary<values=string, indices=int8, ordered=0>",
        "city: string not null",
        "raw: binary",
        "due: date32[day]",
        "took: duration[us]",
        "id: string",
        "marks: list<item: int64> not null",
        "where: string",
        "seen: int64 not null",
    ]


def test_a_table_has_the_values_of_the_objects(store: Store) -> None:
    with store.engine.session() as session:
        stmt = select(Sale).where(Sale.shop == "east")
        objects, table = session.all(stmt), session.arrow(stmt, batch_rows=5).read_all()

    table.validate(full=True)
    assert [len(chunk) for chunk in table["shop"].chunks] == [5, 5, 2]
    converted: dict[str, Callable[[Any], Any]] = {
        "state": lambda value: value.value,
        "level": lambda value: value.name,
        "id": str,
        "where": lambda value: f'{{"x":{value.x},"y":{value.y}}}',
    }
    for name in table.column_names:
        read, values = column_values(table, objects, name)
        convert = converted.get(name, lambda value: value)
        assert read == [None if value is None else convert(value) for value in values], name
    assert table["seen"].to_pylist() == [0] * 11 + [7]


STATEMENTS: dict[str, Any] = {
    "some fields": select(Sale.city, Sale.shop, Sale.seen).where(Sale.shop == "east"),
    "one field": select(Sale.price).where(Sale.shop == "east"),
    "conditions": select(Sale).where(Sale.shop == "west", Sale.count > 3, Sale.state == State.OPEN),
    "a condition on another field": select(Sale.at).where(Sale.shop == "west", Sale.count > 3),
    "limit": select(Sale).where(Sale.shop == "west").limit(7),
    "limit of matches": select(Sale.count)
    .where(Sale.shop == "west", Sale.is_paid.in_([True]))
    .limit(3),
    "reverse": select(Sale).where(Sale.shop == "west").order_by(Sale.at.desc()),
    "index": select(Sale).where(Sale.city == "Köln"),
    "index, values": select(Sale.at, Sale.city).where(Sale.city == "Köln").limit(5),
    "sort": select(Sale).sort_in_memory(Sale.price.desc(), max_rows=99).allow_full_scan().limit(9),
    "sort of values": select(Sale.shop, Sale.count)
    .sort_in_memory(Sale.count, max_rows=99)
    .allow_full_scan(),
    "fan-out": select(Reading).where(Reading.host == "h1"),
    "merge": select(Reading.host, Reading.n).where(Reading.host.in_(["h0", "h1", "h2"])),
    "nothing": select(Reading).where(Reading.host == "none"),
    "keys": select(Sale.at).where(Sale.shop == "west"),
    "one row": select(Sale).where(Sale.shop == "west", Sale.at == START),
}


def plain(value: Any) -> Any:
    """Return what an Arrow table has for a value."""
    if isinstance(value, Level):
        return value.name
    if isinstance(value, Point):
        return f'{{"x":{value.x},"y":{value.y}}}'
    return (
        value.value
        if isinstance(value, State)
        else str(value)
        if isinstance(value, UUID)
        else value
    )


@pytest.mark.parametrize("batch_rows", [1, 4, 1000])
@pytest.mark.parametrize("kind", STATEMENTS)
def test_every_kind_of_statement_gives_the_rows_of_its_objects(
    store: Store, kind: str, batch_rows: int
) -> None:
    stmt = STATEMENTS[kind].caching(3)
    with store.engine.session() as session:
        results = session.all(stmt)
        table = session.arrow(stmt, batch_rows=batch_rows).read_all()

    names = table.column_names
    if stmt.selection is None:
        results = [tuple(getattr(obj, name) for name in names) for obj in results]
    elif stmt.selection.is_bare:
        results = [(value,) for value in results]
    assert [tuple(row.values()) for row in table.to_pylist()] == [
        tuple(map(plain, values)) for values in results
    ]
    assert all(len(chunk) <= batch_rows for chunk in table[names[0]].chunks)


def test_aggregates_are_columns_named_as_they_are_written(store: Store) -> None:
    stmt = (
        select(
            Sale.shop, func.count(), func.sum(Sale.count), func.max(Sale.at), func.sum(Sale.price)
        )
        .group_by(Sale.shop)
        .allow_full_scan()
    )
    with store.engine.session() as session:
        table = session.arrow(stmt).read_all()
        total = session.arrow(select(func.count(Sale.shop)).where(Sale.shop == "east")).read_all()
        days = select(func.day(Sale.at), func.count()).where(Sale.shop == "east")
        by_day = session.arrow(days.group_by(func.day(Sale.at))).read_all()

    assert table.column_names == ["shop", "count()", "sum(count)", "max(at)", "sum(price)"]
    assert [str(kind) for kind in table.schema.types] == [
        *("string", "int64", "int64", "timestamp[ms, tz=UTC]", "decimal128(38, 9)")
    ]
    last = START + timedelta(milliseconds=11)
    assert [tuple(row.values()) for row in table.to_pylist()] == [
        ("east", 12, 66, last, Decimal("16.5")),
        ("west", 12, 66, last, Decimal("16.5")),
    ]
    assert total.to_pydict() == {"count(shop)": [12]}
    assert by_day.to_pydict() == {"day(at)": [START.date()], "count()": [12]}


def test_averages_have_types_that_hold_them(store: Store) -> None:
    items = (func.avg(Sale.count), func.avg(Sale.weight), func.avg(Sale.took), func.avg(Sale.price))
    of_three = select(*items).where(Sale.shop == "east", Sale.count.in_([0, 1, 3]))
    of_none = select(*items).where(Sale.shop == "none")
    with store.engine.session() as session:
        table = session.arrow(of_three).read_all()
        rounded = session.arrow(of_three, types={"avg(price)": pa.decimal128(9, 2)}).read_all()
        absent = session.arrow(of_none).read_all()

    assert [str(kind) for kind in table.schema.types] == [
        *("double", "double", "duration[us]", "decimal128(38, 9)")
    ]
    assert [*table.to_pylist()[0].values()] == [
        *(4 / 3, 0.25, timedelta(seconds=2), Decimal("0.333333333"))
    ]
    assert rounded["avg(price)"].to_pylist() == [Decimal("0.33")]
    assert {*absent.to_pylist()[0].values()} == {None}


def test_dynamic_columns_are_maps_and_single_ones_can_be_null(store: Store) -> None:
    with store.engine.session() as session:
        table = session.arrow(select(Tagged).allow_full_scan(), batch_rows=2).read_all()
        single = session.arrow(select(Tagged.name, Tagged.tags["t2"]).allow_full_scan()).read_all()
        ranged = select(Tagged).columns_between(Tagged.tags, "t1", "t3").allow_full_scan()
        sliced = session.arrow(ranged).read_all()

    table.validate(full=True)
    assert table["tags"].to_pylist() == [[(f"t{m}", m) for m in range(n)] for n in range(5)]
    assert table["states"].to_pylist() == [[("now", "open")] if n % 2 else [] for n in range(5)]
    assert table["size"].to_pylist() == [*range(5)]
    assert single.to_pydict() == {
        "name": [f"n{n}" for n in range(5)],
        "tags['t2']": [None, None, None, 2, 2],
    }
    assert sliced.column_names == ["name", "size", "tags"]
    assert sliced["tags"].to_pylist()[-1] == [("t1", 1), ("t2", 2)]


def test_deferred_fields_are_columns_only_if_they_are_named(store: Store) -> None:
    with store.engine.session() as session:
        every = session.arrow(select(Reading).where(Reading.host == "h0")).read_all()
        named = select(Reading.n, Reading.body).where(Reading.host == "h0")
        bodies = session.arrow(named).read_all().to_pydict()

    assert every.column_names == ["host", "n", "value", "note"]
    assert bodies["body"] == ["b" * n for n in bodies["n"]]


def test_a_base_has_the_fields_that_its_record_types_share(store: Store) -> None:
    with store.engine.session() as session:
        every = session.arrow(select(Thing).allow_full_scan()).read_all()
        boxes = session.arrow(select(Box).allow_full_scan()).read_all()

    assert every.to_pydict() == {"name": ["y", "x"], "size": [2, 1]}
    assert boxes.to_pydict() == {"name": ["x"], "size": [1], "lid": ["oak"]}


def test_the_types_of_columns_can_be_chosen(store: Store) -> None:
    types = {
        "price": pa.decimal128(10, 2),
        "state": pa.large_string(),
        "count": pa.int64(),
        "seen": pa.uint8(),
    }
    stmt = select(Sale.price, Sale.state, Sale.count, Sale.seen).where(Sale.shop == "east")
    with store.engine.session() as session:
        table = session.arrow(stmt.limit(2), types=types).read_all()

    assert [*table.schema.types] == [*types.values()]
    assert table.to_pylist()[0] == {
        "price": Decimal("2.75"),
        "state": "open",
        "count": 11,
        "seen": 0,
    }


# --- errors ---------------------------------------------------------------------------------------


def test_a_field_without_an_arrow_type_is_named_before_anything_is_sent(store: Store) -> None:
    with store.engine.session() as session:
        session.first(select(Parent.n).allow_full_scan())
        sent = len(store.sent.requests)
        with pytest.raises(QueryError, match="have no Arrow type") as got:
            session.arrow(select(Parent).allow_full_scan())
        assert len(store.sent.requests) == sent
        n = session.arrow(select(Parent.n).allow_full_scan()).read_all()

    assert (got.value.field, got.value.codec) == ("z", "complex")
    assert "select other fields" in got.value.fix
    assert n.to_pydict() == {"n": [1]}


@pytest.mark.parametrize(
    ("types", "text"),
    [
        ({"missing": "x"}, "a column that the statement does not have"),
        ({7: "x"}, "a column that the statement does not have"),
        ({"count": "int64"}, "is not an Arrow type"),
    ],
)
def test_wrong_types_are_refused(store: Store, types: dict[Any, Any], text: str) -> None:
    with store.engine.session() as session, pytest.raises(QueryError, match=text):
        session.arrow(select(Sale).allow_full_scan(), types=types)


@pytest.mark.parametrize("batch_rows", [0, -1, 1.5, True])
def test_a_wrong_number_of_rows_is_refused(store: Store, batch_rows: Any) -> None:
    with store.engine.session() as session, pytest.raises(QueryError, match="positive") as got:
        session.arrow(select(Sale).allow_full_scan(), batch_rows=batch_rows)

    assert got.value.fix == "give 1 or more"  # without it batches are bounded, too


def test_related_objects_are_refused(store: Store) -> None:
    stmt = select(Parent).load_related(Parent.other).allow_full_scan()
    with store.engine.session() as session, pytest.raises(QueryError, match="cannot be columns"):
        session.arrow(stmt)


@pytest.mark.parametrize(
    ("field", "kind", "other"),
    [
        (Sale.price, pa.decimal128(3, 0), "pyarrow.decimal128(38, 18)"),
        (Sale.shop, pa.int64(), "..."),
    ],
)
def test_a_value_that_does_not_fit_the_type_names_the_column(
    store: Store, field: Any, kind: Any, other: str
) -> None:
    stmt = select(field).where(Sale.shop == "east")
    with store.engine.session() as session:
        reader = session.arrow(stmt, types={field.name: kind})
        with pytest.raises(CodecError, match="does not fit the Arrow type") as got:
            reader.read_all()

    assert got.value.column == field.name
    assert f"types={{{field.name!r}: {other}}}" in got.value.fix


def put(store: Store, host: str, n: int, *cells: Put) -> None:
    """Put cells into the row of a reading, as another program may do."""
    row = RowMutation(Reading.encode_key(host=host, n=n), cells)
    store.sent.execute(MutateRows(store.table(Reading), (row,)))


GOOD = Put(b"d:v", codecs.float64().encode(1.0))


def test_a_row_that_does_not_decode_raises_the_error_of_objects(store: Store, host: str) -> None:
    put(store, host, 0, GOOD)
    put(store, host, 1, Put(b"d:v", b"short"))
    stmt = select(Reading).where(Reading.host == host)
    with store.engine.session() as session:
        reader = session.arrow(stmt, batch_rows=1)
        assert reader.read_next_batch().num_rows == 1
        with pytest.raises(CorruptRowError) as got:
            reader.read_next_batch()
        with pytest.raises(CorruptRowError) as other:
            session.all(stmt)
        with pytest.raises(StreamInterruptedError):
            reader.read_next_batch()

    assert str(got.value) == str(other.value)
    assert got.value.field == "value"


def test_a_row_without_a_required_cell_raises_the_error_of_values(store: Store, host: str) -> None:
    put(store, host, 0, GOOD)
    put(store, host, 1, Put(b"d:note", b"alone"))
    with store.engine.session() as session:
        reader = session.arrow(select(Reading).where(Reading.host == host))
        with pytest.raises(MissingCellError) as got:
            reader.read_all()
        notes = session.arrow(select(Reading.note).where(Reading.host == host)).read_all()

    assert (got.value.field, got.value.model) == ("value", "Reading")
    assert notes.to_pydict() == {"note": [None, "alone"]}


def test_a_row_without_a_cell_has_the_default(store: Store, host: str) -> None:
    for n in range(4):
        put(store, host, n, GOOD, *((Put(b"d:body", b"text"),) if n == 2 else ()))
    stmt = select(Reading.n, Reading.body).where(Reading.host == host)
    with store.engine.session() as session:
        table = session.arrow(stmt, batch_rows=3).read_all()

    assert table.to_pydict() == {"n": [0, 1, 2, 3], "body": ["", "", "text", ""]}


# --- what is needed, and what is released ---------------------------------------------------------


def test_without_pyarrow_the_error_names_the_extra(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    extra = r"pip install 'hbase-orm\[arrow\]'"
    with store.engine.session() as session, pytest.raises(ConfigurationError, match=extra):
        session.arrow(select(Sale).allow_full_scan())


def closed_scanners(store: Store) -> tuple[int, int]:
    requests = store.sent.requests
    return tuple(  # type: ignore[return-value]  # two
        sum(isinstance(request, kind) for request in requests)
        for kind in (OpenScanner, CloseScanner)
    )


@pytest.mark.parametrize("leave", ["close", "with", "drop", "end", "error"])
def test_scanners_are_released_however_a_reader_ends(store: Store, leave: str) -> None:
    stmt = select(Sale).where(Sale.shop == "east").caching(2)
    with store.engine.session() as session:
        session.first(select(Parent.n).allow_full_scan())
        opened, closed = closed_scanners(store)
        reader = session.arrow(stmt, batch_rows=1)
        assert reader.read_next_batch().num_rows == 1
        if leave == "close":
            reader.close()
            reader.close()
            with pytest.raises(StopIteration):
                reader.read_next_batch()
        elif leave == "with":
            with reader:
                reader.read_next_batch()
        elif leave == "drop":
            del reader
            gc.collect()
            session.get(Sale, shop="none", at=START)  # a read closes what was dropped
        elif leave == "error":
            with pytest.raises(ZeroDivisionError), reader:
                raise ZeroDivisionError
        else:
            assert reader.read_all().num_rows == 11
    assert closed_scanners(store) == (opened + 1, closed + 1)


def test_a_reader_is_one_of_pyarrow_and_shows_its_statement(store: Store) -> None:
    with store.engine.session() as session, session.arrow(select(Sale).allow_full_scan()) as reader:
        assert isinstance(reader, pa.RecordBatchReader)
        assert repr(reader) == "BatchReader(Stream(select(Sale).allow_full_scan(), open))"
        assert reader.stale is False


# --- other libraries ------------------------------------------------------------------------------


def test_pandas_takes_all_results(store: Store) -> None:
    stmt = select(Sale.shop, Sale.count, Sale.weight).where(Sale.shop == "east")
    with store.engine.session() as session:
        frame = session.to_pandas(stmt)
        other = session.to_pandas(stmt, types={"count": pa.int32()}, deduplicate_objects=False)

    assert [*frame.columns] == ["shop", "count", "weight"]
    assert frame["count"].tolist() == [*reversed(range(12))]
    assert [str(kind) for kind in (frame["count"].dtype, other["count"].dtype)] == [
        "uint16",
        "int32",
    ]


def test_without_pandas_the_error_names_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with store.engine.session() as session, pytest.raises(ConfigurationError, match="needs pandas"):
        session.to_pandas(select(Sale).allow_full_scan())


def test_polars_takes_a_reader(store: Store) -> None:
    with store.engine.session() as session:
        frame = pl.from_arrow(session.arrow(select(Sale).allow_full_scan()).read_all())
        streamed = pl.DataFrame(session.arrow(select(Sale.count).allow_full_scan()))

    assert isinstance(frame, pl.DataFrame)
    assert frame.height == streamed.height == 24
    assert frame["state"].to_list()[:2] == ["open", "shut"]
