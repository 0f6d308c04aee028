"""Advice for programs: SARIF for code scanning, and annotations of GitHub's workflows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from hbase_orm.advise.remarks import Advice
from hbase_orm.advise.rules import RULES

SARIF_VERSION: Final = "2.1.0"
_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(advice: Sequence[Advice], folder: Path) -> dict[str, Any]:
    """Return advice as a SARIF log, which code scanning services read.

    Args:
        advice: The advice; silenced advice is marked as suppressed.
        folder: The folder to which paths of files are relative.
    """
    used = list(dict.fromkeys(each.rule for each in advice))
    driver = {"name": "hbase-orm lint", "rules": [_sarif_rule(rule) for rule in used]}
    results = [_result(each, used.index(each.rule), folder) for each in advice]
    return {
        "$schema": _SCHEMA,
        "version": SARIF_VERSION,
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def github_lines(advice: Iterable[Advice], folder: Path) -> Iterator[str]:
    """Yield a workflow command of GitHub for each advice that is not silenced."""
    for each in advice:
        if each.silenced:
            continue
        kind = "warning" if each.level == "warning" else "notice"
        place = {"file": _relative(each.file, folder), "line": str(each.line)} if each.file else {}
        place["title"] = f"{each.rule} {each.model} {each.subject}".strip()
        parameters = ",".join(f"{name}={_parameter(value)}" for name, value in place.items())
        yield f"::{kind} {parameters}::{_message(_text(each))}"


def _sarif_rule(rule_id: str) -> dict[str, Any]:
    rule = RULES[rule_id]
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.why},
        "help": {"text": f"Source: {rule.source}"},
        "defaultConfiguration": {"level": rule.level},
    }


def _result(advice: Advice, place: int, folder: Path) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": advice.rule,
        "ruleIndex": place,
        "level": advice.level,
        "message": {"text": f"{advice.model} {advice.subject}".strip() + f": {_text(advice)}"},
    }
    if advice.file:
        path = _relative(advice.file, folder)
        location = {"artifactLocation": {"uri": path}, "region": {"startLine": advice.line}}
        result["locations"] = [{"physicalLocation": location}]
    if advice.silenced:
        result["suppressions"] = [{"kind": "inSource", "justification": advice.silenced}]
    return result


def _text(advice: Advice) -> str:
    return f"{advice.seen}: {advice.why}. Do: {advice.fix}"


def _relative(file: str, folder: Path) -> str:
    path = Path(file)
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.as_posix()


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _parameter(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
