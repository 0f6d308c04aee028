"""Reading every row into typed objects: happybase and a dataclass against `reading.stream`."""

from __future__ import annotations

from benchmarks.models import PlainReading, hand_object, sources
from benchmarks.paired import Variant, compare
from benchmarks.place import Place
from hbase_orm import select

CACHING_ROWS = 1_000
TIMES = 5


def scan(place: Place) -> str:
    """Compare full scans; the last object's text is touched, so that nothing is left undone."""
    rows = TIMES * place.rows
    place.make_anew(PlainReading)
    with place.engine.session() as session, session.bulk() as bulk:
        bulk.add_all(PlainReading(**source._asdict()) for source in sources(rows))

    def by_hand() -> int:
        connection = place.connect_happybase()
        table = connection.table(place.name_of(PlainReading))
        count = 0
        for row, cells in table.scan(batch_size=CACHING_ROWS):
            hand_object(row, cells)
            count += 1
        connection.close()
        return _all(count, rows)

    def by_stream() -> int:
        stmt = select(PlainReading).allow_full_scan().caching(CACHING_ROWS)
        with place.engine.session() as session, session.stream(stmt) as readings:
            return _all(sum(1 for _ in readings), rows)

    return compare(
        f"Scan of {rows:,} rows of 5 cells into typed objects, {CACHING_ROWS} rows a call",
        "row",
        [
            Variant("happybase scan, hand-written dataclass", by_hand),
            Variant("the same again (A/A)", by_hand),
            Variant("session.stream(select(...))", by_stream),
        ],
        repetitions=place.repetitions,
        seed=3,
    )


def _all(count: int, rows: int) -> int:
    assert count == rows, (count, rows)
    return count
