"""`hbase-orm estimate`, run as a user runs it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from hbase_orm import connect
from hbase_orm.cli.errors import ExitCode
from hbase_orm.cli.main import run
from hbase_orm.testing import drop_store
from tests.support.estimated_models import EstimatedObjects, Indexed

if TYPE_CHECKING:
    from pathlib import Path

ORDER = "tests.support.estimated_models:Indexed"


def test_the_report_names_sizes_regions_and_savings(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["estimate", ORDER, "--rows", "1e9", "--sample-rows", "1000"]) == ExitCode.OK

    report = capsys.readouterr().out
    assert "Indexed: 1,000,000,000 rows take " in report
    assert "1,000 rows were measured: made-up rows." in report.replace("\n", " ")
    for text in ("indexed_ix_by_email", "FAST_DIFF", "Regions: ", "logs: ", "saves"):
        assert text in report


def test_the_parts_of_a_row_add_up_and_small_tables_have_a_region_each(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["estimate", ORDER, "--rows", "100", "--writes-per-second", "0.5"]
    assert run(arguments) == ExitCode.OK

    report = capsys.readouterr().out
    rows = [line for line in report.splitlines() if line.startswith("indexed")]
    shares = [[int(each) for each in re.findall(r"(\d+) %", line)] for line in rows]
    assert [len(each) for each in shares] == [4, 4, 4, 4]
    assert all(99 <= sum(each) <= 101 for each in shares)
    assert "Regions: 3, as each table needs one; " in report.replace("\n", " ")
    assert " at 0.5 rows a second." in report.replace("\n", " ")


def test_json_has_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["estimate", ORDER, "--rows", "1e6", "--sample-rows", "100", "--json"]
    assert run(arguments) == ExitCode.OK

    (answer,) = json.loads(capsys.readouterr().out)
    assert [each["index"] for each in answer["tables"]] == [None, "by_email", "by_city"]
    assert answer["bytes"] == pytest.approx(sum(each["bytes"] for each in answer["tables"]), abs=3)
    own = answer["tables"][0]["families"][1]
    assert own["store_files"]["FAST_DIFF GZ"] < own["store_files"]["NONE NONE"] == own["bytes"]


def test_a_small_file_is_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("number,email,city,zip\n1,a@example.com,Oslo,0150\n")

    assert run(["estimate", ORDER, "--rows", "10", "--sample", str(path)]) == ExitCode.OK

    report = capsys.readouterr().out
    assert "1 row was measured: rows.csv." in report.replace("\n", " ")
    assert "note: 1 row is too few" in report
    assert "note: columns of the file that are no fields: zip" in report


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((ORDER,), "Missing option '--rows'"),
        ((ORDER, "--rows", "-1"), "the number of rows is impossible"),
        ((ORDER, "--rows", "10", "--sample", "table"), "no URL was given"),
        ((ORDER, "--rows", "10", "--sample", "x.csv"), "the sample cannot be read"),
        (("nowhere.models", "--rows", "10"), "nowhere"),
    ],
)
def test_wrong_calls_are_explained(
    arguments: tuple[str, ...],
    text: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("HBASE_ORM_URL", raising=False)

    assert run(["estimate", *arguments]) == ExitCode.USAGE

    assert text in capsys.readouterr().err


def test_rows_of_a_table_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    with connect("memory://estimated") as engine:
        engine.create_tables(Indexed)
        with engine.session() as session:
            session.add_all(EstimatedObjects(Indexed, 50))

    arguments = ["--url", "memory://estimated", "estimate", ORDER, "--rows", "1e6"]
    assert run([*arguments, "--sample", "table", "--json"]) == ExitCode.OK

    (answer,) = json.loads(capsys.readouterr().out)
    drop_store("estimated")
    assert (answer["sampled"], answer["source"]) == (50, "the table indexed")


def test_each_model_is_shown_before_the_next_one_is_estimated(
    capsys: pytest.CaptureFixture[str],
) -> None:
    models = [f"tests.unit.advise.estimating.test_samples:{name}" for name in ("Visit", "Level")]

    assert run(["estimate", *models, "--rows", "1e6", "--sample-rows", "500"]) == ExitCode.USAGE

    shown = capsys.readouterr()
    assert "Visit: 1,000,000 rows take" in shown.out
    assert "made-up rows have one row key" in shown.err


def test_a_long_estimate_shows_that_it_works(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("hbase_orm.cli.progress._SOON_S", 0.0)
    monkeypatch.setattr("hbase_orm.cli.progress._LOOK_S", 0.01)

    assert run(["estimate", ORDER, "--rows", "1e6", "--sample-rows", "500"]) == ExitCode.OK

    assert "estimating Indexed: 0 s so far" in capsys.readouterr().err
