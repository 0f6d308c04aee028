"""Writes the pages of the reference that are made of the code: URL options and commands.

    python docs/website/reference_pages.py             # what `make reference` runs

A test compares the written pages with what this program makes of the code.
"""  # noqa: INP001  # a program, not a package

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Final

import click

from hbase_orm.binding.url import MEMORY_OPTIONS, OPTION_NAMES, EngineOptions
from hbase_orm.cli.main import cli

FOLDER: Final = Path(__file__).parents[1] / "reference"

_SHARED: Final = frozenset({"json", "debug", "help"})
_MARK: Final = "<!-- written by `make reference`: change the code, not this page -->"

_URL_HEAD: Final = """\
# URL options

An engine's URL names the gateways, a namespace and options:

    hbase://host[:port][,host2[:port]][/namespace]?option=value&option=value
    memory://[name][/namespace]?option=value

`hbase://` takes the addresses of Thrift1 gateways of one HBase; the port is 9090 if none is given.
`memory://` has tables in this process, for tests, and takes only {memory}.
[Deploy and configure](../how-to/deploy.md) says which options matter when.

| option | without it | what it says |
| --- | --- | --- |
"""

_COMMANDS_HEAD: Final = """\
# All commands and options

Each command as `--help` shows it. [The command line](../command-line.md) explains the commands
with examples, and how models and the URL are found. All commands take three more options: `--json`
prints the answer as JSON, `--debug` shows the traceback of an error, and `-h` or `--help` shows the
command's help.

"""


def pages() -> Mapping[str, str]:
    """Return the text of each page, by the name of its file."""
    return {"url-options.md": _url_options(), "commands.md": _commands()}


def option_meanings() -> Mapping[str, str]:
    """Return what each attribute of `EngineOptions` means, as its docstring says."""
    text = inspect.getdoc(EngineOptions) or ""
    _, _, listed = text.partition("Attributes:\n")
    found = re.findall(r"^    (\w+): (.*?)(?=^    \w|\Z)", listed, re.MULTILINE | re.DOTALL)
    return {name: " ".join(meaning.split()) for name, meaning in found}


def _url_options() -> str:
    meanings = option_meanings()
    defaults = {each.name: each.default for each in fields(EngineOptions)}
    rows = [
        f"| `{name}` | {_default(defaults[name])} | {_cell(meanings[name])} |"
        for name in OPTION_NAMES
    ]
    memory = ", ".join(f"`{name}`" for name in OPTION_NAMES if name in MEMORY_OPTIONS)
    return _URL_HEAD.format(memory=memory) + "\n".join(rows) + f"\n\n{_MARK}\n"


def _default(value: object) -> str:
    if value == ():
        return "no such gateway"
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def _commands() -> str:
    return (
        _COMMANDS_HEAD
        + "\n".join(_sections("hbase-orm", cli, click.Context(cli))).rstrip()
        + f"\n\n{_MARK}\n"
    )


def _sections(path: str, command: click.Command, context: click.Context) -> Iterator[str]:
    """Yield the lines about a command, then those about the commands of a group."""
    yield from (f"## {path}", "", "```text", _usage(path, command, context), "```", "")
    yield from _paragraphs(command.help or "")
    yield from _option_table(command)
    yield from _paragraphs(command.epilog or "")
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _sections(f"{path} {name}", inner, click.Context(inner, parent=context))


def _usage(path: str, command: click.Command, context: click.Context) -> str:
    return " ".join([path, *command.collect_usage_pieces(context)])


def _paragraphs(text: str) -> Iterator[str]:
    """Yield a help text as Markdown; indented lines that click would not wrap become a block."""
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        lines = paragraph.removeprefix("\b\n")
        if "\n  " in f"\n{lines}" and lines != paragraph:
            yield from ("```text", textwrap.dedent(lines), "```", "")
        elif lines:
            yield from (_escaped(lines), "")


def _option_table(command: click.Command) -> Iterator[str]:
    options = [
        each
        for each in command.params
        if isinstance(each, click.Option) and each.name not in _SHARED and not each.hidden
    ]
    if not options:
        return
    yield from ("| option | what it does |", "| --- | --- |")
    for option in options:
        yield f"| {_names(option)} | {_cell(_escaped(option.help or ''))}{_notes(option)} |"
    yield ""


def _names(option: click.Option) -> str:
    names = ", ".join([*option.opts, *option.secondary_opts])
    takes = "" if option.is_flag or option.count else f" {option.make_metavar(_no_context())}"
    return f"`{names}{takes}`".replace("|", "\\|")


def _no_context() -> click.Context:
    return click.Context(click.Command("none"))


def _notes(option: click.Option) -> str:
    notes = []
    if option.required:
        notes.append("required")
    if option.multiple:
        notes.append("may be repeated")
    if option.envvar:
        notes.append(f"environment: `{option.envvar}`")
    if option.show_default and option.default is not None and not callable(option.default):
        notes.append(f"default: `{option.default}`")
    return f" *({'; '.join(notes)})*" if notes else ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _escaped(text: str) -> str:
    """Return plain text whose characters mean nothing to Markdown; code stays code."""
    return "`".join(
        part if at % 2 else re.sub(r"([*<\[\]])", r"\\\1", part)
        for at, part in enumerate(text.split("`"))
    )


if __name__ == "__main__":
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
