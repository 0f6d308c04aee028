"""Compares a new run with the last results: is something worse, beyond noise?

Two figures of each variant of the library are compared. One is its speed beside the baseline of the
same run: the loss is by which part a row takes longer, and noise is half the range of the A/A row
or what its median differs from 1 by, whichever is more, in the noisier of both runs. The other is
its client CPU as a part of the baseline's in the same run, which another machine or other work
changes little; noise is what the CPU of the A/A row differed by. Less than a tenth is never called
worse.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.results import AGAIN, BASE, LIMIT, Comparison, Results, markdown

CHOSEN: Final = ("scan", "scan-sparse", "count", "wide-rows", "get", "get-many", "load")
"""The jobs that are measured: those of the hot paths, a minute or two in all."""

LEAST_NOISE: Final = 0.10


@dataclass(frozen=True, slots=True)
class Judgement:
    """One figure, before and after.

    Attributes:
        comparison: The comparison.
        variant: The variant's name.
        figure: What is compared: "speed" or "CPU".
        before: It in the last results.
        after: It now.
        loss: By which part a row takes longer, or costs more; negative if it became better.
        noise: What a loss has to exceed.
    """

    comparison: str
    variant: str
    figure: str
    before: float
    after: float
    loss: float
    noise: float

    @property
    def is_worse(self) -> bool:
        """Whether it became worse beyond noise."""
        return self.loss > self.noise

    @property
    def verdict(self) -> str:
        """What the table says."""
        if self.is_worse:
            return "WORSE"
        return "better" if self.loss < -self.noise else "same"


def judgements(before: Results, comparisons: Sequence[Comparison]) -> list[Judgement]:
    """Return the comparison of each figure that both have."""
    return [
        judgement
        for after in comparisons
        if (earlier := before.comparison(after.name)) is not None
        for judgement in _judged(earlier, after)
    ]


def _judged(before: Comparison, after: Comparison) -> Iterator[Judgement]:
    for new in after.variants:
        old = before.variant(new.key)
        if new.key in {BASE, AGAIN, LIMIT} or old is None:
            continue
        speeds = old.speed.median, new.speed.median
        noise = max(LEAST_NOISE, _speed_noise(before), _speed_noise(after))
        yield Judgement(
            after.name, new.name, "speed", *speeds, loss=speeds[0] / speeds[1] - 1, noise=noise
        )
        shares = before.cpu_share(new.key), after.cpu_share(new.key)
        if shares[0] and shares[1]:
            noise = max(LEAST_NOISE, _cpu_noise(before), _cpu_noise(after))
            loss = shares[1] / shares[0] - 1
            yield Judgement(
                after.name, new.name, "CPU", shares[0], shares[1], loss=loss, noise=noise
            )


def _speed_noise(comparison: Comparison) -> float:
    again = comparison.variant(AGAIN)
    if again is None:
        return 0.0
    return max((again.speed.most - again.speed.least) / 2, abs(again.speed.median - 1))


def _cpu_noise(comparison: Comparison) -> float:
    share = comparison.cpu_share(AGAIN)
    return 0.0 if share is None else abs(share - 1)


def table(judged: Sequence[Judgement]) -> str:
    """Return the table that is printed."""
    head = ["job", "variant", "figure, by hand = 1", "before", "now", "loss", "noise", ""]
    rows = [
        [
            each.comparison,
            each.variant,
            each.figure,
            f"{each.before:.2f}",
            f"{each.after:.2f}",
            f"{each.loss:+.0%}",
            f"{each.noise:.0%}",
            each.verdict,
        ]
        for each in judged
    ]
    return markdown(head, rows)


def conclusion(judged: Sequence[Judgement], *, is_comparable: bool) -> tuple[str, int]:
    """Return what is said below the table, and the program's exit code.

    Args:
        judged: What was compared.
        is_comparable: Whether both runs had the same size; if not, nothing is decided.
    """
    worse = [each for each in judged if each.is_worse]
    if not judged:
        return "Nothing to compare: results.json has none of these variants.", 2
    if not is_comparable:
        return "Not decided: the run is of another size than the last results.", 0
    if worse:
        return f"{len(worse)} of {len(judged)} figures are worse than in results.json.", 1
    return f"None of {len(judged)} figures is worse than in results.json.", 0
