from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from examples.flights import __main__ as command
from examples.flights.data import FlightData, find_data
from examples.flights.expect import expected_of
from examples.flights.model import CarrierTotal, Flight, LoadNote, flight_of, line_of
from hbase_orm import connect, select
from hbase_orm.index.catalog.entry import TableState

ROOT = Path(__file__).parents[2]
DEMO = [sys.executable, "-m", "examples.flights"]
SAMPLE = 3_000
INTERRUPTED_SAMPLE = 40_000
WAIT_S = 100


def run_demo(url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*DEMO, "--url", url, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )


def test_every_flight_has_a_key_of_its_own_and_becomes_its_line_again() -> None:
    folder = find_data()
    assert folder is not None
    data = FlightData(folder, 20_000)

    expected = expected_of(data)

    assert expected.keys == expected.flights == 20_000
    assert all(line_of(flight_of(line)) == line for line in data.lines())


def test_missing_packages_are_one_line_that_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["flights"])
    monkeypatch.setattr(command, "find_data", lambda: None)

    assert command.main() == 2
    assert capsys.readouterr().err == (
        "the demo's packages are not installed: pip install 'hbase-orm[demo]'\n"
    )


def test_an_unreachable_server_is_one_line() -> None:
    ended = run_demo("hbase://127.0.0.1:1?thrift2=127.0.0.1:1", "--sample", "10")

    assert ended.returncode == 1
    assert re.fullmatch(r"error: .*\n", ended.stderr)


@pytest.mark.hbase
def test_a_run_checks_its_answers_and_a_second_one_reuses_the_load(hbase_url: str) -> None:
    first = run_demo(hbase_url, "--sample", str(SAMPLE))
    second = run_demo(hbase_url, "--sample", str(SAMPLE))

    assert (first.returncode, first.stderr) == (0, "")
    assert "loaded 3,000 flights" in first.stdout
    assert (second.returncode, second.stderr) == (0, "")
    assert "reused" in second.stdout
    assert "loaded 3,000" not in second.stdout
    for output in (first.stdout, second.stdout):
        assert "✓ 3,000 rows in" in output
        assert "✓ 3,000 index entries in" in output
        assert "\x1b" not in output
        assert "\r" not in output
        assert max(map(len, output.splitlines())) <= 80 + len(hbase_url)
        memory = re.search(r"peak memory of Python (\d+) MB", output)
        assert memory is not None
        assert int(memory[1]) < 250


@pytest.mark.hbase
def test_another_sample_takes_the_place_of_the_first(hbase_url: str) -> None:
    run_demo(hbase_url, "--sample", "1000")

    smaller = run_demo(hbase_url, "--sample", "400")

    assert smaller.returncode == 0, smaller.stderr
    assert "✓ 400 rows in" in smaller.stdout


@pytest.mark.hbase
def test_a_killed_load_is_finished_by_the_next_run(hbase_url: str) -> None:
    # The second load waits until the first one's lease and its requests are over.
    url = f"{hbase_url}{'&' if '?' in hbase_url else '?'}lease_s=5&timeout_s=10"
    arguments = ["--sample", str(INTERRUPTED_SAMPLE)]
    process = subprocess.Popen(
        [*DEMO, "--url", url, *arguments], cwd=ROOT, stdout=subprocess.DEVNULL
    )
    try:
        wait_for_rows(url)
    finally:
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    with connect(url) as engine:
        assert engine.table_state(Flight) is TableState.LOADING

    ended = run_demo(url, *arguments)

    assert ended.returncode == 0, ended.stderr
    assert "these loaders seem to be dead" in ended.stderr
    assert "an earlier load was interrupted" in ended.stdout
    assert "✓ 40,000 rows in" in ended.stdout
    assert "✓ 40,000 index entries in" in ended.stdout


def wait_for_rows(url: str) -> None:
    """Return as soon as a load is under way: most of it is still to come."""
    until = time.monotonic() + WAIT_S
    with connect(url) as engine, engine.session() as session:
        while time.monotonic() < until:
            state = engine.table_state(Flight)
            if state is TableState.LOADING and session.exists(select(Flight).allow_full_scan()):
                return
            if state is TableState.READABLE:
                pytest.fail("the load was over before it could be interrupted")
            time.sleep(0.02)
    pytest.fail("no row was loaded")


@pytest.mark.hbase
def test_totals_that_were_interrupted_are_added_up_anew(hbase_url: str) -> None:
    run_demo(hbase_url, "--sample", "1000")
    with connect(hbase_url) as engine, engine.session() as session:
        note = session.get(LoadNote, name="flights")
        assert note is not None
        note.finished = None
        session.flush()
        session.increment(CarrierTotal, CarrierTotal.flights.by(7), carrier="UA")

    ended = run_demo(hbase_url, "--sample", "1000")

    assert ended.returncode == 0, ended.stderr
    assert "not all totals" in ended.stdout


@pytest.mark.hbase
def test_a_wrong_row_ends_the_demo_loudly(hbase_url: str) -> None:
    run_demo(hbase_url, "--sample", "1000")
    with connect(hbase_url) as engine, engine.session() as session:
        flight = session.first(select(Flight).where(Flight.destination == "ORD"))
        assert flight is not None
        flight.miles += 1
        session.flush()

    ended = run_demo(hbase_url, "--sample", "1000")

    assert ended.returncode == 1
    assert ended.stderr.startswith("WRONG ANSWER: ")
    assert "Done" not in ended.stdout


@pytest.mark.hbase
def test_an_interrupt_is_one_line(hbase_url: str) -> None:
    process = subprocess.Popen(
        [*DEMO, "--url", hbase_url, "--sample", str(INTERRUPTED_SAMPLE)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        # A background job of a shell inherits an ignored SIGINT, which Python then leaves ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - no threads yet
    )
    try:
        wait_for_rows(hbase_url)
        process.send_signal(signal.SIGINT)
    except BaseException:
        process.kill()
        raise
    finally:
        _, errors = process.communicate(timeout=WAIT_S)

    assert errors == "interrupted; another run goes on from here\n"
    assert process.returncode == 130
