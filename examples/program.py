"""What the programs share: a command line, and how a question and its answer are shown."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

from hbase_orm import Engine, Select, Session, connect
from hbase_orm.errors import HBaseORMError
from hbase_orm.server import EmbeddedServer, default_data_dir

T = TypeVar("T")

NAMESPACE = "examples"
_SHOWN_ROWS = 8


def run(show: Callable[[Engine], None], arguments: Sequence[str] | None = None) -> None:
    """Run a program on the HBase of `--url` or `HBASE_ORM_URL`, else on an embedded one.

    Its tables go into the URL's namespace, or into `examples`. The program drops and makes them.

    Raises:
        SystemExit: The server or a request failed; the message is one line.
    """
    parser = argparse.ArgumentParser(description=sys.modules[show.__module__].__doc__)
    parser.add_argument("--url", default=os.environ.get("HBASE_ORM_URL") or None)
    url = parser.parse_args(arguments).url
    try:
        with connect(in_namespace(url or _embedded())) as engine:
            show(engine)
    except HBaseORMError as error:
        sys.exit(f"error: {' '.join(str(error).split())}")


def in_namespace(url: str) -> str:
    """Return the URL with a namespace: its own, or that of the examples."""
    parts = urlsplit(url)
    return urlunsplit(parts if parts.path.strip("/") else parts._replace(path=f"/{NAMESPACE}"))


def _embedded() -> str:
    """Return the URL of the user's own server; start it if it does not run."""
    running = EmbeddedServer.running(default_data_dir())
    return running.url if running else EmbeddedServer().start(print).url


def ask(session: Session, question: str, statement: Select[T]) -> list[T]:
    """Print the question, what is sent for it, and the rows; return the rows."""
    print(f"\n{question}\n{session.explain(statement)}")
    return answer(session.all(statement))


def answer(rows: list[T]) -> list[T]:
    """Print the rows, the first of them if they are many; return all."""
    shown: list[Any] = [*rows[:_SHOWN_ROWS]]
    for row in shown:
        print(f"  {row}")
    if len(rows) > len(shown):
        print(f"  … and {len(rows) - len(shown)} more")
    return rows
