"""The command line: `python -m benchmarks [--url URL] [--rows N] [--repetitions N] [--only NAME]`.

Prints a report in Markdown; progress goes to standard error. Without a URL an embedded server is
started for the run, unless only jobs that need none are chosen.
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from benchmarks import (
    columnar,
    fanout,
    guarded,
    imports,
    keys,
    load,
    moving,
    newest,
    planning,
    pushdown,
    reading,
    scan,
)
from benchmarks.models import (
    HandEntry,
    HandReading,
    IndexedReading,
    PlainReading,
    SaltedReading,
    ThriceIndexedReading,
    TwiceIndexedReading,
    check_bytes,
    sources,
)
from benchmarks.place import Place
from hbase_orm import connect
from hbase_orm.server import EmbeddedServer, ServerOptions

JOBS: dict[str, Callable[[Place], str]] = {
    "load": load.plain,
    "load-indexed": load.indexed,
    "guarded-updates": guarded.updates,
    "index-lookup": guarded.lookups,
    "scan": scan.scan,
    "arrow": columnar.arrow,
    "scan-sparse": reading.sparse,
    "get-many": reading.by_key,
    "wide-rows": reading.wide,
    "newest": newest.newest,
    "fanout": fanout.fanout,
    "pushdown": pushdown.pushdown,
    "planning": planning.planning,
    "moving": moving.moving,
}
MODELS = (
    PlainReading,
    IndexedReading,
    TwiceIndexedReading,
    ThriceIndexedReading,
    SaltedReading,
    HandReading,
    HandEntry,
    *moving.MODELS,
    *reading.MODELS,
)
LOCAL_JOBS: dict[str, Callable[[int], str]] = {"keys": keys.keys, "imports": imports.imports}
"""Jobs that need no server; they take the number of repetitions."""


def main() -> None:
    """Run the benchmarks and print the report."""
    arguments = _arguments()
    chosen = arguments.only or [*LOCAL_JOBS, *JOBS]
    print(
        f"Python {platform.python_version()}, {os.cpu_count()} cores, load average "
        f"{os.getloadavg()[0]:.1f} before, {arguments.repetitions} repetitions.\n"
    )
    for name in chosen:
        if name in LOCAL_JOBS:
            print(LOCAL_JOBS[name](arguments.repetitions), end="\n\n", flush=True)
    with_server = [name for name in chosen if name in JOBS]
    if with_server:
        _run_on_server(with_server, arguments)
    print(f"Load average {os.getloadavg()[0]:.1f} after.")


def _run_on_server(names: Sequence[str], arguments: argparse.Namespace) -> None:
    check_bytes()
    with ExitStack() as stack:
        url = arguments.url
        if url is None:
            options = ServerOptions(ephemeral=True)
            url = stack.enter_context(EmbeddedServer(options)).url
        engine = stack.enter_context(connect(url))
        place = Place(engine, arguments.rows, arguments.repetitions, tuple(sources(arguments.rows)))
        for name in names:
            print(JOBS[name](place), end="\n\n", flush=True)
        engine.drop_tables(*MODELS)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--url", default=os.environ.get("HBASE_ORM_URL") or None)
    parser.add_argument("--rows", type=int, default=20_000, help="rows of a load")
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--only", action="append", choices=[*LOCAL_JOBS, *JOBS])
    return parser.parse_args()


if __name__ == "__main__":
    main()
