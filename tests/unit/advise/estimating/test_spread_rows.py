"""Stretches of neighbouring rows, read from all parts of a table."""

from __future__ import annotations

from itertools import pairwise

from hbase_orm import (
    Engine,
    Family,
    Key,
    Mapped,
    Model,
    Salt,
    codecs,
    column,
    connect,
    key,
    rowkey,
)
from hbase_orm.advise.estimating import estimate
from hbase_orm.advise.estimating.spread_rows import spread_rows
from hbase_orm.ops import Row
from hbase_orm.session.engine import runtime_of


class Page(Model, table="pages"):
    d = Family("d")
    path: Key[str] = key()
    body: Mapped[bytes] = column(d, "b")


class Event(Model, table="events"):
    d = Family("d")
    number: Key[int] = key(codecs.uint32())
    __rowkey__ = rowkey(Salt(8), number)
    text: Mapped[str] = column(d, "t")


def stretches(engine: Engine, table: str, rows: int) -> list[list[Row]]:
    return runtime_of(engine).run_as_is(spread_rows(table, rows))


def test_all_parts_of_a_table_are_read_and_no_row_twice() -> None:
    with connect("memory://") as engine:
        engine.create_tables(Page)
        paths = sorted(f"/{n % 97}/{n}" for n in range(8_000))
        with engine.session() as session, session.bulk() as bulk:
            bulk.add_all(Page(path=path, body=b"") for path in paths)
        read = stretches(engine, "pages", 5_000)

    keys = [row.key.decode() for stretch in read for row in stretch]
    assert 4_800 < len(keys) <= 5_000
    assert len(read) == 5_000 // 600
    assert all(before < after for before, after in pairwise(keys))
    starts = [paths.index(stretch[0].key.decode()) for stretch in read]
    assert max(after - before for before, after in pairwise([*starts, len(paths)])) < 2_000


def test_every_region_is_read() -> None:
    with connect("memory://") as engine:
        engine.create_tables(Event)
        with engine.session() as session, session.bulk() as bulk:
            bulk.add_all(Event(number=n, text="x") for n in range(9_600))
        read = stretches(engine, "events", 4_800)

    assert [stretch[0].key[0] for stretch in read] == [*range(8)]
    assert sum(map(len, read)) == 4_800


def test_a_stretch_of_large_rows_ends_after_a_mebibyte() -> None:
    with connect("memory://") as engine:
        engine.create_tables(Page)
        with engine.session() as session:
            session.add_all(Page(path=f"{n:03}", body=bytes(200_000)) for n in range(100))
            session.flush()
        read = stretches(engine, "pages", 100)
        result = estimate(Page, rows=100, sample=engine)

    assert [len(stretch) for stretch in read] == [10, 10]
    assert 100 * 200_000 < result.file_bytes < 101 * 200_100
