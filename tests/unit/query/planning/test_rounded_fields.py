"""Conditions on fields that are stored rounded: no matching row is lost, none is invented."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hbase_orm import (
    Engine,
    Family,
    Key,
    Mapped,
    Model,
    Table,
    codecs,
    column,
    connect,
    key,
    select,
)

COMPARISONS = [operator.lt, operator.le, operator.eq, operator.ge, operator.gt]
FLOAT = codecs.get("ordered.float32")
NEAREST = FLOAT.normalize(0.1)  # above 0.1
BELOW = FLOAT.normalize(0.7)  # below 0.7


class Sample(Model, table=Table("samples")):
    d = Family("d")

    level: Key[float] = key(FLOAT)
    note: Mapped[str] = column(d, "n", default="")


class Chunk(Model, table=Table("chunks")):
    d = Family("d")

    name: Key[bytes] = key(codecs.get("phoenix.binary", width_bytes=3))
    note: Mapped[str] = column(d, "n", default="")


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    engine = connect("memory://")
    engine.create_tables(Sample, Chunk)
    with engine.session() as session:
        session.add_all(Sample(level=level) for level in (-1.0, -0.0, NEAREST, BELOW, 2.0))
        session.add_all(Chunk(name=name) for name in (b"a", b"ab", b"b"))
        session.flush()
    yield engine
    engine.close()


@pytest.mark.parametrize("compare", COMPARISONS)
@pytest.mark.parametrize("limit", [-1e-50, 0.1, NEAREST, 0.7, BELOW, 1e300, -1e300])
def test_conditions_on_a_32_bit_float_hold_for_what_is_stored(
    engine: Engine, compare: Callable[[Any, Any], Any], limit: float
) -> None:
    with engine.session() as session:
        found = [
            one.level
            for one in session.all(
                select(Sample).where(compare(Sample.level, limit)).allow_full_scan()
            )
        ]

    assert found == [x for x in (-1.0, -0.0, NEAREST, BELOW, 2.0) if compare(x, limit)]


@pytest.mark.parametrize("compare", COMPARISONS)
@pytest.mark.parametrize("limit", [b"a", b"a\x00\x00", b"ab", b"ab\x00", b"", b"abcd"])
def test_conditions_on_padded_bytes_hold_for_what_is_stored(
    engine: Engine, compare: Callable[[Any, Any], Any], limit: bytes
) -> None:
    with engine.session() as session:
        statement = select(Chunk).where(compare(Chunk.name, limit)).allow_full_scan()
        found = [one.name for one in session.all(statement)]

    assert found == [x for x in (b"a\x00\x00", b"ab\x00", b"b\x00\x00") if compare(x, limit)]
