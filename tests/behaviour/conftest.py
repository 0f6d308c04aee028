"""The backends of behaviour tests: each test that takes `engine` or `store` runs on all of them.

A module says in `prepare(engine)` which tables its tests share; each test works on rows of its own.

In memory a test runs with all its parameters. On HBase it runs with `ON_HBASE` of them, spread over
all; `make soak` runs the others, too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from uuid import uuid4

import pytest

from hbase_orm import Engine
from tests.support.backends import Backend, InMemory, OnHBase
from tests.support.store import Store


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "only_on(backend): what is tested is of one backend alone")


ON_HBASE: Final = 4
"""With how many of its parameters a test runs on HBase in an ordinary run, at most."""


@pytest.hookimpl(tryfirst=True)  # before the items that are marked as soak are deselected
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    others = [item for item in items if not _is_for_its_backend(item)]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if item not in others]
    _leave_to_soak(items)


def _leave_to_soak(items: list[pytest.Item]) -> None:
    """Mark what an ordinary run leaves out on HBase."""
    here = str(Path(__file__).parent)
    on_hbase: defaultdict[tuple[Path, str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if str(item.path).startswith(here) and item.get_closest_marker("hbase"):
            assert isinstance(item, pytest.Function)
            on_hbase[item.path, item.originalname].append(item)
    for each in on_hbase.values():
        each.sort(key=lambda item: item.nodeid)
        kept = {place * len(each) // ON_HBASE for place in range(ON_HBASE)}
        for place, item in enumerate(each):
            if len(each) > ON_HBASE and place not in kept:
                item.add_marker("soak")


def _is_for_its_backend(item: pytest.Item) -> bool:
    only = item.get_closest_marker("only_on")
    if only is None:
        return True
    assert isinstance(item, pytest.Function)
    return bool(item.callspec.params["backend"] == only.args[0])


@pytest.fixture(scope="module", params=["memory", pytest.param("hbase", marks=pytest.mark.hbase)])
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    made: Backend = (
        OnHBase(request.getfixturevalue("hbase")) if request.param == "hbase" else InMemory()
    )
    yield made
    made.close()


@pytest.fixture(scope="module")
def engine(backend: Backend, request: pytest.FixtureRequest) -> Engine:
    """Return an engine with the tables of the module."""
    made = backend.engine()
    request.module.prepare(made)
    return made


@pytest.fixture(scope="module")
def store(engine: Engine) -> Store:
    """Return an engine with the tables of the module, and the requests it sends."""
    return Store.on(engine)


@pytest.fixture
def host() -> str:
    """Return a name that no other test has."""
    return uuid4().hex
