"""Copies the rows of a table to a new one while nobody else writes either of them.

1. The new table is created, and closed: its record contradicts every class.
2. Both tables are taken for exclusive use.
3. All rows are copied, with the timestamps of their cells. The writes may be repeated.
4. Every row is compared with its copy, and the copies are counted.
5. The old table is closed, then the new one is opened, and its indexes are built.

The old table keeps its rows until it is dropped. A run after a crash continues with its phase.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.table_creation.existing_tables import TableWarnings, described
from hbase_orm.binding.table_creation.model_tables import create
from hbase_orm.binding.table_creation.table_records import new_table_id
from hbase_orm.errors import ConfigurationError
from hbase_orm.index.catalog import index_steps
from hbase_orm.index.catalog.catalog import catalog_descriptor
from hbase_orm.index.entries.targets import GUARD_FAMILY
from hbase_orm.index.upkeep.table_pages import get_rows, scan_page
from hbase_orm.migrate.operations import record_edits as edits
from hbase_orm.migrate.operations.migrated_table import MigratedTable
from hbase_orm.migrate.operations.operation import Checkpoint
from hbase_orm.migrate.operations.rebuilt import models_of
from hbase_orm.migrate.operations.refusals import RefusedRowsError, mismatch, unsupported
from hbase_orm.migrate.operations.rows.row_edits import MISFITS, after_page
from hbase_orm.migrate.operations.rows.row_mapping import RowMapping
from hbase_orm.migrate.operations.rows.row_walk import (
    PageOutcome,
    PageWork,
    RowFailure,
    RowWalk,
    WalkPosition,
    failure_text,
)
from hbase_orm.migrate.operations.rows.steps import NoCheckpoint, PhaseCheckpoint, phase_of
from hbase_orm.migrate.operations.tables import DropTable, refuse_existing
from hbase_orm.model import Model
from hbase_orm.numbering.create_tables import create_if_missing
from hbase_orm.ops import (
    CreateTable,
    GetVersionsOfRows,
    KeyRange,
    MutateRows,
    Protocol,
    RetryPolicy,
    Row,
    RowMutation,
    StoredVersion,
    ask_with_retry,
    run_all,
)
from hbase_orm.record.declaration import Declaration, TableRecord
from hbase_orm.record.store import change_record

_CREATE: Final = "create"
_COPY: Final = "copy"
_VERIFY: Final = "verify"
_COUNT: Final = "count"
_OPEN: Final = "open"
_PHASES: Final = ("", _CREATE, _COPY, _VERIFY, _COUNT, _OPEN)
_ROWS: Final = "rows of the old table"
_VERSIONS: Final = 1000

BATCH_ROWS: Final = 500
"""The most rows of a put; those of a page are put in parallel."""

_StoredCells = dict[tuple[bytes, int], bytes]
"""Values by column and timestamp."""


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
    _created: set[str] = field(default_factory=set[str])
    _table_id: str = ""
    _versions: dict[str, bool] = field(default_factory=dict[str, bool])

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
            self._refuse_target()
        if self.source.migration.options.dry_run:
            return
        tables = self.source.existing(recorded)
        if begun in {"", _CREATE}:
            PhaseCheckpoint(checkpoint, _CREATE, kept).save({})
            self._create(list(new.values()))
        with ExitStack() as uses:
            for table in (self.source, self.target):
                uses.enter_context(table.exclusively(f"move of the rows of {self.source.name}"))
            self._table_id = self.target.record_id()
            rows = self._copy(checkpoint, tables, int(kept.get(_ROWS, "-1")))
            PhaseCheckpoint(checkpoint, _OPEN, {_ROWS: str(rows)}).save({})
            self._open()
            self._build_indexes(list(new.values()))

    # --- before -----------------------------------------------------------------------------------

    def _recorded(self) -> Declaration:
        """Return the declaration of the old rows, also if the old table is closed already."""
        recorded = self.source.recorded()
        why = edits.closed_why(recorded)
        if why and why != self._moved:
            raise mismatch(self.source.name, "row key", why, "an open table")
        return edits.reopened(recorded, self.source.before)

    @property
    def _moved(self) -> str:
        return f"moved to {self.target.name}"

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

    def _refuse_target(self) -> None:
        """Raise an error if the new table exists, unless its rows were moved to the old one."""
        record = self.target.recorded_or_none()
        if record is not None and edits.closed_why(record) == f"moved to {self.source.name}":
            return
        refuse_existing(self.target)

    def _create(self, models: Sequence[type[Model]]) -> None:
        record = self.target.recorded_or_none()
        moved_here = f"moved to {self.source.name}"
        if record is not None and edits.closed_why(record) == moved_here:
            DropTable(self.target.declared).run(self.source.migration, NoCheckpoint())
            record = None
        filled = f"filled from {self.source.name}"
        if record is not None and edits.closed_why(record) == filled:
            return
        if not self.target.after.period:
            self.source.migration.engine.create_tables(*models)
            self.target.change(partial(edits.closed, why=filled))
            return
        self.target.run(self._recorded_periods(edits.closed(self.target.after, filled)))

    def _recorded_periods(self, declaration: Declaration) -> Protocol[None]:
        """Write the record of tables of periods, which are created when rows come."""

        def edit(record: TableRecord | None) -> TableRecord:
            return record or TableRecord(new_table_id(), declaration)

        yield from create_if_missing(CreateTable(catalog_descriptor()))
        yield from change_record(self.target.name, edit)

    # --- rows -------------------------------------------------------------------------------------

    def _copy(self, checkpoint: Checkpoint, tables: Sequence[str], known: int) -> int:
        """Copy, compare and count the rows; return their number."""
        begun, _ = phase_of(checkpoint)
        place = _PHASES.index(begun)
        if place <= _PHASES.index(_COPY):
            copied = PhaseCheckpoint(checkpoint, _COPY, {})
            position = self._walk("copy rows", self._copied_page, tables, copied)
            known = position.rows
        if place <= _PHASES.index(_VERIFY):
            verified = PhaseCheckpoint(checkpoint, _VERIFY, {_ROWS: str(known)})
            self._walk("compare rows", self._compared_page, tables, verified)
        if place <= _PHASES.index(_COUNT):
            counted = PhaseCheckpoint(checkpoint, _COUNT, {_ROWS: str(known)})
            copies = self.target.existing(self.target.after)
            count = self._walk("count rows", self._counted_page, copies, counted).rows
            self._refuse_merged(known, count)
        return known

    def _walk(
        self, step: str, page: PageWork, tables: Sequence[str], checkpoint: Checkpoint
    ) -> WalkPosition:
        position = RowWalk(self.source, step, page, checkpoint).run(tables)
        if position.failed:
            named = [f"{each.table} {each.row!r}: {each.reason}" for each in position.failures[:10]]
            raise RefusedRowsError(
                "rows of the old table do not decode, do not fit the new one, or differ from "
                "their copies",
                table=self.source.name,
                rows=position.failed,
                first=named,
                fix="change or delete these rows; then drop the new table, and run it again",
            )
        return position

    def _refuse_merged(self, rows: int, copies: int) -> None:
        if rows != copies:
            raise RefusedRowsError(
                "the new table does not have as many rows as the old one: rows get the same row "
                "key",
                table=self.source.name,
                rows=rows,
                copies=copies,
                fix="give the new row key more fields; drop the new table, and run it again",
            )

    def _copied_page(self, name: str, key_range: KeyRange, rows: int) -> Protocol[PageOutcome]:
        page, mapped, failures = yield from self._mapped_page(name, key_range, rows)
        batches = [
            MutateRows(table, tuple(mutations[start : start + BATCH_ROWS]))
            for table, mutations in mapped.items()
            for start in range(0, len(mutations), BATCH_ROWS)
        ]
        yield from run_all([ask_with_retry(batch, self._retries) for batch in batches])
        done = sum(map(len, mapped.values()))
        return PageOutcome(len(page), after_page(page), done, tuple(failures))

    def _compared_page(self, name: str, key_range: KeyRange, rows: int) -> Protocol[PageOutcome]:
        page, mapped, failures = yield from self._mapped_page(name, key_range, rows)
        for table, mutations in mapped.items():
            copies = yield from self._cells_of(table, [mutation.row for mutation in mutations])
            for mutation, cells in zip(mutations, copies, strict=True):
                if not _has_cells(mutation, cells):
                    failures.append(RowFailure(table, mutation.row, "the copy has other cells"))
        return PageOutcome(len(page), after_page(page), 0, tuple(failures))

    def _counted_page(self, name: str, key_range: KeyRange, rows: int) -> Protocol[PageOutcome]:
        page = yield from scan_page(name, (), key_range, rows, self.source.runtime.guard_context)
        return PageOutcome(len(page), after_page(page))

    def _mapped_page(
        self, name: str, key_range: KeyRange, rows: int
    ) -> Protocol[tuple[list[Row], dict[str, list[RowMutation]], list[RowFailure]]]:
        """Return the rows of a page, their copies by table, and those that do not fit."""
        context = self.source.runtime.guard_context
        families = tuple(
            each for each in self._mappings[0].source.schema.family_names if each != GUARD_FAMILY
        )
        page = yield from scan_page(name, families, key_range, rows, context)
        if not page:
            return page, {}, []
        stored: Sequence[Sequence[StoredVersion] | None] = [None] * len(page)
        if (yield from self._keeps_versions(name)):
            keys = tuple(row.key for row in page)
            request = GetVersionsOfRows(name, keys, families, _VERSIONS)
            stored = yield from ask_with_retry(request, self._retries)
        mapped: dict[str, list[RowMutation]] = {}
        failures: list[RowFailure] = []
        for row, versions in zip(page, stored, strict=True):
            try:
                bound, mutation = yield from self._mapped_row(name, row, versions)
            except ConfigurationError:
                raise
            except MISFITS as error:
                failures.append(RowFailure(name, row.key, failure_text(error)))
            else:
                yield from self._ensure(bound)
                mapped.setdefault(bound.schema.table, []).append(mutation)
        return page, mapped, failures

    def _mapped_row(
        self, table: str, row: Row, versions: Sequence[StoredVersion] | None
    ) -> Protocol[tuple[BoundModel, RowMutation]]:
        for mapping in self._mappings:
            if mapping.source.is_own is None or mapping.source.is_own(row.key):
                start = mapping.source.tables.start_of_table(table)
                placed = mapping.source
                placed = placed if start is None else placed.with_table_at(start)
                return (yield from mapping.row(placed, row, versions))
        message = "no model has the record type of the row"
        raise ValueError(message)

    def _keeps_versions(self, table: str) -> Protocol[bool]:
        """Return whether a table, as it is, keeps several versions of a cell."""
        if table not in self._versions:
            descriptor = yield from described(table)
            families = () if descriptor is None else descriptor.families
            self._versions[table] = any(
                each.versions > 1 for each in families if each.name != GUARD_FAMILY
            )
        return self._versions[table]

    def _cells_of(self, table: str, keys: Sequence[bytes]) -> Protocol[list[_StoredCells]]:
        """Return the stored values of rows by column and timestamp."""
        if (yield from self._keeps_versions(table)):
            request = GetVersionsOfRows(table, tuple(keys), (), _VERSIONS)
            stored = yield from ask_with_retry(request, self._retries)
            return [
                {(each.column, each.timestamp_ms): each.value for each in versions}
                for versions in stored
            ]
        rows = yield from get_rows(table, keys, self.source.runtime.guard_context)
        return [
            {}
            if row is None
            else {(column, cell.timestamp_ms): cell.value for column, cell in row.cells.items()}
            for row in rows
        ]

    def _ensure(self, bound: BoundModel) -> Protocol[None]:
        """Create the table of a period when its first row comes."""
        name = bound.schema.table
        if bound.tables.declared == name or name in self._created:
            return
        if (yield from described(name)) is None:
            warnings = TableWarnings()
            yield from create(bound, self._table_id, warnings)
            warnings.log()
        self._created.add(name)

    @property
    def _retries(self) -> RetryPolicy:
        return self.source.runtime.guard_context.retries

    # --- after ------------------------------------------------------------------------------------

    def _open(self) -> None:
        """Close the old table for good, then open the new one."""
        self.source.change(partial(edits.closed, why=self._moved))
        self.source.wait_for_readers()
        for name in self.target.existing(self.target.after):
            for index in self.target.after.indexes:
                self.target.run(index_steps.stop_reading(name, index, is_lww=None))
        self.target.change(partial(edits.reopened, after=self.target.after))

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


def _has_cells(mutation: RowMutation, stored: _StoredCells) -> bool:
    return all(
        stored.get((put.column, put.timestamp_ms or 0)) == put.value for put in mutation.puts
    )
