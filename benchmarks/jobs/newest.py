"""The newest rows of one host, spread over salt buckets: an ordered merge of one scan a bucket."""

from __future__ import annotations

from heapq import merge
from itertools import islice
from typing import Any

from benchmarks.models import (
    SALT_BUCKETS,
    HandObject,
    SaltedReading,
    hand_object,
    read_fields,
    sources,
)
from benchmarks.paired import Variant, compare, pair_by_hand
from benchmarks.place import Place
from benchmarks.results import OWN, Comparison
from hbase_orm import select

NEWEST = 30
HOSTS = 2
# A bucket has more rows of each host than a default scan fetches at once.
TIMES = 2
QUERIES = 10


def newest(place: Place) -> list[Comparison]:
    """Compare queries for the newest rows: of one host, then of the other."""
    place.make_anew(SaltedReading)
    rows = TIMES * place.rows
    with place.engine.session() as session, session.bulk() as bulk:
        bulk.add_all(SaltedReading(**source._asdict()) for source in sources(rows, HOSTS))
    hosts = [f"host-{number % HOSTS:04d}" for number in range(QUERIES)]

    def by_hand(**options: Any) -> int:
        connection = place.connect_happybase()
        table = connection.table(place.name_of(SaltedReading))
        for host in hosts:
            scans = [
                table.scan(row_prefix=bytes([bucket]) + host.encode() + b"\x00", **options)
                for bucket in range(SALT_BUCKETS)
            ]
            merged = merge(*scans, key=lambda found: found[0][1:])
            _check([hand_object(row[1:], cells) for row, cells in islice(merged, NEWEST)], host)
            for each in scans:
                each.close()
        connection.close()
        return QUERIES

    def by_session() -> int:
        for host in hosts:
            stmt = select(SaltedReading).where(SaltedReading.host == host).limit(NEWEST)
            with place.engine.session() as session:
                _check(session.all(stmt), host)
        return QUERIES

    variants = [
        *pair_by_hand("happybase, merge of default scans", by_hand),
        Variant(
            "hand-limited",
            "happybase, merge, limit and batch size by hand",
            lambda: by_hand(limit=NEWEST, batch_size=NEWEST),
        ),
        Variant(OWN, "session.all(select(...).limit(30))", by_session),
    ]
    title = f"Newest {NEWEST} rows of a host in {SALT_BUCKETS} salt buckets, {rows:,} rows"
    return [compare("newest", title, "query", variants, repetitions=place.repetitions, seed=4)]


def _check(found: list[HandObject] | list[SaltedReading], host: str) -> None:
    read = [read_fields(reading) for reading in found]
    times = [at for _, at, *_ in read]
    assert len(times) == NEWEST
    assert times == sorted(times, reverse=True)
    assert all(name == host for name, *_ in read)
