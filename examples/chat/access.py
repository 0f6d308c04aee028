"""What the chat's pages and bots call: its access to the data, with a session of the caller."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from uuid import UUID

from examples.chat.models import Channel, Message, Reaction, User
from hbase_orm import Page, Session, select
from hbase_orm.errors import UniqueViolationError


class EmailTakenError(Exception):
    """Another user has the e-mail address."""


def register(session: Session, email: str, name: str) -> User:
    """Save a new user.

    Raises:
        EmailTakenError: Another user has the address.
    """
    user = User(email=email.lower(), name=name)
    try:
        session.insert(user)
    except UniqueViolationError as error:
        raise EmailTakenError(email) from error
    return user


def user_of(session: Session, email: str) -> User | None:
    """Return the user with an address: one read of the index, and one of the row."""
    return session.first(select(User).where(User.email == email.lower()))


def change_email(session: Session, user: User, email: str) -> None:
    """Give a user another address.

    Raises:
        EmailTakenError: Another user has the address; the user keeps the old one.
    """
    try:
        session.put_row(User, User.email.to(email.lower()), number=user.number)
    except UniqueViolationError as error:
        raise EmailTakenError(email) from error
    session.refresh(user)


def open_channel(session: Session, name: str, by: User, topic: str = "") -> Channel:
    """Return the channel with a name; it is made if there is none."""
    channel = session.get(Channel, name=name)
    if channel is None:
        channel = Channel(name=name, topic=topic, made_by=by.number)
        session.add(channel)
        session.flush()
    return channel


def post(session: Session, channel: Channel, author: User, text: str) -> Message:
    """Save a new message."""
    message = Message(channel=channel.name, author=author.number, text=text)
    session.add(message)
    session.flush()
    return message


def latest(
    session: Session, channel: Channel, size: int = 30, after: str | None = None
) -> Page[Message]:
    """Return a page of a channel's messages, the newest first; `after` is the last page's token."""
    stmt = select(Message).where(Message.channel == channel.name)
    return session.page(stmt, size=size, token=after)


def written_by(session: Session, author: User, limit: int = 30) -> list[Message]:
    """Return a user's messages in all channels, the newest first."""
    stmt = select(Message).where(Message.author == author.number)
    return session.all(stmt.order_by(Message.at.desc()).limit(limit))


def react(session: Session, message: Message, user: User, emoji: str) -> None:
    """Add a user's emoji to a message; a second time changes nothing."""
    now = Reaction.at.to(datetime.now(UTC))
    session.put_row(Reaction, now, message=message.number, emoji=emoji, user=user.number)


def take_back(session: Session, message: Message, user: User, emoji: str) -> None:
    """Remove a user's emoji from a message, if it is there."""
    session.delete_row(Reaction, message=message.number, emoji=emoji, user=user.number)


def reactions(session: Session, message_id: UUID) -> dict[str, int]:
    """Return how many users gave each emoji to a message."""
    stmt = select(Reaction).where(Reaction.message == message_id)
    return dict(Counter(each.emoji for each in session.stream(stmt)))


def remove(session: Session, message: Message) -> None:
    """Remove a message with its reactions: the reactions first, so that none is left alone."""
    session.delete_where(select(Reaction).where(Reaction.message == message.number))
    session.delete(message)
    session.flush()
