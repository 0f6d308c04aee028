"""What a run has measured, as values, and as `results.json`.

The page of results is made of these values only, so it can be written again without measuring. A
file has one comparison a line, and four significant digits: a new run is a readable difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

FOLDER: Final = Path(__file__).parent
RESULTS: Final = FOLDER / "results.json"

BASE: Final = "hand"
"""The key of the baseline: what one would write by hand, mostly with happybase."""
AGAIN: Final = "again"
"""The key of the same once more: what differs between the two is noise (A/A)."""
LIMIT: Final = "limit"
"""The key of the raw socket, which receives the same answers and throws them away."""
COMPILED: Final = "compiled"
PURE: Final = "pure"
OWN: Final = "orm"
"""The key of the library where its two readers make no difference."""


class Spread(msgspec.Struct, frozen=True, array_like=True):
    """Ratios of several repetitions: their median and their extremes."""

    median: float
    least: float
    most: float

    def __str__(self) -> str:
        """Return them as tables show them."""
        return f"{self.median:.2f} [{self.least:.2f}..{self.most:.2f}]"


class Measured(msgspec.Struct, frozen=True, omit_defaults=True):
    """One variant of a comparison.

    Attributes:
        key: Which variant it is, for programs.
        name: The same for people.
        rate: How many units a second, by the median.
        speed: How many times as fast as the baseline in the same repetition.
        cpu_us: Client CPU for a unit, in microseconds, by the median.
        of_limit: How many times as fast as the limit in the same repetition.
        peak_mb: Peak memory above that after imports, the largest of all repetitions.
    """

    key: str
    name: str
    rate: float
    speed: Spread
    cpu_us: float
    of_limit: Spread | None = None
    peak_mb: float | None = None


class Comparison(msgspec.Struct, frozen=True):
    """Variants of one job, measured side by side.

    Attributes:
        name: For programs and the command line.
        title: For people.
        unit: What is counted: a row, a query.
        repetitions: How often each variant ran.
        variants: The baseline first, then the baseline again.
    """

    name: str
    title: str
    unit: str
    repetitions: int
    variants: tuple[Measured, ...]

    def variant(self, key: str) -> Measured | None:
        """Return the variant with a key, or None."""
        return next((each for each in self.variants if each.key == key), None)

    @property
    def base(self) -> Measured:
        """The baseline."""
        return self.variants[0]

    def cpu_share(self, key: str) -> float | None:
        """Return the CPU of a variant as a part of the baseline's; None if there is no such one."""
        variant = self.variant(key)
        if variant is None or not self.base.cpu_us:
            return None
        return variant.cpu_us / self.base.cpu_us


class Machine(msgspec.Struct, frozen=True):
    """What was measured, and on what.

    Attributes:
        day: The day, in UTC.
        processor: The model of the processor, and how many cores there are.
        memory_gb: Memory of the machine.
        versions: Of Python, HBase and libraries, by their names.
        commit: The commit; "with changes" if files differ from it.
        reader: Which reader of rows was in use, and why.
        load_before: The load average of one minute before the run.
        load_after: The same after the run.
    """

    day: str
    processor: str
    memory_gb: float
    versions: dict[str, str]
    commit: str
    reader: str
    load_before: float
    load_after: float


class Results(msgspec.Struct, frozen=True):
    """All that a run has measured.

    Attributes:
        machine: Where, when and of what.
        rows: Rows of a load; a scan reads five times as many.
        comparisons: In the order of the run.
    """

    machine: Machine
    rows: int
    comparisons: tuple[Comparison, ...]

    def comparison(self, name: str) -> Comparison | None:
        """Return the comparison with a name, or None."""
        return next((each for each in self.comparisons if each.name == name), None)


def to_json(results: Results) -> str:
    """Return the text of a results file."""
    lines = [_line(each) for each in results.comparisons]
    return (
        f'{{"machine": {_line(results.machine)},\n"rows": {results.rows},\n"comparisons": [\n'
        + ",\n".join(lines)
        + "\n]}\n"
    )


def from_json(text: str | bytes) -> Results:
    """Return what a results file holds.

    Raises:
        msgspec.ValidationError: It is no results file, or one of an earlier form.
    """
    return msgspec.json.decode(text, type=Results)


def _line(value: object) -> str:
    return msgspec.json.encode(_rounded(msgspec.to_builtins(value))).decode()


def _rounded(value: object) -> object:
    """Return a value with four significant digits in each number."""
    match value:
        case float():
            return float(f"{value:.4g}")
        case dict():
            return {name: _rounded(each) for name, each in value.items()}
        case list() | tuple():
            return [_rounded(each) for each in value]
        case _:
            return value


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
