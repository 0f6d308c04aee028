"""Related objects: read with their statement, on demand, or not at all."""

from __future__ import annotations

import copy
import pickle
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Offset,
    RandomSalt,
    RecordType,
    Related,
    Salt,
    Select,
    Session,
    Substitute,
    TablePerPeriod,
    codecs,
    column,
    key,
    related,
    rowkey,
    select,
)
from hbase_orm.errors import NotLoadedError, QueryError, ValidationError
from hbase_orm.index.catalog.catalog import CATALOG_TABLE
from hbase_orm.ops import GetRows
from tests.support.recording import RecordsRequests, gateway_of, through

DAY = datetime(2026, 1, 31, tzinfo=UTC)
COUNT = 12


class Customer(Model, table="customers"):
    d = Family()
    customer_id: Key[int] = key(codecs.uint64())
    name: Mapped[str] = column(d, "n")


class Depot(Model, table="depots"):
    d = Family()
    town: Key[str] = key()
    number: Key[int] = key(codecs.uint16())
    stock: Mapped[int] = column(d, codec=codecs.uint32())
    __rowkey__ = rowkey(Salt(4, of=[town]), town, number)
    by_stock = Index(stock)


class Carrier(Model, table="carriers"):
    d = Family()
    name: Key[str] = key(codecs.text(separator=b"_"))
    phone: Mapped[str] = column(d)
    __rowkey__ = rowkey(Substitute(of=name, dictionary="carrier_ids"))


class Event(Model, table=TablePerPeriod("events_%Y%m%d", of="at", period="day")):
    d = Family()
    at: Key[datetime] = key(codecs.seconds())
    note: Mapped[str] = column(d)
    __rowkey__ = rowkey(Offset("day", of=at))


class Ticket(Model, table="tickets"):
    d = Family()
    number: Key[int] = key(codecs.uint8())
    note: Mapped[str] = column(d)
    __rowkey__ = rowkey(RandomSalt(3), number)


class Order(Model, table="orders"):
    d = Family()
    order_id: Key[int] = key(codecs.uint64())
    customer_id: Mapped[int | None] = column(d, "c", codec=codecs.int64(), default=None)
    town: Mapped[str] = column(d)
    number: Mapped[int] = column(d, codec=codecs.uint8())
    carrier_name: Mapped[str | None] = column(d, default=None)
    at: Mapped[datetime] = column(d)
    before_id: Mapped[int | None] = column(d, codec=codecs.uint64(), default=None)
    customer: Related[Customer] = related(customer_id=customer_id)
    depot: Related[Depot] = related(number=number, town=town)
    carrier: Related[Carrier] = related(name=carrier_name)
    event: Related[Event] = related(at=at)
    ticket: Related[Ticket] = related(number=number)
    before: Related[Order] = related(order_id=before_id)


class Record(Model, table="records"):
    d = Family()
    number: Key[int] = key(codecs.uint8())
    customer_id: Mapped[int] = column(d, codec=codecs.uint64())
    customer: Related[Customer] = related(customer_id=customer_id)
    __rowkey__ = rowkey(number, RecordType())


class Sale(Record, record_type="s"):
    """A record like any other."""


class Refund(Record, record_type="r"):
    reason: Mapped[str] = column(Record.d)


MODELS = (Customer, Depot, Carrier, Ticket, Order, Record)


def order(number: int) -> Order:
    return Order(
        order_id=number,
        customer_id=None if number == 3 else number % 5 - 1,
        town="Ulm",
        number=number % 3,
        carrier_name={5: None, 7: "c_1"}.get(number, f"c{number % 4}"),
        at=DAY + timedelta(days=number % 4),
        before_id=number - 1 if number else None,
    )


def prepare(engine: Engine) -> None:
    """Write 12 orders of the customers -1 (which no key can be) to 3; 3 and half of the rest lack."""
    engine.create_tables(*MODELS)
    engine.create_tables(Event, periods=(DAY, DAY + timedelta(days=2)))
    with engine.session() as session:
        session.add_all(Customer(customer_id=n, name=f"n{n}") for n in range(3))
        session.add_all(Depot(town="Ulm", number=n, stock=10 * n) for n in (0, 2))
        session.add_all(Carrier(name=f"c{n}", phone=str(n)) for n in range(3))
        session.add_all(Ticket(number=n, note=f"t{n}") for n in range(2))
        session.add(Event(at=DAY, note="first"))
        session.add_all(order(n) for n in range(COUNT))
        for n in range(4):
            session.add(Sale(number=n, customer_id=n))
            session.add(Refund(number=n, customer_id=0, reason="x"))


def by_hand(session: Session, found: Order) -> dict[str, Any]:
    """Return what each related field must be, got one by one."""
    customer_id = found.customer_id
    return {
        "customer": None
        if customer_id is None or customer_id < 0
        else session.get(Customer, customer_id=customer_id),
        "depot": session.get(Depot, town=found.town, number=found.number),
        "carrier": None
        if found.carrier_name in {None, "c_1"}
        else session.get(Carrier, name=found.carrier_name),
        "event": session.get(Event, at=found.at),
        "ticket": session.get(Ticket, number=found.number),
        "before": None if found.before_id is None else session.get(Order, order_id=found.before_id),
    }


def gets_of_rows(sent: RecordsRequests) -> list[GetRows]:
    """Return the gets of rows; records of tables are in the catalog."""
    gets = [request for request in sent.requests if isinstance(request, GetRows)]
    return [get for get in gets if get.table != CATALOG_TABLE]


def everything() -> Select[Order]:
    fields = (Order.customer, Order.depot, Order.carrier, Order.event, Order.ticket, Order.before)
    return select(Order).load_related(*fields).allow_full_scan()


def read(session: Session, how: str, stmt: Select[Order]) -> list[Order]:
    if how == "all":
        return session.all(stmt)
    if how == "stream":
        with session.stream(stmt) as objects:
            return list(objects)
    found: list[Order] = []
    page = session.page(stmt, size=5)
    while True:
        found += page.items
        if page.token is None:
            return found
        page = session.page(stmt, size=5, token=page.token)


@pytest.mark.parametrize("how", ["all", "stream", "page"])
def test_each_related_object_is_what_a_get_gives(engine: Engine, how: str) -> None:
    with engine.session() as session:
        found = read(session, how, everything())
    with engine.session() as session:
        wanted = [by_hand(session, each) for each in found]

    names = list(wanted[0])
    assert [{name: getattr(each, name) for name in names} for each in found] == wanted
    assert len(found) == COUNT
    for name in names:  # each field is seen with and without an object
        assert {each[name] is None for each in wanted} == {True, False}


def test_a_page_of_rows_costs_one_request_a_field(engine: Engine) -> None:
    sent = RecordsRequests(gateway_of(engine))
    counted = through(sent, engine)
    stmt = select(Order).load_related(Order.customer, Order.depot).allow_full_scan()

    with counted.session() as session, session.stream(stmt.caching(4)) as objects:
        assert len(list(objects)) == COUNT

    gets = gets_of_rows(sent)
    assert [len(set(get.keys)) for get in gets] == [len(get.keys) for get in gets]
    tables = [get.table.rpartition(":")[2] for get in gets]
    assert (tables.count("customers"), tables.count("depots"), len(gets)) == (3, 3, 6)


def test_a_limit_bounds_what_is_loaded(engine: Engine) -> None:
    sent = RecordsRequests(gateway_of(engine))
    counted = through(sent, engine)
    stmt = select(Order).load_related(Order.before).allow_full_scan().caching(4)

    with counted.session() as session, session.stream(stmt.limit(6)) as objects:
        found = [each.before for each in objects]

    gets = gets_of_rows(sent)
    assert [each.order_id if each else None for each in found] == [None, 0, 1, 2, 3, 4]
    assert [len(get.keys) for get in gets] == [3, 2]


def test_counting_loads_nothing(engine: Engine) -> None:
    sent = RecordsRequests(gateway_of(engine))
    counted = through(sent, engine)

    with counted.session() as session:
        assert session.count(everything()) == COUNT
        assert session.exists(everything())

    assert not gets_of_rows(sent)


def test_first_and_one_load_too(engine: Engine) -> None:
    stmt = select(Order).where(Order.order_id == 2).load_related(Order.customer)

    with engine.session() as session:
        first, only = session.first(stmt), session.one(stmt)

    assert first is not None
    assert (first.customer, only.customer) == (Customer(customer_id=1, name="n1"),) * 2


def test_the_sessions_objects_are_shared_and_those_of_a_stream_are_not(engine: Engine) -> None:
    stmt = select(Order).where(Order.order_id.in_([2, 7])).load_related(Order.customer)

    with engine.session() as session:
        known = session.get(Customer, customer_id=1)
        a, b = session.all(stmt)
        with session.stream(stmt) as objects:
            streamed = next(objects)

        assert known is not None
        assert known is a.customer is b.customer
        assert streamed.customer == known
        assert streamed.customer is not known

        known.name = "new"
        assert session.flush().written == 1
        known.name = "n1"


def test_one_object_of_a_row_keeps_what_was_loaded_for_its_key(engine: Engine) -> None:
    stmt = select(Order).where(Order.order_id == 2)

    with engine.session() as session:
        found = session.one(stmt.load_related(Order.customer))
        again = session.one(stmt)
        assert again is found
        assert found.customer == Customer(customer_id=1, name="n1")

        found.customer_id = 2
        with pytest.raises(NotLoadedError) as caught:
            _ = found.customer
        found.customer_id = 1
        session.expunge(found)

    assert caught.value.details["key"] == {"customer_id": 2}


def test_nothing_is_loaded_when_an_attribute_is_read(engine: Engine) -> None:
    with engine.session() as session:
        found = session.get(Order, order_id=2)
        assert found is not None
        with pytest.raises(NotLoadedError) as caught:
            _ = found.depot

    assert caught.value.details["key"] == {"town": "Ulm", "number": 2}
    assert ".load_related(Order.depot)" in caught.value.fix
    assert "session.get(Depot, town=..., number=...)" in caught.value.fix


def test_a_new_object_has_nothing_loaded() -> None:
    made = order(2)

    with pytest.raises(NotLoadedError):
        _ = made.customer
    with pytest.raises(ValidationError) as caught:
        Order(**{**made.to_dict(), "customer": None})
    assert caught.value.details["field"] == "customer"


def test_a_related_object_is_no_part_of_the_row(engine: Engine) -> None:
    stmt = select(Order).where(Order.order_id == 2)
    with engine.session() as session:
        found = session.one(stmt.load_related(Order.customer))
        with pytest.raises(ValidationError) as caught:
            found.customer = found.customer  # type: ignore[assignment]  # what must not be done
        assert session.flush().written == 0
    with engine.session() as session:
        plain = session.one(stmt)

    assert found == plain
    assert "customer" not in found.to_dict()
    assert found.customer is not None
    assert "customer_id" in caught.value.fix
    assert pickle.loads(pickle.dumps(found)).customer == found.customer
    assert copy.copy(found).customer is found.customer


def test_records_of_all_kinds_load_what_their_base_declares(engine: Engine) -> None:
    stmt = select(Record).load_related(Record.customer).allow_full_scan()

    with engine.session() as session:
        found = session.all(stmt)
        refund = session.one(select(Refund).where(Refund.number == 2).load_related(Refund.customer))

    names = [(type(each).__name__, each.customer and each.customer.name) for each in found]
    assert names == [
        *(("Refund", "n0"), ("Sale", "n0"), ("Refund", "n0"), ("Sale", "n1")),
        *(("Refund", "n0"), ("Sale", "n2"), ("Refund", "n0"), ("Sale", None)),
    ]
    assert refund.customer is not None


def test_the_plan_says_what_is_loaded(engine: Engine) -> None:
    stmt = select(Order).where(Order.order_id > 2).load_related(Order.customer, Order.depot)

    with engine.session() as session:
        shown = str(session.explain(stmt)).splitlines()

    assert "├─ load Order.customer: 1 multi-get a page" in shown
    assert "├─ load Order.depot: 1 multi-get a page" in shown


def test_values_have_nothing_related(engine: Engine) -> None:
    stmt = select(Order.town).where(Order.order_id == 2).load_related(Order.customer)

    with engine.session() as session, pytest.raises(QueryError) as caught:
        session.all(stmt)

    assert "select(Order)" in caught.value.fix


class Owned(Model, abstract=True):
    d = Family()
    number: Key[int] = key(codecs.uint8())
    owner_id: Mapped[int] = column(d, codec=codecs.uint64())
    owner: Related[Customer] = related(customer_id=owner_id)


class Car(Owned, table="cars"):
    """What a mixin relates, its models do."""


def test_a_mixin_relates_its_models(engine: Engine) -> None:
    engine.create_tables(Car)
    with engine.session() as session:
        session.add(Car(number=1, owner_id=2))
        session.flush()
        found = session.one(select(Car).where(Car.number == 1).load_related(Car.owner))

        assert found.owner == Customer(customer_id=2, name="n2")


@pytest.mark.parametrize("wrong", [Refund.customer, Order.town, "customer", Customer])
def test_only_related_fields_of_the_model_can_be_loaded(wrong: Any) -> None:
    stmt: Any = select(Order)

    with pytest.raises(QueryError) as caught:
        stmt.load_related(wrong)

    assert caught.value.fix
