"""Advice as SARIF and as annotations of GitHub."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hbase_orm.advise import RULES, Advice, lint
from hbase_orm.advise.reports import github_lines, sarif
from tests.support.linted_models import ByTime, LongNames, TimeFirst

ROOT = Path(__file__).parents[3]


def with_reason(advice: Advice, reason: str) -> Advice:
    return Advice(**{**advice.to_dict(), "silenced": reason})


def test_a_sarif_log_has_rules_results_and_places() -> None:
    advice = lint(TimeFirst, ByTime, LongNames)

    log = sarif(advice, ROOT)

    (run,) = log["runs"]
    results: list[dict[str, Any]] = run["results"]
    rules = run["tool"]["driver"]["rules"]
    assert log["version"] == "2.1.0"
    assert [rule["id"] for rule in rules] == ["key-monotone", "index-monotone", "names-long"]
    assert rules[0]["shortDescription"]["text"] == RULES["key-monotone"].summary
    assert [each["level"] for each in results] == ["warning", "warning", "note"]
    assert all(rules[each["ruleIndex"]]["id"] == each["ruleId"] for each in results)
    place = results[0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "tests/support/linted_models.py"
    assert place["region"]["startLine"] == advice[0].line > 1
    assert "suppressions" not in results[0]


def test_silenced_advice_is_suppressed_in_sarif_with_its_reason() -> None:
    (advice,) = lint(TimeFirst)

    (result,) = sarif([with_reason(advice, "ten rows a day")], ROOT)["runs"][0]["results"]

    assert result["suppressions"] == [{"kind": "inSource", "justification": "ten rows a day"}]


def test_advice_without_a_file_has_no_place() -> None:
    (advice,) = lint(TimeFirst)
    unknown = Advice(**{**advice.to_dict(), "file": "", "line": 0})

    (result,) = sarif([unknown], ROOT)["runs"][0]["results"]
    (line,) = github_lines([unknown], ROOT)

    assert "locations" not in result
    assert line.startswith("::warning title=")


def test_annotations_name_file_and_line_and_escape_what_github_reads() -> None:
    (advice,) = lint(TimeFirst)
    (line,) = github_lines([advice], ROOT)

    head, _, text = line.removeprefix("::").partition("::")
    assert head == (
        f"warning file=tests/support/linted_models.py,line={advice.line},"
        "title=key-monotone tests.support.linted_models%3ATimeFirst"
    )
    assert "6.25 %25" in text
    assert "\n" not in text


def test_notes_are_notices_and_silenced_advice_is_no_annotation() -> None:
    (note,) = lint(LongNames)

    assert list(github_lines([with_reason(note, "small")], ROOT)) == []
    assert next(github_lines([note], ROOT)).startswith("::notice file=")


def test_files_elsewhere_keep_their_whole_path() -> None:
    (advice,) = lint(TimeFirst)

    (result,) = sarif([advice], Path("/elsewhere"))["runs"][0]["results"]

    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == (ROOT / "tests/support/linted_models.py").as_posix()
