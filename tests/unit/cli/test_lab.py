"""`hbase-orm lab`: its answers, its page, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hbase_orm import connect
from hbase_orm.advise.lab.load.load_shapes import LoadShape
from hbase_orm.advise.lab.load.sampled_rows import SampledRows
from hbase_orm.cli.advice_commands import lab as lab_module
from hbase_orm.cli.errors import ExitCode
from hbase_orm.cli.main import run
from tests.support.lab_designs import WORKLOAD, TimeFirst, load

MODULE = "tests.support.lab_designs"
TWO = (f"{MODULE}:TimeFirst", f"{MODULE}:Salted")


def test_the_answer_is_a_table_and_a_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--rows", "2000", "--seconds", "100", "--statement", f"{MODULE}:of_user"]

    assert run(["lab", *TWO, *arguments]) == ExitCode.OK

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("2,000 rows, 20 a second for 100 s. Workload time-ordered")
    assert any(line.startswith("design ") for line in lines)
    assert any(line.startswith("of_user ") for line in lines)
    assert any(line.startswith("Use Salted for this load.") for line in lines)


def test_json_has_every_region(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lab", TWO[1], "--rows", "2000", "--regions", "4", "--json"]) == ExitCode.OK

    answer = json.loads(capsys.readouterr().out)
    (table,) = answer["designs"][0]["tables"]
    assert sum(region["rows"] for region in table["regions"]) == 2000
    starts = [region["start"][:4] for region in table["regions"]]
    assert starts == ["", "\\x02", "\\x04", "\\x06"]


def test_a_page_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opened = tmp_path / "lab.html"

    assert run(["lab", *TWO, "--rows", "2000", "--html", str(opened)]) == ExitCode.OK

    assert opened.read_text().startswith("<!DOCTYPE html>")
    assert capsys.readouterr().err == f"wrote {opened}\n"


def test_a_csv_file_is_the_load(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = tmp_path / "visits.csv"
    rows.write_text("user,at,page\n1,2026-01-01,a\n2,2026-01-02,b\n")

    assert run(["lab", TWO[0], "--workload", str(rows)]) == ExitCode.OK
    assert "the 2 rows of visits.csv" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--rows", "-1"], "a load needs at least one row"),
        (["--rate", "nan"], "a load needs at least one row"),
        (["--rows", "10", "--rate", "1", "--seconds", "1"], "contradict each other"),
        (["--workload", "zip"], "no workload with this name"),
        (["--workload", "nowhere.csv"], "cannot be read"),
        (["--statement", f"{MODULE}:nothing"], "no such name"),
        (["--statement", "nowhere:x"], "nowhere"),
        (["--statement", f"{MODULE}:HOUR"], "cannot use this as a statement"),
        (["--statement", "hour"], "hour"),
        (["--regions", "0"], "0 is not in the range 1<=x<=2000"),
        (["--region-gib", "0"], "0.0 is not in the range x>=0.001"),
        (["--metrics", "http://127.0.0.1:1"], "needs --live"),
        (["--html", "/nowhere/lab.html", "--rows", "10"], "cannot be written"),
    ],
)
def test_wrong_usage_is_one_line_with_advice(
    capsys: pytest.CaptureFixture[str], arguments: list[str], text: str
) -> None:
    assert run(["lab", TWO[0], *arguments]) == ExitCode.USAGE

    error = capsys.readouterr().err
    assert text in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("model", ["nowhere:Model", f"{MODULE}:Nothing", "nowhere"])
def test_a_model_that_cannot_be_imported_is_named(
    capsys: pytest.CaptureFixture[str], model: str
) -> None:
    assert run(["lab", model]) == ExitCode.USAGE
    error = capsys.readouterr().err
    assert ("Nothing" if "Nothing" in model else "nowhere") in error


def test_live_regions_need_a_url(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HBASE_ORM_URL", raising=False)

    assert run(["--url", "", "lab", TWO[0], "--live"]) == ExitCode.USAGE
    assert "--url" in capsys.readouterr().err


def test_live_regions_are_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with connect("memory://") as engine:
        load(engine, TimeFirst, SampledRows(LoadShape.of(rows=60), WORKLOAD, 60))

        def same_engine(_: str) -> Any:
            return engine

        monkeypatch.setattr(lab_module, "connect", same_engine)

        assert run(["--url", "memory://", "lab", TWO[0], "--live"]) == ExitCode.OK

    assert "the largest of 4 regions" in " ".join(capsys.readouterr().out.split())
