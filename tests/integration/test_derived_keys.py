"""The session's promises of derived row keys, on a real HBase, and several processes at once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hbase_orm import Engine, connect, select

pytest.register_assert_rewrite("tests.session_keys")

# The cases are shared with the memory gateway; they are imported after the rewriting is registered.
from tests.session_keys.dictionaries import *  # noqa: E402, F403  # its tests run here, their asserts rewritten
from tests.session_keys.dictionaries import TAG_MODELS  # noqa: E402  # after the rewriting is registered
from tests.session_keys.random_salt import *  # noqa: E402, F403  # its tests run here, their asserts rewritten
from tests.session_keys.random_salt import VISIT_MODELS  # noqa: E402  # after the rewriting is registered
from tests.session_keys.record_type import *  # noqa: E402, F403  # its tests run here, their asserts rewritten
from tests.session_keys.record_type import RECORD_MODELS  # noqa: E402  # after the rewriting is registered
from tests.session_keys.stores import Store  # noqa: E402  # after the rewriting is registered
from tests.session_keys.substitute import *  # noqa: E402, F403  # its tests run here, their asserts rewritten
from tests.session_keys.substitute import LOG_MODELS, Log  # noqa: E402  # after the rewriting is registered
from tests.session_keys.table_per_period import *  # noqa: E402, F403  # its tests run here, their asserts rewritten
from tests.session_keys.table_per_period import DAY, Sighting  # noqa: E402  # after the rewriting is registered

pytestmark = pytest.mark.hbase

ROOT = Path(__file__).parents[2]

_PRELUDE = """
import json, sys
from datetime import UTC, datetime, timedelta
from hbase_orm import connect
from tests.session_keys.substitute import Log
from tests.session_keys.table_per_period import Sighting
arguments = json.loads(sys.argv[1])
who, day = arguments["who"], datetime.fromisoformat(arguments["day"])
engine = connect(arguments["url"])
print("ready", flush=True)
input()
with engine.session() as session:
"""

_NAMES = """
    for n in range(100):
        name = arguments["name"]
        session.add(Log(host=f"{name}-{n % 25}", event=name, at=day + timedelta(n), message=who))
    session.flush()
    session.increment(Log, Log.hits.by(1), host=f"{name}+", event=name, at=day)
"""

_TABLES = """
    for n in range(3):
        session.add(Sighting(at=day + timedelta(n), host=who))
    session.flush()
    session.increment(Sighting, Sighting.hits.by(1), at=day + timedelta(3), host="both")
"""


@pytest.fixture(scope="module")
def engine(url: str) -> Iterator[Engine]:
    with connect(url) as engine:
        engine.create_tables(*VISIT_MODELS, *RECORD_MODELS, *LOG_MODELS, *TAG_MODELS)
        yield engine


@pytest.fixture
def store(engine: Engine) -> Store:
    return Store.on(engine)


def run_together(script: str, every: Sequence[dict[str, Any]]) -> None:
    """Run one process for each set of arguments; they begin once all are connected."""
    with ExitStack() as stack:
        processes = []
        for arguments in every:
            command = [sys.executable, "-c", _PRELUDE + script, json.dumps(arguments)]
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
            )
            processes.append(stack.enter_context(process))
            stack.callback(process.kill)
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        assert [process.wait(60) for process in processes] == [0] * len(every)


def test_processes_that_meet_new_names_at_once_write_the_same_row_keys(
    store: Store, url: str, name: str
) -> None:
    day = datetime(2024, 1, 1, tzinfo=UTC)
    arguments = {"url": url, "name": name, "day": day.isoformat()}

    run_together(_NAMES, [{**arguments, "who": who} for who in ("a", "b", "c")])

    with store.engine.session() as session:
        rows = [
            row
            for n in range(25)
            for row in session.all(select(Log).where(Log.host == f"{name}-{n}"))
        ]
        counted = session.get(Log, host=f"{name}+", event=name, at=day)
    assert len(rows) == 100  # each process wrote the same hundred
    assert counted is not None
    assert counted.hits == 3


def test_processes_that_need_a_table_at_once_all_write_to_it(
    store: Store, url: str, day: datetime
) -> None:
    arguments = {"url": url, "day": day.isoformat()}

    run_together(_TABLES, [{**arguments, "who": who} for who in ("a", "b", "c")])

    with store.engine.session() as session:
        visits = session.all(
            select(Sighting).where(
                Sighting.at >= day,
                Sighting.at <= day + 3 * DAY,
            )
        )
    assert [visit.host for visit in visits] == ["a", "b", "c"] * 3 + ["both"]
    assert visits[-1].hits == 3
