"""The tables of the chat."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import ClassVar
from uuid import UUID, uuid4

from hbase_orm import Family, HashPrefix, Index, Key, Mapped, Model, codecs, column, key, rowkey
from hbase_orm.validators import matches, max_length

_LINT: dict[str, str] = {"regions-one": "the chat of one company fits one region"}


def _now() -> datetime:
    return datetime.now(UTC)


class User(Model, table="chat_users"):
    """A user. No two users have one e-mail address."""

    d = Family()
    number: Key[UUID] = key(default_factory=uuid4)
    email: Mapped[str] = column(d, "e", validate=matches(r"[^@\s]+@[^@\s]+"))
    name: Mapped[str] = column(d, "n", validate=max_length(80))
    joined_at: Mapped[datetime] = column(d, "j", default_factory=_now)
    by_email = Index(email, unique=True)

    __lint__: ClassVar = _LINT


class Channel(Model, table="chat_channels"):
    """A channel, by its name."""

    d = Family()
    name: Key[str] = key()
    topic: Mapped[str] = column(d, "t", default="")
    made_by: Mapped[UUID] = column(d, "m")


class Message(Model, table="chat_messages"):
    """A message. Those of a channel stand together, the newest first; a hash spreads channels."""

    d = Family()
    channel: Key[str] = key(codecs.text(separator=b"\x00"))
    at: Key[datetime] = key(codecs.micros(desc=True), default_factory=_now)
    number: Key[UUID] = key(default_factory=uuid4)
    author: Mapped[UUID] = column(d, "a")
    text: Mapped[str] = column(d, "t", validate=max_length(4_000))
    by_author = Index(author, at)

    __rowkey__ = rowkey(HashPrefix(1, of=channel), channel, at, number)


class Reaction(Model, table="chat_reactions"):
    """One user's emoji to a message: the same one twice is the same row."""

    d = Family()
    message: Key[UUID] = key()
    emoji: Key[str] = key(codecs.text(separator=b"\x00"))
    user: Key[UUID] = key()
    at: Mapped[datetime] = column(d, "a", default_factory=_now)

    __lint__: ClassVar = _LINT


MODELS = (User, Channel, Message, Reaction)
