"""Indexes of every kind, and statements on functions of fields: nothing here is an error."""

from __future__ import annotations

from datetime import UTC, date, datetime
from enum import Enum
from typing import assert_type

from hbase_orm import (
    Condition,
    Dynamic,
    Expr,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Session,
    codecs,
    column,
    dynamic,
    func,
    key,
    select,
)


def utc_now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


class Status(Enum):
    """Stored as short codes."""

    NEW = "new"
    PAID = "paid"


class Stamped(Model, abstract=True):
    """A mixin."""

    created_at: Mapped[datetime] = column(default_factory=utc_now)


class Tenant(Model, abstract=True):
    """A leading key field to share."""

    tenant: Key[str] = key()


class Account(Tenant, Stamped, table="shop:accounts"):
    """Every kind of index."""

    d = Family()
    number: Key[int] = key(codecs.uint64())
    email: Mapped[str] = column(d, "e")
    phone: Mapped[str | None] = column(d, "p", default=None)
    status: Mapped[Status] = column(d, "s", default=Status.NEW)
    labels: Mapped[list[str]] = column(d, "l", codec=codecs.json(list[str]), default_factory=list)
    roles: Mapped[frozenset[int] | None] = column(
        d, "r", codec=codecs.json(frozenset[int]), default=None
    )
    notes: Dynamic[str, int] = dynamic(d, prefix="n:")

    by_email = Index(func.lower(email), unique=True)
    by_phone = Index(func.digit_reversed(phone))
    by_status = Index(status, Stamped.created_at.desc(), include=[email], covering=True)
    unpaid = Index(Stamped.created_at, where=(status == Status.NEW) & (phone != "0"), salt=8)
    by_label = Index(func.each(labels))
    by_role = Index(func.each(roles))
    by_day = Index(func.day(Stamped.created_at).desc(), number, nulls=True)
    by_tenant_number = Index(Tenant.tenant, number, maintained="manual")
    by_note = Index((notes["size"], codecs.int32()))


def statements(session: Session) -> None:
    """Ask through each."""
    assert_type(func.lower(Account.email), Expr[str])
    assert_type(func.digit_reversed(Account.phone), Expr[str | None])
    assert_type(func.digit_reversed(Account.email), Expr[str])
    assert_type(func.lower(Account.phone), Expr[str | None])
    assert_type(func.day(Account.created_at), Expr[date])
    assert_type(func.each(Account.labels), Expr[str])
    assert_type(func.each(Account.roles), Expr[int])
    assert_type(func.each(Account.labels).between("a", "b"), Condition)
    found = session.first(select(Account).where(func.lower(Account.email) == "a@x.org"))
    assert_type(found, Account | None)
    session.all(select(Account).where(func.day(Account.created_at) >= date(2024, 1, 1)))
    session.all(select(Account).where(Account.labels.contains("vip")).using(Account.by_label))
    session.all(select(Account).where(func.each(Account.roles).in_([1, 2])))
