"""The command line of all benchmarks, and the server that they run on."""

from __future__ import annotations

import argparse
import difflib
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.catalog import JOBS, LOCAL_JOBS
from benchmarks.models import check_bytes, sources
from benchmarks.place import Place
from benchmarks.pure import ROOT, PureProcess
from benchmarks.results import FOLDER
from benchmarks.scale import PARTS
from hbase_orm import connect
from hbase_orm.server import EmbeddedServer, ServerOptions

ROWS: Final = 20_000
REPETITIONS: Final = 7
CHECK_REPETITIONS: Final = 5
QUICK_ROWS: Final = 1_000
QUICK_REPETITIONS: Final = 2
LEAST_ROWS: Final = 600
"""An index page has 100 rows of one unit of four; the newest 30 are those of one host of twenty."""

COMMANDS: Final[Mapping[str, Sequence[str]]] = {
    "run": (*JOBS, *LOCAL_JOBS),
    "check": tuple(JOBS),
    "scale": tuple(PARTS),
    "page": (),
}
"""The commands, each with the names that it takes after `--only`."""

_NAMED: Final = {"run": "job", "check": "job", "scale": "part", "page": "name"}

DESCRIPTION: Final = """\
run    measure everything, and write RESULTS.md, its pictures and results.json
check  measure a few scenarios, compare them with results.json, and exit with 1 if one is worse
scale  measure what a row costs by table size, columns, buckets, connections; write SCALE.md
page   write RESULTS.md and its pictures again from results.json

With --only or --quick what is measured is printed, and nothing is written. Progress goes to
standard error. Without a URL an embedded HBase is started for the run."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asks for.

    Attributes:
        command: What to do.
        url: The HBase to use; None for an embedded one.
        rows: Rows of a load; None for those of the command.
        repetitions: How often each variant runs; None for those of the command.
        only: Names of jobs or parts; empty for all.
        is_quick: Whether seconds have to be enough.
        output: The folder that is written.
    """

    command: str
    url: str | None
    rows: int | None
    repetitions: int | None
    only: tuple[str, ...]
    is_quick: bool
    output: Path

    @property
    def is_whole(self) -> bool:
        """Whether all is measured, at full size, so that it can be written."""
        return not self.only and not self.is_quick

    def names(self, every: Iterable[str], slow: Collection[str] = ()) -> list[str]:
        """Return which of some names are chosen: the named ones, or all but slow ones if quick."""
        if self.only:
            return [name for name in every if name in self.only]
        return [name for name in every if not (self.is_quick and name in slow)]

    def with_default(self, rows: int, repetitions: int) -> tuple[int, int]:
        """Return rows and repetitions: as given, or quick ones, or these."""
        if self.is_quick:
            rows, repetitions = QUICK_ROWS, QUICK_REPETITIONS
        return self.rows or rows, self.repetitions or repetitions


def parse(arguments: Sequence[str] | None = None) -> Options:
    """Read a command line; a wrong one ends the program with a message."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", nargs="?", default="run", metavar="run|check|scale|page")
    parser.add_argument("--url", default=os.environ.get("HBASE_ORM_URL") or None)
    parser.add_argument(
        "--rows",
        type=_at_least(LEAST_ROWS),
        help=f"rows of a load ({ROWS:,}); a scan reads five times as many",
    )
    parser.add_argument("--repetitions", type=_at_least(1), help=f"of each variant ({REPETITIONS})")
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    parser.add_argument("--quick", action="store_true", help="small and short: figures mean little")
    parser.add_argument("--output", type=Path, default=FOLDER, help="the folder that is written")
    given = parser.parse_args(arguments)
    if given.command not in COMMANDS:
        parser.error(unknown("command", given.command, tuple(COMMANDS)))
    for name in given.only:
        if name not in COMMANDS[given.command]:
            parser.error(unknown(_NAMED[given.command], name, COMMANDS[given.command]))
    return Options(
        command=given.command,
        url=given.url,
        rows=given.rows,
        repetitions=given.repetitions,
        only=tuple(given.only),
        is_quick=given.quick,
        output=given.output,
    )


def unknown(what: str, name: str, known: Sequence[str]) -> str:
    """Return the message for an unknown name: which one was probably meant, and all names."""
    if not known:
        return f"there is no {what} {name!r}: the command takes none"
    near = difflib.get_close_matches(name, known, n=1)
    meant = f"; did you mean {near[0]!r}?" if near else "."
    return f"there is no {what} {name!r}{meant} All: {', '.join(known)}"


def _at_least(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:  # argparse names it in the message for what is no number
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{text} is less than {least}")
        return value

    return number


@contextmanager
def place_of(options: Options, rows: int, repetitions: int) -> Iterator[tuple[Place, str]]:
    """Return the place that is measured, and what is known of its HBase; end both afterwards.

    Raises:
        SystemExit: The URL has no gateway of Thrift1.
    """
    check_bytes()
    with ExitStack() as stack:
        url, hbase = options.url, "of the URL given"
        if url is None:
            url = stack.enter_context(EmbeddedServer(ServerOptions(ephemeral=True))).url
            hbase = f"{_embedded_version()}, embedded"
        engine = stack.enter_context(connect(url))
        if not engine.options.thrift1:
            raise SystemExit(f"benchmarks need an HBase with Thrift1, which {url} has not")
        pure = stack.enter_context(PureProcess(url))
        yield Place(url, engine, rows, repetitions, tuple(sources(rows)), pure), hbase


def _embedded_version() -> str:
    text = (ROOT / "hbase_orm/server/pom.xml").read_text(encoding="utf-8")
    server = re.search(r"<artifactId>hbase-thrift</artifactId>\s*<version>(.*?)</version>", text)
    return server[1] if server else "of an unknown version"
