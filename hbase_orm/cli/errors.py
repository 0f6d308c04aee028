"""The exit codes of commands, by class of error."""

from __future__ import annotations

from enum import IntEnum

import click

from hbase_orm import errors


class ExitCode(IntEnum):
    """The exit codes."""

    OK = 0
    FAILED = 1
    USAGE = 2
    UNREACHABLE = 3
    DATA = 4
    INTERNAL = 5
    INTERRUPTED = 130


class DeclinedError(click.ClickException):
    """The question whether to go on was answered with no; nothing was changed."""

    def __init__(self) -> None:
        """Create the error with its text."""
        super().__init__("nothing was changed: the answer was no")


EXIT_CODES_HELP = """\
\b
Exit codes:
  0    done
  1    the command found a problem, or could not do what was asked, or its question was answered
       with no: nothing was changed
  2    wrong usage: an option, a URL, a model's declaration or a statement
  3    the server or a gateway cannot be reached or started
  4    the data does not allow it: a conflict, a missing row, a refused write
  5    an error inside hbase-orm: please report it
  130  interrupted
"""

_BY_CLASS: tuple[tuple[type[errors.HBaseORMError], ExitCode], ...] = (
    (errors.ConfigurationError, ExitCode.USAGE),
    (errors.SchemaError, ExitCode.USAGE),
    (errors.QueryError, ExitCode.USAGE),
    (errors.ServerNotRunningError, ExitCode.UNREACHABLE),
    (errors.PortInUseError, ExitCode.UNREACHABLE),
    (errors.JavaNotFoundError, ExitCode.UNREACHABLE),
    (errors.JavaUnsuitableError, ExitCode.UNREACHABLE),
    (errors.MavenNotFoundError, ExitCode.UNREACHABLE),
    (errors.DiskFullError, ExitCode.UNREACHABLE),
    (errors.ServerDiedError, ExitCode.UNREACHABLE),
    (errors.RetryableError, ExitCode.UNREACHABLE),
    (errors.ConnectionLostError, ExitCode.UNREACHABLE),
    (errors.ConflictError, ExitCode.DATA),
    (errors.RejectedError, ExitCode.DATA),
    (errors.FlushError, ExitCode.DATA),
    (errors.DataLossError, ExitCode.DATA),
    (errors.RowNotFoundError, ExitCode.DATA),
    (errors.MultipleRowsError, ExitCode.DATA),
    (errors.CorruptRowError, ExitCode.DATA),
    (errors.RowKeyError, ExitCode.DATA),
    (errors.CodecError, ExitCode.DATA),
    (errors.ValidationError, ExitCode.DATA),
    (errors.HBaseORMError, ExitCode.FAILED),
)
"""The exit codes by class of error. The first class that fits counts; the last class fits all."""


def exit_code(error: errors.HBaseORMError) -> ExitCode:
    """Return the exit code for an error; for a failed migration that of the cause."""
    if isinstance(error, errors.MigrationError) and isinstance(
        error.__cause__, errors.HBaseORMError
    ):
        return exit_code(error.__cause__)
    return next(code for kind, code in _BY_CLASS if isinstance(error, kind))


def one_line(error: BaseException) -> str:
    """Return an error's text as one line."""
    text = " ".join(str(error).split())
    return text if isinstance(error, errors.HBaseORMError) else f"{type(error).__name__}: {text}"
