"""`hbase-orm key` with a URL: which region of the real table a key falls into."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from hbase_orm import Family, Key, Model, Table, connect, key, select
from hbase_orm.cli import main as cli_main
from hbase_orm.cli.errors import ExitCode
from hbase_orm.testing import RealHBase
from tests.support.table_designs import SubstituteLog

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


def test_names_are_looked_up_and_get_no_numbers(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    log = f"{SubstituteLog.__module__}:SubstituteLog"
    fields = ["host=web-1", "event=boot", "at=2024-01-01T00:00:00+00:00"]
    cli_main.run(["--url", url, "tables", "create", log])
    unknown = cli_main.run(["--url", url, "key", "encode", log, *fields])
    with connect(url) as engine, engine.session() as session:
        at = datetime(2024, 1, 1, tzinfo=UTC)
        session.add(SubstituteLog(host="web-1", event="boot", at=at, message="x"))
        session.flush()
        (found,) = session.all(select(SubstituteLog).allow_full_scan())
    capsys.readouterr()

    cli_main.run(["--url", url, "key", "encode", log, *fields, "--json"])
    encoded = json.loads(capsys.readouterr().out)
    cli_main.run(["--url", url, "key", "decode", log, "--hex", encoded["hex"]])
    decoded = capsys.readouterr().out
    cli_main.run(["--url", url, "tables", "drop", "--yes", log])

    assert unknown == ExitCode.DATA
    assert found.__state__.row is not None
    assert encoded["hex"] == found.__state__.row.key.hex()
    assert encoded["other_fields"] == {"host": "web-1", "event": "boot"}
    assert decoded.endswith("\n\nhost   'web-1'\nevent  'boot'\n")
