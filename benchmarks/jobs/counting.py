"""How many rows a range has, and whether it has any: only keys are read, on both sides."""

from __future__ import annotations

from typing import Any, Final

from benchmarks.jobs.scan import CACHING_ROWS, TIMES, complete, write_readings
from benchmarks.models import HOSTS, PlainReading
from benchmarks.paired import compare, pair_by_hand
from benchmarks.place import Place
from benchmarks.results import Comparison
from hbase_orm import Engine, select

KEYS_ONLY: Final = "FirstKeyOnlyFilter() AND KeyOnlyFilter()"
QUESTIONS: Final = 200
_NAMES: Final = [f"host-{number:04d}" for number in range(HOSTS)]


def counting(place: Place) -> list[Comparison]:
    """Compare counts of the rows of each host, and questions whether a host has rows."""
    rows = TIMES * place.rows
    write_readings(place, rows)
    return [_counts(place, rows), _questions(place)]


def _counts(place: Place, rows: int) -> Comparison:
    table = place.name_of(PlainReading)

    def by_hand() -> int:
        connection = place.connect_happybase()
        count = _count_by_hand(connection, table)
        connection.close()
        return complete(count, rows)

    variants = [
        *pair_by_hand("happybase scan with a filter, keys only", by_hand),
        *place.own("session.count(select(...).where(...))", count_each, rows=rows),
        place.limit(lambda connection: _count_by_hand(connection, table)),
    ]
    title = f"Counts of {HOSTS} ranges, which have {rows:,} rows of 5 cells"
    return compare("count", title, "row", variants, repetitions=place.repetitions, seed=9)


def _count_by_hand(connection: Any, name: str) -> int:
    table, count = connection.table(name), 0
    for host in _NAMES:
        prefix = host.encode() + b"\x00"
        rows = table.scan(row_prefix=prefix, filter=KEYS_ONLY, batch_size=CACHING_ROWS)
        count += sum(1 for _ in rows)
    return count


def count_each(engine: Engine, rows: int) -> int:
    """Count the rows of each host."""
    with engine.session() as session:
        count = sum(
            session.count(select(PlainReading).where(PlainReading.host == host)) for host in _NAMES
        )
    return complete(count, rows)


def _questions(place: Place) -> Comparison:
    table = place.name_of(PlainReading)

    def by_hand() -> int:
        connection = place.connect_happybase()
        count = _ask_by_hand(connection, table)
        connection.close()
        return complete(count, QUESTIONS)

    variants = [
        *pair_by_hand("happybase scan of one key", by_hand),
        *place.own("session.exists(select(...).where(...))", ask_each),
        place.limit(lambda connection: _ask_by_hand(connection, table)),
    ]
    title = "Whether a range has rows"
    return compare("exists", title, "range", variants, repetitions=place.repetitions, seed=10)


def _hosts() -> list[str]:
    return [_NAMES[number % HOSTS] for number in range(QUESTIONS)]


def _ask_by_hand(connection: Any, name: str) -> int:
    table, count = connection.table(name), 0
    for host in _hosts():
        prefix = host.encode() + b"\x00"
        rows = table.scan(row_prefix=prefix, filter=KEYS_ONLY, batch_size=1, limit=1)
        count += sum(1 for _ in rows)
    return count


def ask_each(engine: Engine) -> int:
    """Ask for each of some ranges whether it has rows."""
    with engine.session() as session:
        return sum(
            session.exists(select(PlainReading).where(PlainReading.host == host))
            for host in _hosts()
        )
