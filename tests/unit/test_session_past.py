"""Reads of the past on the in-process gateway."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hbase_orm import Engine, connect

pytest.register_assert_rewrite("tests.past_cases")

from tests.past_cases import *  # noqa: E402, F403  # the cases are shared with the real HBase
from tests.past_cases import MODELS  # noqa: E402  # after the rewriting is registered


@pytest.fixture
def engine() -> Iterator[Engine]:
    with connect("memory://") as made:
        made.create_tables(*MODELS)
        yield made
