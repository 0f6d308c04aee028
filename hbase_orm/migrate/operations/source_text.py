"""Writes operations as Python source, for revision files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final

from hbase_orm.record.spec_notation import codec_text
from hbase_orm.record.specifications import Spec

_LINE: Final = 100
_INDENT: Final = "    "


class SourceText(str):
    """A text that is source already, and is not quoted."""

    __slots__ = ()


def call(name: str, *positional: Any, comment: str = "", **keywords: Any) -> str:
    """Return the source of a call, on one line or with one argument a line, under a comment."""
    arguments = [value_text(each) for each in positional]
    arguments += [f"{key}={value_text(value)}" for key, value in keywords.items()]
    line = f"{name}({', '.join(arguments)})"
    if len(line) > _LINE - len(_INDENT) - 1:
        inner = "".join(f"{_INDENT}{argument},\n" for argument in arguments)
        line = f"{name}(\n{inner})"
    comments = "".join(f"# {each}\n" for each in comment.splitlines())
    return f"{comments}{line}"


def value_text(value: Any) -> str:
    """Return the source of a value."""
    match value:
        case SourceText():
            return str(value)
        case timedelta():
            return f"timedelta(seconds={value.total_seconds():g})"
        case Mapping():
            pairs = (f"{value_text(key)}: {value_text(each)}" for key, each in value.items())
            return f"{{{', '.join(pairs)}}}"
        case str():
            return (
                f'"{value}"'
                if value.isascii()
                and value.isprintable()
                and '"' not in value
                and "\\" not in value
                else repr(value)
            )
        case _ if callable(value):
            return function_text(value)
        case _:
            return repr(value)


def codec_source(spec: Spec) -> SourceText:
    """Return the source of the codec with this specification."""
    return SourceText(codec_text(spec))


def function_text(function: Callable[..., Any]) -> str:
    """Return the source of a function: its name, or for a lambda an ellipsis to replace."""
    name = getattr(function, "__name__", "")
    return name if name.isidentifier() else "..."
