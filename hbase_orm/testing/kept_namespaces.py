"""The files that name the namespaces which the runs of one checkout use one after another.

They are in pytest's cache. A run that uses a namespace holds the lock beside its file. The file
says what the tables were like when they were made. If they differ now, they are made again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from hbase_orm import Engine, Model, __version__
from hbase_orm.index.catalog.catalog import CATALOG_COLUMN, CATALOG_TABLE, RECORD_COLUMN
from hbase_orm.index.catalog.entry import CatalogEntry, TableState
from hbase_orm.ops import DescribeTable, GetRows, Protocol, ask, ask_all, run_all
from hbase_orm.record.declaration import TableRecord
from hbase_orm.record.snapshots import declaration_of
from hbase_orm.session.engine import runtime_of
from hbase_orm.testing.emptying import tables_of

LONGEST_S: Final = 7 * 24 * 3600.0
"""Older tables are made again: the marks of their deleted rows slow down every scan."""


_TABLE: Final = "table "


class Kept(NamedTuple):
    """A namespace with the tables of models.

    Attributes:
        name: The name of the namespace; empty if there is none.
        state: What its tables were like when they were made; empty if a run began to use them, and
            has not ended.
        made_at: When they were made, in seconds of the Unix epoch.
    """

    name: str = ""
    state: Mapping[str, str] = {}
    made_at: float = 0.0


class KeptNamespace:
    """The file that names a namespace which runs of one checkout use one after another."""

    def __init__(self, file: Path) -> None:
        """Name the file; nothing is read."""
        self._file = file
        self._lock: IO[str] | None = None

    @classmethod
    def of(cls, folder: Path, url: str, *purpose: str) -> KeptNamespace:
        """Return the namespace on a server for a purpose: the process, and the models' tables."""
        return cls(folder / f"{_digest(url)}-{_digest(*purpose)}.json")

    @classmethod
    def on(cls, folder: Path, url: str) -> list[KeptNamespace]:
        """Return all namespaces on a server."""
        return [cls(file) for file in sorted(folder.glob(f"{_digest(url)}-*.json"))]

    def lock(self) -> bool:
        """Take the lock for this run; return False if another run has it."""
        lock = self._file.with_suffix(".lock").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            return False
        self._lock = lock
        return True

    def unlock(self) -> None:
        """Let another run use the namespace, also if a forked child still has the open file."""
        lock, self._lock = self._lock, None
        if lock is not None:
            fcntl.flock(lock, fcntl.LOCK_UN)
            lock.close()

    def read(self) -> Kept:
        """Return what is known of the namespace; nothing if the file is damaged."""
        if not self._file.exists():
            return Kept()
        try:
            fields = json.loads(self._file.read_text())
            return Kept(str(fields["name"]), dict(fields["state"]), float(fields["made_at"]))
        except (ValueError, KeyError, TypeError):  # no version of this module wrote it
            return Kept()

    def write(self, kept: Kept) -> None:
        """Write what is known of the namespace."""
        part = self._file.with_suffix(".part")
        part.write_text(json.dumps(kept._asdict()))
        part.rename(self._file)

    def forget(self) -> None:
        """Keep no namespace any more."""
        self._file.unlink(missing_ok=True)


def is_too_old(kept: Kept) -> bool:
    """Return whether tables are so old that they are made again."""
    return not 0 <= time.time() - kept.made_at <= LONGEST_S


def state_of(
    engine: Engine, models: Sequence[type[Model]], like: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return what models declare, and what tables are without their rows, as digests by name.

    Args:
        engine: The engine with the namespace.
        models: The models.
        like: An earlier state, whose tables are compared; None for all tables of the namespace.
    """
    state = {"version": __version__}
    for table, declared in by_table_of(models).items():
        record = TableRecord("", declaration_of([model.__schema__ for model in declared]))
        state[f"model {table}"] = _digest_of(record.encode())
    tables = sorted(tables_in(like).intersection(tables_of(engine)) if like else tables_of(engine))
    runtime = runtime_of(engine)
    described, known = runtime.run_as_is(
        run_all([ask_all([DescribeTable(table) for table in tables]), _known_of(tables)])
    )
    for table, descriptor, what_is_known in zip(tables, described, known, strict=True):
        state[f"{_TABLE}{table}"] = _digest_of(repr((descriptor, what_is_known)).encode())
    return state


def _known_of(tables: Sequence[str]) -> Protocol[list[Any]]:
    """Return what the catalog says of tables, without what the first write of a table changes."""
    keys = tuple(table.encode() for table in tables)
    rows = yield from ask(GetRows(CATALOG_TABLE, keys, (CATALOG_COLUMN, RECORD_COLUMN)))
    known: list[Any] = []
    for row in rows:
        cells = {} if row is None else {column: row.cells[column].value for column in row.columns}
        stored = cells.get(CATALOG_COLUMN)
        entry = None if stored is None else CatalogEntry.decode(stored)
        if entry is not None and entry.state in {TableState.NEW, TableState.READABLE}:
            entry = replace(entry, state=TableState.READABLE, epoch=0, load=None)
        known.append((cells.get(RECORD_COLUMN), entry))
    return known


def tables_in(state: Mapping[str, str]) -> set[str]:
    """Return the tables of a state."""
    return {name.removeprefix(_TABLE) for name in state if name.startswith(_TABLE)}


def by_table_of(models: Iterable[Any]) -> dict[str, list[type[Model]]]:
    """Return the models of each table, without those whose tables are made by the first write."""
    by_table: dict[str, list[type[Model]]] = {}
    for model in models:
        schema = getattr(model, "__schema__", None)  # what is no model is refused with the others
        period = None if schema is None else schema.layout.table_period
        if period is None or not period.is_made_by_writes:
            by_table.setdefault("" if schema is None else schema.table, []).append(model)
    return by_table


def _digest(*parts: str) -> str:
    return _digest_of("\0".join(parts).encode())[:12]


def _digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
