"""A server that has died says so, with when and why; and how much memory one takes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hbase_orm.cli.errors import ExitCode
from hbase_orm.cli.main import run
from hbase_orm.errors import ConfigurationError, PortInUseError, ServerDiedError
from hbase_orm.server import EmbeddedServer, ServerOptions, memory
from hbase_orm.server.options import GatewayName
from hbase_orm.server.ports import free_ports
from hbase_orm.server.processes import ProcessId
from hbase_orm.server.startup import death_of
from hbase_orm.server.state import DataFolder, ServerState

READY = "HBASE-ORM    9.1 ready\n"
NO_MEMORY = "Terminating due to java.lang.OutOfMemoryError: Java heap space\n"


def _log(folder: Path, text: str) -> Path:
    log = folder / "server.log"
    log.write_text(text)
    return log


def _dead(folder: Path, text: str, heap: str = "512m") -> EmbeddedServer:
    """Return a server that was started and has died with this log."""
    first, second = free_ports(2)
    data = DataFolder(folder)
    data.prepare()
    data.log.write_text(text)
    options = ServerOptions(port=first, thrift2_port=second, data_dir=folder, heap=heap)
    gone = ProcessId(2**22 + 1, "gone")  # above the greatest id of a process
    ports: dict[GatewayName, int] = {"thrift1": first, "thrift2": second}
    data.write(ServerState({"hbase": gone}, ports, "nonce", options.recorded()))
    found = EmbeddedServer.recorded(folder)
    assert found is not None
    return found


def test_a_death_for_want_of_memory_names_the_heap_and_a_larger_one(tmp_path: Path) -> None:
    death = death_of(_log(tmp_path, READY + "java.lang.RuntimeException: x\n" + NO_MEMORY), "512m")
    assert type(death) is ServerDiedError
    assert death.reason == NO_MEMORY.strip()
    assert death.heap == "512m"
    assert death.log == str(tmp_path / "server.log")
    assert death.last_log_at.startswith("20")
    assert "--heap 1024m" in death.fix


def test_a_death_without_a_word_in_the_log_was_a_kill(tmp_path: Path) -> None:
    death = death_of(_log(tmp_path, "1 ERROR of long ago\n" + READY), "512m")
    assert "it was killed" in death.text
    assert death.reason == READY.strip()


def test_a_death_with_a_word_in_the_log_repeats_it(tmp_path: Path) -> None:
    said = "HBASE-ORM died the master has ended"
    assert death_of(_log(tmp_path, f"{READY}{said}\n"), "512m").reason == said
    taken = _log(tmp_path, "HBASE-ORM died java.net.BindException: Address already in use\n")
    assert type(death_of(taken, "512m")) is PortInUseError
    assert death_of(tmp_path / "none", "512m").last_log_at == "never"


def test_only_a_server_that_nobody_stopped_has_died(tmp_path: Path) -> None:
    server = _dead(tmp_path / "data", READY + NO_MEMORY)
    assert server.death() is not None
    server.stop()
    assert server.death() is None
    assert EmbeddedServer(ServerOptions(data_dir=tmp_path / "other")).death() is None


def test_status_says_that_a_server_has_died_and_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "data"
    _dead(folder, READY + NO_MEMORY)
    assert run(["server", "status", "--data-dir", str(folder)]) == ExitCode.UNREACHABLE
    shown = capsys.readouterr().out
    assert "ran out of memory" in shown
    assert str(folder / "logs" / "server.log") in shown
    assert "--heap 1024m" in shown
    assert run(["--json", "server", "status", "--data-dir", str(folder)]) == ExitCode.UNREACHABLE
    died = json.loads(capsys.readouterr().out)["died"]
    assert died["reason"] == NO_MEMORY.strip()
    assert run(["server", "stop", "--data-dir", str(folder)]) == ExitCode.OK
    assert "ran out of memory" in capsys.readouterr().err
    assert run(["server", "status", "--data-dir", str(folder)]) == ExitCode.UNREACHABLE
    assert "died" not in capsys.readouterr().out


def test_a_url_that_nobody_answers_at_says_that_its_server_has_died(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    dead = _dead(tmp_path / "hbase-orm" / "server", READY + NO_MEMORY)
    tables = ["tables", "create", "examples.flights.model:Flight"]
    other = free_ports(1)[0]
    for url, is_its_own in (
        (dead.url, True),
        (dead.url.replace("127.0.0.1", "localhost"), True),
        (f"hbase://127.0.0.1:{other}", False),
    ):
        assert (
            run(["--url", f"{url}{'&' if '?' in url else '?'}retries=0", *tables])
            == ExitCode.UNREACHABLE
        )
        assert ("ran out of memory" in capsys.readouterr().err) is is_its_own


# --- memory ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("megabytes", "heap"),
    [(1, "512m"), (2048, "512m"), (4096, "1024m"), (8192, "2048m"), (1 << 20, "2048m")],
)
def test_the_heap_is_a_quarter_of_the_memory_within_bounds(
    megabytes: int, heap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "memory_bytes", lambda: megabytes << 20)
    assert memory.default_heap() == heap
    assert ServerOptions().heap == heap
    assert ServerOptions(heap="3g").heap == "3g"


@pytest.mark.parametrize(
    ("limit", "is_less"), [("max\n", False), ("1048576\n", True), ("9" * 30, False)]
)
def test_a_container_may_have_less_memory_than_its_machine(
    limit: str,
    is_less: bool,  # noqa: FBT001 - pytest's arguments
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = memory.memory_bytes()
    (tmp_path / "memory.max").write_text(limit)
    monkeypatch.setattr(memory, "_OF_CONTAINER", tmp_path / "memory.max")
    assert (memory.memory_bytes() == 1_048_576) is is_less
    assert is_less or memory.memory_bytes() >= machine


@pytest.mark.parametrize("heap", ["", "0", "much", "-1g", "1t", "1g -version", "1.5g", 512, None])
def test_a_heap_that_java_would_not_take_is_refused(heap: object) -> None:
    with pytest.raises(ConfigurationError) as refused:
        ServerOptions(heap=heap)  # type: ignore[arg-type]  # what is tested
    assert refused.value.option == "heap"
