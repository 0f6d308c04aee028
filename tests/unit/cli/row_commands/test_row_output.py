"""Rows are printed as they are read: in constant memory, and with progress where they are late."""

from __future__ import annotations

import re
import subprocess
import sys
import time
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from hbase_orm import Engine
from hbase_orm.cli.row_commands.row_output import RowOutput
from hbase_orm.cli.row_commands.shown_fields import fields_of_objects
from hbase_orm.ops import FetchRows, Operation
from tests.support.meter_models import Salted
from tests.support.recording import RecordsRequests, gateway_of, through
from tests.unit.cli.row_commands.conftest import Run, named

FIELDS = fields_of_objects(Salted, ())


@pytest.mark.parametrize(("row_format", "most"), [("table", 2), ("json", 2), ("csv", 2)])
def test_objects_are_forgotten_once_they_are_printed(row_format: str, most: int) -> None:
    living: weakref.WeakSet[Any] = weakref.WeakSet()
    counts: list[int] = []

    def objects() -> Iterator[Salted]:
        for n in range(1000):
            obj = Salted(n=n)
            living.add(obj)
            counts.append(len(living))
            yield obj

    RowOutput(row_format, "scanning").show(FIELDS, objects())

    assert len(counts) == 1000
    assert max(counts) <= most


def test_a_table_keeps_the_widths_of_its_first_rows(capsys: pytest.CaptureFixture[str]) -> None:
    values = [1] * 100 + [12345678, 1]

    RowOutput("table", "scanning").show(
        FIELDS, (Salted(n=n, value=v) for n, v in enumerate(values))
    )

    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "n   value"
    assert lines[100:] == ["99  1", "100  12345678", "101  1"]


class FetchesLate(RecordsRequests):
    """Answers requests for the rows of a scanner late."""

    def execute(self, operation: Operation[Any], /) -> Any:
        if isinstance(operation, FetchRows):
            time.sleep(0.05)
        return self.inner.execute(operation)


@pytest.fixture
def _late(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read rows late; lines of progress come almost at once."""
    with engine.session() as session:
        session.add_all(Salted(n=n) for n in range(800))
    for module in ("reads", "delete"):
        monkeypatch.setattr(
            f"hbase_orm.cli.row_commands.{module}.connect",
            lambda _: through(FetchesLate(gateway_of(engine)), engine),
        )
    for name, seconds in {"_SOON_S": 0.0, "_LOOK_S": 0.01, "LINES_EVERY_S": 0.02}.items():
        monkeypatch.setattr(f"hbase_orm.cli.progress.{name}", seconds)


@pytest.mark.usefixtures("_late")
@pytest.mark.parametrize(
    ("arguments", "texts"),
    [
        (["scan", "--format", "csv"], {"scanning salted", r"scanning salted, \d+ rows"}),
        (["count"], {"counting salted"}),
        (["delete", "--where", "value=0", "--yes"], {"deleting rows of salted"}),
    ],
)
def test_a_command_that_takes_long_shows_its_progress(
    run: Run, arguments: list[str], texts: set[str]
) -> None:
    command, *options = arguments

    ended = run(command, Salted, *options, "--allow-full-scan")

    assert ended.code == 0
    lines = ended.err.splitlines()
    assert {
        text for text in texts for line in lines if re.fullmatch(rf"{text}: \d+ s so far", line)
    } == texts
    assert "so far" not in ended.out


@pytest.mark.usefixtures("_late")
def test_the_first_row_on_a_terminal_ends_the_progress(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)

    ended = run("scan", Salted, "--format", "jsonl", "--allow-full-scan")

    assert len(ended.lines) == 800
    assert re.search(r"scanning salted: \d+ s so far\n", ended.err)
    assert "rows" not in ended.err


def test_a_reader_that_has_seen_enough_ends_the_scan(tmp_path: Any) -> None:
    program = f"""
import sys
from hbase_orm import connect
from hbase_orm.cli.main import run
from tests.support.meter_models import Salted
with connect("memory://rows") as engine:
    engine.create_tables(Salted)
    with engine.session() as session:
        session.add_all(Salted(n=n) for n in range(5000))
arguments = ["scan", "{named(Salted)}", "--allow-full-scan", "--format", "jsonl"]
sys.exit(run(["--url", "memory://rows", *arguments]))
"""
    script = tmp_path / "scan.py"
    script.write_text(program)
    with subprocess.Popen(
        [sys.executable, script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PYTHONPATH": ":".join(sys.path)},
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        first = process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read()

    assert first == b'{"n": 0, "value": 0}\n'
    assert (process.returncode, errors) == (0, b"")
