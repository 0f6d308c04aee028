"""Commands about tables show on standard error that they still work, if they take long."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

from hbase_orm import Engine, Family, Index, Key, Mapped, Model, column, connect, key
from hbase_orm.cli import main as cli_main
from hbase_orm.ops import CreateTable, DropTable, ListRegions, Operation, TruncateTable
from hbase_orm.record.store import delete_record
from tests.support.recording import RecordsRequests, gateway_of, through

Capture = pytest.CaptureFixture[str]
LETTER = f"{__name__}:Letter"
SLOW = (CreateTable, DropTable, TruncateTable, ListRegions)


class Letter(Model, table="letters"):
    d = Family()
    name: Key[str] = key()
    town: Mapped[str] = column(d)
    by_town = Index(town)


class Slow(RecordsRequests):
    """Answers requests about whole tables late."""

    def execute(self, operation: Operation[Any], /) -> Any:
        if isinstance(operation, SLOW) and self.seconds:
            time.sleep(self.seconds)
        return self.inner.execute(operation)

    seconds = 0.0


class _Open:
    """An engine that a command does not close."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def __enter__(self) -> Engine:
        return self.engine

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    """Return the gateway of all commands; lines of progress come almost at once."""
    with connect("memory://") as engine:
        gateway = Slow(gateway_of(engine))
        other = through(gateway, engine)
        for module in ("tables", "table_commands.table_contents"):
            monkeypatch.setattr(f"hbase_orm.cli.{module}.connect", lambda _: _Open(other))
        for name, seconds in {"_SOON_S": 0.0, "_LOOK_S": 0.01, "LINES_EVERY_S": 0.05}.items():
            monkeypatch.setattr(f"hbase_orm.cli.progress.{name}", seconds)
        monkeypatch.setenv("HBASE_ORM_URL", "memory://")
        gateway.seconds = 0.3
        yield gateway


def run(capsys: Capture, *arguments: str) -> tuple[int, str, str]:
    code = cli_main.run(["tables", *arguments])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def prepare(slow: Slow, command: str) -> None:
    if command == "create":
        return
    with connect("memory://") as engine:
        own = through(slow.inner, engine)
        own.create_tables(Letter)
        if command == "adopt":
            own._runtime.run(delete_record("letters"))


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("create", "creating letters"),
        ("drop", "dropping letters"),
        ("truncate", "emptying letters"),
        ("adopt", "reading rows of letters"),
    ],
)
def test_a_command_that_takes_long_shows_that_it_works(
    slow: Slow, capsys: Capture, command: str, text: str
) -> None:
    prepare(slow, command)
    options = [] if command == "create" else ["--yes"]

    code, out, err = run(capsys, command, LETTER, *options)

    assert code == 0
    assert "letters" in out
    assert "so far" not in out
    lines = [line for line in err.splitlines() if line.startswith(text)]
    assert len(lines) > 1
    assert all(re.fullmatch(rf"{text}: \d+ s so far", line) for line in lines)


def test_a_short_command_shows_nothing(
    slow: Slow, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hbase_orm.cli.progress._SOON_S", 60.0)
    slow.seconds = 0.0

    assert run(capsys, "create", LETTER)[2] == ""
    assert run(capsys, "drop", LETTER, "--yes")[2] == ""
