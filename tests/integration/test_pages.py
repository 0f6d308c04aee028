"""Pages on a real HBase: joined, they are the rows."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from hbase_orm import Engine, connect
from hbase_orm.testing import RealHBase
from tests.support.page_statements import STATEMENTS, load, pages_of

pytestmark = pytest.mark.hbase


@pytest.fixture(scope="module")
def engine(hbase: RealHBase) -> Iterator[Engine]:
    namespace = f"n{uuid4().hex[:12]}"
    with connect(hbase.url_in(namespace)) as engine:
        load(engine)
        yield engine
    hbase.drop_namespace(namespace)


@pytest.mark.parametrize("name", STATEMENTS)
def test_pages_joined_are_the_rows_in_any_session(
    engine: Engine, hbase: RealHBase, name: str
) -> None:
    statement = STATEMENTS[name]()
    with engine.session() as session:
        rows = session.all(statement)
        first = session.page(statement, size=3)
    with connect(hbase.url_in(engine.options.namespace)) as other, other.session() as session:
        assert [row for page in pages_of(session, statement, 3) for row in page] == rows
        if first.token is not None:
            second = session.page(statement, size=3, token=first.token)
            assert second.items == rows[3:6]
