"""`hbase-orm upgrade` and the other commands of migrations, as a user calls them."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from hbase_orm import Family, Key, Mapped, Model, codecs, column, key
from hbase_orm.cli import main as cli_main
from hbase_orm.cli.migration_commands.progress import Waits, duration, shown_steps
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.migrate import Direction, Progress, RevisionStep, StepProgress
from hbase_orm.migrate.runner_lock import RunnerLock
from hbase_orm.session.engine import runtime_of
from tests.support.revisions import FillRows, engine_of, history_in, memory, revision_of, write_file

Capture = pytest.CaptureFixture[str]


class Part(Model, table="parts"):
    d = Family()
    number: Key[int] = key(codecs.uint16())
    name: Mapped[str] = column(d)


PROJECT = f"""[tool.hbase-orm]
models = ["{__name__}:Part"]
url = "memory://"
migrations = "db"
"""
BOTH = """
from tests.support.revisions import FillRows

def forward(engine): pass

def fail(engine): raise ValueError("no")
"""


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> MemoryGateway:
    """Return the gateway that every command connects to; the current directory has a project."""
    gateway = memory()
    for module in ("runs", "new", "state"):
        monkeypatch.setattr(
            f"hbase_orm.cli.migration_commands.{module}.connect", lambda _: engine_of(gateway)
        )
    monkeypatch.delenv("HBASE_ORM_URL", raising=False)
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    monkeypatch.chdir(tmp_path)
    return gateway


@pytest.fixture
def folder(gateway: MemoryGateway, tmp_path: Path) -> Path:
    """Return a folder with two revisions, the second of which cannot be undone."""
    del gateway
    write_file(tmp_path / "db", "19ac", operations="[FillRows('a')]", body=BOTH, message="First")
    write_file(
        tmp_path / "db",
        "3f2a",
        "'19ac'",
        operations="[FillRows('b', 2), RunPython(forward)]",
        body=BOTH,
        message="Second",
    )
    return tmp_path / "db"


def run(capsys: Capture, *arguments: str) -> tuple[int, str, str]:
    code = cli_main.run(arguments)
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def run_json(capsys: Capture, *arguments: str) -> Any:
    code, out, _ = run(capsys, *arguments, "--json")
    return code, json.loads(out)


def fails(folder: Path) -> None:
    write_file(folder, "5d", "'3f2a'", operations="[FillRows('c', 1), RunPython(fail)]", body=BOTH)


# --- files ----------------------------------------------------------------------------------------


def test_a_folder_is_created_and_named_in_pyproject(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text('[tool.hbase-orm]\nurl = "memory://"\n[x]\n')

    first = run(capsys, "init", "db/changes")
    again = run_json(capsys, "init", "db/changes")
    written = run(capsys, "revision", "-m", "Begin")

    assert first == (0, f"created {tmp_path}/db/changes\n", "")
    assert again == (0, {"folder": f"{tmp_path}/db/changes", "is_new": False, "left": ""})
    assert (tmp_path / "pyproject.toml").read_text() == (
        '[tool.hbase-orm]\nmigrations = "db/changes"\nurl = "memory://"\n[x]\n'
    )
    assert (tmp_path / "db/changes/README.md").exists()
    assert written[1].startswith(f"wrote {tmp_path}/db/changes/")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[project]\n", '[project]\n\n[tool.hbase-orm]\nmigrations = "db"\n'),
        ('[tool.hbase-orm]\nmigrations = "other"\n', '[tool.hbase-orm]\nmigrations = "other"\n'),
        ("tool.hbase-orm.url = 'memory://'\n", "tool.hbase-orm.url = 'memory://'\n"),
    ],
)
def test_what_cannot_be_written_into_pyproject_is_left_to_the_user(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, expected: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text(text)

    _, _, err = run(capsys, "init", "db")

    assert (tmp_path / "pyproject.toml").read_text() == expected
    assert ('write migrations = "db" below' in err) is (text == expected)


def test_the_default_folder_needs_no_pyproject(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    codes = [run(capsys, *words)[0] for words in (["init"], ["revision", "-m", "x"], ["heads"])]
    other = run(capsys, "init", "db")

    assert codes == [0, 0, 0]
    assert (tmp_path / "migrations").is_dir()
    assert f"below [tool.hbase-orm] in {tmp_path}/pyproject.toml" in other[2]
    assert not (tmp_path / "pyproject.toml").exists()


def test_a_revision_follows_the_only_head(capsys: Capture, folder: Path) -> None:
    code, made = run_json(capsys, "revision", "-m", "Third step")
    _, heads = run_json(capsys, "heads")
    text = Path(made["file"]).read_text()

    assert (code, made["steps"]) == (0, [])
    assert text.startswith('"""Third step."""\n')
    assert [each["down_revision"] for each in heads] == [["3f2a"]]
    assert Path(made["file"]).parent == folder


@pytest.mark.usefixtures("folder")
def test_branches_need_a_splice_and_are_joined_by_a_merge(capsys: Capture) -> None:
    refused = run(capsys, "revision", "-m", "Branch", "--head", "19")
    _, branch = run_json(capsys, "revision", "-m", "Branch", "--head", "19", "--splice")
    several = run(capsys, "revision", "-m", "More")
    upgrade = run(capsys, "upgrade")
    code, merged = run_json(capsys, "merge", "-m", "Join")
    none_left = run(capsys, "merge", "-m", "Join")

    assert refused[0] == 2
    assert "give --splice" in refused[2]
    assert several[0] == upgrade[0] == none_left[0] == 2
    assert "the revisions have several heads" in several[2]
    assert "hbase-orm merge heads" in upgrade[2]
    assert code == 0
    assert sorted(merged["down_revision"]) == sorted(["3f2a", Path(branch["file"]).name[:12]])


@pytest.mark.usefixtures("folder")
def test_the_history_is_shown_newest_first(capsys: Capture) -> None:
    code, out, _ = run(capsys, "history")
    run(capsys, "upgrade", "+1")
    _, indicated, _ = run(capsys, "history", "-i")
    _, listed = run_json(capsys, "history", "--indicate-current")

    assert code == 0
    assert out.splitlines() == ["19ac -> 3f2a (head), Second", "<base> -> 19ac, First"]
    assert indicated.splitlines()[1] == "<base> -> 19ac (current), First"
    assert listed[0]["applied"] is None
    assert listed[1]["applied"]["is_edited"] is False
    assert listed[1]["steps"] == ["fill a"]


# --- runs -----------------------------------------------------------------------------------------


def test_an_upgrade_a_downgrade_and_a_stamp(
    capsys: Capture, folder: Path, gateway: MemoryGateway
) -> None:
    del folder
    up = run(capsys, "upgrade", "19")
    again = run(capsys, "upgrade", "19")
    down = run_json(capsys, "downgrade", "-1")
    stamped = run_json(capsys, "stamp", "head")
    shown = run_json(capsys, "current")

    assert up[:2] == (0, "current: 19ac\n")
    assert up[2].splitlines() == ["19ac 1/1 fill a", "upgraded 19ac First"]
    assert again == (0, "nothing to do\ncurrent: 19ac\n", "")
    assert down == (
        0,
        {"direction": "downgrade", "revisions": ["19ac"], "stopped": None, "current": []},
    )
    assert stamped == (0, {"current": ["3f2a"]})
    assert shown == (
        0,
        {
            "revisions": [{"revision": "3f2a", "is_head": True, "has_file": True}],
            "interrupted": None,
            "lock": None,
        },
    )
    assert sorted(history_in(gateway).applied) == ["19ac", "3f2a"]


@pytest.mark.usefixtures("folder")
def test_a_plan_is_a_table(capsys: Capture, gateway: MemoryGateway) -> None:
    code, out, _ = run(capsys, "upgrade", "--plan", "--rows-per-second", "2")
    _, planned = run_json(capsys, "upgrade", "--plan")

    assert code == 0
    lines = [line.split("  ") for line in out.splitlines()]
    rows = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    assert rows[0] == ["upgrade: 19ac First, 3f2a Second"]
    assert rows[1] == [
        "revision", "step", "what", "tables", "rows", "requests", "time", "cannot be undone",
    ]  # fmt: skip
    assert rows[2] == ["19ac", "1/1", "fill a", "effects", "3", "6", "2 s + 60 s wait", "-"]
    assert rows[4][-1] == "forward has no backward function"
    assert planned["revisions"] == ["19ac", "3f2a"]
    assert [each["step"] for each in planned["steps"]] == [1, 1, 2]
    assert history_in(gateway).lock is None


@pytest.mark.usefixtures("folder")
def test_a_plan_of_nothing_says_so(capsys: Capture) -> None:
    run(capsys, "stamp", "head")

    assert run(capsys, "upgrade", "--plan") == (0, "nothing to do\n", "")


@pytest.mark.usefixtures("folder")
def test_what_cannot_be_undone_is_asked_about(
    capsys: Capture, gateway: MemoryGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    without_terminal = run(capsys, "upgrade")
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    refused = run(capsys, "upgrade")
    before = dict(history_in(gateway).applied)
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    accepted = run(capsys, "upgrade")
    undone = run(capsys, "downgrade", "19ac")

    assert without_terminal[0] == 2
    assert "give --yes" in without_terminal[2]
    assert refused[0] == 1  # nothing was changed
    assert "3f2a step 2, at memory://" in refused[2]
    assert before == {}
    assert accepted[:2] == (0, "current: 3f2a\n")
    assert undone[0] == 1
    assert "cannot be undone" in undone[2]


def test_a_failed_step_shows_where_and_the_next_run_continues(
    capsys: Capture, folder: Path
) -> None:
    fails(folder)
    code, _, err = run(capsys, "upgrade", "--yes")
    _, out, _ = run(capsys, "current")
    _, shown = run_json(capsys, "current")
    _, plan, _ = run(capsys, "upgrade", "--plan")
    text = next(folder.glob("5d*.py")).read_text()
    next(folder.glob("5d*.py")).write_text(text.replace('raise ValueError("no")', "pass"))
    corrected = run(capsys, "upgrade", "--yes")

    assert code == 1
    assert "error: a step of the migration failed [revision='5d' step=2 operation='run fail'" in err
    assert out.splitlines() == [
        "3f2a Second",
        "half done: upgrade of 5d, step 2 of 2: run fail",
        "  checkpoint: none",
    ]
    assert shown["interrupted"] == {
        "revision": "5d",
        "direction": "upgrade",
        "step": 2,
        "steps": 2,
        "what": "run fail",
        "checkpoint": {},
    }
    assert "run fail (continues)" in plan
    assert corrected[:2] == (0, "current: 5d\n")
    assert corrected[2].splitlines()[0] == "5d 2/2 run fail"


def test_a_stop_before_a_phase_is_shown(capsys: Capture, folder: Path) -> None:
    body = (
        "from hbase_orm.migrate import MigrationStoppedError\n"
        "def move(engine, checkpoint):\n"
        "    checkpoint.save({'phase': 'prepared'})\n"
        "    raise MigrationStoppedError('stopped before the phase', phase='moving')\n"
    )
    write_file(folder, "5d", "'3f2a'", operations="[RunPython(move)]", body=body)

    code, out, _ = run(capsys, "upgrade", "--yes", "--stop-before", "moving")
    _, again = run_json(capsys, "upgrade", "--yes", "--stop-before", "moving")
    _, current, _ = run(capsys, "current")

    assert code == 0
    assert (
        out.splitlines()[0]
        == "stopped: stopped before the phase [revision='5d' step=1 phase='moving']"
    )
    assert (again["stopped"]["revision"], again["stopped"]["phase"]) == ("5d", "moving")
    assert "  checkpoint: phase=prepared" in current.splitlines()


@pytest.mark.usefixtures("folder")
def test_a_held_lock_is_shown(capsys: Capture, gateway: MemoryGateway) -> None:
    runtime = runtime_of(engine_of(gateway))
    with RunnerLock(runtime, "hbase_orm_migrations", "upgrade", now_ms=lambda: 0) as lock:
        _, out, _ = run(capsys, "current")
        _, shown = run_json(capsys, "current")

    line = f"a runner has the lock: {lock.holder}, since 1970-01-01T00:00:00+00:00"
    assert out.splitlines() == ["nothing is applied", line]
    assert shown["lock"] == {"holder": lock.holder, "since": "1970-01-01T00:00:00+00:00"}


# --- check and autogenerate -----------------------------------------------------------------------


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the steps that a comparison of models finds."""
    steps: list[Any] = []

    def compared(models: Any, records: Any) -> list[Any]:
        assert [model.__name__ for model in models] == ["Part"]
        assert dict(records).keys() <= {"parts"}
        return steps

    monkeypatch.setattr("hbase_orm.migrate.comparison.compared", compared)
    return steps


def test_autogenerate_writes_the_steps_and_the_records(
    capsys: Capture, folder: Path, steps: list[Any]
) -> None:
    behind = run(capsys, "revision", "-m", "Parts", "--autogenerate")
    run(capsys, "upgrade", "--yes")
    nothing = run(capsys, "revision", "-m", "Parts", "--autogenerate")
    steps.append(FillRows("p", 1))
    code, made = run_json(capsys, "revision", "-m", "Parts", "--autogenerate")
    stored = json.loads(next(folder.glob(f"{Path(made['file']).name[:12]}.json")).read_text())
    assert behind[0] == 2
    assert "run 'hbase-orm upgrade' first" in behind[2]
    assert nothing[:2] == (0, "the models need no revision\n")
    assert (code, made["steps"]) == (0, ["fill p"])
    assert "from hbase_orm.migrate import FillRows" in Path(made["file"]).read_text()
    assert stored["before"] == {}
    assert stored["after"].keys() == {"parts"}


@pytest.mark.usefixtures("folder")
def test_a_check_finds_what_is_left_to_do(capsys: Capture, folder: Path, steps: list[Any]) -> None:
    pending = run(capsys, "check")
    run(capsys, "upgrade", "--yes")
    sound = run(capsys, "check")
    steps.append(FillRows("p", 1))
    next(folder.glob("19ac*.py")).write_text(next(folder.glob("19ac*.py")).read_text() + "x = 1\n")
    code, found = run_json(capsys, "check")
    _, out, _ = run(capsys, "check")
    (folder / "3f2a_test.py").unlink()
    _, missing, _ = run(capsys, "check")

    assert pending[:2] == (1, "not applied: 19ac First\nnot applied: 3f2a Second\n")
    assert sound[:2] == (0, "no problems: everything is applied, and the models need no revision\n")
    assert code == 1
    assert found == {
        "missing": [],
        "pending": [],
        "interrupted": None,
        "edited": ["19ac"],
        "steps": ["fill p"],
    }
    assert out.splitlines() == [
        "edited after it was applied: 19ac First",
        "the models need a revision: fill p",
    ]
    assert missing.splitlines()[0] == "3f2a is applied, but has no file here"


@pytest.mark.usefixtures("folder", "steps")
def test_an_interrupted_run_is_a_problem(capsys: Capture, folder: Path) -> None:
    fails(folder)
    run(capsys, "upgrade", "--yes")

    code, out, _ = run(capsys, "check")

    assert code == 1
    assert "interrupted: 5d; 'hbase-orm current' shows where" in out.splitlines()


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "down", "text"),
    [
        ("7a", "'gone'", "down_revision does not exist [revision='7a'"),
        ("7a", "'7a'", "in a cycle [revision='7a'"),
        ("7a", "'19ac'", "the revisions have several heads"),
    ],
)
def test_wrong_graphs_are_errors_of_one_line(
    capsys: Capture, folder: Path, name: str, down: str, text: str
) -> None:
    write_file(folder, name, down)

    failed, out, err = run(capsys, "upgrade")

    assert (failed, out) == (2, "")
    assert text in err
    assert len(err.splitlines()) == 1


def test_an_edited_revision_is_refused(capsys: Capture, folder: Path) -> None:
    run(capsys, "upgrade", "+1")
    path = folder / "19ac_test.py"
    path.write_text(path.read_text() + "# edited\n")

    code, _, err = run(capsys, "upgrade", "--yes")

    assert code == 1
    assert "edited [revision='19ac'" in err
    assert "hbase-orm stamp 19ac" in err


def test_a_wrong_key_of_pyproject_is_named(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("[tool.hbase-orm]\nmigrations = 3\n")

    code, _, err = run(capsys, "heads")

    assert code == 2
    assert "must be a text with a folder" in err


# --- progress -------------------------------------------------------------------------------------

STEP = RevisionStep(
    revision_of("a", operations=[FillRows("x")]), Direction.UPGRADE, 0, FillRows("x")
)


def shown_at(rows: int) -> StepProgress:
    return StepProgress(
        STEP, STEP.revision, STEP.direction, Progress("rows", rows, rows / 100, 90.0)
    )


def test_without_a_terminal_a_line_is_printed_every_ten_seconds(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = [100.0]
    monkeypatch.setattr(
        "hbase_orm.cli.migration_commands.progress.time.monotonic", lambda: now_s[0]
    )
    with shown_steps() as show:
        show(StepProgress(STEP, STEP.revision, STEP.direction))
        for second in range(25):
            now_s[0] = 100.0 + second
            show(shown_at(second))

    assert capsys.readouterr().err.splitlines() == [
        "a 1/1 fill x",
        "a 1/1 fill x: rows, 10 rows, 10%, 90 s left",
        "a 1/1 fill x: rows, 20 rows, 20%, 90 s left",
    ]


def test_on_a_terminal_one_line_is_replaced(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with shown_steps() as show:
        show(shown_at(1))
        show(shown_at(2))

    err = capsys.readouterr().err
    assert err.count("\r\x1b[K") == 2
    assert err.endswith("2 rows, 2%, 90 s left\n")


def test_a_wait_is_noted_once(capsys: Capture) -> None:
    wait = Waits()
    wait()
    wait()

    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (119, "119 s"), (1260, "21 min"), (9000, "2.5 h")]
)
def test_durations_are_for_people(seconds: float, text: str) -> None:
    assert duration(seconds) == text
