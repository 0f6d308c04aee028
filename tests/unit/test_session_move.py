"""Moves on the in-process gateway."""

from __future__ import annotations

import pytest

from hbase_orm import connect

pytest.register_assert_rewrite("tests.at_once_cases", "tests.move_cases")

from tests.at_once_cases import Store, host, model, tagged  # noqa: E402  # after the rewriting
from tests.move_cases import *  # noqa: E402, F403  # the cases are shared with the real HBase

__all__ = ["host", "model", "tagged"]


@pytest.fixture
def store() -> Store:
    return Store.make(connect("memory://"))
