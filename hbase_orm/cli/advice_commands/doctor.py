"""`hbase-orm doctor`: the versions, the reader of rows, and whether the gateways answer."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import click

from hbase_orm.cli.frame import Command, answer, settings, table
from hbase_orm.compiled import compiled_cells, refusal
from hbase_orm.session import connect
from hbase_orm.session.engine import runtime_of

_PACKAGES = ("hbase_orm", "happybase", "thriftpy2", "msgspec", "click")


@click.command(cls=Command)
def doctor() -> None:
    """Show the versions, which reader of rows is in use, and whether the gateways answer.

    Nothing is changed. Without a URL nothing is sent.
    """
    report: dict[str, Any] = {
        "python": platform.python_version(),
        "packages": {name: version(name) for name in _PACKAGES},
        "reader": "python" if compiled_cells is None else "compiled",
        "reader_reason": refusal,
    }
    url = settings().find_url()
    if url is not None:
        with connect(url) as engine:
            report["tables"] = len(engine.tables())
            report["features"] = sorted(each.name.lower() for each in runtime_of(engine).features)
    answer(report, lambda: _lines(report, url))


def _lines(report: dict[str, Any], url: str | None) -> Iterator[str]:
    reason = f" ({report['reader_reason']})" if report["reader_reason"] else ""
    rows = [
        ("python", report["python"]),
        *report["packages"].items(),
        ("reader of rows", report["reader"] + reason),
    ]
    if url is None:
        rows.append(("gateways", "not asked: there is no URL; give --url, or set HBASE_ORM_URL"))
    else:
        rows.append(("gateways", f"answer; {report['tables']} tables"))
        rows.append(("features", ", ".join(report["features"])))
    yield from table(("what", "is"), rows)
