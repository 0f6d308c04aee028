"""Each line marked `# E` must be rejected by both checkers, and no other line."""

from __future__ import annotations

from hbase_orm import Dynamic, Family, Key, Mapped, Model, codecs, column, dynamic, key, select


class B(Model, table="b"):
    f = Family()
    uid: Key[int] = key(codecs.uint64())
    name: Mapped[str] = column(f)
    tags: Dynamic[str, int] = dynamic(f, prefix="t:")
    bad1: Dynamic[str, int] = dynamic("f")  # E
    bad2: Dynamic[str, int] = dynamic(f, prefix=b"t:")  # E
    bad3: Mapped[int] = dynamic(f)  # E
    bad4: Dynamic[str, int] = dynamic(f, codec=int)  # E


B(uid=1, name="x", tags={})  # E
b = B(uid=1, name="x")
b.tags["x"] = "y"  # E
b.tags[1] = 1  # E
b.tags = {1: 1}  # E
b.tags = None  # E
b.tags["x"].lower()  # E
B.tags[1]  # E
select(B).where(B.tags["x"] == "1")  # E
select(B).where(B.tags["x"] < "1")  # E
select(B).where(B.tags["x"].in_(["1"]))  # E
select(B).where(B.tags)  # E
select(B).where(B.tags["x"])  # E
select(B).columns_between(B.name, "a", "b")  # E
select(B).columns_between(B.tags, "a")  # E
select(B).columns_between(B.tags, "a", "b", limit="3")  # E


class C(Model, table="c"):
    f = Family()
    uid: Key[int] = key(codecs.uint64())
    bad: Dynamic[str, int] = column(f)  # E
