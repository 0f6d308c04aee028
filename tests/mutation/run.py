"""Does a test fail for each mutant of the list? `make mutants`, or `python -m tests.mutation.run`.

All tests that need no HBase run once, with the mutants' statements watched: so it is known which
tests execute which. Then each mutant gets those tests, in rounds that grow. Everything happens on a
copy of the repository; results go to a file of JSON lines, and a run goes on where one was ended.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

from tests.mutation.mutants import (
    Mutant,
    Place,
    all_statements,
    locate,
    modules,
    mutate,
    nearest,
    read_list,
    write_list,
)
from tests.mutation.operators import watched
from tests.mutation.trials import HIT, Copy, Trial, file_mark, preload

CACHE: Final = Path(".mutation")
ROUNDS: Final = ((3, 30), (12, 60), (60, 120))
"""Most test files and most tests of the first rounds."""

LAST_ROUND_S: Final = 40.0
"""CPU seconds of the tests in the last round: the quickest of those that are left."""

SLOW_S: Final = 0.5
"""CPU seconds of a file's tests, on average, from which they run after those of other files."""

TEST_LIMIT_S: Final = 10.0
"""CPU seconds of one test; those that take longer run for no mutant."""

MUTANT_LIMIT_S: Final = 30.0
"""CPU seconds of one test of a mutant: more than a test that passed took on any machine."""

TIMEOUT_S: Final = 300.0
"""Seconds of one round of a mutant; a machine that is busy needs a multiple of its CPU seconds."""

CLEAN_RUNS: Final = 3
"""So often the tests that failed for mutants must pass without one."""

ALL_TESTS_TIMEOUT_S: Final = 7200.0


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a mutant.

    Attributes:
        id: The mutant's.
        state: "killed", "survived", "timeout" (killed, too), "not covered" or "lost".
        by: The test that failed.
        covering: How many tests execute the statement.
        executed: How many of them ran.
        cpu_s: CPU seconds.
        tree: The mark of the code, the tests and the list.
    """

    id: str
    state: str
    by: str = ""
    covering: int = 0
    executed: int = 0
    cpu_s: float = 0.0
    tree: str = ""


def tree_mark(root: Path) -> str:
    """Return a short text that is another one once code, tests or the list of mutants change."""
    found = hashlib.sha256()
    for folder in ("hbase_orm", "tests", "examples"):
        for path in sorted((root / folder).rglob("*.py")):
            if "mutation" not in path.parts:
                found.update(str(path.relative_to(root)).encode() + path.read_bytes())
    found.update(repr(read_list()).encode())
    return found.hexdigest()[:12]


def measure(copy: Copy, places: Mapping[str, Place]) -> Trial:
    """Run all tests with the mutants' statements watched."""
    sources: dict[Path, str] = {}
    for mutant, place in places.items():
        if place.statement is not None:
            path = modules(copy.root)[place.statement.module]
            source = sources.get(path) or path.read_text()
            text = watched(place.statement.text, f"{HIT}({mutant!r})")
            sources[path] = mutate(source, place.statement, text)
    with copy.changed(sources):
        return copy.run(limit_s=TEST_LIMIT_S, timeout_s=ALL_TESTS_TIMEOUT_S)


def rounds(met: Iterable[str], tests: Mapping[str, float]) -> Iterator[dict[str, float]]:
    """Yield the tests to run: in each round those of more files, each file's quickest; then the rest.

    A file comes the sooner, the larger the share of its tests that execute the statement is: so one
    that is about it precedes those that pass by. A file that executes it when it is imported counts
    as a whole, after the others; files of slow tests come last.

    Args:
        met: The tests that execute the statement, and marks of test files.
        tests: The CPU seconds of every test that passes.
    """
    marks = set(met)
    is_everywhere = marks == {""}  # executed when the library is imported, and never again
    by_file: dict[str, list[str]] = {}
    sizes: Counter[str] = Counter()
    for test in sorted(tests, key=lambda test: (tests[test], test)):
        name = test.partition("::")[0]
        sizes[name] += 1
        if is_everywhere or test in marks or file_mark(test) in marks:
            by_file.setdefault(name, []).append(test)

    def rank(name: str) -> tuple[bool, float, float]:
        direct = sum(test in marks for test in by_file[name])
        mean_s = sum(tests[test] for test in by_file[name]) / len(by_file[name])
        return mean_s > SLOW_S, -direct / sizes[name], mean_s

    waiting = sorted(by_file, key=rank)
    for most_files, most_tests in ROUNDS:
        files, waiting = waiting[:most_files], waiting[most_files:]
        quick = [by_file[name][: -(-most_tests // len(files))] for name in files]
        for some in quick:
            del by_file[some[0].partition("::")[0]][: len(some)]
        if files:
            yield {test: tests[test] for some in quick for test in some}
    rest = sorted((tests[test], test) for some in by_file.values() for test in some)
    ends_s = accumulate(cpu_s for cpu_s, _ in rest)
    if last := [each for each, end_s in zip(rest, ends_s, strict=True) if end_s <= LAST_ROUND_S]:
        yield {test: cpu_s for cpu_s, test in last}


def judge(copy: Copy, mutant: Mutant, place: Place, measured: Trial) -> Result:
    """Run the tests of one mutant until one fails."""
    statement = place.statement
    if statement is None:
        return Result(mutant.id, "lost")
    met = measured.met.get(mutant.id, [])
    covering = sum(test in measured.tests for test in met)
    cpu_s, executed = 0.0, 0
    if not met:
        return Result(mutant.id, "not covered")
    path = modules(copy.root)[statement.module]
    with copy.changed({path: mutate(path.read_text(), statement, mutant.mutated)}):
        for wanted in rounds(met, measured.tests):
            trial = copy.run(wanted, limit_s=MUTANT_LIMIT_S, timeout_s=TIMEOUT_S)
            cpu_s += trial.cpu_s
            executed += len(trial.tests) + bool(trial.by)
            if trial.ending != "passed":
                state = "killed" if trial.ending == "failed" else "timeout"
                return Result(mutant.id, state, trial.by, covering, executed, round(cpu_s, 2))
    return Result(mutant.id, "survived", "", covering, executed, round(cpu_s, 2))


def run(results: Path, minutes: float, only: Sequence[str]) -> None:
    """Judge the mutants that have no result for this tree yet, in an order of no meaning."""
    ends_s = time.monotonic() + 60 * minutes
    tree = tree_mark(Path())
    places = located()
    mutants = [mutant for mutant in read_list() if mutant.id in only or not only]
    random.Random(0).shuffle(mutants)
    preload()
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="mutation-") as directory:
        copy = Copy.make(Path(), Path(directory))
        cache = CACHE / f"{tree}.json"
        is_certain = False
        while not is_certain:
            measured = measured_once(copy, places, cache)
            known = {each.id for each in read_results(results) if each.tree == tree}
            waiting = [mutant for mutant in mutants if mutant.id not in known]
            for result in _judged(copy, waiting, places, measured, ends_s):
                with results.open("a") as file:
                    file.write(_json(replace(result, tree=tree)) + "\n")
            unreliable = _unreliable(copy, read_results(results), measured)
            _forget(unreliable, results, measured, cache)
            is_certain = not unreliable
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(f"{sum(each.ru_utime + each.ru_stime for each in used):.0f} CPU seconds")


def _judged(
    copy: Copy,
    waiting: Sequence[Mutant],
    places: Mapping[str, Place],
    measured: Trial,
    ends_s: float,
) -> Iterator[Result]:
    """Yield the result of each mutant, until time is over."""
    for number, mutant in enumerate(waiting, start=1):
        if time.monotonic() > ends_s:
            print(f"time is over: {len(waiting) - number + 1} mutants wait")
            break
        result = judge(copy, mutant, places[mutant.id], measured)
        print(f"{number}/{len(waiting)} {_line(result)}", flush=True)
        yield result


def measured_once(copy: Copy, places: Mapping[str, Place], path: Path) -> Trial:
    """Return how all tests ran with the statements watched: as kept in a file, or now.

    Raises:
        SystemExit: No test passed.
    """
    if not path.exists():
        print("running all tests once ...", flush=True)
        trial = measure(copy, places)
        if not trial.tests:  # the process ended before it answered
            raise SystemExit("\n".join(["no test passed:", *copy.output_lines()[-20:]]))
        path.write_text(_json(trial))
    trial = Trial(**json.loads(path.read_text()))
    print(f"{len(trial.tests)} tests pass, in {trial.cpu_s:.0f} CPU seconds", flush=True)
    return trial


def _unreliable(copy: Copy, results: Iterable[Result], measured: Trial) -> set[str]:
    """Return which of the tests that failed for a mutant fail without one, too."""
    killers = {each.by for each in results if each.by in measured.tests}
    found: set[str] = set()
    passed = 0
    while killers - found and passed < CLEAN_RUNS:
        wanted = {test: measured.tests[test] for test in killers - found}
        trial = copy.run(wanted, limit_s=MUTANT_LIMIT_S, timeout_s=ALL_TESTS_TIMEOUT_S)
        passed += 1
        if trial.by in wanted:
            print(f"fails without a mutant, too: {trial.by}", flush=True)
            found.add(trial.by)
            passed = 0
    return found


def _forget(unreliable: set[str], results: Path, measured: Trial, cache: Path) -> None:
    """Remove tests from those that can be run, and the results that came of them."""
    if unreliable:
        kept = {test: cpu_s for test, cpu_s in measured.tests.items() if test not in unreliable}
        cache.write_text(_json(replace(measured, tests=kept)))
        lines = [_json(each) for each in read_results(results) if each.by not in unreliable]
        results.write_text("".join(f"{line}\n" for line in lines))


def located() -> dict[str, Place]:
    """Return where each mutant is now."""
    tree = all_statements(Path())
    return {mutant.id: locate(mutant, tree) for mutant in read_list()}


def read_results(path: Path) -> list[Result]:
    """Return the results of a file; none where there is no file."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [Result(**json.loads(line)) for line in lines]


def show_places() -> None:
    """Print where each mutant that is not at its place is, and how many are where."""
    tree = all_statements(Path())
    places = {mutant: locate(mutant, tree) for mutant in read_list()}
    for mutant, place in places.items():
        if place.state != "found":
            print(f"{mutant.id} {mutant.module} {mutant.function} {place.state}")
        if place.statement and place.state == "moved":
            print(f"    to {place.statement.module} {place.statement.function}")
        if place.state == "lost":
            print(f"    {mutant.original}")
            if like := nearest(mutant, tree):
                print(f"    like {like.module} {like.function}\n    {like.text}")
    print(_counts(place.state for place in places.values()))


def update_list() -> None:
    """Write into the list where the mutants are that were moved."""
    places = located()
    write_list(
        replace(mutant, module=now.module, function=now.function)
        if (now := places[mutant.id].statement)
        else mutant
        for mutant in read_list()
    )


def show_summary(path: Path) -> None:
    """Print how many mutants ended how, and those that no test noticed."""
    results = {each.id: each for each in read_results(path)}
    mutants = {each.id: each for each in read_list()}
    for name, result in sorted(results.items()):
        if result.state in {"survived", "not covered", "lost"}:
            mutant = mutants[name]
            print(f"{_line(result)} {mutant.module} {mutant.function}: {mutant.operator}")
            print(f"    {mutant.original}\n    {mutant.mutated}")
    print(_counts(each.state for each in results.values()))


def show_differences(one: Path, other: Path) -> None:
    """Print the mutants that ended differently in two files of results."""
    before = {each.id: each.state for each in read_results(one)}
    after = {each.id: each.state for each in read_results(other)}
    for name in sorted({*before, *after}):
        if before.get(name) != after.get(name):
            print(f"{name} {before.get(name, 'no result')} -> {after.get(name, 'no result')}")
    print(f"before: {_counts(before.values())}")
    print(f"after:  {_counts(after.values())}")


def _json(value: Result | Trial) -> str:
    return json.dumps(asdict(value))


def _line(result: Result) -> str:
    tests = f"{result.executed} of {result.covering} tests"
    return f"{result.id} {result.state} {result.by or tests} {result.cpu_s:.1f} s"


def _counts(states: Iterable[str]) -> str:
    return ", ".join(f"{count} {state}" for state, count in sorted(Counter(states).items()))


def main(arguments: Sequence[str]) -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation.run", description=__doc__)
    parser.add_argument("--results", type=Path, default=CACHE / "results.jsonl")
    parser.add_argument("--minutes", type=float, default=600, help="begin no mutant after these")
    parser.add_argument("--only", nargs="*", default=[], metavar="ID", help="these mutants alone")
    parser.add_argument("--locate", action="store_true", help="say where each mutant is now")
    parser.add_argument("--update", action="store_true", help="list moved ones where they are")
    parser.add_argument("--summary", type=Path, metavar="FILE", help="count results")
    parser.add_argument(
        "--compare", type=Path, nargs=2, metavar="FILE", help="two files of results"
    )
    given: Any = parser.parse_args(arguments)
    if given.locate:
        show_places()
    elif given.update:
        update_list()
    elif given.summary:
        show_summary(given.summary)
    elif given.compare:
        show_differences(*given.compare)
    else:
        run(given.results, given.minutes, given.only)


if __name__ == "__main__":
    main(sys.argv[1:])
