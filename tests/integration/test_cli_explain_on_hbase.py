"""`hbase-orm explain` where it has to ask: measured runs, numbers of names, tables of periods."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from hbase_orm import (
    Family,
    Key,
    Mapped,
    Model,
    Offset,
    Salt,
    Substitute,
    TablePerPeriod,
    codecs,
    column,
    connect,
    key,
    rowkey,
    select,
)
from hbase_orm.cli import main as cli_main
from hbase_orm.cli.errors import ExitCode
from hbase_orm.testing import RealHBase

pytestmark = pytest.mark.hbase

DAY = datetime(2026, 1, 31, tzinfo=UTC)


class Reading(Model, table="readings"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint8())
    value: Mapped[float] = column(d)
    __rowkey__ = rowkey(Salt(4), host, n)


class Named(Model, table="named"):
    d = Family()
    host: Key[str] = key()
    value: Mapped[int] = column(d)
    __rowkey__ = rowkey(Substitute(of=host, dictionary="hosts"))


class Daily(Model, table=TablePerPeriod("daily_%Y%m%d", of="at", period="day")):
    d = Family()
    at: Key[datetime] = key(codecs.seconds())
    value: Mapped[int] = column(d)
    __rowkey__ = rowkey(Offset("day", of=at))


EVEN = select(Reading).where(Reading.host == "a", ~Reading.n.in_([1, 3, 5, 7, 9]))


@pytest.fixture(scope="module")
def url(hbase: RealHBase) -> Iterator[str]:
    namespace = f"n{uuid4().hex[:12]}"
    url = hbase.url_in(namespace)
    with connect(url) as engine:
        engine.create_tables(Reading, Named)
        engine.create_tables(Daily, periods=(DAY, DAY + timedelta(days=2)))
        with engine.session() as session:
            session.add_all(Reading(host="a", n=n, value=n / 2) for n in range(10))
            session.add(Named(host="web-1", value=1))
    yield url
    hbase.drop_namespace(namespace)


def shown(url: str, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    name, *options = arguments
    code = cli_main.run(["--url", url, "explain", f"{__name__}:{name}", *options])
    found = capsys.readouterr()
    assert (code, found.err) == (ExitCode.OK, "")
    return found.out


def test_a_statement_is_run_and_measured(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(shown(url, capsys, "EVEN", "--analyze", "--json"))["measured"]

    assert (found["kept"], found["results"]) == (5, 5)
    assert found["fetched"] == 5 + found["dropped"]
    opened = [each for each in found["requests"] if each["kind"] == "open"]
    assert sum(each["count"] for each in opened) == 4
    assert found["total_ms"] > 0


def test_names_are_looked_up(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    known = shown(url, capsys, "Named", "--where", "host=web-1")
    unknown = shown(url, capsys, "Named", "--where", "host=web-2")

    assert "├─ resolve 'web-1' in hosts: 1\n" in known
    assert (
        "├─ nothing is sent: a name of the condition has no number, so no row has this name\n"
        in unknown
    )


def test_the_tables_there_are_are_shown(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(url, capsys, "Daily", "--allow-full-scan").splitlines()

    tables = [line.rpartition(":")[2] for line in lines if "daily_2026" in line]
    assert tables == ["daily_20260131", "daily_20260201"]
