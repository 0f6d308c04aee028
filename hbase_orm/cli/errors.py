"""The exit codes of commands, by class of error."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

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


def as_options(text: str) -> str:
    """Replace methods of `Select` in an error's text by options of the command line.

    Advice to call a method that has no such option is removed.
    """
    text = text.replace(".allow_full_scan()", "--allow-full-scan")
    text = text.replace('.on_corrupt("skip"), or ', "")
    return text.replace("; or sort the rows in memory: .sort_in_memory(..., max_rows=...)", "")


def error_as_json(error: BaseException, text: str, code: ExitCode) -> dict[str, Any]:
    """Return an error as a value for JSON: its class, message, details, fix and exit code.

    Args:
        error: The error.
        text: The whole error as one line, as it is printed without `--json`.
        code: The exit code.
    """
    details: Any = {}
    fix = ""
    if isinstance(error, errors.HBaseORMError):
        details, fix = _detail(error.details), as_options(error.fix)
    return {
        "error": {
            "class": type(error).__name__,
            "message": text,
            "details": details,
            "fix": fix,
            "exit_code": int(code),
        }
    }


def _detail(value: Any) -> Any:
    """Return a detail of an error as a value for JSON; what JSON does not have becomes text."""
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_detail(each) for each in value]
    if isinstance(value, dict):
        return {str(name): _detail(each) for name, each in value.items()}
    if isinstance(value, bytes):
        from hbase_orm.rowkey.notation import to_string_binary  # noqa: PLC0415 -- slow

        return to_string_binary(value)
    if isinstance(value, BaseException):
        return one_line(value)
    is_plain = value is None or type(value) in {bool, int, str}
    return value if is_plain else errors.shown(value)
