"""Rows with an index: guarded updates beside a dual write by hand, look-ups beside a multi-get."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from typing import Any

from benchmarks.models import (
    HandEntry,
    HandReading,
    IndexedReading,
    Source,
    hand_cells,
    hand_entry,
    hand_key,
    read_fields,
)
from benchmarks.paired import Variant, compare, pair_by_hand
from benchmarks.place import Place
from benchmarks.results import OWN, Comparison
from hbase_orm import select

CONNECTIONS = 8
UPDATED_ROWS = 400
PAGE_ROWS = 100
LOOKUPS = 20


def updates(place: Place) -> list[Comparison]:
    """Change an indexed column of rows that nobody else writes, over eight connections each."""
    sources, turns = place.readings[:UPDATED_ROWS], count()
    place.make_anew(IndexedReading, HandReading, HandEntry)
    _write_by_hand(place, sources)
    with place.engine.session() as session:
        session.add_all(IndexedReading(**source._asdict()) for source in sources)

    def by_hand() -> int:
        turn = next(turns)
        with ThreadPoolExecutor(CONNECTIONS) as threads:
            shares = [sources[start::CONNECTIONS] for start in range(CONNECTIONS)]
            list(threads.map(partial(_update_by_hand, place, turn=turn), shares))
        return len(sources)

    def by_flush() -> int:
        turn = next(turns)
        with place.engine.session() as session:
            keys = [(source.host, source.at) for source in sources]
            for obj in session.get_many(IndexedReading, keys):
                assert obj is not None
                obj.unit = f"unit {turn % 7}"
            session.flush()
        return len(sources)

    variants = [
        *pair_by_hand("by hand: get, put row, put entry, delete entry", by_hand),
        Variant(OWN, "get_many and flush, guarded", by_flush),
    ]
    title = f"Update of an indexed column of {len(sources)} rows, {CONNECTIONS} connections"
    return [
        compare("guarded-updates", title, "row", variants, repetitions=place.repetitions, seed=4)
    ]


def _write_by_hand(place: Place, sources: Sequence[Source]) -> None:
    connection = place.connect_happybase()
    with connection.table(place.name_of(HandReading)).batch() as rows:
        for source in sources:
            rows.put(hand_key(source), hand_cells(source))
    with connection.table(place.name_of(HandEntry)).batch() as entries:
        for source in sources:
            entries.put(hand_entry(source, hand_key(source)), {b"d:": b""})
    connection.close()


def _update_by_hand(place: Place, sources: Sequence[Source], *, turn: int) -> None:
    """Do what nobody should: entries get lost when two writers do it at once, or one dies."""
    connection = place.connect_happybase()
    rows = connection.table(place.name_of(HandReading))
    entries = connection.table(place.name_of(HandEntry))
    for source in sources:
        key = hand_key(source)
        old = rows.row(key)
        new = source._replace(unit=f"unit {turn % 7}")
        rows.put(key, {b"d:u": new.unit.encode()})
        entries.put(hand_entry(new, key), {b"d:": b""})
        stale = hand_entry(source._replace(unit=old[b"d:u"].decode()), key)
        entries.delete(stale)
    connection.close()


def lookups(place: Place) -> list[Comparison]:
    """Read pages of rows through an index, and as many rows by their keys."""
    place.make_anew(IndexedReading)
    with place.engine.session() as session, session.bulk(insert_only=True) as bulk:
        bulk.add_all(IndexedReading(**source._asdict()) for source in place.readings)
    unit = place.readings[0].unit
    of_unit = [source for source in place.readings if source.unit == unit][-PAGE_ROWS:]
    keys = [(source.host, source.at) for source in of_unit]
    statement = select(IndexedReading).where(IndexedReading.unit == unit).limit(PAGE_ROWS)
    statement = statement.using(IndexedReading.by_unit)

    def repeated(read: Callable[[Any], Sequence[Any]]) -> Callable[[], int]:
        def work() -> int:
            for _ in range(LOOKUPS):
                with place.engine.session() as session:
                    assert len([read_fields(row) for row in read(session)]) == len(keys)
            return LOOKUPS

        return work

    by_keys = repeated(lambda session: session.get_many(IndexedReading, keys))
    variants = [
        *pair_by_hand("session.get_many", by_keys),
        Variant(OWN, "session.all of a page", repeated(lambda session: session.all(statement))),
    ]
    title = f"{len(keys)} rows through an index, beside as many by their keys"
    return [compare("index-lookup", title, "page", variants, repetitions=place.repetitions, seed=5)]
