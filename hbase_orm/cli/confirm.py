"""Asks for confirmation before something is dropped."""

from __future__ import annotations

import sys

import click

from hbase_orm.errors import ConfigurationError


def confirm(what: str) -> None:
    """Ask whether to continue; return only if the answer is yes.

    Args:
        what: The question, without its question mark.

    Raises:
        ConfigurationError: Standard input is not a terminal.
        click.Abort: The answer is no.
    """
    try:
        is_wanted = click.confirm(what, err=True)
    except click.Abort:
        if sys.stdin.isatty():
            raise
        raise ConfigurationError(
            "the command asks for a confirmation, but its input is not a terminal",
            question=what,
            fix="give --yes",
        ) from None
    if not is_wanted:
        raise click.Abort
