"""`hbase-orm completion`: print the script by which a shell completes commands."""

from __future__ import annotations

from typing import Final

import click
from click.shell_completion import ShellComplete, get_completion_class

from hbase_orm.cli.frame import Command, answer

_PROGRAM: Final = "hbase-orm"
_VARIABLE: Final = "_HBASE_ORM_COMPLETE"
"""The variable by which the script calls the program; click makes it of the program's name."""

_SHELLS: Final = ("bash", "zsh", "fish")


@click.command(cls=Command)
@click.argument("shell_name", metavar="SHELL", type=click.Choice(_SHELLS))
def completion(shell_name: str) -> None:
    """Print a script for bash, zsh or fish that completes commands, options and models with Tab.

    \b
    Write into ~/.bashrc, or ~/.zshrc with zsh:
      eval "$(hbase-orm completion bash)"
    Or once for fish:
      hbase-orm completion fish > ~/.config/fish/completions/hbase-orm.fish

    The models of pyproject.toml are completed by their names there.
    """  # noqa: D301 -- click's mark, not an escape
    kind = get_completion_class(shell_name)
    if kind is None:
        raise AssertionError(shell_name)  # click has all three
    root = click.get_current_context().find_root().command
    # The class of bash would start a bash to look at its version.
    script = ShellComplete.source(kind(root, {}, _PROGRAM, _VARIABLE))
    answer({"shell": shell_name, "script": script}, lambda: [script.rstrip()])
