"""A model that silences a rule which does not exist."""

from __future__ import annotations

from typing import ClassVar

from hbase_orm import Family, Key, Mapped, Model, column, key


class Misspelt(Model, table="misspelt"):
    d = Family()
    name: Key[str] = key()
    value: Mapped[int] = column(d, "v")
    __lint__: ClassVar = {"key-monoton": "ten rows a day"}
