"""Models that are made from a record: what they are, and what they read and write."""

from __future__ import annotations

import hashlib
import json
import pkgutil
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from enum import Enum, IntEnum
from typing import Any

import pytest

import examples
import hbase_orm
from examples import month_partitions
from hbase_orm import (
    Computed,
    Counter,
    Digest,
    Dynamic,
    Engine,
    Family,
    HashPrefix,
    Index,
    Key,
    Mapped,
    Model,
    Offset,
    Period,
    RecordType,
    Salt,
    Substitute,
    Table,
    TablePerPeriod,
    Version,
    codecs,
    column,
    connect,
    counter,
    dynamic,
    func,
    key,
    rowkey,
    select,
    version,
)
from hbase_orm.errors import ConfigurationError, DeclarationError
from hbase_orm.index.entries.index_entries import index_target
from hbase_orm.record.declaration import Declaration, TableRecord
from hbase_orm.record.rebuilding.models import rebuilt_models
from hbase_orm.record.snapshots import declaration_of
from hbase_orm.record.store import change_record, read_record
from tests.support.rebuilt_declarations import as_rebuilt

T0 = datetime(2024, 5, 17, 10, 20, 30, tzinfo=UTC)
DAY = timedelta(days=1)


class Status(Enum):
    NEW = "new"
    DONE = "done"


class Grade(IntEnum):
    LOW = 1
    HIGH = 2


@dataclass(frozen=True)
class Line:
    name: str
    count: int


class Order(Model, table=Table("orders", splits=[b"\x05", b"m"], durability="ASYNC_WAL")):
    d = Family(ttl=timedelta(days=9), versions=3, keep_deleted_cells="TTL")
    e = Family("extra", bloom="ROWPREFIX_FIXED_LENGTH", bloom_prefix_bytes=4)
    f = Family()
    body: Mapped[str] = column(f, "b", deferred=True)
    shop: Key[str] = key(codecs.text(separator=b"\x00"))
    number: Key[int] = key(codecs.uint32(desc=True), family=d, qualifier="no", default=7)
    status: Mapped[Status] = column(d, "s", default=Status.NEW)
    grade: Mapped[Grade | None] = column(d, codec=codecs.enum(Grade, desc=True), default=None)
    size: Mapped[str] = column(d, codec=codecs.code({"small": b"S", "large": b"L"}))
    state: Mapped[Status | None] = column(
        d, codec=codecs.code({Status.NEW: b"1", Status.DONE: b"2"}), default=None
    )
    lines: Mapped[list[Line]] = column(d, codec=codecs.json(list[Line]), default_factory=list)
    words: Mapped[list[str]] = column(d, codec=codecs.msgpack(list[str]), default_factory=list)
    at: Mapped[datetime] = column(d, codec=codecs.millis(), default=T0)
    hits: Counter = counter(d, "h")
    changes: Version = version(d, "v")
    tags: Dynamic[str, int] = dynamic(e, prefix="t:")
    days: Dynamic[date, str] = dynamic(e, prefix="d:")
    __rowkey__ = rowkey(Salt(4, of=shop, hash="crc32"), number, shop)
    by_status = Index(
        status, at.desc(), where=status != Status.DONE, include=[size], covering=False
    )
    by_grade = Index(grade, number.asc(), nulls=True, salt=3)
    by_state = Index(shop, where=(state == Status.NEW) | state.is_null())
    by_shop = Index(func.lower(shop), func.day(at), (number, codecs.int64()), unique=True)
    by_word = Index(func.each(words), splits=[b"k"], where=words.contains("a"))
    by_tag = Index(tags["rack"], days[date(2024, 5, 1)], where=~(tags["x"] > 5))
    by_grades = Index(number, where=grade.in_([Grade.LOW, Grade.HIGH]))
    built = Index(at, maintained="manual", where=shop.startswith("a"))


ORDERS: Sequence[dict[str, Any]] = (
    {"shop": "Ann", "number": 1, "body": "x", "size": "small"},
    {
        "shop": "ann",
        "number": 2,
        "body": "",
        "size": "large",
        "status": Status.DONE,
        "grade": Grade.HIGH,
        "state": Status.NEW,
        "words": ["a", "b"],
        "at": T0,
    },
    {
        "shop": "bo",
        "number": 3,
        "body": "y",
        "size": "large",
        "grade": Grade.LOW,
        "state": Status.DONE,
        "lines": [Line("lamp", 2)],
        "words": ["a"],
    },
)


def order(number: int) -> Order:
    made = Order(**ORDERS[number])
    made.tags = {"rack": number, "x": 7}
    made.days = {date(2024, 5, 1): f"day {number}"}
    return made


def record_of(*models: type[Model]) -> Declaration:
    """Return the declaration of models as it is read from a record."""
    record = TableRecord("", declaration_of([model.__schema__ for model in models]))
    return TableRecord.decode(record.encode()).current


def rebuilt(*models: type[Model], **functions: Any) -> dict[str, Any]:
    schema = models[0].__schema__
    table = schema.table
    return dict(rebuilt_models(record_of(*models), table, functions=functions))


def check_equal(*models: type[Model], functions: dict[str, Any] | None = None) -> dict[str, Any]:
    """Check that rebuilt models have the record of the original ones; return them."""
    made = rebuilt(*models, **(functions or {}))
    again = declaration_of([model.__schema__ for model in made.values()])
    assert again == as_rebuilt(record_of(*models), again)
    return made


def test_every_declaration_is_recorded_and_made_again() -> None:
    made = check_equal(Order)["Order"].__schema__

    assert made.split_keys == (b"\x05", b"m")
    assert made.durability == "ASYNC_WAL"
    assert made.families == Order.__schema__.families
    assert made.version is not None
    assert [each.name for each in made.deferred] == ["body"]
    assert made.layout.arguments == ("shop", "number")
    assert made.indexes[0].where


@pytest.mark.parametrize("number", range(len(ORDERS)))
def test_cells_and_entries_are_the_same(number: int) -> None:
    made, model = order(number), rebuilt(Order)["Order"]
    cells = Order.__mapping__.dehydrate(made.__dict__)
    row = Order.encode_key(shop=made.shop, number=made.number)

    assert model.encode_key(shop=made.shop, number=made.number) == row
    for one, other in zip(Order.__schema__.indexes, model.__schema__.indexes, strict=True):
        entries = index_target(Order.__schema__, one).entry_keys(row, cells)
        assert index_target(model.__schema__, other).entry_keys(row, cells) == entries
        bare = {Order.__schema__.columns[0].column: b"x"}
        entries = index_target(Order.__schema__, one).entry_keys(row, bare)
        assert index_target(model.__schema__, other).entry_keys(row, bare) == entries


def test_a_rebuilt_model_reads_what_the_original_has_written_and_the_reverse() -> None:
    model = rebuilt(Order)["Order"]
    with connect("memory://") as engine:
        engine.create_tables(Order)
        with engine.session() as session:
            session.add_all([order(0), order(1), order(2)])
            session.flush()
        with engine.session() as session:
            by_number = {each.number: each for each in session.all(all_of(model))}
            first, second, third = (by_number[number] for number in (1, 2, 3))
            assert (first.status, second.status, second.grade) == ("new", "done", 2)
            assert (first.grade, repr(second.state), first.state) == (None, "Status.NEW", None)
            assert (first.size, third.words, third.at) == ("small", ["a"], T0)
            assert third.lines == b'{"v":1,"d":[{"name":"lamp","count":2}]}'
            assert third.tags == {"rack": 2, "x": 7}
            assert third.days == {date(2024, 5, 1): "day 2"}
            assert (third.hits, third.changes) == (0, 1)
            third.status, third.words = "done", ["c"]
            second.state = third.state
            session.add(third)
            session.flush()
            fields = {"shop": "new", "number": 9, "body": "", "size": "small"}
            session.add(model(**fields, status="done", grade=1, lines=b'{"v":1,"d":[]}'))
            session.flush()
        with engine.session() as session:
            orders = {each.number: each for each in session.all(all_of(Order))}
            assert orders[3].status is Status.DONE
            assert orders[3].lines == [Line("lamp", 2)]
            assert orders[2].state is Status.DONE
            assert orders[9].grade is Grade.LOW
            assert orders[9].lines == []


def all_of(model: Any) -> Any:
    return select(model).allow_full_scan()


def test_statements_use_the_indexes_of_a_rebuilt_model() -> None:
    model = rebuilt(Order)["Order"]
    with connect("memory://") as engine:
        engine.create_tables(Order)
        with engine.session() as session:
            session.add_all([order(0), order(1), order(2)])
            session.flush()
        with engine.session() as session:
            statement = select(model).where(func.lower(model.shop) == "ann")
            assert "by_shop" in str(session.explain(statement))
            assert sorted(each.shop for each in session.all(statement)) == ["Ann", "ann"]
            statement = select(model).where(
                model.words.contains("a"), func.each(model.words) == "b"
            )
            assert "by_word" in str(session.explain(statement))
            assert [each.number for each in session.all(statement)] == [2]
            statement = select(model).where(model.grade == 2).using(model.by_grade)
            assert [each.number for each in session.all(statement)] == [2]


# --- kinds of keys and tables ---------------------------------------------------------------------


class Point(Model, table="points"):
    d = Family("t")
    metric: Key[str] = key()
    at: Key[datetime] = key(codecs.seconds(width_bytes=4))
    value: Mapped[float] = column(
        d, Offset("hour", of=at, resolution="seconds", codec=codecs.uint16())
    )
    __rowkey__ = rowkey(metric, Period("hour", of=at))


def test_objects_that_are_cells_are_so_again() -> None:
    model = check_equal(Point)["Point"]
    with connect("memory://") as engine:
        engine.create_tables(Point)
        with engine.session() as session:
            session.add(Point(metric="m", at=T0, value=1.5))
            session.flush()
            session.add(model(metric="m", at=T0 + timedelta(seconds=1), value=2.5))
            session.flush()
        with engine.session() as session:
            points = session.all(select(model).where(model.metric == "m"))
            assert [(each.at, each.value) for each in points] == [
                (T0, 1.5),
                (T0 + timedelta(seconds=1), 2.5),
            ]


class Event(Model, table="events"):
    d = Family()
    tenant: Key[str] = key()
    at: Key[datetime] = key(codecs.millis(desc=True))
    note: Mapped[str | None] = column(d, default=None)
    __rowkey__ = rowkey(Salt(4, of=tenant), RecordType(codecs.text(separator=b"/")), tenant, at)


class Login(Event, record_type="login"):
    f = Family("more")
    user: Mapped[str] = column(Event.d)


class Upload(Event, record_type="up"):
    sequence: Key[int] = key(codecs.uint16())
    size: Mapped[int] = column(Event.d)


def test_record_types_share_their_base_again() -> None:
    made = check_equal(Event)

    assert list(made) == ["Event", "Login", "Upload"]
    assert made["Event"].__schema__.record_types.models.keys() == {b"login/", b"up/"}
    with connect("memory://") as engine:
        engine.create_tables(Event)
        with engine.session() as session:
            session.add(Login(tenant="t", at=T0, user="ann"))
            session.add(made["Upload"](tenant="t", at=T0, sequence=1, size=5))
            session.flush()
            session.add(made["Login"](tenant="u", at=T0, user="bo"))
            session.add(Upload(tenant="u", at=T0, sequence=2, size=6, note="n"))
            session.flush()
        for models in ({each.__name__: each for each in (Event, Login, Upload)}, made):
            with engine.session() as session:
                events = session.all(all_of(models["Event"]))
                assert sorted((type(each).__name__, each.tenant) for each in events) == [
                    *(("Login", "t"), ("Login", "u")),
                    *(("Upload", "t"), ("Upload", "u")),
                ]
                assert [e.note for e in session.all(all_of(models["Upload"]))] == [None, "n"]


class Tick(Model, table=TablePerPeriod("ticks_%Y%m%d", of="seen", period="day", create=True)):
    d = Family()
    at: Key[datetime] = key(codecs.micros())
    seen: Key[datetime] = key(codecs.micros())
    price: Mapped[int] = column(d, codec=codecs.uint32())


def test_a_table_for_each_period_is_declared_by_the_same_time() -> None:
    model = check_equal(Tick)["Tick"]

    with connect("memory://") as engine, engine.session() as session:
        session.add(model(at=T0, seen=T0 + DAY, price=3))
        session.flush()
        assert (
            session.all(select(Tick).where(Tick.seen > T0, Tick.seen < T0 + 2 * DAY))[0].price == 3
        )
        assert "ticks_20240518" in {each.name for each in engine.tables()}


def of_md5(declared: Any) -> type[Model]:
    """Return a model whose key begins with a hash, which declarations of indexes name."""

    class Hashed(Model, table="hashed"):
        d = Family()
        name: Key[str] = key(family=d)
        size: Mapped[int] = column(d)
        __rowkey__ = rowkey(declared(name), name)
        by_size = Index(size)

    return Hashed


@pytest.mark.parametrize(
    "declared",
    [
        lambda of: HashPrefix(16, of=of),
        lambda of: Digest(of=of),
        lambda of: HashPrefix(32, of=of, form="hex"),
        lambda of: HashPrefix(8, of=of, algorithm="sha256"),
    ],
)
def test_a_prefix_as_long_as_the_hash_is_no_digest(declared: Any) -> None:
    check_equal(of_md5(declared))


def test_substitutes_keep_their_dictionary() -> None:
    class Named(Model, table="named"):
        d = Family()
        name: Key[str] = key(family=d)
        size: Mapped[int] = column(d)
        __rowkey__ = rowkey(Substitute(of=name, dictionary="names", codec=codecs.uint16()))
        by_name = Index(name)

    model = check_equal(Named)["Named"]
    with connect("memory://") as engine:
        engine.create_tables(Named)
        with engine.session() as session:
            session.add(Named(name="a", size=1))
            session.flush()
            assert [each.size for each in session.all(all_of(model))] == [1]


def test_a_supplied_function_computes_a_part() -> None:
    def bucket(user: str) -> str:
        return hashlib.sha1(user.encode()).hexdigest()[:1]

    class Bucketed(Model, table="bucketed"):
        d = Family()
        user: Key[str] = key()
        size: Mapped[int] = column(d)
        __rowkey__ = rowkey(
            Computed(bucket, of=user, codec=codecs.text(width_bytes=1), values="0123456789abcdef"),
            user,
        )
        by_size = Index(size)

    other: Any = lambda user: bucket(user)  # noqa: E731, PLW0108 - of another name

    made = check_equal(Bucketed, functions={"bucket(user)": other})["Bucketed"]

    assert made.encode_key(user="ann") == Bucketed.encode_key(user="ann")
    assert made.__schema__.split_keys == Bucketed.__schema__.split_keys
    assert made.__schema__.layout.parts[0].derivation.values == tuple("0123456789abcdef")


def test_supplied_codecs_and_defaults_are_those_of_the_class() -> None:
    class Kept(Model, table="kept"):
        d = Family()
        name: Key[str] = key()
        at: Mapped[datetime] = column(d, default_factory=lambda: T0)
        lines: Mapped[list[Line]] = column(
            d, codec=codecs.json(list[Line], version=2, upgrades={1: dict})
        )

    supplied = {
        "default of Kept.at": lambda: T0,
        "codec of Kept.lines": codecs.json(list[Line], version=2, upgrades={1: dict}),
    }
    model = check_equal(Kept, functions=supplied)["Kept"]

    made = model(name="a", lines=[Line("x", 1)])
    assert made.at == T0
    cells = model.__mapping__.dehydrate(made.__dict__)
    assert cells[b"d:lines"] == b'{"v":2,"d":[{"name":"x","count":1}]}'


# --- several models -------------------------------------------------------------------------------


class Full(Model, table="shared"):
    d = Family()
    name: Key[str] = key()
    size: Mapped[int] = column(d, "s")
    note: Mapped[str | None] = column(d, "n", default=None)
    by_size = Index(size)


class Brief(Model, table="shared"):
    d = Family()
    title: Key[str] = key()
    length: Mapped[int] = column(d, "s")
    by_size = Index(length)


def test_views_of_one_table_are_made_with_their_own_names() -> None:
    made = check_equal(Full, Brief)

    with connect("memory://") as engine:
        engine.create_tables(Full, Brief)
        with engine.session() as session:
            session.add(made["Brief"](title="a", length=3))
            session.add(made["Full"](name="b", size=4, note="x"))
            session.flush()
            assert session.one(select(Full).where(Full.name == "a")).size == 3
            assert session.one(select(Brief).where(Brief.length == 4)).title == "b"


def renamed(title: str, length: str) -> Any:
    """Return a model of one table with other names for its fields."""
    d = Family()
    name: Key[str] = key()
    size: Mapped[int] = column(d, "s")
    body = {"d": d, title: name, length: size, "by_size": Index(size)}
    hints = {title: Key[str], length: Mapped[int]}
    return type("Renamed", (Model,), {**body, "__annotations__": hints}, table="renamed")


OLD_NAMES, NEW_NAMES, MIXED = ("name", "size"), ("title", "length"), ("title", "size")


@pytest.mark.parametrize(
    "order",
    [
        (OLD_NAMES, NEW_NAMES),
        (OLD_NAMES, NEW_NAMES, OLD_NAMES),
        (OLD_NAMES, MIXED, NEW_NAMES),
        (NEW_NAMES, MIXED, OLD_NAMES, MIXED),
    ],
)
def test_a_merged_record_gives_the_names_that_the_class_has_now(
    order: Sequence[tuple[str, str]],
) -> None:
    with connect("memory://") as engine:
        for names in order:
            engine.create_tables(renamed(*names))
        with engine.session() as session:
            title, length = order[0]
            session.add(renamed(title, length)(**{title: "a", length: 1}))
            session.flush()
        model: Any = rebuilt_models(recorded(engine, "renamed"), "renamed")["Renamed"]
        with engine.session() as session:
            title, length = order[-1]
            session.add(model(**{title: "b", length: 2}))
            session.flush()
            rows = session.all(select(model).where(getattr(model, length) > 0))
            assert [(getattr(row, title), getattr(row, length)) for row in rows] == [
                ("a", 1),
                ("b", 2),
            ]


def recorded(engine: Engine, table: str) -> Declaration:
    record = engine._runtime.run(read_record(table))
    assert record is not None
    return record.current


def test_options_of_tables_and_timestamps_are_those_of_the_class() -> None:
    options = Table("options", attributes={"owner": "sales"}, max_file_size_bytes=10**9)

    class Optional(Model, table=options, timestamps="client"):
        d = Family()
        name: Key[str] = key()
        at: Key[datetime] = key(codecs.seconds())
        size: Mapped[int] = column(d)
        __rowkey__ = rowkey(name, Period("hour", of=at, every=6), Offset("hour", of=at, every=6))

    schema = check_equal(Optional)["Optional"].__schema__

    assert schema.timestamps == "client"
    assert schema.attributes == Optional.__schema__.attributes
    assert schema.layout.parts[1].derivation.unit.every == 6


def test_creating_tables_completes_a_record_of_an_earlier_version() -> None:
    with connect("memory://") as engine:
        engine.create_tables(Full)
        change = engine._runtime.run
        whole = recorded(engine, "shared")

        def edit(known: TableRecord | None) -> TableRecord:
            assert known is not None
            return replace(known, current=without_options(known.current))

        change(change_record("shared", edit))
        assert recorded(engine, "shared") != whole

        engine.create_tables(Full)

        assert recorded(engine, "shared") == whole


def without_options(declaration: Declaration) -> Declaration:
    """Return a declaration as an earlier version recorded it."""
    rows = tuple(
        replace(each, models={n: replace(m, options=None) for n, m in each.models.items()})
        for each in declaration.rows
    )
    indexes = {name: replace(index, spec=None) for name, index in declaration.indexes.items()}
    return replace(declaration, rows=rows, indexes=indexes, options=None)


def test_altering_a_table_changes_the_options_in_its_record() -> None:
    def version_of(replicas: int, name: str) -> type[Model]:
        class Altered(
            Model, table=Table("altered", durability="SKIP_WAL", attributes={"by": name})
        ):
            d = Family(versions=replicas)
            name: Key[str] = key()
            size: Mapped[int] = column(d)

        return Altered

    with connect("memory://") as engine:
        engine.create_tables(version_of(1, "a"))
        engine.alter_tables(version_of(2, "b"))

        model = rebuilt_models(recorded(engine, "altered"), "altered")["Altered"]

        assert model.__schema__.attributes == {"by": "b"}
        assert model.__schema__.families[0].versions == 2


# --- examples -------------------------------------------------------------------------------------


def example_tables() -> Iterator[Any]:
    """Yield the models of each table of the examples, but for one that needs a function."""
    names = [f"examples.{each.name}" for each in pkgutil.iter_modules(examples.__path__)]
    for name in (*names, "examples.access_layer.models"):
        if name in {"examples.flights", "examples.access_layer"}:
            name = f"{name}.model{'s' if 'layer' in name else ''}"  # noqa: PLW2901 - the module of models
        tables = defaultdict(list)
        try:
            models = hbase_orm.models(name)
        except ConfigurationError:
            continue
        for model in models:
            tables[model.__schema__.table].append(model)
        for table, own in tables.items():
            yield pytest.param(own, id=f"{name} {table}")


@pytest.mark.parametrize("models", list(example_tables()))
def test_models_of_the_examples_are_made_again(models: list[type[Model]]) -> None:
    functions = {"partition(user, month of at)": month_partitions.partition}

    check_equal(*models, functions=functions)


# --- records of an earlier version ----------------------------------------------------------------

OLD = json.loads(
    """{"version":1,"id":"0123abcd","regions":0,"current":{"families":{"d":{"versions":3}},
    "period":"","guarded":false,"rows":[{"type":"","key":[{"derived":"HashOf","algorithm":"md5",
    "form":"raw","width_bytes":16,"of":[{"field":0,"codec":"text","separator":null,
    "ends":"escaped","end":"0001"}],"codec":"raw","ends":"fixed"},{"field":0,"codec":"text",
    "separator":null,"ends":"escaped","end":"0001"},{"field":1,"codec":"millis","desc":true,
    "ends":"fixed"}],"anchor":"d:v","marker":null,"packed":0,"columns":{"d:v":{"role":"column",
    "codec":{"codec":"float64"},"required":true},"d:n":{"role":"column","codec":{"codec":"enum",
    "values":{"codec":"text","separator":null}},"required":false},"d:h":{"role":"counter",
    "codec":{"codec":"bytes.int64"},"required":false}},"models":{"Reading":{"key":["host","at"],
    "fields":{"value":"d:v","unit":"d:n","hits":"d:h"},"former":{}}}}],"indexes":{}},"next":null}"""
)


def test_a_record_of_an_earlier_version_gives_a_model_too() -> None:
    class Reading(Model, table="readings"):
        d = Family(versions=3)
        host: Key[str] = key()
        at: Key[datetime] = key(codecs.millis(desc=True))
        value: Mapped[float] = column(d, "v")
        unit: Mapped[Status | None] = column(d, "n", default=None)
        hits: Counter = counter(d, "h")
        __rowkey__ = rowkey(Digest(of=host), host, at)

    stored = json.dumps(OLD, separators=(",", ":")).encode()

    record = TableRecord.decode(stored, "readings")
    with pytest.raises(DeclarationError, match="whether a text is stored backwards"):
        rebuilt_models(record.current, "readings")
    texts = {"codec of Reading.host": codecs.text(), "codec of Reading.unit": codecs.enum(Status)}
    model: Any = rebuilt_models(record.current, "readings", functions=texts)["Reading"]

    assert model.encode_key(host="a", at=T0) == Reading.encode_key(host="a", at=T0)
    made = model(host="a", at=T0, value=1.5, unit=Status.NEW)
    cells = Reading.__mapping__.dehydrate(
        Reading(host="a", at=T0, value=1.5, unit=Status.NEW).__dict__
    )
    assert model.__mapping__.dehydrate(made.__dict__) == cells
    assert model(host="a", at=T0, value=1.5).unit is None
