"""Compares the options of existing tables and families with those that models declare; no I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Final

from hbase_orm.ops import FamilyDescriptor, TableDescriptor
from hbase_orm.table_admin.changes import (
    TableChange,
    settings_changes,
    shown_value,
    subject_of,
)
from hbase_orm.table_admin.losses import family_loss, table_loss
from hbase_orm.table_admin.table_check import Drift, TableDifference

THRIFT1_OPTIONS: Final = frozenset(
    {"versions", "ttl_s", "compression", "bloom", "block_cache", "in_memory"}
)
"""The options of families that Thrift1 shows."""

ALL_OPTIONS: Final = frozenset(
    each.name for each in fields(FamilyDescriptor) if each.name != "name"
)
"""The options of families that Thrift2 shows."""

_SETTINGS: Final = frozenset({"configuration", "attributes"})


@dataclass(frozen=True, slots=True)
class TtlRange:
    """The range of right TTLs for guards and index entries; None means forever.

    Attributes:
        least_s: The shortest right TTL. With a shorter one, guards and entries would expire before
            the data of the models.
        most_s: The longest right TTL. With a longer one, entries would keep copies of data that has
            expired in all families of the table.
    """

    least_s: int | None
    most_s: int | None

    def nearest_s(self, ttl_s: int | None) -> int | None:
        """Return `ttl_s` if it is right, else the longest right TTL."""
        if _is_at_most(self.least_s, ttl_s) and _is_at_most(ttl_s, self.most_s):
            return ttl_s
        return self.most_s


def _is_at_most(one_s: int | None, other_s: int | None) -> bool:
    return other_s is None or (one_s is not None and one_s <= other_s)


def missing_family(table: str, family: FamilyDescriptor) -> TableDifference:
    """Return the difference that a table lacks a family that models declare."""
    change = TableChange(table, "family", family.name, declared=family)
    return TableDifference(table, change.subject, "", "declared", Drift.MISSING, change=change)


def family_differences(
    table: str,
    actual: FamilyDescriptor,
    declared: FamilyDescriptor,
    recorded: FamilyDescriptor | None,
    decidable: Collection[str] = ALL_OPTIONS,
) -> Iterator[TableDifference]:
    """Yield the differences between a family of a table and its declaration.

    Args:
        table: The name of the table.
        actual: The family as HBase has it.
        declared: The family as the models declare it.
        recorded: The family as the record has it; None if the record lacks it. A setting in HBase
            that is recorded but not declared any more is reported too.
        decidable: The names of the options to compare.
    """
    for option in (each.name for each in fields(FamilyDescriptor) if each.name in decidable):
        before, after = getattr(actual, option), getattr(declared, option)
        if option in _SETTINGS:
            known = {} if recorded is None else getattr(recorded, option)
            for name, value in settings_changes(before, after, known).items():
                yield _difference(
                    TableChange(
                        table, "family option", actual.name, option, name, before.get(name), value
                    )
                )
        elif before != after:
            loss = family_loss(option, actual, declared)
            yield _difference(
                TableChange(table, "family option", actual.name, option, "", before, after, loss)
            )


def own_family_differences(
    table: str, actual: FamilyDescriptor, ttl: TtlRange, decidable: Collection[str] = ALL_OPTIONS
) -> Iterator[TableDifference]:
    """Yield the differences of a family of guards or index entries.

    Only the TTL and `new_version_behavior` are compared. Other options, such as the compression,
    may be tuned.
    """
    wanted = {"ttl_s": ttl.nearest_s(actual.ttl_s), "new_version_behavior": False}
    for option, value in wanted.items():
        before = getattr(actual, option)
        if before != value and option in decidable:
            yield _difference(
                TableChange(
                    table,
                    "family option",
                    actual.name,
                    option,
                    actual=before,
                    declared=value,
                    is_own=True,
                )
            )


def table_differences(
    actual: TableDescriptor,
    declared: TableDescriptor,
    options: Collection[str] = ("durability", "region_replication"),
) -> Iterator[TableDifference]:
    """Yield the differences between a table's options and their declaration, without families.

    An attribute that is not declared belongs to another program, and is not compared.
    """
    for option in options:
        before, after = getattr(actual, option), getattr(declared, option)
        if before != after:
            yield _difference(
                TableChange(
                    actual.name,
                    "table option",
                    option=option,
                    actual=before,
                    declared=after,
                    loss=table_loss(option, before, after),
                )
            )
    for name, value in settings_changes(actual.attributes, declared.attributes, {}).items():
        yield _difference(
            TableChange(
                actual.name,
                "table option",
                option="attributes",
                setting=name,
                actual=actual.attributes.get(name),
                declared=value,
            )
        )


def _difference(change: TableChange) -> TableDifference:
    actual, declared = (
        "" if value is None and change.option != "ttl_s" else shown_value(change.option, value)
        for value in (change.actual, change.declared)
    )
    return TableDifference(
        change.table, change.subject, actual, declared, Drift.DIFFERENT, change=change
    )


def stale_record_families(
    table: str,
    recorded: Mapping[bytes, FamilyDescriptor],
    declared: Collection[FamilyDescriptor],
    reported: Collection[str],
) -> Iterator[TableDifference]:
    """Yield the differences between the families of a record and the declared families.

    Args:
        table: The declared name of the table; with a table for each period, the pattern of names.
        recorded: The families of the record by name.
        declared: The families as the models declare them.
        reported: The subjects of differences that were found in the table: they are not repeated.
    """
    change = TableChange(table, "record")
    for family in declared:
        known = recorded.get(family.name)
        if known is None:
            subject = subject_of("family", family.name)
            if subject not in reported:
                yield _of_record(table, subject, "", "declared", change)
            continue
        for option in (each.name for each in fields(family) if each.name in ALL_OPTIONS):
            before, after = getattr(known, option), getattr(family, option)
            subject = subject_of("family option", family.name, option)
            if before != after and not any(each.startswith(subject) for each in reported):
                yield _of_record(
                    table, subject, shown_value(option, before), shown_value(option, after), change
                )


def _of_record(
    table: str, subject: str, recorded: str, declared: str, change: TableChange
) -> TableDifference:
    return TableDifference(
        table, f"record: {subject}", recorded, declared, Drift.DIFFERENT, change=change
    )
