"""Watches a timeline read for answers of replicas, which may be older than their regions."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar, cast

from hbase_orm.execute.steps import Step
from hbase_orm.ops import (
    FetchRows,
    GetRows,
    Protocol,
    ProtocolRun,
    Row,
    SideBySide,
    StaleRow,
)

R = TypeVar("R")

_READS: Final = (GetRows, FetchRows)


class Staleness:
    """Records whether a replica answered one of the requests of a read.

    Attributes:
        is_stale: Whether a replica answered; it is never true for a strong read.
    """

    def __init__(self) -> None:
        """Start without answers."""
        self.is_stale = False

    def watch(self, reading: Generator[Step, Any, R]) -> Generator[Step, Any, R]:
        """Yield the steps of `reading`, and record whether a replica answers its requests.

        In the answers that `reading` gets, a row that a replica does not have is None.
        """
        run = ProtocolRun(reading)
        try:
            run.begin()
            while (step := run.request) is not None:
                if isinstance(step, SideBySide):
                    run.request = self._watched(step)
                yield from run.pass_on(self._noted if isinstance(step, _READS) else None)
            return run.result
        finally:
            run.close()

    def _watched(self, step: SideBySide) -> SideBySide:
        protocols = (cast("Protocol[Any]", self.watch(each)) for each in step.protocols)
        return replace(step, protocols=tuple(protocols))

    def _noted(self, rows: Sequence[Row | None]) -> list[Row | None]:
        if any(isinstance(row, StaleRow) for row in rows):
            self.is_stale = True
        return [None if isinstance(row, StaleRow) and not row.cells else row for row in rows]
