"""A small run of the benchmarks on HBase: both readers, the server's limit, and the check."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from benchmarks.__main__ import main
from benchmarks.results import COMPILED, PURE, to_json
from hbase_orm.compiled import compiled_cells
from tests.support.made_up_results import RESULTS, comparison, variant

pytestmark = [pytest.mark.hbase, pytest.mark.timeout(300)]


def test_a_quick_check_measures_both_readers_and_the_limit_and_decides_nothing(
    hbase_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    readers = [COMPILED, PURE] if compiled_cells is not None else [PURE]
    known = [comparison(name, *(variant(key, 900.0, 0.01) for key in readers)) for name in JOBS]
    before = msgspec.structs.replace(RESULTS, comparisons=tuple(known))
    (tmp_path / "results.json").write_text(to_json(before))
    only = [part for name in JOBS for part in ("--only", name)]
    sizes = ["--url", hbase_url, "--rows", "600", "--repetitions", "1", "--output", str(tmp_path)]

    code = main(["check", *sizes, *only])

    out = capsys.readouterr().out
    assert code == 0
    assert "Not decided: the run is of another size than the last results." in out
    assert out.count("| WORSE |") == 4 * len(readers)
    for unit_rows in ("Scan of 3,000 rows", "Gets of one row of 5 cells each, of 600 rows"):
        assert unit_rows in out
    limits = re.findall(r"\| the same answers, received and thrown away \| ([\d,]+) \|", out)
    assert len(limits) == len(JOBS)
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]


JOBS = ("scan", "get")
