"""`hbase-orm server`: start, stop and inspect an HBase on this machine, without Docker."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from hbase_orm.cli.errors import ExitCode
from hbase_orm.cli.frame import Group, answer, note
from hbase_orm.cli.server_admin import admin
from hbase_orm.errors import ConfigurationError, ServerError, ServerNotRunningError
from hbase_orm.server import EmbeddedServer, ServerOptions, default_data_dir
from hbase_orm.server.memory import default_heap
from hbase_orm.server.options import GATEWAYS
from hbase_orm.server.state import DataFolder

_FOLLOW_INTERVAL_S = 0.5


@click.group(cls=Group)
def server() -> None:
    """Run a real HBase on this machine (needs a JDK 17 to 21 and Maven; no Docker)."""


server.add_command(admin)


def _data_dir_option(function: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--data-dir",
        type=click.Path(file_okay=False, path_type=Path),
        help="The server's folder. [default: in the user's data folder]",
    )(function)


def _located(data_dir: Path | None) -> Path:
    """Return `data_dir`; if it is None, return one of the default folders.

    This is the folder whose server runs. If no server runs, it is the folder whose server has died.
    If there is no such server either, it is the folder for data that is kept.
    """
    if data_dir is not None:
        return data_dir
    for find in (EmbeddedServer.running, EmbeddedServer.recorded):
        for folder in (default_data_dir(), default_data_dir(ephemeral=True)):
            if find(folder) is not None:
                return folder
    return default_data_dir()


def _settings(given: tuple[str, ...]) -> dict[str, str]:
    parts = [one.partition("=") for one in given]
    for name, equals, value in parts:
        if not name or not equals:
            raise ConfigurationError(
                "--set takes name=value", given=name + equals + value, fix="add the '='"
            )
    return {name: value for name, _, value in parts}


@server.command()
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=9090,
    show_default=True,
    help="Thrift1; 0: any.",
)
@click.option(
    "--thrift2-port",
    type=click.IntRange(0, 65535),
    default=9091,
    show_default=True,
    help="Thrift2; 0: any.",
)
@_data_dir_option
@click.option("--ephemeral", is_flag=True, help="Start empty; delete the data at the end.")
@click.option("--set", "given", multiple=True, metavar="NAME=VALUE", help="A setting of HBase.")
@click.option(
    "--thrift",
    type=click.Choice(["in-process", "separate"]),
    default="in-process",
    show_default=True,
    help="Run the gateways in HBase's JVM, or in separate JVMs.",
)
@click.option("--regionservers", type=click.IntRange(1, 8), default=1, show_default=True)
@click.option(
    "--heap",
    default=default_heap,
    show_default="a quarter of the memory, 512m to 2g",
    help="Largest heap of HBase's JVM, as 2g.",
)
def start(
    *,
    port: int,
    thrift2_port: int,
    data_dir: Path | None,
    ephemeral: bool,
    given: tuple[str, ...],
    thrift: Any,
    regionservers: int,
    heap: str,
) -> None:
    """Start the server; it keeps running, and its URL is printed.

    Data of an earlier run is kept, also after a crash.
    """
    options = ServerOptions(
        port=port or None,
        thrift2_port=thrift2_port or None,
        data_dir=data_dir or default_data_dir(ephemeral=ephemeral),
        ephemeral=ephemeral,
        settings=_settings(given),
        thrift=thrift,
        region_servers=regionservers,
        heap=heap,
        daemon=True,
    )
    assert options.data_dir is not None
    embedded = EmbeddedServer.running(options.data_dir)
    if embedded is not None:
        note("the server is running already; it keeps the options it was started with")
    else:
        embedded = EmbeddedServer(options).start(note)
        note(
            "stop it with: hbase-orm server stop" + (f" --data-dir {data_dir}" if data_dir else "")
        )
    answer(_described(embedded), lambda: [embedded.url])


@server.command()
@_data_dir_option
def stop(data_dir: Path | None) -> None:
    """Stop the server cleanly; no write is lost.

    The data of an ephemeral server is deleted. If the server has died, its remaining processes are
    ended.
    """
    embedded = EmbeddedServer.recorded(_located(data_dir))
    had_processes = embedded is not None and bool(embedded.processes())
    death = embedded.death() if embedded is not None else None
    if death is not None:
        note(str(death))
    began = time.monotonic()
    if embedded is not None:
        embedded.stop()
    took_s = round(time.monotonic() - began, 1)
    if had_processes:
        answer({"stopped": True, "seconds": took_s}, lambda: [f"stopped in {took_s} s"])
    else:
        answer({"stopped": False}, lambda: ["no server is running"])


@server.command()
@_data_dir_option
def status(data_dir: Path | None) -> int:
    """Show whether the server runs and its gateways answer.

    The exit code is 3 if the server does not run, and 1 if a gateway does not answer.
    """
    folder = _located(data_dir)
    embedded = EmbeddedServer.recorded(folder)
    if embedded is None or not embedded.is_running():
        _answer_not_running(folder, embedded)
        return ExitCode.UNREACHABLE
    described = _described(embedded)
    answering = embedded.answering()
    described["answering"] = answering
    answer(described, lambda: [f"{name:10} {value}" for name, value in described.items()])
    return ExitCode.OK if all(answering.values()) else ExitCode.FAILED


def _answer_not_running(folder: Path, embedded: EmbeddedServer | None) -> None:
    leftovers = embedded.processes() if embedded else {}
    death = embedded.death() if embedded else None
    lines = [f"not running (data in {folder})"]
    described: dict[str, object] = {"running": False, "data_dir": str(folder)}
    if death is not None:
        lines.append(str(death))
        described["died"] = {"why": death.text, **death.details, "fix": death.fix}
    if leftovers:
        named = ", ".join(f"{name} (process {pid})" for name, pid in leftovers.items())
        lines.append(f"HBase has died and left {named}: 'hbase-orm server stop' ends them")
    answer({**described, "processes": leftovers}, lambda: lines)


def _described(embedded: EmbeddedServer) -> dict[str, object]:
    return {
        "running": embedded.is_running(),
        "url": embedded.url,
        "data_dir": str(embedded.data_dir),
        "log": str(embedded.log),
        "heap": embedded.options.heap,
        "processes": embedded.processes(),
    }


@server.command()
@_data_dir_option
@click.option("--lines", "-n", type=click.IntRange(1), default=50, show_default=True)
@click.option("--gateway", type=click.Choice(GATEWAYS), help="Show the log of a separate gateway.")
@click.option("--follow", "-f", is_flag=True, help="Go on showing new lines until Ctrl-C.")
def logs(*, data_dir: Path | None, lines: int, gateway: str | None, follow: bool) -> None:
    """Show the end of the server's log."""
    folder = DataFolder(_located(data_dir))
    log = folder.gateway_log(gateway) if gateway else folder.log
    if not log.exists():
        raise ServerNotRunningError(
            "there is no log", log=str(log), fix="start the server, or give its --data-dir"
        )
    for line in _lines(log, lines, follow=follow):
        click.echo(line)


def _lines(log: Path, count: int, *, follow: bool) -> Iterator[str]:
    with log.open(encoding="utf-8", errors="replace") as opened:
        yield from (line.rstrip("\n") for line in deque(opened, maxlen=count))
        while follow:
            line = opened.readline()
            if line:
                yield line.rstrip("\n")
            else:
                time.sleep(_FOLLOW_INTERVAL_S)


@server.command()
@_data_dir_option
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def reset(*, data_dir: Path | None, yes: bool) -> int:
    """Delete all data of a server that is not running."""
    folder = DataFolder(_located(data_dir).expanduser().absolute())
    embedded = EmbeddedServer.recorded(folder.path)
    if embedded is not None and embedded.processes():
        raise ServerError(
            "the server is running", data_dir=str(folder.path), fix="stop it before the reset"
        )
    if folder.path.exists() and not yes and not _confirmed(folder):
        answer({"reset": None}, lambda: ["nothing was deleted"])
        return ExitCode.FAILED
    folder.wipe()
    answer({"reset": str(folder.path)}, lambda: [f"{folder.path} is empty"])
    return ExitCode.OK


def _confirmed(folder: DataFolder) -> bool:
    if not sys.stdin.isatty():
        raise ConfigurationError(
            "the command asks for a confirmation, but its input is not a terminal",
            data_dir=str(folder.path),
            fix="give --yes",
        )
    return click.confirm(f"Delete all tables in {folder.path}?", err=True)
