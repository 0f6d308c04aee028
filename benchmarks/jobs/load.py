"""Writing rows: happybase's Batch against `session.bulk()`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from benchmarks.models import (
    HandEntry,
    HandReading,
    IndexedReading,
    PlainReading,
    ThriceIndexedReading,
    TwiceIndexedReading,
    hand_cells,
    hand_entry,
    hand_key,
)
from benchmarks.paired import Variant, compare, pair_by_hand
from benchmarks.place import BATCH_ROWS, Place
from benchmarks.results import AGAIN, BASE, OWN, Comparison
from hbase_orm import Model


def plain(place: Place) -> list[Comparison]:
    """Compare loads of rows without an index; every run begins with an empty table."""
    prepare = partial(place.make_anew, PlainReading)
    variants = [
        *pair_by_hand("happybase Batch, hand-made cells", partial(_put_by_hand, place), prepare),
        Variant(OWN, "session.bulk()", partial(_put_by_bulk, place), prepare),
    ]
    title = f"Load of {place.rows:,} rows of 5 cells, no index, batches of {BATCH_ROWS:,}"
    return [compare("load", title, "row", variants, repetitions=place.repetitions, seed=1)]


def _put_by_hand(place: Place) -> int:
    connection = place.connect_happybase()
    with connection.table(place.name_of(PlainReading)).batch(batch_size=BATCH_ROWS) as batch:
        for source in place.readings:
            batch.put(hand_key(source), hand_cells(source))
    connection.close()
    return place.rows


def _put_by_bulk(place: Place) -> int:
    with place.engine.session() as session, session.bulk(batch_rows=BATCH_ROWS) as bulk:
        bulk.add_all(PlainReading(**source._asdict()) for source in place.readings)
    return place.rows


def indexed(place: Place) -> list[Comparison]:
    """Compare loads of rows with indexes into new tables."""
    return [_by_number_of_indexes(place), _indexed_by_hand(place)]


def _insert(place: Place, model: Callable[..., Model]) -> int:
    session = place.engine.session()
    with session, session.bulk(batch_rows=BATCH_ROWS, insert_only=True) as bulk:
        bulk.add_all(model(**source._asdict()) for source in place.readings)
    return place.rows


def _by_number_of_indexes(place: Place) -> Comparison:
    def loading(key: str, name: str, model: type[Model]) -> Variant:
        prepare = partial(place.make_anew, model)
        return Variant(key, name, partial(_insert, place, model), prepare)

    variants = [
        loading(BASE, "no index", PlainReading),
        loading(AGAIN, "the same again (A/A)", PlainReading),
        loading("1-index", "1 index", IndexedReading),
        loading("2-indexes", "2 indexes", TwiceIndexedReading),
        loading("3-indexes", "3 indexes", ThriceIndexedReading),
        Variant(
            "happybase",
            "no index, by happybase's Batch",
            partial(_put_by_hand, place),
            partial(place.make_anew, PlainReading),
        ),
    ]
    title = f"Load of {place.rows:,} rows of 5 cells by session.bulk(insert_only=True)"
    return compare("load-indexed", title, "row", variants, repetitions=place.repetitions, seed=3)


def _indexed_by_hand(place: Place) -> Comparison:
    variants = [
        *pair_by_hand(
            "happybase, two Batches, entries first",
            partial(_put_both_by_hand, place),
            partial(place.make_anew, HandReading, HandEntry),
        ),
        Variant(
            OWN,
            "session.bulk(insert_only=True), with guards",
            partial(_insert, place, IndexedReading),
            partial(place.make_anew, IndexedReading),
        ),
    ]
    title = f"Load of {place.rows:,} rows of 5 cells with an index, batches of {BATCH_ROWS:,}"
    repetitions = place.repetitions
    return compare("load-dual", title, "row", variants, repetitions=repetitions, seed=2)


def _put_both_by_hand(place: Place) -> int:
    connection = place.connect_happybase()
    rows = connection.table(place.name_of(HandReading)).batch()
    entries = connection.table(place.name_of(HandEntry)).batch()
    for number, source in enumerate(place.readings, 1):
        row = hand_key(source)
        entries.put(hand_entry(source, row), {b"d:": b""})
        rows.put(row, hand_cells(source))
        if number % BATCH_ROWS == 0:
            entries.send()
            rows.send()
    entries.send()
    rows.send()
    connection.close()
    return place.rows
