"""Rows by their keys: one get after the other, and many keys in one call, beside happybase."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from benchmarks.jobs.scan import complete, write_readings
from benchmarks.models import PlainReading, Source, hand_key, hand_object, read_fields, sources
from benchmarks.paired import compare, pair_by_hand
from benchmarks.place import Place
from benchmarks.results import Comparison
from hbase_orm import Engine

KEYS: Final = 1_000
ROUNDS: Final = 10
GETS: Final = 2_000


def single(place: Place) -> list[Comparison]:
    """Compare gets of one row each, of random keys."""
    write_readings(place, place.rows)
    chosen, table = _random_gets(place.rows), place.name_of(PlainReading)

    def by_hand() -> int:
        connection = place.connect_happybase()
        count = _gets_by_hand(connection, table, chosen)
        connection.close()
        return complete(count, len(chosen))

    variants = [
        *pair_by_hand("happybase row(), hand-written dataclass", by_hand),
        *place.own("session.get(...)", get_each, rows=place.rows),
        place.limit(lambda connection: _gets_by_hand(connection, table, chosen)),
    ]
    title = f"Gets of one row of 5 cells each, of {place.rows:,} rows"
    return [compare("get", title, "row", variants, repetitions=place.repetitions, seed=8)]


@cache
def _random_gets(rows: int) -> list[Source]:
    return random.Random(8).sample(list(sources(rows)), min(GETS, rows))


def get_each(engine: Engine, rows: int) -> int:
    """Read rows by one get each."""
    chosen, count = _random_gets(rows), 0
    with engine.session() as session:
        for source in chosen:
            row = session.get(PlainReading, host=source.host, at=source.at)
            assert row is not None
            read_fields(row)
            count += 1
    return count


def _gets_by_hand(connection: Any, name: str, chosen: Sequence[Source]) -> int:
    table, count = connection.table(name), 0
    for source in chosen:
        row = hand_key(source)
        read_fields(hand_object(row, table.row(row)))
        count += 1
    return count


def many(place: Place) -> list[Comparison]:
    """Compare reads of many rows by their keys, in one call of a method."""
    write_readings(place, place.rows)
    rounds, table = _random_rounds(place.rows), place.name_of(PlainReading)
    rows = sum(map(len, rounds))

    def by_hand() -> int:
        connection = place.connect_happybase()
        count = _rounds_by_hand(connection, table, rounds)
        connection.close()
        return complete(count, rows)

    variants = [
        *pair_by_hand("happybase rows(), hand-written dataclass", by_hand),
        *place.own("session.get_many(...)", get_rounds, rows=place.rows),
        place.limit(lambda connection: _rounds_by_hand(connection, table, rounds)),
    ]
    title = f"Reads of {len(rounds[0]):,} rows of 5 cells by their keys"
    return [compare("get-many", title, "row", variants, repetitions=place.repetitions, seed=7)]


@cache
def _random_rounds(rows: int) -> list[list[Source]]:
    chance, known = random.Random(6), list(sources(rows))
    return [chance.sample(known, min(KEYS, rows)) for _ in range(ROUNDS)]


def get_rounds(engine: Engine, rows: int) -> int:
    """Read rows by many keys at a time."""
    count = 0
    for chosen in _random_rounds(rows):
        with engine.session() as session:
            keys = [(source.host, source.at) for source in chosen]
            for row in session.get_many(PlainReading, keys):
                assert row is not None
                read_fields(row)
                count += 1
    return count


def _rounds_by_hand(connection: Any, name: str, rounds: Sequence[Sequence[Source]]) -> int:
    table, count = connection.table(name), 0
    for chosen in rounds:
        for row, cells in table.rows([hand_key(source) for source in chosen]):
            read_fields(hand_object(row, cells))
            count += 1
    return count
