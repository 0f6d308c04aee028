"""Programs that share tables, and the cells of these tables."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Final

from hbase_orm import Engine
from hbase_orm.binding.runtime import Runtime
from hbase_orm.binding.url import EngineOptions
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.ops import (
    CloseScanner,
    FetchRows,
    ListTables,
    OpenScanner,
    Row,
    Scan,
)
from tests.support.declarations.plain_models import (
    ModelSpec,
)
from tests.support.recording import RecordsRequests, gateway_of, through
from tests.support.thrift1_only import DoesWhatThrift1Does

AGE_MS: Final = 600_000
"""How long programs wait for each other: entries are then old enough to be repaired."""

FETCHED_ROWS: Final = 500

Snapshot = dict[tuple[str, bytes], dict[bytes, tuple[bytes, int]]]
"""The cells of all tables of a pair, with their timestamps, by table and row key."""


class Programs:
    """Programs that use the same tables."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.gateway = gateway_of(engine)

    @property
    def namespace(self) -> str:
        return self._engine.options.namespace

    def new(self, spec: ModelSpec) -> tuple[Engine, RecordsRequests]:
        """Return a program that knows nothing yet, and the requests that it sends."""
        does = DoesWhatThrift1Does if spec.without_thrift2 else RecordsRequests
        sent = does(self.gateway)
        return through(sent, self._engine), sent

    def wait(self) -> None:
        """Let time pass, where a test can."""

    def named(self, table: str) -> str:
        return f"{self.namespace}:{table}" if self.namespace else table

    def snapshot(self, table: str) -> Snapshot:
        """Return all cells of the tables whose names begin with `table`."""
        names = self.gateway.execute(ListTables())
        wanted = sorted(name for name in names if name.startswith(self.named(table)))
        return {
            (name, row.key): {c: (cell.value, cell.timestamp_ms) for c, cell in row.cells.items()}
            for name in wanted
            for row in self._rows(name)
        }

    def _rows(self, table: str) -> Iterable[Row]:
        scanner = self.gateway.execute(OpenScanner(Scan(table)))
        while rows := self.gateway.execute(FetchRows(scanner, FETCHED_ROWS)):
            yield from rows
        self.gateway.execute(CloseScanner(scanner))


class InMemoryPrograms(Programs):
    """Programs in memory, under a clock that can be set forward."""

    def __init__(self) -> None:
        self._offset_ms = 0
        super().__init__(Engine(MemoryGateway(self._now_ms), EngineOptions(scheme="memory")))

    def _now_ms(self) -> int:
        return int(time.time() * 1000) + self._offset_ms

    def new(self, spec: ModelSpec) -> tuple[Engine, RecordsRequests]:
        engine, sent = super().new(spec)
        engine._runtime = Runtime(sent, parallel=1, repairs_on_read=True, now_ms=self._now_ms)
        return engine, sent

    def wait(self) -> None:
        self._offset_ms += AGE_MS
