"""Entries whose row key would be too long: refused before anything is sent."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hbase_orm import Engine, Family, Index, Key, Mapped, Model, column, key, select
from hbase_orm.binding.url import parse_url
from hbase_orm.errors import RowKeyError
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.ops import CheckAndMutate, GetRows, MutateRows, longest_row_key_bytes
from tests.support.recording import RecordsRequests


class Page(Model, table="pages"):
    d = Family()
    url: Key[str] = key()
    title: Mapped[str] = column(d)
    kind: Mapped[str] = column(d)
    body: Mapped[str | None] = column(d, default=None)
    by_title = Index(title, where=(kind == "text"))


OVERHEAD_BYTES = 2 + 1
"""The title's terminator, and the URL "u"."""
LONGEST = longest_row_key_bytes("pages_ix_by_title") - OVERHEAD_BYTES


@pytest.fixture
def gateway() -> RecordsRequests:
    return RecordsRequests(MemoryGateway())


@pytest.fixture
def engine(gateway: RecordsRequests) -> Iterator[Engine]:
    with Engine(gateway, parse_url("memory://")) as engine:
        engine.create_tables(Page)
        with engine.session() as session:  # so that the lease on the catalog is fresh
            session.add(Page(url="first", title="t", kind="text"))
            session.flush()
        gateway.requests.clear()
        yield engine


def about_rows(gateway: RecordsRequests) -> list[type]:
    kinds = (GetRows, MutateRows, CheckAndMutate)
    return [type(each) for each in gateway.requests if isinstance(each, kinds)]


def test_it_is_refused_before_anything_is_sent(engine: Engine, gateway: RecordsRequests) -> None:
    session = engine.session()
    session.add(Page(url="u", title="t" * (LONGEST + 1), kind="text"))

    with pytest.raises(RowKeyError) as caught:
        session.flush()

    assert (caught.value.index, caught.value.table) == ("by_title", "pages")
    assert caught.value.row == b"u"
    assert not gateway.requests


def test_without_it_the_flush_goes_on(engine: Engine) -> None:
    too_long = Page(url="u", title="t" * (LONGEST + 1), kind="text")
    with engine.session() as session:
        session.add(too_long)
        session.add(Page(url="v", title="short", kind="text"))
        with pytest.raises(RowKeyError):
            session.flush()
        session.expunge(too_long)
        session.flush()

    with engine.session() as session:
        assert session.get(Page, url="u") is None
        assert session.get(Page, url="v") is not None


@pytest.mark.parametrize(
    ("title", "kind", "body"),
    [
        ("t" * LONGEST, "text", None),
        ("t" * (LONGEST + 1), "image", None),
        ("t", "text", "b" * 100_000),
    ],
    ids=["as long as can be", "no entry", "another field is long"],
)
def test_what_fits_is_written(engine: Engine, title: str, kind: str, body: str | None) -> None:
    with engine.session() as session:
        session.add(Page(url="u", title=title, kind=kind, body=body))
        session.flush()

    with engine.session() as session:
        found = session.all(select(Page).where(Page.title == title, Page.kind == "text"))
    assert [page.url for page in found if page.url == "u"] == (["u"] if kind == "text" else [])


def test_a_row_whose_stored_title_would_fit_no_entry_can_be_deleted(engine: Engine) -> None:
    with engine.session() as session:
        session.add(Page(url="u", title="t" * (LONGEST + 1), kind="image"))
        session.flush()
        session.delete(Page(url="u", title="t" * (LONGEST + 1), kind="text"))
        session.flush()

    with engine.session() as session:
        assert session.get(Page, url="u") is None
