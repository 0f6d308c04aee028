"""Runners of real revisions that are killed (SIGKILL) again and again, at any moment.

The steps change tables with rows: families, a column, a codec, an index, and the row key, the last
one while other programs may use the table. Whatever was interrupted, the tables end as those of a
run that nobody killed: descriptors, records and the values of all cells.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hbase_orm import connect
from hbase_orm.record.declaration import TableRecord
from hbase_orm.record.store import ID_ATTRIBUTE
from hbase_orm.testing import RealHBase
from tests.support.migrated_tables import TableContents, contents

pytestmark = [pytest.mark.hbase, pytest.mark.timeout(1800)]

MAIN = "from hbase_orm.cli.main import main; main()"
KILLS = 20
SOAK_KILLS = 100
KILLS_OF_A_RUN = 5
OPTIONS = (("--exclusive",), ("--gateway-timeout", "1"))
"""The options of `upgrade` for each of the two revisions."""

TABLES = ("orders", "orders_by_shop")

HEADER = """
from datetime import UTC, datetime, timedelta
from hbase_orm import Family, Index, Key, Mapped, Model, Salt, codecs, column, connect, key, rowkey
"""
BEFORE = f"""{HEADER}
class Order(Model, table="orders"):
    d = Family(versions=2)
    at: Key[datetime] = key(codecs.millis())
    shop: Key[str] = key()
    city: Mapped[str] = column(d, "c")
    size: Mapped[int] = column(d, "s", codec=codecs.uint32())
    note: Mapped[str | None] = column(d, "n", default=None)

def fill(url, rows):
    with connect(url) as engine:
        engine.create_tables(Order)
        noon = datetime(2024, 1, 1, 12, tzinfo=UTC)
        with engine.session() as session, session.bulk() as bulk:
            for n in range(rows):
                note = None if n % 3 else f"note {{n}}"
                at = noon + timedelta(seconds=n)
                bulk.add(Order(at=at, shop=f"s{{n % 7}}", city=f"c{{n % 5}}", size=n, note=note))
"""
CHANGED = f"""{HEADER}
class Order(Model, table="orders"):
    d = Family(versions=3)
    e = Family(ttl=timedelta(days=90))
    at: Key[datetime] = key(codecs.millis())
    shop: Key[str] = key()
    city: Mapped[str] = column(d, "c")
    size: Mapped[int] = column(d, "s", codec=codecs.int64())
    note: Mapped[str | None] = column(d, "n", default=None)
    unit: Mapped[str] = column(d, "u", default="kg")
    seen: Mapped[int | None] = column(e, "t", default=None)
    by_city = Index(city)
"""
MOVED = f"""{HEADER}
class Order(Model, table="orders_by_shop"):
    d = Family(versions=3)
    e = Family(ttl=timedelta(days=90))
    shop: Key[str] = key()
    at: Key[datetime] = key(codecs.millis())
    city: Mapped[str] = column(d, "c")
    size: Mapped[int] = column(d, "s", codec=codecs.int64())
    note: Mapped[str | None] = column(d, "n", default=None)
    unit: Mapped[str] = column(d, "u", default="kg")
    seen: Mapped[int | None] = column(e, "t", default=None)
    __rowkey__ = rowkey(Salt(4), shop, at)
    by_city = Index(city)
"""
ROWS = 300


@dataclass
class Shop:
    """A folder with models and revisions, and a namespace with the table and the history."""

    folder: Path
    url: str
    output: list[str] = field(default_factory=list)

    def declare(self, models: str) -> None:
        (self.folder / "shop_models.py").write_text(models)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", MAIN, "--url", self.url, *arguments],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def finish(self, *arguments: str) -> str:
        process = self.start(*arguments)
        out, _ = process.communicate(timeout=300)
        assert process.returncode == 0, out
        return out

    def fill(self) -> None:
        program = f"import shop_models; shop_models.fill({self.url!r}, {ROWS})"
        subprocess.run([sys.executable, "-c", program], cwd=self.folder, check=True, timeout=120)

    def contents(self) -> dict[str, tuple[Any, ...]]:
        """Return what the tables are, but for timestamps, guards, ids and the namespace."""
        with connect(self.url) as engine:
            namespace = engine.options.namespace
            return {table: _compared(contents(engine, table), namespace) for table in TABLES}


def _compared(table: TableContents, namespace: str) -> tuple[Any, ...]:
    assert table.record is not None
    record = TableRecord("", table.record).encode().decode().replace(namespace, "")
    attributes = {**table.descriptor.attributes, ID_ATTRIBUTE: ""}
    return table.descriptor.families, attributes, json.loads(record), table.values


@dataclass(frozen=True)
class Expected:
    """What a run without kills leaves, and how long its commands take and how much they print."""

    folder: Path
    contents: dict[str, tuple[Any, ...]]
    commands: tuple[tuple[str, ...], ...]
    seconds: tuple[float, ...]
    lines: tuple[int, ...]


class Namespaces:
    """Makes namespaces that are dropped at the end."""

    def __init__(self, hbase: RealHBase) -> None:
        self._hbase = hbase
        self._names: list[str] = []

    def url(self) -> str:
        self._names.append(f"k{os.urandom(6).hex()}")
        url = self._hbase.url_in(self._names[-1])
        return f"{url}{'&' if '?' in url else '?'}lease_s=0.5&timeout_s=2"

    def drop(self) -> None:
        for name in self._names:
            self._hbase.drop_namespace(name)


@pytest.fixture(scope="module")
def namespaces(hbase: RealHBase) -> Iterator[Namespaces]:
    namespaces = Namespaces(hbase)
    yield namespaces
    namespaces.drop()


@pytest.fixture(scope="module")
def expected(namespaces: Namespaces, tmp_path_factory: pytest.TempPathFactory) -> Expected:
    """Write the revisions as a user would, and apply them without a kill."""
    shop = Shop(tmp_path_factory.mktemp("revisions"), namespaces.url())
    (shop.folder / "pyproject.toml").write_text('[tool.hbase-orm]\nmodels = ["shop_models"]\n')
    shop.declare(BEFORE)
    shop.finish("init")
    shop.fill()
    commands, seconds, lines = [], [], []
    for models, options in zip((CHANGED, MOVED), OPTIONS, strict=True):
        shop.declare(models)
        shop.finish("revision", "--autogenerate", "-m", "change the orders")
        # The revision is named: "+1" after a kill could be the next one.
        command = ("upgrade", head_of(shop), "--yes", *options)
        commands.append(command)
        began_s = time.monotonic()
        lines.append(len(shop.finish(*command).splitlines()))
        seconds.append(time.monotonic() - began_s)
    shop.finish("check")
    return Expected(shop.folder, shop.contents(), tuple(commands), tuple(seconds), tuple(lines))


def head_of(shop: Shop) -> str:
    """Return the id of the last revision in the folder."""
    return shop.finish("heads").split()[0]


def kill_later(process: subprocess.Popen[str], after_s: float, after_lines: int | None) -> bool:
    """Kill a process after a time or after so many lines of output; return whether it still ran."""
    ended = threading.Event()

    def read() -> None:
        assert process.stdout is not None
        for number, _ in enumerate(process.stdout, 1):
            if number == after_lines:
                ended.set()
        ended.set()

    reader = threading.Thread(target=read)
    reader.start()
    ended.wait(60 if after_lines is not None else after_s)
    was_running = process.poll() is None
    if was_running:
        process.send_signal(signal.SIGKILL)
    process.wait(60)
    reader.join(60)
    if process.stdout is not None:
        process.stdout.close()
    return was_running and process.returncode == -signal.SIGKILL


def run_with_kills(shop: Shop, expected: Expected, kills: int, seed: int) -> int:
    """Apply the revisions; return how many runners were killed while they ran."""
    chance, killed = random.Random(seed), 0
    steps = zip(expected.commands, expected.seconds, expected.lines, strict=True)
    for command, seconds, lines in steps:
        for turn in range(kills):
            after_lines = chance.randint(1, lines) if turn % 2 else None
            process = shop.start(*command)
            if not kill_later(process, chance.uniform(0.5, seconds * 0.6), after_lines):
                break
            killed += 1
        shop.finish(*command)
    return killed


def check_kills(
    namespaces: Namespaces, expected: Expected, tmp_path: Path, kills: int, seed: int
) -> None:
    killed, runs = 0, 0
    while killed < kills:
        folder = tmp_path / str(runs)
        shutil.copytree(expected.folder, folder)
        shop = Shop(folder, namespaces.url())
        shop.declare(BEFORE)
        shop.fill()
        shop.declare(MOVED)
        killed += run_with_kills(shop, expected, KILLS_OF_A_RUN, seed + runs)
        runs += 1
        assert shop.contents() == expected.contents
        shop.finish("index", "verify")
        assert runs <= kills, killed


def test_killed_runners_leave_what_one_run_leaves(
    namespaces: Namespaces, expected: Expected, tmp_path: Path
) -> None:
    check_kills(namespaces, expected, tmp_path, KILLS, seed=1)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_many_killed_runners_leave_what_one_run_leaves(
    namespaces: Namespaces, expected: Expected, tmp_path: Path
) -> None:
    check_kills(namespaces, expected, tmp_path, SOAK_KILLS, seed=1000)
