"""Changes of existing tables as values: what `alter_tables` does, and what data it may lose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from hbase_orm.ops import FamilyDescriptor

ChangeKind = Literal["family", "family option", "table option", "record"]

_SECONDS_PER_DAY: Final = 86_400


@dataclass(frozen=True, slots=True)
class TableChange:
    """One change of a table, or of its record in the catalog.

    Attributes:
        table: The name of the table. For a record it is the declared name, which is the pattern of
            names with a table for each period.
        kind: "family" adds a family, "family option" and "table option" change an option, and
            "record" updates the record in the catalog with what the models declare.
        family: The name of the family; empty for an option of the table, and for the record.
        option: The name of the option in `FamilyDescriptor` or `TableDescriptor`.
        setting: The name of the setting, if the option holds settings by name; else empty.
        actual: The present value of the option; None if there is none.
        declared: The new value of the option; None removes a setting. For a new family, its
            descriptor.
        loss: Which data HBase deletes or may lose after the change; empty if none.
        is_own: Whether the family holds guards or index entries.
    """

    table: str
    kind: ChangeKind
    family: bytes = b""
    option: str = ""
    setting: str = ""
    actual: Any = None
    declared: Any = None
    loss: str = ""
    is_own: bool = False

    @property
    def subject(self) -> str:
        """A text that names what is changed, such as "family d: ttl_s"."""
        return subject_of(self.kind, self.family, self.option, self.setting)

    def __str__(self) -> str:
        """Return the change as one line."""
        if self.kind == "record":
            return f"{self.table}: update the record in the catalog"
        if self.kind == "family":
            return f"{self.table}: add {self.subject}"
        actual, declared = (shown_value(self.option, v) for v in (self.actual, self.declared))
        return f"{self.table}: {self.subject} {actual} -> {declared}"


def subject_of(kind: ChangeKind, family: bytes = b"", option: str = "", setting: str = "") -> str:
    """Return a text that names what is changed, such as "family d: ttl_s"."""
    if kind == "record":
        return "record"
    name = f"{option} {setting}" if setting else option
    if kind == "table option":
        return f"table: {name}"
    shown = f"family {family.decode('utf-8', 'backslashreplace')}"
    return shown if kind == "family" else f"{shown}: {name}"


def shown_value(option: str, value: Any) -> str:
    """Return the value of an option as a text for users."""
    if option == "ttl_s":
        return "forever" if value is None else _shown_seconds(value)
    if isinstance(value, FamilyDescriptor):
        return "declared"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "none" if value is None else str(value)


def _shown_seconds(seconds: int) -> str:
    days, rest = divmod(seconds, _SECONDS_PER_DAY)
    if rest or not days:
        return f"{seconds} s"
    return f"{seconds} s ({days} {'day' if days == 1 else 'days'})"


def settings_changes(
    actual: Mapping[str, str], declared: Mapping[str, str], recorded: Mapping[str, str]
) -> dict[str, str | None]:
    """Return the changes of settings by name; None removes a setting.

    A setting that is neither declared nor recorded belongs to another program, and is not changed.

    Args:
        actual: The settings that HBase has.
        declared: The settings that the models declare.
        recorded: The settings that the models declared when the record was written.
    """
    changes: dict[str, str | None] = {
        name: value for name, value in declared.items() if actual.get(name) != value
    }
    dropped = (name for name in recorded if name not in declared and name in actual)
    return changes | dict.fromkeys(dropped)
