from __future__ import annotations

import pytest

from examples import salting
from examples.salting import Page, Ticket
from hbase_orm import select
from hbase_orm.errors import HBaseORMError
from tests.support.example_stages import Rows, Sent, Stage

pytestmark = pytest.mark.hbase

# What Phoenix itself puts before these names in a table with four buckets.
EXPECTED: Rows = {
    b"\x00foo0003": {b"d:t": b"FOO0003"},
    b"\x01foo0004": {b"d:t": b"FOO0004"},
    b"\x02foo0001": {b"d:t": b"FOO0001"},
    b"\x03foo0002": {b"d:t": b"FOO0002"},
}

MORE = [f"{start}{n:03}" for n in range(250) for start in ("foo000", "foo0003", "fo", "goo")]


@pytest.fixture(scope="module")
def first(stage: Stage) -> tuple[str, Rows, Rows]:
    printed = stage.play(salting)
    return printed, stage.rows("pages"), stage.rows("tickets")


def test_phoenix_salts_are_2_3_0_1(first: tuple[str, Rows, Rows], stage: Stage) -> None:
    assert first[1] == EXPECTED
    assert stage.starts("pages") == [b"", b"\x01", b"\x02", b"\x03"]


def test_a_random_salt_is_one_of_four_before_each_name(first: tuple[str, Rows, Rows]) -> None:
    tickets = first[2]

    assert {key[:2] for key in tickets} <= {b"a-", b"b-", b"c-", b"d-"}
    assert sorted(key[2:] for key in tickets) == [
        *(b"foo0001", b"foo0002", b"foo0003", b"foo0004"),
        *(b"twice", b"twice"),
    ]


def test_a_key_that_was_added_twice_is_reported(
    first: tuple[str, Rows, Rows], stage: Stage
) -> None:
    both = [key for key in first[2] if key.endswith(b"twice")]

    with pytest.raises(HBaseORMError, match="several rows have this key") as refused:
        stage.sent_by(lambda session: session.get(Ticket, name="twice"))

    assert refused.value.details["rows"] == both
    assert "several rows have this key" in first[0]


@pytest.mark.usefixtures("first")
def test_a_get_asks_one_bucket_of_the_computed_salt_and_all_of_the_random_one(
    stage: Stage,
) -> None:
    stage.load(Page(name=name, title=name) for name in MORE)
    with stage.engine.session() as session:
        session.add_all(Ticket(name=name, title=name) for name in MORE)
    names = sorted({*MORE, "foo0001", "foo0002", "foo0003", "foo0004"})
    wanted = [name for name in names if "foo0002" <= name < "foo0004"]

    page, one_row = stage.sent_by(lambda session: session.get(Page, name="foo0003007"))
    ticket, four_rows = stage.sent_by(lambda session: session.get(Ticket, name="foo0003007"))
    pages = select(Page.name).where(Page.name >= "foo0002", Page.name < "foo0004")
    found_pages, page_scans = stage.sent_by(lambda session: session.all(pages))
    tickets = select(Ticket.name).where(Ticket.name >= "foo0002", Ticket.name < "foo0004")
    found_tickets, ticket_scans = stage.sent_by(lambda session: session.all(tickets))

    assert found_pages == found_tickets == wanted
    assert (page_scans.scanners, ticket_scans.scanners) == (4, 4)
    assert page is not None
    assert (page.title, one_row) == ("foo0003007", Sent(gets=1, rows=1))
    assert ticket is not None
    assert (ticket.title, four_rows) == ("foo0003007", Sent(gets=1, rows=4))
