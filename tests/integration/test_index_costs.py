"""What guarded writes and reads by index cost in requests, counted on a real HBase."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypeVar
from uuid import uuid4

import pytest

from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Session,
    codecs,
    column,
    connect,
    key,
    select,
)
from hbase_orm.index.catalog.catalog import CATALOG_TABLE
from hbase_orm.ops import (
    CheckAndMutate,
    CloseScanner,
    FetchRows,
    GetRows,
    GetVersions,
    GetVersionsOfRows,
    MutateRows,
    OpenScanner,
    Operation,
    PutRows,
)
from hbase_orm.testing import RealHBase
from tests.support.recording import RecordsRequests, gateway_of, through

pytestmark = pytest.mark.hbase


R = TypeVar("R")


class Order(Model, table="orders"):
    d = Family()
    number: Key[int] = key(codecs.uint32())
    state: Mapped[str] = column(d)
    city: Mapped[str] = column(d)
    total: Mapped[int] = column(d, codec=codecs.int64())
    by_state = Index(state)


class Copied(Model, table="copied"):
    d = Family()
    number: Key[int] = key(codecs.uint32())
    state: Mapped[str] = column(d)
    total: Mapped[int] = column(d, codec=codecs.int64())
    by_state = Index(state, include=[total], covering=True)


class Loaded(Model, table="loaded"):
    d = Family()
    number: Key[int] = key(codecs.uint32())
    state: Mapped[str] = column(d)
    by_state = Index(state)


class LoadedCopied(Model, table="loaded_copied"):
    d = Family()
    number: Key[int] = key(codecs.uint32())
    state: Mapped[str] = column(d)
    total: Mapped[int | None] = column(d, codec=codecs.int64(), default=None)
    by_state = Index(state, include=[total], covering=True)


GET, RAW, PUT, CHANGE, DELETE = (
    "get",
    "raw get",
    "put entries",
    "check and mutate",
    "delete entries",
)
SCAN = ["open", "fetch", "close"]
NAMES: dict[type, str] = {
    GetRows: GET,
    GetVersions: RAW,
    GetVersionsOfRows: RAW,
    CheckAndMutate: CHANGE,
    OpenScanner: "open",
    FetchRows: "fetch",
    CloseScanner: "close",
    PutRows: "put rows",
}


def name_of(request: Operation[Any]) -> str:
    if isinstance(request, MutateRows):
        return DELETE if request.mutations[0].deletes else PUT
    return NAMES[type(request)]


@pytest.fixture(scope="module")
def plain(hbase: RealHBase) -> Iterator[Engine]:
    namespace = f"n{uuid4().hex[:12]}"
    with connect(hbase.url_in(namespace)) as engine:
        engine.create_tables(Order, Copied, Loaded, LoadedCopied)
        yield engine
    hbase.drop_namespace(namespace)


@pytest.fixture
def sent(plain: Engine) -> RecordsRequests:
    return RecordsRequests(gateway_of(plain))


@pytest.fixture
def session(plain: Engine, sent: RecordsRequests) -> Session:
    """Return a session whose engine knows the catalog, with order 1 in the table."""
    engine = through(sent, plain)
    session = engine.session()
    for row in (order(), Copied(number=1, state="new", total=7)):
        session.replace(row)
    sent.requests.clear()
    return session


def order(number: int = 1, state: str = "new") -> Order:
    return Order(number=number, state=state, city="Oslo", total=7)


def names(sent: RecordsRequests) -> list[str]:
    """Return what was asked since the last call, but of the catalog, which is asked each lease."""
    of_rows = [r for r in sent.requests if getattr(r, "table", "") != CATALOG_TABLE]
    asked = [name_of(request) for request in of_rows]
    sent.requests.clear()
    return asked


def test_an_insert_takes_a_read_an_entry_and_a_change(
    session: Session, sent: RecordsRequests
) -> None:
    session.insert(order(2))

    assert names(sent) == [RAW, PUT, CHANGE]


def test_a_changed_key_takes_four(session: Session, sent: RecordsRequests) -> None:
    session.put_row(Order, Order.state.to("paid"), number=1)

    assert names(sent) == [GET, PUT, CHANGE, DELETE]


def test_with_deferred_clean_up_it_takes_three(plain: Engine, sent: RecordsRequests) -> None:
    options = replace(plain.options, clean_up="deferred")
    session = Engine(sent, options, plain._connections).session()
    session.replace(order())
    names(sent)

    session.put_row(Order, Order.state.to("sent"), number=1)

    assert names(sent) == [GET, PUT, CHANGE]


def test_an_unchanged_key_takes_two(session: Session, sent: RecordsRequests) -> None:
    session.put_row(Order, Order.total.to(8), number=1)

    assert names(sent) == [GET, CHANGE]


def test_a_delete_takes_three(session: Session, sent: RecordsRequests) -> None:
    session.delete_row(Order, number=1)

    assert names(sent) == [GET, CHANGE, DELETE]


def test_a_lost_round_takes_two_more(plain: Engine) -> None:
    class Rival(RecordsRequests):
        """Lets another program write the row once before the change."""

        is_left = False

        def execute(self, operation: Operation[R], /) -> R:
            if isinstance(operation, CheckAndMutate) and self.is_left:
                self.is_left = False
                with plain.session() as other:
                    other.put_row(Order, Order.total.to(9), number=1)
            return super().execute(operation)

    sent = Rival(gateway_of(plain))
    session = through(sent, plain).session()
    session.replace(order())
    names(sent)
    sent.is_left = True

    session.put_row(Order, Order.total.to(8), number=1)

    assert names(sent) == [GET, CHANGE, GET, CHANGE]


def test_many_rows_of_a_flush_share_their_reads_and_entries(
    session: Session, sent: RecordsRequests
) -> None:
    session.add_all(order(number, "many") for number in range(100, 120))
    session.flush()
    names(sent)
    session.add_all(order(number, "more") for number in range(100, 120))

    session.flush()

    assert sorted(names(sent)) == sorted([GET, PUT, *[CHANGE] * 20, DELETE])


def test_many_new_rows_share_them_too(session: Session, sent: RecordsRequests) -> None:
    session.add_all(order(number) for number in range(500, 520))

    session.flush()

    assert sorted(names(sent)) == sorted([GET, RAW, PUT, *[CHANGE] * 20])


def test_a_load_of_new_rows_takes_one_request_for_each_batch_and_table(
    plain: Engine, sent: RecordsRequests
) -> None:
    session = through(sent, plain).session()

    with session.bulk(insert_only=True, batch_rows=50) as bulk:
        bulk.add_all(Loaded(number=number, state="new") for number in range(150))

    # First it looks whether the table is empty, as the catalog says.
    assert names(sent) == [*SCAN, *["put rows", "put rows"] * 3]


def test_a_load_verifies_what_entries_repeat_by_one_more_request_a_batch(
    plain: Engine, sent: RecordsRequests
) -> None:
    session = through(sent, plain).session()
    rows = {number: None if number % 3 else number for number in range(150)}

    with session.bulk(insert_only=True, batch_rows=50) as bulk:
        bulk.add_all(LoadedCopied(number=n, state="new", total=total) for n, total in rows.items())
    loaded = names(sent)
    asked = select(LoadedCopied.number, LoadedCopied.total).where(LoadedCopied.state == "new")
    found = session.all(asked)

    assert loaded == [*SCAN, *["put rows"] * 3 * 3]
    assert dict(found) == rows
    assert GET not in names(sent)


def test_a_page_by_an_index_is_a_scan_and_a_multi_get(
    session: Session, sent: RecordsRequests
) -> None:
    session.add_all(order(number, "paged") for number in range(300, 420))
    session.flush()
    names(sent)

    found = session.all(select(Order).where(Order.state == "paged").limit(100))

    assert len(found) == 100
    assert sorted(names(sent)) == sorted([*SCAN, GET])


def test_covered_values_are_a_scan(session: Session, sent: RecordsRequests) -> None:
    asked = select(Copied.number, Copied.total).where(Copied.state == "new").limit(1)

    found = session.all(asked)

    assert found == [(1, 7)]
    assert names(sent) == SCAN


def test_a_covered_column_costs_two_batches_of_entries(
    session: Session, sent: RecordsRequests
) -> None:
    session.put_row(Copied, Copied.total.to(9), number=1)

    assert names(sent) == [GET, PUT, CHANGE, PUT]
