"""The command line: `python -m benchmarks [run|check|scale|page] [--only NAME] [--quick] …`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import msgspec

from benchmarks import check, page, scale_page
from benchmarks.catalog import JOBS, LOCAL_JOBS, MODELS, SLOW
from benchmarks.machine import load_average, this_machine
from benchmarks.options import (
    CHECK_REPETITIONS,
    REPETITIONS,
    ROWS,
    Options,
    parse,
    place_of,
)
from benchmarks.results import Comparison, Results, from_json
from benchmarks.scale import PARTS, Scale


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    options = parse(arguments)
    match options.command:
        case "check":
            return _check(options)
        case "scale":
            return _scale(options)
        case "page":
            return _written(page.write(_last_results(options), options.output))
        case _:
            return _run(options)


def _run(options: Options) -> int:
    rows, repetitions = options.with_default(ROWS, REPETITIONS)
    load_before = load_average()
    comparisons, hbase = _measured(options, options.names(JOBS, SLOW), rows, repetitions)
    for name in options.names(LOCAL_JOBS, SLOW):
        comparisons += [_printed(each) for each in LOCAL_JOBS[name](repetitions)]
    results = Results(this_machine(hbase, load_before), rows, tuple(comparisons))
    print(page.machine_text(results.machine, rows))
    return _written(page.write(results, options.output)) if options.is_whole else 0


def _measured(
    options: Options, names: Sequence[str], rows: int, repetitions: int
) -> tuple[list[Comparison], str]:
    """Return what jobs on a server have measured, and what is known of the HBase."""
    if not names:
        return [], "not used"
    with place_of(options, rows, repetitions) as (place, hbase):
        comparisons = [_printed(each) for name in names for each in JOBS[name](place)]
        place.engine.drop_tables(*MODELS)
    return comparisons, hbase


def _printed(comparison: Comparison) -> Comparison:
    """Print what was measured at once, so that it is not lost if a later job fails."""
    print(page.details(comparison), end="\n\n", flush=True)
    return comparison


def _check(options: Options) -> int:
    before = _last_results(options)
    rows, repetitions = options.with_default(before.rows, CHECK_REPETITIONS)
    comparisons, _ = _measured(options, options.only or check.CHOSEN, rows, repetitions)
    judged = check.judgements(before, comparisons)
    text, code = check.conclusion(judged, is_comparable=rows == before.rows)
    print(check.table(judged), text, sep="\n\n")
    return code


def _last_results(options: Options) -> Results:
    path = options.output / "results.json"
    try:
        return from_json(path.read_bytes())
    except FileNotFoundError:
        raise SystemExit(f"{path} is not there: `make bench` writes it") from None
    except msgspec.DecodeError as error:
        raise SystemExit(f"{path} cannot be read ({error}): `make bench` writes it") from error


def _scale(options: Options) -> int:
    rows, repetitions = options.with_default(ROWS, REPETITIONS)
    load_before, parts = load_average(), []
    with place_of(options, rows, repetitions) as (place, hbase):
        for name in options.names(PARTS):
            part = PARTS[name](place)
            print(scale_page.section(part), end="\n\n", flush=True)
            parts.append(part)
    result = Scale(this_machine(hbase, load_before), rows, tuple(parts))
    print(page.machine_text(result.machine, rows))
    return _written(scale_page.write(result, options.output)) if options.is_whole else 0


def _written(paths: Sequence[object]) -> int:
    for path in paths:
        print(f"wrote {path}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
