"""The session's promises of derived row keys, on the in-process gateway."""

from __future__ import annotations

import pytest

from hbase_orm import connect

pytest.register_assert_rewrite("tests.session_keys")

# The cases are shared with the real HBase; they are imported after the rewriting is registered.
from tests.session_keys.dictionaries import *  # noqa: E402, F403  # its tests run here, their asserts rewritten
from tests.session_keys.dictionaries import TAG_MODELS  # noqa: E402  # after the rewriting is registered
from tests.session_keys.random_salt import *  # noqa: E402, F403  # its tests run here, their asserts rewritten
from tests.session_keys.random_salt import VISIT_MODELS  # noqa: E402  # after the rewriting is registered
from tests.session_keys.record_type import *  # noqa: E402, F403  # its tests run here, their asserts rewritten
from tests.session_keys.record_type import RECORD_MODELS  # noqa: E402  # after the rewriting is registered
from tests.session_keys.stores import Store  # noqa: E402  # after the rewriting is registered
from tests.session_keys.substitute import *  # noqa: E402, F403  # its tests run here, their asserts rewritten
from tests.session_keys.substitute import LOG_MODELS  # noqa: E402  # after the rewriting is registered
from tests.session_keys.table_per_period import *  # noqa: E402, F403  # its tests run here, their asserts rewritten


@pytest.fixture
def store() -> Store:
    engine = connect("memory://")
    engine.create_tables(*VISIT_MODELS, *RECORD_MODELS, *LOG_MODELS, *TAG_MODELS)
    return Store.on(engine)
