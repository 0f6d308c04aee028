"""The commands on models whose keys have derived parts: what one reads, and what is asked for."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from hbase_orm import (
    Family,
    Key,
    Mapped,
    Model,
    Offset,
    Period,
    RandomSalt,
    TablePerPeriod,
    codecs,
    column,
    connect,
    key,
    rowkey,
)
from hbase_orm.cli import main as cli_main
from hbase_orm.cli.errors import ExitCode
from hbase_orm.errors import ConfigurationError
from hbase_orm.rowkey.layout import DecodedKey
from tests.support import table_designs as designs

AT = "at=2024-01-02T00:00:00.258+00:00"


class Visit(Model, table="visits"):
    d = Family()
    at: Key[datetime] = key(codecs.millis())
    host: Key[str] = key()
    __rowkey__ = rowkey(RandomSalt(4), at, host)


class Login(Model, table=TablePerPeriod("logins_%Y%m", of="at", period="month")):
    d = Family()
    at: Key[datetime] = key(codecs.millis())


class Sample(Model, table="samples"):
    """A row holds the cells of an hour."""

    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.seconds())
    value: Mapped[float] = column(
        d, Offset("hour", of=at, resolution="seconds", codec=codecs.uint16())
    )
    __rowkey__ = rowkey(host, Period("hour", of=at))


class Beat(Model, table=TablePerPeriod("beats_%Y%m%d", of="at", period="day")):
    """A row holds the cells of a day, whose table it stands in."""

    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.seconds())
    value: Mapped[float] = column(
        d, Offset("day", of=at, resolution="seconds", codec=codecs.uint32())
    )
    __rowkey__ = rowkey(host)


@pytest.fixture(autouse=True)
def _no_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HBASE_ORM_URL", raising=False)


def named(model: type[Model]) -> str:
    return f"{model.__module__}:{model.__name__}"


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """Run a command and return what it prints as JSON."""
    assert cli_main.run([*arguments, "--json"]) == ExitCode.OK
    return json.loads(capsys.readouterr().out)


def test_a_key_whose_time_is_split_over_table_and_key_names_the_table(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = cli_main.run(["key", "encode", named(designs.Payment), "account=7", AT])

    assert code == ExitCode.OK
    assert capsys.readouterr().out.splitlines() == [
        r"key     g\x9E\x00\x00\x01\x02\x00\x00\x00\x07",
        "hex     679e0000010200000007",
        "length  10 bytes",
        "table   payments_20240102",
        "",
        r"raw md5[:2](account)          g\x9E",
        r"offset in day of at   uint32  \x00\x00\x01\x02  258",
        r"account               uint32  \x00\x00\x00\x07  7",
        "",
        "at  2024-01-02T00:00:00.258000+00:00  (the name of the table holds a part of it)",
    ]


PAYMENT = ("--hex", "679e0000010200000007")


@pytest.mark.parametrize(
    ("url", "table"),
    [
        ((), "payments_20240102"),
        ((), "bank:payments_20240102"),
        (("--url", "memory://"), "payments_20240102"),
        (("--url", "memory:///bank"), "payments_20240102"),
        (("--url", "memory:///bank"), "bank:payments_20240102"),
    ],
)
def test_a_time_that_is_split_over_table_and_key_is_joined(
    url: tuple[str, ...], table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["key", "decode", named(designs.Payment), *PAYMENT]

    found = shown(capsys, *url, *command, "--table", table)
    cli_main.run([*url, *command, "--table", table])
    text = capsys.readouterr().out

    assert (found["table"], "but" in found) == (table, False)
    assert found["other_fields"] == {"at": "2024-01-02T00:00:00.258000+00:00"}
    assert text.endswith("\n\nat  2024-01-02T00:00:00.258000+00:00\n")
    assert shown(capsys, *url, *command)["other_fields"] == {}


@pytest.mark.parametrize("url", [(), ("--url", "memory:///bank")])
@pytest.mark.parametrize(
    ("model", "key_text", "table"),
    [
        (designs.Payment, PAYMENT, "payments_202401"),
        (designs.Payment, PAYMENT, "payments_20240230"),
        (designs.Score, ("--hex", "00" * 8), "scored"),
    ],
)
def test_a_table_that_is_none_of_the_models_is_wrong_usage(
    url: tuple[str, ...],
    model: type[Model],
    key_text: tuple[str, ...],
    table: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = cli_main.run([*url, "key", "decode", named(model), *key_text, "--table", table])

    assert code == ExitCode.USAGE
    assert "the table does not belong to the model" in capsys.readouterr().err


def test_a_table_of_another_namespace_is_none_of_the_models(
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = ["key", "decode", named(designs.Payment), *PAYMENT]

    code = cli_main.run(["--url", "memory:///bank", *command, "--table", "shop:payments_20240102"])

    assert code == ExitCode.USAGE
    assert "declared='bank:payments_%Y%m%d'" in capsys.readouterr().err


def test_a_key_that_belongs_into_another_table_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["key", "decode", named(Login), "--hex", "0000018cc7785000"]

    right = shown(capsys, *arguments, "--table", "logins_202401")
    wrong = shown(capsys, *arguments, "--table", "logins_202402")

    assert "but" not in right
    assert wrong["but"] == "the model writes these fields to the table logins_202401"


def test_the_region_is_asked_of_the_table_that_is_given(
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = ["--url", "memory://", "key", "decode", named(Beat), r"a\x00\x01"]

    cli_main.run(command)
    unknown = capsys.readouterr().out
    cli_main.run([*command, "--table", "beats_20240102"])

    assert "region  not known: give the table with --table\n" in unknown
    assert "region  there is no such table\n" in capsys.readouterr().out


def test_a_program_joins_a_time_that_is_split_over_table_and_key() -> None:
    at = datetime(2024, 1, 2, 0, 0, 0, 258_000, UTC)
    data = designs.Payment.encode_key(account=7, at=at)

    with connect("memory:///bank") as engine:
        plain = engine.decode_key(designs.Payment, data, table="payments_20240102")
        full = engine.decode_key(designs.Payment, data, table="bank:payments_20240102")
        with pytest.raises(ConfigurationError, match="does not belong to the model"):
            engine.decode_key(designs.Payment, data, table="scores")

    assert isinstance(plain, DecodedKey)
    assert (plain, plain.unrecoverable) == ({"account": 7, "at": at}, {})
    assert full == plain


def test_the_cell_of_an_object_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["key", "encode", named(Sample), "host=a", "at=2024-02-29T13:00:05+01:00"]

    found = shown(capsys, *arguments)
    cli_main.run(arguments)

    assert found["column"] == r"d:\x00\x05"
    assert found["other_fields"] == {"at": "2024-02-29T12:00:05+00:00"}
    assert capsys.readouterr().out.splitlines() == [
        r"key     a\x00\x01\x00\x00\x00\x00e\xE0q\xC0",
        "hex     6100010000000065e071c0",
        "length  11 bytes",
        r"column  d:\x00\x05",
        "",
        r"host        text     a\x00\x01                   'a'",
        r"hour of at  seconds  \x00\x00\x00\x00e\xE0q\xC0  2024-02-29T12:00:00+00:00",
        "",
        "at  2024-02-29T12:00:05+00:00  (the key holds only hour of at)",
    ]


def test_a_hash_has_neither_codec_nor_value(capsys: pytest.CaptureFixture[str]) -> None:
    found = shown(capsys, "key", "encode", named(designs.Payment), "account=7", AT)

    hashed, *others = found["components"]
    assert (hashed["codec"], hashed["value"]) == (None, None)
    assert [each["value"] for each in others] == [258, 7]


def test_a_time_of_two_components_is_shown_joined(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["user=ann", "at=2024-01-02T03:04:05+00:00"]
    code = cli_main.run(["key", "encode", named(designs.Purchase), *arguments])

    *_, offset, blank, joined = capsys.readouterr().out.splitlines()
    assert (code, blank, joined) == (ExitCode.OK, "", "at  2024-01-02T03:04:05+00:00")
    assert offset.endswith("  -02 03:04:05")
    found = shown(capsys, "key", "encode", named(designs.Purchase), *arguments)
    assert found["other_fields"] == {"at": "2024-01-02T03:04:05+00:00"}


def test_fields_that_a_key_does_not_give_back_are_shown_with_the_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    cli_main.run(["key", "encode", named(designs.DigestLog), "host=web-1", "event=boot", AT])

    assert capsys.readouterr().out.splitlines()[-2:] == [
        "host   'web-1'  (the key holds only raw md5(host))",
        "event  'boot'  (the key holds only raw md5(event))",
    ]


def test_a_base_shows_the_keys_of_its_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    data = r"ann\x00\x01O\x00\x00\x00\x00\x00\x00\x00\x01"

    by_base = shown(capsys, "key", "decode", named(designs.Record), data)
    by_kind = shown(capsys, "key", "decode", named(designs.OrderRecord), data)
    unknown = cli_main.run(["key", "decode", named(designs.Record), r"ann\x00\x01X"])

    assert [each["value"] for each in by_base["components"]] == ["ann", "O", 1]
    assert by_base == by_kind
    assert (unknown, "not declare" in capsys.readouterr().err) == (ExitCode.DATA, True)


def test_a_random_salt_is_no_contradiction(capsys: pytest.CaptureFixture[str]) -> None:
    model = named(Visit)
    texts = {shown(capsys, "key", "encode", model, AT, "host=a")["but"] for _ in range(9)}
    found = shown(capsys, "key", "decode", model, "--hex", "020000018cc778500061")

    assert texts == {found["but"]} == {"the salt is random: it may be any of 4"}


def test_numbers_of_names_need_a_url_to_be_encoded_not_to_be_decoded(
    capsys: pytest.CaptureFixture[str],
) -> None:
    model = named(designs.SubstituteLog)
    encoded = cli_main.run(["key", "encode", model, "host=web-1", "event=boot", AT])
    said = capsys.readouterr().err
    decoded = cli_main.run(["key", "decode", model, "--hex", f"{2:016x}{1:016x}7ffffe733dae0bff"])

    assert (encoded, decoded) == (ExitCode.USAGE, ExitCode.OK)
    assert "give --url: host (in log_types), event (in log_types)" in said
    assert "host   (the key holds its number in log_types)" in capsys.readouterr().out


def test_names_without_a_number_have_no_key(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["key", "encode", named(designs.SubstituteLog), "host=web-1", "event=boot", AT]

    code = cli_main.run(["--url", "memory://", *arguments])

    assert code == ExitCode.DATA
    assert (
        "a name in the key has no number in its dictionary yet, so no row can have this key"
        in capsys.readouterr().err
    )


def test_the_region_of_a_key_that_does_not_tell_its_table_is_not_known(
    capsys: pytest.CaptureFixture[str],
) -> None:
    model = named(designs.Payment)
    url = ("--url", "memory://")

    cli_main.run([*url, "key", "decode", model, *PAYMENT])
    unknown = capsys.readouterr().out
    cli_main.run([*url, "key", "decode", model, *PAYMENT, "--table", "payments_20240102"])
    told = capsys.readouterr().out
    cli_main.run([*url, "key", "encode", model, "account=7", AT])

    assert "region  not known: give the table with --table\n" in unknown
    assert "region  there is no such table\n" in told
    assert "region  there is no such table\n" in capsys.readouterr().out


# --- tables ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "periods",
    [
        ("2024-01-02", "2024-01-04"),
        ("2024-01-02T23:00:00+00:00", "2024-01-03T00:00:01+00:00"),
        ("2024-01-02T02:00:00+02:00", "2024-01-03T20:00:00-04:00"),
    ],
)
def test_the_tables_of_periods_are_made(
    periods: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    models = [named(designs.Payment), named(designs.Score)]

    code = cli_main.run(["--url", "memory://", "tables", "create", *models, "--periods", *periods])

    assert code == ExitCode.OK
    assert capsys.readouterr().out.splitlines() == [
        "made payments_20240102",
        "made payments_20240103",
        "made scores",
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Payment: a table for each period; give --periods FIRST AFTER_LAST"),
        (["--periods", "2024-01-02"], "requires 2 arguments"),
        (["--periods", "2024-01-02", "soon"], "'soon' is not a time"),
        (["--periods", "2024-01-02T00:00:00", "2024-01-03"], "has no offset from UTC"),
        (["--periods", "2024-01-03", "2024-01-02"], "end before they begin"),
    ],
)
def test_periods_that_are_missing_or_none_are_wrong_usage(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["--url", "memory://", "tables", "create", named(designs.Payment), *arguments]

    assert cli_main.run(command) == ExitCode.USAGE
    assert said in capsys.readouterr().err


def test_the_question_before_a_drop_says_what_goes(capsys: pytest.CaptureFixture[str]) -> None:
    models = [named(model) for model in (designs.Payment, designs.OrderRecord, designs.Record)]

    cli_main.run(["--url", "memory://", "tables", "drop", *models])

    assert (
        "drop every table payments_%Y%m%d, customer_records (all kinds of Record), "
        "customer_records with all rows"
    ) in capsys.readouterr().err


def test_declarations_are_shown_with_their_dictionaries(capsys: pytest.CaptureFixture[str]) -> None:
    models = [named(designs.SubstituteLog), named(designs.Record)]

    found = shown(capsys, "tables", "show", *models)

    assert [entry["dictionaries"] for entry in found] == [["log_types"], []]
    assert found[1]["row_key"] == "[customer text][record type]"
