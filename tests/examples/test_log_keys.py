from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from examples import log_keys
from examples.log_keys import DESIGNS, BucketLog, DigestLog, RawLog, SubstituteLog, questions
from tests.support.example_stages import Rows, Stage

pytestmark = pytest.mark.hbase

ROOT = Path(__file__).parents[2]
T0 = datetime(2024, 1, 1, tzinfo=UTC)
MS = timedelta(milliseconds=1)
AT = b"\x7f\xff\xfe\x73\x3d\xae\x0b"

# `printf web-1 | md5sum` and so on.
WEB_1 = bytes.fromhex("a2e3a94e0befb3546bfea8a1cb24ac48")
WEB_12 = bytes.fromhex("3f65f60b17af3ead626526195d52b567")
BOOT = bytes.fromhex("881cc4157ed641a365a86452f27ed745")
LOGIN = bytes.fromhex("d56b699830e77ba53855679cb1d252da")

EXPECTED: dict[str, Rows] = {
    "log_raw": {
        b"web-1\x00\x01boot\x00\x01" + AT + b"\xff": {b"d:m": b"up"},
        b"web-1\x00\x01login\x00\x01" + AT + b"\xe1": {b"d:m": b"bob"},
        b"web-1\x00\x01login\x00\x01" + AT + b"\xf4": {b"d:m": b"ann"},
        b"web-12\x00\x01login\x00\x01" + AT + b"\xeb": {b"d:m": b"eve"},
    },
    # 0, 11, 20 and 30 milliseconds past a multiple of eight.
    "log_bucket": {
        b"\x00" + AT + b"\xffweb-1\x00\x01boot": {b"d:m": b"up"},
        b"\x03" + AT + b"\xf4web-1\x00\x01login": {b"d:m": b"ann"},
        b"\x04" + AT + b"\xebweb-12\x00\x01login": {b"d:m": b"eve"},
        b"\x06" + AT + b"\xe1web-1\x00\x01login": {b"d:m": b"bob"},
    },
    "log_md5": {
        WEB_12 + LOGIN + AT + b"\xeb": {b"d:e": b"login", b"d:h": b"web-12", b"d:m": b"eve"},
        WEB_1 + BOOT + AT + b"\xff": {b"d:e": b"boot", b"d:h": b"web-1", b"d:m": b"up"},
        WEB_1 + LOGIN + AT + b"\xe1": {b"d:e": b"login", b"d:h": b"web-1", b"d:m": b"bob"},
        WEB_1 + LOGIN + AT + b"\xf4": {b"d:e": b"login", b"d:h": b"web-1", b"d:m": b"ann"},
    },
}

HOSTS = ("web-1", "web-12", "web", "web-1\x00", "vweb-1")
EVENTS = ("login", "log", "logins", "boot")
STARTS, STOPS = T0 + 1010 * MS, T0 + 1040 * MS
MORE = [
    (host, event, T0 + ms * MS) for host in HOSTS for event in EVENTS for ms in range(1000, 1050)
]


@pytest.fixture(scope="module")
def first(stage: Stage) -> dict[str, Rows]:
    stage.play(log_keys)
    return {table: stage.rows(table) for table in (*EXPECTED, "log_ids", "log_types")}


@pytest.fixture(scope="module")
def more(first: dict[str, Rows], stage: Stage) -> None:
    assert first
    for log in DESIGNS:
        stage.load(log(host=host, event=event, at=at, message="m") for host, event, at in MORE)


@pytest.mark.parametrize("table", EXPECTED)
def test_lines_stand_under_the_keys_of_the_design(first: dict[str, Rows], table: str) -> None:
    assert first[table] == EXPECTED[table]
    assert list(first[table]) == list(EXPECTED[table])


def test_hashed_keys_have_40_bytes_and_numbered_ones_24(first: dict[str, Rows]) -> None:
    assert {len(row) for row in first["log_md5"]} == {16 + 16 + 8}
    assert {len(row) for row in first["log_ids"]} == {8 + 8 + 8}


def test_numbers_stand_in_the_names_stead(first: dict[str, Rows]) -> None:
    numbers = {row[1:]: cells[b"d:v"] for row, cells in first["log_types"].items()}
    web_1, web_12 = numbers[b"web-1"], numbers[b"web-12"]

    assert {web_1, web_12, numbers[b"boot"], numbers[b"login"]} == {
        b"\x00\x00\x00\x00\x00\x00\x00" + last for last in (b"\x01", b"\x02", b"\x03", b"\x04")
    }
    assert first["log_ids"] == {
        web_1 + numbers[b"boot"] + AT + b"\xff": {b"d:m": b"up"},
        web_1 + numbers[b"login"] + AT + b"\xe1": {b"d:m": b"bob"},
        web_1 + numbers[b"login"] + AT + b"\xf4": {b"d:m": b"ann"},
        web_12 + numbers[b"login"] + AT + b"\xeb": {b"d:m": b"eve"},
    }


@pytest.mark.usefixtures("more")
@pytest.mark.parametrize(
    ("log", "scanners"),
    [
        (RawLog, (1, 1, 1)),
        (BucketLog, (8, 8, 8)),
        (DigestLog, (1, 1, 1)),
        (SubstituteLog, (1, 1, 1)),
    ],
)
def test_the_four_designs_give_equal_answers(
    stage: Stage, log: Any, scanners: tuple[int, ...]
) -> None:
    in_time = [each for each in MORE if STARTS <= each[2] < STOPS]
    of_host = [each for each in in_time if each[0] == "web-1"]
    wanted = [[each for each in of_host if each[1] == "login"], of_host, in_time]

    asked = [
        stage.sent_by(lambda session, stmt=stmt: session.all(stmt))  # type: ignore[misc]  # a default binds the loop's value
        for _, stmt in questions(log, STARTS, STOPS)
    ]

    found = [sorted((line.host, line.event, line.at) for line in lines) for lines, _ in asked]
    assert found == [sorted(lines) for lines in wanted]
    assert tuple(cost.scanners for _, cost in asked) == scanners


MEETS_NEW_NAMES = """
import sys
from datetime import UTC, datetime
from examples.log_keys import SubstituteLog
from hbase_orm import connect

process = int(sys.argv[2])
with connect(sys.argv[1]) as engine:
    print("ready", flush=True)
    sys.stdin.readline()
    for n in range(8):
        with engine.session() as session:
            at = datetime(2025, 1, 1, 0, 0, process, tzinfo=UTC)
            session.add(SubstituteLog(host=f"new-{n}", event="met", at=at, message=str(process)))
"""


@pytest.mark.usefixtures("first")
def test_two_processes_that_meet_new_names_at_once_get_one_number_each(stage: Stage) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", MEETS_NEW_NAMES, stage.url, str(number)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in (1, 2)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        process.communicate(timeout=60)
        assert process.returncode == 0

    names = {row: cells[b"d:v"] for row, cells in stage.rows("log_types").items()}
    met = names[b"nmet"]
    numbers = [names[b"nnew-%d" % n] for n in range(8)]
    rows = stage.rows("log_ids")
    assert len({met, *numbers}) == 9
    for number in numbers:
        of_name = [cells[b"d:m"] for row, cells in rows.items() if row[:16] == number + met]
        assert of_name == [b"2", b"1"]  # the later one first
