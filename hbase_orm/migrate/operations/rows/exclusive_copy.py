"""Copies the rows of a table to a new one while nobody else writes either of them.

1. The new table is created, and closed: its record contradicts every class.
2. Both tables are taken for exclusive use, and the old table is closed, too. The exclusive use ends
   with the program; the old table stays closed, so what is saved of the copy stays true.
3. All rows are copied, with the timestamps of their cells. The writes may be repeated. A digest of
   the copies is computed on the way, and saved with the position.
4. The new table is read for its digest. If it is another one, each row is compared with its copy,
   and the new table is read again.
5. The old table is closed for good, then the new one is opened, and its indexes are built.

The old table keeps its rows until it is dropped. A run after a crash continues with its phase. If
rows are refused, the old table is opened, so that programs can change them, and the next run copies
all rows again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from hbase_orm.binding.table_creation.existing_tables import described
from hbase_orm.binding.table_creation.table_records import new_table_id
from hbase_orm.index.catalog import index_steps
from hbase_orm.index.catalog.catalog import catalog_descriptor
from hbase_orm.index.entries.targets import GUARD_FAMILY
from hbase_orm.migrate.operations.migrated_table import MigratedTable
from hbase_orm.migrate.operations.operation import Checkpoint
from hbase_orm.migrate.operations.rebuilt import models_of
from hbase_orm.migrate.operations.refusals import RefusedRowsError, mismatch, unsupported
from hbase_orm.migrate.operations.rows.copied_rows import CopiedRows
from hbase_orm.migrate.operations.rows.kept_cells import KeptCells, kept_cells
from hbase_orm.migrate.operations.rows.new_tables import refuse_existing_tables, was_source
from hbase_orm.migrate.operations.rows.pipelined_walk import PipelinedWalk
from hbase_orm.migrate.operations.rows.row_copies import RowsDigest
from hbase_orm.migrate.operations.rows.row_mapping import RowMapping
from hbase_orm.migrate.operations.rows.row_walk import RowWalk, WalkPosition
from hbase_orm.migrate.operations.rows.steps import NoCheckpoint, PhaseCheckpoint, phase_of
from hbase_orm.migrate.operations.tables import DropTable
from hbase_orm.model import Model
from hbase_orm.numbering.create_tables import create_if_missing
from hbase_orm.ops import CreateTable, FamilyDescriptor, Protocol
from hbase_orm.record.closed_tables import (
    being_moved_to,
    closed,
    closed_why,
    filled_from,
    moved_to,
    reopened,
)
from hbase_orm.record.declaration import Declaration, TableRecord
from hbase_orm.record.store import change_record

_CREATE: Final = "create"
_COPY: Final = "copy"
_CHECK: Final = "check"
_COMPARE: Final = "compare"
_OPEN: Final = "open"
_ROWS: Final = "rows of the old table"
_EXPECTED: Final = "digest of the copies"
_HORIZON: Final = "compared cells last until"
_MERGED: Final = (
    "the new table does not have as many rows as the old one: rows get the same row key"
)
_OTHER_ROWS: Final = "the new table has rows that are no copies of rows of the old one"
_PAGES: Final = {"most_rows": 4000, "least_page_rows": 1000}
"""Few large pages: decoding rows is most of the work, and many threads would only delay it."""
_IS_COMPARED: Final = "each row is compared"


@dataclass
class ExclusiveCopy:
    """The copy of all rows of one table to another.

    Attributes:
        source: The table until now.
        target: The new table.
    """

    source: MigratedTable
    target: MigratedTable
    _mappings: list[RowMapping] = field(default_factory=list[RowMapping])
    _table_id: str = ""
    _begun_ms: int = 0
    _old_families: dict[str, list[FamilyDescriptor]] = field(
        default_factory=dict[str, list[FamilyDescriptor]]
    )

    def run(self, checkpoint: Checkpoint) -> None:
        """Copy the rows; continue where an earlier run stopped.

        Raises:
            TargetExistsError: The new table existed before the copy was begun.
            RefusedRowsError: Rows do not decode, do not fit, or get the same row key.
            UnsupportedOperationError: The rows cannot be copied.
        """
        self.source.needs_thrift2("rows are copied with the timestamps of their cells")
        begun, kept = phase_of(checkpoint)
        recorded = self._recorded()
        old = models_of(self.source, recorded)
        new = models_of(self.target, self.target.after)
        self._mappings = self._mapped(old, new)
        if not begun:
            refuse_existing_tables(self.source, self.target)
        if self.source.migration.options.dry_run:
            return
        if begun in {"", _CREATE}:
            PhaseCheckpoint(checkpoint, _CREATE, kept).save({})
            self._create(list(new.values()))
        with ExitStack() as uses:
            for table in (self.source, self.target):
                uses.enter_context(table.exclusively(f"move of the rows of {self.source.name}"))
            self._close_old(checkpoint)
            tables = self.source.existing(recorded)
            self._table_id = self.target.record_id()
            self._begun_ms = self._now_ms
            rows = self._copy(checkpoint, tables)
            PhaseCheckpoint(checkpoint, _OPEN, {_ROWS: str(rows)}).save({})
            self._open()
            self._build_indexes(list(new.values()))

    # --- before -----------------------------------------------------------------------------------

    def _recorded(self) -> Declaration:
        """Return the declaration of the old rows, also if the old table is closed already."""
        recorded = self.source.recorded()
        why = closed_why(recorded)
        if why and why not in {self._being_moved, self._moved}:
            raise mismatch(self.source.name, "row key", why, "an open table")
        return reopened(recorded)

    @property
    def _being_moved(self) -> str:
        return being_moved_to(self.target.name)

    @property
    def _moved(self) -> str:
        return moved_to(self.target.name)

    def _mapped(self, old: dict[str, type[Model]], new: dict[str, type[Model]]) -> list[RowMapping]:
        engine = self.source.migration.engine
        mappings: list[RowMapping] = []
        for rows in self._recorded().rows:
            name = next((name for name in rows.models if name in new), None)
            if name is None:
                raise mismatch(self.target.name, f"models {list(rows.models)}", list(new), "one")
            source = engine._declared_of(old[name])  # noqa: SLF001 - a verb of the engine
            target = engine._declared_of(new[name])  # noqa: SLF001 - the same
            if rows.packed_bytes or target.schema.packed_bytes or target.schema.layout.is_random:
                raise unsupported(
                    "objects that are cells, and keys with a random salt, are not copied",
                    "copy the objects with a program: session.stream, and bulk",
                    table=self.source.name,
                    model=name,
                )
            mappings.append(RowMapping(source, target))
        return mappings

    def _create(self, models: Sequence[type[Model]]) -> None:
        if was_source(self.source, self.target):
            DropTable(self.target.declared).run(self.source.migration, NoCheckpoint())
        record = self.target.recorded_or_none()
        filled = filled_from(self.source.name)
        if record is not None and closed_why(record) == filled:
            return
        if not self.target.after.period:
            self.source.migration.engine.create_tables(*models)
            self.target.change(partial(closed, why=filled))
            return
        self.target.run(self._recorded_periods(closed(self.target.after, filled)))

    def _recorded_periods(self, declaration: Declaration) -> Protocol[None]:
        """Write the record of tables of periods, which are created when rows come."""

        def edit(record: TableRecord | None) -> TableRecord:
            return record or TableRecord(new_table_id(), declaration)

        yield from create_if_missing(CreateTable(catalog_descriptor()))
        yield from change_record(self.target.name, edit)

    def _close_old(self, checkpoint: Checkpoint) -> None:
        """Refuse the programs of the old class until the copy is finished, given up or refused.

        An exclusive use ends with its program, but not this. What an earlier run has saved counts
        only if the old table was closed ever since; otherwise all rows are copied again. Before the
        first row is read, no program has a cached record in which the table is open.
        """
        why = closed_why(self.source.recorded())
        if why == self._moved:
            return
        if why != self._being_moved:
            self._begin_again(checkpoint)
            self.source.change(partial(closed, why=self._being_moved))
        if phase_of(checkpoint)[0] == _CREATE:
            self.source.wait_for_readers()

    # --- rows -------------------------------------------------------------------------------------

    def _copy(self, checkpoint: Checkpoint, tables: Sequence[str]) -> int:
        """Copy the rows, and compare the tables; return the number of rows."""
        begun, saved = phase_of(checkpoint)
        if begun in {_CREATE, _COPY}:
            saved = self._copied(checkpoint, tables, saved)
            begun = _CHECK
        while begun != _OPEN:
            if begun == _COMPARE:
                saved = self._compared(checkpoint, tables, saved)
            begun = self._checked(checkpoint, tables, saved)
        return int(saved[_ROWS])

    def _copied(
        self, checkpoint: Checkpoint, tables: Sequence[str], saved: Mapping[str, str]
    ) -> dict[str, str]:
        kept = self._kept(tables)
        horizon = saved.get(_HORIZON) or str(kept.horizon_ms(self._now_ms))
        copied = PhaseCheckpoint(checkpoint, _COPY, {_HORIZON: horizon})
        rows = self._rows(tables, kept, horizon)
        walk = PipelinedWalk(self.source, "copy rows", rows.copied_page, copied, **_PAGES)
        position = walk.run(tables)
        self._refuse_failed(checkpoint, position)
        expected = position.digest.encode()
        return {_ROWS: str(position.rows), _HORIZON: horizon, _EXPECTED: expected}

    def _checked(
        self, checkpoint: Checkpoint, tables: Sequence[str], saved: Mapping[str, str]
    ) -> str:
        """Compare the digests of both tables; return the next phase.

        If they differ, each row is compared next, so that the error names those that differ; also
        if cells may have expired that were to be compared.
        """
        kept, horizon = self._kept(tables), saved[_HORIZON]
        work = self._rows(tables, kept, horizon).stored_page
        checked = PhaseCheckpoint(checkpoint, _CHECK, saved)
        known = int(saved[_ROWS])
        walk = PipelinedWalk(
            self.source, "check rows", work, checked, expected_rows=known, **_PAGES
        )
        stored = walk.run(self.target.existing(self.target.after)).digest
        expected = RowsDigest.decode(saved[_EXPECTED])
        if kept.has_passed(int(horizon), self._now_ms):
            return _COMPARE
        if stored == expected:
            return _OPEN
        if _IS_COMPARED in saved:
            self._refuse_differing(checkpoint, expected, stored)
        return _COMPARE

    def _compared(
        self, checkpoint: Checkpoint, tables: Sequence[str], saved: Mapping[str, str]
    ) -> dict[str, str]:
        """Compare each row with its copy, to name those that differ."""
        kept = self._kept(tables)
        if phase_of(checkpoint)[0] != _COMPARE:
            taken_ms = self._now_ms - self._begun_ms
            horizon_ms = kept.horizon_ms(self._now_ms, taken_ms)
            saved = {_ROWS: saved[_ROWS], _HORIZON: str(horizon_ms)}
        work = self._rows(tables, kept, saved[_HORIZON]).compared_page
        compared = PhaseCheckpoint(checkpoint, _COMPARE, saved)
        position = RowWalk(self.source, "compare rows", work, compared).run(tables)
        self._refuse_failed(checkpoint, position)
        return {**saved, _EXPECTED: position.digest.encode(), _IS_COMPARED: "yes"}

    def _rows(self, tables: Sequence[str], kept: KeptCells, horizon: str) -> CopiedRows:
        families = self._families(tables)
        with_versions = frozenset(
            name for name, each in families.items() if any(family.versions > 1 for family in each)
        )
        context = self.source.runtime.guard_context
        return CopiedRows(
            self._mappings, kept, with_versions, int(horizon), self._table_id, context
        )

    def _kept(self, tables: Sequence[str]) -> KeptCells:
        old = [family for each in self._families(tables).values() for family in each]
        return kept_cells(
            [(each.source.schema, each.target.schema) for each in self._mappings], old
        )

    def _families(self, tables: Sequence[str]) -> dict[str, list[FamilyDescriptor]]:
        """Return the data families of the old tables as they are."""
        for name in tables:
            if name not in self._old_families:
                descriptor = self.source.run(described(name))
                families = () if descriptor is None else descriptor.families
                self._old_families[name] = [e for e in families if e.name != GUARD_FAMILY]
        return self._old_families

    @property
    def _now_ms(self) -> int:
        return self.source.runtime.guard_context.now_ms()

    def _refuse_failed(self, checkpoint: Checkpoint, position: WalkPosition) -> None:
        if position.failed:
            named = [f"{each.table} {each.row!r}: {each.reason}" for each in position.failures[:10]]
            self._open_old(checkpoint)
            raise RefusedRowsError(
                "rows of the old table do not decode, do not fit the new one, or differ from "
                "their copies",
                table=self.source.name,
                rows=position.failed,
                first=named,
                fix="change or delete these rows; then drop the new table, and run it again",
            )

    def _refuse_differing(
        self, checkpoint: Checkpoint, rows: RowsDigest, copies: RowsDigest
    ) -> None:
        """Raise an error for tables of different digests, though each row has its copy."""
        self._open_old(checkpoint)
        what, fix = _OTHER_ROWS, "drop the new table, and run it again, while nobody writes it"
        if copies.rows < rows.rows:
            what = _MERGED
            fix = "give the new row key more fields; drop the new table, and run it again"
        raise RefusedRowsError(
            what, table=self.source.name, rows=rows.rows, copies=copies.rows, fix=fix
        )

    def _open_old(self, checkpoint: Checkpoint) -> None:
        """Let programs change rows of the old table; the next run copies all rows again."""
        self._begin_again(checkpoint)
        self.source.change(reopened)

    def _begin_again(self, checkpoint: Checkpoint) -> None:
        """Make the next run copy all rows again."""
        PhaseCheckpoint(checkpoint, _CREATE, {}).save({})

    # --- after ------------------------------------------------------------------------------------

    def _open(self) -> None:
        """Close the old table for good, then open the new one."""
        self.source.change(partial(closed, why=self._moved))
        for name in self.target.existing(self.target.after):
            for index in self.target.after.indexes:
                self.target.run(index_steps.stop_reading(name, index, is_lww=None))
        self.target.change(reopened)

    def _build_indexes(self, models: Sequence[type[Model]]) -> None:
        engine, options = self.source.migration.engine, self.source.migration.options
        for index in self.target.after.indexes:
            model = next(m for m in models if index in {i.name for i in m.__schema__.indexes})
            engine.build_index(
                model,
                index,
                rebuild=True,
                exclusive=True,
                rows_per_second=options.rows_per_second,
                gateway_timeout_s=options.gateway_timeout_s,
            )
