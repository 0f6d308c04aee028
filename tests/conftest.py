"""What all tests share: their seeds, and the markers for what a machine may lack."""

from __future__ import annotations

import gc
import os
from functools import cache

import pytest

from hbase_orm.testing import servers
from hbase_orm.testing.sources import REQUIRE_DOCKER_VARIABLE

pytest.register_assert_rewrite("tests.behaviour", "tests.support")

pytest_plugins = [
    "pytester",
    "tests.support.seeds",
    "tests.support.declarations.refusal_shares",
]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the long runs to `make soak`, also where pytest is called by hand."""
    if "soak" in config.getoption("markexpr"):
        return
    long_runs = [item for item in items if item.get_closest_marker("soak")]
    config.hook.pytest_deselected(items=long_runs)
    items[:] = [item for item in items if item not in long_runs]


def pytest_collection_finish() -> None:
    """Keep the garbage collector off what was imported and collected: it lives until the end."""
    _freeze()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Keep the garbage collector off what is left when the tests of a file have ended.

    Some tests collect garbage hundreds of times, which takes a second each time late in a run of
    all tests, and a moment among those of one file.
    """
    if nextitem is not None and nextitem.path != item.path:
        _freeze()


def _freeze() -> None:
    gc.collect()
    gc.freeze()


@cache
def _docker_refusal() -> str:
    return servers.docker_refusal()


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("docker") and (refusal := _docker_refusal()):
        if os.environ.get(REQUIRE_DOCKER_VARIABLE) == "1":
            pytest.fail(f"{REQUIRE_DOCKER_VARIABLE}=1, but {refusal}", pytrace=False)
        pytest.skip(f"no Docker: {refusal}")
