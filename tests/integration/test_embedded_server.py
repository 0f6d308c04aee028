"""One running server: what it binds to, its admin commands, its delays."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import happybase
import pytest

from hbase_orm.cli.main import run
from hbase_orm.errors import PortInUseError, ServerError, TableNotFoundError
from hbase_orm.server import DELAY_OBSERVER_SETTINGS, EmbeddedServer, Region, ServerOptions
from hbase_orm.server.ports import _open_files, listens
from tests.integration.embedded import connected, marks

pytestmark = marks()

_DELAY_S = 1.0
_QUICK_S = 0.8  # an undelayed call takes milliseconds; the rest is for a loaded machine


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    options = ServerOptions(
        ephemeral=True, region_servers=2, settings={**DELAY_OBSERVER_SETTINGS}, heap="640m"
    )
    with EmbeddedServer(options) as started:
        yield started


@pytest.fixture
def connection(server: EmbeddedServer) -> Iterator[happybase.Connection]:
    with connected(server.ports["thrift1"]) as opened:
        yield opened


@pytest.fixture
def table(connection: happybase.Connection, request: pytest.FixtureRequest) -> happybase.Table:
    name = f"e_{request.node.name[:60]}".replace("[", "_").replace("]", "_")
    connection.create_table(name, {"d": {"max_versions": 3}})
    return connection.table(name)  # never dropped: the whole server is thrown away


def _name(table: happybase.Table) -> str:
    return str(table.name.decode())


def _bounds(regions: list[Region]) -> list[tuple[bytes, bytes]]:
    return [(region.start, region.stop) for region in regions]


def _fill(table: happybase.Table) -> None:
    for number in range(10):
        table.put(b"k%d" % number, {b"d:x": b"1"})


def _listening_addresses(pid: int) -> set[str]:
    """Return the local addresses, as the kernel writes them, of all sockets `pid` listens on."""
    held = _open_files(pid)
    rows = [
        line.split()
        for kind in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{kind}").read_text().splitlines()[1:]
    ]
    return {
        row[1].rpartition(":")[0] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in held
    }


def test_nothing_listens_beyond_loopback(server: EmbeddedServer) -> None:
    assert _listening_addresses(server.processes()["hbase"]) == {"0100007F"}


def test_both_gateways_answer_on_the_servers_own_ports(server: EmbeddedServer) -> None:
    pid = server.processes()["hbase"]

    assert server.answering() == {"thrift1": True, "thrift2": True}
    assert all(listens(pid, port) for port in server.ports.values())


def test_the_url_names_both_ports(server: EmbeddedServer) -> None:
    url = urlsplit(server.url)

    assert (url.scheme, url.hostname, url.port) == ("hbase", "127.0.0.1", server.ports["thrift1"])
    assert url.query == f"thrift2=127.0.0.1:{server.ports['thrift2']}"


def test_the_file_with_the_admin_token_is_readable_by_its_owner_only(
    server: EmbeddedServer,
) -> None:
    assert (server.data_dir / "jvm.json").stat().st_mode & 0o777 == 0o600


def test_a_running_server_is_found_by_its_folder(server: EmbeddedServer) -> None:
    found = EmbeddedServer.running(server.data_dir)

    assert found is not None
    assert (found.url, found.processes()) == (server.url, server.processes())
    assert len(found.admin.servers()) == 2


def test_a_second_server_on_the_same_data_is_refused(server: EmbeddedServer) -> None:
    with pytest.raises(ServerError, match="a server runs with this data directory"):
        EmbeddedServer(ServerOptions(data_dir=server.data_dir)).start()


def test_a_port_of_another_process_is_refused_and_the_process_named(
    server: EmbeddedServer, tmp_path: Path
) -> None:
    other = EmbeddedServer(ServerOptions(port=server.ports["thrift1"], data_dir=tmp_path))

    with pytest.raises(PortInUseError) as caught:
        other.start()

    assert caught.value.process.startswith(f"{server.processes()['hbase']}: ")


def test_a_split_makes_two_regions_at_the_key(
    server: EmbeddedServer, table: happybase.Table
) -> None:
    _fill(table)

    regions = server.admin.split(_name(table), b"k5")

    assert _bounds(regions) == [(b"", b"k5"), (b"k5", b"")]
    assert {region.state for region in regions} == {"OPEN"}
    assert len(list(table.scan())) == 10


def test_a_merge_undoes_a_split(server: EmbeddedServer, table: happybase.Table) -> None:
    _fill(table)
    server.admin.split(_name(table), b"k5")

    regions = server.admin.merge(_name(table), b"k0", b"k9")

    assert _bounds(regions) == [(b"", b"")]
    assert len(list(table.scan())) == 10


def test_regions_that_came_from_a_split_or_merge_can_be_split_again(
    server: EmbeddedServer, table: happybase.Table
) -> None:
    _fill(table)
    server.admin.split(_name(table), b"k5")
    server.admin.split(_name(table), b"k7")
    server.admin.merge(_name(table), b"k6", b"k8")

    regions = server.admin.split(_name(table), b"k6")

    assert _bounds(regions) == [(b"", b"k5"), (b"k5", b"k6"), (b"k6", b"")]
    assert len(list(table.scan())) == 10


def test_a_move_brings_the_region_to_another_server(
    server: EmbeddedServer, table: happybase.Table
) -> None:
    _fill(table)
    (before,) = server.admin.regions(_name(table))

    (after,) = server.admin.move(_name(table), b"k1")
    (back,) = server.admin.move(_name(table), b"k1", before.server)

    assert after.server != before.server
    assert back.server == before.server
    assert len(list(table.scan())) == 10


def test_an_unassigned_region_stays_closed_until_it_is_assigned(
    server: EmbeddedServer, table: happybase.Table
) -> None:
    _fill(table)

    (closed,) = server.admin.unassign(_name(table), b"k1")
    (opened,) = server.admin.assign(_name(table), b"k1")

    assert (closed.state, opened.state) == ("CLOSED", "OPEN")
    assert len(list(table.scan())) == 10


def test_a_flush_makes_a_store_file(server: EmbeddedServer, table: happybase.Table) -> None:
    _fill(table)
    (before,) = server.admin.regions(_name(table))

    (after,) = server.admin.flush(_name(table))

    assert (before.store_files, after.store_files) == (0, 1)


def test_a_major_compaction_makes_one_store_file_and_takes_tombstones_away(
    server: EmbeddedServer, table: happybase.Table
) -> None:
    table.put(b"r", {b"d:x": b"old"}, timestamp=10)
    server.admin.flush(_name(table))
    table.delete(b"r", timestamp=10)
    (two,) = server.admin.flush(_name(table))  # fewer than a minor compaction takes
    table.put(b"r", {b"d:x": b"late"}, timestamp=5)
    masked = table.row(b"r")

    (one,) = server.admin.major_compact(_name(table))

    assert (two.store_files, one.store_files) == (2, 1)
    assert masked == {}
    assert table.row(b"r") == {b"d:x": b"late"}


def test_an_admin_command_on_a_missing_table_says_so(server: EmbeddedServer) -> None:
    with pytest.raises(TableNotFoundError) as caught:
        server.admin.flush("nowhere")

    assert caught.value.table == "nowhere"


def test_a_merge_of_one_region_is_refused(server: EmbeddedServer, table: happybase.Table) -> None:
    with pytest.raises(ServerError, match="both keys are in one region"):
        server.admin.merge(_name(table), b"a", b"b")


def test_the_command_line_runs_admin_commands(
    server: EmbeddedServer, table: happybase.Table, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ("--data-dir", str(server.data_dir))

    code = run(["--json", "server", "admin", *where, "split", _name(table), r"k\x00\\"])

    regions = json.loads(capsys.readouterr().out)
    assert code == 0
    assert [region["start"] for region in regions] == ["", r"k\x00\x5C"]


@pytest.mark.parametrize("kind", ["put", "get", "scan", "delete", "increment"])
def test_a_delayed_call_is_slow_once_and_only_for_its_rows(
    server: EmbeddedServer, table: happybase.Table, kind: str
) -> None:
    calls = {
        "put": lambda row: table.put(row, {b"d:x": b"1"}),
        "get": table.row,
        "scan": lambda row: list(table.scan(row_start=row)),
        "delete": table.delete,
        "increment": lambda row: table.counter_inc(row, b"d:n"),
    }

    server.admin.delay(_name(table), kind, int(_DELAY_S * 1000), row_prefix=b"slow")  # type: ignore[arg-type] # one of the kinds
    took_s = [_took_s(calls[kind], row) for row in (b"other", b"slow1", b"slow2")]

    assert took_s[1] >= _DELAY_S
    assert max(took_s[0], took_s[2]) < _QUICK_S


def _took_s(call: object, row: bytes) -> float:
    began = time.monotonic()
    call(row)  # type: ignore[operator] # a function of one row
    return time.monotonic() - began


def test_a_delay_before_a_put_lets_another_writer_overtake(
    server: EmbeddedServer, table: happybase.Table
) -> None:
    server.admin.delay(_name(table), "put", 2000, row_prefix=b"r")
    first = _put_in_background(server, _name(table), b"r", b"first")
    time.sleep(_QUICK_S)

    table.put(b"r", {b"d:x": b"second"})
    overtaken = table.row(b"r")
    first.join()

    assert overtaken == {b"d:x": b"second"}
    assert table.row(b"r") == {b"d:x": b"first"}


def test_a_delay_after_a_put_is_a_late_answer_to_a_change_that_is_made(
    server: EmbeddedServer, table: happybase.Table
) -> None:
    server.admin.delay(_name(table), "put", 2000, row_prefix=b"r", after=True)

    writer = _put_in_background(server, _name(table), b"r", b"made")
    time.sleep(_QUICK_S)

    seen, unanswered = table.row(b"r"), writer.is_alive()
    writer.join()
    assert seen == {b"d:x": b"made"}
    assert unanswered


def _put_in_background(
    server: EmbeddedServer, name: str, row: bytes, value: bytes
) -> threading.Thread:
    def put() -> None:
        with connected(server.ports["thrift1"]) as own:
            own.table(name).put(row, {b"d:x": value})

    thread = threading.Thread(target=put)
    thread.start()
    return thread


def test_cleared_delays_are_forgotten(server: EmbeddedServer, table: happybase.Table) -> None:
    server.admin.delay(_name(table), "get", 5000, times=10)

    server.admin.clear_delays()

    assert _took_s(table.row, b"r") < _QUICK_S
