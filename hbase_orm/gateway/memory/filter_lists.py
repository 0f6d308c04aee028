"""Filters that are made of other filters: AND, OR, SKIP and WHILE."""
# ruff: noqa: D102 - the methods are documented once, in `ServerFilter`, which all of them override

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hbase_orm.gateway.memory.filters import CellVerdict, FilterCell, ServerFilter


@dataclass(slots=True)
class SkipFilter(ServerFilter):
    """Refuses a row if the inner filter refuses one of its cells. Row keys are not checked."""

    inner: ServerFilter
    refused: bool = False
    seek_to: bytes = b""

    def reset(self) -> None:
        self.inner.reset()
        self.refused = False

    def judge(self, cell: FilterCell) -> CellVerdict:
        verdict = self.inner.judge(cell)
        self.refused = self.refused or verdict is not CellVerdict.INCLUDE
        self.seek_to = self.inner.seek_to
        return verdict

    def transform(self, value: bytes) -> bytes:
        return self.inner.transform(value)

    def refuses_row(self) -> bool:
        return self.refused

    def needs_family(self, name: bytes) -> bool:
        return self.inner.needs_family(name)


@dataclass(slots=True)
class WhileFilter(ServerFilter):
    """Ends the region's scan at the first row or cell that the inner filter refuses."""

    inner: ServerFilter
    ended: bool = False
    seek_to: bytes = b""

    def reset(self) -> None:
        self.inner.reset()

    def is_done(self) -> bool:
        return self.ended or self.inner.is_done()

    def refuses_key(self, key: bytes) -> bool:
        refused = self.inner.refuses_key(key)
        self.ended = self.ended or refused
        return refused

    def judge(self, cell: FilterCell) -> CellVerdict:
        verdict = self.inner.judge(cell)
        self.ended = self.ended or verdict is not CellVerdict.INCLUDE
        self.seek_to = self.inner.seek_to
        return verdict

    def transform(self, value: bytes) -> bytes:
        return self.inner.transform(value)

    def refuses_row(self) -> bool:
        refused = self.inner.refuses_row()
        self.ended = self.ended or refused
        return refused

    def needs_family(self, name: bytes) -> bool:
        return self.inner.needs_family(name)


@dataclass(slots=True)
class AndFilter(ServerFilter):
    """Passes cells that every part passes.

    A part gets only the cells that all parts before it have passed.
    """

    parts: Sequence[ServerFilter]
    seek_to: bytes = b""

    def reset(self) -> None:
        for part in self.parts:
            part.reset()

    def is_done(self) -> bool:
        return any(part.is_done() for part in self.parts)

    def refuses_key(self, key: bytes) -> bool:
        # Every part must see the key: some remember it.
        refusals = [part.is_done() or part.refuses_key(key) for part in self.parts]
        return any(refusals)

    def judge(self, cell: FilterCell) -> CellVerdict:
        for part in self.parts:
            if part.is_done():
                return CellVerdict.NEXT_FAMILY
            verdict = part.judge(cell)
            if verdict is not CellVerdict.INCLUDE:
                self.seek_to = part.seek_to
                return verdict
        return CellVerdict.INCLUDE

    def transform(self, value: bytes) -> bytes:
        for part in self.parts:
            value = part.transform(value)
        return value

    def refuses_row(self) -> bool:
        return any(part.refuses_row() for part in self.parts)

    def needs_family(self, name: bytes) -> bool:
        return any(part.needs_family(name) for part in self.parts)


@dataclass(slots=True)
class OrFilter(ServerFilter):
    """Passes cells that at least one part passes.

    If one part skips cells, the other parts still get these cells.
    """

    parts: Sequence[ServerFilter]
    waits: list[Skipping] = field(default_factory=list)
    passing: list[ServerFilter] = field(default_factory=list)

    def reset(self) -> None:
        self.waits = [Skipping() for _ in self.parts]
        for part in self.parts:
            part.reset()

    def is_done(self) -> bool:
        return all(part.is_done() for part in self.parts)

    def refuses_key(self, key: bytes) -> bool:
        refusals = [part.is_done() or part.refuses_key(key) for part in self.parts]
        return all(refusals)

    def judge(self, cell: FilterCell) -> CellVerdict:
        self.passing = []
        for part, wait in zip(self.parts, self.waits, strict=True):
            if part.is_done() or wait.skips(cell):
                continue
            verdict = part.judge(cell)
            wait.note(verdict, cell, part.seek_to)
            if verdict is CellVerdict.INCLUDE:
                self.passing.append(part)
        # HBase may also seek further when all parts refuse; the result is the same.
        return CellVerdict.INCLUDE if self.passing else CellVerdict.SKIP

    def transform(self, value: bytes) -> bytes:
        for part in self.passing:
            value = part.transform(value)
        return value

    def refuses_row(self) -> bool:
        return all(part.refuses_row() for part in self.parts)

    def needs_family(self, name: bytes) -> bool:
        return any(part.needs_family(name) for part in self.parts)


@dataclass(slots=True)
class Skipping:
    """The cells that the last verdict skips.

    They are the rest of a column, the rest of a family, or all cells before a qualifier.
    """

    family: bytes | None = None
    verdict: CellVerdict = CellVerdict.INCLUDE
    qualifier: bytes = b""

    def note(self, verdict: CellVerdict, cell: FilterCell, seek_to: bytes) -> None:
        """Record the verdict on `cell`."""
        self.family = cell.family
        self.verdict = verdict
        self.qualifier = seek_to if verdict is CellVerdict.SEEK else cell.qualifier

    def skips(self, cell: FilterCell) -> bool:
        """Return whether `cell` is skipped."""
        if cell.family != self.family or self.verdict <= CellVerdict.SKIP:
            return False
        if self.verdict is CellVerdict.NEXT_COLUMN:
            return cell.qualifier == self.qualifier
        return self.verdict is CellVerdict.NEXT_FAMILY or cell.qualifier < self.qualifier
