"""`hbase-orm explain`: what it shows of models, statements and functions, and what it refuses."""

from __future__ import annotations

import json
from datetime import datetime
from enum import Enum
from typing import Any

import pytest

from hbase_orm import (
    Counter,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Offset,
    Select,
    Substitute,
    TablePerPeriod,
    codecs,
    column,
    connect,
    counter,
    key,
    rowkey,
    select,
)
from hbase_orm.cli import main as cli_main
from hbase_orm.cli.conditions import read_condition
from hbase_orm.cli.errors import ExitCode


class Unit(Enum):
    KELVIN = "K"
    VOLT = "V"


class Reading(Model, table="readings"):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.millis(desc=True))
    unit: Mapped[Unit | None] = column(d, default=None)
    value: Mapped[float] = column(d)
    labels: Mapped[list[str]] = column(d, codec=codecs.json(list), default_factory=list)
    hits: Counter = counter(d)
    by_unit = Index(unit, at)


class Named(Model, table="named"):
    d = Family()
    host: Key[str] = key()
    __rowkey__ = rowkey(Substitute(of=host, dictionary="hosts"))


class Daily(Model, table=TablePerPeriod("daily_%Y%m%d", of="at", period="day")):
    d = Family()
    at: Key[datetime] = key(codecs.seconds())
    __rowkey__ = rowkey(Offset("day", of=at))


NEWEST = select(Reading).where(Reading.host == "a").limit(30)
NOT_A_STATEMENT = "Reading"


def of_host_b() -> Select[Reading]:
    return select(Reading).where(Reading.host == "b")


def of_host(host: str) -> Select[Reading]:
    return select(Reading).where(Reading.host == host)


def broken() -> Select[Reading]:
    raise OSError("the file is gone")


def refused() -> Select[Reading]:
    return select(Reading).limit(0)


def not_a_statement() -> int:
    return 3


@pytest.fixture(autouse=True)
def _no_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HBASE_ORM_URL", raising=False)


@pytest.fixture
def explained(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the command on a name of this module; return its exit code and its output."""

    def run(name: str, *arguments: str) -> tuple[int, str]:
        code = cli_main.run(["explain", f"{__name__}:{name}", *arguments])
        found = capsys.readouterr()
        return code, found.out + found.err

    return run


@pytest.mark.parametrize(
    ("name", "arguments", "line"),
    [
        ("NEWEST", [], r"├─ scan [a\x00\x01, a\x00\x02)"),
        ("NEWEST", [], "├─ limit: 30"),
        ("NEWEST", ["--limit", "7"], "├─ limit: 7"),
        ("of_host_b", [], r"├─ scan [b\x00\x01, b\x00\x02)"),
        ("Reading", ["--where", "host=c"], r"├─ scan [c\x00\x01, c\x00\x02)"),
        ("Reading", ["--where", "host = c"], r"├─ scan [c\x00\x01, c\x00\x02)"),
        ("of_host_b", ["--order-by", "at"], r"├─ reverse scan [b\x00\x01, b\x00\x02)"),
        ("of_host_b", ["--order-by", "-at"], r"├─ scan [b\x00\x01, b\x00\x02)"),
        ("of_host_b", ["--order-by", "host", "--order-by", "-at"], "├─ order: at desc"),
        ("Reading", ["--allow-full-scan"], "├─ scan the whole table"),
        ("Reading", ["--where", "unit=VOLT"], "├─ index readings_ix_by_unit"),
        ("of_host_b", ["--where", "unit=VOLT", "--using", "by_unit"], "Index readings"),
        ("of_host_b", ["--where", "unit=VOLT", "--using", "none"], "Scan readings"),
        (
            "of_host_b",
            ["--where", "at>=2026-01-31"],
            r"├─ scan [b\x00\x01, b\x00\x01\x7F\xFF\xFEc\xEE\xA6\x90)",
        ),
    ],
)
def test_a_plan_is_shown(explained: Any, name: str, arguments: list[str], line: str) -> None:
    code, output = explained(name, *arguments)

    assert code == ExitCode.OK, output
    assert line in output.splitlines()


def test_a_plan_is_shown_as_json(explained: Any) -> None:
    code, output = explained("NEWEST", "--json")

    assert code == ExitCode.OK
    assert json.loads(output) == json.loads(json.dumps(_plan_of(NEWEST)))


def _plan_of(stmt: Select[Any]) -> dict[str, Any]:
    with connect("memory://") as engine, engine.session() as session:
        return session.explain(stmt).to_dict()


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("host=a b", Reading.host == "a b"),
        ("host==a=b", Reading.host == "a=b"),
        ("host != a", Reading.host != "a"),
        ("value<1.5", Reading.value < 1.5),
        ("value<=-1", Reading.value <= -1.0),
        ("value>2", Reading.value > 2.0),
        ("value>= 2 ", Reading.value >= 2.0),
        ("hits>3", Reading.hits > 3),
        ("host^=we", Reading.host.startswith("we")),
        ("host in a, b,c", Reading.host.in_(["a", "b", "c"])),
        ("unit in KELVIN", Reading.unit.in_([Unit.KELVIN])),
        ("unit is null", Reading.unit == None),  # noqa: E711  # an expression
        ("unit is  not null", Reading.unit != None),  # noqa: E711  # an expression
        ("host=is null", Reading.host == "is null"),
    ],
)
def test_a_condition_is_read_as_one_writes_it(text: str, condition: object) -> None:
    assert repr(read_condition(Reading, text)) == repr(condition)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("Reading", ["--where", "host"], "is no condition: write FIELD=VALUE"),
        ("Reading", ["--where", "hosts=a"], "no field 'hosts'; its fields are host, at, unit"),
        ("Reading", ["--where", "value=much"], "expected a number"),
        ("Reading", ["--where", "unit=OHM"], "one of KELVIN, VOLT"),
        ("Reading", ["--where", "labels=a"], "values of list cannot be typed here"),
        (
            "of_host_b",
            ["--where", "value^=1"],
            "works only on text fields with text, and on bytes fields with bytes",
        ),
        ("of_host_b", ["--order-by", "-when"], "no field 'when'"),
        ("of_host_b", ["--order-by", "value"], "no scan can return the rows in this order"),
        ("of_host_b", ["--limit", "0"], "0 is not in the range x>=1"),
        ("of_host_b", ["--using", "by_host"], "no index 'by_host'; write one of: by_unit, none"),
        ("Reading", [], "compare host, the first part of the key"),
        ("nothing", [], "the module has no such name"),
        ("NOT_A_STATEMENT", [], "name a model, a statement, or a function"),
        ("not_a_statement", [], "'not_a_statement' gives no statement"),
        ("of_host", [], "of_host() cannot be called without arguments"),
        ("broken", [], "broken() raised OSError: the file is gone"),
        ("refused", [], "the number must be a positive integer"),
        (
            "Named",
            ["--where", "host=a"],
            (
                "give --url: the row key stores names as numbers, which must be looked up: "
                "'a' (in hosts)."
            ),
        ),
        (
            "Daily",
            ["--allow-full-scan"],
            "give --url: Daily has a table for each period, and the statement reads all of them.",
        ),
        ("NEWEST", ["--analyze"], "no URL was given"),
    ],
)
def test_what_cannot_be_explained_is_told_on_one_line(
    explained: Any, name: str, arguments: list[str], message: str
) -> None:
    code, output = explained(name, *arguments)

    assert code == ExitCode.USAGE
    assert message in output
    assert len(output.splitlines()) == 1


def test_a_url_names_the_namespace_and_is_not_connected_to(
    monkeypatch: pytest.MonkeyPatch, explained: Any
) -> None:
    monkeypatch.setenv("HBASE_ORM_URL", "hbase://127.0.0.1:1/lab")

    code, output = explained("Reading", "--where", "unit=VOLT")

    assert code == ExitCode.OK
    assert output.startswith("Index lab:readings\n├─ index lab:readings_ix_by_unit\n")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("NEWEST", ["--analyze"]),
        ("Named", ["--where", "host=a"]),
        ("Daily", ["--allow-full-scan"]),
    ],
)
def test_what_has_to_ask_asks_the_url(
    monkeypatch: pytest.MonkeyPatch, explained: Any, name: str, arguments: list[str]
) -> None:
    monkeypatch.setenv("HBASE_ORM_URL", "hbase://127.0.0.1:1/lab")

    code, output = explained(name, *arguments)

    assert code == ExitCode.UNREACHABLE
    assert len(output.splitlines()) == 1


def test_a_statement_is_run_and_measured(monkeypatch: pytest.MonkeyPatch, explained: Any) -> None:
    with connect("memory://") as engine:
        engine.create_tables(Reading)
        monkeypatch.setattr("hbase_orm.cli.explain.connect", lambda _url: engine)
        monkeypatch.setenv("HBASE_ORM_URL", "memory://")

        code, output = explained("NEWEST", "--analyze")

    assert code == ExitCode.OK
    assert "   ├─ rows: 0 fetched, 0 kept, 0 dropped by the client" in output.splitlines()


def test_help_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.run(["explain", "--help"]) == ExitCode.OK
    assert "hbase-orm explain shop.reports:open_orders\n" in capsys.readouterr().out
