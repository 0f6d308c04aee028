"""The common parts of all commands: global options, output, and groups that load topics late."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from hbase_orm.cli.project import SECTION, Project, find_project
from hbase_orm.errors import ConfigurationError


class ReaderGoneError(Exception):
    """The reader of the output, such as `head` or `less`, has seen enough."""


@dataclass(slots=True)
class Settings:
    """The global options, which click passes to every command as its context object.

    Attributes:
        url: The URL from `--url`, from `HBASE_ORM_URL` or, after `find_url` was called, from
            pyproject.toml. Empty if `--url` is empty; None if there is no URL.
        is_json: Whether the answer is printed as JSON.
        is_debug: Whether an error is printed with its traceback.
        is_without_model: Whether the command uses the models of pyproject.toml, because the user
            named none.
    """

    url: str | None = None
    is_json: bool = False
    is_debug: bool = False
    is_without_model: bool = False
    _projects: list[Project | None] = field(default_factory=list)

    def project(self) -> Project | None:
        """Return the settings of the project of the current directory; None if it has no project.

        Raises:
            ConfigurationError: A pyproject.toml cannot be read, or its section is wrong.
        """
        if not self._projects:
            self._projects.append(find_project(Path.cwd()))
        return self._projects[0]

    def find_url(self) -> str | None:
        """Return the URL of the option, of the environment or of pyproject.toml, in this order.

        Return None if there is no URL, or if the option is empty. Then the command sends nothing.

        Raises:
            ConfigurationError: pyproject.toml cannot be read, or its section or URL is wrong.
        """
        if self.url is None:
            project = self.project()
            self.url = None if project is None else project.checked_url()
        return self.url or None

    def require_url(self) -> str:
        """Return the URL.

        Raises:
            ConfigurationError: No URL was given, or the URL of pyproject.toml is wrong.
        """
        url = self.find_url()
        if url is None:
            raise ConfigurationError(
                "no URL was given",
                fix="give --url hbase://HOST:PORT, set HBASE_ORM_URL, or write url = "
                f'"hbase://HOST:PORT" below {SECTION} in pyproject.toml; '
                "'hbase-orm server start' starts a server and prints its URL",
            )
        return url


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
            is_eager=True,  # an error in another option is shown in the same way
            expose_value=False,
            callback=_set_json,
            help="Print the answer as JSON.",
        ),
        click.Option(
            ["--debug"],
            is_flag=True,
            is_eager=True,  # an error in another option is shown in the same way
            expose_value=False,
            callback=_set_debug,
            help="Show the traceback of an error.",
        ),
    ]


class NotedArgument(click.Argument):
    """An argument that is explained below the options in the help of its command."""

    def __init__(self, *args: Any, note: str, **kwargs: Any) -> None:
        """Create an argument with its explanation."""
        super().__init__(*args, **kwargs)
        self.note = note


class Command(click.Command):
    """A command that also has the options `--json` and `--debug`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Create a command, and add the options `--json` and `--debug`."""
        super().__init__(*args, **kwargs)
        notes = [each.note for each in self.params if isinstance(each, NotedArgument)]
        self.epilog = self.epilog or "\n\n".join(notes) or None
        self.params.extend(_shared_options())

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command.

        Raises:
            ReaderGoneError: The reader of the output has seen enough.
        """
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ReaderGoneError from error  # click would end the program, with the exit code 1


class Group(click.Group):
    """A group that also has the options `--json` and `--debug`; its commands have them too."""

    command_class = Command
    group_class = type  # groups made within are of this class too

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Create a group, and add the options `--json` and `--debug`."""
        kwargs.setdefault("no_args_is_help", False)  # a missing command is an error of one line
        super().__init__(*args, **kwargs)
        self.params.extend(_shared_options())


@dataclass(frozen=True, slots=True)
class Topic:
    """A command that is imported when it is used.

    Attributes:
        place: The command as `module:attribute`.
        summary: The first sentence of its help, for the list of commands.
    """

    place: str
    summary: str

    def load(self) -> click.Command:
        """Return the command; its module is imported now."""
        module, _, attribute = self.place.partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command


class _OrderedGroup(click.Group):
    """A group that lists its commands in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        return list(self.commands)


class LateGroup(Group):
    """A group whose topics are imported when they are used, and not for the group's own help."""

    def __init__(self, *args: Any, topics: Mapping[str, Topic], **kwargs: Any) -> None:
        """Create a group; `topics` has the commands by name."""
        super().__init__(*args, **kwargs)
        self._topics = topics

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, in the order of the help."""
        return [*super().list_commands(ctx), *self._topics]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of this name; if it is one of `topics`, its module is imported now."""
        if cmd_name not in self._topics:
            return super().get_command(ctx, cmd_name)
        return self._topics[cmd_name].load()

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands and options that begin with `incomplete`; topics are not imported."""
        topics = [
            CompletionItem(name, help=topic.summary)
            for name, topic in self._topics.items()
            if name.startswith(incomplete)
        ]
        return [*topics, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands by the summaries of the topics."""
        topics = {
            name: click.Command(name, help=topic.summary) for name, topic in self._topics.items()
        }
        _OrderedGroup(commands={**self.commands, **topics}).format_commands(ctx, formatter)


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
