"""The chat's tests run on a real HBase, or in memory with HBASE_ORM_TEST_URL=memory://."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from examples.chat import access
from examples.chat.models import MODELS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from examples.chat.models import Channel, User
    from hbase_orm import Engine, Session


@pytest.fixture(scope="session")
def hbase_models() -> Sequence[type[Any]]:
    return MODELS


@pytest.fixture
def session(hbase_engine: Engine) -> Iterator[Session]:
    with hbase_engine.session() as opened:
        yield opened


@pytest.fixture
def ann(session: Session) -> User:
    return access.register(session, "ann@example.org", "Ann")


@pytest.fixture
def bob(session: Session) -> User:
    return access.register(session, "bob@example.org", "Bob")


@pytest.fixture
def lobby(session: Session, ann: User) -> Channel:
    return access.open_channel(session, "lobby", ann, topic="everything")
