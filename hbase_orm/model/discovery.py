"""Finds the models that modules and packages declare.

The modules are imported, and then only their names are read: nothing is registered when a class is
made, and no class is kept alive.
"""

from __future__ import annotations

import importlib
import pkgutil
import traceback
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from hbase_orm.errors import ConfigurationError, ModelImportError, shown
from hbase_orm.model.base import Model
from hbase_orm.model.declare.placement import base_of

_PROGRAM: Final = "__main__"  # `python -m package` runs this module: to import it is to run it
_Names = Mapping[str, Any]
_Named = tuple[str, type[Model]]
_FIX: Final = 'write hbase_orm.models("shop.models"), or the module itself'


def models(*modules: str | ModuleType) -> list[type[Model]]:
    """Import modules and packages, and return the models with a table that they declare.

    A package stands for itself and all its submodules, at any depth, except those named `__main__`.
    A subfolder without `__init__.py` belongs to the package if a module is directly in the folder.

    A model is returned if its `__module__` is one of these modules, and if it has a name in one of
    them: as a variable of the module, or inside a class there. So a model that was only imported
    from elsewhere is left out, and so is a class that a function made and did not assign to a
    variable of the module. A record type is left out if its base is returned: the base stands for
    the table, and has the families of all record types.

    Args:
        modules: Names as `shop.models`, or module objects. The folder of a module must be on
            `sys.path`, which is not changed.

    Returns:
        Each model once, by module, and within a module in the order of definition. The modules are
        in the order of the arguments; a package is followed by its submodules, sorted by name.

    Raises:
        ModelImportError: A module does not exist, or its import failed. The error of the import is
            the `__cause__`; the detail `missing` is the missing module, and `at` is the line that
            failed, if they are known.
        ConfigurationError: A module or package declares no model with a table, no argument is
            given, or an argument is neither a module nor the dotted name of one.

    Examples:
        >>> engine.create_tables(*hbase_orm.models("shop.models"))  # doctest: +SKIP
    """
    if not modules:
        raise ConfigurationError("no module was named", fix=_FIX)
    declared: dict[type[Model], None] = {}
    for each in modules:
        declared |= dict.fromkeys(_models_of(imported(each)))
    return [model for model in declared if base_of(model) not in declared]


def has_table(value: object) -> bool:
    """Return whether a value is a model with a table, or a record type in the table of its base.

    False for `Model` itself, for classes with `abstract=True`, and for any other value.
    """
    # An abstract class may inherit the schema of a model.
    return isinstance(value, type) and issubclass(value, Model) and "__schema__" in vars(value)


def _models_of(root: ModuleType) -> list[type[Model]]:
    """Return the models that a module or package declares, record types included.

    Raises:
        ModelImportError: A submodule cannot be imported.
        ConfigurationError: The module or package declares no model.
    """
    modules = [root, *_submodules(root)]
    places = {module.__name__: place for place, module in enumerate(modules)}
    named = [model for module in modules for model in _named_models(module.__name__, vars(module))]
    own = dict.fromkeys(model for name, model in named if model.__module__ == name)
    # Those that a function of another module made come last.
    own |= dict.fromkeys(model for _, model in named if model.__module__ in places)
    if not own:
        raise _no_models(root, modules, [model for _, model in named])
    return sorted(own, key=lambda model: places[model.__module__])


def _named_models(module: str, names: _Names, outer: str = "") -> Iterator[_Named]:
    """Yield a pair of the module's name and the model for each model in a namespace of a module.

    Args:
        module: The name of the module.
        names: The namespace of the module, or of a class in it.
        outer: The qualified name of this class and a dot; empty for the module's own namespace.
    """
    for value in [*names.values()]:
        if not isinstance(value, type):
            continue
        if has_table(value):
            yield module, value
        if value.__module__ == module and value.__qualname__ == f"{outer}{value.__name__}":
            yield from _named_models(module, vars(value), f"{value.__qualname__}.")


def _no_models(
    root: ModuleType, modules: Iterable[ModuleType], imported: Iterable[type[Model]]
) -> ConfigurationError:
    elsewhere = sorted({f"{model.__module__}.{model.__qualname__}" for model in imported})
    details: dict[str, Any] = {"module": root.__name__}
    if hasattr(root, "__path__"):
        details["searched"] = [module.__name__ for module in modules]
    if elsewhere:
        details["imported"] = elsewhere
        fix = "name the modules that declare the imported models"
    else:
        fix = 'declare a class with a table, class Order(Model, table="orders"), or name another '
        fix += "module"
    return ConfigurationError("the module declares no model with a table", **details, fix=fix)


# --- imports --------------------------------------------------------------------------------------


def imported(module: object) -> ModuleType:
    """Return a module object unchanged; import a module that is given by its name.

    Raises:
        ModelImportError: The module cannot be imported.
        ConfigurationError: The argument is neither a module object nor a dotted name.
    """
    if isinstance(module, ModuleType):
        return module
    if isinstance(module, str) and all(part.isidentifier() for part in module.split(".")):
        return _import(module)
    if isinstance(module, (list, tuple, set, frozenset)):
        fix = f"give the modules one by one: hbase_orm.models({', '.join(map(repr, module))})"
    elif isinstance(module, type):
        fix = "a class needs no search: give the class itself to engine.create_tables"
    else:
        fix = _FIX
    raise ConfigurationError(
        "the argument is neither a module nor the dotted name of a module",
        got=shown(module),
        fix=fix,
    )


def _import(name: str) -> ModuleType:
    """Import a module.

    Raises:
        ModelImportError: The module does not exist, or its code raised an error.
    """
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:  # the user's module may raise anything
        raise _import_error(name, error) from error


def _import_error(name: str, error: BaseException) -> ModelImportError:
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    if missing is not None and f"{name}.".startswith(f"{missing}."):
        return ModelImportError(
            "there is no module of this name",
            module=name,
            missing=missing,
            fix="correct the name, or put the folder that holds the module on sys.path",
        )
    at = _line_of(name, error)
    where = {} if at is None else {"at": at}
    if missing is not None:
        return ModelImportError(
            "the module imports another module that does not exist",
            module=name,
            missing=missing,
            **where,
            fix="install the missing module, or correct the import",
        )
    return ModelImportError(
        "the module raised an error while it was imported",
        module=name,
        **where,
        error=f"{type(error).__name__}: {error}",
        fix="correct the module",
    )


def _line_of(name: str, error: BaseException) -> str | None:
    """Return the last file and line in the module's package that led to the error, or None."""
    if isinstance(error, SyntaxError) and Path(error.filename or "").is_file():
        return f"{error.filename}:{error.lineno}"
    package = name.partition(".")[0]
    own = [
        f"{frame.f_code.co_filename}:{line}"
        for frame, line in traceback.walk_tb(error.__traceback__)
        if f"{frame.f_globals.get('__name__')}.".startswith(f"{package}.")
    ]
    return own[-1] if own else None


def _submodules(package: ModuleType) -> Iterator[ModuleType]:
    """Import the submodules of a package at any depth, and yield them; none for a plain module."""
    for name in sorted({*_names_within(getattr(package, "__path__", ()))}):
        if name != _PROGRAM:
            module = _import(f"{package.__name__}.{name}")
            yield module
            yield from _submodules(module)


def _names_within(folders: Iterable[str]) -> Iterator[str]:
    """Yield the names of the modules and packages that are directly in the folders of a package."""
    paths = [*folders]
    for module in pkgutil.iter_modules(paths):
        if module.name.isidentifier():  # `try-out.py` is a script: no statement can import it
            yield module.name
    for path in map(Path, paths):
        for folder in path.iterdir() if path.is_dir() else ():
            if folder.name.isidentifier() and folder.name != "__pycache__" and _has_module(folder):
                yield folder.name


def _has_module(folder: Path) -> bool:
    """Return whether a module's source is directly in a folder."""
    return folder.is_dir() and any(file.stem.isidentifier() for file in folder.glob("*.py"))
