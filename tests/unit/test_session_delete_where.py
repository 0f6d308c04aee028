"""Deletes by statements on the in-process gateway."""

from __future__ import annotations

import pytest

from hbase_orm import Engine, connect

pytest.register_assert_rewrite("tests.delete_where_cases")

from tests.delete_where_cases import *  # noqa: E402, F403  # the cases are shared with the real HBase
from tests.delete_where_cases import TABLES  # noqa: E402  # as above


@pytest.fixture(scope="module")
def engine() -> Engine:
    engine = connect("memory://")
    engine.create_tables(*TABLES)
    return engine
