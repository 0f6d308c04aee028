"""Scans of a few rows each, as applications make most: beside happybase."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from benchmarks.jobs.scan import complete, write_readings
from benchmarks.models import (
    HOSTS,
    PlainReading,
    Source,
    hand_key,
    hand_object,
    read_fields,
    sources,
)
from benchmarks.paired import compare, pair_by_hand
from benchmarks.place import Place
from benchmarks.results import Comparison
from hbase_orm import Engine, select

ROWS: Final = 10
SCANS: Final = 500


def small_scans(place: Place) -> list[Comparison]:
    """Compare scans of the ten readings of a host up to a time."""
    write_readings(place, place.rows)
    chosen, table = _random_starts(place.rows), place.name_of(PlainReading)

    def by_hand() -> int:
        connection = place.connect_happybase()
        count = _scan_by_hand(connection, table, chosen)
        connection.close()
        return complete(count, ROWS * len(chosen))

    variants = [
        *pair_by_hand("happybase scan, hand-written dataclass", by_hand),
        *place.own("session.all(select(...).limit(10))", scan_each, rows=place.rows),
    ]
    title = f"Scans of {ROWS} rows of 5 cells each, of {place.rows:,} rows"
    return [compare("small-scans", title, "row", variants, repetitions=place.repetitions, seed=9)]


@cache
def _random_starts(rows: int) -> list[Source]:
    """Return readings of hosts that have as many older ones."""
    late = list(sources(rows))[ROWS * HOSTS :]
    return random.Random(9).sample(late, min(SCANS, len(late)))


def scan_each(engine: Engine, rows: int) -> int:
    """Read a few rows by each statement."""
    chosen, count = _random_starts(rows), 0
    with engine.session() as session:
        for source in chosen:
            of_host = PlainReading.host == source.host
            stmt = select(PlainReading).where(of_host, PlainReading.at <= source.at).limit(ROWS)
            for row in session.all(stmt):
                read_fields(row)
                count += 1
    return complete(count, ROWS * len(chosen))


def _scan_by_hand(connection: Any, name: str, chosen: Sequence[Source]) -> int:
    table, count = connection.table(name), 0
    for source in chosen:
        start, stop = hand_key(source), source.host.encode() + b"\x01"
        for row, cells in table.scan(row_start=start, row_stop=stop, limit=ROWS):
            read_fields(hand_object(row, cells))
            count += 1
    return count
