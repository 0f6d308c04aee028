"""`contains`: rows whose list, set or tuple has an item."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hbase_orm import (
    Engine,
    Family,
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
from hbase_orm.errors import QueryError


class Post(Model, table="posts"):
    d = Family()
    name: Key[str] = key()
    title: Mapped[str] = column(d, default="")
    labels: Mapped[list[str]] = column(d, codec=codecs.json(list[str]), default_factory=list[str])
    ranks: Mapped[frozenset[int] | None] = column(
        d, codec=codecs.msgpack(frozenset[int]), default=None
    )


ALL = select(Post).allow_full_scan()


@pytest.fixture
def session() -> Iterator[Session]:
    with connect("memory://") as engine:
        load(engine)
        with engine.session() as session:
            yield session


def load(engine: Engine) -> None:
    engine.create_tables(Post)
    with engine.session() as session:
        session.add(Post(name="a", labels=["x", "y"]))
        session.add(Post(name="b", labels=["xy"], ranks=frozenset({1, 2})))
        session.add(Post(name="c"))


def names(session: Session, *conditions: object) -> list[str]:
    return [post.name for post in session.all(ALL.where(*conditions))]  # type: ignore[arg-type]  # conditions


def test_rows_that_have_the_item_are_found(session: Session) -> None:
    assert names(session, Post.labels.contains("x")) == ["a"]
    assert names(session, Post.labels.contains("y")) == ["a"]
    assert names(session, ~Post.labels.contains("x")) == ["b", "c"]
    assert names(session, Post.labels.contains("x") | (Post.name == "c")) == ["a", "c"]


def test_none_contains_nothing(session: Session) -> None:
    ranks: Mapped[frozenset[int]] = Post.__schema__.fields["ranks"]

    assert names(session, ranks.contains(2)) == ["b"]
    assert names(session, ~ranks.contains(2)) == ["a", "c"]


def test_values_are_selected_by_it(session: Session) -> None:
    asked = select(Post.name).where(Post.labels.contains("y")).allow_full_scan()

    assert session.all(asked) == ["a"]
    assert session.count(asked) == 1


def test_a_text_contains_no_items(session: Session) -> None:
    title: Mapped[list[str]] = Post.__schema__.fields["title"]

    with pytest.raises(QueryError, match=r"contains\(\) works only on a list, set or tuple"):
        session.all(ALL.where(title.contains("x")))
