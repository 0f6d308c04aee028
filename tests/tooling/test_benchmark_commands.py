"""The command line of the benchmarks, without a server."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import page
from benchmarks.__main__ import main
from benchmarks.options import COMMANDS, QUICK_ROWS, parse
from benchmarks.results import (
    to_json,
)
from tests.support.made_up_results import RESULTS


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "scna"], "there is no job 'scna'; did you mean 'scan'? All: memory, scan,"),
        (["check", "--only", "keys"], "there is no job 'keys'"),
        (["scale", "--only", "row"], "there is no part 'row'; did you mean 'rows'? All: rows,"),
        (["page", "--only", "scan"], "there is no name 'scan': the command takes none"),
        (["chek"], "there is no command 'chek'; did you mean 'check'?"),
        (["--rows", "5"], "argument --rows: 5 is less than 600"),
        (["--rows", "many"], "argument --rows: invalid number value: 'many'"),
        (["--repetitions", "0"], "argument --repetitions: 0 is less than 1"),
        (["--onyl", "scan"], "unrecognized arguments: --onyl"),
    ],
)
def test_a_wrong_argument_is_refused_with_what_is_meant(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as raised:
        main(arguments)

    assert raised.value.code == 2
    assert message in capsys.readouterr().err


def test_help_names_all_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])

    assert set(re.findall(r"^(\w+)  +", capsys.readouterr().out, re.MULTILINE)) >= set(COMMANDS)


def test_only_a_whole_run_is_written() -> None:
    assert parse([]).is_whole
    assert not parse(["--only", "scan"]).is_whole
    assert not parse(["--quick"]).is_whole


def test_a_quick_run_leaves_out_slow_jobs_unless_they_are_named() -> None:
    jobs, slow = ["scan", "memory", "get"], {"memory"}

    assert parse([]).names(jobs, slow) == jobs
    assert parse(["--quick"]).names(jobs, slow) == ["scan", "get"]
    assert parse(["--quick", "--only", "memory"]).names(jobs, slow) == ["memory"]
    assert parse(["--only", "get"]).names(jobs, slow) == ["get"]


def test_sizes_that_are_given_win_over_quick_ones() -> None:
    assert parse(["--quick"]).with_default(20_000, 7) == (QUICK_ROWS, 2)
    assert parse(["--quick", "--rows", "700"]).with_default(20_000, 7) == (700, 2)
    assert parse(["--repetitions", "3"]).with_default(20_000, 7) == (20_000, 3)


@pytest.mark.parametrize("command", ["check", "page"])
def test_without_results_it_names_the_command_that_makes_them(command: str, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"results\.json is not there: `make bench` writes it"):
        main([command, "--output", str(tmp_path)])


def test_a_results_file_of_another_form_is_refused(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text('{"rows": 3}')

    with pytest.raises(SystemExit, match=r"cannot be read \(.*machine"):
        main(["page", "--output", str(tmp_path)])


def test_the_page_is_written_again_from_results(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text(to_json(RESULTS))

    assert main(["page", "--output", str(tmp_path)]) == 0
    assert (tmp_path / "RESULTS.md").read_text() == page.page(RESULTS)


def test_benchmarks_refuse_a_gateway_in_memory() -> None:
    with pytest.raises(SystemExit, match="need an HBase with Thrift1, which memory:// has not"):
        main(["--url", "memory://", "--only", "scan"])
