"""The common parts of all commands: global options, output, and groups that load topics late."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from hbase_orm.errors import ConfigurationError


@dataclass(slots=True)
class Settings:
    """The global options, which click passes to every command as its context object.

    Attributes:
        url: The URL from `--url` or `HBASE_ORM_URL`; None if neither is given.
        is_json: Whether the answer is printed as JSON.
        is_debug: Whether an error is printed with its traceback.
    """

    url: str | None = None
    is_json: bool = False
    is_debug: bool = False

    def require_url(self) -> str:
        """Return the URL.

        Raises:
            ConfigurationError: No URL was given.
        """
        if self.url is None:
            raise ConfigurationError(
                "no URL was given",
                fix="give --url hbase://HOST:PORT or set HBASE_ORM_URL; "
                "'hbase-orm server start' starts a server and prints its URL",
            )
        return self.url


def settings() -> Settings:
    """Return the settings of the command that is running."""
    current: Settings = click.get_current_context().ensure_object(Settings)
    return current


def _set_json(_context: click.Context, _parameter: click.Parameter, given: bool) -> None:  # noqa: FBT001 -- click's signature
    if given:
        settings().is_json = True


def _set_debug(_context: click.Context, _parameter: click.Parameter, given: bool) -> None:  # noqa: FBT001 -- click's signature
    if given:
        settings().is_debug = True


def _shared_options() -> list[click.Parameter]:
    """Return the options `--json` and `--debug`, allowed before or after a command's name."""
    return [
        click.Option(
            ["--json"],
            is_flag=True,
            expose_value=False,
            callback=_set_json,
            help="Print the answer as JSON.",
        ),
        click.Option(
            ["--debug"],
            is_flag=True,
            expose_value=False,
            callback=_set_debug,
            help="Show the traceback of an error.",
        ),
    ]


class Command(click.Command):
    """A command that also has the options `--json` and `--debug`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Create a command, and add the options `--json` and `--debug`."""
        super().__init__(*args, **kwargs)
        self.params.extend(_shared_options())


class Group(click.Group):
    """A group that also has the options `--json` and `--debug`; its commands have them too."""

    command_class = Command
    group_class = type  # groups made within are of this class too

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Create a group, and add the options `--json` and `--debug`."""
        kwargs.setdefault("no_args_is_help", False)  # a missing command is an error of one line
        super().__init__(*args, **kwargs)
        self.params.extend(_shared_options())


class LateGroup(Group):
    """A group that imports a topic's module only when its command is needed."""

    def __init__(self, *args: Any, topics: Mapping[str, str], **kwargs: Any) -> None:
        """Create a group; `topics` has a `module:attribute` for each command's name."""
        super().__init__(*args, **kwargs)
        self._topics = topics

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, in the order of the help."""
        return [*super().list_commands(ctx), *self._topics]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of this name; import its module if the command is a topic."""
        if cmd_name not in self._topics:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = self._topics[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command


def note(line: str) -> None:
    """Print a line of progress to standard error, because standard output has only the answer."""
    click.echo(line, err=True)


def answer(value: Any, lines: Callable[[], Iterable[str]]) -> None:
    """Print a command's answer: `value` as JSON with `--json`, else `lines`."""
    if settings().is_json:
        click.echo(json.dumps(value, indent=2))
        return
    for line in lines():
        click.echo(line)


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterable[str]:
    """Yield the lines of a plain table with aligned columns, in the order of `rows`."""
    texts = [tuple(head), *(tuple(str(cell) for cell in row) for row in rows)]
    widths = [max(len(row[i]) for row in texts) for i in range(len(head))]
    for row in texts:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
