"""Values, groups, sorts and counts on a real HBase."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from hbase_orm import Engine, connect, select
from hbase_orm.testing import RealHBase
from tests.support.selection_statements import (
    ANSWERS,
    MODELS,
    Account,
    Draft,
    Reading,
    load,
    recorded,
    scans,
)

pytestmark = pytest.mark.hbase


@pytest.fixture(scope="module")
def engine(hbase: RealHBase) -> Iterator[Engine]:
    namespace = f"n{uuid4().hex[:12]}"
    with connect(hbase.url_in(namespace)) as engine:
        load(engine)
        yield engine
    hbase.drop_namespace(namespace)


@pytest.mark.parametrize("name", ANSWERS)
def test_a_statement_gives(engine: Engine, name: str) -> None:
    statement, expected = ANSWERS[name]
    with engine.session() as session:
        assert session.all(statement()) == expected
        assert session.count(statement()) == len(expected)


@pytest.mark.parametrize("model", MODELS)
def test_a_count_is_that_of_the_objects(engine: Engine, model: type[Reading]) -> None:
    stmt = select(model).allow_full_scan()
    with engine.session() as session:
        assert session.count(stmt) == len(session.all(stmt))
        assert session.exists(stmt)


@pytest.mark.parametrize("model", [Reading, Account, Draft])
def test_keys_alone_are_sent_for_a_count(engine: Engine, model: type[Reading]) -> None:
    other, recorder = recorded(engine)
    with other.session() as session:
        session.count(select(model).allow_full_scan())

    for _, text in scans(recorder.requests):
        assert text is not None
        assert text.endswith(b"KeyOnlyFilter()")
