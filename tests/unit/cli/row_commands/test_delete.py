"""`hbase-orm delete`: by keys, by conditions, and when it asks."""

from __future__ import annotations

import io
import json
from contextlib import nullcontext
from datetime import UTC, datetime

import pytest

from hbase_orm import Engine, select
from hbase_orm.cli.errors import ExitCode
from hbase_orm.ops import CloseScanner
from tests.support.meter_models import Reading
from tests.support.recording import LetsAnotherWork, gateway_of, through
from tests.unit.cli.row_commands.conftest import Run

FIRST = "2026-01-01"
OF_WEB_1 = ("--where", "host=web-1")

pytestmark = pytest.mark.usefixtures("readings")


def left(engine: Engine) -> list[tuple[str, int]]:
    with engine.session() as session:
        values = session.all(select(Reading.host, Reading.at).allow_full_scan())
        return [(host, at.day) for host, at in values]


def type_in(monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    terminal = io.StringIO(line)
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", terminal)


def test_rows_are_deleted_by_their_keys(run: Run, engine: Engine) -> None:
    twice = ("web-1", FIRST, "web-1", FIRST)

    ended = run("delete", Reading, *twice, "web-2", FIRST, "web-9", FIRST, "--yes")

    assert (ended.code, ended.out) == (ExitCode.OK, "deleted 2 rows of readings\n")
    assert ended.err == "no row has the key host=web-9 at=2026-01-01T00:00:00+00:00\n"
    assert left(engine) == [("web-1", 3), ("web-1", 2)]


def test_rows_are_deleted_by_conditions(run: Run, engine: Engine) -> None:
    ended = run("delete", Reading, *OF_WEB_1, "--where", "at>=2026-01-02", "--yes", "--json")

    assert json.loads(ended.out) == {"deleted": 2}
    assert left(engine) == [("web-1", 1), ("web-2", 1)]


def test_a_limit_bounds_what_is_deleted(run: Run, engine: Engine) -> None:
    ended = run("delete", Reading, *OF_WEB_1, "--limit", "1", "--yes")

    assert ended.out == "deleted 1 row of readings\n"
    assert left(engine) == [("web-1", 2), ("web-1", 1), ("web-2", 1)]


@pytest.mark.parametrize("arguments", [OF_WEB_1, ("web-1", FIRST, "web-1", FIRST)])
def test_it_asks_on_a_terminal_and_shows_how_many_rows_there_are(
    run: Run, engine: Engine, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    rows = "3 rows" if arguments == OF_WEB_1 else "1 row"
    type_in(monkeypatch, "n\n")
    declined = run("delete", Reading, *arguments)
    kept = len(left(engine))
    type_in(monkeypatch, "y\n")
    accepted = run("delete", Reading, *arguments)

    assert (declined.code, declined.out, kept) == (ExitCode.FAILED, "", 4)
    assert f"delete {rows} of readings, at memory://rows-" in declined.err
    assert declined.err.endswith("nothing was changed: the answer was no\n")
    assert (accepted.code, accepted.out) == (ExitCode.OK, f"deleted {rows} of readings\n")


def test_a_declined_question_is_json_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    type_in(monkeypatch, "n\n")

    ended = run("delete", Reading, *OF_WEB_1, "--json")

    assert ended.error["class"] == "DeclinedError"


def test_without_a_terminal_it_needs_yes(
    run: Run, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())

    ended = run("delete", Reading, *OF_WEB_1)

    assert ended.code == ExitCode.USAGE
    assert ended.err.endswith("; give --yes\n")
    assert len(left(engine)) == 4


@pytest.mark.parametrize("arguments", [("--where", "host=web-9"), ("web-9", FIRST)])
def test_nothing_is_asked_if_there_is_nothing_to_delete(
    run: Run, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())

    ended = run("delete", Reading, *arguments)

    assert (ended.code, ended.out) == (ExitCode.OK, "deleted 0 rows of readings\n")


def test_a_row_that_comes_after_the_count_is_not_deleted_without_a_question(
    run: Run, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def insert() -> None:
        with engine.session() as session:
            session.add(Reading(host="web-9", at=datetime(2026, 1, 1, tzinfo=UTC), value=1.0))

    gateway = LetsAnotherWork(
        gateway_of(engine),
        lambda request: isinstance(request, CloseScanner),
        insert,
        is_after=True,
    )
    other = through(gateway, engine)
    monkeypatch.setattr("hbase_orm.cli.row_commands.delete.connect", lambda _: nullcontext(other))

    ended = run("delete", Reading, "--where", "host=web-9")

    assert gateway.has_worked
    assert ended.out == "deleted 0 rows of readings\n"
    assert ("web-9", 1) in left(engine)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "give either KEY or --where; 'hbase-orm tables truncate' deletes all rows"),
        (["--allow-full-scan"], 2, "give either KEY or --where"),
        (["web-1", FIRST, *OF_WEB_1], 2, "give either KEY or --where"),
        (["--where", "value>1"], 2, "would read the whole table"),
        (["--where", "value>1"], 2, "or add --allow-full-scan"),
        (["--where", "size>1"], 2, "Reading has no field 'size'"),
        (["host=web-1"], 4, "a key field has no value"),
        (["host=web-1", "value=1"], 2, "Reading has no key field 'value'"),
    ],
)
def test_an_unbounded_or_wrong_delete_is_refused(
    run: Run, engine: Engine, arguments: list[str], code: int, message: str
) -> None:
    ended = run("delete", Reading, *arguments, "--yes")

    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err
    assert len(left(engine)) == 4


def test_a_whole_table_may_be_searched_for_rows_to_delete(run: Run, engine: Engine) -> None:
    ended = run("delete", Reading, "--where", "value<1", "--allow-full-scan", "--yes")

    assert ended.out == "deleted 2 rows of readings\n"
    assert left(engine) == [("web-1", 3), ("web-1", 2)]
