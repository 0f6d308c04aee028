"""The seeds of a test run: new ones in every run, and a printed command that repeats it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]

TESTS = """
import random
from pathlib import Path
from hypothesis import Phase, given, settings, strategies as st

def note(request, value):
    with Path(f"{request.node.name}.drawn").open("a") as file:
        file.write(f"{value}\\n")

def test_by_hypothesis(request):
    @settings(max_examples=5)
    @given(st.integers())
    def draw(number):
        note(request, number)
    draw()

def test_by_random(request):
    note(request, random.random())

def test_that_fails():
    @settings(phases=[Phase.generate])
    @given(st.integers())
    def is_none(number):
        assert number is None
    is_none()
"""

# Most of the time of each run goes into imports: it loads no plugin that it does not need.
PLUGINS = {"PYTEST_ADDOPTS": "-pno:hbase_orm -pno:anyio -pno:pytest_cov -pno:timeout"}

Drawn = dict[str, str]


class Project:
    """A folder of random tests below this repository's plugin for seeds."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / "test_random.py").write_text(TESTS)
        (folder / "conftest.py").write_text('pytest_plugins = ["tests.support.seeds"]')

    def run(self, *options: str, **variables: str) -> tuple[str, Drawn]:
        """Run the tests; return what pytest printed, and what each test drew."""
        return self.shell([sys.executable, "-m", "pytest", *options], **variables)

    def with_seeds(self, count: int) -> subprocess.CompletedProcess[str]:
        """Run the tests with so many seeds."""
        command = ["-m", "tests.support.seed_runs", str(count), "-kfails"]
        return self._run([sys.executable, *command])

    def shell(self, command: list[str], **variables: str) -> tuple[str, Drawn]:
        for old in self._folder.glob("*.drawn"):
            old.unlink()
        done = self._run(["/usr/bin/env", *command], **variables)
        assert "1 failed, 2 passed" in done.stdout, done.stdout + done.stderr
        return done.stdout, {each.stem: each.read_text() for each in self._folder.glob("*.drawn")}

    def _run(self, command: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
        unwanted = {"CI", "HYPOTHESIS_PROFILE"}
        inherited = {name: value for name, value in os.environ.items() if name not in unwanted}
        return subprocess.run(
            command,
            cwd=self._folder,
            env={**inherited, **PLUGINS, "PYTHONPATH": str(REPOSITORY), **variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )

    def repeat(self, printed: str) -> Drawn:
        """Run the command that a run printed last; return what each test drew."""
        return self.shell(repetition(printed))[1]


def repetition(printed: str) -> list[str]:
    (*_, command) = re.findall(r"^repeat this run: (.*)$", printed, re.MULTILINE)
    return shlex.split(command)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(tmp_path_factory.mktemp("random"))


@pytest.fixture(scope="module")
def usual(project: Project) -> tuple[str, Drawn]:
    """Return what a run without options printed and drew."""
    return project.run()


def test_each_run_draws_other_values_in_ci_too(project: Project, usual: tuple[str, Drawn]) -> None:
    runs = [usual[1], project.run(CI="true")[1], project.run(CI="true")[1]]

    for name in ("test_by_hypothesis", "test_by_random"):
        assert len({drawn[name] for drawn in runs}) == 3


def test_the_header_shows_one_number_for_both_seeds(usual: tuple[str, Drawn]) -> None:
    printed, _ = usual

    found = re.search(
        r"^seeds: --randomly-seed=(\d+) --hypothesis-seed=(\d+)$", printed, re.MULTILINE
    )
    assert found is not None
    assert found[1] == found[2]
    assert printed.count("\nrepeat this run: ") == 2  # above the tests and below the failures


def test_the_printed_command_draws_the_same_values_again(
    project: Project, usual: tuple[str, Drawn]
) -> None:
    printed, drawn = usual

    assert project.repeat(printed) == drawn
    assert project.run("--randomly-seed=last")[1] == drawn


def test_workers_draw_what_one_process_draws(project: Project, usual: tuple[str, Drawn]) -> None:
    printed, drawn = usual
    *_, seed, _ = repetition(printed)

    again, of_workers = project.run("-n2", seed)

    assert of_workers == drawn
    assert seed in repetition(again)


def test_a_seed_of_its_own_for_hypothesis_is_repeated(project: Project) -> None:
    printed, drawn = project.run("-q", "--hypothesis-seed=five", HYPOTHESIS_PROFILE="usual")

    assert repetition(printed)[0] == "HYPOTHESIS_PROFILE=usual"
    assert repetition(printed)[-1] == "--hypothesis-seed=five"
    assert project.repeat(printed) == drawn


def test_without_the_random_order_hypothesis_has_a_seed_all_the_same(project: Project) -> None:
    printed, drawn = project.run("-p", "no:randomly", "-k", "hypothesis or random or fails")

    assert "--randomly-seed" not in printed
    assert project.repeat(printed)["test_by_hypothesis"] == drawn["test_by_hypothesis"]


def test_a_failure_shows_how_to_repeat_its_example(usual: tuple[str, Drawn]) -> None:
    assert "@reproduce_failure(" in usual[0]


def test_a_run_with_several_seeds_shows_each_result_and_how_to_repeat_what_failed(
    project: Project,
) -> None:
    done = project.with_seeds(2)

    seeds = re.findall(r"^seed (\d+): exit code 1 after \d+ s: 1 failed", done.stdout, re.MULTILINE)
    assert len(set(seeds)) == 2
    assert done.stdout.count("\nrepeat this run: ") == 2
    assert "2 seeds: 0 passed, 2 failed" in done.stdout
    assert done.stdout.endswith(f"failed: --randomly-seed={', '.join(seeds)}\n")
    assert done.returncode == 1
