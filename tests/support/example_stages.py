"""A namespace for each program of `examples/`, and its tables as plain happybase reads them.

What is expected of a program is written by hand; nothing here encodes or decodes.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from contextlib import closing, redirect_stdout
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeVar
from urllib.parse import urlsplit

import happybase

from examples import program
from hbase_orm import Engine, Model, Session
from hbase_orm.ops import (
    Append,
    CheckAndMutate,
    GetRows,
    Increment,
    MutateRow,
    MutateRows,
    OpenScanner,
    Operation,
)
from tests.support.recording import RecordsRequests

T = TypeVar("T")

Rows = dict[bytes, dict[bytes, bytes]]

_WRITES = (Append, CheckAndMutate, Increment, MutateRow, MutateRows)


@dataclass(frozen=True)
class Sent:
    """What was sent: gets, rows asked for by them, scanners opened, writes.

    Looks into the catalog, which is read again every 30 seconds, are left out.
    """

    gets: int = 0
    rows: int = 0
    scanners: int = 0
    writes: int = 0


def sent(requests: Iterable[Operation[Any]]) -> Sent:
    every = list(requests)
    gets = [
        each
        for each in every
        if isinstance(each, GetRows) and not each.table.endswith("hbase_orm_catalog")
    ]
    return Sent(
        gets=len(gets),
        rows=sum(len(each.keys) for each in gets),
        scanners=sum(isinstance(each, OpenScanner) for each in every),
        writes=sum(isinstance(each, _WRITES) for each in every),
    )


@dataclass
class Stage:
    """A namespace of a real HBase, and an engine whose requests are kept."""

    url: str
    engine: Engine
    gateway: RecordsRequests

    def play(self, example: ModuleType) -> str:
        """Run a program as its command line does; return what it printed."""
        printed = io.StringIO()
        with redirect_stdout(printed):
            program.run(example.show, ["--url", self.url])
        return printed.getvalue()

    def load(self, objects: Iterable[Model]) -> None:
        with self.engine.session() as session, session.bulk() as bulk:
            bulk.add_all(objects)

    def sent_by(self, call: Callable[[Session], T]) -> tuple[T, Sent]:
        """Return what a call gives, and what it sent."""
        with self.engine.session() as session:
            before = len(self.gateway.requests)
            answer = call(session)
            return answer, sent(self.gateway.requests[before:])

    def happybase(self) -> Any:
        """Return a connection of plain happybase, with the namespace as it stands in names."""
        parts = urlsplit(self.url)
        return happybase.Connection(parts.hostname, parts.port)

    def name_of(self, table: str) -> str:
        return f"{urlsplit(self.url).path.strip('/')}:{table}"

    def rows(self, table: str, **options: Any) -> Rows:
        """Return a table's rows in the order in which plain happybase reads them."""
        with closing(self.happybase()) as connection:
            return dict(connection.table(self.name_of(table)).scan(**options))

    def tables(self) -> list[str]:
        with closing(self.happybase()) as connection:
            names = sorted(name.decode() for name in connection.tables())
        own = self.name_of("")
        return [name.removeprefix(own) for name in names if name.startswith(own)]

    def starts(self, table: str) -> list[bytes]:
        """Return the first keys of a table's regions."""
        with closing(self.happybase()) as connection:
            regions = connection.table(self.name_of(table)).regions()
        return [region["start_key"] for region in regions]
