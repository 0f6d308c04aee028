"""What the lint warns of, on a real HBase: files of families, and regions that are written."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from hbase_orm import Engine, Salt, Table, codecs, connect, rowkey
from hbase_orm.advise import lint
from hbase_orm.testing import RealHBase
from tests.support.linted_models import FourFamilies, Log, OneFamily

pytestmark = [pytest.mark.hbase, pytest.mark.timeout(300)]

T0 = datetime(2026, 1, 1, tzinfo=UTC)
DAYS = [T0 + timedelta(days=day) for day in range(1, 8)]


class SplitByDays(Log, table=Table("split_by_days", splits=[*map(codecs.millis().encode, DAYS)])):
    pass


class SplitBySalt(Log, table="split_by_salt"):
    __rowkey__ = rowkey(Salt(8), Log.at, Log.host)


@pytest.fixture
def namespace() -> str:
    return f"lint_{uuid4().hex[:8]}"


@pytest.fixture
def engine(hbase: RealHBase, namespace: str) -> Iterator[Engine]:
    with connect(hbase.url_in(namespace)) as engine:
        yield engine
    hbase.drop_namespace(namespace)


def files_of(hbase: RealHBase, table: str) -> list[int]:
    """Flush a table, and return the number of store files of each region."""
    return [region.store_files for region in hbase.admin.flush(table)]


@pytest.mark.parametrize(("model", "files"), [(FourFamilies, 4), (OneFamily, 1)])
def test_a_flush_writes_a_file_for_each_family(
    hbase: RealHBase, engine: Engine, namespace: str, model: Any, files: int
) -> None:
    """families-many."""
    engine.create_tables(model)
    with engine.session() as session, session.bulk() as bulk:
        for number in range(500):
            bulk.add(model(name=f"row{number}", one=1, two=2, three=3, four=4))

    assert files_of(hbase, f"{namespace}:{model.__schema__.table}") == [files]


def test_rows_of_one_day_are_written_into_one_region_of_eight(
    hbase: RealHBase, engine: Engine, namespace: str
) -> None:
    """key-monotone: pre-splitting by time does not help, a salt does."""
    engine.create_tables(SplitByDays, SplitBySalt)
    minutes = [DAYS[-1] + timedelta(minutes=minute) for minute in range(1000)]
    with engine.session() as session, session.bulk() as bulk:
        for at in minutes:
            bulk.add(SplitByDays(at=at, host="web-1", value=1))
            bulk.add(SplitBySalt(at=at, host="web-1", value=1))

    assert [each.rule for each in lint(SplitByDays)] == ["key-monotone"]
    assert lint(SplitBySalt) == ()
    assert files_of(hbase, f"{namespace}:split_by_days") == [0] * 7 + [1]
    assert files_of(hbase, f"{namespace}:split_by_salt") == [1] * 8
