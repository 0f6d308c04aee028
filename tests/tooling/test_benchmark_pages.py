"""The pages and pictures that benchmarks write, from results that nobody has measured."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest

from benchmarks import page, scale_page
from benchmarks.plots import Bar, bars
from benchmarks.plots import Scale as Axis
from benchmarks.results import (
    BASE,
    OWN,
    from_json,
)
from benchmarks.scale import Curve, Part, Point, Scale, computed, model_of_columns, with_pool
from benchmarks.targets import TARGETS
from tests.support.made_up_results import MACHINE, RESULTS

X = "\N{MULTIPLICATION SIGN}"

# --- the page -------------------------------------------------------------------------------------


@pytest.fixture
def lines() -> list[str]:
    return page.page(RESULTS).splitlines()


def test_the_page_begins_with_how_many_targets_are_met(lines: list[str]) -> None:
    assert lines[2].startswith(f"5 of 6 targets are met. Not measured: {len(TARGETS) - 6}.")


def test_the_page_names_machine_load_versions_and_commit(lines: list[str]) -> None:
    head = "\n".join(lines[:12])

    assert "A processor, 2 cores, 16 GB" in head
    assert "0.2 before, 1.5 after" in head
    assert "Python 3.11.7, HBase 2.6.1, embedded; commit 0123456789, 2031-02-03" in head


@pytest.mark.parametrize(
    ("target", "row"),
    [
        (
            "dense scan, compiled | happybase + dataclass",
            f"**3.7{X}** [3.50..4.00] | 0.97..1.05 | 2.0, 20.0 µs a row | ≥ 3.5{X} |  | met",
        ),
        (
            "dense scan, compiled | the server's limit",
            f"**0.92{X}** [0.92..0.92] | 0.97..1.05 | 2.0, 20.0 µs a row | ≥ 0.8{X} | 0.95{X} | met",
        ),
        (
            "bulk put, plain: client CPU | happybase Batch",
            f"**0.3{X}** | 1.02 | 6.0, 20.0 µs a row | ≤ 0.5{X} | 0.33{X} | met, stretch too",
        ),
        (
            "stream of 1 M rows, compiled: peak memory | imports",
            "**12 MB** |  | 2.0, 20.0 µs a row | ≤ 60 MB |  | met",
        ),
        (
            "single get | happybase + dataclass",
            f" |  |  | ≥ 1{X} | 1.3{X} | not measured",
        ),
    ],
)
def test_the_page_has_a_row_for_each_target(lines: list[str], target: str, row: str) -> None:
    assert f"| {target} | {row} |" in lines


def test_the_page_gives_the_reason_for_what_is_missed(lines: list[str]) -> None:
    start = lines.index("## What is missed, and why")
    (missed,) = [line for line in lines[start:] if line.startswith("- ")]

    beside = "beside happybase + dataclass"
    assert missed.startswith(f"- **dense scan, pure Python**, {beside}: 1.4{X}, wanted 2{X}. ")
    assert missed.endswith(f"The same requests reach 4{X} if the answers are thrown away.")


def test_the_page_has_all_variants_of_all_comparisons(lines: list[str]) -> None:
    start = lines.index("### Title of scan")

    assert lines[start + 6 : start + 11] == [
        "| variant hand | 10,000 | 1.00 [1.00..1.00] | 20.00 | 0.25 |",
        "| variant again | 10,100 | 1.01 [0.97..1.05] | 20.40 |  |",
        "| variant compiled | 37,000 | 3.70 [3.50..4.00] | 2.00 | 0.92 |",
        "| variant pure | 14,000 | 1.40 [1.40..1.40] | 11.00 | 0.35 |",
        "| variant limit | 40,000 | 4.00 [4.00..4.00] | 0.40 | 1.00 |",
    ]


def test_what_is_written_is_read_again_and_every_picture_is_there(tmp_path: Path) -> None:
    written = page.write(RESULTS, tmp_path)

    text = (tmp_path / "RESULTS.md").read_text()
    pictures = {tmp_path / name for name in re.findall(r"!\[.*?\]\((.*?)\)", text)}
    assert len(pictures) == 3
    assert pictures == {path for path in written if path.suffix == ".svg"}
    assert from_json((tmp_path / "results.json").read_bytes()) == RESULTS


def test_a_page_without_figures_has_no_pictures(tmp_path: Path) -> None:
    written = page.write(msgspec.structs.replace(RESULTS, comparisons=()), tmp_path)

    assert [path.name for path in written] == ["results.json", "RESULTS.md"]
    assert list((tmp_path / "pictures").iterdir()) == []
    assert "![" not in (tmp_path / "RESULTS.md").read_text()


# --- pictures -------------------------------------------------------------------------------------

_SVG = "{http://www.w3.org/2000/svg}"


def test_pictures_are_for_light_and_dark_pages(tmp_path: Path) -> None:
    for path in page.write(RESULTS, tmp_path):
        if path.suffix == ".svg":
            style = ET.parse(path).getroot().findtext(f"{_SVG}style")
            assert style is not None
            assert "prefers-color-scheme: dark" in style
            assert set(re.findall(r"var\((--\w+)\)", style)) <= set(re.findall(r"(--\w+):", style))


def test_a_bar_is_as_long_as_its_value() -> None:
    text = bars(
        "Title <1>",
        [("one", [Bar("orm", 2.0, "2")]), ("two", [Bar("orm", 1.0, "1")])],
        [],
        even=1.0,
    )

    root = ET.fromstring(text)
    one, two = (each for each in root.iter(f"{_SVG}rect") if each.get("class") == "orm")
    assert float(one.get("width", "")) == pytest.approx(2 * float(two.get("width", "")), abs=0.2)
    assert root.get("aria-label") == "Title <1>"


def test_equal_ratios_are_equal_distances_on_a_logarithmic_axis() -> None:
    axis = Axis(0.5, 8.0, 0.0, 100.0, is_log=True)

    assert [axis.at(value) for value in (0.5, 1.0, 2.0, 8.0)] == pytest.approx([0, 25, 50, 100])
    assert list(axis.ticks()) == [0.5, 1.0, 2.0, 5.0]


def test_ticks_of_an_axis_are_round() -> None:
    assert list(Axis(0.0, 1.2, 0.0, 1.0).ticks()) == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])


# --- the scale ------------------------------------------------------------------------------------

PART = Part(
    name="rows",
    title="Full scan",
    size="rows of the table",
    unit="row",
    note="The last is computed.",
    curves=(
        Curve(BASE, "by hand", (Point(1_000, 30.0, 20.0), Point(100_000, 25.0, 18.0))),
        Curve(OWN, "the library", (Point(1_000, 12.0, 3.0), Point(100_000, 6.0, 2.0, True))),
    ),
)  # fmt: skip


def test_a_computed_point_is_on_the_line_through_the_smallest_and_the_largest() -> None:
    start_us, row_us = 5_000.0, 3.0
    points = [Point(rows, row_us + start_us / rows, 1.0) for rows in (1_000, 5_000, 10_000)]

    point = computed(points, 1_000_000)

    assert point.is_computed
    assert (point.wall_us, point.cpu_us) == pytest.approx((row_us + 0.005, 1.0))


def test_the_scale_page_marks_what_is_computed(tmp_path: Path) -> None:
    written = scale_page.write(Scale(MACHINE, 20_000, (PART,)), tmp_path)

    text = (tmp_path / "SCALE.md").read_text()
    assert "| 100,000 | 25.00 | 18.00 | *6.00* | *2.00* |" in text.splitlines()
    assert "The last is computed." in text
    pictures = {tmp_path / name for name in re.findall(r"!\[.*?\]\((.*?)\)", text)}
    assert pictures == {path for path in written if path.suffix == ".svg"}


def test_computed_points_are_hollow_in_the_picture() -> None:
    root = ET.fromstring(scale_page.picture(PART, "time"))

    kinds = [each.get("class") for each in root.iter(f"{_SVG}circle")]
    assert kinds == ["hand", "hand", "orm", "hollow orm"]


def test_a_model_can_have_any_number_of_columns() -> None:
    model = model_of_columns(3)

    cells = model.__mapping__.dehydrate(model(name=1, c0=2, c1=3, c2=4).__dict__)
    assert sorted(cells) == [b"d:c0", b"d:c1", b"d:c2"]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("hbase://h:1", "hbase://h:1?pool=4"),
        ("hbase://h:1?thrift2=h:2&pool=9", "hbase://h:1?thrift2=h:2&pool=4"),
    ],
)
def test_the_number_of_connections_goes_into_the_url(url: str, expected: str) -> None:
    assert with_pool(url, 4) == expected
