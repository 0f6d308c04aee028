"""The namespaces with the tables of `hbase_models`: made once, emptied between tests, and dropped.

With `--hbase-reuse-tables` those on a server that outlives the run are not dropped: the next run of
the same checkout empties them, and makes them again only if they differ from the models. Such a run
has two sets of tables in turn. While a test uses one, a thread empties the other.
"""

from __future__ import annotations

import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, cast

from hbase_orm import Engine, Model, connect
from hbase_orm.errors import TableDisabledError
from hbase_orm.gateway.base import Feature, Gateway, execute_within
from hbase_orm.ops import CreateTable, Operation
from hbase_orm.session.engine import runtime_of
from hbase_orm.testing.emptying import (
    drop_added_tables,
    empty_tables,
    has_sequences,
    tables_of,
)
from hbase_orm.testing.kept_namespaces import (
    Kept,
    KeptNamespace,
    by_table_of,
    is_too_old,
    state_of,
    tables_in,
)
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
        self._kept = Kept()
        self._engine: Engine | None = None

    @property
    def url(self) -> str:
        """The URL of the namespace."""
        return self._hbase.url_in(self.name)

    def prepare(self) -> None:
        """Make the tables if they are not there, and empty them."""
        if self._engine is None:
            self._engine = self._of_last_run() or self._new()
        try:
            empty_tables(self._engine)  # of what earlier tests wrote, however they ended
        except TableDisabledError:  # a test has left it so
            engine, self._engine = self._engine, None
            self._discard(engine)
            self._engine = self._new()

    def close(self) -> None:
        """Drop the tables, unless the next run uses them."""
        engine, self._engine = self._engine, None
        with ExitStack() as cleanups:
            if self._file is not None:
                cleanups.callback(self._file.unlock)
            if engine is None:
                return
            if self._file is None:
                self._discard(engine)
                return
            cleanups.callback(engine.close)
            self._keep(engine, self._file)

    def _discard(self, engine: Engine) -> None:
        """Close an engine, and drop the namespace even if that fails."""
        with ExitStack() as cleanups:
            cleanups.callback(self._hbase.drop_namespace, self.name)
            cleanups.callback(engine.close)

    def _keep(self, engine: Engine, file: KeptNamespace) -> None:
        """Drop the tables that tests have added, and say that the run has ended.

        Whether the other tables are still as they were made is asked by the next run.
        """
        added = set(tables_of(engine)) - tables_in(self._kept.state)
        drop_added_tables(engine, (name for name in added if not has_sequences(name)))
        file.write(self._kept)

    def _of_last_run(self) -> Engine | None:
        """Return an engine for the tables of the last run, if they are as the models declare.

        If they are not, or if that run did not end, they are dropped.
        """
        kept = Kept() if self._file is None else self._file.read()
        if self._file is None or not kept.name:
            return None
        self.name = kept.name
        engine = connect(self.url)
        with ExitStack() as unless_used:
            unless_used.callback(engine.close)
            if kept.state and state_of(engine, self._models, kept.state) == kept.state:
                self._use(self._file, kept)
                unless_used.pop_all()
                return engine
        self._hbase.drop_namespace(self.name)
        return None

    def _new(self) -> Engine:
        self.name = f"n{uuid.uuid4().hex[:12]}"
        kept = Kept(self.name, made_at=time.time())
        if self._file is not None:
            self._use(self._file, kept)
        engine = connect(self.url)
        try:
            create_tables(engine, self._models)
            if self._file is not None:
                self._kept = kept._replace(state=state_of(engine, self._models))
        except BaseException:
            self._discard(engine)
            raise
        return engine

    def _use(self, file: KeptNamespace, kept: Kept) -> None:
        """Begin to use a namespace: unless this run ends and says so, its state is unknown."""
        self._kept = kept
        file.write(kept._replace(state={}))


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
        with ExitStack() as cleanups:
            if self._used is not None:
                cleanups.callback(self._used.close)
            for tables, _ in self._prepared:
                cleanups.callback(tables.close)

    def _prepare(self, tables: _TableSet) -> None:
        self._prepared.append((tables, self._thread.submit(tables.prepare)))


class ModelNamespaces:
    """The namespaces of this process: one for each collection of models that tests take, or two.

    Two folders of tests may have different models, also of tables with one name.

    Attributes:
        why_not_kept: Why tables are not kept, although the option is given; empty if they are.
    """

    def __init__(
        self,
        hbase: Callable[[], RealHBase],
        *,
        folder: Callable[[], Path | None] = lambda: None,
        reuses: bool = False,
        drops_kept: bool = False,
        worker: str = "",
    ) -> None:
        """Begin without namespaces.

        Args:
            hbase: Returns the HBase of the tests; called for the first models.
            folder: Returns the folder of kept namespaces' files, or None if there is none; called
                if one of the following options is given.
            reuses: Whether kept namespaces are used, and those of this run are kept.
            drops_kept: Whether the kept namespaces are dropped, and none are kept.
            worker: The name of this process among those of pytest-xdist.
        """
        self.why_not_kept = ""
        self._find_hbase = hbase
        self._find_folder = folder
        self._reuses = reuses
        self._drops_kept = drops_kept
        self._worker = worker
        self._thread = ThreadPoolExecutor(1, "hbase-orm-tables")
        self._made: dict[tuple[type[Model], ...], _SetsInTurn] = {}

    @cached_property
    def _hbase(self) -> RealHBase:
        return self._find_hbase()

    @cached_property
    def _folder(self) -> Path | None:
        """The folder of kept namespaces' files; None if there are none, or must be none."""
        if not (self._reuses or self._drops_kept) or self._hbase.source != "url":
            return None
        try:
            folder = self._find_folder()
        except OSError as error:
            self.why_not_kept = f"pytest's cache cannot be written ({error})"
            return None
        if folder is None:
            self.why_not_kept = "pytest has no cache"
            return None
        for file in KeptNamespace.on(folder, self._hbase.url):
            self._drop_if_old(file)
        return None if self._drops_kept else folder

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
        with ExitStack() as cleanups:
            for each in self._made.values():
                cleanups.callback(each.close)

    def _sets_of(self, models: tuple[type[Model], ...]) -> list[_TableSet]:
        hbase = self._hbase
        return [_TableSet(hbase, models, file) for file in self._files_of(models) or (None,)]

    def _files_of(self, models: Iterable[Any]) -> list[KeptNamespace]:
        """Return the files of two namespaces that are kept, locked; none if none are kept."""
        folder = self._folder
        if folder is None:
            return []
        names = sorted(f"{model.__module__}.{model.__qualname__}" for model in models)
        files = [
            KeptNamespace.of(folder, self._hbase.url, self._worker, turn, *names)
            for turn in ("0", "1")
        ]
        locked = [file for file in files if file.lock()]
        if len(locked) == len(files):
            return files
        self.why_not_kept = "another run uses those that were kept"
        for file in locked:
            file.unlock()
        return []

    def _drop_if_old(self, file: KeptNamespace) -> None:
        """Drop a kept namespace if all must be dropped, or it is too old, and no run uses it."""
        if not file.lock():
            return
        with ExitStack() as cleanups:
            cleanups.callback(file.unlock)
            kept = file.read()
            if self._drops_kept or is_too_old(kept):
                if kept.name:
                    file.write(kept._replace(state={}))
                    self._hbase.drop_namespace(kept.name)
                file.forget()


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
    first, *others = by_table_of(models).values() or [[]]
    runtime = runtime_of(engine)
    with runtime.diverted_to(_WithoutSplits(runtime.gateway)):
        engine.create_tables(*first)  # makes the namespace and the catalog for all
        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(lambda each: engine.create_tables(*each), others))
