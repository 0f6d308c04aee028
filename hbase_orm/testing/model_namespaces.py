"""The namespaces with the tables of `hbase_models`: made once, emptied between tests, and dropped.

With `--hbase-reuse-tables` those on a server that outlives the run are not dropped: the next run of
the same checkout empties them, and makes them again only if they differ from the models. Pytest's
cache has a file for each of them, with its name, and a lock that a run holds while it uses it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import uuid
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import IO, Any, TypeVar, cast

from hbase_orm import Engine, Model, connect
from hbase_orm.errors import SchemaError
from hbase_orm.gateway.base import Feature, Gateway, execute_within
from hbase_orm.ops import CreateTable, Operation
from hbase_orm.session.engine import runtime_of
from hbase_orm.testing.emptying import empty_tables, tables_of
from hbase_orm.testing.servers import RealHBase

R = TypeVar("R")

_THREADS = 4
"""How many tables are made at once; a server takes most of a second for one."""


@dataclass
class _Namespace:
    """A namespace of this run, with the engine that empties its tables."""

    name: str
    url: str
    engine: Engine
    is_kept: bool


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
        """Let another run use the namespace."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def read(self) -> tuple[str, list[str]]:
        """Return the namespace's name, and its tables once all are made; empty if none is kept."""
        if not self._file.exists():
            return "", []
        fields = json.loads(self._file.read_text())
        return fields["namespace"], fields["tables"]

    def write(self, name: str, tables: Sequence[str] = ()) -> None:
        """Keep a namespace's name, and its tables once all are made."""
        part = self._file.with_suffix(".part")
        part.write_text(json.dumps({"namespace": name, "tables": sorted(tables)}))
        part.rename(self._file)

    def forget(self) -> None:
        """Keep no namespace any more."""
        self._file.unlink(missing_ok=True)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


class ModelNamespaces:
    """The namespaces of this process: one for each collection of models that tests take.

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
        self._made: dict[tuple[type[Model], ...], _Namespace] = {}
        self._files: list[KeptNamespace] = []

    @cached_property
    def _hbase(self) -> RealHBase:
        return self._find_hbase()

    def url_of(self, models: Sequence[type[Model]]) -> str:
        """Return the URL of the namespace with the tables of models; make them if need be."""
        return self._of(tuple(models)).url

    def empty(self, models: Sequence[type[Model]]) -> str:
        """Empty the tables of models, and return the URL of their namespace."""
        namespace = self._of(tuple(models))
        empty_tables(namespace.engine)  # of what earlier tests wrote, however they ended
        return namespace.url

    def close(self) -> None:
        """Drop the namespaces with their tables, but not those that are kept."""
        for namespace in self._made.values():
            namespace.engine.close()
            if not namespace.is_kept:
                self._hbase.drop_namespace(namespace.name)
        for file in self._files:
            file.unlock()

    def _of(self, models: tuple[type[Model], ...]) -> _Namespace:
        namespace = self._made.get(models)
        if namespace is None:
            file = self._file_of(models)
            namespace = self._new(models) if file is None else self._kept(models, file)
            self._made[models] = namespace
        return namespace

    def _file_of(self, models: Iterable[type[Model]]) -> KeptNamespace | None:
        """Return the file of a namespace that is kept for models, locked; None if none is kept."""
        hbase = self._hbase
        if self._folder is None or hbase.source != "url":
            return None
        if self._drops_kept:
            self._drops_kept = False
            self._drop_kept_on(self._folder, hbase)
        if not self._reuses:
            return None
        tables = sorted(f"{model.__schema__.table} {model.__qualname__}" for model in models)
        file = KeptNamespace.of(self._folder, hbase.url, self._worker, *tables)
        if not file.lock():
            return None
        self._files.append(file)
        return file

    def _drop_kept_on(self, folder: Path, hbase: RealHBase) -> None:
        """Drop the kept namespaces of this server that no other run, or process of it, uses."""
        for file in KeptNamespace.on(folder, hbase.url):
            if file.lock():
                name, _ = file.read()
                hbase.drop_namespace(name)
                file.forget()
                file.unlock()

    def _kept(self, models: tuple[type[Model], ...], file: KeptNamespace) -> _Namespace:
        """Return the kept namespace, if its tables are as the models declare; or a new one."""
        name, tables = file.read()
        if name:
            kept = self._connected(name, is_kept=True)
            if tables and _are_unchanged(kept.engine, tables, models):
                return kept
            kept.engine.close()
            self._hbase.drop_namespace(name)
        return self._new(models, file)

    def _new(
        self, models: tuple[type[Model], ...], file: KeptNamespace | None = None
    ) -> _Namespace:
        name = f"n{uuid.uuid4().hex[:12]}"
        if file is not None:
            file.write(name)  # so that the next run drops what a killed run has made
        namespace = self._connected(name, is_kept=file is not None)
        try:
            create_tables(namespace.engine, models)
        except BaseException:
            namespace.engine.close()
            self._hbase.drop_namespace(name)
            raise
        if file is not None:
            file.write(name, tables_of(namespace.engine))
        return namespace

    def _connected(self, name: str, *, is_kept: bool) -> _Namespace:
        url = self._hbase.url_in(name)
        return _Namespace(name, url, connect(url), is_kept)


def _are_unchanged(engine: Engine, tables: Sequence[str], models: Sequence[type[Model]]) -> bool:
    """Return whether a namespace has these tables only, and they are as the models declare."""
    if sorted(tables_of(engine)) != tables:
        return False
    try:
        checks = engine.check_tables(*_made_at_once(models))
    except SchemaError:
        return False
    return not any(check.has_drift for check in checks)


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
    by_table: dict[str, list[type[Model]]] = {}
    for model in _made_at_once(models):
        by_table.setdefault(model.__schema__.table, []).append(model)
    first, *others = by_table.values() or [[]]
    runtime = runtime_of(engine)
    with runtime.diverted_to(_WithoutSplits(runtime.gateway)):
        engine.create_tables(*first)  # makes the namespace and the catalog for all
        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(lambda each: engine.create_tables(*each), others))


def _made_at_once(models: Iterable[type[Model]]) -> list[type[Model]]:
    """Return the models without those whose tables are made by the first write."""
    return [model for model in models if not _is_made_by_writes(model)]


def _is_made_by_writes(model: Any) -> bool:
    schema = getattr(model, "__schema__", None)  # what is no model is refused with the others
    period = None if schema is None else schema.layout.table_period
    return period is not None and period.is_made_by_writes
