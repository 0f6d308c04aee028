"""Reading rows with missing cells, and rows of many columns, beside happybase."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from benchmarks.jobs.scan import CACHING_ROWS, TIMES, complete
from benchmarks.paired import compare, pair_by_hand
from benchmarks.place import Place
from benchmarks.results import Comparison
from hbase_orm import (
    Dynamic,
    Engine,
    Family,
    Key,
    Mapped,
    Model,
    codecs,
    column,
    dynamic,
    key,
    select,
)

MISSING: Final = 0.2
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

_read_fields = attrgetter("name", "a", "b", "c", "e", "f")


# --- missing cells --------------------------------------------------------------------------------


def sparse(place: Place) -> list[Comparison]:
    """Compare full scans of rows of which a fifth of the cells is missing."""
    rows = TIMES * place.rows
    place.make_anew(SparseSample)
    chance = random.Random(5)
    with place.engine.session() as session, session.bulk() as bulk:
        bulk.add_all(SparseSample(name=number, **_some(number, chance)) for number in range(rows))
    table = place.name_of(SparseSample)

    def by_hand() -> int:
        connection = place.connect_happybase()
        count = _sparse_by_hand(connection, table)
        connection.close()
        return complete(count, rows)

    variants = [
        *pair_by_hand("happybase scan, hand-written dataclass", by_hand),
        *place.own("session.stream(select(...))", stream_sparse, rows=rows),
        place.limit(lambda connection: _sparse_by_hand(connection, table)),
    ]
    title = f"Scan of {rows:,} rows of 5 cells, of which {MISSING:.0%} are missing"
    return [compare("scan-sparse", title, "row", variants, repetitions=place.repetitions, seed=7)]


def stream_sparse(engine: Engine, rows: int) -> int:
    """Read the sparse table by a stream."""
    stmt, count = select(SparseSample).allow_full_scan().caching(CACHING_ROWS), 0
    with engine.session() as session, session.stream(stmt) as samples:
        for sample in samples:
            _read_fields(sample)
            count += 1
    return complete(count, rows)


def _sparse_by_hand(connection: Any, table: str) -> int:
    count = 0
    for row, cells in connection.table(table).scan(batch_size=CACHING_ROWS):
        _read_fields(_hand_sample(row, cells))
        count += 1
    return count


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


# --- many columns ---------------------------------------------------------------------------------


def wide(place: Place) -> list[Comparison]:
    """Compare reads of rows of many columns, one by one."""
    place.make_anew(WideSample)
    names = [f"c{number:04}" for number in range(COLUMNS)]
    with place.engine.session() as session, session.bulk() as bulk:
        for row in range(WIDE_ROWS):
            sample = WideSample(name=row)
            sample.values.update(dict.fromkeys(names, row))
            bulk.add(sample)
    table = place.name_of(WideSample)

    def by_hand() -> int:
        connection = place.connect_happybase()
        cells = _wide_by_hand(connection, table)
        connection.close()
        return complete(cells, WIDE_ROWS * COLUMNS)

    variants = [
        *pair_by_hand("happybase row(), hand-written decoding", by_hand),
        *place.own("session.get(...)", get_wide),
        place.limit(lambda connection: _wide_by_hand(connection, table)),
    ]
    title = f"Reads of rows of {COLUMNS:,} columns, one by one"
    return [compare("wide-rows", title, "cell", variants, repetitions=place.repetitions, seed=8)]


def get_wide(engine: Engine) -> int:
    """Read the wide rows one by one."""
    with engine.session() as session:
        rows = [session.get(WideSample, name=number) for number in range(WIDE_ROWS)]
        cells = sum(len(row.values) for row in rows if row)
    return complete(cells, WIDE_ROWS * COLUMNS)


def _wide_by_hand(connection: Any, name: str) -> int:
    table, cells = connection.table(name), 0
    for number in range(WIDE_ROWS):
        row = table.row(struct.pack(">Q", number))
        # The model's rows also have a marker of another width.
        read = {
            c[2:].decode(): struct.unpack(">Q", v)[0]
            for c, v in row.items()
            if len(v) == _INT64_BYTES
        }
        cells += len(read)
    return cells
