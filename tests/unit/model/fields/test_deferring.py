"""Deferred columns: how they are declared, and what objects without them do."""

from __future__ import annotations

import copy
import pickle
from datetime import datetime
from uuid import uuid4

import pytest

from hbase_orm import (
    Dynamic,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Offset,
    Period,
    Related,
    codecs,
    column,
    connect,
    dynamic,
    key,
    related,
    rowkey,
    select,
)
from hbase_orm.errors import NotLoadedError, SchemaError, ValidationError
from tests.behaviour.test_deferred_columns import Doc, doc, prepare
from tests.support.store import Store
from tests.support.thrift1_only import engine_without_thrift2


@pytest.fixture
def store() -> Store:
    engine = connect("memory://")
    prepare(engine)
    return Store.on(engine)


@pytest.fixture
def host() -> str:
    return uuid4().hex


def test_a_new_object_has_its_deferred_fields() -> None:
    made = Doc(host="a", n=1, title="t", body=b"b")

    assert (made.body, made.last, made.page) == (b"b", None, b"none")


def test_a_required_deferred_field_has_to_be_given() -> None:
    with pytest.raises(ValidationError, match="required"):
        Doc(host="a", n=1, title="t")  # type: ignore[call-arg]  # what is tested


def test_copies_lack_what_their_object_lacks(store: Store, host: str) -> None:
    store.put(doc(host))
    with store.engine.session() as session:
        obj = session.one(select(Doc).where(Doc.host == host))
        session.refresh(obj, Doc.last)

    again = pickle.loads(pickle.dumps(obj))
    copied = copy.copy(obj)

    assert again.last == copied.last == obj.last
    for each in (again, copied):
        with pytest.raises(NotLoadedError):
            _ = each.body


def test_an_indexed_field_is_not_deferred() -> None:
    with pytest.raises(
        SchemaError,
        match="a field that an index uses or includes cannot be deferred: index entries are checked against",
    ) as caught:

        class Bad(Model, table="bad"):
            d = Family()
            host: Key[str] = key()
            body: Mapped[str] = column(d, deferred=True)
            by_body = Index(body)

    assert (caught.value.details["field"], caught.value.details["index"]) == ("body", "by_body")


def test_neither_is_one_that_an_index_repeats() -> None:
    with pytest.raises(
        SchemaError,
        match="a field that an index uses or includes cannot be deferred: index entries are checked against",
    ):

        class Bad(Model, table="bad"):
            d = Family()
            host: Key[str] = key()
            title: Mapped[str] = column(d)
            body: Mapped[str] = column(d, deferred=True)
            by_title = Index(title, include=[body])


def test_a_packed_cell_is_not_deferred() -> None:
    with pytest.raises(
        SchemaError, match="the object is stored in a single cell, so this field cannot be deferred"
    ):

        class Bad(Model, table="bad"):
            d = Family()
            host: Key[str] = key()
            at: Key[datetime] = key(codecs.seconds(width_bytes=4))
            value: Mapped[float] = column(
                d,
                Offset("hour", of=at, resolution="seconds", codec=codecs.uint16()),
                deferred=True,
            )
            __rowkey__ = rowkey(host, Period("hour", of=at, codec=codecs.seconds(width_bytes=4)))


def test_a_column_beside_dynamic_ones_is_not_deferred() -> None:
    with pytest.raises(SchemaError, match="another family") as caught:

        class Bad(Model, table="bad"):
            d = Family()
            host: Key[str] = key()
            body: Mapped[bytes] = column(d, deferred=True)
            tags: Dynamic[str, str] = dynamic(d, prefix="t:")

    assert caught.value.details["dynamic"] == "tags"


def test_a_field_that_finds_a_related_row_is_not_deferred() -> None:
    with pytest.raises(SchemaError, match="related row"):

        class Bad(Model, table="bad"):
            d = Family()
            host: Key[str] = key()
            doc_host: Mapped[str] = column(d, deferred=True)
            doc_n: Mapped[int] = column(d)
            doc: Related[Doc] = related(host=doc_host, n=doc_n)


class Signed(Model, table="deferred_signed"):
    d = Family()
    host: Key[str] = key()
    body: Mapped[bytes] = column(d, "a", deferred=True)
    title: Mapped[str] = column(d, "t")
    by_title = Index(title)


def test_an_index_without_guards_leaves_what_was_not_loaded_alone() -> None:
    engine, _ = engine_without_thrift2()
    engine.create_tables(Signed)
    with engine.session() as session:
        session.add(Signed(host="a", body=b"b", title="old"))

    with engine.session() as session:
        found = session.one(select(Signed).where(Signed.title == "old"))
        assert found.to_dict() == {"host": "a", "title": "old"}
        found.title = "new"

    with engine.session() as session:
        again = session.one(select(Signed).where(Signed.title == "new").using(Signed.by_title))
        session.refresh(again, Signed.body)
        assert again.body == b"b"
        assert session.count(select(Signed).where(Signed.title == "old")) == 0
