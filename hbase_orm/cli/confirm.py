"""Asks for confirmation before something is changed or dropped."""

from __future__ import annotations

import sys
from typing import Final

import click

from hbase_orm.binding.url import shown_url
from hbase_orm.cli.errors import DeclinedError
from hbase_orm.errors import ConfigurationError

_FIX: Final = "give --yes"


def confirm_at(what: str, url: str, *, fix: str = _FIX) -> None:
    """Ask whether to drop something at the gateways of a URL; return only if the answer is yes.

    Args:
        what: The question, without the URL and its question mark.
        url: The URL; it is not shown if it is wrong, because it may contain a password.
        fix: What to do where nobody can answer.

    Raises:
        ConfigurationError: Standard input is not a terminal.
        DeclinedError: The answer is no.
        click.Abort: The user has interrupted the question.
    """
    confirm(f"{what}, at {shown_url(url)}", fix=fix)


def confirm(what: str, *, fix: str = _FIX) -> None:
    """Ask whether to continue; return only if the answer is yes.

    Args:
        what: The question, without its question mark.
        fix: What to do where nobody can answer.

    Raises:
        ConfigurationError: Standard input is not a terminal.
        DeclinedError: The answer is no.
        click.Abort: The user has interrupted the question.
    """
    try:
        is_wanted = click.confirm(what, err=True)
    except click.Abort:
        if sys.stdin.isatty():
            raise
        raise ConfigurationError(
            "the command asks for a confirmation, but its input is not a terminal",
            question=what,
            fix=fix,
        ) from None
    if not is_wanted:
        raise DeclinedError
