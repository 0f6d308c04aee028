"""The HBase of a test run, as the fixture `hbase` returns it."""

from __future__ import annotations

import pytest

from hbase_orm.testing.servers import RealHBase
from hbase_orm.testing.shared import Running


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("hbase://a:1,b:1?thrift2=a:2", "hbase://a:1,b:1/tests?thrift2=a:2"),
        ("hbase://a:1/shop?thrift2=a:2", "hbase://a:1/tests?thrift2=a:2"),
        ("hbase://[::1]:1/", "hbase://[::1]:1/tests"),
        ("hbase://a", "hbase://a/tests"),
    ],
)
def test_a_test_has_its_own_namespace_also_where_the_url_names_one(
    given: str, expected: str
) -> None:
    hbase = RealHBase(Running(given, "url"))

    assert hbase.url_in("tests") == expected
