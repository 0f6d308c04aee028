"""Reading every row into typed objects: happybase and a dataclass against `session.stream`."""

from __future__ import annotations

from typing import Any

from benchmarks.models import PlainReading, hand_object, read_fields, sources
from benchmarks.paired import compare, pair_by_hand
from benchmarks.place import Place
from benchmarks.results import Comparison
from hbase_orm import Engine, select

CACHING_ROWS = 1_000
TIMES = 5


def scan(place: Place) -> list[Comparison]:
    """Compare full scans in which all fields of all rows are read."""
    rows = TIMES * place.rows
    write_readings(place, rows)
    table = place.name_of(PlainReading)

    def by_hand() -> int:
        connection = place.connect_happybase()
        count = read_by_hand(connection, table)
        connection.close()
        return complete(count, rows)

    variants = [
        *pair_by_hand("happybase scan, hand-written dataclass", by_hand),
        *place.own("session.stream(select(...))", stream, rows=rows),
        place.limit(lambda connection: complete(read_by_hand(connection, table), rows)),
    ]
    title = f"Scan of {rows:,} rows of 5 cells into typed objects, {CACHING_ROWS:,} rows a call"
    return [compare("scan", title, "row", variants, repetitions=place.repetitions, seed=3)]


def write_readings(place: Place, rows: int) -> None:
    """Make a table of readings."""
    place.make_anew(PlainReading)
    with place.engine.session() as session, session.bulk() as bulk:
        bulk.add_all(PlainReading(**source._asdict()) for source in sources(rows))


def read_by_hand(connection: Any, table: str) -> int:
    """Read a table by happybase."""
    count = 0
    for row, cells in connection.table(table).scan(batch_size=CACHING_ROWS):
        read_fields(hand_object(row, cells))
        count += 1
    return count


def stream(engine: Engine, rows: int) -> int:
    """Read the table by a stream."""
    stmt, count = select(PlainReading).allow_full_scan().caching(CACHING_ROWS), 0
    with engine.session() as session, session.stream(stmt) as readings:
        for reading in readings:
            read_fields(reading)
            count += 1
    return complete(count, rows)


def complete(count: int, rows: int) -> int:
    """Return the count, which must be that of all rows."""
    assert count == rows, (count, rows)
    return count
