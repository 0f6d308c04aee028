"""The entry point `hbase-orm`: runs a command, and turns an error into one line and a code.

The exit codes are in `hbase_orm.cli.errors`.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Final

import click

from hbase_orm.cli.errors import (
    EXIT_CODES_HELP,
    DeclinedError,
    ExitCode,
    as_options,
    error_as_json,
    exit_code,
    one_line,
)
from hbase_orm.cli.frame import LateGroup, ReaderGoneError, Settings, Topic
from hbase_orm.errors import GatewayError, HBaseORMError

TOPICS = {
    "get": Topic(
        "hbase_orm.cli.row_commands.get:get",
        "Show the rows with these keys.",
    ),
    "scan": Topic(
        "hbase_orm.cli.row_commands.reads:scan",
        "Show the rows that a statement selects, as they are read.",
    ),
    "count": Topic(
        "hbase_orm.cli.row_commands.reads:count",
        "Count the rows that a statement selects.",
    ),
    "put": Topic(
        "hbase_orm.cli.row_commands.put:put",
        "Insert a row, or update the given fields of an existing row; show which of the two was "
        "done.",
    ),
    "delete": Topic(
        "hbase_orm.cli.row_commands.delete:delete",
        "Delete the rows with these keys, or those that fulfil conditions; show how many there "
        "were.",
    ),
    "shell": Topic(
        "hbase_orm.cli.row_commands.shell:shell",
        "Open a Python console with the models, an engine, a session, select and func.",
    ),
    "doctor": Topic(
        "hbase_orm.cli.advice_commands.doctor:doctor",
        "Show the versions, which reader of rows is in use, and whether the gateways answer.",
    ),
    "estimate": Topic(
        "hbase_orm.cli.advice_commands.estimate:estimate_command",
        "Estimate what rows take: store files, memstores, log, regions, and what would save.",
    ),
    "explain": Topic(
        "hbase_orm.cli.explain:explain",
        "Show what would be sent for a statement: ranges, filters, checks, order, requests.",
    ),
    "index": Topic(
        "hbase_orm.cli.index:index",
        "Build, show, verify, repair and drop indexes; the tables stay in use.",
    ),
    "key": Topic(
        "hbase_orm.cli.key:key",
        "Decode and encode the row keys of a model.",
    ),
    "lab": Topic(
        "hbase_orm.cli.advice_commands.lab:lab_command",
        "Simulate designs of row keys side by side: regions, hot spots, the cost of statements.",
    ),
    "lint": Topic(
        "hbase_orm.cli.advice_commands.lint:lint_command",
        "Show what in the models makes HBase slow, large or hot, before it hurts.",
    ),
    "server": Topic(
        "hbase_orm.cli.server:server",
        "Run a real HBase on this machine (needs a JDK 17 to 21 and Maven; no Docker).",
    ),
    "tables": Topic(
        "hbase_orm.cli.tables:tables",
        "Create, compare, list, empty and drop the tables of models.",
    ),
    "completion": Topic(
        "hbase_orm.cli.row_commands.completion:completion",
        "Print a script for bash, zsh or fish that completes commands, options and models with "
        "Tab.",
    ),
    "init": Topic(
        "hbase_orm.cli.migration_commands.new:init",
        "Create the folder of revisions, and name it in pyproject.toml if it is not 'migrations'.",
    ),
    "revision": Topic(
        "hbase_orm.cli.migration_commands.new:revision",
        "Write the files of a new revision: its steps, and the records of the tables beside it.",
    ),
    "merge": Topic(
        "hbase_orm.cli.migration_commands.new:merge",
        "Write a revision without steps that joins branches: all heads, or these revisions.",
    ),
    "upgrade": Topic(
        "hbase_orm.cli.migration_commands.runs:upgrade",
        "Apply revisions up to REVISION; an interrupted run continues exactly where it stopped.",
    ),
    "downgrade": Topic(
        "hbase_orm.cli.migration_commands.runs:downgrade",
        "Undo the applied revisions after REVISION, the last one first; REVISION itself stays.",
    ),
    "stamp": Topic(
        "hbase_orm.cli.migration_commands.runs:stamp",
        "Record exactly these revisions, and those before them, as applied; nothing is run.",
    ),
    "current": Topic(
        "hbase_orm.cli.migration_commands.state:current",
        "Show the applied revisions that no other follows, and where a run was interrupted.",
    ),
    "history": Topic(
        "hbase_orm.cli.migration_commands.state:history",
        "Show all revisions, the newest first; nothing is sent without --indicate-current.",
    ),
    "heads": Topic(
        "hbase_orm.cli.migration_commands.state:heads",
        "Show the revisions that no other follows; nothing is sent.",
    ),
    "check": Topic(
        "hbase_orm.cli.migration_commands.state:check",
        "Check that everything is applied, and that the models are what the last revision says.",
    ),
}
"""The commands by name, each with the first sentence of its help; a new topic is added here."""

_COMPLETE: Final = "_HBASE_ORM_COMPLETE"


def _show_version(context: click.Context, _parameter: click.Parameter, given: bool) -> None:  # noqa: FBT001 -- click's signature
    if given and not context.resilient_parsing:
        from hbase_orm import __version__  # noqa: PLC0415 -- slow; only needed here

        click.echo(f"hbase-orm, version {__version__}")
        context.exit()


@click.group(
    cls=LateGroup,
    topics=TOPICS,
    epilog=EXIT_CODES_HELP,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--url",
    envvar="HBASE_ORM_URL",
    metavar="URL",
    help="The gateways: hbase://HOST[:PORT][?thrift2=HOST:PORT]. Without the option, HBASE_ORM_URL "
    "is used, else the url of pyproject.toml; --url '' uses none of them.",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
@click.pass_obj
def cli(options: Settings, url: str | None) -> None:
    """Work with HBase tables by their models, and run a small HBase for development.

    Write a MODEL as MODULE:CLASS, for example shop.models:Order, or as MODULE for all models of a
    module or package. The current directory is searched first.

    A pyproject.toml in the current directory or a parent can name the models and the URL of a
    project, for commands without a MODEL and without a URL:

    \b
      [tool.hbase-orm]
      models = ["shop.models", "shop.audit:Event"]
      url = "hbase://127.0.0.1:9090?thrift2=127.0.0.1:9091"
      migrations = "migrations"

    Its folder is searched for the models.
    """  # noqa: D301 -- click's mark, not an escape
    options.url = url


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run a command; return its exit code. Errors are printed to standard error."""
    if _COMPLETE in os.environ:  # a shell's script asks for completions; click answers
        from hbase_orm.cli.row_commands.bash_completion import (  # noqa: PLC0415 -- rarely needed
            complete_whole_words,
        )

        complete_whole_words()
    # An error in the arguments themselves may come before the option was read.
    options = Settings(is_json="--json" in arguments)
    try:
        return _run(arguments, options)
    except ReaderGoneError:
        # What is left in the buffer must not fail when Python writes it at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.OK


def _run(arguments: Sequence[str], options: Settings) -> int:
    try:
        result = cli.main(
            list(arguments) or ["--help"], "hbase-orm", standalone_mode=False, obj=options
        )
    except DeclinedError as error:
        return _fail(options, error, error.format_message(), ExitCode.FAILED, mark="")
    except click.ClickException as error:
        return _fail(options, error, _with_hint(error), ExitCode.USAGE)
    except click.Abort as error:
        return _fail(options, error, "interrupted", ExitCode.INTERRUPTED)
    except HBaseORMError as error:
        text = as_options(one_line(error)) + _death_behind(error, options.url)
        return _fail(options, error, text, exit_code(error))
    except ReaderGoneError:
        raise
    except Exception as error:  # noqa: BLE001 -- the outermost frame: nobody else can report it
        return _unexpected(options, error)
    return result if isinstance(result, int) else ExitCode.OK


def _unexpected(options: Settings, error: Exception) -> ExitCode:
    text = f"internal error: {one_line(error)}; run again with --debug and report it"
    return _fail(options, error, text, ExitCode.INTERNAL)


def _death_behind(error: HBaseORMError, url: str | None) -> str:
    """Return a hint if a gateway did not answer because the user's embedded server has died.

    The hint is empty for any other error.
    """
    if not url or not isinstance(error, GatewayError):
        return ""
    from hbase_orm.cli.deaths import death_behind  # noqa: PLC0415 -- slow; only needed here

    death = death_behind(url)
    return f"; it is the URL of an embedded server: {death}" if death else ""


def _with_hint(error: click.ClickException) -> str:
    text = error.format_message()
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None:
        return text
    end = "" if text.endswith((".", "?", "!")) else "."
    return f"{text}{end} Try '{context.command_path} --help'."


def _fail(
    options: Settings, error: BaseException, text: str, code: ExitCode, *, mark: str = "error: "
) -> ExitCode:
    if options.is_debug:
        traceback.print_exception(error)
    text = " ".join(text.split())
    shown = json.dumps(error_as_json(error, text, code)) if options.is_json else f"{mark}{text}"
    click.echo(shown, err=True)
    return code
