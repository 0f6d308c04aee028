"""`hbase-orm shell`: what its console has, and how it ends."""

from __future__ import annotations

import io
import sys
from types import ModuleType
from typing import Any

import pytest

from hbase_orm import Engine, Family, Key, Model, codecs, key
from hbase_orm.cli.errors import ExitCode
from hbase_orm.cli.row_commands.shell import names_in_console
from tests.support import meter_models
from tests.unit.cli.row_commands.conftest import Ended, Run

MODULE = meter_models.__name__


def typed(run: Run, monkeypatch: pytest.MonkeyPatch, *lines: str) -> Ended:
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
    return run("shell", MODULE, "--plain")


def test_the_models_and_a_session_are_there(
    run: Run, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = typed(
        run,
        monkeypatch,
        "session.add(Salted(n=7, value=3)); session.flush()",
        "session.all(select(func.sum(Salted.value)).allow_full_scan())",
        "engine, Boot.__name__",
    )

    assert ended.code == ExitCode.OK
    assert "FlushReport(written=1)" in ended.out
    assert "[3]" in ended.out
    assert f"(Engine('{engine.options.url}'), 'Boot')" in ended.out
    with engine.session() as session:
        assert session.get(meter_models.Salted, n=7) is not None


class Salted(Model, table="other_salted"):
    d = Family()
    n: Key[int] = key(codecs.uint16())


def test_models_of_one_name_have_their_modules_in_front(engine: Engine) -> None:
    with engine.session() as session:
        names = names_in_console((Salted, meter_models.Salted), engine, session)

    own = f"{__name__}_Salted".replace(".", "_")
    assert names[own] is Salted
    assert names["tests_support_meter_models_Salted"] is meter_models.Salted


def test_the_banner_shows_what_is_there(
    run: Run, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = typed(run, monkeypatch)

    lines = ended.err.splitlines()
    assert lines[0] == f"hbase-orm on {engine.options.url}"
    assert "  Salted   salted  [salt 4][n uint16]" in lines
    assert "  Boot     events  [n uint16][record type raw], a kind of Event" in lines
    assert "and engine, session, select, func. For example:" in lines


def test_changes_that_were_not_sent_are_told_and_not_sent(
    run: Run, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = typed(run, monkeypatch, "session.add(Salted(n=7))", "exit()")

    assert ended.code == ExitCode.OK
    assert "not sent, because session.flush() was not called" in ended.err
    with engine.session() as session:
        assert session.get(meter_models.Salted, n=7) is None


def test_a_change_in_place_that_was_not_sent_is_told(
    run: Run, readings: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    del readings
    change = "session.first(select(Reading).where(Reading.host == 'web-2')).labels.append('new')"

    ended = typed(run, monkeypatch, change, "exit()")

    assert "not sent, because session.flush() was not called: " in ended.err
    assert "pending=1" in ended.err


def test_an_error_in_the_console_does_not_end_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = typed(run, monkeypatch, "session.get(Salted, m=1)", "1 + 41")

    assert ended.code == ExitCode.OK
    assert "RowKeyError: a key field has no value" in ended.err
    assert "42" in ended.out


def test_ipython_gets_the_names_and_the_banner(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    started: dict[str, Any] = {}

    class Config:
        def __init__(self) -> None:
            self.TerminalInteractiveShell = ModuleType("settings")

    ipython, traitlets = ModuleType("IPython"), ModuleType("traitlets.config")
    ipython.__spec__ = sys.__spec__
    vars(ipython)["start_ipython"] = lambda **given: started.update(given)
    vars(traitlets)["Config"] = Config
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "traitlets.config", traitlets)

    ended = run("shell", MODULE)

    assert ended.code == ExitCode.OK
    assert {"Salted", "engine", "session", "select", "func"} <= started["user_ns"].keys()
    assert "Salted" in started["config"].TerminalInteractiveShell.banner1


def test_a_console_has_no_json(run: Run) -> None:
    ended = run("shell", MODULE, "--json")

    assert (ended.code, ended.error["class"]) == (ExitCode.USAGE, "UsageError")
