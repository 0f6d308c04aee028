"""Record batches are made as they are read: memory does not grow with the number of rows."""

from __future__ import annotations

import tracemalloc

import pyarrow as pa
import pytest

from hbase_orm import Family, Key, Mapped, Model, codecs, column, connect, select
from hbase_orm import key as key_field

BATCH_ROWS = 1_000


class Note(Model, table="arrow_notes"):
    d = Family()
    n: Key[int] = key_field(codecs.uint32())
    text: Mapped[str] = column(d)
    number: Mapped[int] = column(d)


def peak_bytes(rows: int) -> tuple[int, int]:
    """Return the most memory of Python and of Arrow's pool while a table is read in batches."""
    with connect("memory://") as engine:
        engine.create_tables(Note)
        with engine.session() as session, session.bulk() as bulk:
            bulk.add_all(Note(n=n, text="x" * 100, number=n) for n in range(rows))
        with engine.session() as session:  # pyarrow imports pandas at its first array
            session.arrow(select(Note).allow_full_scan().limit(1)).read_all()
        pool, read, most = pa.default_memory_pool(), 0, 0
        before = pool.bytes_allocated()
        with engine.session() as session:
            tracemalloc.start()
            try:
                reader = session.arrow(select(Note).allow_full_scan(), batch_rows=BATCH_ROWS)
                for batch in reader:
                    read += batch.num_rows
                    most = max(most, pool.bytes_allocated() - before)
                peak = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
    assert read == rows
    return peak, most


@pytest.mark.parametrize("rows", [12_000, pytest.param(50_000, marks=pytest.mark.soak)])
def test_memory_does_not_grow_with_the_rows(rows: int) -> None:
    few, many = peak_bytes(3_000), peak_bytes(rows)

    assert many[0] < 1.2 * few[0] + 100_000
    assert many[1] <= few[1] + 100_000
