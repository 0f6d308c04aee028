"""`hbase-orm key` with a URL: which region of the real table a key falls into."""

from __future__ import annotations

import json
from collections.abc import Iterator
from uuid import uuid4

import pytest

from hbase_orm import Family, Key, Model, Table, connect, key
from hbase_orm.cli import main as cli_main
from hbase_orm.testing import RealHBase

pytestmark = pytest.mark.hbase


class Name(Model, table=Table("names", splits=[b"h", b"q"])):
    d = Family()
    name: Key[str] = key()


@pytest.fixture(scope="module")
def url(hbase: RealHBase) -> Iterator[str]:
    url = hbase.url_in(f"n{uuid4().hex[:12]}")
    with connect(url) as engine:
        engine.create_tables(Name)
        yield url
        engine.drop_tables(Name)


@pytest.mark.parametrize(
    ("name", "start", "stop"), [("a", "", "h"), ("h", "h", "q"), ("pz", "h", "q"), ("z", "q", None)]
)
def test_a_key_is_shown_in_the_region_that_holds_it(
    url: str, name: str, start: str, stop: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    cli_main.run(["--url", url, "key", "encode", f"{__name__}:Name", f"name={name}", "--json"])

    region = json.loads(capsys.readouterr().out)["region"]
    assert (region["start"], region["stop"]) == (start, stop)
    assert region["server"]
