from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from examples import rekey_script
from examples.rekey_script import Progress, Salted, Unsalted, copy, differences, rekey
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
import os, sys
from examples import rekey_script
from hbase_orm import connect
from hbase_orm.ops import MutateRows
from tests.support.recording import RecordsRequests, gateway_of, through

class Dies(RecordsRequests):
    writes_left = int(sys.argv[2])
    def execute(self, operation, /):
        if isinstance(operation, MutateRows):
            self.writes_left -= 1
            if self.writes_left < 0:
                os._exit(9)
        return self.inner.execute(operation)

with connect(sys.argv[1]) as plain:
    rekey_script.rekey(through(Dies(gateway_of(plain)), plain))
"""


@pytest.fixture(scope="module")
def first(stage: Stage) -> tuple[str, Rows, list[bytes]]:
    return stage.play(rekey_script), stage.rows("rekey_salted"), stage.starts("rekey_salted")


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

    assert "copied 2,000, up to web-6" in printed
    assert "every row of the one table is in the other" in printed
    assert len(rows) == 2000
    assert starts == [b"", *(bytes([salt]) for salt in range(1, 8))]
    assert rows[b"\x03web-1\x00\x01\x00\x00\x01\x8c\xc2\x51\xf7\xe8"] == {b"d:v": b"1"}


@pytest.mark.usefixtures("first")
def test_killed_at_any_batch_and_run_again_every_row_is_copied_once(stage: Stage) -> None:
    stage.engine.drop_tables(Unsalted, Salted, Progress)
    stage.engine.create_tables(Unsalted)
    stage.load(Unsalted(host=h, at=at, value=value, note=note) for h, at, value, note in ROWS)

    # A batch is 500 rows in one call, its note another: killed before notes and before batches.
    for writes in ("1", "4"):
        died = subprocess.run(
            [sys.executable, "-c", DIES, stage.url, writes],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert died.returncode == 9, died.stderr
    already = len(stage.rows("rekey_salted"))
    assert 500 <= already < 3000
    rekey(stage.engine)

    old, new = stage.rows("rekey_unsalted"), stage.rows("rekey_salted")
    assert len(old) == 3000
    assert new == {bytes([salt_of(key)]) + key: cells for key, cells in old.items()}
    assert copy(stage.engine) == 0

    with stage.engine.session() as session:
        session.delete_row(Salted, host="web", at=START)
        session.put_row(Salted, Salted.value.to("another"), host="web-1", at=START)
        session.add(Salted(host="web-2", at=START, value="one more"))
    assert differences(stage.engine) == 3
