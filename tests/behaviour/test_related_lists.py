"""Related lists: the rows of another model that belong to an object, read with a statement."""

from __future__ import annotations

from typing import Any

import pytest

from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Related,
    Salt,
    Session,
    codecs,
    column,
    key,
    related,
    rowkey,
    select,
)
from hbase_orm.errors import (
    CorruptRowError,
    NotLoadedError,
    QueryError,
    SchemaError,
    ValidationError,
)
from hbase_orm.ops import MutateRows, OpenScanner, Put, RowMutation
from tests.support.recording import RecordsRequests, gateway_of, through


class Buyer(Model, table="buyers"):
    d = Family()
    shop: Key[str] = key()
    number: Key[int] = key(codecs.uint16())
    level: Mapped[int | None] = column(d, "l", codec=codecs.uint8(), default=None)
    purchases: Related[list[Purchase]] = related(
        shop=lambda: Purchase.shop, number=lambda: Purchase.buyer
    )
    letters: Related[list[Letter]] = related(number=lambda: Letter.buyer)
    parcels: Related[list[Parcel]] = related(number=lambda: Parcel.buyer)
    prizes: Related[list[Prize]] = related(level=lambda: Prize.level)


class Purchase(Model, table="purchases"):
    d = Family()
    shop: Key[str] = key()
    buyer: Key[int] = key(codecs.uint16())
    number: Key[int] = key(codecs.uint32(desc=True))
    total: Mapped[int] = column(d, "t", codec=codecs.uint32())
    of: Related[Buyer] = related(shop=shop, number=buyer)


class Letter(Model, table="letters"):
    d = Family()
    buyer: Key[int] = key(codecs.uint16())
    number: Key[int] = key(codecs.uint8())
    __rowkey__ = rowkey(Salt(3, of=[number]), buyer, number)


class Parcel(Model, table="parcels"):
    d = Family()
    number: Key[int] = key(codecs.uint32())
    buyer: Mapped[int] = column(d, "b", codec=codecs.uint16())
    by_buyer = Index(buyer)


class Prize(Model, table="prizes"):
    d = Family()
    number: Key[int] = key(codecs.uint32())
    level: Mapped[int] = column(d, "l", codec=codecs.uint8())


MODELS = (Buyer, Purchase, Letter, Parcel, Prize)


def prepare(engine: Engine) -> None:
    engine.create_tables(*MODELS)
    with engine.session() as session:
        for number in range(4):
            for n in range(number * 2):
                session.add(Letter(buyer=number, number=n))
                session.add(Parcel(number=100 * number + n, buyer=number))


@pytest.fixture
def shop(engine: Engine, host: str) -> str:
    """Return a shop with four buyers, who have 0, 2, 4 and 6 purchases."""
    with engine.session() as session:
        for number in range(4):
            session.add(Buyer(shop=host, number=number, level=number or None))
            for n in range(number * 2):
                session.add(Purchase(shop=host, buyer=number, number=n, total=100 * number + n))
        session.add(Purchase(shop=f"other {host}", buyer=1, number=7, total=7))
    return host


def all_buyers(shop: str) -> Any:
    return select(Buyer).where(Buyer.shop == shop)


@pytest.fixture(params=["all", "stream", "page"])
def read(request: pytest.FixtureRequest) -> Any:
    def rows(session: Session, stmt: Any) -> list[Any]:
        if request.param == "all":
            return session.all(stmt)
        if request.param == "page":
            first = session.page(stmt, size=3)
            rest = session.page(stmt, size=3, token=first.token) if first.token else None
            return [*first.items, *(rest.items if rest else ())]
        with session.stream(stmt) as stream:
            return list(stream)

    return rows


def test_each_object_has_its_rows_in_the_order_of_their_keys(
    engine: Engine, shop: str, read: Any
) -> None:
    with engine.session() as session:
        buyers = read(session, all_buyers(shop).load_related(Buyer.purchases))

    assert [[each.number for each in buyer.purchases] for buyer in buyers] == [
        [],
        [1, 0],
        [3, 2, 1, 0],
        [5, 4, 3, 2, 1, 0],
    ]
    assert all(each.shop == shop for buyer in buyers for each in buyer.purchases)


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_a_limit_is_for_each_list(engine: Engine, shop: str, read: Any, limit: int) -> None:
    with engine.session() as session:
        stmt = all_buyers(shop).load_related(Buyer.purchases, limit=limit)
        buyers = read(session, stmt)

    assert [len(buyer.purchases) for buyer in buyers] == [min(limit, n) for n in (0, 2, 4, 6)]
    assert [each.number for each in buyers[3].purchases] == [5, 4, 3, 2, 1, 0][:limit]


def test_rows_are_found_by_an_index_and_in_salt_buckets(
    engine: Engine, shop: str, read: Any
) -> None:
    with engine.session() as session:
        stmt = all_buyers(shop).load_related(Buyer.parcels, Buyer.letters)
        buyers = read(session, stmt)

    assert [[each.number for each in buyer.parcels] for buyer in buyers] == [
        [100 * number + n for n in range(2 * number)] for number in range(4)
    ]
    assert [[each.number for each in buyer.letters] for buyer in buyers] == [
        [*range(2 * number)] for number in range(4)
    ]


def test_an_object_is_the_same_wherever_it_is_read(engine: Engine, shop: str) -> None:
    with engine.session() as session:
        (buyer,) = session.all(
            all_buyers(shop).where(Buyer.number == 1).load_related(Buyer.purchases)
        )
        again = session.get(Purchase, shop=shop, buyer=1, number=0)
        stmt = select(Purchase).where(Purchase.shop == shop, Purchase.buyer == 1)
        objects = session.all(stmt.load_related(Purchase.of))
        buyer.purchases[0].total = 5

    assert again is buyer.purchases[1]
    assert [each.of for each in objects] == [buyer, buyer]
    with engine.session() as session:
        assert session.get(Purchase, shop=shop, buyer=1, number=1).total == 5  # type: ignore[union-attr]


def test_each_list_is_one_scan_of_its_rows(engine: Engine, shop: str) -> None:
    sent = RecordsRequests(gateway_of(engine))
    with through(sent, engine).session() as session:
        session.all(all_buyers(shop).load_related(Buyer.purchases, limit=2))

    scans = [each.scan for each in sent.requests if isinstance(each, OpenScanner)]
    assert [scan.table.rpartition(":")[2] for scan in scans] == ["buyers", *["purchases"] * 4]
    assert all(scan.caching_rows == 2 for scan in scans[1:])


def test_a_list_is_empty_where_a_field_of_its_object_is_none(engine: Engine, shop: str) -> None:
    with engine.session() as session:
        stmt = all_buyers(shop).where(Buyer.number == 0).load_related(Buyer.prizes)
        assert session.one(stmt).prizes == []


def test_a_full_scan_for_a_list_is_refused_before_its_table_is_read(
    engine: Engine, shop: str
) -> None:
    sent = RecordsRequests(gateway_of(engine))
    with through(sent, engine).session() as session, pytest.raises(QueryError, match="full"):
        session.all(all_buyers(shop).load_related(Buyer.prizes))
    tables = {
        each.scan.table.rpartition(":")[2]
        for each in sent.requests
        if isinstance(each, OpenScanner)
    }
    assert tables == {"buyers"}


def test_a_list_that_was_not_loaded_says_how_to_read_it(engine: Engine, shop: str) -> None:
    with engine.session() as session:
        buyer = session.get(Buyer, shop=shop, number=2)
        assert buyer is not None
        with pytest.raises(NotLoadedError) as got:
            _ = buyer.purchases
        other = session.one(all_buyers(shop).where(Buyer.number == 3).load_related(Buyer.parcels))
        other.level = 9
        assert len(other.parcels) == 6

    assert "select(Buyer).load_related(Buyer.purchases)" in got.value.fix
    assert "select(Purchase).where(Purchase.shop == ..., Purchase.buyer == ...)" in got.value.fix


def test_a_list_cannot_be_set_and_is_no_part_of_equality(engine: Engine, shop: str) -> None:
    with engine.session() as session:
        stmt = all_buyers(shop).where(Buyer.number == 2)
        loaded = session.one(stmt.load_related(Buyer.purchases))
        with pytest.raises(ValidationError, match="cannot be set") as got:
            loaded.purchases = []
    with engine.session() as session:
        assert session.one(stmt) == loaded

    assert got.value.fix == "set Purchase.shop, Purchase.buyer of the related objects"


def test_corrupt_rows_of_a_list_are_left_out_by_the_rule(
    engine: Engine, shop: str, read: Any
) -> None:
    table = engine._bound_of(Purchase).schema.table
    row = Purchase.encode_key(shop=shop, buyer=3, number=4)
    gateway_of(engine).execute(MutateRows(table, (RowMutation(row, (Put(b"d:t", b"short"),)),)))
    stmt = all_buyers(shop).load_related(Buyer.purchases)

    with engine.session() as session:
        buyers = read(session, stmt.on_corrupt("skip"))
        with pytest.raises(CorruptRowError):
            read(session, stmt)

    assert [each.number for each in buyers[3].purchases] == [5, 3, 2, 1, 0]


def test_a_statement_shows_its_lists_and_limits() -> None:
    stmt = select(Buyer).load_related(Buyer.letters).load_related(Buyer.purchases, limit=3)
    shown = "select(Buyer).load_related(Buyer.letters).load_related(Buyer.purchases, limit=3)"
    assert repr(stmt) == shown


def test_a_plan_says_that_each_list_is_a_read(engine: Engine, shop: str) -> None:
    with engine.session() as session:
        plan = session.explain(all_buyers(shop).load_related(Buyer.purchases))
    assert "load Buyer.purchases: 1 read an object" in str(plan)


@pytest.mark.parametrize("limit", [0, -1, True, "3", 2.5])
def test_a_limit_that_is_no_number_of_rows_is_refused(limit: Any) -> None:
    with pytest.raises(QueryError, match="positive"):
        select(Buyer).load_related(Buyer.purchases, limit=limit)


def test_a_limit_of_one_object_is_refused() -> None:
    with pytest.raises(QueryError, match="for related lists"):
        select(Purchase).load_related(Purchase.of, limit=3)


# --- declarations ---------------------------------------------------------------------------------


def made(**related_fields: Any) -> Any:
    """Return a model with a list that is found by these fields."""

    class Parent(Model, table="parents"):
        d = Family()
        number: Key[int] = key(codecs.uint16())
        name: Mapped[str] = column(d, "n", default="")
        counts: Mapped[list[int]] = column(d, "l", codec=codecs.json(list[int]))
        many: Related[list[Any]] = related(**related_fields)  # type: ignore[misc] # any arguments

    return Parent


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"none": lambda: Purchase.buyer}, "found by key fields and columns of this model"),
        ({"number": lambda: Purchase.none}, "not there"),  # type: ignore[attr-defined]
        ({"number": lambda: Nobody.number}, "not there"),  # type: ignore[name-defined]  # noqa: F821
        ({"number": lambda: 3}, "fields of their model"),
        ({"number": lambda: Purchase.of}, "fields of their model"),
        ({"number": lambda: Purchase.shop}, "cannot have the values"),
        ({"number": lambda: Purchase.buyer, "name": lambda: Buyer.shop}, "several models"),
    ],
)
def test_what_no_list_can_be_found_by_is_refused(fields: dict[str, Any], text: str) -> None:
    with pytest.raises(SchemaError, match=text) as got:
        _ = made(**fields).__related__["many"].target
    assert got.value.details["field"] == "many"
    assert got.value.fix


def test_fields_of_a_class_that_exists_need_no_function() -> None:
    assert made(number=Purchase.buyer).__related__["many"].target is Purchase


def test_functions_and_one_object_do_not_go_together() -> None:
    with pytest.raises(SchemaError, match="rows of a related list"):

        class Wrong(Model, table="wrong"):
            d = Family()
            number: Key[int] = key(codecs.uint16())
            one: Related[Purchase] = related(number=lambda: Purchase.buyer)


def test_a_list_may_be_of_the_same_model() -> None:
    class Node(Model, table="list_nodes"):
        d = Family()
        number: Key[int] = key(codecs.uint8())
        up: Mapped[int] = column(d, codec=codecs.uint8())
        by_up = Index(up)
        below: Related[list[Node]] = related(number=lambda: Node.up)

    assert Node.__related__["below"].target is Node
