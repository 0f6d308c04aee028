"""What a row, a get or a query costs by the size of things: rows, columns, buckets, connections.

For each size, hand-written code on happybase and the library do the same. All sizes of a part are
measured in turn in each repetition, in shuffled order. What is larger than this machine measures in
minutes is computed from a straight line, and marked so.
"""

from __future__ import annotations

import random
import struct
import types
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import make_dataclass
from functools import partial
from heapq import merge
from itertools import islice
from operator import attrgetter
from statistics import median
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import msgspec

from benchmarks.jobs.scan import CACHING_ROWS, complete, read_by_hand
from benchmarks.models import (
    PlainReading,
    hand_key,
    hand_object,
    read_fields,
    reading,
    salted,
    sources,
)
from benchmarks.paired import Samples, Variant, measure
from benchmarks.place import Place
from benchmarks.results import BASE, OWN, Machine
from hbase_orm import Engine, Family, Key, Mapped, Model, codecs, column, connect, key, select

_MICROS: Final = 1_000_000
_NAMES: Final = {BASE: "happybase, by hand", OWN: "the library"}
NEWEST: Final = 30
QUERIES: Final = 5
GETS: Final = 1_600

ROWS: Final = {0.5: "bench_rows_s", 5.0: "bench_rows_m", 50.0: "bench_rows_l"}
"""The tables that are read, by how many times as many rows as a load they have."""
COMPUTED: Final = 500
COLUMNS: Final = (1, 4, 16, 64)
BUCKETS: Final = (1, 4, 16, 64, 256)
CONNECTIONS: Final = (1, 2, 4, 8, 16)


class Point(msgspec.Struct, frozen=True, array_like=True):
    """What one size costs.

    Attributes:
        size: How many rows, columns, buckets or connections.
        wall_us: Microseconds for a row, a get or a query.
        cpu_us: Client CPU for it.
        is_computed: Whether it was computed instead of measured.
    """

    size: int
    wall_us: float
    cpu_us: float
    is_computed: bool = False


class Curve(msgspec.Struct, frozen=True):
    """The points of one way to do it."""

    key: str
    name: str
    points: tuple[Point, ...]


class Part(msgspec.Struct, frozen=True):
    """One dependence.

    Attributes:
        name: For the command line and the names of pictures.
        title: For people.
        size: What the sizes count.
        unit: What the costs are for.
        note: What has to be known to read it.
        curves: By hand first.
    """

    name: str
    title: str
    size: str
    unit: str
    note: str
    curves: tuple[Curve, ...]


class Scale(msgspec.Struct, frozen=True):
    """All that a run has measured."""

    machine: Machine
    rows: int
    parts: tuple[Part, ...]


def _curves(
    place: Place, title: str, works: dict[tuple[str, int], Callable[[], int]]
) -> dict[str, list[Point]]:
    """Measure works by key and size, and return the points by key."""
    variants = [
        Variant(f"{way}-{size}", f"{_NAMES[way]}, {size:,}", work)
        for (way, size), work in works.items()
    ]
    samples = measure(title, variants, repetitions=place.repetitions, seed=12)
    curves: dict[str, list[Point]] = {way: [] for way in _NAMES}
    for way, size in works:
        curves[way].append(_point(size, samples[f"{way}-{size}"]))
    return curves


def _point(size: int, taken: Samples) -> Point:
    scale = _MICROS / taken.count
    return Point(size, scale * median(taken.wall_s), scale * median(taken.cpu_s))


def _made(curves: dict[str, list[Point]]) -> tuple[Curve, ...]:
    return tuple(Curve(way, _NAMES[way], tuple(points)) for way, points in curves.items())


# --- rows -----------------------------------------------------------------------------------------

_BY_ROWS = {
    times: reading(table, is_salted=False, is_indexed=False) for times, table in ROWS.items()
}


def by_rows(place: Place) -> Part:
    """Measure full scans of tables of many rows."""
    works: dict[tuple[str, int], Callable[[], int]] = {}
    for times, model in _BY_ROWS.items():
        rows = int(times * place.rows)
        _write(place, model, rows)
        works[BASE, rows] = partial(_scan_by_hand, place, model, rows)
        works[OWN, rows] = partial(_scan, place.engine, model, rows)
    title = "Full scan, all fields of all rows read"
    curves = _curves(place, title, works)
    place.engine.drop_tables(*_BY_ROWS.values())
    for points in curves.values():
        points.append(computed(points, COMPUTED * place.rows))
    note = (
        "The last size is computed: the straight line through the time of the smallest and the "
        "largest table that were measured."
    )
    return Part("rows", title, "rows of the table", "row", note, _made(curves))


def computed(points: Sequence[Point], size: int) -> Point:
    """Return what a size would cost if all costs lie on one line: a start, and so much a unit."""
    small, large = points[0], points[-1]

    def cost(figure: Callable[[Point], float]) -> float:
        totals = small.size * figure(small), large.size * figure(large)
        slope = (totals[1] - totals[0]) / (large.size - small.size)
        return (totals[1] + slope * (size - large.size)) / size

    return Point(size, cost(lambda p: p.wall_us), cost(lambda p: p.cpu_us), is_computed=True)


def _write(place: Place, model: type[Any], rows: int) -> None:
    place.make_anew(model)
    with place.engine.session() as session, session.bulk() as bulk:
        bulk.add_all(model(**source._asdict()) for source in sources(rows))


def _scan_by_hand(place: Place, model: type[Model], rows: int) -> int:
    connection = place.connect_happybase()
    count = read_by_hand(connection, place.name_of(model))
    connection.close()
    return complete(count, rows)


def _scan(engine: Engine, model: type[Model], rows: int) -> int:
    stmt, count = select(model).allow_full_scan().caching(CACHING_ROWS), 0
    with engine.session() as session, session.stream(stmt) as readings:
        for each in readings:
            read_fields(each)
            count += 1
    return complete(count, rows)


# --- columns --------------------------------------------------------------------------------------


def by_columns(place: Place) -> Part:
    """Measure full scans of rows of more and more columns."""
    works: dict[tuple[str, int], Callable[[], int]] = {}
    models = [model_of_columns(columns) for columns in COLUMNS]
    for columns, model in zip(COLUMNS, models, strict=True):
        place.make_anew(model)
        names = [f"c{number}" for number in range(columns)]
        with place.engine.session() as session, session.bulk() as bulk:
            for number in range(place.rows):
                bulk.add(model(name=number, **dict.fromkeys(names, number)))
        works[BASE, columns] = partial(_columns_by_hand, place, model, names)
        works[OWN, columns] = partial(_columns, place, model, names)
    title = f"Full scan of {place.rows:,} rows of numbers, all fields read"
    curves = _curves(place, title, works)
    place.engine.drop_tables(*models)
    return Part("columns", title, "columns of a row", "row", "", _made(curves))


def model_of_columns(columns: int) -> type[Any]:
    """Return a model of so many columns of numbers."""
    family = Family()
    fields: dict[str, Any] = {"__module__": __name__, "d": family, "name": key(codecs.uint64())}
    hints: dict[str, Any] = {"name": Key[int]}
    for number in range(columns):
        fields[f"c{number}"] = column(family, f"c{number}", codec=codecs.uint64())
        hints[f"c{number}"] = Mapped[int]
    fields["__annotations__"] = hints
    table = {"table": f"bench_columns_{columns}"}
    return types.new_class(f"Columns{columns}", (Model,), table, lambda body: body.update(fields))


def _columns_by_hand(place: Place, model: type[Model], names: Sequence[str]) -> int:
    made: Any = make_dataclass("Hand", ["name", *names], slots=True)
    number, read = struct.Struct(">Q"), attrgetter("name", *names)
    columns = [f"d:{name}".encode() for name in names]
    connection, count = place.connect_happybase(), 0
    for row, cells in connection.table(place.name_of(model)).scan(batch_size=CACHING_ROWS):
        values = [number.unpack(cells[each])[0] for each in columns]
        read(made(number.unpack(row)[0], *values))
        count += 1
    connection.close()
    return complete(count, place.rows)


def _columns(place: Place, model: type[Model], names: Sequence[str]) -> int:
    stmt, read, count = select(model).allow_full_scan(), attrgetter("name", *names), 0
    with place.engine.session() as session, session.stream(stmt.caching(CACHING_ROWS)) as rows:
        for row in rows:
            read(row)
            count += 1
    return complete(count, place.rows)


# --- salt buckets ---------------------------------------------------------------------------------


def by_buckets(place: Place) -> Part:
    """Measure the newest rows of one host, merged from more and more buckets."""
    works: dict[tuple[str, int], Callable[[], int]] = {}
    models = [salted(f"bench_buckets_{buckets}", buckets) for buckets in BUCKETS]
    for buckets, model in zip(BUCKETS, models, strict=True):
        _write(place, model, place.rows)
        works[BASE, buckets] = partial(_newest_by_hand, place, model, buckets)
        works[OWN, buckets] = partial(_newest, place, model)
    title = f"Newest {NEWEST} rows of a host"
    curves = _curves(place, title, works)
    place.engine.drop_tables(*models)
    note = f"By hand each bucket is scanned with a limit of {NEWEST} rows, one after the other."
    return Part("buckets", title, "salt buckets", "query", note, _made(curves))


_HOST = "host-0000"


def _newest_by_hand(place: Place, model: type[Model], buckets: int) -> int:
    connection = place.connect_happybase()
    table, prefix = connection.table(place.name_of(model)), _HOST.encode() + b"\x00"
    salts = [bytes([bucket]) for bucket in range(buckets)] if buckets > 1 else [b""]
    salt_bytes = len(salts[0])
    for _ in range(QUERIES):
        scans = [
            table.scan(row_prefix=salt + prefix, limit=NEWEST, batch_size=NEWEST) for salt in salts
        ]
        merged = merge(*scans, key=lambda pair: pair[0][salt_bytes:])
        rows = [
            read_fields(hand_object(row[salt_bytes:], cells))
            for row, cells in islice(merged, NEWEST)
        ]
        complete(len(rows), NEWEST)
        for each in scans:
            each.close()
    connection.close()
    return QUERIES


def _newest(place: Place, model: type[Any]) -> int:
    stmt = select(model).where(model.host == _HOST).limit(NEWEST)
    for _ in range(QUERIES):
        with place.engine.session() as session:
            complete(len([read_fields(row) for row in session.all(stmt)]), NEWEST)
    return QUERIES


# --- connections ----------------------------------------------------------------------------------


def by_connections(place: Place) -> Part:
    """Measure gets by more and more threads, each with a connection."""
    _write(place, PlainReading, place.rows)
    keys = random.Random(13).sample(list(sources(place.rows)), min(GETS, place.rows))
    works: dict[tuple[str, int], Callable[[], int]] = {}
    title = "Gets by as many threads as connections"
    with ExitStack() as stack:
        for connections in CONNECTIONS:
            engine = stack.enter_context(connect(with_pool(place.url, connections)))
            shares = [keys[start::connections] for start in range(connections)]
            works[BASE, connections] = partial(_in_threads, partial(_gets_by_hand, place), shares)
            works[OWN, connections] = partial(_in_threads, partial(_gets, engine), shares)
        curves = _curves(place, title, works)
    place.engine.drop_tables(PlainReading)
    note = "Threads share the interpreter's lock, and on this machine the cores with HBase."
    return Part("connections", title, "connections", "get", note, _made(curves))


def with_pool(url: str, connections: int) -> str:
    """Return a URL with another number of connections."""
    parts = urlsplit(url)
    named = {**dict(parse_qsl(parts.query)), "pool": str(connections)}
    return urlunsplit(parts._replace(query=urlencode(named, safe=":,")))


def _in_threads(work: Callable[[Any], int], shares: Sequence[Any]) -> int:
    with ThreadPoolExecutor(len(shares)) as threads:
        return sum(threads.map(work, shares))


def _gets_by_hand(place: Place, share: Sequence[Any]) -> int:
    connection = place.connect_happybase()
    table = connection.table(place.name_of(PlainReading))
    for source in share:
        row = hand_key(source)
        read_fields(hand_object(row, table.row(row)))
    connection.close()
    return len(share)


def _gets(engine: Engine, share: Sequence[Any]) -> int:
    with engine.session() as session:
        for source in share:
            row = session.get(PlainReading, host=source.host, at=source.at)
            assert row is not None
            read_fields(row)
    return len(share)


PARTS: Final[dict[str, Callable[[Place], Part]]] = {
    "rows": by_rows,
    "columns": by_columns,
    "buckets": by_buckets,
    "connections": by_connections,
}
"""The parts by their names."""
