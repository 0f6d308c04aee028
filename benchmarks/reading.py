"""Reading rows with missing cells, rows by key, and rows of many columns, beside happybase."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.models import PlainReading, hand_key, hand_object, sources
from benchmarks.paired import Variant, compare
from benchmarks.place import Place
from hbase_orm import Dynamic, Family, Key, Mapped, Model, codecs, column, dynamic, key, select

CACHING_ROWS: Final = 1_000
MISSING: Final = 0.2
KEYS: Final = 1_000
ROUNDS: Final = 10
WIDE_ROWS: Final = 30
COLUMNS: Final = 1_000
_INT64_BYTES: Final = 8


class SparseSample(Model, table="bench_sparse"):
    """A row of five cells, of which any may be missing."""

    d = Family()
    name: Key[int] = key(codecs.uint64())
    a: Mapped[int | None] = column(d, "a", codec=codecs.uint64(), default=None)
    b: Mapped[str | None] = column(d, "b", default=None)
    c: Mapped[int | None] = column(d, "c", codec=codecs.uint16(), default=None)
    e: Mapped[int | None] = column(d, "e", codec=codecs.uint64(), default=None)
    f: Mapped[str | None] = column(d, "f", default=None)


@dataclass(slots=True)
class HandSample:
    """What hand-written code reads a row with missing cells into."""

    name: int
    a: int | None
    b: str | None
    c: int | None
    e: int | None
    f: str | None


class WideSample(Model, table="bench_wide"):
    """A row of many numbers."""

    d = Family()
    name: Key[int] = key(codecs.uint64())
    values: Dynamic[str, int] = dynamic(d, codec=codecs.uint64())


MODELS = (SparseSample, WideSample)


def sparse(place: Place) -> str:
    """Compare full scans of rows of which a fifth of the cells is missing."""
    count = 5 * place.rows
    place.make_anew(SparseSample)
    chance = random.Random(5)
    with place.engine.session() as session, session.bulk() as bulk:
        bulk.add_all(SparseSample(name=number, **_some(number, chance)) for number in range(count))

    def by_hand() -> int:
        connection = place.connect_happybase()
        table = connection.table(place.name_of(SparseSample))
        count = 0
        for row, cells in table.scan(batch_size=CACHING_ROWS):
            _hand_sample(row, cells)
            count += 1
        connection.close()
        return count

    def by_stream() -> int:
        stmt = select(SparseSample).allow_full_scan().caching(CACHING_ROWS)
        with place.engine.session() as session, session.stream(stmt) as samples:
            return sum(1 for _ in samples)

    title = f"Scan of {count:,} rows of 5 cells, of which {MISSING:.0%} are missing"
    return _compared(
        place, title, "row", by_hand, Variant("session.stream(select(...))", by_stream)
    )


def _some(number: int, chance: random.Random) -> dict[str, Any]:
    values = {
        "a": number,
        "b": f"u-{number % 1_000}",
        "c": number % 600,
        "e": 7 * number,
        "f": "ok",
    }
    kept = {name: value for name, value in values.items() if chance.random() >= MISSING}
    return kept or {"a": number}


def _hand_sample(row: bytes, cells: dict[bytes, bytes]) -> HandSample:
    get = cells.get
    a, b, c, e, f = get(b"d:a"), get(b"d:b"), get(b"d:c"), get(b"d:e"), get(b"d:f")
    return HandSample(
        name=struct.unpack(">Q", row)[0],
        a=None if a is None else struct.unpack(">Q", a)[0],
        b=None if b is None else b.decode(),
        c=None if c is None else struct.unpack(">H", c)[0],
        e=None if e is None else struct.unpack(">Q", e)[0],
        f=None if f is None else f.decode(),
    )


def by_key(place: Place) -> str:
    """Compare reads of many rows by their keys, in one call of a method."""
    place.make_anew(PlainReading)
    known = tuple(sources(place.rows))
    with place.engine.session() as session, session.bulk() as bulk:
        bulk.add_all(PlainReading(**source._asdict()) for source in known)
    chance = random.Random(6)
    rounds = [chance.sample(known, min(KEYS, len(known))) for _ in range(ROUNDS)]

    def by_hand() -> int:
        connection = place.connect_happybase()
        table = connection.table(place.name_of(PlainReading))
        count = 0
        for chosen in rounds:
            rows = table.rows([hand_key(source) for source in chosen])
            count += len([hand_object(row, cells) for row, cells in rows])
        connection.close()
        return count

    def by_session() -> int:
        count = 0
        for chosen in rounds:
            with place.engine.session() as session:
                keys = [(source.host, source.at) for source in chosen]
                count += sum(1 for each in session.get_many(PlainReading, keys) if each)
        return count

    title = f"Reads of {KEYS:,} rows of 5 cells by their keys"
    return _compared(place, title, "row", by_hand, Variant("session.get_many(...)", by_session))


def wide(place: Place) -> str:
    """Compare reads of rows of many columns, one by one."""
    place.make_anew(WideSample)
    names = [f"c{number:04}" for number in range(COLUMNS)]
    with place.engine.session() as session, session.bulk() as bulk:
        for row in range(WIDE_ROWS):
            sample = WideSample(name=row)
            sample.values.update(dict.fromkeys(names, row))
            bulk.add(sample)

    def by_hand() -> int:
        connection = place.connect_happybase()
        table = connection.table(place.name_of(WideSample))
        cells = 0
        for number in range(WIDE_ROWS):
            row = table.row(struct.pack(">Q", number))
            # The model's rows also have a marker of another width.
            read = {
                c[2:].decode(): struct.unpack(">Q", v)[0]
                for c, v in row.items()
                if len(v) == _INT64_BYTES
            }
            cells += len(read)
        connection.close()
        return cells

    def by_session() -> int:
        with place.engine.session() as session:
            rows = [session.get(WideSample, name=number) for number in range(WIDE_ROWS)]
            return sum(len(row.values) for row in rows if row)

    title = f"Reads of rows of {COLUMNS:,} columns, one by one"
    return _compared(place, title, "cell", by_hand, Variant("session.get(...)", by_session))


def _compared(place: Place, title: str, unit: str, by_hand: Callable[[], int], own: Variant) -> str:
    return compare(
        title,
        unit,
        [
            Variant("happybase, hand-written decoding", by_hand),
            Variant("the same again (A/A)", by_hand),
            own,
        ],
        repetitions=place.repetitions,
        seed=7,
    )
