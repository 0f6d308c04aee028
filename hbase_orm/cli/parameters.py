"""Types of arguments: a model as `module:Class`, a row key as text."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import click

_ESCAPE = re.compile(r"\\x([0-9A-Fa-f]{2})|\\\\|[^\\]+")
_PLAIN = range(0x20, 0x7F)
_BACKSLASH = ord("\\")


class ModelType(click.ParamType):  # type: ignore[type-arg] # older click has no argument for it
    """A model class, given as `module:Class`; the current directory is searched first."""

    name = "module:Class"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> type[Any]:
        """Import the module and return the class."""
        module_name, colon, class_name = str(value).partition(":")
        if not (colon and module_name and class_name):
            self.fail(f"{value!r} is not of the form module:Class.", param, ctx)
        module = self._import(module_name, param, ctx)
        found = getattr(module, class_name, None)
        if not isinstance(found, type) or not _is_model(found):
            self.fail(_no_model(module, class_name, found), param, ctx)
        return found

    def _import(
        self, name: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> ModuleType:
        here = str(Path.cwd())
        if here not in sys.path:
            sys.path.insert(0, here)
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
                self.fail(f"there is no module {error.name!r} in {here} or installed.", param, ctx)
            self.fail(f"module {name!r} needs {error.name!r}, which is missing.", param, ctx)
        except Exception as error:  # noqa: BLE001 -- the user's module may raise anything
            reason = f"{type(error).__name__}: {error}"
            self.fail(f"module {name!r} cannot be imported: {reason}", param, ctx)


def _is_model(found: object) -> bool:
    from hbase_orm.model.base import Model  # noqa: PLC0415 -- slow; only commands with models need it

    # Model itself and mixins have no schema.
    return inspect.isclass(found) and issubclass(found, Model) and hasattr(found, "__schema__")


def _no_model(module: ModuleType, class_name: str, found: object) -> str:
    what = f"there is no {class_name!r}" if found is None else f"{class_name!r} is not a model"
    models = sorted(name for name, value in vars(module).items() if _is_model(value))
    known = f"its models are {', '.join(models)}" if models else "it has no models"
    return f"{what} in module {module.__name__!r}; {known}."


class KeyType(click.ParamType):  # type: ignore[type-arg] # older click has no argument for it
    r"""A row key as HBase prints it: text, with `\xNN` for other bytes and `\\` for a backslash."""

    name = "key"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> bytes:
        """Return the bytes that the text stands for."""
        if isinstance(value, bytes):
            return value
        parts = list(_ESCAPE.finditer(value))
        if sum(len(part.group()) for part in parts) != len(value):
            self.fail(f"{value!r} has a backslash that is neither \\xNN nor \\\\.", param, ctx)
        return b"".join(_part(part) for part in parts)


def _part(part: re.Match[str]) -> bytes:
    if part.group(1):
        return bytes.fromhex(part.group(1))
    return b"\\" if part.group() == "\\\\" else part.group().encode()


def show_key(key: bytes) -> str:
    r"""Return a row key as text that `KeyType` reads back.

    Examples:
        >>> show_key(b"a\x00\\")
        'a\\x00\\\\'
    """
    return "".join(
        "\\\\" if byte == _BACKSLASH else chr(byte) if byte in _PLAIN else f"\\x{byte:02X}"
        for byte in key
    )


MODEL = ModelType()
KEY = KeyType()
