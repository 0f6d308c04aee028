"""Wrong indexes and functions of fields: each marked line is an error."""

from __future__ import annotations

from datetime import datetime

from hbase_orm import Family, Index, Key, Mapped, Model, codecs, column, func, key, select


class Tried(Model, table="tried"):
    """A model to declare wrong indexes of."""

    d = Family()
    n: Key[int] = key(codecs.uint8())
    name: Mapped[str] = column(d)
    at: Mapped[datetime] = column(d)
    labels: Mapped[list[str]] = column(d, codec=codecs.json(list[str]), default_factory=list)


Index("name")  # E
Index(Tried.name, include=["name"])  # E
Index(Tried.name, where=True)  # E
Index(Tried.name, maintained="never")  # E
Index((Tried.name, "text"))  # E
func.lower(Tried.n)  # E
func.day(Tried.name)  # E
func.each(Tried.name)  # E
func.lower(Tried.name).in_([3])  # E
select(Tried).where(func.day(Tried.at) > "2024")  # E
