"""Unique values that change hands: in one flush, and with a row that is moved."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hbase_orm import Engine, Family, Index, Key, Mapped, Model, column, connect, key, select
from hbase_orm.errors import FlushError, UniqueViolationError, ValidationError


class Member(Model, table="members"):
    d = Family()
    name: Key[str] = key()
    mail: Mapped[str | None] = column(d, default=None)
    number: Mapped[int] = column(d, default=0)
    by_mail = Index(mail, unique=True)
    by_both = Index(number, name, unique=True, where=number > 0)


@pytest.fixture
def engine() -> Iterator[Engine]:
    with connect("memory://") as connected:
        connected.create_tables(Member)
        yield connected


def put(engine: Engine, **mails: str | None) -> None:
    with engine.session() as session:
        for name, mail in mails.items():
            session.insert(Member(name=name, mail=mail))


def change(engine: Engine, *added: Member, **mails: str) -> None:
    """Add members and change others, in this order and in one flush."""
    with engine.session() as session:
        session.add_all(added)
        for name, mail in mails.items():
            session.one(select(Member).where(Member.name == name)).mail = mail


def mails(engine: Engine) -> dict[str, str | None]:
    with engine.session() as session:
        return {each.name: each.mail for each in session.stream(select(Member).allow_full_scan())}


def owner(engine: Engine, mail: str) -> str | None:
    with engine.session() as session:
        found = session.first(select(Member).where(Member.mail == mail))
        return None if found is None else found.name


# --- one flush ------------------------------------------------------------------------------------


def test_a_new_row_gets_the_value_that_its_owner_leaves_in_the_same_flush(engine: Engine) -> None:
    with engine.session() as session:
        member = Member(name="old", mail="x")
        session.insert(member)
        session.add(Member(name="new", mail="x"))
        member.mail = "y"

    assert mails(engine) == {"new": "x", "old": "y"}
    assert (owner(engine, "x"), owner(engine, "y")) == ("new", "old")


def test_values_are_handed_on_along_a_chain_in_one_flush(engine: Engine) -> None:
    put(engine, a="1", b="2", c="3")
    change(engine, Member(name="new", mail="1"), a="2", b="3", c="4")

    assert mails(engine) == {"a": "2", "b": "3", "c": "4", "new": "1"}
    assert [owner(engine, mail) for mail in "1234"] == ["new", "a", "b", "c"]


def test_values_that_are_swapped_in_one_flush_are_refused(engine: Engine) -> None:
    put(engine, a="1", b="2")

    with pytest.raises(FlushError) as caught:
        change(engine, a="2", b="1")

    assert {type(error) for _, _, error in caught.value.not_written} == {UniqueViolationError}
    assert mails(engine) == {"a": "1", "b": "2"}


def test_a_value_of_a_row_outside_the_flush_is_refused_beside_rows_that_are_written(
    engine: Engine,
) -> None:
    put(engine, other="x")

    with pytest.raises(FlushError) as caught, engine.session() as session:
        session.add_all([Member(name="new", mail="x"), Member(name="plain", mail="y")])

    assert [row for _, row, _ in caught.value.not_written] == [b"new"]
    assert mails(engine) == {"other": "x", "plain": "y"}


# --- a move ---------------------------------------------------------------------------------------


def test_a_row_with_a_unique_value_is_not_moved(engine: Engine) -> None:
    put(engine, a="x")
    with engine.session() as session:
        member = session.one(select(Member).where(Member.name == "a"))
        with pytest.raises(ValidationError) as caught:
            session.move(member, name="b")

    assert (caught.value.index, caught.value.row, caught.value.new_row) == ("by_mail", b"a", b"b")
    assert mails(engine) == {"a": "x"}
    assert owner(engine, "x") == "a"


def test_a_row_whose_unique_value_is_cleared_first_is_moved_as_the_error_says(
    engine: Engine,
) -> None:
    put(engine, a="x")
    with engine.session() as session:
        member = session.one(select(Member).where(Member.name == "a"))
        member.mail, member.number = None, 7
        session.flush()
        moved = session.move(member, name="b")
        moved.mail = "x"

    assert mails(engine) == {"b": "x"}
    assert owner(engine, "x") == "b"
