"""`hbase-orm server admin`: region operations on the embedded server."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

import click

from hbase_orm.cli.frame import Group, answer, table
from hbase_orm.cli.parameters import KEY
from hbase_orm.errors import ServerNotRunningError
from hbase_orm.rowkey.notation import to_string_binary
from hbase_orm.server import DelayedKind, EmbeddedServer, Region, ServerAdmin, default_data_dir

_META = "hbase_orm.cli.server_admin"
_HEAD = ("name", "start", "stop", "state", "server", "store files")


@click.group(cls=Group)
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="The server's folder. [default: the folder of the running server]",
)
@click.pass_context
def admin(context: click.Context, data_dir: Path | None) -> None:
    r"""Split, merge, move and compact regions, which Thrift does not support.

    Row keys are written as HBase prints them: text, \xNN for any byte, \\ for a backslash. Each
    command waits until the operation is finished, and prints the table's regions.
    """
    folders = [data_dir] if data_dir else [default_data_dir(), default_data_dir(ephemeral=True)]
    embedded = next(filter(None, map(EmbeddedServer.running, folders)), None)
    if embedded is None:
        raise ServerNotRunningError(
            "no embedded server is running",
            data_dir=str(folders[0]),
            fix="start it with 'hbase-orm server start', or give its --data-dir",
        )
    context.meta[_META] = embedded.admin


def _admin() -> ServerAdmin:
    current: ServerAdmin = click.get_current_context().meta[_META]
    return current


def _show(regions: Iterable[Region]) -> None:
    rows = [
        {**asdict(one), "start": to_string_binary(one.start), "stop": to_string_binary(one.stop)}
        for one in regions
    ]
    answer(rows, lambda: table(_HEAD, (tuple(row.values()) for row in rows)))


@admin.command()
def servers() -> None:
    """List the RegionServers."""
    names = _admin().servers()
    answer(names, lambda: names)


@admin.command()
@click.argument("table_name", metavar="TABLE")
def regions(table_name: str) -> None:
    """List the regions of TABLE."""
    _show(_admin().regions(table_name))


@admin.command()
@click.argument("table_name", metavar="TABLE")
@click.argument("key", type=KEY)
def split(table_name: str, key: bytes) -> None:
    """Split the region of TABLE that holds KEY, at KEY."""
    _show(_admin().split(table_name, key))


@admin.command()
@click.argument("table_name", metavar="TABLE")
@click.argument("key_a", type=KEY)
@click.argument("key_b", type=KEY)
def merge(table_name: str, key_a: bytes, key_b: bytes) -> None:
    """Merge the two neighbouring regions of TABLE that hold KEY_A and KEY_B."""
    _show(_admin().merge(table_name, key_a, key_b))


@admin.command()
@click.argument("table_name", metavar="TABLE")
@click.argument("key", type=KEY)
@click.argument("server", required=False)
def move(table_name: str, key: bytes, server: str | None) -> None:
    """Move the region that holds KEY to SERVER, or to any other RegionServer.

    With one RegionServer there is no other: the region is closed and opened again.
    """
    _show(_admin().move(table_name, key, server))


@admin.command()
@click.argument("table_name", metavar="TABLE")
@click.argument("key", type=KEY)
def assign(table_name: str, key: bytes) -> None:
    """Open the region that holds KEY."""
    _show(_admin().assign(table_name, key))


@admin.command()
@click.argument("table_name", metavar="TABLE")
@click.argument("key", type=KEY)
def unassign(table_name: str, key: bytes) -> None:
    """Close the region that holds KEY; it stays closed until it is assigned."""
    _show(_admin().unassign(table_name, key))


@admin.command()
@click.argument("table_name", metavar="TABLE")
def flush(table_name: str) -> None:
    """Write the memstores of TABLE to store files."""
    _show(_admin().flush(table_name))


@admin.command("major_compact")
@click.argument("table_name", metavar="TABLE")
def major_compact(table_name: str) -> None:
    """Rewrite the store files of TABLE without deleted cells; flush it first."""
    _show(_admin().major_compact(table_name))


@admin.command()
@click.argument("table_name", metavar="TABLE")
@click.argument("kind", type=click.Choice(get_args(DelayedKind)))
@click.argument("delay_ms", type=click.IntRange(0, 60_000))
@click.option(
    "--row-prefix",
    type=KEY,
    default=b"",
    help="Delay only calls for rows that begin with these bytes.",
)
@click.option("--after", is_flag=True, help="Delay the answer, after the change is made.")
@click.option("--times", type=click.IntRange(1), default=1, show_default=True)
def delay(
    *, table_name: str, kind: Any, delay_ms: int, row_prefix: bytes, after: bool, times: int
) -> None:
    """Delay the next calls of one KIND on TABLE by DELAY_MS, for tests.

    Works on a server started with
    --set hbase.coprocessor.region.classes=org.hbaseorm.DelayObserver.
    """
    _admin().delay(table_name, kind, delay_ms, row_prefix=row_prefix, after=after, times=times)
    answer({"delayed": table_name}, lambda: [f"the next {times} calls are delayed"])


@admin.command("clear_delays")
def clear_delays() -> None:
    """Forget all delays."""
    _admin().clear_delays()
    answer({"delays": 0}, lambda: ["no delays"])
