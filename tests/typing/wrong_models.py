"""Each line marked `# E` must be rejected by both checkers, and no other line."""

from __future__ import annotations

from datetime import timedelta

from hbase_orm import Counter, Family, Index, Key, Mapped, Model, Salt, Table, codecs, column, counter, key, rowkey, validators


class U(Model, table="u"):
    f = Family()
    uid: Key[int] = key(codecs.uint64())
    name: Mapped[str] = column(f)
    nick: Mapped[str | None] = column(f, default=None)
    hits: Counter = counter(f)
    bad1: Mapped[int] = column(f, default="x")  # E
    bad2: Mapped[int] = column(f, codec=codecs.text())  # E
    bad3: Key[str] = key(codecs.uint64())  # E
    bad4: Mapped[float] = column(f, codec=codecs.float64(), default=None)  # E
    bad5: Key[int] = column(f, codec=codecs.uint64())  # E
    bad6: Mapped[str] = column(f, default=None)  # E
    bad7: Mapped[int] = counter(f)  # E
    bad8: Counter = column(f)  # E
    bad9: Mapped[str] = column(f, default_factory=int)  # E
    bad10: Mapped[str] = column("f")  # E
    bad11: Mapped[str] = column(f, codec=str)  # E
    bad12: Mapped[int] = column(f, codec=codecs.uint8(), default="x")  # E
    bad13: Key[str] = key(default=1)  # E
    bad14: Mapped[int] = column(f, codec=codecs.uint8(), validate=validators.matches("x"))  # E
    bad15: Mapped[int] = column(f, codec=codecs.uint8(), onupdate=str)  # E
    bad16: Mapped[int] = column(f, codec=codecs.uint8(), default=None, validate=validators.one_of("x"))  # E
    bad17: Mapped[int] = column(f, validate=3)  # E
    bad18: Mapped[int] = column(f, onupdate=3)  # E
    bad19: Mapped[int] = column(f, validate=validators.max_length("3"))  # E
    bad20: Mapped[int] = column(f, repr="no")  # E
    __rowkey__ = rowkey(uid, nmae)  # E
    ix = Index(nome)  # E
    ix2 = Index("name")  # E
    ix3 = Index(name == "x")  # E
    s = Salt(16, of="uid")  # E
    s2 = Salt("16")  # E
    r = rowkey("uid")  # E


class V(Model, table=3):  # E
    f = Family(ttl=30)  # E
    g = Family(compression="ZIP")  # E
    h = Family(versions="3")  # E
    i = Family(keep=True)  # E


Table("t", splits="3")  # E
Table("t", durability="NEVER")  # E
Family(ttl=timedelta(days=1), bloom="ALL")  # E


class B(Model, table="b"):
    f = Family()
    uid: Key[int] = key(codecs.uint64())
    name: Mapped[str] = column(f)
    nick: Mapped[str | None] = column(f, default=None)
    hits: Counter = counter(f)


B(uid="1", name="x")  # E
B(uid=1)  # E
B(1, "x")  # E
B(uid=1, name="n", hits=3)  # E
B(uid=1, name="n", bogus=1)  # E
B(uid=1, name=None)  # E
u = B(uid=1, name="n")
u.hits = 3  # E
u.name = None  # E
u.name = 3  # E
u.nick.lower()  # E
u.bogus = 1  # E
u.nmae  # E
u.name.nope()  # E
B.encode_key("a")  # E


class C(Model, table="c"):
    f = Family()
    uid: Key[int] = key(codecs.uint64())
    half: Mapped[int] = column(f)

    def before_put(self, session: object) -> None:  # E
        pass
