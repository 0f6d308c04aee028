"""Workloads of files: what they describe, and what is wrong in them by line or key."""

from __future__ import annotations

from pathlib import Path

import pytest

from hbase_orm.advise.lab import LabResult, lab, read_workload
from hbase_orm.errors import ConfigurationError
from tests.support.lab_designs import PageFirst, Salted, TimeFirst

GOOD = """\
user,at,page,score
00000001,2026-01-01T00:00:00+00:00,page-1,5
00000002,2026-01-01T00:00:01+00:00,page-2,6
00000003,2026-01-01T00:00:02+00:00,page-3,7
"""


def written(tmp_path: Path, text: str, suffix: str = ".csv") -> str:
    path = tmp_path / f"load{suffix}"
    path.write_text(text, encoding="utf-8")
    return str(path)


def simulated(workload: str, model: type = TimeFirst) -> LabResult:
    return lab(model, workload=workload)


def refused(workload: str, model: type = TimeFirst) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as caught:
        simulated(workload, model)
    assert caught.value.fix
    return caught.value


def test_rows_of_a_csv_file_are_written_in_their_order(tmp_path: Path) -> None:
    result = simulated(written(tmp_path, GOOD))

    assert result.shape is not None
    assert (result.shape.rows, result.sampled) == (3, 3)
    assert result.designs[0].tables[0].rows.tolist() == [3, 0, 0, 0]


def test_rows_of_a_csv_file_stand_for_more_rows(tmp_path: Path) -> None:
    result = lab(Salted, rows=3000, workload=written(tmp_path, GOOD))

    assert result.sampled == 3
    assert result.designs[0].tables[0].rows.sum() == 3000


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("", 1, "names of the fields"),
        ("user,user\n1,2\n", 1, "names of the fields"),
        ("user,,at\n1,2,3\n", 1, "names of the fields"),
        ("user,at\n", 2, "no rows"),
        (GOOD + "4,5\n", 5, "2 values"),
        (GOOD + '"4\n', 5, "unexpected end"),
    ],
)
def test_a_wrong_csv_file_is_refused_by_line(
    tmp_path: Path, text: str, line: int, reason: str
) -> None:
    error = refused(written(tmp_path, text))

    assert (error.details["line"], reason in error.details["reason"]) == (line, True)


def test_a_gap_in_a_csv_file_is_refused_by_line_and_field(tmp_path: Path) -> None:
    error = refused(written(tmp_path, GOOD.replace("page-2", "")))

    assert (error.details["line"], error.details["field"]) == (3, "page")
    assert error.details["reason"] == "the value is missing"


def test_a_value_of_another_type_is_refused_with_its_form(tmp_path: Path) -> None:
    error = refused(written(tmp_path, GOOD.replace("2026-01-01T00:00:02+00:00", "noon")))

    assert (error.details["line"], error.details["got"]) == (4, "noon")
    assert "ISO 8601" in error.details["reason"]
    assert (error.text, error.fix) == (
        "the CSV file has a wrong value for a field",
        "correct the value, or leave the line out",
    )


def test_a_field_without_a_column_is_refused(tmp_path: Path) -> None:
    error = refused(written(tmp_path, "user,at\n1,2026-01-01\n"))

    assert error.details["field"] == "page"


def test_a_field_that_only_an_index_needs_must_have_a_column_too(tmp_path: Path) -> None:
    error = refused(written(tmp_path, GOOD.replace(",score", ",rank")), PageFirst)

    assert error.details["field"] == "score"


def test_a_field_that_no_model_has_is_refused(tmp_path: Path) -> None:
    text = "[fields.usr]\ndistinct = 7\n[fields.page]\ndistinct = 8\n"

    error = refused(written(tmp_path, text, ".toml"))

    assert error.details["fields"] == ("usr",)
    assert "user" in error.details["known"]


@pytest.mark.parametrize("weight", ["nan", "inf", "0", "-1", "true"])
def test_a_weight_that_is_no_positive_number_is_refused(tmp_path: Path, weight: str) -> None:
    text = f"[fields.page.choices]\na = 1\nb = {weight}\n"

    assert refused(written(tmp_path, text, ".toml")).details["key"] == "fields.page.choices.b"


def test_a_toml_file_describes_fields(tmp_path: Path) -> None:
    text = (
        'base = "zipf"\n[fields.user]\nkind = "uniform"\ndistinct = 7\n[fields.page]\ntext="p{}"\n'
    )
    workload = read_workload(written(tmp_path, text, ".toml"))

    assert workload.fields["user"].distinct == 7
    assert (workload.fields["page"].text, workload.fields["page"].kind) == ("p{}", "zipf")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("base = ", ""),
        ("speed = 3", "speed"),
        ("fields = 3", "fields"),
        ("[fields]\nuser = 3", "fields.user"),
        ("[fields.user]\nkinds = 'zipf'", "fields.user.kinds"),
        ("[fields.user]\nkind = 'zip'", "fields.user.kind"),
        ("[fields.user]\ndistinct = 'many'", "fields.user.distinct"),
        ("[fields.user]\ndistinct = 0", "fields.user.distinct"),
        ("[fields.user]\nexponent = 0", "fields.user.exponent"),
        ("[fields.user]\nlate_s = -1", "fields.user"),
        ("[fields.user]\ntext = 'a'", "fields.user.text"),
        ("[fields.user.choices]\na = -1", "fields.user.choices.a"),
    ],
)
def test_a_wrong_toml_file_is_refused_by_key(tmp_path: Path, text: str, key: str) -> None:
    error = refused(written(tmp_path, text, ".toml"))

    assert error.details["key"] == key


def test_a_choice_of_another_type_is_refused(tmp_path: Path) -> None:
    error = refused(written(tmp_path, "[fields.user.choices]\nann = 1", ".toml"))

    assert (error.details["field"], error.details["choice"]) == ("user", "ann")


def test_values_that_do_not_fit_the_row_key_are_refused(tmp_path: Path) -> None:
    error = refused(written(tmp_path, "[fields.page]\ntext = 'a_{}'", ".toml"), PageFirst)

    assert error.details["model"] == "PageFirst"
    assert "workload file" in error.fix


@pytest.mark.parametrize("name", ["zip", "nowhere.toml", "nowhere.csv"])
def test_an_unknown_workload_is_refused(name: str) -> None:
    assert refused(name).details.keys() & {"workload", "file"}


def test_a_file_that_is_no_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "load.csv"
    path.write_bytes(b"user\n\xff\n")

    assert refused(str(path)).details["file"] == str(path)
