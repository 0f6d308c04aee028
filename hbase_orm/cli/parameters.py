"""Types of arguments: models and statements as `module:NAME`, row keys, and times."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from hbase_orm.errors import HBaseORMError, RowKeyError
from hbase_orm.rowkey.notation import from_string_binary, to_string_binary

_TYPED = re.compile(r"\\x(?P<byte>[0-9A-Fa-f]{2})|\\\\|(?P<stray>\\)|[^\x00-\x7F]+")


class ModelType(click.ParamType):  # type: ignore[type-arg] # older click has no argument for it
    """A model class, given as `module:Class`; the current directory is searched first."""

    name = "module:Class"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> type[Any]:
        """Import the module and return the class."""
        module, class_name, member = self._named(value, param, ctx)
        if not isinstance(member, type) or not _is_model(member):
            self.fail(_no_model(module, class_name, member), param, ctx)
        return member

    def _named(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[ModuleType, str, object]:
        """Return the module, the name after the colon, and its object (None if it is missing)."""
        module_name, colon, name = str(value).partition(":")
        if not (colon and module_name and name):
            self.fail(f"{value!r} is not of the form {self.name}.", param, ctx)
        module = self._import(module_name, param, ctx)
        return module, name, getattr(module, name, None)

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


def _is_model(member: object) -> bool:
    from hbase_orm.model.base import Model  # noqa: PLC0415 -- slow; only commands with models need it

    # Model itself and mixins have no schema.
    return inspect.isclass(member) and issubclass(member, Model) and hasattr(member, "__schema__")


def _no_model(module: ModuleType, class_name: str, member: object) -> str:
    what = f"there is no {class_name!r}" if member is None else f"{class_name!r} is not a model"
    models = sorted(name for name, value in vars(module).items() if _is_model(value))
    known = f"its models are {', '.join(models)}" if models else "it has no models"
    return f"{what} in module {module.__name__!r}; {known}."


class StatementType(ModelType):
    """A statement, given as `module:NAME`: NAME is a model, a statement or a function.

    A model stands for the statement that selects all its objects. A function must return a
    statement and need no arguments.
    """

    name = "module:NAME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Import the module and return the statement."""
        from hbase_orm.query import Select, select  # noqa: PLC0415 -- slow, as models are

        module, name, member = self._named(value, param, ctx)
        if isinstance(member, type) and _is_model(member):
            return select(member)
        is_function = callable(member) and not isinstance(member, (type, Select))
        made = self._call(member, name, param, ctx) if is_function else member
        if not isinstance(made, Select):
            what = f"there is no {name!r}" if member is None else f"{name!r} gives no statement"
            self.fail(
                f"{what} in module {module.__name__!r}: name a model, a statement, or a function "
                "without arguments that returns one.",
                param,
                ctx,
            )
        return made

    def _call(
        self, function: Any, name: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> object:
        try:
            inspect.signature(function).bind()
        except (TypeError, ValueError) as error:
            self.fail(f"{name}() cannot be called without arguments: {error}.", param, ctx)
        try:
            return function()
        except HBaseORMError:
            raise
        except Exception as error:  # noqa: BLE001 -- the user's function may raise anything
            self.fail(f"{name}() raised {type(error).__name__}: {error}", param, ctx)


class KeyType(click.ParamType):  # type: ignore[type-arg] # older click has no argument for it
    r"""A row key in HBase's notation; users may also type `\xff`, a doubled backslash, and `ü`."""

    name = "key"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> bytes:
        """Return the bytes of the row key."""
        if isinstance(value, bytes):
            return value
        try:
            return read_key(value)
        except RowKeyError:
            self.fail(f"{value!r} has a backslash that is neither \\xNN nor \\\\.", param, ctx)


def read_key(text: str) -> bytes:
    r"""Return the bytes of a row key that a user typed.

    Raises:
        RowKeyError: A backslash is neither `\xNN` nor doubled.
    """
    return from_string_binary(_TYPED.sub(_as_shown, text))


def _as_shown(match: re.Match[str]) -> str:
    typed = match.group()
    if match["stray"]:
        raise RowKeyError(
            "the key has a backslash without the character that it escapes",
            text=match.string,
            position=match.start(),
        )
    if match["byte"]:
        return r"\x" + match["byte"].upper()
    # Bytes of an argument that are no UTF-8 come as surrogates.
    return to_string_binary(b"\\" if typed == r"\\" else typed.encode(errors="surrogateescape"))


class InstantType(click.ParamType):  # type: ignore[type-arg] # older click has no argument for it
    """A time in ISO 8601 with an offset, or a date, which means midnight in UTC."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """Return the time."""
        if isinstance(value, datetime):
            return value
        try:
            at = datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is not a time in ISO 8601.", param, ctx)
        if at.tzinfo is None and len(value) <= len("2026-01-31"):
            return at.replace(tzinfo=UTC)
        if at.tzinfo is None:
            self.fail(f"{value!r} has no offset from UTC: add one, as +00:00.", param, ctx)
        return at


INSTANT = InstantType()
MODEL = ModelType()
STATEMENT = StatementType()
KEY = KeyType()
