"""What benchmarks make of measurements: ratios, targets, the check against the last results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import msgspec
import pytest

from benchmarks import check
from benchmarks.paired import Samples, Variant, compare, spread, summary
from benchmarks.results import (
    AGAIN,
    BASE,
    COMPILED,
    LIMIT,
    OWN,
    PURE,
    Comparison,
    Spread,
    from_json,
    to_json,
)
from benchmarks.targets import Measure, Target, Verdict, outcome
from tests.support.made_up_results import RESULTS, comparison, variant

# --- statistics -----------------------------------------------------------------------------------


def test_a_ratio_compares_runs_of_one_repetition() -> None:
    base = Samples(wall_s=[1.0, 8.0, 2.0], count=100)
    own = Samples(wall_s=[0.5, 2.0, 4.0], count=100)

    assert spread(own, base) == Spread(2.0, 0.5, 4.0)


def test_variants_that_did_other_numbers_of_units_are_compared_by_their_rates() -> None:
    base = Samples(wall_s=[1.0], count=100)
    own = Samples(wall_s=[1.0], count=50)

    assert spread(own, base).median == 0.5


def test_a_comparison_has_medians_and_the_largest_peak() -> None:
    variants = [
        Variant(BASE, "by hand", lambda: 0),
        Variant(OWN, "own", lambda: 0),
        Variant(LIMIT, "the limit", lambda: 0),
    ]
    samples = {
        BASE: Samples([4.0, 4.0, 4.0], [2.0, 3.0, 9.0], [], 1_000),
        OWN: Samples([1.0, 2.0, 4.0], [0.1, 0.3, 0.2], [20.0, 40.0, 30.0], 1_000),
        LIMIT: Samples([1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [], 1_000),
    }

    made = summary("name", "Title", "row", variants, samples)

    own = made.variant(OWN)
    assert own is not None
    assert made.repetitions == 3
    assert (own.rate, own.cpu_us, own.peak_mb) == (500.0, 200.0, 40.0)
    assert (own.speed, own.of_limit) == (Spread(2.0, 1.0, 4.0), Spread(0.5, 0.25, 1.0))
    assert made.base.peak_mb is None
    assert made.cpu_share(OWN) == pytest.approx(200 / 3_000)


def test_each_variant_runs_once_in_each_repetition_in_changing_order() -> None:
    runs: list[str] = []

    def work(name: str) -> Callable[[], int]:
        def run() -> int:
            runs.append(name)
            return 1

        return run

    variants = [Variant(name, name, work(name)) for name in "abc"]
    compare("name", "Title", "row", variants, repetitions=20, seed=1)

    turns = [tuple(runs[start : start + 3]) for start in range(0, 60, 3)]
    assert all(sorted(turn) == ["a", "b", "c"] for turn in turns)
    assert len(set(turns)) == 6


def test_waits_and_preparations_are_not_measured() -> None:
    clock = [0.0]

    def work() -> int:
        clock[0] += 2.0
        return 1

    def prepare() -> None:
        clock[0] += 100.0

    slow = Variant(BASE, "slow", lambda: 1, waited_s=lambda: -1.0)
    waiting = Variant("own", "own", work, prepare, waited_s=lambda: -0.5, cpu_s=lambda: clock[0])
    made = compare("name", "Title", "row", [slow, waiting], repetitions=3, seed=1)

    assert made.variants[1].cpu_us == pytest.approx(2e6)
    assert made.variants[1].speed.median == pytest.approx(2.0, rel=0.05)


# --- the results file -----------------------------------------------------------------------------


def test_a_results_file_has_a_comparison_a_line_and_comes_back_as_it_was() -> None:
    text = to_json(RESULTS)

    assert from_json(text) == RESULTS
    assert sum(line.startswith('{"name":') for line in text.splitlines()) == 3


def test_a_results_file_has_four_significant_digits() -> None:
    measured = msgspec.structs.replace(RESULTS.comparisons[0].variants[0], rate=123_456.789)
    made = msgspec.structs.replace(RESULTS.comparisons[0], variants=(measured,))

    text = to_json(msgspec.structs.replace(RESULTS, comparisons=(made,)))

    assert from_json(text).comparisons[0].base.rate == 123_500.0


# --- targets --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bound", "stretch", "measure", "verdict"),
    [
        (3.71, None, Measure.SPEED, Verdict.MISSED),
        (3.7, None, Measure.SPEED, Verdict.MET),
        (3.5, 3.8, Measure.SPEED, Verdict.MET),
        (2.0, 3.6, Measure.SPEED, Verdict.STRETCH),
        (0.93, None, Measure.OF_LIMIT, Verdict.MISSED),
        (0.92, None, Measure.OF_LIMIT, Verdict.MET),
        (0.11, 0.05, Measure.CPU, Verdict.MET),
        (0.2, 0.1, Measure.CPU, Verdict.STRETCH),
        (0.09, None, Measure.CPU, Verdict.MISSED),
        (60.0, None, Measure.PEAK, Verdict.UNKNOWN),
    ],
)
def test_a_target_is_met_or_missed(
    bound: float, stretch: float | None, measure: Measure, verdict: Verdict
) -> None:
    target = Target("a scan", "scan", COMPILED, bound, stretch, measure)

    assert outcome(target, RESULTS).verdict is verdict


def test_peak_memory_is_at_most_what_is_wanted() -> None:
    target = Target("memory", "memory", COMPILED, 12.5, measure=Measure.PEAK)

    assert outcome(target, RESULTS).verdict is Verdict.MET
    assert outcome(replace(target, bound=12.0), RESULTS).verdict is Verdict.MISSED


def test_a_scenario_that_was_not_measured_is_not_met() -> None:
    assert outcome(Target("gets", "get", COMPILED, 1.0), RESULTS).verdict is Verdict.UNKNOWN


# --- the check ------------------------------------------------------------------------------------


def judged(before: Comparison, after: Comparison) -> list[check.Judgement]:
    return check.judgements(msgspec.structs.replace(RESULTS, comparisons=(before,)), [after])


@pytest.mark.parametrize(
    ("speed", "verdict"),
    [(3.0, "same"), (3.3, "same"), (2.74, "same"), (2.72, "WORSE"), (3.34, "better")],
)
def test_a_speed_is_worse_beyond_a_tenth(speed: float, verdict: str) -> None:
    before = comparison("scan", variant(COMPILED, 3.0, 2.0))
    after = comparison("scan", variant(COMPILED, speed, 2.0))

    assert judged(before, after)[0].verdict == verdict


@pytest.mark.parametrize("is_noisy_before", [True, False])
def test_noise_of_either_run_excuses_a_loss(is_noisy_before: bool) -> None:  # noqa: FBT001  # a case
    quiet = comparison("scan", variant(COMPILED, 3.0, 2.0))
    again = variant(AGAIN, 1.0, 20.0, extremes=(0.8, 1.4))
    noisy = msgspec.structs.replace(quiet, variants=(quiet.base, again, *quiet.variants[2:]))
    before = noisy if is_noisy_before else quiet
    slow = quiet if is_noisy_before else noisy
    after = msgspec.structs.replace(
        slow, variants=(*slow.variants[:2], variant(COMPILED, 2.4, 2.0))
    )

    speed = judged(before, after)[0]

    assert speed.noise == pytest.approx(0.3)
    assert speed.verdict == "same"


def test_a_great_loss_is_worse_however_much_the_baseline_differs_from_itself() -> None:
    again = variant(AGAIN, 3.5, 20.0, extremes=(0.2, 6.0))
    before = comparison("scan", variant(COMPILED, 900.0, 2.0))
    after = msgspec.structs.replace(
        before, variants=(before.base, again, variant(COMPILED, 2.0, 2.0))
    )

    assert judged(before, after)[0].verdict == "WORSE"


def test_a_baseline_that_differs_from_itself_is_noise_even_without_a_range() -> None:
    again = variant(AGAIN, 1.4, 20.0)
    before = comparison("scan", variant(COMPILED, 3.0, 2.0))
    after = msgspec.structs.replace(
        before, variants=(before.base, again, variant(COMPILED, 2.0, 2.0))
    )

    assert judged(before, after)[0].noise == pytest.approx(0.4)


@pytest.mark.parametrize(("cpu_us", "verdict"), [(2.19, "same"), (2.3, "WORSE"), (1.7, "better")])
def test_cpu_is_compared_as_a_part_of_the_baselines(cpu_us: float, verdict: str) -> None:
    before = comparison("scan", variant(COMPILED, 3.0, 2.0))
    after = comparison("scan", variant(COMPILED, 3.0, cpu_us))

    cpu = judged(before, after)[1]

    assert (cpu.figure, cpu.verdict) == ("CPU", verdict)


def test_the_baselines_and_the_limit_are_not_judged() -> None:
    before = comparison("scan", variant(LIMIT, 4.0, 0.4), variant(PURE, 2.0, 8.0))

    assert {each.variant for each in judged(before, before)} == {"variant pure"}


@pytest.mark.parametrize(("speed", "code"), [(3.0, 0), (1.0, 1)])
def test_the_check_fails_if_a_figure_is_worse(speed: float, code: int) -> None:
    before = comparison("scan", variant(COMPILED, 3.0, 2.0))
    after = comparison("scan", variant(COMPILED, speed, 2.0))
    made = judged(before, after)

    assert check.conclusion(made, is_comparable=True)[1] == code
    assert check.conclusion(made, is_comparable=False)[1] == 0


def test_the_check_fails_if_nothing_can_be_compared() -> None:
    scan, other = comparison("scan", variant(COMPILED, 3.0, 2.0)), comparison("get")

    assert check.conclusion(judged(other, scan), is_comparable=True)[1] == 2


def test_the_table_of_the_check_shows_loss_and_noise() -> None:
    before = comparison("scan", variant(COMPILED, 4.0, 2.0))
    after = comparison("scan", variant(COMPILED, 2.0, 2.0))

    assert "| scan | variant compiled | speed | 4.00 | 2.00 | +100% | 10% | WORSE |" in check.table(
        judged(before, after)
    )
