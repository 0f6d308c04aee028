"""Models by the names that users write: `module:Class`, or `module` for all models of a module."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from operator import attrgetter
from pathlib import Path
from typing import Any

from hbase_orm.cli.project import MODEL_NAME, Project
from hbase_orm.errors import ConfigurationError, ModelImportError
from hbase_orm.model import Model, models
from hbase_orm.model.declare.placement import base_of
from hbase_orm.model.discovery import has_table, imported


def named_models(names: Iterable[str]) -> tuple[type[Model], ...]:
    """Return the models with these names, each once.

    A record type is left out if its base is returned, unless it was named as `module:Class`.

    Raises:
        ConfigurationError: A name has another form, a module cannot be imported or declares no
            model, or there is no such model.
    """
    named: dict[type[Model], bool] = {}
    for name in names:
        _check_form(name)
        is_class = ":" in name
        for model in [_model(name)] if is_class else _all_models(name):
            named[model] = named.get(model, False) or is_class
    return tuple(m for m, is_class in named.items() if is_class or base_of(m) not in named)


def named_value(name: str) -> Any:
    """Import the module of `module:NAME`, and return the value of this name in it.

    Raises:
        ConfigurationError: The name has another form, the module cannot be imported, or it has no
            such value.
    """
    _check_form(name)
    module_name, _, inner = name.partition(":")
    try:
        module = imported(module_name)
    except ModelImportError as error:
        raise _explained(error) from error
    try:
        return attrgetter(inner)(module)
    except AttributeError as error:
        raise ConfigurationError(
            "the module has no such name", module=module_name, name=inner, fix=_known(module)
        ) from error


def search_first(folder: Path | None, project: Project | None) -> None:
    """Let imports search `folder` first, then the folder of `project`; either may be None."""
    folders = [folder, None if project is None else project.folder]
    paths = [str(each) for each in dict.fromkeys(folders) if each is not None]
    sys.path[:0] = [path for path in paths if path not in sys.path]


def written(model: type[Model]) -> str:
    """Return a model's name as users write it: `shop.models:Order`."""
    return f"{model.__module__}:{model.__qualname__}"


def labels(models: Iterable[type[Model]]) -> dict[type[Model], str]:
    """Return a label for each model: its class name, or `module:Class` if others have that name."""
    every = [*models]
    times = Counter(model.__name__ for model in every)
    return {m: m.__name__ if times[m.__name__] == 1 else written(m) for m in every}


def _check_form(name: str) -> None:
    if not MODEL_NAME.fullmatch(name):
        raise ConfigurationError(
            "the name is neither of the form MODULE nor MODULE:CLASS",
            name=name,
            fix="write shop.models:Order, or shop.models for all its models",
        )


def _model(name: str) -> type[Model]:
    """Return the model of `module:Class`.

    Raises:
        ConfigurationError: There is no such model, or its module cannot be imported.
    """
    value = named_value(name)
    if not has_table(value):
        module, _, inner = name.partition(":")
        raise ConfigurationError(
            "the value is not a model with a table",
            module=module,
            name=inner,
            fix=_known(imported(module)),
        )
    model: type[Model] = value
    return model


def _all_models(module: str) -> list[type[Model]]:
    try:
        return models(module)
    except ModelImportError as error:
        raise _explained(error) from error


def _known(module: Any) -> str:
    """Return advice that lists the models of a module, and for a package how to list all models."""
    known = [name for name, value in vars(module).items() if has_table(value)]
    text = f"its models are: {', '.join(known)}" if known else "it has no models"
    if hasattr(module, "__path__"):
        text += f"; 'hbase-orm tables show {module.__name__}' lists those of its submodules"
    return text


def _explained(error: ModelImportError) -> ModelImportError:
    """Return an error; if no module has the name, add the folder that imports search first."""
    missing = error.details.get("missing")
    if missing is None or not f"{error.module}.".startswith(f"{missing}."):
        return error
    fix = "correct the name, install the module, or run the command in the folder that holds it"
    return ModelImportError(error.text, **error.details, searched_first=sys.path[0], fix=fix)
