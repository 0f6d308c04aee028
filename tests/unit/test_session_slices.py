"""What reading ranges of wide rows promises, on the in-process gateway."""

from __future__ import annotations

import pytest

from hbase_orm import connect

pytest.register_assert_rewrite("tests.wide_cases", "tests.session_cases")

from tests.session_cases import Store  # noqa: E402  # as above
from tests.wide_cases import *  # noqa: E402, F403  # the cases are shared with the real HBase
from tests.wide_cases import MODELS  # noqa: E402  # after the rewriting is registered


@pytest.fixture
def store() -> Store:
    return Store.make(connect("memory://"), MODELS)
