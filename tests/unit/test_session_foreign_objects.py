"""What becomes of objects of other engines and sessions, on the in-process gateway."""

from __future__ import annotations

import pytest

from hbase_orm import Engine, connect

pytest.register_assert_rewrite("tests.foreign_cases")

from tests.foreign_cases import *  # noqa: E402, F403  # the cases are shared with the real HBase
from tests.foreign_cases import create  # noqa: E402  # after the rewriting is registered
from tests.recording import gateway_of, through  # noqa: E402  # as above


@pytest.fixture
def store() -> Engine:
    return made_engine()


@pytest.fixture
def other() -> Engine:
    return made_engine()


@pytest.fixture
def again(store: Engine) -> Engine:
    return through(gateway_of(store), store)


def made_engine() -> Engine:
    engine = connect("memory://")
    create(engine)
    return engine
