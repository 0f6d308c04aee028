"""`hbase-orm index` as a user calls it."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import replace
from typing import Any

import pytest

from hbase_orm.binding.write_clock import wall_clock_ms
from hbase_orm.cli import main as cli_main
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.catalog.catalog import CATALOG_TABLE
from hbase_orm.index.catalog.entry import TableHold
from hbase_orm.index.catalog.table_hold import take_hold
from hbase_orm.ops import FamilyDescriptor, MutateRows, Put, RowMutation, TableDescriptor
from tests.support.operator_actions import copy, restore, snapshot
from tests.support.shop_processes import Clock, OldOrder, Process, engine_on, orders

MODEL = "tests.support.shop_processes:Order"
OLD = "tests.support.shop_processes:OldOrder"
BY_STATE, FAMILIES = "orders_ix_by_state", (FamilyDescriptor(b"d"),)


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> MemoryGateway:
    """Return the gateway that every command connects to."""
    gateway = orders()
    monkeypatch.setattr(
        "hbase_orm.cli.index.connect", lambda _: engine_on(Process(gateway), Clock())
    )
    monkeypatch.setattr(
        "hbase_orm.cli.tables.connect", lambda _: engine_on(Process(gateway), Clock())
    )
    monkeypatch.setenv("HBASE_ORM_URL", "memory://")
    return gateway


Capture = pytest.CaptureFixture[str]


def run(capsys: Capture, *arguments: str) -> tuple[int, str, str]:
    code = cli_main.run(["index", *arguments])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def run_json(capsys: Capture, *arguments: str) -> Any:
    code, out, _ = run(capsys, *arguments, "--json")
    return code, json.loads(out)


@pytest.mark.usefixtures("gateway")
def test_the_indexes_of_models_are_listed_with_their_states(capsys: Capture) -> None:
    code, out, _ = run(capsys, "list", MODEL)

    assert code == 0
    assert [line.split() for line in out.splitlines()] == [
        ["model", "index", "state", "table", "remarks"],
        ["Order", "by_state", "READABLE", "orders_ix_by_state"],
        ["Order", "by_customer", "ABSENT", "-"],
    ]


@pytest.mark.usefixtures("gateway")
def test_an_index_is_built_shown_dropped_and_gone(capsys: Capture) -> None:
    built = run(capsys, "build", MODEL, "by_customer", "--rows-per-second", "100000")
    listed = run_json(capsys, "list", OLD)
    status = run_json(capsys, "status", MODEL, "by_customer")
    dropped = run(capsys, "drop", MODEL, "by_customer", "--yes")
    again = run(capsys, "drop", MODEL, "by_customer", "--yes")

    assert built[:2] == (0, "by_customer is READABLE, its table is orders_ix_by_customer\n")
    assert [each["is_declared"] for each in listed[1]] == [True, False]
    assert (status[1]["state"], status[1]["built"], status[1]["epoch"]) == ("READABLE", None, 2)
    assert dropped[:2] == (0, "dropped orders_ix_by_customer\n")
    assert again[:2] == (0, "it had no table\n")


@pytest.mark.usefixtures("gateway")
@pytest.mark.parametrize(
    ("model", "index", "remark", "difference"),
    [
        ("OldOrder", "by_customer", "not declared by the model", "not in the model"),
        ("TurnedOrder", "by_customer", "declared otherwise by the model", "declared otherwise"),
        ("OrderByShop", "by_customer", "the model has another row key", "another row key"),
        ("Order", "by_customer", "", None),
    ],
)
def test_a_list_shows_how_a_model_differs_from_the_catalog(
    capsys: Capture, model: str, index: str, remark: str, difference: str | None
) -> None:
    run(capsys, "build", MODEL, index)
    path = f"tests.support.shop_processes:{model}"
    _, out, _ = run(capsys, "list", path)
    _, listed = run_json(capsys, "list", path)

    (line,) = [line for line in out.splitlines() if f" {index} " in line]
    assert line.rstrip().endswith(f"orders_ix_{index}  {remark}".rstrip())
    (status,) = [each for each in listed if each["name"] == index]
    assert status["difference"] == difference


@pytest.mark.usefixtures("gateway")
@pytest.mark.parametrize("command", ["verify", "repair"])
@pytest.mark.parametrize(
    ("model", "shown"),
    [
        ("TurnedOrder", "declared otherwise by the model"),
        ("OldOrder", "not declared by the model"),
    ],
)
def test_an_index_in_which_model_and_catalog_differ_fails_the_command(
    capsys: Capture, command: str, model: str, shown: str
) -> None:
    run(capsys, "build", MODEL, "by_customer")

    code, out, err = run(capsys, command, f"tests.support.shop_processes:{model}")

    assert code == 1
    assert "no index is built" not in out
    assert f"{model}.by_customer: {shown}, so it was left out\n" in out + err
    assert "  catalog: orders_ix_by_customer: [customer " in out + err


@pytest.mark.usefixtures("gateway")
def test_the_json_of_a_verification_shows_what_differs(capsys: Capture) -> None:
    run(capsys, "build", MODEL, "by_customer")

    code, shown = run_json(capsys, "verify", "tests.support.shop_processes:TurnedOrder")

    assert code == 1
    assert shown[-1]["index"] == "by_customer"
    assert shown[-1]["difference"] == "declared otherwise"
    assert shown[-1]["declared"] != shown[-1]["catalog"]


@pytest.mark.usefixtures("gateway")
def test_a_named_index_that_is_declared_otherwise_is_not_compared(capsys: Capture) -> None:
    run(capsys, "build", MODEL, "by_customer")

    code, _, err = run(capsys, "verify", "tests.support.shop_processes:TurnedOrder", "by_customer")

    assert code == 2
    assert "another declaration of the index" in err


@pytest.mark.usefixtures("gateway")
def test_an_index_of_a_renamed_field_is_verified(capsys: Capture) -> None:
    code, out, _ = run(capsys, "verify", "tests.support.shop_processes:RenamedOrder")

    assert (code, out) == (0, "RenamedOrder.by_state: no differences, 60 compared\n")


@pytest.mark.usefixtures("gateway")
def test_a_build_shows_how_far_it_is_to_who_looks_at_it(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)

    _, out, err = run(capsys, "build", MODEL, "by_customer")

    assert out == "by_customer is READABLE, its table is orders_ix_by_customer\n"
    assert "30 rows, comparing rows with entries" in err
    assert "100%" in err


@pytest.mark.usefixtures("gateway")
def test_a_drop_shows_how_long_it_waits_and_what_is_left(capsys: Capture) -> None:
    code, out, err = run(capsys, "drop", MODEL, "by_state", "--yes")

    first, *left = err.splitlines()
    assert (code, out) == (0, "dropped orders_ix_by_state\n")
    assert first == "waiting 1 min 10 s, until no program uses an old catalog entry"
    assert left == [
        "1 min 0 s left",
        "50 s left",
        "40 s left",
        "30 s left",
        "20 s left",
        "10 s left",
    ]


@pytest.mark.usefixtures("gateway")
def test_a_terminal_shows_each_second_that_is_left(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)

    _, _, err = run(capsys, "drop", MODEL, "by_state", "--yes")

    assert err.startswith("waiting 1 min 10 s, until no program uses an old catalog entry\n")
    assert "\r1 min 9 s left \r1 min 8 s left " in err
    assert err.endswith("\r1 s left \n")


@pytest.mark.usefixtures("gateway")
@pytest.mark.parametrize(("options", "shown"), [(("--exclusive",), "30 s"), ((), "20 min 35 s")])
def test_a_build_in_a_log_shows_its_waits(
    capsys: Capture, options: tuple[str, ...], shown: str
) -> None:
    _, _, err = run(capsys, "build", MODEL, "by_customer", *options)

    assert f"waiting {shown}, until no program uses an old catalog entry" in err
    assert err.count(" s left\n") >= 2
    assert ("no gateway repeats a request" in err) == (not options)


def test_a_release_shows_both_its_waits(gateway: MemoryGateway, capsys: Capture) -> None:
    hold = TableHold("killed", "build of index by_customer, process 7 on elsewhere", 1)
    engine_on(gateway, Clock())._runtime.run(take_hold("orders", hold, 0))

    code = cli_main.run(["tables", "release", MODEL])
    err = capsys.readouterr().err

    assert code == 0
    assert err.startswith("waiting 1 min 0 s, until it is certain that no program uses the table")
    assert err.endswith("\n10 s left\n")


@pytest.mark.usefixtures("gateway")
def test_a_drop_that_is_not_confirmed_drops_nothing(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(capsys, "build", MODEL, "by_customer")
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))

    code, out, err = run(capsys, "drop", MODEL, "by_customer")

    assert (code, out) == (1, "")
    assert err.splitlines()[-1].endswith("nothing was changed: the answer was no")
    assert run_json(capsys, "status", MODEL, "by_customer")[1]["state"] == "READABLE"


def spoil(gateway: MemoryGateway) -> None:
    """Put an entry that no row has; take one away that a row has; write a row by other means."""
    table = "orders_ix_by_customer"
    extra = RowMutation(b"c1\x00\x01\x09\x09", (Put(b"d:", b"", 1_000_000_000_000),))
    gateway.execute(MutateRows(table, (extra,)))
    raw = RowMutation(b"\x00\x01", (Put(b"d:customer", b"raw", wall_clock_ms() + 30_000),))
    gateway.execute(MutateRows("orders", (raw,)))


def test_a_verification_counts_as_phoenix_does_and_lists_pairs(
    gateway: MemoryGateway, capsys: Capture
) -> None:
    run(capsys, "build", MODEL, "by_customer")
    spoil(gateway)

    code, found = run_json(capsys, "verify", MODEL, "by_customer")

    assert code == 1
    assert {name: count for name, count in found["rows"].items() if count} == {
        "SCANNED": 24,
        "VALID": 23,
        "MISSING": 1,
    }
    assert {name: count for name, count in found["entries"].items() if count} == {
        "SCANNED": 25,
        "VALID": 23,
        "OLD": 1,
        "EXTRA": 1,
    }
    assert found["foreign"] == 1
    assert [(pair["finding"], pair["row"], pair["entry"]) for pair in found["pairs"]] == [
        ("MISSING", r"\x00\x01", r"raw\x00\x01\x00\x01"),
        ("OLD", r"\x00\x01", r"c1\x00\x01\x00\x01"),
        ("EXTRA", r"\x09\x09", r"c1\x00\x01\x09\x09"),
    ]


def test_a_verification_in_words_explains_its_findings(
    gateway: MemoryGateway, capsys: Capture
) -> None:
    run(capsys, "build", MODEL, "by_customer")
    spoil(gateway)

    code, out, _ = run(capsys, "verify", MODEL, "by_customer", "--pairs", "1")

    assert code == 1
    assert "rows written by other programs: 1" in out
    assert "MISSING: the row should have this entry and has not" in out
    assert "EXTRA:" not in out


def test_a_scrutiny_looks_in_one_direction(gateway: MemoryGateway, capsys: Capture) -> None:
    run(capsys, "build", MODEL, "by_customer")
    spoil(gateway)

    data = run_json(capsys, "scrutinize", MODEL, "by_customer")
    index = run_json(capsys, "scrutinize", MODEL, "by_customer", "--source", "index")

    assert (data[0], data[1]["rows"]["SCANNED"], data[1]["entries"]["SCANNED"]) == (1, 24, 0)
    assert (index[0], index[1]["rows"]["SCANNED"], index[1]["entries"]["SCANNED"]) == (0, 0, 25)


def test_a_repair_puts_right_what_can_be_put_right(gateway: MemoryGateway, capsys: Capture) -> None:
    run(capsys, "build", MODEL, "by_customer")
    spoil(gateway)

    _, found = run_json(capsys, "verify", MODEL, "by_customer", "--repair")

    code, after = run_json(capsys, "verify", MODEL, "by_customer")

    assert (found["foreign"], found["repaired"]) == (1, 3)
    assert code == 0
    assert after["rows"]["VALID"] == after["entries"]["SCANNED"] == 24


def test_a_repair_shows_what_it_could_not_put_right(
    gateway: MemoryGateway, capsys: Capture
) -> None:
    run(capsys, "build", MODEL, "by_customer")
    spoil(gateway)
    bad = RowMutation(b"\x00\x02", (Put(b"d:state", b"\xff", wall_clock_ms() + 30_000),))
    gateway.execute(MutateRows("orders", (bad,)))

    code, out, _ = run(capsys, "verify", MODEL, "by_customer", "--repair")
    _, found = run_json(capsys, "verify", MODEL, "by_customer", "--repair")

    _, all_out, _ = run(capsys, "repair", MODEL)
    _, all_found = run_json(capsys, "repair", MODEL)

    assert code == 1
    left = "not repaired: \\x00\\x02: an indexed value does not decode"
    assert (left in out, left in all_out) == (True, True)
    assert list(found["unrepaired"]) == ["\\x00\\x02"]
    assert all_found["by_customer"]["unrepaired"] == 1


@pytest.mark.usefixtures("gateway")
def test_a_drop_that_nobody_confirms_drops_nothing_and_says_how(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(capsys, "build", MODEL, "by_customer")
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))

    code, _, err = run(capsys, "drop", MODEL, "by_customer")

    assert code == 2
    assert "give --yes" in err
    assert run_json(capsys, "status", MODEL, "by_customer")[1]["state"] == "READABLE"


def test_all_built_indexes_are_repaired(gateway: MemoryGateway, capsys: Capture) -> None:
    run(capsys, "build", MODEL, "by_customer")
    extra = RowMutation(b"c1\x00\x01\x09\x09", (Put(b"d:", b"", 1_000_000_000_000),))
    gateway.execute(MutateRows("orders_ix_by_customer", (extra,)))

    code, found = run_json(capsys, "repair", MODEL)

    assert code == 0
    assert list(found) == ["by_state", "by_customer"]
    assert (found["by_customer"]["stale"], found["by_customer"]["repaired"]) == (1, 1)


@pytest.mark.usefixtures("gateway")
def test_only_what_was_written_in_a_time_is_verified(capsys: Capture) -> None:
    run(capsys, "build", MODEL, "by_customer")

    later = run_json(capsys, "verify", MODEL, "by_customer", "--since", "2999-01-01")
    before = run_json(capsys, "verify", MODEL, "by_customer", "--until", "2999-01-01")

    assert (later[1]["rows"]["SCANNED"], later[1]["entries"]["SCANNED"]) == (0, 0)
    assert (before[1]["rows"]["SCANNED"], before[1]["entries"]["SCANNED"]) == (24, 24)


@pytest.mark.usefixtures("gateway")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("build", MODEL, "by_colour"), "there are: by_state, by_customer"),
        (("status", MODEL, "by_colour"), "there are: by_state, by_customer"),
        (("drop", MODEL, "by_colour", "--yes"), "there are: by_state, by_customer"),
        (("verify", MODEL, "by_customer"), "'hbase-orm index build'"),
        (("build", MODEL, "by_customer", "--rows-per-second", "0"), "--rows-per-second"),
        (("verify", MODEL, "by_state", "--since", "yesterday"), "--since"),
        (("build", "tests.support.shop_processes:Clock", "x"), "Clock"),
    ],
)
def test_wrong_use_is_told_with_what_is_right(
    arguments: tuple[str, ...], told: str, capsys: Capture
) -> None:
    code, out, err = run(capsys, *arguments)

    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert told in err


@pytest.mark.parametrize(
    "command", ["list", "build", "status", "verify", "scrutinize", "repair", "drop"]
)
def test_every_command_has_help(command: str, capsys: Capture) -> None:
    code, out, _ = run(capsys, command, "--help")

    assert code == 0
    assert out.startswith(f"Usage: hbase-orm index {command}")


def test_a_repair_of_tables_names_what_it_leaves(
    gateway: MemoryGateway, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "hbase_orm.cli.tables.connect", lambda _: engine_on(Process(gateway), Clock())
    )
    bad = RowMutation(b"\x00\x02", (Put(b"d:state", b"\xff", wall_clock_ms() + 30_000),))
    gateway.execute(MutateRows("orders", (bad,)))

    code = cli_main.run(["tables", "repair", OLD])
    shown = capsys.readouterr().out
    cli_main.run(["tables", "repair", OLD, "--json"])
    found = json.loads(capsys.readouterr().out)["OldOrder.by_state"]

    entry = "new\\x00\\x01\\x00\\x02"
    assert code == 0
    assert shown.splitlines()[1].split() == [
        "OldOrder.by_state",
        "30",
        "29",
        "0",
        "0",
        "0",
        "0",
        "1",
    ]
    assert f"not repaired: OldOrder.by_state {entry}: an indexed value does not decode" in shown
    assert list(found["unrepaired"]) == [entry]


def test_verifying_says_that_the_catalog_is_older_than_the_rows(
    gateway: MemoryGateway, capsys: Capture
) -> None:
    earlier = snapshot(gateway, CATALOG_TABLE)
    run(capsys, "build", MODEL, "by_state", "--rebuild", "--gateway-timeout", "0")
    restore(gateway, earlier)
    copy(gateway, replace(earlier, descriptor=TableDescriptor(BY_STATE, FAMILIES), rows=()))

    code, out, _ = run(capsys, "verify", MODEL, "by_state")
    _, found = run_json(capsys, "verify", MODEL, "by_state")

    assert code == 1
    assert "older than rows of epoch 2" in out
    assert found["newer_epoch"] == 2


def test_a_killed_exclusive_build_is_finished_by_the_next_one(
    gateway: MemoryGateway, capsys: Capture
) -> None:
    hold_of_a_killed_program(gateway)

    refused, _, error = run(capsys, "build", MODEL, "by_customer")
    code, shown = run_json(capsys, "build", MODEL, "by_customer", "--exclusive")

    assert refused == 1
    assert "another program uses the table exclusively" in error
    assert "holder='a killed program' since='1970-01-01T00:00:01+00:00'" in error
    assert (code, shown["state"]) == (0, "READABLE")


def test_a_table_of_a_killed_program_is_released(gateway: MemoryGateway, capsys: Capture) -> None:
    hold_of_a_killed_program(gateway)

    code = cli_main.run(["tables", "release", MODEL])

    assert (code, capsys.readouterr().out) == (0, "other programs may write orders\n")
    with engine_on(gateway, Clock()).session() as session:
        session.add(OldOrder(number=1, customer="c1", state="written"))


def hold_of_a_killed_program(gateway: MemoryGateway) -> None:
    hold = TableHold("killed", "a killed program", 1000)
    engine_on(gateway, Clock())._runtime.run(take_hold("orders", hold, 0))
