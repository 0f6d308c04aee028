"""With Thrift1 alone, the times of regions show whether a table is the one of its record."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from hbase_orm import (
    Engine,
    Family,
    Key,
    Mapped,
    Model,
    Salt,
    TablePerPeriod,
    codecs,
    column,
    connect,
    key,
    rowkey,
)
from hbase_orm.errors import SchemaDriftError
from hbase_orm.testing import RealHBase
from tests.support.backends import thrift1_url

pytestmark = pytest.mark.hbase

NOON = datetime(2024, 1, 5, 12, tzinfo=UTC)
LATER = datetime(2024, 1, 7, tzinfo=UTC)


class Ware(Model, table="wares"):
    d = Family()
    name: Key[str] = key()
    note: Mapped[str] = column(d)
    __rowkey__ = rowkey(Salt(2), name)


class Unsalted(Model, table="wares"):
    d = Family()
    name: Key[str] = key()
    note: Mapped[str] = column(d)


class Visit(Model, table=TablePerPeriod("visits_%Y%m%d", of="at", period="day")):
    d = Family()
    at: Key[datetime] = key()
    note: Mapped[str] = column(d)


class CoarseVisit(Model, table=TablePerPeriod("visits_%Y%m%d", of="at", period="day")):
    d = Family()
    at: Key[datetime] = key(codecs.seconds())
    note: Mapped[str] = column(d)


@pytest.fixture
def engine(hbase: RealHBase) -> Iterator[Engine]:
    namespace = f"n{uuid4().hex[:12]}"
    with connect(hbase.url_in(namespace)) as made:
        made.create_tables(Ware)
        with made.session() as session:
            session.add_all([Ware(name=f"w{number}", note="x") for number in range(20)])
        yield made
    hbase.drop_namespace(namespace)


def refusal(engine: Engine, model: Any = Unsalted, **row_key: Any) -> SchemaDriftError:
    """Return the error with which a program without Thrift2 refuses a model."""
    with (
        connect(thrift1_url(engine)) as thrift1,
        thrift1.session() as session,
        pytest.raises(SchemaDriftError) as caught,
    ):
        session.get(model, **(row_key or {"name": "w1"}))
    return caught.value


def table(engine: Engine) -> str:
    return f"{engine.options.namespace}:wares"


def is_certain(error: SchemaDriftError) -> bool:
    return "without Thrift2" not in error.fix


def test_a_region_that_was_never_split_shows_that_the_table_is_the_same(
    engine: Engine, hbase: RealHBase
) -> None:
    hbase.admin.flush(table(engine))
    hbase.admin.split(table(engine), b"\x00w5")

    assert is_certain(refusal(engine))


def test_merged_regions_are_as_old_as_their_parts(engine: Engine, hbase: RealHBase) -> None:
    hbase.admin.merge(table(engine), b"\x00", b"\x01")

    assert len(engine.regions(Ware)) == 1
    assert is_certain(refusal(engine))


def test_if_all_regions_were_split_a_contradiction_is_refused_as_undecided(
    engine: Engine, hbase: RealHBase
) -> None:
    hbase.admin.flush(table(engine))
    hbase.admin.split(table(engine), b"\x00w5")
    hbase.admin.split(table(engine), b"\x01w5")

    assert not is_certain(refusal(engine))
    with (
        connect(f"{thrift1_url(engine)}?on_drift=warn") as warns,
        warns.session() as session,
    ):
        assert session.get(Unsalted, name="w1") is None  # other bytes: no such row
    engine.create_tables(Ware)  # which notes the new regions
    assert is_certain(refusal(engine))


def test_a_truncated_table_is_still_the_table_of_its_record(engine: Engine) -> None:
    engine.truncate_tables(Ware)

    assert is_certain(refusal(engine))


def test_a_table_of_a_later_period_belongs_to_the_record_too(engine: Engine) -> None:
    engine.create_tables(Visit, periods=(NOON, LATER))
    with engine.session() as session:
        session.add(Visit(at=NOON, note="x"))

    error = refusal(engine, CoarseVisit, at=NOON)
    engine.create_tables(Visit, periods=(LATER, datetime(2024, 1, 8, tzinfo=UTC)))
    later = refusal(engine, CoarseVisit, at=LATER)

    assert is_certain(error)
    assert is_certain(later)
    with pytest.raises(SchemaDriftError):
        engine.create_tables(CoarseVisit, periods=(LATER, datetime(2024, 1, 9, tzinfo=UTC)))
