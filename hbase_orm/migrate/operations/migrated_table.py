"""How operations reach a table: its names in this engine, its record, and its exclusive use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TypeVar

from hbase_orm.binding.dictionaries import in_namespace
from hbase_orm.binding.runtime import Runtime
from hbase_orm.binding.table_creation.existing_tables import described
from hbase_orm.binding.table_holds.exclusive_tables import ExclusiveUse
from hbase_orm.errors import RecordError, TableHeldError
from hbase_orm.gateway.base import Feature
from hbase_orm.index.catalog.catalog import read_entry
from hbase_orm.index.catalog.registration import require_record
from hbase_orm.migrate.operations.operation import Migration
from hbase_orm.migrate.operations.refusals import (
    RecordMismatchError,
    mismatch,
    needs_exclusive,
    unsupported,
)
from hbase_orm.ops import ListTables, Protocol, Sleep, ask
from hbase_orm.record.declaration import Declaration, TableRecord
from hbase_orm.record.store import change_record, read_record
from hbase_orm.rowkey.periods import UNITS

R = TypeVar("R")

THRIFT2 = "add thrift2=host:9091 to the URL"


@dataclass(frozen=True, slots=True)
class MigratedTable:
    """A table, or all tables of a pattern, in the engine of a migration.

    Attributes:
        migration: What the operation got.
        declared: The name of the table as the revision has it.
    """

    migration: Migration
    declared: str

    @property
    def name(self) -> str:
        """The name of the table, or the pattern of names, with the engine's namespace."""
        return in_namespace(self.declared, self.migration.engine.options.namespace)

    @property
    def runtime(self) -> Runtime:
        """The runtime of the engine."""
        return self.migration.engine._runtime  # noqa: SLF001 - operations are verbs of the engine

    @property
    def features(self) -> frozenset[Feature]:
        """The features of the gateway."""
        return self.runtime.features

    def run(self, protocol: Protocol[R]) -> R:
        """Run a protocol on the tables as they are, also while their rows are being moved."""
        return self.runtime.run_as_is(protocol)

    @property
    def before(self) -> Declaration:
        """The declaration before the revision.

        Raises:
            RecordMismatchError: The revision has none.
        """
        return self._noted(self.migration.before.get(self.declared), "before")

    @property
    def after(self) -> Declaration:
        """The declaration after the revision.

        Raises:
            RecordMismatchError: The revision has none.
        """
        return self._noted(self.migration.after.get(self.declared), "after")

    def _noted(self, declaration: Declaration | None, side: str) -> Declaration:
        if declaration is None:
            raise RecordMismatchError(
                "the revision does not say what the table is",
                table=self.declared,
                side=side,
                fix="make the revision again with --autogenerate, or correct its JSON file",
            )
        return declaration

    # --- the record -------------------------------------------------------------------------------

    def recorded(self) -> Declaration:
        """Return what the record says now.

        Raises:
            RecordMismatchError: The table has no record.
            RecordError: The record is damaged, or a newer version of the library wrote it.
        """
        return self._record().current

    def recorded_or_none(self) -> Declaration | None:
        """Return what the record says now; None if there is none."""
        record = self.run(read_record(self.name))
        return None if record is None else record.current

    def record_id(self) -> str:
        """Return the id of the record.

        Raises:
            RecordMismatchError: The table has no record.
        """
        return self._record().table_id

    def _record(self) -> TableRecord:
        record = self.run(read_record(self.name))
        if record is None:
            raise RecordMismatchError(
                "the table has no record, so nobody knows what its rows are",
                table=self.name,
                fix="create the table with a revision, or write its record: 'hbase-orm tables "
                "adopt'",
            )
        return record

    def change(self, edit: Callable[[Declaration], Declaration]) -> Declaration:
        """Change the record by a function that may be applied twice; return the declaration.

        Raises:
            ConflictError: Other programs changed the record at every attempt.
        """

        def edit_record(record: TableRecord | None) -> TableRecord:
            if record is None:
                raise mismatch(self.name, "record", "nothing", "a record")
            return replace(record, current=edit(record.current))

        record = self.run(self._changed(edit_record))
        self.runtime.catalog.forget(self.name)
        return record.current

    def _changed(self, edit: Callable[[TableRecord | None], TableRecord]) -> Protocol[TableRecord]:
        record = yield from change_record(self.name, edit)
        yield from require_record(self.name)
        return record

    # --- tables and their users -------------------------------------------------------------------

    def existing(self, declaration: Declaration) -> list[str]:
        """Return the name of the table; for a table for each period those that exist."""
        if not declaration.period:
            return [self.name]
        unit = UNITS.get(declaration.period)
        if unit is None:
            raise RecordError(
                "the record has a period that this version does not know",
                table=self.name,
                period=declaration.period,
                fix="upgrade hbase_orm",
            )
        names = self.run(ask(ListTables()))
        return [name for name in names if unit.start_of(self.name, name) is not None]

    def is_there(self) -> bool:
        """Return whether the table exists, or the table of any period."""
        if self.has_periods:
            return bool(self.noted_names())
        return self.run(described(self.name)) is not None

    def noted_names(self) -> list[str]:
        """Return what `existing` does, by the declarations of the revision instead of a record.

        A pattern of names is no name that HBase accepts in a request.
        """
        noted = self._noted_anywhere
        return [self.name] if noted is None else self.existing(noted)

    @property
    def has_periods(self) -> bool:
        """Whether there is a table for each period, by the declarations of the revision."""
        noted = self._noted_anywhere
        return noted is not None and bool(noted.period)

    @property
    def _noted_anywhere(self) -> Declaration | None:
        after = self.migration.after.get(self.declared)
        return after or self.migration.before.get(self.declared)

    @property
    def lease_s(self) -> float:
        """How long other programs may use an old catalog entry; 0 in memory."""
        is_memory = self.migration.engine.options.scheme == "memory"
        return 0.0 if is_memory else self.runtime.lease_s

    def wait_for_readers(self) -> None:
        """Wait until every program has read the record again."""
        if self.lease_s:
            self.run(ask(Sleep(self.lease_s)))

    def needs_thrift2(self, reason: str) -> None:
        """Raise an error if the engine has no Thrift2 gateway.

        Raises:
            UnsupportedOperationError: It has none.
        """
        if Feature.CHECK_AND_MUTATE not in self.features:
            raise unsupported(reason, THRIFT2, table=self.name)

    def require_exclusive(self, operation: str, reason: str) -> None:
        """Raise an error unless the caller promises that no other program writes the table.

        Raises:
            NeedsExclusiveUseError: The options do not say so.
        """
        if not self.migration.options.exclusive:
            raise needs_exclusive(operation, self.name, reason)

    @contextmanager
    def exclusively(self, purpose: str) -> Iterator[None]:
        """Use the table exclusively in a with block: other programs' writes are refused.

        Raises:
            TableHeldError: Another running program uses the table exclusively.
            ConflictError: The table is being loaded.
        """
        use: ExclusiveUse = self.runtime.exclusive_tables.use(
            self.name, purpose, wait_s=self.lease_s
        )
        with use:
            yield

    def end_interrupted_use(self, purpose: str) -> None:
        """Release the table if a program that was killed has left it in exclusive use.

        It is watched for a lease first. If its program still runs, nothing is changed, and no error
        is raised: a step that needs the table raises it.
        """
        entry = self.run(read_entry(self.name))
        if entry is not None and entry.hold is not None:
            with suppress(TableHeldError), self.exclusively(purpose):
                pass

    def refuse_held(self, tables: Sequence[str]) -> Protocol[None]:
        """Raise an error if another program uses one of the tables exclusively."""
        for table in dict.fromkeys((self.name, *tables)):
            yield from self.runtime.catalog.refuse_held(table)
