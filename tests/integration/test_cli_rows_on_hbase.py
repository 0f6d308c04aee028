"""The commands on rows on a real HBase: a row is put, read in each format, counted and deleted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest

from hbase_orm import connect
from hbase_orm.cli import main as cli_main
from hbase_orm.cli.errors import ExitCode
from hbase_orm.testing import RealHBase
from tests.support.meter_models import Meter, Salted

pytestmark = pytest.mark.hbase

Run = Callable[..., tuple[int, str, str]]
METER, SALTED = (f"{model.__module__}:{model.__name__}" for model in (Meter, Salted))


@pytest.fixture(scope="module")
def url(hbase: RealHBase) -> Iterator[str]:
    namespace = f"n{uuid4().hex[:12]}"
    url = hbase.url_in(namespace)
    with connect(url) as engine:
        engine.create_tables(Meter, Salted)
        with engine.session() as session, session.bulk() as bulk:
            for n in range(1000):
                bulk.add(Salted(n=n, value=n % 2))
    yield url
    hbase.drop_namespace(namespace)


@pytest.fixture
def run(url: str, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str) -> tuple[int, str, str]:
        code = cli_main.run(["--url", url, *arguments])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


def test_a_row_is_put_shown_and_deleted(run: Run) -> None:
    put = [run("put", METER, "number=7", *each) for each in (["name=hall"], ["tags[a]=1"], [])]
    _, cells, _ = run("get", METER, "7", "--format", "hbase")
    _, row, _ = run("get", METER, "7", "--json")
    deleted = run("delete", METER, "7", "--yes")
    missing = run("get", METER, "7", "--json")

    assert [out.split(":")[0] for _, out, _ in put] == ["inserted", "updated", "unchanged"]
    assert [line.split(", ")[0] for line in cells.splitlines()[1:]] == [
        r"\x00\x07  column=d:c",
        r"\x00\x07  column=d:n",
        r"\x00\x07  column=t:t:a",
    ]
    assert json.loads(row)[0]["tags"] == {"a": 1}
    assert deleted == (ExitCode.OK, "deleted 1 row of meters\n", "")
    assert missing[0] == ExitCode.DATA
    assert json.loads(missing[2])["error"]["class"] == "RowNotFoundError"


def test_salted_rows_are_scanned_counted_and_deleted(run: Run) -> None:
    _, lines, _ = run("scan", SALTED, "--allow-full-scan", "--format", "jsonl")
    _, last, _ = run("scan", SALTED, "--limit", "2", "--reverse", "--columns", "n")
    _, counted, _ = run("count", SALTED, "--where", "value=1", "--allow-full-scan")
    _, deleted, _ = run("delete", SALTED, "--where", "value=1", "--allow-full-scan", "--yes")
    _, left, _ = run("count", SALTED, "--allow-full-scan")

    assert [json.loads(line)["n"] for line in lines.splitlines()] == [*range(1000)]
    assert (last.split(), counted, left) == (["n", "999", "998"], "500\n", "500\n")
    assert deleted == "deleted 500 rows of salted\n"
