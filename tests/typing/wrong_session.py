"""Each line marked `# E` must be rejected by both checkers, and no other line."""

from __future__ import annotations

from datetime import datetime

from hbase_orm import Counter, Engine, Family, Index, Key, Mapped, Model, Session, codecs, column, connect, counter, func, is_stale, key, select


class B(Model, table="b"):
    f = Family()
    uid: Key[int] = key(codecs.uint64())
    at: Key[datetime] = key(codecs.millis())
    name: Mapped[str] = column(f)
    nick: Mapped[str | None] = column(f, default=None)
    active: Mapped[bool] = column(f, default=True)
    hits: Counter = counter(f)
    by_name = Index(name)


class NoModel:
    pass


def statements() -> None:
    select(B).where(B.uid == "1")  # E
    select(B).where(B.uid != "1")  # E
    select(B).where(B.uid < "1")  # E
    select(B).where(B.at >= "2024-01-01")  # E
    select(B).where(B.uid.in_(["1"]))  # E
    select(B).where(B.uid.between(1, "2"))  # E
    select(B).where(B.uid.startswith("1"))  # E
    select(B).where(B.name.is_(True))  # E
    select(B).where(B.active.is_("yes"))  # E
    select(B).where(B.nmae == "x")  # E
    select(B).where(B.name)  # E
    select(B).where(B.name.contains("x"))  # E
    select(B).where(True)  # E
    select(B).where("name = 'x'")  # E
    select(B).where((B.uid == 1) & True)  # E
    select(B).using(B.name)  # E
    select(B).using("by_name")  # E
    select(B).order_by("name")  # E
    select(B).limit("3")  # E
    select(B).consistency("eventual")  # E
    select(B).on_corrupt("ignore")  # E
    select(B).on_corrupt(lambda: None)  # E
    select(B).on_corrupt(rule="skip")  # E
    select(B).consistency(level="timeline")  # E
    is_stale(select(B))  # E
    select(NoModel)  # E
    select("b")  # E
    select(B.name, "at")  # E
    select(B, B.name)  # E
    select(B).group_by("name")  # E
    select(B).sort_in_memory(B.name.asc())  # E
    select(B).sort_in_memory("name", max_rows=3)  # E
    func.sum("name")  # E
    func.count(B)  # E
    func.avg(B.name)  # E
    func.avg(B.at)  # E


def sessions(s: Session, e: Engine) -> None:
    u = B(uid=1, at=datetime.now(), name="n")
    s.add("x")  # E
    s.add(B)  # E
    s.add_all(u)  # E
    s.delete(3)  # E
    s.get(NoModel, uid=1)  # E
    s.get(B, 1)  # E
    s.get_many(B, 3)  # E
    s.increment(B, B.name.by(1), uid=1)  # E
    s.increment(B, B.hits, uid=1)  # E
    s.increment(B, B.hits.by("1"), uid=1)  # E
    x: list[str] = s.all(select(B))  # E
    y: B = s.first(select(B))  # E
    z: str = s.one(select(B))  # E
    s.all(B)  # E
    a: list[str] = s.all(select(B.uid))  # E
    b: list[tuple[str, int]] = s.all(select(B.uid, B.name))  # E
    c: str = s.one(select(func.count(B.uid)))  # E
    least: int = s.one(select(func.min(B.uid)))  # E
    greatest: int = s.one(select(func.max(B.uid)))  # E
    latest: list[tuple[str, datetime]] = s.all(select(B.name, func.max(B.at)).group_by(B.name))  # E
    total: str = s.one(select(func.sum(B.uid)))  # E
    average: float = s.one(select(func.avg(B.uid)))  # E
    s.get(B, uid=1).name  # E
    for each in s.stream(select(B)):
        each.nmae  # E
    s.insert("x")  # E
    s.put_if(u, True)  # E
    s.put_row(B, B.name, uid=1)  # E
    s.put_row(B, B.name.to(3), uid=1)  # E
    s.append(B, B.name, 3, uid=1)  # E
    s.update(B, lambda b: b.nmae, uid=1)  # E
    s.bulk(rows=3)  # E
    s.bulk(batch_rows="3")  # E
    s.bulk().delete(B)  # E
    s.bulk().delete_row(B, 1)  # E
    s.bulk().delete_row(u, uid=1)  # E
    e.create_tables("b")  # E
    e.create_tables(NoModel)  # E
    connect(9090)  # E
    print(x, y, z, a, b, c)
