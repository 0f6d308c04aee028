"""Plans of alterations: the changes that a table needs to be as its models declare, and the steps.

A plan is a list of changes. Each step makes some of them by one request, or updates a record.
Changes and steps are values; nothing is sent here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

from hbase_orm.errors import DataLossError, SchemaDriftError, TableNotFoundError
from hbase_orm.ops import AddFamily, ModifyFamily, ModifyTable, Operation
from hbase_orm.table_admin.changes import TableChange
from hbase_orm.table_admin.compare import ComparedTable
from hbase_orm.table_admin.table_check import Drift

_FOREVER: Final = float("inf")


class _Phase(IntEnum):
    """The order of changes.

    Guards and index entries must not expire before their rows. So a longer TTL is set on them
    before it is set on the data, and a shorter TTL after. The record describes what exists, so it
    is updated last.
    """

    FAMILIES = 0
    LONGER_ENTRIES = 1
    OPTIONS = 2
    SHORTER_ENTRIES = 3
    TABLES = 4
    RECORDS = 5


@dataclass(frozen=True, slots=True)
class AlterationStep:
    """A step of an alteration: one request, or the update of a record.

    Attributes:
        table: The name of the table.
        request: The request; None for the update of the record.
        changes: The changes that the step makes.
    """

    table: str
    request: Operation[None] | None
    changes: tuple[TableChange, ...]


def planned_changes(comparisons: Iterable[ComparedTable]) -> list[TableChange]:
    """Return the changes for the differences in `comparisons`, in the order in which they are made.

    Raises:
        RecordError: The record of a table is damaged, or a newer version of the library wrote it.
        SchemaDriftError: A model contradicts the rows of its table.
        TableNotFoundError: A table does not exist.
    """
    every = [*comparisons]
    for comparison in every:
        if comparison.record_error is not None:
            raise comparison.record_error
        _refuse_contradiction(comparison)
    for comparison in every:
        _refuse_missing_table(comparison)
    changes = [change for comparison in every for change in _changes_of(comparison)]
    return sorted(dict.fromkeys(changes), key=_phase)


def _changes_of(comparison: ComparedTable) -> Iterator[TableChange]:
    record, declared = comparison.record, comparison.declared
    changes = [each.change for each in comparison.differences if each.change is not None]
    yield from (change for change in changes if change.kind != "record")
    if record is None:
        return
    is_stale = any(record.current.families.get(f.name) != f for f in declared.families)
    if is_stale or any(change.kind == "record" for change in changes):
        yield TableChange(declared.table, "record")


def _phase(change: TableChange) -> _Phase:
    match change.kind:
        case "family":
            return _Phase.FAMILIES
        case "table option":
            return _Phase.TABLES
        case "record":
            return _Phase.RECORDS
        case "family option" if change.is_own:
            return _Phase.LONGER_ENTRIES if _is_longer(change) else _Phase.SHORTER_ENTRIES
    return _Phase.OPTIONS


def _is_longer(change: TableChange) -> bool:
    before, after = (
        _FOREVER if ttl_s is None else ttl_s for ttl_s in (change.actual, change.declared)
    )
    return bool(change.option != "ttl_s" or after > before)


def steps_of(changes: Iterable[TableChange]) -> list[AlterationStep]:
    """Return the steps that make changes; options of one family are changed by one request."""
    groups: dict[tuple[_Phase, str, bytes], list[TableChange]] = {}
    for change in changes:
        groups.setdefault((_phase(change), change.table, change.family), []).append(change)
    return [
        AlterationStep(table, _request(table, family, group), tuple(group))
        for (_, table, family), group in groups.items()
    ]


def _request(table: str, family: bytes, changes: list[TableChange]) -> Operation[None] | None:
    kind = changes[0].kind
    if kind == "record":
        return None
    if kind == "family":
        return AddFamily(table, changes[0].declared)
    options = _options(changes)
    return ModifyFamily(table, family, options) if family else ModifyTable(table, options)


def _options(changes: Iterable[TableChange]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for change in changes:
        if change.setting:
            options.setdefault(change.option, {})[change.setting] = change.declared
        else:
            options[change.option] = change.declared
    return options


# --- refusals -------------------------------------------------------------------------------------


def _refuse_contradiction(comparison: ComparedTable) -> None:
    lines = [str(each) for each in comparison.differences if each.drift is Drift.CONTRADICTION]
    if lines:
        raise SchemaDriftError(
            "the models contradict what the table holds: it was not altered",
            model=", ".join(comparison.declared.models),
            table=comparison.declared.table,
            differences=lines,
            fix="run 'hbase-orm tables check': it shows what to do about each difference",
        )


def _refuse_missing_table(comparison: ComparedTable) -> None:
    for each in comparison.differences:
        if each.subject == "table" and each.drift is Drift.MISSING:
            raise TableNotFoundError(
                "a table does not exist, so it cannot be altered",
                model=", ".join(comparison.declared.models),
                table=each.table,
                fix="call engine.create_tables, or run 'hbase-orm tables create'",
            )


def refuse_losses(changes: Iterable[TableChange]) -> None:
    """Raise an error if a change loses data.

    Raises:
        DataLossError: A change loses data.
    """
    losses = [f"{change}: {change.loss}" for change in changes if change.loss]
    if losses:
        raise DataLossError(
            "the alteration would lose data, so nothing was altered",
            changes=losses,
            fix="alter_tables(..., allow_data_loss=True), or declare the options as they are",
        )
