"""How `docker/engine.sh` starts an engine on a machine that has just got one.

`docker` and `dockerd` are small scripts here, so that the engine can be slow or end at once.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

_SCRIPT = Path(__file__).parents[2] / "docker" / "engine.sh"

_VERSION = "[[ ${1:-} == --version ]] && exit\n"

# Answers once dockerd has come up, and counts how often it was called.
_DOCKER = """
echo -n x >>$CALLS
[[ -e $UP ]]
"""

# Comes up after ten calls of `docker`; only then it writes its pid.
_SLOW_DOCKERD = """
while (($(wc -c <$CALLS) < 10)); do sleep 0.02; done
while [[ $1 != --pidfile ]]; do shift; done
echo $$ >$2
touch $UP
trap 'rm -f $UP; exit' TERM
for ((beat = 0; beat < 1000; beat++)); do sleep 0.05; done # ends by itself if nobody stops it
"""

_BROKEN_DOCKERD = """
echo 'failed to start daemon: no cgroups'
exit 1
"""


class Engine:
    """The script with its own folders and its own `docker` and `dockerd`."""

    def __init__(self, folder: Path, dockerd: str) -> None:
        programs = folder / "programs"
        programs.mkdir()
        self._environment = {
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "CALLS": str(folder / "calls"),
            "UP": str(folder / "up"),
            "HBASE_ORM_ENGINE_HOME": str(folder / "home"),
            "HBASE_ORM_ENGINE_RUN": str(folder / "run"),
        }
        shims = {"docker": _DOCKER, "dockerd": dockerd, "iptables": "", "id": "echo 0"}
        shims["apt-get"] = "exit 1"  # nothing is installed for real
        for name, lines in shims.items():
            (programs / name).write_text(f"#!{shutil.which('bash')}\n{_VERSION}{lines}")
            (programs / name).chmod(0o755)

    def run(self, command: str, *, seconds: int = 0) -> subprocess.CompletedProcess[str]:
        """Run a command of the script as one that has been at work for `seconds`."""
        return subprocess.run(
            [_SCRIPT, command],
            env={**self._environment, "SECONDS": str(seconds)},
            capture_output=True,
            text=True,
            check=False,
            timeout=90,
        )


@pytest.fixture
def slow_engine(tmp_path: Path) -> Iterator[Engine]:
    engine = Engine(tmp_path, _SLOW_DOCKERD)
    yield engine
    engine.run("stop")


@pytest.mark.parametrize("seconds", [0, 300])
def test_an_engine_is_waited_for_however_long_its_installation_took(
    slow_engine: Engine, seconds: int
) -> None:
    started = slow_engine.run("start", seconds=seconds)

    assert "started dockerd, pid " in started.stderr
    assert started.returncode == 0


def test_an_engine_that_ends_at_once_is_an_error_with_the_end_of_its_log(tmp_path: Path) -> None:
    started = Engine(tmp_path, _BROKEN_DOCKERD).run("start")

    assert started.returncode == 1
    assert "    failed to start daemon: no cgroups\n" in started.stderr
    assert started.stderr.endswith("engine: dockerd ended before it answered\n")


def test_an_engine_that_is_started_is_stopped_by_the_script(slow_engine: Engine) -> None:
    slow_engine.run("start")

    stopped = slow_engine.run("stop")

    assert "stopped dockerd" in stopped.stderr
    assert slow_engine.run("status").returncode == 1


def test_an_engine_that_answers_is_used_and_not_stopped(tmp_path: Path) -> None:
    engine = Engine(tmp_path, _BROKEN_DOCKERD)
    (tmp_path / "up").touch()

    started, stopped = engine.run("start"), engine.run("stop")

    assert "an engine answers already" in started.stderr
    assert "nothing to stop" in stopped.stderr
