"""Record types: a base reads all kinds of its table, a kind only its own rows."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

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
    codecs,
    column,
    counter,
    key,
    rowkey,
    select,
)
from hbase_orm.errors import (
    CorruptRowError,
    MultipleRowsError,
    QueryError,
    RowKeyError,
    SchemaError,
    UnboundedScanError,
)
from hbase_orm.ops import AddFamily, FamilyDescriptor
from tests.support.store import Store, rows_written

T0 = datetime(2024, 1, 1, tzinfo=UTC)


class Record(Model, table="customer_records"):
    d = Family()
    customer: Key[str] = key()
    __rowkey__ = rowkey(customer, RecordType())


class Customer(Record, record_type="C"):
    name: Mapped[str] = column(Record.d, "n")


class Order(Record, record_type="O"):
    order: Key[int] = key(codecs.uint64())
    placed: Mapped[datetime] = column(Record.d, "p", codec=codecs.millis())
    seen: Counter = counter(Record.d, "s")


class Item(Model, table="items"):
    """The record type comes first: all rows of a kind stand together."""

    d = Family()
    number: Key[int] = key(codecs.uint16())
    __rowkey__ = rowkey(RecordType(), number)


class Book(Item, record_type="book"):
    title: Mapped[str] = column(Item.d, "t")


class Film(Item, record_type="film"):
    part: Key[str] = key()
    minutes: Mapped[int] = column(Item.d, "m", codec=codecs.uint16())


def prepare(engine: Engine) -> None:
    engine.create_tables(Record, Item)


@pytest.fixture
def customer() -> str:
    return uuid4().hex


def put_some(store: Store, customer: str) -> list[Record]:
    """Write a customer with two orders, and another customer with one; return the first three."""
    records = [
        Customer(customer=customer, name="Ann"),
        Order(customer=customer, order=1, placed=T0),
        Order(customer=customer, order=256, placed=T0),
    ]
    store.taken()
    with store.engine.session() as session:
        session.add_all(reversed(records))
        session.add(Customer(customer=f"{customer}!", name="Bob"))
    return records


def test_a_base_gives_objects_of_their_classes_in_the_order_of_their_keys(
    store: Store, customer: str
) -> None:
    records = put_some(store, customer)
    written = rows_written(store)
    mine = select(Record).where(Record.customer == customer)

    with store.engine.session() as session:
        found = session.all(mine)
        with session.stream(mine.caching(1)) as stream:
            streamed = list(stream)
        prefixed = session.count(select(Record).where(Record.customer.startswith(customer)))
        last = session.first(mine.order_by(Record.customer.desc()))
        got = session.get(Order, customer=customer, order=256)

    prefix = customer.encode() + b"\x00\x01"
    assert [type(each) for each in found] == [Customer, Order, Order]
    assert found == streamed == records
    assert (prefixed, last) == (4, records[0])  # one value of customer: the order of the keys
    assert got is found[2]
    assert set(written[:3]) == {
        prefix + b"C",
        prefix + b"O" + bytes((0, 0, 0, 0, 0, 0, 0, 1)),
        prefix + b"O" + bytes((0, 0, 0, 0, 0, 0, 1, 0)),
    }


def test_a_kind_gives_only_its_own(store: Store, customer: str) -> None:
    records = put_some(store, customer)
    prefixed = Order.customer.startswith(customer)

    with store.engine.session() as session:
        customers = session.all(select(Customer).where(Customer.customer == customer))
        orders = session.all(select(Order).where(Order.customer == customer))
        later = session.all(select(Order).where(Record.customer == customer, Order.order > 1))
        scanned = session.all(select(Order).where(prefixed))
        all_customers = session.all(select(Customer).where(Customer.customer.startswith(customer)))
        everything = session.count(select(Order).where(Order.placed == T0).allow_full_scan())
        plan = session.explain(select(Order).where(Order.customer == customer))

    assert (customers, orders, later) == (records[:1], records[1:], records[2:])
    assert scanned == records[1:]
    assert [each.name for each in all_customers] == ["Ann", "Bob"]
    assert everything >= 2
    assert plan.kind == "Scan"


def test_kinds_are_got_changed_counted_and_deleted(store: Store, customer: str) -> None:
    put_some(store, customer)

    with store.engine.session() as session:
        got = session.get_many(Order, [(customer, 1), (customer, 2)])
        found = session.get(Customer, customer=customer)
        assert found is not None
        found.name = "Anne"
        assert got[0] is not None
        session.delete(got[0])
        session.flush()
        seen = session.increment(Order, Order.seen.by(2), customer=customer, order=256)
        left = session.all(select(Record).where(Record.customer == customer))

    assert [each and each.order for each in got] == [1, None]
    assert seen == [2]
    assert [getattr(each, "name", None) or getattr(each, "seen", 0) for each in left] == ["Anne", 2]


def test_a_bulk_takes_all_kinds(store: Store, customer: str) -> None:
    with store.engine.session() as session:
        with session.bulk(batch_rows=3) as bulk:
            bulk.add(Customer(customer=customer, name="Ann"))
            bulk.add_all(Order(customer=customer, order=n, placed=T0) for n in range(10))
        mine = select(Record).where(Record.customer == customer)
        counts = session.count(mine), session.count(select(Order).where(Order.customer == customer))
        with pytest.raises(MultipleRowsError):
            session.one(mine)

    assert (bulk.report.written, counts) == (11, (11, 10))


@pytest.mark.parametrize("keys", [[{"customer": "a"}], [("a",)], ["a"], [("a", 1)]])
def test_a_base_has_no_row_keys_of_its_own(store: Store, keys: list[Any]) -> None:
    store.taken()

    with store.engine.session() as session:
        with pytest.raises(RowKeyError) as caught:
            session.get_many(Record, keys)
        with pytest.raises(QueryError):
            session.increment(Record, Order.seen.by(1), customer="a")

    assert (caught.value.model, caught.value.kinds[:2]) == ("Record", ["Customer", "Order"])
    assert "name one of its record types, or select" in caught.value.fix
    assert store.taken() == {}


def test_a_base_makes_no_objects_and_no_keys() -> None:
    with pytest.raises(SchemaError) as made:
        Record(customer="a")
    with pytest.raises(RowKeyError) as encoded:
        Record.encode_key(customer="a")

    assert "record_type=" in made.value.fix
    assert encoded.value.kinds[:2] == ["Customer", "Order"]


def test_a_base_decodes_the_keys_of_its_kinds() -> None:
    data = Order.encode_key(customer="ann", order=7)

    assert Record.decode_key(data) == {"customer": "ann", "order": 7}
    assert Record.describe_key(data) == Order.describe_key(data)
    assert Record.decode_key(b"ann\x00\x01C") == {"customer": "ann"}
    with pytest.raises(CorruptRowError, match="not declare"):
        Record.decode_key(b"ann\x00\x01X")


def test_conditions_on_a_kinds_fields_are_not_the_bases(store: Store) -> None:
    with store.engine.session() as session, pytest.raises(QueryError):
        session.all(select(Record).where(Order.order == 1).allow_full_scan())


def test_a_row_of_a_kind_that_nobody_declares_is_told_and_left_alone_by_the_others(
    store: Store, customer: str
) -> None:
    records = put_some(store, customer)
    foreign = customer.encode() + b"\x00\x01X1"
    store.write_raw(store.table(Record), foreign, n=b"?")
    prefixed = Order.customer.startswith(customer)

    with store.engine.session() as session:
        with pytest.raises(CorruptRowError) as caught:
            session.all(select(Record).where(Record.customer == customer))
        orders = session.all(select(Order).where(prefixed))
        store.delete_raw(store.table(Record), foreign)
        after = session.all(select(Record).where(Record.customer == customer))

    assert (caught.value.row, caught.value.known[:2]) == (foreign, ["Customer", "Order"])
    assert "import the module" in caught.value.fix
    assert (orders, after) == (records[1:], records)


def test_a_kind_declared_after_the_engine_has_met_the_base_is_read(store: Store) -> None:
    class Base(Model, table="late_records"):
        d = Family()
        number: Key[int] = key()
        __rowkey__ = rowkey(number, RecordType())

    class Early(Base, record_type="E"):
        text: Mapped[str] = column(Base.d, "t")

    store.engine.create_tables(Base)
    store.put(Early(number=1, text="early"))
    session = store.engine.session()
    before = session.all(select(Base).where(Base.number == 1))

    class Late(Base, record_type="L"):
        more = Family()
        text: Mapped[str] = column(more, "t")

    store.sent.inner.execute(AddFamily(store.table(Base), FamilyDescriptor(b"more")))
    store.engine.create_tables(Base)  # records the family
    session.add(Late(number=1, text="late"))
    session.flush()
    after = session.all(select(Base).where(Base.number == 1))
    store.engine.drop_tables(Late)

    assert (before, after) == (
        [Early(number=1, text="early")],
        [*before, Late(number=1, text="late")],
    )


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("O", "no record type of a base may be a prefix of another"),
        ("OX", "no record type of a base may be a prefix of another"),
        ("", "record_type= needs a base model whose row key has RecordType"),
        (5, "record_type= needs a base model whose row key has RecordType"),
    ],
)
def test_kinds_that_cannot_be_told_apart_are_refused(kind: Any, said: str) -> None:
    with pytest.raises(SchemaError, match=said) as caught:

        class Bad(Record, record_type=kind):
            pass

    assert caught.value.fix
    assert "Bad" not in Record.describe_key()


def test_a_kind_with_an_index_and_a_class_without_a_record_type_are_refused() -> None:
    with pytest.raises(SchemaError, match="cannot have indexes"):

        class Indexed(Record, record_type="I"):
            value: Mapped[int] = column(Record.d)
            by_value = Index(value)

    with pytest.raises(SchemaError) as caught:

        class Forgotten(Record):
            pass

    assert 'Forgotten(Record, record_type="...")' in caught.value.fix


def test_a_record_type_in_front_keeps_the_rows_of_a_kind_together(store: Store) -> None:
    number = uuid4().int % 10_000
    store.put(
        Film(number=number, part="1", minutes=90),
        Book(number=number, title="a"),
        Book(number=number + 1, title="b"),
    )

    with store.engine.session() as session:
        books = session.all(select(Book).where(Book.number >= number, Book.number <= number + 1))
        plan = session.explain(select(Book).where(Book.number >= 0x6161))
        films = session.all(select(Film).where(Film.number == number))
        both = session.all(select(Item).where(Item.number == number).allow_full_scan())
        with pytest.raises(UnboundedScanError):
            session.all(select(Item).where(Item.number == number))

    assert [each.title for each in books] == ["a", "b"]
    assert "scan [bookaa, bool)" in str(plan)
    assert [(each.part, each.minutes) for each in films] == [("1", 90)]
    assert [type(each) for each in both] == [Book, Film]
