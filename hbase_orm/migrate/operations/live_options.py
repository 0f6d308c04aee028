"""Changes options of live tables, and keeps the TTLs of guards and index entries beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from hbase_orm.binding.table_creation.existing_tables import described
from hbase_orm.binding.table_creation.model_tables import index_tables
from hbase_orm.binding.table_creation.table_descriptors import lasting_ttl_s
from hbase_orm.index.catalog.catalog import read_entry
from hbase_orm.index.catalog.entry import VERSION_COLUMN
from hbase_orm.index.entries.targets import ENTRY_FAMILY, GUARD_FAMILY
from hbase_orm.migrate.operations.migrated_table import MigratedTable
from hbase_orm.ops import Protocol
from hbase_orm.record.declaration import Declaration
from hbase_orm.table_admin.alteration import AlterationProgress, alter
from hbase_orm.table_admin.changes import TableChange

_SETTINGS: Final = frozenset({"attributes", "configuration"})


def _silent(_: AlterationProgress) -> None:
    """Do nothing: the changes are few."""


def apply(table: MigratedTable, changes: Sequence[TableChange]) -> None:
    """Make changes of live tables, and wait until all regions use them."""
    table.run(alter((), changes, _silent))


def option_changes(table: str, family: bytes, options: Mapping[str, Any]) -> list[TableChange]:
    """Return the changes of options of a family, or of the table if `family` is empty."""
    kind: Any = "family option" if family else "table option"
    changes: list[TableChange] = []
    for option, value in options.items():
        if option in _SETTINGS:
            changes += [
                TableChange(table, kind, family, option, setting, declared=each)
                for setting, each in value.items()
            ]
        else:
            changes.append(TableChange(table, kind, family, option, declared=value))
    return changes


def keep_guards(
    table: MigratedTable, declaration: Declaration | None = None, *, is_longer: bool = False
) -> None:
    """Give guards and index entries a TTL that outlives the rows.

    Args:
        table: The table.
        declaration: The declaration whose families decide; None for the record's.
        is_longer: Whether only longer TTLs are set: before those of the data become longer.
    """
    declaration = declaration or table.recorded()
    if not declaration.is_guarded:
        return
    wanted_s = lasting_ttl_s(declaration.families.values())
    for name in table.existing(declaration):
        index_names = table.run(_index_tables(name))
        own = [(name, GUARD_FAMILY), *((each, ENTRY_FAMILY) for each in index_names)]
        for owner, family in own:
            there = table.run(described(owner))
            families = {} if there is None else {each.name: each for each in there.families}
            if family not in families or families[family].ttl_s == wanted_s:
                continue
            if is_longer and not _is_longer(wanted_s, families[family].ttl_s):
                continue
            apply(table, option_changes(owner, family, {"ttl_s": wanted_s}))


def _is_longer(ttl_s: int | None, than_s: int | None) -> bool:
    return than_s is not None and (ttl_s is None or ttl_s > than_s)


def _index_tables(table: str) -> Protocol[list[str]]:
    entry = yield from read_entry(table)
    names = [] if entry is None else [name for name in entry.indexes if name != VERSION_COLUMN]
    if not names:
        return []
    return (yield from index_tables([f"{table}_ix_{name}" for name in names]))
