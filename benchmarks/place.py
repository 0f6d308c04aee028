"""The HBase that is measured: the library's engine, and happybase's own connection beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import happybase

from benchmarks.models import Source
from hbase_orm import Engine, Model

BATCH_ROWS = 1_000


@dataclass(frozen=True, slots=True)
class Place:
    """Where and how much is measured.

    Attributes:
        engine: The library's.
        rows: Rows that are written in a load; a scan reads five times as many.
        repetitions: How often each variant runs.
        readings: What is written.
    """

    engine: Engine
    rows: int
    repetitions: int
    readings: tuple[Source, ...]

    def name_of(self, model: type[Model]) -> str:
        """Return a model's table as happybase names it."""
        namespace = self.engine.options.namespace
        table = model.__schema__.table
        return f"{namespace}:{table}" if namespace else table

    def connect_happybase(self) -> Any:
        """Return a plain happybase connection to the same gateway."""
        host, port = self.engine.options.thrift1[0]
        return happybase.Connection(host, port)

    def make_anew(self, *models: type[Model]) -> None:
        """Drop and create the models' tables."""
        self.engine.drop_tables(*models)
        self.engine.create_tables(*models)
