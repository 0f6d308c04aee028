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
    """The rows are not as the model declares, or the record is damaged: the model is refused."""

    UNDECIDED = "undecided"
    """Unknown, because the gateway does not show it or HBase refuses to read the catalog."""

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
        fix: What to do; empty if `alter_tables` removes the difference.
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
        """Whether `alter_tables` removes the difference."""
        return self.change is not None

    def __str__(self) -> str:
        """Return the difference as one line."""
        if self.drift is Drift.MISSING and not self.actual:
            return f"{self.table}: {self.subject} is missing"
        actual, declared = self.actual or "none", self.declared or "none"
        return f"{self.table}: {self.subject}: actual {actual}, declared {declared}"


@dataclass(frozen=True, slots=True)
class TableCheck:
    """The comparison of one table with all given models that declare it.

    Attributes:
        table: The name of the table. With a table for each period, the differences of their record
            are in a check of their own, whose `table` is the pattern of names.
        models: The names of the models.
        differences: The differences, including those of index tables.
    """

    table: str
    models: tuple[str, ...]
    differences: tuple[TableDifference, ...] = ()

    @property
    def has_drift(self) -> bool:
        """Whether the table and the models have drifted apart; notes and undecided do not count."""
        return any(each.drift.is_drift for each in self.differences)
