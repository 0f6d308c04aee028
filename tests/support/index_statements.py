"""A model with an index of each kind, statements that they serve, and what these must give."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

from hbase_orm import (
    Dynamic,
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    codecs,
    column,
    dynamic,
    func,
    key,
    select,
)
from hbase_orm.query import IndexPlan, Select

T0 = datetime(2024, 1, 1, tzinfo=UTC)


class Job(Model, table="jobs"):
    d = Family()
    tenant: Key[str] = key()
    n: Key[int] = key(codecs.uint16())
    mail: Mapped[str] = column(d)
    phone: Mapped[str | None] = column(d, default=None)
    size: Mapped[int] = column(d, default=0)
    state: Mapped[str] = column(d, default="new")
    at: Mapped[datetime] = column(d)
    labels: Mapped[list[str]] = column(d, codec=codecs.json(list[str]), default_factory=list)
    props: Dynamic[str, int] = dynamic(d, prefix="q:")
    by_mail = Index(func.lower(mail), unique=True)
    by_ending = Index(func.digit_reversed(phone))
    by_phone = Index(phone, nulls=True)
    waiting = Index(at, where=state == "new")
    large = Index(at.desc(), where=(size > 10) & (phone != None))  # noqa: E711 - asks for a value
    by_label = Index(func.each(labels), salt=3)
    by_day = Index(func.day(at))
    by_size = Index(size, include=[mail, phone], covering=True)
    by_rack = Index((props["rack"], codecs.uint16()))
    by_hand = Index(state, maintained="manual")


ITEMS = func.each(Job.labels)
STATEMENTS: list[Select[Any]] = [
    select(Job).where(ITEMS.startswith("l")),
    select(Job).where(ITEMS.between("l1", "m1")),
    select(Job).where(ITEMS >= "l1", ITEMS < "b"),
    select(Job).where(ITEMS.in_(["l1", "all"])),
    select(Job).where(Job.labels.contains("all"), Job.labels.contains("m2")),
    select(Job.n, Job.mail).where(Job.size >= 3),
    select(Job.mail).where(Job.size.in_([1, 5]), Job.phone == None),  # noqa: E711 - asks for none
    select(Job).where(Job.size.in_([1, 5])),
    select(Job).where(Job.phone.is_null()),
    select(Job).where(Job.phone.in_([None, "07", "08"])),
    select(Job).where(func.lower(Job.mail).startswith("u1")),
    select(Job).where(func.digit_reversed(Job.phone).startswith("1")),
    select(Job).where(func.day(Job.at) == date(2024, 1, 2)),
]


def add(engine: Engine, count: int = 40) -> None:
    with engine.session() as session:
        for n in range(count):
            labels = [f"l{n % 5}", f"m{n % 3}", "all"][: n % 4]
            job = Job(tenant="t", n=n, mail=f"U{n}@X.org", at=T0 + timedelta(hours=n))
            job.phone, job.size, job.labels = (f"0{n}" if n % 3 else None), n % 7, labels
            session.add(job)


def check_answer(engine: Engine, stmt: Select[Any]) -> None:
    """Check that an index gives, in any number, what a full scan gives."""
    with engine.session() as session:
        found = session.all(stmt)

        whole = session.all(stmt.using(None).allow_full_scan())
        assert isinstance(session.explain(stmt), IndexPlan)
        assert found
        assert sorted(map(repr, found)) == sorted(map(repr, whole))
        assert session.count(stmt) == len(found)
        assert session.all(stmt.limit(3)) == found[:3]


def check_pages(engine: Engine, stmt: Select[Any], size: int) -> None:
    """Check that pages, each asked by the token of the one before, are the answer."""
    with engine.session() as session:
        page = session.page(stmt, size=size)
        joined = list(page.items)
        while page.token is not None:
            page = session.page(stmt, size=size, token=page.token)
            joined += page.items

        assert joined == session.all(stmt)
