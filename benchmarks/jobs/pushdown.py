"""Reading the rows that fulfil a condition on a column: the server decides, or the client does."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.models import PlainReading, sources
from benchmarks.paired import Variant, compare, pair_by_hand
from benchmarks.place import Place
from benchmarks.results import OWN, Comparison
from hbase_orm import Condition, select

TIMES = 5


def pushdown(place: Place) -> list[Comparison]:
    """Compare full scans for few, some and nearly all of the rows."""
    rows = TIMES * place.rows
    place.make_anew(PlainReading)
    with place.engine.session() as session, session.bulk() as bulk:
        bulk.add_all(PlainReading(**source._asdict()) for source in sources(rows))
    return [
        _compared(place, "1 of 600", PlainReading.status == 7, lambda r: r.status == 7),
        _compared(place, "1 of 4", PlainReading.unit == "ms", lambda r: r.unit == "ms"),
        _compared(place, "599 of 600", PlainReading.status != 7, lambda r: r.status != 7),
    ]


def _compared(
    place: Place, share: str, condition: Condition, holds: Callable[[PlainReading], bool]
) -> Comparison:
    rows = TIMES * place.rows
    every = select(PlainReading).allow_full_scan()

    def by_client() -> int:
        with place.engine.session() as session, session.stream(every) as readings:
            return sum(1 for reading in readings if holds(reading))

    def by_server() -> int:
        stmt = every.where(condition)
        with place.engine.session() as session, session.stream(stmt) as readings:
            return sum(1 for _ in readings)

    expected = by_client()
    assert by_server() == expected

    def scanned(count: Callable[[], int]) -> int:
        assert count() == expected
        return rows

    variants = [
        *pair_by_hand("all rows read, the client decides", lambda: scanned(by_client)),
        Variant(OWN, "session.stream(select(...).where(...))", lambda: scanned(by_server)),
    ]
    name = f"pushdown-{share.replace(' ', '-')}"
    title = f"Scan of {rows:,} rows of 5 cells for {share} by a condition on a column"
    return compare(name, title, "row", variants, repetitions=place.repetitions, seed=5)
