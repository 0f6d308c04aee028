"""Declarative models, planned queries and index tables on HBase.

Declare a model, connect, and work with its objects in a session:

    class Reading(Model, table="readings"):
        d = Family()
        host: Key[str] = key()
        at: Key[datetime] = key(codecs.millis(desc=True))
        value: Mapped[float] = column(d, "v")

    with connect("hbase://127.0.0.1:9090?thrift2=127.0.0.1:9091") as engine:
        engine.create_tables(Reading)
        with engine.session() as session:
            session.add(Reading(host="web-1", at=now, value=0.3))

A public name is imported when it is first used, so `import hbase_orm` itself costs little. Type
checkers read the names in `__init__.pyi`, which has the same ones.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from threading import RLock
from types import ModuleType

_PUBLIC = {
    "hbase_orm": (
        "codecs",
        "errors",
        "func",
        "validators",
    ),
    "hbase_orm.codecs": ("Codec",),
    "hbase_orm.model": (
        "Counter",
        "CounterExpr",
        "Dynamic",
        "Key",
        "Mapped",
        "Model",
        "Related",
        "RelatedExpr",
        "Version",
        "column",
        "counter",
        "dynamic",
        "is_stale",
        "key",
        "models",
        "related",
        "version",
    ),
    "hbase_orm.query": (
        "Plan",
        "Select",
        "select",
    ),
    "hbase_orm.rowkey": (
        "Bucket",
        "Component",
        "Computed",
        "Digest",
        "HashPrefix",
        "Offset",
        "Period",
        "RandomSalt",
        "RecordType",
        "RowKey",
        "Salt",
        "Substitute",
        "TablePerPeriod",
        "rowkey",
    ),
    "hbase_orm.schema": (
        "Assignment",
        "Condition",
        "DynamicExpr",
        "Expr",
        "Family",
        "Index",
        "Order",
        "Table",
    ),
    "hbase_orm.session": (
        "AlterationProgress",
        "BuildProgress",
        "Bulk",
        "CellVersion",
        "Drift",
        "Engine",
        "Finding",
        "FlushReport",
        "IndexState",
        "IndexStatus",
        "Page",
        "RowPair",
        "Session",
        "StoredCell",
        "Stream",
        "TableChange",
        "TableCheck",
        "TableDifference",
        "Verification",
        "connect",
    ),
}
"""The public names by the module that has them; submodules are below the package itself."""

_MODULES = {name: module for module, names in _PUBLIC.items() for name in names}

__all__ = [*sorted(_MODULES)]  # noqa: PLE0604  # strings, from the table

# Two threads that import a package and a module of it at the same time can get an error from
# Python's check for deadlocks. So one thread at a time imports for public names.
_importing = RLock()
os.register_at_fork(
    before=_importing.acquire,
    after_in_parent=_importing.release,
    after_in_child=_importing.release,
)


class _Package(ModuleType):
    """A package whose function `rowkey` is not replaced by its submodule of the same name."""

    def __setattr__(self, name: str, value: object) -> None:
        """Set an attribute, unless the import system sets a submodule over a public name."""
        if isinstance(value, ModuleType) and _MODULES.get(name, __name__) != __name__:
            return
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> object:
    """Import a public name on first use, and keep it as an attribute of the package."""
    if name == "__version__":
        value = _version()
    elif name in _MODULES:
        value = _imported(name, _MODULES[name])
    else:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return all names, also those that are not imported yet."""
    return sorted({*globals(), *__all__, "__version__"})


def _imported(name: str, module: str) -> object:
    with _importing:
        if module == __name__:
            return import_module(f"{module}.{name}")
        return getattr(import_module(module), name)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415  # slow

    try:
        return version("hbase-orm")
    except PackageNotFoundError:  # run from a checkout that is not installed
        return "unknown"
