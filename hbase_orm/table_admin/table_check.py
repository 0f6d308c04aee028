"""The result of a comparison of a table with its models."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from hbase_orm.table_admin.changes import TableChange


class Drift(Enum):
    """What a difference between a table and its models means."""

    MISSING = "missing"
    """Something that the models need does not exist: a table, a family, an index, the record."""

    DIFFERENT = "different"
    """Something exists, but not as the models declare it."""

    CONTRADICTION = "contradiction"
    """The table's rows are not those of the model, which is refused."""

    UNDECIDED = "undecided"
    """The gateway does not show it, or the catalog may not be read."""

    NOTE = "note"
    """Worth knowing, but no drift: programs use the table as the models declare."""

    @property
    def is_drift(self) -> bool:
        """Whether the table and the models have drifted apart."""
        return self not in {Drift.UNDECIDED, Drift.NOTE}


@dataclass(frozen=True, slots=True)
class TableDifference:
    """One difference between a table and its models.

    Attributes:
        table: The name of the table that differs: the models' own, or the table of an index.
        subject: What differs, such as "family d: ttl_s".
        actual: What exists; empty if nothing does.
        declared: What the models declare; empty if they declare nothing.
        drift: What the difference means.
        fix: What to do; empty if `alter_tables` makes the difference go.
        change: The change that `alter_tables` makes, or None.
    """

    table: str
    subject: str
    actual: str
    declared: str
    drift: Drift
    fix: str = ""
    change: TableChange | None = None

    @property
    def is_alterable(self) -> bool:
        """Whether `alter_tables` makes the difference go."""
        return self.change is not None

    def __str__(self) -> str:
        """Return the difference as one line."""
        if self.drift is Drift.MISSING and not self.actual:
            return f"{self.table}: {self.subject} is missing"
        actual, declared = self.actual or "none", self.declared or "none"
        return f"{self.table}: {self.subject}: actual {actual}, declared {declared}"


@dataclass(frozen=True, slots=True)
class TableCheck:
    """The comparison of one table with all given models that have it.

    Attributes:
        table: The name of the table. The record of a model with a table for each period is compared
            under the pattern of their names.
        models: The names of the models.
        differences: The differences, those of index tables included.
    """

    table: str
    models: tuple[str, ...]
    differences: tuple[TableDifference, ...] = ()

    @property
    def has_drift(self) -> bool:
        """Whether the table and the models have drifted apart; notes do not count."""
        return any(each.drift.is_drift for each in self.differences)
