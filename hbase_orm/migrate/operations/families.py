"""Operations on column families and on the options of tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import partial
from typing import Any, Final

from hbase_orm.binding.table_creation.existing_tables import described
from hbase_orm.errors import RejectedError
from hbase_orm.gateway.base import Feature
from hbase_orm.index.entries.targets import GUARD_FAMILY
from hbase_orm.migrate.operations import record_edits as edits
from hbase_orm.migrate.operations.live_options import apply, keep_guards, option_changes
from hbase_orm.migrate.operations.migrated_table import THRIFT2, MigratedTable
from hbase_orm.migrate.operations.operation import (
    CheckedOperation,
    Checkpoint,
    Estimate,
    Irreversible,
    Migration,
    Operation,
    begin,
)
from hbase_orm.migrate.operations.refusals import mismatch, unsupported
from hbase_orm.migrate.operations.source_text import call
from hbase_orm.ops import (
    DeleteFamily,
    FamilyDescriptor,
    Protocol,
    RenewTimeLimit,
    TableDescriptor,
    ask,
    merged_settings,
)
from hbase_orm.record.declaration import Declaration
from hbase_orm.table_admin.changes import TableChange
from hbase_orm.table_admin.losses import DURABILITIES, family_loss, table_loss

_FAMILY_OPTIONS: Final = frozenset(each.name for each in fields(FamilyDescriptor)) - {"name"}
_TABLE_OPTIONS: Final = frozenset({"attributes", "durability", "region_replication"})


def _needs_schema(table: MigratedTable, operation: str) -> None:
    if Feature.SCHEMA not in table.features:
        raise unsupported(
            "only Thrift2 gateways alter tables", THRIFT2, table=table.name, operation=operation
        )


def _existing(table: MigratedTable) -> list[TableDescriptor]:
    """Return the descriptors of the existing tables."""
    descriptors = []
    for name in table.existing(table.recorded()):
        descriptor = table.run(described(name))
        if descriptor is not None:
            descriptors.append(descriptor)
    return descriptors


def _checked(options: Mapping[str, Any], known: frozenset[str], table: str) -> None:
    unknown = sorted(options.keys() - known)
    if unknown:
        raise unsupported(
            "the options are unknown",
            f"use {', '.join(sorted(known))}",
            table=table,
            unknown=unknown,
        )


@dataclass(frozen=True, init=False)
class AddFamily(CheckedOperation):
    """Add a column family to a table in use, and to its record.

    Attributes:
        table: The table.
        family: The name of the family.
        options: Its options, named as in `hbase_orm.ops.FamilyDescriptor`: ttl_s, versions, ...
    """

    table: str
    family: str
    options: Mapping[str, Any]

    def __init__(self, table: str, family: str, /, **options: Any) -> None:
        """Keep the table, the name of the family and its options."""
        _checked(options, _FAMILY_OPTIONS, table)
        object.__setattr__(self, "table", table)
        object.__setattr__(self, "family", family)
        object.__setattr__(self, "options", options)

    @property
    def _descriptor(self) -> FamilyDescriptor:
        return FamilyDescriptor(self.family.encode(), **self.options)

    def describe(self) -> str:
        """Return the operation as one line."""
        return f"add family {self.family} to {self.table}"

    def reverse(self) -> Operation | Irreversible:
        """Return the deletion of the family."""
        return DropFamily(self.table, self.family)

    def estimate(self, migration: Migration) -> Estimate:
        """Return the estimate: HBase opens the regions again."""
        return Estimate((MigratedTable(migration, self.table).name,), None, 5, None)

    def run(self, migration: Migration, checkpoint: Checkpoint) -> None:
        """Add the family to the tables that lack it, then to the record.

        Raises:
            RecordMismatchError: The record has the family with other options.
            UnsupportedOperationError: There is no Thrift2 gateway.
        """
        table = MigratedTable(migration, self.table)
        _needs_schema(table, self.describe())
        family = self._descriptor
        known = table.recorded().families.get(family.name)
        if known is not None and known != family:
            raise mismatch(table.name, f"family {self.family}", known, family)
        live = _existing(table)
        for each in live:
            existing = next((f for f in each.families if f.name == family.name), None)
            if existing is not None and existing != family:
                raise mismatch(each.name, f"family {self.family} of the table", existing, family)
        if migration.options.dry_run:
            return
        was_there = known is not None or any(family in each.families for each in live)
        begin(checkpoint, was_there=was_there)
        missing = [d.name for d in live if family.name not in {f.name for f in d.families}]
        apply(table, [TableChange(n, "family", family.name, declared=family) for n in missing])
        table.change(partial(with_family, family=family))
        keep_guards(table)

    def source(self) -> str:
        """Return the Python source."""
        return call("AddFamily", self.table, self.family, **self.options)


def with_family(declaration: Declaration, family: FamilyDescriptor) -> Declaration:
    """Return a declaration with a family."""
    return replace(declaration, families={**declaration.families, family.name: family})


@dataclass(frozen=True)
class DropFamily(CheckedOperation):
    """Delete a column family with all its cells, after its columns were dropped from the record.

    Attributes:
        table: The table.
        family: The name of the family.
    """

    table: str
    family: str
    _: KW_ONLY
    comment: str = ""

    def describe(self) -> str:
        """Return the operation as one line."""
        return f"drop family {self.family} of {self.table} with its cells"

    def reverse(self) -> Operation | Irreversible:
        """Return why there is no way back."""
        return Irreversible("the cells of the family are deleted")

    def estimate(self, migration: Migration) -> Estimate:
        """Return the estimate: HBase deletes the family's files."""
        name = MigratedTable(migration, self.table).name
        lost = f"all cells in family {self.family} of {self.table} are deleted"
        return Estimate((name,), None, 5, None, lost)

    def run(self, migration: Migration, checkpoint: Checkpoint) -> None:
        """Remove the family from the record, then from the tables.

        Raises:
            RecordMismatchError: The record has columns in the family.
            UnsupportedOperationError: There is no Thrift2 gateway.
        """
        table = MigratedTable(migration, self.table)
        _needs_schema(table, self.describe())
        name = self.family.encode()
        left = [
            column.decode("utf-8", "backslashreplace")
            for rows in table.recorded().rows
            for column in rows.columns
            if column.partition(b":")[0] == name
        ]
        if left or name == GUARD_FAMILY:
            raise mismatch(table.name, f"columns of family {self.family}", left, "no columns")
        if migration.options.dry_run:
            return
        begin(checkpoint)
        table.change(partial(edits.without_family, family=name))
        for each in _existing(table):
            if name in {family.name for family in each.families}:
                table.run(_deleted(each.name, name))

    def source(self) -> str:
        """Return the Python source."""
        return call("DropFamily", self.table, self.family, comment=self.comment)


def _deleted(table: str, family: bytes) -> Protocol[None]:
    yield from ask(RenewTimeLimit())
    try:
        yield from ask(DeleteFamily(table, family))
    except RejectedError:  # another program, or a request whose answer was lost, deleted it
        there = yield from described(table)
        if there is not None and family in {each.name for each in there.families}:
            raise


@dataclass(frozen=True)
class AlterFamily(CheckedOperation):
    """Change options of a column family while programs use it, and in the record.

    Guards and index entries get a TTL that outlives the rows.

    Attributes:
        table: The table.
        family: The name of the family.
        new: The new values, named as in `hbase_orm.ops.FamilyDescriptor`. `configuration` and
            `attributes` have only the settings to change; None removes a setting.
        old: The values until now; without them there is no way back.
    """

    table: str
    family: str
    _: KW_ONLY
    new: Mapping[str, Any]
    old: Mapping[str, Any] = field(default_factory=dict[str, Any])
    comment: str = ""

    def __post_init__(self) -> None:
        """Check the names of the options."""
        _checked({**self.new, **self.old}, _FAMILY_OPTIONS, self.table)

    def describe(self) -> str:
        """Return the operation as one line."""
        changes = ", ".join(f"{name}={value!r}" for name, value in self.new.items())
        return f"alter family {self.family} of {self.table}: {changes}"

    def reverse(self) -> Operation | Irreversible:
        """Return the change back, if the revision has the old values."""
        if self.new.keys() - self.old.keys():
            return Irreversible("the revision does not have the old values of the options")
        return AlterFamily(self.table, self.family, new=self.old, old=self.new)

    @property
    def _lost(self) -> str:
        before = FamilyDescriptor(self.family.encode()).with_options(self.old)
        after = before.with_options(self.new)
        losses = filter(None, (family_loss(option, before, after) for option in self.new))
        return "; ".join(f"family {self.family}: {loss}" for loss in losses)

    def estimate(self, migration: Migration) -> Estimate:
        """Return the estimate: HBase opens the regions again."""
        return Estimate((MigratedTable(migration, self.table).name,), None, 5, None, self._lost)

    def run(self, migration: Migration, checkpoint: Checkpoint) -> None:
        """Change the options of the tables, then in the record.

        Raises:
            RecordMismatchError: The record does not have the family.
            UnsupportedOperationError: There is no Thrift2 gateway.
        """
        table = MigratedTable(migration, self.table)
        _needs_schema(table, self.describe())
        name = self.family.encode()
        recorded = table.recorded()
        if name not in recorded.families:
            raise mismatch(table.name, f"family {self.family}", "nothing", "a family")
        if migration.options.dry_run:
            return
        begin(checkpoint)
        edit = partial(with_options, family=name, options=self.new)
        keep_guards(table, edit(recorded), is_longer=True)
        for each in _existing(table):
            there = next((f for f in each.families if f.name == name), None)
            if there is not None and there.with_options(self.new) != there:
                apply(table, option_changes(each.name, name, self.new))
        table.change(edit)
        keep_guards(table)

    def source(self) -> str:
        """Return the Python source."""
        old: dict[str, Any] = {"old": self.old} if self.old else {}
        return call(
            "AlterFamily", self.table, self.family, comment=self.comment, new=self.new, **old
        )


def with_options(
    declaration: Declaration, family: bytes, options: Mapping[str, Any]
) -> Declaration:
    """Return a declaration in which a family has other options."""
    changed = declaration.families[family].with_options(options)
    return with_family(declaration, changed)


def with_table_options(declaration: Declaration, options: Mapping[str, Any]) -> Declaration:
    """Return a declaration with other options of the table, if it has any."""
    known = declaration.options
    if known is None:
        return declaration
    changed: dict[str, Any] = {
        name: merged_settings(known.attributes, value) if name == "attributes" else value
        for name, value in options.items()
    }
    return replace(declaration, options=replace(known, **changed))


@dataclass(frozen=True)
class AlterTable(CheckedOperation):
    """Change options of a table while programs use it.

    Attributes:
        table: The table.
        new: The new values, of `attributes`, `durability` and `region_replication`. `attributes`
            has only those to change; None removes one.
        old: The values until now; without them there is no way back.
    """

    table: str
    _: KW_ONLY
    new: Mapping[str, Any]
    old: Mapping[str, Any] = field(default_factory=dict[str, Any])
    comment: str = ""

    def __post_init__(self) -> None:
        """Check the names of the options, and the durabilities."""
        _checked({**self.new, **self.old}, _TABLE_OPTIONS, self.table)
        for options in (self.new, self.old):
            durability = options.get("durability", "USE_DEFAULT")
            if durability not in DURABILITIES:
                raise unsupported(
                    "the durability is unknown",
                    f"use {', '.join(DURABILITIES)}",
                    table=self.table,
                    durability=durability,
                )

    def describe(self) -> str:
        """Return the operation as one line."""
        changes = ", ".join(f"{name}={value!r}" for name, value in self.new.items())
        return f"alter table {self.table}: {changes}"

    def reverse(self) -> Operation | Irreversible:
        """Return the change back, if the revision has the old values."""
        if self.new.keys() - self.old.keys():
            return Irreversible("the revision does not have the old values of the options")
        return AlterTable(self.table, new=self.old, old=self.new)

    def estimate(self, migration: Migration) -> Estimate:
        """Return the estimate: HBase opens the regions again."""
        losses = (table_loss(name, self.old.get(name), value) for name, value in self.new.items())
        lost = "; ".join(filter(None, losses))
        return Estimate((MigratedTable(migration, self.table).name,), None, 3, None, lost)

    def run(self, migration: Migration, checkpoint: Checkpoint) -> None:
        """Change the options of the tables, and note them in the record.

        Raises:
            UnsupportedOperationError: There is no Thrift2 gateway.
        """
        table = MigratedTable(migration, self.table)
        _needs_schema(table, self.describe())
        live = _existing(table)
        if migration.options.dry_run:
            return
        begin(checkpoint)
        for each in live:
            if each.with_options(self.new) != each:
                apply(table, option_changes(each.name, b"", self.new))
        table.change(partial(with_table_options, options=self.new))

    def source(self) -> str:
        """Return the Python source."""
        old: dict[str, Any] = {"old": self.old} if self.old else {}
        return call("AlterTable", self.table, comment=self.comment, new=self.new, **old)
