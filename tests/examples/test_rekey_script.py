from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from examples import rekey_script
from examples.rekey_script import EXCLUSIVE, Salted, Unsalted, migrations, rekey
from hbase_orm import connect
from tests.support.example_stages import Rows, Stage

pytestmark = pytest.mark.hbase

ROOT = Path(__file__).parents[2]
START = datetime(2025, 1, 1, tzinfo=UTC)
ROWS = [
    (host, START + n * timedelta(milliseconds=1), f"{host} {n}", "noted" if n % 3 else None)
    for host in ("web", "web-1", "web-12", "web\x00", "")
    for n in range(600)
]


DIES = """
import os, sys, threading
from examples import rekey_script
from hbase_orm import connect
from hbase_orm.ops import PutStampedRows
from tests.support.recording import RecordsRequests, gateway_of, through

class Dies(RecordsRequests):
    writes_left = int(sys.argv[2])
    one_at_a_time = threading.Lock()
    def execute(self, operation, /):
        is_copy = isinstance(operation, PutStampedRows)
        if not is_copy or not operation.table.endswith("rekey_salted"):
            return self.inner.execute(operation)
        with self.one_at_a_time:
            self.writes_left -= 1
            if self.writes_left < 0:
                os._exit(9)
            return self.inner.execute(operation)

with connect(sys.argv[1]) as plain:
    rekey_script.rekey(through(Dies(gateway_of(plain)), plain))
"""


@pytest.fixture(scope="module")
def url(stage: Stage) -> str:
    """The URL of programs that wait for one another for a second."""
    stage.url = f"{stage.url}&lease_s=1"
    return stage.url


@pytest.fixture(scope="module")
def first(stage: Stage, url: str) -> tuple[str, Rows, list[bytes]]:
    assert "lease_s=1" in url
    printed = stage.play(rekey_script)
    return printed, stage.rows("rekey_salted"), stage.starts("rekey_salted")


def salt_of(key: bytes) -> int:
    """Phoenix's: 1, then 31 times itself plus each byte, as a signed number of 32 bits."""
    number = 1
    for byte in key:
        number = (31 * number + (byte if byte < 128 else byte - 256)) % 2**32
    number = number - 2**32 if number >= 2**31 else number
    return abs(number) % 8


def test_rows_get_a_salt_and_keep_their_cells(
    first: tuple[str, Rows, list[bytes]],
) -> None:
    printed, rows, starts = first

    assert "move the rows of rekey_unsalted to rekey_salted: 2,000 rows" in printed
    assert "check rows: 2,000" in printed
    assert "the old class is refused: the model contradicts" in printed
    assert len(rows) == 2000
    assert starts == [b"", *(bytes([salt]) for salt in range(1, 8))]
    assert rows[b"\x03web-1\x00\x01\x00\x00\x01\x8c\xc2\x51\xf7\xe8"] == {b"d:v": b"1"}


@pytest.mark.usefixtures("first")
def test_killed_and_run_again_every_row_is_copied_once_and_back(stage: Stage, url: str) -> None:
    with connect(url) as engine:
        engine.drop_tables(Unsalted, Salted)
        migrations(engine).stamp("base")
        engine.create_tables(Unsalted)
        with engine.session() as session, session.bulk() as bulk:
            bulk.add_all(
                Unsalted(host=h, at=at, value=value, note=note) for h, at, value, note in ROWS
            )

        for writes in ("0", "1"):  # calls with many rows each
            died = subprocess.run(
                [sys.executable, "-c", DIES, url, writes],
                cwd=ROOT,
                capture_output=True,
                text=True,
                check=False,
            )
            assert died.returncode == 9, died.stderr
        assert 0 < len(stage.rows("rekey_salted")) < 3000
        rekey(engine)

        old, new = stage.rows("rekey_unsalted"), stage.rows("rekey_salted")
        assert len(old) == 3000
        assert new == {bytes([salt_of(key)]) + key: cells for key, cells in old.items()}
        migrations(engine).downgrade("base", options=EXCLUSIVE)
        assert stage.rows("rekey_unsalted") == old
