"""Scrubs rows side by side, under what the catalog says at that moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from hbase_orm.errors import (
    CatalogLeaseError,
    ClockError,
    ConflictError,
    CorruptRowError,
    RowKeyError,
    RowNotFoundError,
    UniqueViolationError,
    ValidationError,
)
from hbase_orm.gateway.drive import Outcome
from hbase_orm.index.catalog import CatalogView
from hbase_orm.index.catalog_entry import CatalogEntry
from hbase_orm.index.targets import GuardContext, GuardedTable, RowChange
from hbase_orm.index.writing import write_row
from hbase_orm.session.binding import BoundModel
from hbase_orm.session.catalog_checks import check_indexes
from hbase_orm.session.catalogued import kept_table
from hbase_orm.session.flush import RENEWALS
from hbase_orm.session.runtime import Runtime

AT_ONCE: Final = 200

_MISFITS: Final = (ValidationError, RowKeyError, CorruptRowError)


class Scrubber:
    """Scrubs rows of one table; used by one thread."""

    def __init__(self, bound: BoundModel, runtime: Runtime, needs: str | None = None) -> None:
        """Prepare; nothing is sent.

        Args:
            bound: The model.
            runtime: Where requests go.
            needs: The index for whose sake it is done: once writes do not keep it, scrubs fail.
        """
        self._bound = bound
        self._runtime = runtime
        self._needs = needs
        # A view of its own: one that other threads refresh, too, may be older than a change of
        # the catalog that this thread made.
        self._view = CatalogView(runtime.monotonic_s, runtime.lease_s)

    def forget(self) -> None:
        """Read the catalog again before the next scrub."""
        self._view.forget(self._bound.schema.table)

    def refreshed(self) -> CatalogEntry:
        """Return what the catalog says now."""
        return self._runtime.run(self._view.refresh(self._bound.schema.table))

    def scrub(self, keys: Sequence[bytes], refused: dict[bytes, str] | None = None) -> None:
        """Scrub rows; those that are gone are left out.

        Args:
            keys: Their row keys.
            refused: Gets the rows that fit no entry, have a unique value of another row, or are
                far ahead of the clock, and why; else the first of them ends the scrub.

        Raises:
            ConflictError: Writes do not keep the index that it is done for.
            SchemaError: Writes keep indexes that the model does not declare so.
            HBaseORMError: A scrub failed; the others were made.
        """
        for start in range(0, len(keys), AT_ONCE):
            self._scrub_some(keys[start : start + AT_ONCE], refused)

    def _scrub_some(self, keys: Sequence[bytes], refused: dict[bytes, str] | None) -> None:
        """Scrub so few rows that a lease usually lasts for them; it is renewed while that helps."""
        renewals_left = RENEWALS
        while keys:
            target, context = self.permitted()
            outcomes = self._runtime.run_many(
                [write_row(target, RowChange(key, kind="scrub"), context) for key in keys]
            )
            made = list(zip(keys, outcomes, strict=True))
            if refused is None:
                _refuse_misfits(target.table, made)
            else:
                made = _without_refused(made, refused)
            late = [key for key, outcome in made if _is_late(outcome, renewals_left)]
            renewals_left -= len(late) == len(keys)
            keys = late
            if late:
                self.forget()

    def permitted(self) -> tuple[GuardedTable, GuardContext]:
        """Return what writes keep now, and what permits them as long as that holds."""
        entry = self._view.entry(self._bound.schema.table) or self.refreshed()
        check_indexes(self._bound, entry)
        index = entry.indexes.get(self._needs or "")
        if self._needs is not None and (index is None or not index.is_kept):
            raise ConflictError(
                "the index was dropped meanwhile",
                table=self._bound.schema.table,
                index=self._needs,
            )
        permit = self._view.permit_under(entry.epoch)
        return kept_table(self._bound, entry), replace(self._runtime.guard_context, permit=permit)

    def renewing(self) -> tuple[GuardedTable, GuardContext]:
        """Return what writes keep now, and what permits fences as long as that holds.

        It reads the catalog anew where a lease ends: for long passes that put no entries.
        """
        target, _ = self.permitted()

        def permit(table: str) -> int:
            now, context = self.permitted()
            if now.indexes != target.indexes:
                raise CatalogLeaseError(
                    "indexes were built or dropped meanwhile", table=table, fix="begin again"
                )
            return context.permit(table)

        return target, replace(self._runtime.guard_context, permit=permit)


def _refuse_misfits(table: str, made: Sequence[tuple[bytes, Outcome[Any]]]) -> None:
    """Refuse to go on with rows that an index cannot have entries of.

    Raises:
        ValidationError: There are some; the others were scrubbed.
    """
    misfits = {key: outcome.error for key, outcome in made if isinstance(outcome.error, _MISFITS)}
    if not misfits:
        return
    first = next(iter(misfits.values()))
    raise ValidationError(
        "rows do not fit an index that writes keep",
        table=table,
        index=first.index,
        rows=list(misfits),
        first=str(first),
        fix="change these rows or delete them, or drop the index; then begin again",
    ) from first


def _without_refused(
    made: Sequence[tuple[bytes, Outcome[Any]]], refused: dict[bytes, str]
) -> list[tuple[bytes, Outcome[Any]]]:
    """Note the rows that nobody can scrub as they are, and return the others."""
    others = []
    for key, outcome in made:
        if isinstance(outcome.error, (*_MISFITS, ClockError, UniqueViolationError)):
            refused[key] = str(outcome.error)
        else:
            others.append((key, outcome))
    return others


def _is_late(outcome: Outcome[Any], renewals_left: int) -> bool:
    """Say whether a scrub must be made again under what the catalog says now.

    Raises:
        HBaseORMError: It failed for another reason.
    """
    if isinstance(outcome.error, CatalogLeaseError) and renewals_left:
        return True
    if outcome.error is not None and not isinstance(outcome.error, RowNotFoundError):
        raise outcome.error
    return False
