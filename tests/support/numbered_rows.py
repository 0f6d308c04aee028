"""Rows with a number each, for tests that count how many are read."""

from __future__ import annotations

from hbase_orm import Family, Key, Mapped, Model, codecs, column, key


class Numbered(Model, abstract=True):
    """Rows of a group, so that tests share tables."""

    d = Family()
    group: Key[str] = key(codecs.text(separator=b"\x00"))
    n: Key[int] = key(codecs.uint32())
    v: Mapped[int] = column(d, codec=codecs.uint8())
