"""How many pairs of declarations were refused, by kind of edit; a pytest plugin that shows it.

Refusing everything passes no test: pairs with a single harmless edit must all be used, and pairs with
a single contradictory edit must all be refused.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

import pytest

from tests.support.declarations.contradictory_edits import CONTRADICTORY
from tests.support.declarations.harmless_edits import HARMLESS

PROPERTY: Final = "refusals of pairs of declarations"
"""The name under which a test records its shares."""


@dataclass(frozen=True)
class PairOutcome:
    """How a pair ended.

    Attributes:
        edits: The kinds of its edits.
        is_refused: Whether the second model was refused.
        writes_refused: Whether the second model may read, but not write: by the catalog's rules it
            has other indexes than the table.
    """

    edits: tuple[str, ...]
    is_refused: bool
    writes_refused: bool


@dataclass
class Shares:
    """The outcomes of many pairs.

    Attributes:
        all: The pairs by kind of edit and outcome.
        single: The same of pairs with one edit.
    """

    all: Counter[str] = field(default_factory=Counter[str])
    single: Counter[str] = field(default_factory=Counter[str])
    pairs: int = 0

    def add(self, outcome: PairOutcome) -> None:
        """Count a pair."""
        ending = "used, not for writes" if outcome.writes_refused else "used"
        ending = "refused" if outcome.is_refused else ending
        self.pairs += 1
        for counts in (self.all, self.single) if len(outcome.edits) == 1 else (self.all,):
            for kind in set(outcome.edits):
                counts[f"{kind}: {ending}"] += 1
                counts[kind] += 1

    def wrong(self) -> list[str]:
        """Return the kinds of edits that alone were refused, or used, against the rules."""
        refused = {kind: self.single[f"{kind}: refused"] for kind in (*HARMLESS, *CONTRADICTORY)}
        return [
            f"{kind}: {refused[kind]} of {self.single[kind]} pairs with this edit alone refused"
            for kind in refused
            if refused[kind] != (self.single[kind] if kind in CONTRADICTORY else 0)
        ]

    def lines(self) -> Iterator[str]:
        """Yield a table."""
        yield f"{self.pairs} pairs of declarations; refused, and used for reads only:"
        yield f"{'kind of edit':36}{'pairs':>7}{'refused':>9}{'alone':>7}{'refused':>9}{'reads':>7}"
        for kind in (*HARMLESS, *CONTRADICTORY):
            total, single = self.all[kind], self.single[kind]
            refused = self.all[f"{kind}: refused"]
            own, reads = (self.single[f"{kind}: {e}"] for e in ("refused", "used, not for writes"))
            yield (
                f"{kind:36}{total:>7}{_percent(refused, total):>9}{single:>7}"
                f"{_percent(own, single):>9}{_percent(reads, single):>7}"
            )

    def record(self, record_property: Callable[[str, object], None]) -> None:
        """Record the shares of a test, for the summary of the run."""
        content = {"pairs": self.pairs, "all": self.all, "single": self.single}
        record_property(PROPERTY, json.dumps(content))

    def include(self, text: str) -> None:
        """Add the shares that a test has recorded."""
        content = json.loads(text)
        self.pairs += content["pairs"]
        self.all.update(content["all"])
        self.single.update(content["single"])


def _percent(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "-"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show the shares of all tests that recorded some."""
    shares = Shares()
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == PROPERTY and getattr(report, "when", "") == "call":
                    shares.include(str(value))
    if shares.pairs:
        terminalreporter.section("pairs of declarations")
        for line in shares.lines():
            terminalreporter.write_line(line)
