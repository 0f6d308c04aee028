"""The chat's own tests: what its pages rely on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from examples.chat import access
from examples.chat.models import Message, User
from hbase_orm import select
from hbase_orm.errors import ValidationError
from hbase_orm.testing import assert_requests

if TYPE_CHECKING:
    from examples.chat.models import Channel
    from hbase_orm import Engine, Session


def test_an_address_belongs_to_one_user(session: Session, ann: User) -> None:
    with pytest.raises(access.EmailTakenError):
        access.register(session, "ANN@example.org", "Another Ann")

    assert access.user_of(session, "Ann@Example.org") == ann
    assert session.count(select(User).allow_full_scan()) == 1


def test_an_address_that_was_given_up_is_free(session: Session, ann: User, bob: User) -> None:
    access.change_email(session, ann, "ann@example.com")
    access.change_email(session, bob, "ann@example.org")

    assert access.user_of(session, "ann@example.org") == bob
    assert access.user_of(session, "bob@example.org") is None


def test_a_taken_address_leaves_the_old_one(session: Session, ann: User, bob: User) -> None:
    with pytest.raises(access.EmailTakenError):
        access.change_email(session, bob, "ann@example.org")

    assert bob.email == "bob@example.org"
    assert access.user_of(session, "ann@example.org") == ann


def test_a_channel_is_opened_once(session: Session, ann: User, bob: User) -> None:
    first = access.open_channel(session, "news", ann, topic="of the day")
    second = access.open_channel(session, "news", bob)

    assert (second.topic, second.made_by) == ("of the day", ann.number)
    assert first == second


def test_the_newest_messages_come_first_page_by_page(
    session: Session, ann: User, lobby: Channel
) -> None:
    for n in range(7):
        access.post(session, lobby, ann, f"message {n}")
    access.post(session, access.open_channel(session, "lobby2", ann), ann, "elsewhere")

    first = access.latest(session, lobby, size=3)
    second = access.latest(session, lobby, size=3, after=first.token)
    third = access.latest(session, lobby, size=3, after=second.token)

    texts = [each.text for page in (first, second, third) for each in page.items]
    assert texts == [f"message {n}" for n in reversed(range(7))]
    assert third.token is None


def test_a_users_messages_are_found_in_all_channels(
    session: Session, ann: User, bob: User, lobby: Channel
) -> None:
    news = access.open_channel(session, "news", ann)
    access.post(session, lobby, ann, "one")
    access.post(session, lobby, bob, "two")
    access.post(session, news, ann, "three")

    assert [each.text for each in access.written_by(session, ann)] == ["three", "one"]


def test_a_reaction_counts_once_a_user(
    session: Session, ann: User, bob: User, lobby: Channel
) -> None:
    message = access.post(session, lobby, ann, "hello")
    for user in (ann, bob, bob):
        access.react(session, message, user, "wave")
    access.react(session, message, bob, "heart")
    access.take_back(session, message, bob, "heart")

    assert access.reactions(session, message.number) == {"wave": 2}


def test_a_removed_message_leaves_nothing(session: Session, ann: User, lobby: Channel) -> None:
    message = access.post(session, lobby, ann, "a mistake")
    access.react(session, message, ann, "wave")

    access.remove(session, message)

    assert access.latest(session, lobby).items == []
    assert access.written_by(session, ann) == []
    assert access.reactions(session, message.number) == {}


def test_wrong_texts_are_refused_and_a_page_costs_few_requests(
    hbase_engine: Engine, session: Session, ann: User, lobby: Channel
) -> None:
    with pytest.raises(ValidationError, match="text"):
        access.post(session, lobby, ann, "x" * 4_001)
    access.post(session, lobby, ann, "fits")
    access.latest(session, lobby)

    with assert_requests(hbase_engine, max=4, table=Message):
        access.latest(session, lobby)
