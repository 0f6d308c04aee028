"""The namespaces with the tables of `hbase_models`: made once, emptied between tests, and dropped.

With `--hbase-reuse-tables` those on a server that outlives the run are not dropped: the next run of
the same checkout empties them, and makes them again only if they differ from the models. Such a run
has two sets of tables in turn. While a test uses one, a thread empties the other.
"""

from __future__ import annotations

import hashlib
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, cast

from hbase_orm import Engine, Model, __version__, connect
from hbase_orm.gateway.base import Feature, Gateway, execute_within
from hbase_orm.ops import CreateTable, DescribeTable, Operation, ask_all, run_all
from hbase_orm.record.declaration import TableRecord
from hbase_orm.record.snapshots import declaration_of
from hbase_orm.session.engine import runtime_of
from hbase_orm.testing.emptying import empty_tables, has_metadata, read_rows, tables_of
from hbase_orm.testing.kept_namespaces import KeptNamespace
from hbase_orm.testing.servers import RealHBase

R = TypeVar("R")

_THREADS = 4
"""How many tables are made at once; a server takes most of a second for one."""


class _TableSet:
    """The tables of a collection of models, in a namespace of their own.

    Attributes:
        name: The name of the namespace; empty before it is made.
    """

    def __init__(
        self, hbase: RealHBase, models: tuple[type[Model], ...], file: KeptNamespace | None
    ) -> None:
        """Begin without tables; `file` names those of the run before, if runs keep them."""
        self.name = ""
        self._hbase = hbase
        self._models = models
        self._file = file
        self._engine: Engine | None = None

    @property
    def url(self) -> str:
        """The URL of the namespace."""
        return self._hbase.url_in(self.name)

    def prepare(self) -> None:
        """Make the tables if they are not there, and empty them."""
        if self._engine is None:
            self._engine = self._kept() or self._new()
        empty_tables(self._engine)  # of what earlier tests wrote, however they ended

    def close(self) -> None:
        """Drop the tables, unless the next run uses them."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None
            if self._file is None:
                self._hbase.drop_namespace(self.name)
        if self._file is not None:
            self._file.unlock()

    def _kept(self) -> Engine | None:
        """Return an engine for the tables of the run before, if they are as models declare.

        If they are not, drop them.
        """
        if self._file is None:
            return None
        self.name, state = self._file.read()
        if not self.name:
            return None
        engine = connect(self.url)
        if state and state == _state_of(engine, self._models):
            return engine
        engine.close()
        self._hbase.drop_namespace(self.name)
        return None

    def _new(self) -> Engine:
        self.name = f"n{uuid.uuid4().hex[:12]}"
        if self._file is not None:
            self._file.write(self.name)  # so that the next run drops what a killed run has made
        engine = connect(self.url)
        try:
            create_tables(engine, self._models)
        except BaseException:
            engine.close()
            self._hbase.drop_namespace(self.name)
            raise
        if self._file is not None:
            self._file.write(self.name, _state_of(engine, self._models))
        return engine


class _SetsInTurn:
    """Sets of tables of the same models, which tests use in turn."""

    def __init__(self, sets: Iterable[_TableSet], thread: ThreadPoolExecutor) -> None:
        """Begin to prepare the sets."""
        self._thread = thread
        self._used: _TableSet | None = None
        self._prepared = deque[tuple[_TableSet, Future[None]]]()
        for each in sets:
            self._prepare(each)

    def next(self) -> str:
        """Return the URL of tables that are empty; the test before has ended."""
        if self._used is not None:
            self._prepare(self._used)
            self._used = None
        tables, work = self._prepared.popleft()
        try:
            work.result()
        except BaseException:
            self._prepare(tables)  # for the next test
            raise
        self._used = tables
        return tables.url

    def close(self) -> None:
        """Drop the tables that are not kept; the thread has ended."""
        used = [] if self._used is None else [self._used]
        for each in (*used, *(tables for tables, _ in self._prepared)):
            each.close()

    def _prepare(self, tables: _TableSet) -> None:
        self._prepared.append((tables, self._thread.submit(tables.prepare)))


class ModelNamespaces:
    """The namespaces of this process: one for each collection of models that tests take, or two.

    Two folders of tests may have different models, also of tables with one name.
    """

    def __init__(
        self,
        hbase: Callable[[], RealHBase],
        *,
        folder: Path | None = None,
        reuses: bool = False,
        drops_kept: bool = False,
        worker: str = "",
    ) -> None:
        """Begin without namespaces.

        Args:
            hbase: Returns the HBase of the tests; called for the first models.
            folder: The folder of kept namespaces' files; None if there is none.
            reuses: Whether kept namespaces are used, and those of this run are kept.
            drops_kept: Whether the kept namespaces are dropped first.
            worker: The name of this process among those of pytest-xdist.
        """
        self._find_hbase = hbase
        self._folder = folder
        self._reuses = reuses
        self._drops_kept = drops_kept
        self._worker = worker
        self._thread = ThreadPoolExecutor(1, "hbase-orm-tables")
        self._made: dict[tuple[type[Model], ...], _SetsInTurn] = {}

    @cached_property
    def _hbase(self) -> RealHBase:
        return self._find_hbase()

    def next(self, models: Sequence[type[Model]]) -> str:
        """Return the URL of a namespace with the tables of models, which are empty.

        Tests that used the tables before have ended. The tables are made if need be.
        """
        key = tuple(models)
        if key not in self._made:
            self._made[key] = _SetsInTurn(self._sets_of(key), self._thread)
        return self._made[key].next()

    def close(self) -> None:
        """Drop the namespaces with their tables, but not those that are kept."""
        self._thread.shutdown(cancel_futures=True)
        for each in self._made.values():
            each.close()

    def _sets_of(self, models: tuple[type[Model], ...]) -> list[_TableSet]:
        hbase = self._hbase
        files = self._files_of(models)
        return [_TableSet(hbase, models, file) for file in files or (None,)]

    def _files_of(self, models: Iterable[type[Model]]) -> list[KeptNamespace]:
        """Return the files of two namespaces that are kept, locked; none if none are kept."""
        hbase, folder = self._hbase, self._folder
        if folder is None or hbase.source != "url":
            return []
        if self._drops_kept:
            self._drops_kept = False
            self._drop_kept_in(folder, hbase)
        if not self._reuses:
            return []
        tables = sorted(f"{model.__schema__.table} {model.__qualname__}" for model in models)
        files = [
            KeptNamespace.of(folder, hbase.url, self._worker, turn, *tables) for turn in ("0", "1")
        ]
        locked = [file for file in files if file.lock()]
        if len(locked) == len(files):
            return files
        for file in locked:
            file.unlock()
        return []

    def _drop_kept_in(self, folder: Path, hbase: RealHBase) -> None:
        """Drop the kept namespaces of this server that no other run, or process of it, uses."""
        for file in KeptNamespace.on(folder, hbase.url):
            if file.lock():
                name, _ = file.read()
                hbase.drop_namespace(name)
                file.forget()
                file.unlock()


def _state_of(engine: Engine, models: Sequence[type[Model]]) -> str:
    """Return a digest of what models declare, and of the tables of a namespace without their rows.

    The tables are their names and descriptors, and what the catalog and the history of migrations
    say of them.
    """
    by_table = _by_table(models)
    declared = [
        TableRecord("", declaration_of([model.__schema__ for model in by_table[table]])).encode()
        for table in sorted(by_table)
    ]
    tables = sorted(tables_of(engine))
    runtime = runtime_of(engine)
    described = runtime.run_as_is(ask_all([DescribeTable(table) for table in tables]))
    known = runtime.run_as_is(run_all(read_rows(table) for table in tables if has_metadata(table)))
    cells = [
        (row.key, column, row.cells[column].value)
        for rows in known
        for row in rows
        for column in sorted(row.columns)
    ]
    return hashlib.sha256(repr((__version__, declared, described, cells)).encode()).hexdigest()


class _WithoutSplits:
    """A gateway that creates tables with one region."""

    def __init__(self, inner: Gateway) -> None:
        self._inner = inner
        self.timeout_s: float | None = getattr(inner, "timeout_s", None)

    @property
    def features(self) -> frozenset[Feature]:
        """The features of the engine's gateway."""
        return self._inner.features

    def execute(self, operation: Operation[R], /) -> R:
        """Send a request."""
        return self._inner.execute(_without_splits(operation))

    def execute_within(self, operation: Operation[R], timeout_s: float, /) -> R:
        """Send a request with a time limit."""
        return execute_within(self._inner, _without_splits(operation), timeout_s)

    def close(self) -> None:
        """Close the gateway."""
        self._inner.close()


def _without_splits(operation: Operation[R]) -> Operation[R]:
    if isinstance(operation, CreateTable):
        return cast("Operation[R]", replace(operation, split_keys=()))
    return operation


def create_tables(engine: Engine, models: Sequence[type[Model]]) -> None:
    """Create the tables of models, several at once, and each with one region.

    Making, scanning and dropping a region takes milliseconds, and few rows need no more than one.
    Tables of periods that the first write creates are left out.
    """
    first, *others = _by_table(models).values() or [[]]
    runtime = runtime_of(engine)
    with runtime.diverted_to(_WithoutSplits(runtime.gateway)):
        engine.create_tables(*first)  # makes the namespace and the catalog for all
        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(lambda each: engine.create_tables(*each), others))


def _by_table(models: Iterable[Any]) -> dict[str, list[type[Model]]]:
    """Return the models of each table, without those whose tables are made by the first write."""
    by_table: dict[str, list[type[Model]]] = {}
    for model in models:
        schema = getattr(model, "__schema__", None)  # what is no model is refused with the others
        period = None if schema is None else schema.layout.table_period
        if period is None or not period.is_made_by_writes:
            by_table.setdefault("" if schema is None else schema.table, []).append(model)
    return by_table
