"""What the tests of embedded servers share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache

import happybase
import pytest

from hbase_orm.testing.servers import embedded_refusal
from hbase_orm.testing.sources import REQUIRE_HBASE_VARIABLE


@cache
def _refusal() -> str:
    return embedded_refusal()


def marks() -> list[pytest.MarkDecorator]:
    """Return the marks of a module that starts embedded servers."""
    wanted = [
        pytest.mark.server,
        pytest.mark.timeout(400),  # the first start of all downloads the jars
        pytest.mark.xdist_group("embedded"),
    ]
    if _refusal() and os.environ.get(REQUIRE_HBASE_VARIABLE) != "1":
        wanted.append(pytest.mark.skip(reason=f"no embedded server: {_refusal()}"))
    return wanted


@contextmanager
def connected(port: int, timeout_ms: int = 20_000) -> Iterator[happybase.Connection]:
    with closing(happybase.Connection("127.0.0.1", port, timeout=timeout_ms)) as connection:
        yield connection


def count_rows(port: int, table: str) -> int:
    with connected(port) as connection:
        return sum(1 for _row in connection.table(table).scan())
