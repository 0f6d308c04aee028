"""`hbase-orm tables check` and `tables alter` as a user calls them."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from hbase_orm import Engine, connect
from hbase_orm.cli import main as cli_main
from hbase_orm.ops import CheckAndMutate, ModifyFamily
from tests.support.drifting_models import First, Later
from tests.support.recording import LetsAnotherWork, gateway_of, through

FIRST = "tests.support.drifting_models:First"
LATER = "tests.support.drifting_models:Later"

Capture = pytest.CaptureFixture[str]


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class _Open:
    """An engine that a command does not close."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def __enter__(self) -> Engine:
        return through(gateway_of(self.engine), self.engine)

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """Return the engine whose tables every command uses."""
    with connect("memory://") as engine:
        engine.create_tables(First)
        monkeypatch.setattr(
            "hbase_orm.cli.table_commands.table_drift.connect", lambda _: _Open(engine)
        )
        monkeypatch.setenv("HBASE_ORM_URL", "memory://")
        yield engine


def run(capsys: Capture, *arguments: str) -> tuple[int, str, str]:
    code = cli_main.run(["tables", *arguments])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


@pytest.mark.usefixtures("engine")
def test_tables_without_drift_end_with_code_0(capsys: Capture) -> None:
    assert run(capsys, "check", FIRST) == (0, "orders (Order): as declared\n", "")


@pytest.mark.usefixtures("engine")
def test_drift_is_shown_as_a_table_and_ends_with_code_1(capsys: Capture) -> None:
    code, out, _ = run(capsys, "check", LATER)

    head, columns, *rows = out.splitlines()
    assert code == 1
    assert head == "orders (Order): differs"
    assert columns.split() == ["difference", "actual", "declared", "what", "to", "do"]
    assert [" ".join(row.split()) for row in rows] == [
        "family d: versions 1 3 hbase-orm tables alter",
        "family d: ttl_s 1728000 s (20 days) 2592000 s (30 days) hbase-orm tables alter",
        "family d: bloom ROW ROWCOL hbase-orm tables alter",
        "family d: configuration hbase.hstore.blockingStoreFiles 20 - hbase-orm tables alter",
        "family e - declared hbase-orm tables alter",
        (
            "family f: ttl_s 432000 s (5 days) 345600 s (4 days) hbase-orm tables alter; LOSES DATA: "
            "deletes cells that are older"
        ),
        "family _: ttl_s 2332800 s (27 days) 3196800 s (37 days) hbase-orm tables alter",
        "table: durability USE_DEFAULT FSYNC_WAL hbase-orm tables alter",
        "table: attributes COST_CENTRE - 7 hbase-orm tables alter",
        (
            "orders_ix_by_state: family d: ttl_s 2332800 s (27 days) 3196800 s (37 days) "
            "hbase-orm tables alter"
        ),
        "orders_ix_by_state: table: durability USE_DEFAULT FSYNC_WAL hbase-orm tables alter",
        "record: column e:note - codecs.text() only a note: hbase-orm tables alter",
    ]


@pytest.mark.usefixtures("engine")
def test_drift_is_json_for_programs(capsys: Capture) -> None:
    code, out, _ = run(capsys, "check", LATER, "--json")
    (check,) = json.loads(out)

    assert code == 1
    assert (check["table"], check["models"], check["has_drift"]) == ("orders", ["Order"], True)
    assert check["differences"][5] == {
        "table": "orders",
        "subject": "family f: ttl_s",
        "actual": "432000 s (5 days)",
        "declared": "345600 s (4 days)",
        "drift": "different",
        "is_alterable": True,
        "loss": "deletes cells that are older",
        "fix": "",
    }


def test_a_dry_run_shows_the_changes_and_makes_none(engine: Engine, capsys: Capture) -> None:
    code, out, err = run(capsys, "alter", LATER, "--dry-run")

    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "orders: add family e"
    assert (
        "orders: family f: ttl_s 432000 s (5 days) -> 345600 s (4 days); LOSES DATA: deletes "
        "cells that are older"
    ) in out.splitlines()
    assert not engine.check_tables(First)[0].differences


def test_tables_are_altered_with_progress(engine: Engine, capsys: Capture) -> None:
    code, out, err = run(capsys, "alter", LATER, "--yes")

    assert (code, out) == (0, "altered orders: 10 changes\naltered orders_ix_by_state: 2 changes\n")
    assert err.splitlines()[0] == "1/12 orders: add family e"
    assert err.splitlines()[-1] == "12/12 orders: update the record in the catalog"
    assert run(capsys, "alter", LATER, "--yes") == (0, "nothing to alter\n", "")
    assert run(capsys, "check", LATER)[0] == 0
    assert not engine.check_tables(Later)[0].differences


def answer_with(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", _Terminal(text))


@pytest.mark.usefixtures("engine")
def test_the_command_shows_the_changes_and_asks(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_with(monkeypatch, "n\n")
    refused = run(capsys, "alter", LATER)
    answer_with(monkeypatch, "y\n")
    allowed = run(capsys, "alter", LATER)

    assert refused[0] == 1
    assert refused[2].endswith("nothing was changed: the answer was no\n")
    assert "LOSES DATA: deletes cells that are older\n" in refused[2]
    assert "alter orders, orders_ix_by_state, at memory:// [y/N]" in refused[2]
    assert allowed[0] == 0
    assert allowed[1].startswith("altered orders: 10 changes\n")


@pytest.mark.usefixtures("engine")
def test_nobody_is_asked_where_nobody_can_answer(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))

    code, out, err = run(capsys, "alter", LATER)

    assert (code, out) == (2, "")
    assert "give --yes" in err


def test_what_an_alteration_leaves_is_named(engine: Engine, capsys: Capture) -> None:
    engine.drop_index(First, "by_state")

    code, out, _ = run(capsys, "alter", FIRST, "--yes", "--json")
    answered: Any = json.loads(out)

    assert code == 1
    assert answered["changes"] == []
    assert [each["subject"] for each in answered["left"]] == ["index by_state"]
    fix = (
        "no alteration removes this: build the index: engine.build_index(model, name), or "
        "'hbase-orm index build'"
    )
    assert [each["fix"] for each in answered["left"]] == [fix]
    code, out, _ = run(capsys, "alter", FIRST)
    assert code == 1 == run(capsys, "check", FIRST)[0]
    assert out.splitlines() == [
        "nothing to alter",
        f"left orders: index by_state is missing; {fix}",
    ]


def test_what_another_program_changes_meanwhile_is_left(
    engine: Engine, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interfere() -> None:
        gateway_of(engine).execute(ModifyFamily("orders", b"d", {"versions": 2}))

    between = LetsAnotherWork(
        gateway_of(engine),
        lambda request: isinstance(request, CheckAndMutate),  # the record, which comes last
        interfere,
        is_after=True,
    )
    monkeypatch.setattr(
        "hbase_orm.cli.table_commands.table_drift.connect",
        lambda _: _Open(through(between, engine)),
    )

    code, out, _ = run(capsys, "alter", LATER, "--yes")

    assert code == 1
    (left,) = [line for line in out.splitlines() if "family d: versions" in line]
    assert left == (
        "left orders: family d: versions: actual 2, declared 3; another program has changed the "
        "table meanwhile: run the command again"
    )


def test_a_missing_table_is_refused(engine: Engine, capsys: Capture) -> None:
    engine.drop_tables(First)

    assert run(capsys, "check", FIRST)[0] == 1
    code, _, err = run(capsys, "alter", FIRST, "--yes")

    assert code == 4
    assert "hbase-orm tables create" in err


@pytest.mark.usefixtures("engine")
def test_periods_of_a_model_without_them_are_a_wrong_usage(capsys: Capture) -> None:
    code, _, err = run(capsys, "check", FIRST, "--periods", "2026-01-01", "2026-01-02")

    assert code == 2
    assert "no model has a table for each period" in err
