"""Says which design is better and why, in sentences that can be read aloud.

A region is on one server. So the writes that a design can take are limited by the part of them that
goes to one region at the busiest moment. Among designs that spread the writes about equally well,
the one whose statements read less is better.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from hbase_orm.advise.lab.lab_results import DesignResult, TableResult, Verdict
from hbase_orm.advise.lab.load.load_shapes import LoadShape
from hbase_orm.advise.lab.statement_costs import StatementCost
from hbase_orm.advise.remarks import listed
from hbase_orm.advise.sizes import count_text

REQUEST_ROWS: Final = 50
"""A scanner or a get takes about as long as 50 rows of a scan: a gateway answers some 1,000 to
2,000 gets in a second, and scans 50,000 to 150,000 rows."""

_ALIKE: Final = 1.5
"""Shares of the busiest region within this factor are no reason to prefer a design."""

_ALIKE_COST: Final = 1.1
_HOT: Final = 0.5
"""From this part of the writes on, a region is called a hot spot."""

_SECONDS_OF_WORDS: Final = 120
_TEN: Final = 10  # numbers below have a decimal


def verdict_on(designs: Sequence[DesignResult], shape: LoadShape) -> Verdict:
    """Return which design is better, and why."""
    spread = _spread_alike(designs)
    better = min(spread, key=read_cost)
    cheap = [each for each in spread if read_cost(each) <= read_cost(better) * _ALIKE_COST]
    better = min(cheap, key=lambda design: design.peak_share)
    others = [each for each in designs if each is not better]
    sentences = [
        _headline(better, others, cheap),
        _spread_sentence(better, others),
        _regions_sentence(designs),
        *_statement_sentences(better, others),
        *_waste_sentences(better),
        *_advice_sentences(better, shape),
    ]
    return Verdict(better.label if others else "", tuple(filter(None, sentences)))


def read_cost(design: DesignResult) -> float:
    """Return what one run of each statement costs, in rows of a scan."""
    return sum(map(cost_in_rows, design.costs))


def cost_in_rows(cost: StatementCost) -> float:
    """Return what one run of a statement costs, in rows of a scan."""
    return cost.scanned + REQUEST_ROWS * (cost.scanners + cost.gets)


def _spread_alike(designs: Sequence[DesignResult]) -> list[DesignResult]:
    """Return the designs that spread the writes about as well as the best one."""
    best = min(design.peak_share for design in designs)
    return [design for design in designs if design.peak_share <= best * _ALIKE]


def _headline(
    better: DesignResult, others: Sequence[DesignResult], cheap: Sequence[DesignResult]
) -> str:
    if not others:
        is_hot = better.peak_share >= _HOT
        return f"{better.label} {'has a hot spot' if is_hot else 'spreads its writes'}."
    equal = [each.label for each in cheap if each is not better]
    if equal and len(equal) == len(others):
        return f"{listed([better.label, *equal])} do equally well with this load."
    second = f"; {listed(equal)} would do about as well" if equal else ""
    return f"Use {better.label} for this load{second}."


def _spread_sentence(better: DesignResult, others: Sequence[DesignResult]) -> str:
    own = f"{_when(better)} {_taken(better)}"
    worse = [each for each in others if each.peak_share > better.peak_share * _ALIKE]
    if not worse:
        alike = f", and {listed([each.label for each in others])} about as much" if others else ""
        return f"{own}{alike}."
    rest = "; ".join(f"in {each.label} {_taken(each)}{_for_good(each)}" for each in worse)
    return f"{own}; {rest}."


def _for_good(design: DesignResult) -> str:
    """Return what is added if more regions would not spread a hot design."""
    busiest = design.hottest.busiest
    is_hot = design.peak_share >= _HOT and busiest is not None and busiest.stays
    return ", and more servers do not help" if is_hot else ""


def _regions_sentence(designs: Sequence[DesignResult]) -> str:
    """Return a warning if some designs begin with one region, and others with several."""
    firsts = {design.label: design.tables[0].regions_at_first for design in designs}
    single = [label for label, count in firsts.items() if count == 1]
    if not single or len(single) == len(designs):
        return ""
    begin = "begins" if len(single) == 1 else "begin"
    return (
        f"{listed(single)} {begin} with one region, which takes every write until it is split: "
        f"give all designs the same number of regions, such as {max(firsts.values())}, to compare "
        "their keys alone."
    )


def _when(design: DesignResult) -> str:
    busiest = design.hottest.busiest
    if busiest is None:
        return f"{design.label} is not written:"
    return f"In the busiest {duration_text(busiest.window_s)} of {design.label},"


def _taken(design: DesignResult) -> str:
    table, busiest = design.hottest, design.hottest.busiest
    if busiest is None:
        return "no region takes a write"
    of = f" of its index {table.index}" if table.index else ""
    count = busiest.regions
    which = f"the only region{of}" if count == 1 else f"one of {count} regions{of}"
    rate = number_text(busiest.writes_per_s)
    return f"{which} takes {percent_text(busiest.share)} of the writes, {rate} a second"


def _statement_sentences(better: DesignResult, others: Sequence[DesignResult]) -> Iterator[str]:
    for cost in better.costs:
        rivals = [
            (other.label, each)
            for other in others
            for each in other.costs
            if each.statement == cost.statement
        ]
        text = f"For {cost.statement}, {better.label} {_reading(cost)}"
        if rivals:
            text += ", ".join(["", *(f"{label} {_reading(each)}" for label, each in rivals)])
        yield f"{text}."


def _reading(cost: StatementCost) -> str:
    opened = [
        _counted(number, noun)
        for number, noun in ((cost.scanners, "scanner"), (cost.gets, "get"))
        if number
    ]
    if cost.is_full_scan:
        return f"reads the whole table, {count_text(round(cost.scanned))} rows"
    if not opened:
        return "sends nothing"
    rows = _rows_text(cost)
    return f"needs {listed(opened)}{rows}"


def _rows_text(cost: StatementCost) -> str:
    if not cost.scanners:
        return ""
    each = cost.scanned / max(1.0, cost.wanted)
    return f" and reads {each:,.1f} rows for each row wanted"


def _waste_sentences(better: DesignResult) -> Iterator[str]:
    for table in better.tables:
        empty = len(table.never_filled)
        if empty:
            name = f"its index {table.index}" if table.index else better.label
            yield f"{empty} of the {len(table.regions)} regions of {name} never get a row."
        if table.repeated_share > 0.01 and not table.index:  # noqa: PLR2004 - one in a hundred
            yield (
                f"{percent_text(table.repeated_share)} of the simulated writes go to row keys that "
                'were written before; a workload can give a field of the key the kind "unique".'
            )


def _advice_sentences(better: DesignResult, shape: LoadShape) -> Iterator[str]:
    if better.peak_share < _HOT:
        return
    table: TableResult = better.hottest
    if table.regions_at_first == 1 and not (table.busiest is not None and table.busiest.stays):
        yield (
            "A table of one region is on one server until it has grown enough to be split: give "
            "split keys, or a number of regions."
        )
        return
    yield (
        "No design here spreads the writes: a salt, a hash prefix or a bucket in front of the key "
        f"would divide {count_text(round(shape.rate_per_s))} writes a second among the regions."
    )


def _counted(number: float, noun: str) -> str:
    shown = count_text(round(number)) if number == round(number) else f"{number:,.1f}"
    return f"{shown} {noun}{'' if number == 1 else 's'}"


def number_text(number: float) -> str:
    """Return a number as text: with two digits if it is below 1, with one decimal below 10."""
    if number == round(number) or number >= _TEN:
        return count_text(round(number))
    return f"{number:.2g}" if number < 1 else f"{number:.1f}"


def percent_text(share: float) -> str:
    """Return a share from 0 to 1 as text, such as `6.3 %`."""
    percent = share * 100
    return f"{percent:.0f} %" if percent >= _TEN or percent == 0 else f"{percent:.1f} %"


def duration_text(seconds: float) -> str:
    """Return a duration as text: seconds up to two minutes, then minutes, hours or days."""
    if seconds < 1:
        return f"{seconds:.2g} s"
    if seconds <= _SECONDS_OF_WORDS:
        return f"{seconds:.0f} s"
    for unit, length in (("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.0f} s"
