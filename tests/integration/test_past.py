"""Reads of the past on a real HBase."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from uuid import uuid4

import pytest

from hbase_orm import Engine, connect
from hbase_orm.errors import FeatureMissingError
from hbase_orm.testing import RealHBase

pytest.register_assert_rewrite("tests.past_cases")

from tests.past_cases import *  # noqa: E402, F403  # the cases are shared with the memory gateway
from tests.past_cases import (  # noqa: E402  # after the rewriting is registered
    MODELS,
    Config,
    at,
    of,
    values,
    write,
)

pytestmark = pytest.mark.hbase


@pytest.fixture(scope="module")
def engine(hbase: RealHBase) -> Iterator[Engine]:
    namespace = f"n{uuid4().hex[:12]}"
    with connect(hbase.url_in(namespace)) as made:
        made.create_tables(*MODELS)
        yield made
    hbase.drop_namespace(namespace)


def test_thrift1_alone_reads_up_to_a_time_but_not_from_one_on(engine: Engine, group: str) -> None:
    write(engine, group, 10, value="1")
    write(engine, group, 20, value="2")
    options = replace(engine.options, thrift2=())
    (server, port), *_ = options.thrift1
    with connect(f"hbase://{server}:{port}/{options.namespace}") as thrift1:
        assert values(thrift1, of(group).as_of(at(15))) == [("a", "1", None)]
        with pytest.raises(FeatureMissingError):
            values(thrift1, of(group).between_timestamps(at(5), at(15)))
        with thrift1.session() as session:
            obj = Config(group=group, name="a", value="")
            found = session.history(obj, Config.value, limit=5)
            assert [each.value for each in found] == ["2", "1"]
            with pytest.raises(FeatureMissingError):
                session.stored_cells(Config, group=group, name="a")
