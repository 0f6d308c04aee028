from __future__ import annotations

import inspect
import io
import json
import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import click
import pytest

from hbase_orm import errors
from hbase_orm.cli import main as cli_main
from hbase_orm.cli.errors import ExitCode, exit_code, one_line
from hbase_orm.cli.frame import Group, Topic, answer, settings, table
from hbase_orm.errors import (
    ConfigurationError,
    ConflictError,
    ConnectionLostError,
    HBaseORMError,
    SchemaError,
    ServerError,
    ServerNotRunningError,
    TableNotFoundError,
)
from hbase_orm.server.state import DataFolder

_TOPIC = "probe"


@click.group(cls=Group)
def probe() -> None:
    """Commands that do what a test needs."""


@probe.command()
def ok() -> None:
    answer({"a": 1}, lambda: ["a is 1"])


@probe.command()
def bad_data() -> None:
    raise ConflictError("the row\nchanged", row=b"r", fix="reload it")


@probe.command()
def bad_usage() -> None:
    raise click.UsageError("not\nlike this")


@probe.command()
def broken() -> None:
    raise ZeroDivisionError("by\nzero")


@probe.command()
def unwritten() -> None:
    reason = ConflictError("the row\nchanged")
    raise errors.FlushError(
        "not all rows were written",
        written=3,
        not_written=[("t", b"a\xff", reason)],
        limits={"at": timedelta(seconds=1)},
    )


@probe.command()
def check() -> int:
    return ExitCode.FAILED


@probe.command()
def interrupted() -> None:
    signal.raise_signal(signal.SIGINT)


@probe.command()
def where() -> None:
    click.echo(settings().require_url())


@pytest.fixture(autouse=True)
def _topic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        cli_main.TOPICS, _TOPIC, Topic(f"{__name__}:probe", "Commands that do what a test needs.")
    )
    monkeypatch.delenv("HBASE_ORM_URL", raising=False)


_KINDS = sorted(
    (
        kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, HBaseORMError)
    ),
    key=lambda kind: kind.__name__,
)


@pytest.mark.parametrize("kind", _KINDS)
def test_every_error_of_the_library_has_an_exit_code_that_says_failure(
    kind: type[HBaseORMError],
) -> None:
    assert exit_code(kind("text")) in {1, 2, 3, 4}


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (ConfigurationError, 2),
        (SchemaError, 2),
        (ServerNotRunningError, 3),
        (ConnectionLostError, 3),
        (errors.RegionUnavailableError, 3),
        (ConflictError, 4),
        (errors.UniqueViolationError, 4),
        (TableNotFoundError, 4),
        (ServerError, 1),
        (errors.MigrationError, 1),
    ],
)
def test_exit_codes_are_as_documented(kind: type[HBaseORMError], code: int) -> None:
    assert exit_code(kind("text")) == code


@pytest.mark.parametrize(
    ("command", "code", "error"),
    [
        (
            "bad-data",
            4,
            {
                "class": "ConflictError",
                "message": "the row changed [row=b'r']; reload it",
                "details": {"row": "r"},
                "fix": "reload it",
            },
        ),
        (
            "bad-usage",
            2,
            {
                "class": "UsageError",
                "message": "not like this. Try 'hbase-orm probe bad-usage --help'.",
            },
        ),
        (
            "broken",
            5,
            {
                "class": "ZeroDivisionError",
                "message": "internal error: ZeroDivisionError: by zero; run again with --debug and "
                "report it",
            },
        ),
        ("interrupted", 130, {"class": "Abort", "message": "interrupted"}),
        ("unwritten", 4, {"class": "FlushError"}),
    ],
)
@pytest.mark.usefixtures("_heard_interrupt")
def test_an_error_is_json_too(
    command: str, code: int, error: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    given = cli_main.run([_TOPIC, command, "--json"])

    shown = capsys.readouterr()
    told = json.loads(shown.err)["error"]
    assert (given, shown.out) == (code, "")
    assert told.keys() == {"class", "message", "details", "fix", "exit_code"}
    assert told == told | error | {"exit_code": code}


def test_the_rows_of_an_error_are_json(capsys: pytest.CaptureFixture[str]) -> None:
    cli_main.run([_TOPIC, "unwritten", "--json"])

    assert json.loads(capsys.readouterr().err)["error"]["details"] == {
        "written": 3,
        "not_written": [["t", r"a\xFF", "the row changed"]],
        "limits": {"at": "datetime.timedelta(seconds=1)"},
    }


@pytest.mark.parametrize("arguments", [["bogus", "--json"], [_TOPIC, "ok", "--bogus", "--json"]])
def test_an_error_before_the_option_is_json_too(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    code = cli_main.run(arguments)

    assert code == ExitCode.USAGE
    assert json.loads(capsys.readouterr().err)["error"]["exit_code"] == 2


def test_an_answer_goes_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    code = cli_main.run([_TOPIC, "ok"])

    assert (code, capsys.readouterr()) == (0, ("a is 1\n", ""))


@pytest.mark.parametrize(
    "arguments", [["--json", _TOPIC, "ok"], [_TOPIC, "--json", "ok"], [_TOPIC, "ok", "--json"]]
)
def test_json_may_be_asked_for_at_any_place(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    code = cli_main.run(arguments)

    assert (code, json.loads(capsys.readouterr().out)) == (0, {"a": 1})


def test_an_error_is_one_line_with_the_fix(capsys: pytest.CaptureFixture[str]) -> None:
    code = cli_main.run([_TOPIC, "bad-data"])

    assert code == ExitCode.DATA
    assert capsys.readouterr() == ("", "error: the row changed [row=b'r']; reload it\n")


@pytest.mark.parametrize(
    "arguments", [["--debug", _TOPIC, "bad-data"], [_TOPIC, "bad-data", "--debug"]]
)
def test_debug_shows_the_traceback_too(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    cli_main.run(arguments)

    shown = capsys.readouterr().err
    assert shown.startswith("Traceback")
    assert shown.endswith("error: the row changed [row=b'r']; reload it\n")


def test_an_error_inside_the_program_is_one_line_too(capsys: pytest.CaptureFixture[str]) -> None:
    code = cli_main.run([_TOPIC, "broken"])

    shown = capsys.readouterr().err
    assert code == ExitCode.INTERNAL
    assert shown.startswith("error: internal error: ZeroDivisionError: by zero;")
    assert shown.count("\n") == 1


def test_a_command_may_return_its_exit_code() -> None:
    assert cli_main.run([_TOPIC, "check"]) == ExitCode.FAILED


@pytest.fixture
def _heard_interrupt() -> Iterator[None]:
    # A background job of a shell inherits an ignored SIGINT, which Python then leaves ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_heard_interrupt")
def test_an_interrupt_has_the_code_of_a_shell(capsys: pytest.CaptureFixture[str]) -> None:
    code = cli_main.run([_TOPIC, "interrupted"])

    assert code == ExitCode.INTERRUPTED
    assert capsys.readouterr().err.strip() == "error: interrupted"


@pytest.mark.parametrize(
    "arguments",
    [["bogus"], ["--bogus"], [_TOPIC], [_TOPIC, "ok", "more"], [_TOPIC, "bad-usage"]],
)
def test_wrong_usage_is_one_line_with_a_hint(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    code = cli_main.run(arguments)

    shown = capsys.readouterr().err
    assert code == ExitCode.USAGE
    assert shown.count("\n") == 1
    assert "--help'" in shown


def test_without_arguments_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    cli_main.run([])

    assert "Exit codes:" in capsys.readouterr().out


def test_the_version_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    code = cli_main.run(["--version"])

    assert code == ExitCode.OK
    assert capsys.readouterr().out.startswith("hbase-orm, version ")


def test_the_url_is_taken_from_the_option_before_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HBASE_ORM_URL", "hbase://b")

    cli_main.run([_TOPIC, "where"])
    cli_main.run(["--url", "hbase://a", _TOPIC, "where"])

    assert capsys.readouterr().out == "hbase://b\nhbase://a\n"


def test_a_missing_url_names_both_ways_to_give_it(capsys: pytest.CaptureFixture[str]) -> None:
    code = cli_main.run([_TOPIC, "where"])

    shown = capsys.readouterr().err
    assert code == ExitCode.USAGE
    assert "--url" in shown
    assert "HBASE_ORM_URL" in shown


def test_one_line_keeps_the_text_of_our_errors_and_names_others() -> None:
    assert one_line(HBaseORMError("a\n b")) == "a b"
    assert one_line(ValueError("a\n b")) == "ValueError: a b"


def test_a_table_is_aligned_and_has_no_trailing_spaces() -> None:
    lines = list(table(("a", "long head"), [("wide cell", 1), ("b", "")]))

    assert lines == ["a          long head", "wide cell  1", "b"]


@pytest.mark.parametrize("command", ["status", "stop", "logs"])
def test_commands_on_a_server_that_does_not_run(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = cli_main.run(["server", command, "--data-dir", str(tmp_path)])

    shown = capsys.readouterr()
    assert code == {"status": 3, "stop": 0, "logs": 3}[command]
    assert len((shown.out + shown.err).splitlines()) == 1


def test_admin_on_a_server_that_does_not_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = cli_main.run(["server", "admin", "--data-dir", str(tmp_path), "flush", "t"])

    assert code == ExitCode.UNREACHABLE
    assert "hbase-orm server start" in capsys.readouterr().err


def test_a_reset_refuses_a_folder_that_is_not_a_servers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")

    code = cli_main.run(["server", "reset", "--yes", "--data-dir", str(tmp_path)])

    assert code == ExitCode.FAILED
    assert "nothing was deleted" in capsys.readouterr().err
    assert (tmp_path / "thesis.txt").exists()


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    folder = DataFolder(tmp_path / "data")
    folder.prepare()
    (folder.path / "hbase").mkdir()
    return folder.path


def _type(monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    terminal = io.StringIO(line)
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", terminal)


@pytest.mark.parametrize(("line", "code", "is_kept"), [("y\n", 0, False), ("n\n", 1, True)])
def test_a_reset_asks_before_it_deletes(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch, *, line: str, code: int, is_kept: bool
) -> None:
    _type(monkeypatch, line)

    given = cli_main.run(["server", "reset", "--data-dir", str(data_dir)])

    assert given == code
    assert (data_dir / "hbase").exists() is is_kept


def test_a_reset_that_nobody_can_confirm_asks_for_the_option(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = cli_main.run(["server", "reset", "--data-dir", str(data_dir)])

    assert code == ExitCode.USAGE
    assert "give --yes" in capsys.readouterr().err
    assert (data_dir / "hbase").exists()


def test_a_setting_without_a_value_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = cli_main.run(["server", "start", "--set", "name", "--data-dir", str(tmp_path / "new")])

    assert code == ExitCode.USAGE
    assert "--set takes name=value" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
