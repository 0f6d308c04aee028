"""One run of the demo, from the server to the last line."""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from examples.flights.data import FlightData
from examples.flights.expect import Expected, expected_of
from examples.flights.load import MODELS, Loader
from examples.flights.model import Flight
from examples.flights.show import Show, WrongAnswerError
from hbase_orm import Engine, connect
from hbase_orm.server import EmbeddedServer, default_data_dir

_TICK = 500
_KIB_PER_MB = 1024


def run(data: FlightData, url: str | None, *, reset: bool) -> None:
    """Load the flights into the HBase at `url`, or into the user's embedded one; query them.

    Raises:
        WrongAnswerError: An answer is not what the CSV says.
        HBaseORMError: The server or a request fails.
    """
    console = Console(highlight=False)
    start = time.monotonic()
    console.print(Text("hbase-orm demo: the flights that left New York in 2013", "bold"))
    is_ours = url is None
    url = url or _embedded(console)
    with connect(url) as engine:
        _say(console, f"connected to {url}")
        if reset:
            _say(console, f"dropped: {', '.join(engine.drop_tables(*MODELS)) or 'nothing'}")
        expected = _read(console, data)
        _load(console, engine, data, expected)
        _ask(console, engine, expected)
    _end(console, url, is_ours=is_ours, seconds=time.monotonic() - start)


def _say(console: Console, line: str) -> None:
    console.print(Text(line))


def _embedded(console: Console) -> str:
    """Return the URL of the user's own server; start it if it does not run."""
    running = EmbeddedServer.running(default_data_dir())
    if running is not None:
        _say(console, f"the embedded HBase runs already, with its data in {running.data_dir}")
        return running.url
    _say(console, "starting an embedded HBase (--url or HBASE_ORM_URL would name another one)")
    return EmbeddedServer().start(lambda line: _say(console, f"  {line}")).url


def _read(console: Console, data: FlightData) -> Expected:
    start = time.monotonic()
    expected = expected_of(data)
    if expected.keys != expected.flights:
        raise WrongAnswerError(f"{expected.flights} flights have only {expected.keys} keys")
    _say(
        console,
        f"read {expected.flights:,} flights from the CSV in {time.monotonic() - start:.1f} s: "
        "all keys are different",
    )
    return expected


def _load(console: Console, engine: Engine, data: FlightData, expected: Expected) -> None:
    def track(flights: Iterator[Flight]) -> Iterable[Flight]:
        return _tracked(console, flights, expected.flights)

    _say(console, f"row key {Flight.describe_key()}")
    loader = Loader(engine, data, expected.totals, expected.flights)
    loaded = loader.run(lambda line: _say(console, line), track)
    if loaded.rows:
        _say(
            console,
            f"loaded {loaded.rows:,} flights and as many index entries in {loaded.seconds:.1f} s: "
            f"{loaded.rows / loaded.seconds:,.0f} rows/s",
        )


def _tracked(console: Console, flights: Iterator[Flight], total: int) -> Iterator[Flight]:
    """Yield the flights and show how many have gone by: as a bar, or in a file as ten lines."""
    bar = Progress(
        TextColumn("loading"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f}"),
        TimeRemainingColumn(elapsed_when_finished=True),
        console=console,
        disable=not console.is_terminal,
    )
    task = bar.add_task("", total=total)
    tenth = total // 10 or 1
    with bar:
        for number, flight in enumerate(flights, 1):
            yield flight
            if number % _TICK == 0 or number == total:
                bar.update(task, completed=number)
            if bar.disable and number % tenth == 0:
                _say(console, f"loading: {number:,} of {total:,}")


def _ask(console: Console, engine: Engine, expected: Expected) -> None:
    with engine.session() as session:
        show = Show(console, engine, session, expected)
        show.one_get()
        show.one_month()
        show.newest()
        show.by_destination()
        show.totals()
        show.everything()


def _peak_memory_mb() -> float:
    """Return the most memory that this program held.

    On Linux `getrusage` also counts what its parent held before this program began.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().partition("VmHWM:")[2].split()[0]) / _KIB_PER_MB
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _KIB_PER_MB
    return peak / _KIB_PER_MB if sys.platform == "darwin" else peak  # macOS gives bytes


def _end(console: Console, url: str, *, is_ours: bool, seconds: float) -> None:
    peak = _peak_memory_mb()
    console.print()
    console.rule(Text("Done", "bold"), align="left")
    _say(console, f"every answer is right; {seconds:.0f} s, peak memory of Python {peak:.0f} MB")
    command = os.path.relpath(Path(sys.executable).with_name("hbase-orm"))
    if is_ours:
        _say(
            console,
            f"\nThe server keeps running. Stop it (the data stays):\n  {command} server stop",
        )
    _say(
        console,
        "\nNext:\n"
        f"  export HBASE_ORM_URL='{url}'\n"
        "  run the demo again: it reuses what is there (--reset begins again)\n"
        f"  {command} tables show examples.flights.model:Flight\n"
        "  read examples/flights/model.py, then docs/tutorial.md",
    )
