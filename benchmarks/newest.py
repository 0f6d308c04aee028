"""The newest rows of one host, spread over salt buckets: an ordered merge of one scan a bucket."""

from __future__ import annotations

from heapq import merge
from itertools import islice
from typing import Any

from benchmarks.models import SALT_BUCKETS, HandObject, SaltedReading, hand_object, sources
from benchmarks.paired import Variant, compare
from benchmarks.place import Place
from hbase_orm import select

NEWEST = 30
HOSTS = 2
# A bucket has more rows of each host than a default scan fetches at once.
ROWS = 40_000
QUERIES = 10


def newest(place: Place) -> str:
    """Compare queries for the newest rows: of one host, then of the other."""
    place.make_anew(SaltedReading)
    rows = max(place.rows, ROWS)
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

    return compare(
        f"Newest {NEWEST} rows of a host in {SALT_BUCKETS} salt buckets, {rows:,} rows",
        "query",
        [
            Variant("happybase, merge of default scans", by_hand),
            Variant("the same again (A/A)", by_hand),
            Variant(
                "happybase, merge, limit and batch size by hand",
                lambda: by_hand(limit=NEWEST, batch_size=NEWEST),
            ),
            Variant("session.all(select(...).limit(30))", by_session),
        ],
        repetitions=place.repetitions,
        seed=4,
    )


def _check(found: list[HandObject] | list[SaltedReading], host: str) -> None:
    times = [reading.at for reading in found]
    assert len(times) == NEWEST
    assert times == sorted(times, reverse=True)
    assert all(reading.host == host for reading in found)
