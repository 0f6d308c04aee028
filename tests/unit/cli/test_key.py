from __future__ import annotations

import json
from datetime import datetime
from enum import Enum

import pytest

from hbase_orm import Computed, Family, Key, Model, Salt, Table, codecs, key, rowkey
from hbase_orm.cli import main as cli_main
from hbase_orm.cli.errors import ExitCode

HEX = "037765622d3100017ffffe63ecef1bff"
KEY = r"\x03web-1\x00\x01\x7F\xFF\xFEc\xEC\xEF\x1B\xFF"
FIELDS = ("host=web-1", "at=2026-01-31T08:00:00+00:00")


class Reading(Model, table="readings"):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.millis(desc=True))
    __rowkey__ = rowkey(Salt(4, of=[host]), host, at)


class Unit(Enum):
    KELVIN = "k"


class Limit(Model, table=Table("limits", splits=[b"0000", b"5000", b"AAAA"])):
    d = Family()
    number: Key[int] = key(codecs.digits(4))
    unit: Key[Unit] = key()


class Note(Model, table="notes"):
    d = Family()
    title: Key[str] = key()


class Order(Model, table="orders"):
    d = Family()
    number: Key[int] = key(codecs.digits(2))
    __rowkey__ = rowkey(
        Computed(lambda number: number, of=number, codec=codecs.digits(1), values=(0, 1)), number
    )


@pytest.fixture(autouse=True)
def _no_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HBASE_ORM_URL", raising=False)


def named(model: type[Model]) -> str:
    return f"{__name__}:{model.__name__}"


def test_a_key_is_shown_with_its_components(capsys: pytest.CaptureFixture[str]) -> None:
    code = cli_main.run(["key", "decode", named(Reading), KEY])

    assert code == ExitCode.OK
    assert capsys.readouterr().out.splitlines() == [
        f"key     {KEY}",
        f"hex     {HEX}",
        "length  16 bytes",
        "",
        r"salt 4               \x03",
        r"host    text         web-1\x00\x01                  'web-1'",
        r"at      millis desc  \x7F\xFF\xFEc\xEC\xEF\x1B\xFF  2026-01-31T08:00:00+00:00",
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ["decode", named(Reading), "--hex", HEX],
        ["decode", named(Reading), KEY.replace("E", "e")],
        ["encode", named(Reading), *FIELDS],
        ["encode", named(Reading), *reversed(FIELDS)],
    ],
)
def test_a_key_may_be_given_in_several_ways(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    code = cli_main.run(["key", *arguments])

    assert (code, capsys.readouterr().out.splitlines()[0]) == (ExitCode.OK, f"key     {KEY}")


def test_a_key_is_shown_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    cli_main.run(["key", "encode", named(Limit), "number=7", "unit=KELVIN", "--json"])

    assert json.loads(capsys.readouterr().out) == {
        "key": "0007k",
        "hex": "303030376b",
        "length_bytes": 5,
        "components": [
            {"name": "number", "codec": "digits", "bytes": "0007", "hex": "30303037", "value": 7},
            {"name": "unit", "codec": "enum", "bytes": "k", "hex": "6b", "value": "KELVIN"},
        ],
    }


def test_a_key_in_the_wrong_bucket_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    cli_main.run(["key", "decode", named(Reading), "--hex", "01" + HEX[2:]])

    assert f"but     the model writes these fields as {KEY}\n" in capsys.readouterr().out


def test_a_key_that_would_not_be_written_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    code = cli_main.run(["key", "decode", named(Order), "105", "--json"])

    shown = json.loads(capsys.readouterr().out)["but"]
    assert code == ExitCode.OK
    assert shown.startswith("the model would not write these fields: the computed value")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["decode", named(Reading), r"a\q"], "backslash"),
        (["decode", named(Reading), "--hex", "0g"], "hexadecimal digits"),
        (["encode", named(Reading), "host=a"], "no value is given for at"),
        (["encode", named(Reading), "host"], "expected FIELD=VALUE once for each of host, at"),
        (["encode", named(Reading), "port=1"], "expected FIELD=VALUE once for each of host, at"),
        (["encode", named(Reading), "host=a", "host=b"], "expected FIELD=VALUE once"),
        (["encode", named(Reading), "at=2026-01-31T08:00:00"], "expected ISO 8601 with an offset"),
        (["encode", named(Limit), "number=x"], "expected a whole number"),
        (["encode", named(Limit), "unit=k"], "expected one of KELVIN"),
    ],
)
def test_what_is_no_key_is_wrong_usage(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = cli_main.run(["key", *arguments])

    assert code == ExitCode.USAGE
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [["decode", named(Limit), "abcd"], ["encode", named(Limit), "number=10000", "unit=KELVIN"]],
)
def test_a_key_that_the_model_does_not_make_is_bad_data(arguments: list[str]) -> None:
    assert cli_main.run(["key", *arguments]) == ExitCode.DATA


def test_a_table_that_is_not_there_has_no_region(capsys: pytest.CaptureFixture[str]) -> None:
    plain = cli_main.run(["--url", "memory://", "key", "decode", named(Note), "a"])
    shown = capsys.readouterr().out
    cli_main.run(["--url", "memory://", "key", "decode", named(Note), "a", "--json"])

    assert (plain, "region  there is no such table\n" in shown) == (ExitCode.OK, True)
    assert json.loads(capsys.readouterr().out)["region"] is None


def test_a_salted_table_is_cut_between_its_buckets(capsys: pytest.CaptureFixture[str]) -> None:
    code = cli_main.run(["tables", "splits", named(Reading)])

    assert code == ExitCode.OK
    assert capsys.readouterr().out.splitlines() == [
        "row keys: one of 4 words, then anything",
        "start  stop  share",
        r"       \x01  25.000%",
        r"\x01   \x02  25.000%",
        r"\x02   \x03  25.000%",
        r"\x03         25.000%",
    ]


def test_regions_that_stay_empty_are_a_problem(capsys: pytest.CaptureFixture[str]) -> None:
    code = cli_main.run(["tables", "splits", named(Limit)])

    assert code == ExitCode.FAILED
    assert [line.split("  ")[-1].strip() for line in capsys.readouterr().out.splitlines()[2:]] == [
        "never a row",
        "50.000%",
        "50.000%",
        "never a row",
    ]


def test_the_regions_of_keys_that_begin_with_anything_have_no_known_share(
    capsys: pytest.CaptureFixture[str],
) -> None:
    plain = cli_main.run(["tables", "splits", named(Note)])
    shown = capsys.readouterr().out
    cli_main.run(["tables", "splits", named(Note), "--json"])

    assert (plain, "not known\n" in shown) == (ExitCode.OK, True)
    assert json.loads(capsys.readouterr().out) == {
        "model": "Note",
        "table": "notes",
        "row_keys": "anything",
        "regions": [
            {"start": "", "stop": None, "is_reachable": True, "beginnings": None, "share": None}
        ],
    }


class Skewed(Model, table=Table("skewed", splits=[b"00000001", b"00000003"])):
    d = Family()
    number: Key[int] = key(codecs.digits(8))


def test_an_even_split_is_shown_where_one_is_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = cli_main.run(["tables", "splits", named(Skewed), "--regions", "4", "--json"])

    regions = json.loads(capsys.readouterr().out)["regions"]
    assert code == ExitCode.OK
    assert [region["start"] for region in regions] == ["", "25000000", "50000000", "75000000"]


def test_an_even_split_of_unknown_keys_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    code = cli_main.run(["tables", "splits", named(Note), "--regions", "4"])

    assert code == ExitCode.USAGE
    assert (
        "the library cannot compute split keys: the model does not show what bytes the row keys begin with"
        in capsys.readouterr().err
    )


def test_a_region_of_a_single_value_shows(capsys: pytest.CaptureFixture[str]) -> None:
    cli_main.run(["tables", "splits", named(Skewed)])

    shown = [line.split("  ")[-1].strip() for line in capsys.readouterr().out.splitlines()[2:]]
    assert shown == ["a single value", "under 0.001%", "100.000%"]
