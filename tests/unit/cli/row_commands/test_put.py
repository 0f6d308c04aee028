"""`hbase-orm put`: inserts or updates a row, and refuses what does not fit before it sends."""

from __future__ import annotations

import json
from contextlib import nullcontext
from datetime import UTC, datetime

import pytest

from hbase_orm import Engine, Model
from hbase_orm.cli.errors import ExitCode
from hbase_orm.ops import CheckAndMutate
from tests.support.meter_models import Event, Manual, Meter, Place, Reading, Sample, Unit
from tests.support.recording import LetsAnotherWork, gateway_of, through
from tests.support.thrift1_only import DoesWhatThrift1Does
from tests.unit.cli.row_commands.conftest import Run

AT = datetime(2026, 1, 31, tzinfo=UTC)
WEB_1 = ("host=web-1", "at=2026-01-31")


def reading(engine: Engine) -> Reading | None:
    with engine.session() as session:
        return session.get(Reading, host="web-1", at=AT)


def meter(engine: Engine) -> Meter | None:
    with engine.session() as session:
        return session.get(Meter, number=7)


def test_a_new_row_is_inserted_and_the_same_values_change_nothing(run: Run, engine: Engine) -> None:
    values = (*WEB_1, "value=0.5", "unit=VOLT", 'labels=["a", "b"]')

    inserted, again = run("put", Reading, *values), run("put", Reading, *values)

    row = r"readings web-1\x00\x01\x7F\xFF\xFEc\xEE\xA6\x8F\xFF"
    assert (inserted.code, inserted.out) == (ExitCode.OK, f"inserted: {row}\n")
    assert (again.code, again.out) == (ExitCode.OK, f"unchanged: {row}\n")
    stored = reading(engine)
    assert stored is not None
    assert (stored.value, stored.unit, stored.labels) == (0.5, Unit.VOLT, ["a", "b"])


def test_the_table_and_the_row_are_those_of_hbase(run: Run) -> None:
    ended = run("put", Sample, "host=a", "at=2026-01-15T10:00:05+00:00", "level=3")

    row = r"a\x00\x01\x00\x00\x00\x00ih\xBA\xA0"
    assert ended.lines == [f"inserted: samples_202601 {row}"]


def test_an_existing_row_keeps_the_fields_that_are_not_given(run: Run, engine: Engine) -> None:
    run("put", Reading, *WEB_1, "value=0.5", "unit=VOLT")

    ended = run("put", Reading, *WEB_1, "value=nan", "--json")

    stored = reading(engine)
    assert json.loads(ended.out) == {
        "outcome": "updated",
        "table": "readings",
        "row": r"web-1\x00\x01\x7F\xFF\xFEc\xEE\xA6\x8F\xFF",
    }
    assert stored is not None
    assert (str(stored.value), stored.unit) == ("nan", Unit.VOLT)


def test_a_field_becomes_none(run: Run, engine: Engine) -> None:
    run("put", Reading, *WEB_1, "value=0.5", "unit=VOLT")

    ended = run("put", Reading, *WEB_1, "--null", "unit")

    stored = reading(engine)
    assert ended.out.startswith("updated: ")
    assert stored is not None
    assert stored.unit is None


def test_packed_values_are_json_and_dynamic_columns_have_names(run: Run, engine: Engine) -> None:
    place = 'place={"town": "Ulm", "floor": 3}'

    run("put", Meter, "number=7", "name=hall", place, "tags[a]=1", "tags[b]=2")
    run("put", Meter, "number=7", "tags[c]=3", "--null", "tags[a]")

    stored = meter(engine)
    assert stored is not None
    assert (stored.place, stored.tags) == (Place("Ulm", 3), {"b": 2, "c": 3})


def test_a_row_with_a_required_deferred_field_is_updated(run: Run, engine: Engine) -> None:
    run("put", Manual, "title=m", "text=long")

    ended = run("put", Manual, "title=m", "pages=12")

    with engine.session() as session:
        stored = session.get(Manual, title="m")
        assert stored is not None
        session.refresh(stored, Manual.text)
    assert ended.out == "updated: manuals m\n"
    assert (stored.text, stored.pages) == ("long", 12)


@pytest.mark.parametrize(
    ("model", "arguments", "code", "kind", "message"),
    [
        (Reading, [*WEB_1, "value=much"], 4, "CodecError", "write a number"),
        (Reading, [*WEB_1, "unit=OHM"], 4, "CodecError", "write one of KELVIN, VOLT"),
        (Reading, [*WEB_1, "labels=a"], 4, "CodecError", "is not JSON of the field's type"),
        (Reading, [*WEB_1, "labels=[1]"], 4, "CodecError", "Expected `str`, got `int`"),
        (Reading, ["host=a", "at=now", "value=1"], 4, "CodecError", "write ISO 8601"),
        (Reading, ["host=web-1", "value=1"], 4, "RowKeyError", "a key field has no value"),
        (Reading, [*WEB_1, "--null", "value"], 4, "ValidationError", "field='value'"),
        (Meter, ["number=65536", "name=x"], 4, "RowKeyError", "the integer is out of range"),
        (Meter, ["number=7", "count=-1"], 4, "ValidationError", "less than nothing"),
        (Meter, ["number=7", "reads=3"], 4, "ValidationError", "a counter cannot be set"),
        (Meter, ["number=7", "tags[a]=-1"], 4, "ValidationError", "the integer is out of range"),
        (Meter, ["number=7", "tags=1"], 2, "BadParameter", "write tags[NAME]=VALUE"),
        (Meter, ["number=7", "name[a]=1"], 2, "BadParameter", "no field 'name[a]'"),
        (
            Meter,
            ["number=7", "size=1"],
            2,
            "BadParameter",
            "no field 'size'; its fields are number",
        ),
        (Meter, ["number=7", "name"], 2, "BadParameter", "'name': expected FIELD=VALUE"),
        (Meter, ["number=7", "number=8"], 2, "BadParameter", "number has two values"),
        (Meter, ["number=7", "--null", "name=x"], 2, "BadParameter", "the name of a field"),
        (Event, ["n=7"], 4, "RowKeyError", "the base of record types has no rows"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_sent(
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    *,
    model: type[Model],
    arguments: list[str],
    code: int,
    kind: str,
    message: str,
) -> None:
    monkeypatch.setenv("HBASE_ORM_URL", "hbase://127.0.0.1:1")  # nobody listens there

    ended = run("put", model, *arguments, "--json")

    assert (ended.code, ended.out) == (code, "")
    assert ended.error["class"] == kind
    assert message in ended.error["message"]
    assert ended.error["exit_code"] == code


def test_a_new_row_needs_all_required_fields(run: Run, engine: Engine) -> None:
    ended = run("put", Meter, "number=7", "count=1")

    assert ended.code == ExitCode.DATA
    assert "a required field is missing [model='Meter' field='name']" in ended.err
    assert meter(engine) is None


def test_a_row_that_another_program_inserts_meanwhile_is_updated(
    run: Run, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def insert() -> None:
        with engine.session() as session:
            session.add(Meter(number=7, name="cellar", count=5))

    gateway = LetsAnotherWork(
        gateway_of(engine), lambda request: isinstance(request, CheckAndMutate), insert
    )
    through_it = through(gateway, engine)
    monkeypatch.setattr("hbase_orm.cli.row_commands.put.connect", lambda _: nullcontext(through_it))

    ended = run("put", Meter, "number=7", "name=hall")

    stored = meter(engine)
    assert gateway.has_worked
    assert ended.out == r"updated: meters \x00\x07" + "\n"
    assert stored is not None
    assert (stored.name, stored.count) == ("hall", 5)


def test_without_thrift2_a_new_row_is_written_without_a_check(
    run: Run, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = through(DoesWhatThrift1Does(gateway_of(engine)), engine)
    monkeypatch.setattr("hbase_orm.cli.row_commands.put.connect", lambda _: nullcontext(without))

    ended = run("put", Meter, "number=7", "name=hall")

    stored = meter(engine)
    assert ended.out == r"inserted: meters \x00\x07" + "\n"
    assert stored is not None
    assert stored.name == "hall"
