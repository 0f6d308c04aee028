"""Changes single rows beside programs that write them, without undoing their writes.

A plain row is changed by one check-and-mutate on a cell as it was read. The new cells get the
timestamps of the cells that they replace; a cell that is new in its row is as old as the row. So
whatever a program writes meanwhile is newer and stays visible, a row that is deleted meanwhile
stays deleted, and cells expire with their rows. A guarded row is changed under its guard.

Each change also puts a mark; see `row_marks`. `deleted_marks` deletes the marks at the end.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.errors import (
    ConfigurationError,
    ConflictError,
    ConnectionLostError,
    CorruptRowError,
    HBaseORMError,
    RetryableError,
    UniqueViolationError,
)
from hbase_orm.gateway.base import Feature
from hbase_orm.index.entries.targets import RowBefore, RowChange
from hbase_orm.index.upkeep.table_pages import scan_page
from hbase_orm.migrate.operations.migrated_table import MigratedTable
from hbase_orm.migrate.operations.rows.row_marks import RowMark
from hbase_orm.migrate.operations.rows.row_walk import (
    PageOutcome,
    RowFailure,
    RowSample,
    failure_text,
)
from hbase_orm.ops import (
    CheckAndMutate,
    Delete,
    GetRows,
    GetVersionsOfRows,
    KeyRange,
    MutateRows,
    Protocol,
    Put,
    RetryPolicy,
    Row,
    RowMutation,
    ask_with_retry,
    run_all,
)
from hbase_orm.ops.conditional_changes import ConditionalChanges

MISFITS: Final = (CorruptRowError, ValueError, ArithmeticError, LookupError, struct.error)
"""The errors of values that do not decode or do not fit; others are mistakes of the revision."""

_TRIES: Final = RetryPolicy(attempts=20, first_pause_s=0.01, factor=None, longest_pause_s=0.2)


@dataclass(frozen=True, slots=True)
class RowEdit:
    """The change of one row.

    Attributes:
        puts: The new values by column.
        clears: The columns to delete.
    """

    puts: Mapping[bytes, bytes] = field(default_factory=dict[bytes, bytes])
    clears: frozenset[bytes] = frozenset()


Decide = Callable[[str, Row], RowEdit | None]
"""A function from a row and its table to its change, or None.

It raises one of `MISFITS` for a row to leave."""


class UnchangedRowError(Exception):
    """The row needs no change; this error is caught inside the library."""


@dataclass(frozen=True, slots=True)
class RowEditor:
    """Changes the rows of a page by a function.

    Attributes:
        table: The table of the migration.
        columns: The columns or families that the function needs.
        decide: The function.
        exists: A function from the cells of a row to whether the row exists.
        mark: The mark of rows that are done; None if the function may see a row twice.
        guarded: A function from a row key and a table to the bound model that writes the row under
            its guard; None if the rows have no guards.
    """

    table: MigratedTable
    columns: tuple[bytes, ...]
    decide: Decide
    exists: Callable[[Mapping[bytes, object]], bool]
    mark: RowMark | None = None
    guarded: Callable[[str, bytes], BoundModel | None] | None = None

    @property
    def _is_dry(self) -> bool:
        return self.table.migration.options.dry_run

    @property
    def _read(self) -> tuple[bytes, ...]:
        families = {column for column in self.columns if b":" not in column}
        if self.mark is None or self.mark.column.partition(b":")[0] in families:
            return self.columns
        return (*self.columns, self.mark.column)

    def page(self, table: str, key_range: KeyRange, rows: int) -> Protocol[PageOutcome]:
        """Change the rows of the first page of a range."""
        yield from self.table.refuse_held([table])
        context = self.table.runtime.guard_context
        page = yield from scan_page(table, self._read, key_range, rows, context)
        results = yield from run_all([self._changed(table, row) for row in page])
        samples = [each for each in results if isinstance(each, RowSample)]
        failures = [each for each in results if isinstance(each, RowFailure)]
        return PageOutcome(
            len(page), after_page(page), len(samples), tuple(failures), tuple(samples)
        )

    def _changed(self, table: str, row: Row) -> Protocol[RowSample | RowFailure | None]:
        try:
            edit = self._edit(table, row)
            if edit is None or self._is_dry:
                return None if edit is None else _sample(table, row, edit)
            if self.guarded is not None:
                bound = self.guarded(table, row.key)
                if bound is None:
                    return None
                if bound.guarded is not None:  # plain models may share a table that has guards
                    return (yield from self._guarded(bound, table, row))
            return (yield from self._changed_by_check(table, row, edit))
        except ConfigurationError:
            raise  # a mistake, though it is a ValueError
        except (*MISFITS, UniqueViolationError) as error:
            return RowFailure(table, row.key, failure_text(error))

    def _edit(self, table: str, row: Row) -> RowEdit | None:
        """Return the change of a row; None if it needs none, or had it already."""
        if self.mark is not None and self.mark.is_done(_value(row, self.mark.column)):
            return None
        if not self.exists(row.cells):
            return None
        edit = self.decide(table, row)
        if edit is None:
            return None
        puts = {
            column: value
            for column, value in edit.puts.items()
            if column not in row.cells or row.cells[column].value != value
        }
        clears = frozenset(column for column in edit.clears if column in row.cells)
        return RowEdit(puts, clears) if puts or clears else None

    # --- plain rows -------------------------------------------------------------------------------

    def _changed_by_check(self, table: str, row: Row, edit: RowEdit) -> Protocol[RowSample | None]:
        changes = ConditionalChanges()
        for failures in range(1, _TRIES.attempts + 1):
            request = yield from self._request(table, row, edit)
            if (yield from changes.ask(request)):
                return _sample(table, row, edit)
            again = yield from self._row(table, row.key)
            following = None if again is None else self._edit(table, again)
            if again is None or following is None:
                return _sample(table, row, edit)  # this change, or another program's
            row, edit = again, following
            yield from _TRIES.pause(failures)
        raise changes.error(_contended(table, row.key))

    def _row(self, table: str, key: bytes) -> Protocol[Row | None]:
        (row,) = yield from ask_with_retry(
            GetRows(table, (key,), self._read), self.table.runtime.guard_context.retries
        )
        return row

    def _request(self, table: str, row: Row, edit: RowEdit) -> Protocol[CheckAndMutate]:
        checked = min([*edit.puts, *edit.clears])
        known = row.cells.get(checked)
        if Feature.ATOMIC_ROW not in self.table.features:
            # Thrift1 sends no timestamp with a check, and only one cell; see `refuse_thrift1`.
            ((column, value),) = edit.puts.items()
            mutation = RowMutation(row.key, puts=(Put(column, value),))
        else:
            stamps = yield from self._stamps(table, row, edit.puts)
            puts = [Put(column, value, stamps[column]) for column, value in edit.puts.items()]
            if self.mark is not None:
                puts.append(_mark_of(self.mark, row, max(stamps.values(), default=_newest_ms(row))))
            deletes = [Delete(each, row.cells[each].timestamp_ms) for each in sorted(edit.clears)]
            mutation = RowMutation(row.key, puts=tuple(puts), deletes=tuple(deletes))
        expected = b"" if known is None else known.value
        return CheckAndMutate(table, checked, expected, mutation)

    def _stamps(self, table: str, row: Row, columns: Iterable[bytes]) -> Protocol[dict[bytes, int]]:
        """Return the timestamps of new cells; a tombstone of the column must not hide them."""
        stamps = {c: row.cells[c].timestamp_ms for c in columns if c in row.cells}
        missing = tuple(column for column in columns if column not in row.cells)
        if not missing:
            return stamps
        retries = self.table.runtime.guard_context.retries
        families = tuple(sorted({column.partition(b":")[0] for column in missing}))
        request = GetVersionsOfRows(table, (row.key,), families, raw=True)
        (versions,) = yield from ask_with_retry(request, retries)
        for column in missing:
            seen_ms = [each.timestamp_ms + 1 for each in versions if each.column == column]
            stamps[column] = max([_newest_ms(row), *seen_ms])
        return stamps

    # --- guarded rows -----------------------------------------------------------------------------

    def _guarded(self, bound: BoundModel, table: str, row: Row) -> Protocol[RowSample | None]:
        """Change a row under its guard; its mark shows whether an earlier attempt did."""
        samples: list[RowSample] = []
        failure: HBaseORMError = _contended(table, row.key)
        change = self._guarded_change(table, row.key, samples)
        for failures in range(1, _TRIES.attempts + 1):
            try:
                yield from self.table.runtime.writer.change(bound, change)
            except UnchangedRowError:
                break
            except UniqueViolationError:
                raise
            except (ConnectionLostError, RetryableError, ConflictError) as error:
                failure = error
                if (yield from self._row(table, row.key)) is None:
                    return None
            else:
                break
            yield from _TRIES.pause(failures)
        else:
            raise _contended(table, row.key) if isinstance(failure, ConflictError) else failure
        return samples[-1] if samples else None

    def _guarded_change(self, table: str, key: bytes, samples: list[RowSample]) -> RowChange:
        mark = {} if self.mark is None else {self.mark.column: self.mark.value}

        def decide(before: RowBefore) -> RowChange:
            row = Row(key, dict(before.cells))
            edit = self._edit(table, row)
            if edit is None:
                raise UnchangedRowError
            samples.append(_sample(table, row, edit))
            return RowChange(key, {**edit.puts, **mark}, edit.clears, "update")

        return RowChange(key, kind="update", reads=frozenset(self._read), decide=decide)


def deleted_marks(
    table: MigratedTable, mark: bytes, name: str, key_range: KeyRange, rows: int
) -> Protocol[PageOutcome]:
    """Delete the marks of the first page of a range of the table `name`."""
    context = table.runtime.guard_context
    page = yield from scan_page(name, (mark,), key_range, rows, context)
    if page:
        deletes = [
            RowMutation(row.key, deletes=(Delete(mark, row.cells[mark].timestamp_ms),))
            for row in page
        ]
        yield from ask_with_retry(MutateRows(name, tuple(deletes)), context.retries)
    return PageOutcome(len(page), after_page(page))


def after_page(page: Sequence[Row]) -> bytes | None:
    """Return the key at which the next page begins; None after an empty page, the last one."""
    return page[-1].key + b"\x00" if page else None


def _contended(table: str, row: bytes) -> ConflictError:
    return ConflictError(
        "other programs changed the row at every attempt",
        table=table,
        row=row,
        tries=_TRIES.attempts,
        fix="run the operation again: it continues where it stopped",
    )


def _value(row: Row, column: bytes) -> bytes | None:
    cell = row.cells.get(column)
    return None if cell is None else cell.value


def _mark_of(mark: RowMark, row: Row, at_least_ms: int) -> Put:
    """Return the put of a mark; one that the row has is overwritten."""
    known = row.cells.get(mark.column)
    at_ms = at_least_ms if known is None else max(at_least_ms, known.timestamp_ms)
    return Put(mark.column, mark.value, at_ms)


def _newest_ms(row: Row) -> int:
    return max(cell.timestamp_ms for cell in row.cells.values())


def _sample(table: str, row: Row, edit: RowEdit) -> RowSample:
    columns = sorted({*edit.puts, *edit.clears})
    before = {column: row.cells[column].value for column in columns if column in row.cells}
    return RowSample(table, row.key, before, {column: edit.puts.get(column) for column in columns})
