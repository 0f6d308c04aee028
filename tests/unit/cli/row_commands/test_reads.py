"""`hbase-orm get`, `scan` and `count`: what they print, and what they refuse."""

from __future__ import annotations

import csv
import io
import json
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Any

import pytest

from hbase_orm import Engine, Model
from hbase_orm.cli.errors import ExitCode
from hbase_orm.ops import MutateRow, Put, RowMutation
from tests.support.meter_models import (
    Boot,
    Crash,
    Event,
    Manual,
    Meter,
    Place,
    Reading,
    Salted,
    Sample,
)
from tests.support.recording import gateway_of, through
from tests.support.replicas import LagsBehind
from tests.unit.cli.row_commands.conftest import Run, named

FIRST = "2026-01-01T00:00:00+00:00"
SECOND = "2026-01-02T00:00:00+00:00"
THIRD = "2026-01-03T00:00:00+00:00"
OF_WEB_1 = ("--where", "host=web-1")

pytestmark = pytest.mark.usefixtures("readings")


def test_rows_are_shown_as_a_table(run: Run) -> None:
    ended = run("scan", Reading, *OF_WEB_1)

    assert (ended.code, ended.err) == (ExitCode.OK, "")
    assert ended.lines == [
        "host   at                         value  unit  labels",
        f'web-1  {THIRD}  1.5    -     ["a, b"]',
        f'web-1  {SECOND}  1.0    -     ["a, b"]',
        f'web-1  {FIRST}  0.5    VOLT  ["a, b"]',
    ]


def test_rows_are_shown_as_json_one_object_a_line(run: Run) -> None:
    whole = run("scan", Reading, *OF_WEB_1, "--json")
    lines = run("scan", Reading, *OF_WEB_1, "--format", "jsonl")

    assert whole.lines[0] == "["
    assert len(whole.lines) == 5
    assert json.loads(whole.out) == [json.loads(line) for line in lines.lines]
    assert json.loads(lines.lines[2]) == {
        "host": "web-1",
        "at": FIRST,
        "value": 0.5,
        "unit": "VOLT",
        "labels": ["a, b"],
    }


def test_rows_are_shown_as_csv(run: Run) -> None:
    ended = run("scan", Reading, *OF_WEB_1, "--format", "csv", "--columns", "at,note,unit,labels")

    assert list(csv.reader(io.StringIO(ended.out)))[:2] == [
        ["at", "note", "unit", "labels"],
        [THIRD, "note 3\nof web-1", "", '["a, b"]'],
    ]


def test_cells_are_shown_as_the_shell_of_hbase_escapes_them(run: Run) -> None:
    ended = run("scan", Reading, "--where", "host=web-2", "--format", "hbase")

    key = r"web-2\x00\x01\x7F\xFF\xFEd\x89%W\xFF"
    assert ended.lines[0] == "ROW  COLUMN+CELL"
    shown = [line.split(", timestamp=") for line in ended.lines[1:]]
    assert [(place, rest.split(", value=")[1]) for place, rest in shown] == [
        (f"{key}  column=d:labels", r'{"v":1,"d":["a, b"]}'),
        (f"{key}  column=d:unit", "V"),
        (f"{key}  column=d:value", r"\xBF\xE0\x00\x00\x00\x00\x00\x00"),
    ]
    assert all(rest.split(",")[0].isdigit() for _, rest in shown)


def test_cells_of_a_shared_row_are_shown_where_hbase_stores_them(run: Run, engine: Engine) -> None:
    with engine.session() as session:
        session.add(Sample(host="a", at=datetime(2026, 1, 15, 10, 0, 5, tzinfo=UTC), level=3))

    ended = run("get", Sample, "a", "2026-01-15T10:00:05+00:00", "--format", "hbase")

    row = r"a\x00\x01\x00\x00\x00\x00ih\xBA\xA0"
    assert ended.lines[1].startswith(rf"{row}  column=d:\x00\x00\x13\x88, timestamp=")


def test_chosen_columns_leave_out_other_cells(run: Run) -> None:
    ended = run("scan", Reading, *OF_WEB_1, "--format", "hbase", "--columns", "value,host")

    assert [line.split()[1].strip(",") for line in ended.lines[1:]] == ["column=d:value"] * 3


@pytest.mark.parametrize(
    ("row_format", "shown"),
    [
        ("table", "no rows\n"),
        ("json", "[]\n"),
        ("jsonl", ""),
        ("csv", "host,at,value,unit,labels\n"),
        ("hbase", "ROW  COLUMN+CELL\n"),
    ],
)
def test_no_rows_are_an_answer_of_each_format(run: Run, row_format: str, shown: str) -> None:
    ended = run("scan", Reading, "--where", "host=web-9", "--format", row_format)

    assert (ended.code, ended.out, ended.err) == (ExitCode.OK, shown, "")


def _days(ended: Any) -> list[str]:
    return [row["at"][8:10] for row in json.loads(ended.out)]


@pytest.mark.parametrize(
    ("options", "days"),
    [
        ([], ["03", "02", "01"]),
        (["--reverse"], ["01", "02", "03"]),
        (["--order-by", "at"], ["01", "02", "03"]),
        (["--order-by", "at", "--reverse"], ["03", "02", "01"]),
        (["--reverse", "--limit", "1"], ["01"]),
        (["--where", "at>=2026-01-02"], ["03", "02"]),
        (["--where", "unit is null", "--using", "none"], ["03", "02"]),
    ],
)
def test_the_options_narrow_and_order(run: Run, options: list[str], days: list[str]) -> None:
    assert _days(run("scan", Reading, *OF_WEB_1, *options, "--json")) == days


def test_the_first_rows_of_a_table_need_only_a_limit(run: Run) -> None:
    first = run("scan", Reading, "--limit", "2", "--columns", "host,at")
    last = run("scan", Reading, "--limit", "1", "--reverse", "--columns", "host")

    assert [line.split()[0] for line in first.lines] == ["host", "web-1", "web-1"]
    assert last.lines == ["host", "web-2"]


def test_salted_rows_are_shown_in_the_reverse_order_too(run: Run, engine: Engine) -> None:
    with engine.session() as session:
        session.add_all(Salted(n=n) for n in range(9))

    ended = run("scan", Salted, "--limit", "4", "--reverse", "--columns", "n", "--format", "csv")

    assert ended.lines == ["n", "8", "7", "6", "5"]


def test_statements_and_functions_of_modules_are_scanned(run: Run) -> None:
    objects = run("scan", named("OF_WEB_1"), "--limit", "1", "--columns", "value")
    values = run("scan", named("values_of_web_1"), "--json")
    groups = run("scan", named("LOUDEST"), "--allow-full-scan")

    assert objects.lines == ["value", "1.5"]
    assert json.loads(values.out) == [{"value": 1.5}, {"value": 1.0}, {"value": 0.5}]
    assert groups.lines == [
        "host   count()  max(value)",
        "web-1  3        1.5",
        "web-2  1        0.5",
    ]


def test_kinds_of_rows_are_shown_with_their_class_and_the_fields_of_all(
    run: Run, engine: Engine
) -> None:
    with engine.session() as session:
        session.add_all([Boot(n=1, host="a"), Crash(n=2, host="b", signal=11)])

    ended = run("scan", Event, "--limit", "5")
    chosen = run("scan", Event, "--limit", "5", "--columns", "n,signal", "--json")

    assert ended.lines == [
        "record type  n  host  kernel  signal",
        "Boot         1  a     6.1     -",
        "Crash        2  b     -       11",
    ]
    assert json.loads(chosen.out) == [
        {"record type": "Boot", "n": 1},
        {"record type": "Crash", "n": 2, "signal": 11},
    ]


def test_a_table_cuts_long_values_and_shows_no_control_characters(run: Run, engine: Engine) -> None:
    with engine.session() as session:
        session.add(Meter(number=1, name="\x1b[31m" + "x" * 100))

    table = run("scan", Meter, "--limit", "1", "--columns", "name").lines[1]
    record = run("get", Meter, "1", "--columns", "name").lines[0]

    assert table == r"\x1b[31m" + "x" * 51 + "…"
    assert record == r"name  \x1b[31m" + "x" * 100


@pytest.mark.parametrize(
    "key",
    [
        ["web-1", "2026-01-02"],
        ["host=web-1", f"at={SECOND}"],
        ["at=2026-01-02", "host=web-1"],
    ],
)
def test_a_row_is_shown_by_its_key_with_a_line_for_each_field(run: Run, key: list[str]) -> None:
    ended = run("get", Reading, *key)

    assert (ended.code, ended.err) == (ExitCode.OK, "")
    assert ended.lines == [
        "host    web-1",
        f"at      {SECOND}",
        "value   1.0",
        "unit    -",
        'labels  ["a, b"]',
    ]


def test_several_rows_are_shown_in_the_order_of_their_keys(run: Run) -> None:
    named_keys = ["host=web-2", f"at={FIRST}", "host=web-1", f"at={FIRST}"]

    plain = run("get", Reading, "web-1", "2026-01-01", "web-2", "2026-01-01", "--columns", "host")
    named_ones = run("get", Reading, *named_keys, "--columns", "host,note", "--format", "jsonl")

    assert plain.lines == ["host  web-1", "", "host  web-2"]
    assert [json.loads(line) for line in named_ones.lines] == [
        {"host": "web-2", "note": "note 1\nof web-2"},
        {"host": "web-1", "note": "note 1\nof web-1"},
    ]


def test_a_get_shows_the_cells_of_deferred_fields_that_are_named(run: Run, engine: Engine) -> None:
    with engine.session() as session:
        session.add(Manual(title="m", text="all of it"))

    ended = run("get", Manual, "m", "--columns", "text", "--format", "hbase")

    assert ended.lines[1].startswith("m  column=d:text, timestamp=")
    assert ended.lines[1].endswith("value=all of it")


def test_packed_values_and_dynamic_columns_are_json(run: Run, engine: Engine) -> None:
    with engine.session() as session:
        meter = Meter(number=1, name="hall", place=Place("Ulm", 3))
        meter.tags = {"b": 2, "a": 1}
        session.add(meter)

    row = json.loads(run("get", Meter, "1", "--json").out)[0]
    cells = run("get", Meter, "1", "--format", "hbase", "--columns", "tags").lines[1:]

    assert (row["place"], row["tags"]) == ({"town": "Ulm", "floor": 3}, {"a": 1, "b": 2})
    assert [line.split()[1] for line in cells] == ["column=t:t:a,", "column=t:t:b,"]


def test_a_corrupt_row_is_told_with_what_the_command_line_can_do(run: Run, engine: Engine) -> None:
    with engine.session() as session:
        session.add(Salted(n=7, value=1))
    bad = RowMutation(Salted.encode_key(n=7), (Put(b"d:value", b"bad"),))
    gateway_of(engine).execute(MutateRow("salted", bad))

    ended = run("get", Salted, "7", "--json")

    assert (ended.code, ended.error["class"]) == (ExitCode.DATA, "CorruptRowError")
    assert ended.error["fix"].endswith("or leave such rows out: on_corrupt=skip in the URL")


def test_a_missing_row_is_told_after_those_that_exist(run: Run) -> None:
    keys = ["web-1", "2026-01-01", "web-9", "2026-01-01"]

    plain = run("get", Reading, *keys, "--format", "csv", "--columns", "host")
    as_json = run("get", Reading, *keys, "--columns", "host", "--json")
    none = run("get", Reading, "web-9", "2026-01-01")

    assert (plain.code, plain.lines) == (ExitCode.DATA, ["host", "web-1"])
    assert f"no row has this key [model='Reading' keys=['host=web-9 at={FIRST}']]" in plain.err
    assert json.loads(as_json.out) == [{"host": "web-1"}]
    assert as_json.error["class"] == "RowNotFoundError"
    assert as_json.error["details"] == {"model": "Reading", "keys": [f"host=web-9 at={FIRST}"]}
    assert (none.code, none.out) == (ExitCode.DATA, "")


def test_rows_of_replicas_are_told(
    run: Run, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway = LagsBehind(gateway_of(engine))
    other = through(gateway, engine)
    monkeypatch.setattr("hbase_orm.cli.row_commands.reads.connect", lambda _: nullcontext(other))
    of_region = run("scan", named("PERHAPS_STALE"), "--columns", "value")
    gateway.fall_behind("readings")
    of_replica = run("scan", named("PERHAPS_STALE"), "--columns", "value")

    assert (of_region.out, of_region.err) == (of_replica.out, "")
    assert of_replica.err == "a replica answered: rows may be outdated, and others missing\n"


def test_rows_are_counted(run: Run) -> None:
    some = run("count", Reading, *OF_WEB_1, "--where", "unit is null")
    every = run("count", Reading, "--allow-full-scan", "--json")

    assert some.out == "2\n"
    assert json.loads(every.out) == {"count": 4}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["scan", Reading], 2, "would read the whole table"),
        (["scan", Reading], 2, "; or add --allow-full-scan"),
        (["scan", Reading, "--where", "value>1", "--limit", "1"], 2, "would read the whole table"),
        (["count", Reading], 2, "would read the whole table"),
        (
            ["scan", Reading, "host=web-1"],
            2,
            "a condition needs an option: write --where host=web-1.",
        ),
        (["count", "value>1"], 2, "a condition needs an option: write --where 'value>1'."),
        (["scan", named("Readings")], 2, "the module has no such name"),
        (["get", named("Readings"), "7"], 2, "the module has no such name"),
        (["get", "no_such_module:Reading", "7"], 2, "there is no module of this name"),
        (["scan", Reading, "--where", "hosts=a"], 2, "Reading has no field 'hosts'"),
        (["scan", Reading, "--columns", "host,size"], 2, "Reading has no field 'size'"),
        (["get", Reading, "a", FIRST, "--columns", "size"], 2, "Reading has no field 'size'"),
        (["get", Reading], 2, "no KEY was given; write host=... at=...."),
        (["get", Reading, "web-1"], 2, "a KEY of Reading needs 2 values: host=... at=...."),
        (
            ["get", Reading, "host=web-1"],
            4,
            "a key field has no value [model='Reading' field='at']",
        ),
        (["get", Reading, "value=1"], 2, "Reading has no key field 'value'"),
        (["get", Reading, "web-1", "now"], 2, "at='now': expected ISO 8601"),
        (["get", Meter, "65536"], 4, "the integer is out of range"),
        (["get", Event, "7"], 4, "the base of record types has no rows"),
        (["scan", Reading, "--json", "--format", "csv"], 2, "--json and --format csv exclude"),
        (["scan", Reading, "--format", "yaml"], 2, "'yaml' is not one of"),
        (
            ["scan", named("values_of_web_1"), "--columns", "host"],
            2,
            "--columns needs whole rows, but the statement selects values",
        ),
        (
            ["scan", named("values_of_web_1"), "--format", "hbase"],
            2,
            "--format hbase needs whole rows",
        ),
        (
            ["scan", named("IN_JANUARY"), "--format", "hbase"],
            2,
            "--format hbase shows stored rows, not those of the past",
        ),
        (
            ["scan", Reading, *OF_WEB_1, "--format", "hbase", "--columns", "note"],
            2,
            "note: deferred fields cannot be scanned with --format hbase",
        ),
    ],
)
def test_what_cannot_be_read_is_told_on_one_line(
    run: Run, arguments: list[str | type[Model]], code: int, message: str
) -> None:
    ended = run(*arguments)

    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err
    assert ended.err.count("\n") == 1


def test_a_table_that_is_not_there_is_told(run: Run, engine: Engine) -> None:
    engine.drop_tables(Meter)

    ended = run("scan", Meter, "--limit", "1", "--format", "jsonl")

    assert (ended.code, ended.out) == (ExitCode.DATA, "")
    assert ended.error["class"] == "TableNotFoundError"
    assert run("get", Meter, "1").code == ExitCode.DATA
    assert run("count", Meter, "--allow-full-scan").code == ExitCode.DATA


def test_a_wrong_key_is_refused_before_anything_is_sent(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HBASE_ORM_URL", "hbase://127.0.0.1:1")  # nobody listens there

    assert run("get", Meter, "65536").code == ExitCode.DATA
    assert run("get", Meter, "7").code == ExitCode.UNREACHABLE


def test_a_project_with_one_model_needs_no_name(
    run: Run, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").write_text(f'[tool.hbase-orm]\nmodels = ["{named(Reading)}"]\n')
    monkeypatch.chdir(tmp_path)

    assert run("get", "host=web-2", "at=2026-01-01", "--columns", "value").out == "value  0.5\n"
    assert run("count", *OF_WEB_1).out == "3\n"
    assert run("scan", "--limit", "1", "--columns", "value").lines == ["value", "1.5"]


def test_a_csv_of_rows_is_a_sample_of_estimates(run: Run, tmp_path: Any) -> None:
    exported = run(
        "scan", Reading, "--allow-full-scan", "--format", "csv", "--columns", "host,at,value"
    )
    sample = tmp_path / "readings.csv"
    sample.write_text(exported.out)

    ended = run("estimate", Reading, "--rows", "1e6", "--sample", str(sample), "--json")

    assert (ended.code, ended.err) == (ExitCode.OK, "")
    assert json.loads(ended.out)
