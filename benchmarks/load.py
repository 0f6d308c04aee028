"""Writing rows: happybase's Batch against `session.bulk()`."""

from __future__ import annotations

from typing import Any

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
from benchmarks.paired import Variant, compare
from benchmarks.place import BATCH_ROWS, Place


def plain(place: Place) -> str:
    """Compare loads of rows without an index; every run begins with an empty table."""

    def by_hand() -> int:
        return _put_by_hand(place)

    def by_bulk() -> int:
        with place.engine.session() as session, session.bulk(batch_rows=BATCH_ROWS) as bulk:
            bulk.add_all(PlainReading(**source._asdict()) for source in place.readings)
        return place.rows

    def prepare() -> None:
        place.make_anew(PlainReading)

    return compare(
        f"Load of {place.rows:,} rows of 5 cells, no index, batches of {BATCH_ROWS}",
        "row",
        [
            Variant("happybase Batch, hand-made cells", by_hand, prepare),
            Variant("the same again (A/A)", by_hand, prepare),
            Variant("session.bulk()", by_bulk, prepare),
        ],
        repetitions=place.repetitions,
        seed=1,
    )


def _put_by_hand(place: Place) -> int:
    connection = place.connect_happybase()
    with connection.table(place.name_of(PlainReading)).batch(batch_size=BATCH_ROWS) as batch:
        for source in place.readings:
            batch.put(hand_key(source), hand_cells(source))
    connection.close()
    return place.rows


def indexed(place: Place) -> str:
    """Compare loads of rows with indexes into new tables."""
    return "\n\n".join((_by_number_of_indexes(place), _indexed_by_hand(place)))


def _by_number_of_indexes(place: Place) -> str:
    def loading(name: str, model: Any) -> Variant:
        def load() -> int:
            session = place.engine.session()
            with session, session.bulk(batch_rows=BATCH_ROWS, insert_only=True) as bulk:
                bulk.add_all(model(**source._asdict()) for source in place.readings)
            return place.rows

        return Variant(name, load, lambda: place.make_anew(model))

    return compare(
        f"Load of {place.rows:,} rows of 5 cells by session.bulk(insert_only=True)",
        "row",
        [
            loading("no index", PlainReading),
            loading("the same again (A/A)", PlainReading),
            loading("1 index", IndexedReading),
            loading("2 indexes", TwiceIndexedReading),
            loading("3 indexes", ThriceIndexedReading),
            Variant(
                "no index, by happybase's Batch",
                lambda: _put_by_hand(place),
                lambda: place.make_anew(PlainReading),
            ),
        ],
        repetitions=place.repetitions,
        seed=3,
    )


def _indexed_by_hand(place: Place) -> str:

    def by_hand() -> int:
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

    def by_bulk() -> int:
        session = place.engine.session()
        with session, session.bulk(batch_rows=BATCH_ROWS, insert_only=True) as bulk:
            bulk.add_all(IndexedReading(**source._asdict()) for source in place.readings)
        return place.rows

    def prepare_hand() -> None:
        place.make_anew(HandReading, HandEntry)

    def prepare_bulk() -> None:
        place.make_anew(IndexedReading)

    return compare(
        f"Load of {place.rows:,} rows of 5 cells with an index, batches of {BATCH_ROWS}",
        "row",
        [
            Variant("happybase, two Batches, entries first", by_hand, prepare_hand),
            Variant("the same again (A/A)", by_hand, prepare_hand),
            Variant("session.bulk(insert_only=True), with guards", by_bulk, prepare_bulk),
        ],
        repetitions=place.repetitions,
        seed=2,
    )
