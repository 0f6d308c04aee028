"""The HBase that is measured: the library's engine, and happybase's own connection beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import happybase

from benchmarks.discard import Discard
from benchmarks.models import Source
from benchmarks.paired import Variant
from benchmarks.pure import PureProcess
from benchmarks.results import COMPILED, LIMIT, PURE
from hbase_orm import Engine, Model
from hbase_orm.compiled import compiled_cells

BATCH_ROWS = 1_000


@dataclass(frozen=True, slots=True)
class Place:
    """Where and how much is measured.

    Attributes:
        url: The URL of the engine.
        engine: The library's.
        rows: Rows that are written in a load; a scan reads five times as many.
        repetitions: How often each variant runs.
        readings: What is written.
        pure: The process that reads without the compiled reader.
    """

    url: str
    engine: Engine
    rows: int
    repetitions: int
    readings: tuple[Source, ...]
    pure: PureProcess

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

    def own(self, name: str, function: Callable[..., int], /, **arguments: Any) -> list[Variant]:
        """Return variants that call a function with the compiled reader, and in Python only.

        Each is called once before: what is made at a first call is not measured.

        Args:
            name: What the function does, for the report.
            function: A function of a module, called with an engine and the arguments.
            **arguments: Values that JSON can hold, as another process gets them too.
        """

        def pure() -> int:
            return self.pure.call(function, arguments)

        def here() -> int:
            return function(self.engine, **arguments)

        here()
        if compiled_cells is None:
            return [Variant(PURE, f"{name}, pure Python", here)]
        pure()
        return [
            Variant(COMPILED, f"{name}, compiled", here),
            Variant(PURE, f"{name}, pure Python", pure, cpu_s=self.pure.cpu_s),
        ]

    def limit(self, work: Callable[[Any], object]) -> Variant:
        """Return the variant that asks the same as a function and throws the answers away.

        Args:
            work: Reads through a happybase connection; returns how many units it read.
        """
        host, port = self.engine.options.thrift1[0]
        discard = Discard.of(host, port, work)
        return Variant(LIMIT, "the same answers, received and thrown away", discard.work)
