"""`hbase-orm lint`: its answers, its exit codes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hbase_orm import Engine, connect, select
from hbase_orm.advise import RULES
from hbase_orm.cli.advice_commands import lint as lint_module
from hbase_orm.cli.errors import ExitCode
from hbase_orm.cli.main import run
from tests.support.linted_models import LongNames, Salted, TimeFirst
from tests.unit.advise.test_linting import Quiet
from tests.unit.advise.test_model_rules import Page

MODELS = "tests.support.linted_models"
READS_ALL = select(Salted).where(Salted.value == 7).allow_full_scan()


def name(model: type) -> str:
    return f"{model.__module__}:{model.__name__}"


def test_a_model_without_advice_is_no_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lint", name(Salted)]) == ExitCode.OK
    assert capsys.readouterr().out == "1 model: nothing to say\n"


def test_a_warning_is_a_failure_and_is_shown_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lint", name(TimeFirst), name(Salted)]) == ExitCode.FAILED

    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{MODELS}:TimeFirst: warning key-monotone"
    assert [line[:6] for line in lines if line[:3] == "  " + line.lstrip()[:1]] == [
        "  seen",
        "  why ",
        "  do  ",
        "  from",
    ]
    assert max(map(len, lines)) <= 100
    assert lines[-1] == "2 models: 1 warning"


def test_a_note_is_a_failure_only_if_the_lint_is_strict(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["lint", name(LongNames), "--rows", "1000"]) == ExitCode.OK
    assert "53 kB for 1,000 rows" in " ".join(capsys.readouterr().out.split())
    assert run(["lint", name(LongNames), "--strict"]) == ExitCode.FAILED


def test_silenced_advice_is_counted_and_shown_if_wanted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["lint", name(Quiet)]) == ExitCode.OK
    assert capsys.readouterr().out == "1 model: 1 silenced\n"

    assert run(["lint", name(Quiet), "--silenced", "--strict"]) == ExitCode.OK
    assert "silenced  a few rows a day" in capsys.readouterr().out


def test_json_has_every_advice(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lint", name(TimeFirst), name(Quiet), "--json"]) == ExitCode.FAILED

    answer = json.loads(capsys.readouterr().out)
    assert answer["models"] == 2
    assert [each["silenced"] for each in answer["advice"]] == ["", "a few rows a day"]
    assert answer["advice"][0]["rule"] == "key-monotone"


def test_sarif_and_annotations_are_for_ci(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lint", name(TimeFirst), "--format", "sarif"]) == ExitCode.FAILED
    assert json.loads(capsys.readouterr().out)["version"] == "2.1.0"

    assert run(["lint", name(TimeFirst), "--format", "github"]) == ExitCode.FAILED
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("::warning file=tests/support/linted_models.py,line=")


def test_a_statement_is_judged_by_its_plan(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["lint", name(Salted), "--statement", f"{__name__}:READS_ALL"]

    assert run(arguments) == ExitCode.FAILED
    assert "warning statement-full-scan" in capsys.readouterr().out


def test_the_rules_are_listed_without_models(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert run(["lint", "--rules"]) == ExitCode.OK
    assert len(capsys.readouterr().out.splitlines()) == 1 + len(RULES)
    assert run(["lint", "--rules", "--json"]) == ExitCode.OK
    assert [each["id"] for each in json.loads(capsys.readouterr().out)] == [*RULES]


def test_samples_are_read_from_the_tables(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with connect("memory://") as engine:
        engine.create_tables(Page)
        with engine.session() as session:
            session.add_all(Page(url=f"u{n}", body=b"x" * 200_000) for n in range(3))

        def connected(url: str) -> Engine:
            assert url == "memory://"
            return engine

        monkeypatch.setattr(lint_module, "connect", connected)

        assert run(["--url", "memory://", "lint", name(Page), "--sample", "2"]) == ExitCode.FAILED

    assert "2 samples have up to 200 kB in body" in capsys.readouterr().out


WRONG = {
    "no such module": (["lint", "no.such.module"], "there is no module of this name"),
    "no models": (["lint", "json"], "declares no model with a table"),
    "no such class": (["lint", f"{MODELS}:Nothing"], "the module has no such name"),
    "no such statement": (
        ["lint", f"{MODELS}:Salted", "--statement", f"{MODELS}:NOTHING"],
        "Invalid value for --statement: the module has no such name",
    ),
    "no such module of a statement": (
        ["lint", f"{MODELS}:Salted", "--statement", "nowhere"],
        "Invalid value for --statement: there is no module of this name",
    ),
    "no rows": (["lint", f"{MODELS}:Salted", "--rows", "0"], "x>=1"),
    "samples without a URL": (["--url", "", "lint", f"{MODELS}:Salted", "--sample", "1"], "URL"),
    "an unknown rule": (["lint", "tests.support.wrongly_silenced"], "unknown rule"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_an_error_of_one_line(
    case: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HBASE_ORM_URL", raising=False)
    arguments, text = WRONG[case]

    assert run(arguments) == ExitCode.USAGE

    answered = capsys.readouterr()
    assert answered.out == ""
    assert text in answered.err
    assert answered.err.count("\n") == 1


def test_a_model_argument_is_needed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert run(["lint"]) == ExitCode.USAGE
    assert "no MODEL was given" in capsys.readouterr().err
