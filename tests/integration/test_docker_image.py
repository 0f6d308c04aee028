"""The image and its containers: who runs in them, what they publish, what survives their end."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import happybase
import pytest

from hbase_orm.errors import ServerDiedError
from hbase_orm.server.probe import answers
from hbase_orm.testing import GatewayContainer, HBaseContainer, image, leftovers

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.docker, pytest.mark.xdist_group("docker")]

HEALTHY_WITHIN_S = 30
ROWS = 200


@pytest.fixture(scope="module")
def container() -> Iterator[HBaseContainer]:
    with HBaseContainer() as started:
        yield started


@contextmanager
def connected(port: int) -> Iterator[happybase.Connection]:
    with closing(happybase.Connection("127.0.0.1", port, timeout=20_000)) as connection:
        yield connection


def write_rows(container: HBaseContainer, table: str) -> None:
    """Write rows one by one: each is acknowledged before the next."""
    with connected(container.thrift1_port) as connection:
        connection.create_table(table, {"d": {}})
        for number in range(ROWS):
            connection.table(table).put(b"%04d" % number, {b"d:x": b"1"})


def count_rows(port: int, table: str) -> int:
    with connected(port) as connection:
        return sum(1 for _row in connection.table(table).scan())


def run_in(container: HBaseContainer, *command: str) -> tuple[int | None, str]:
    done = container.exec(list(command))
    return done.exit_code, done.output.decode().strip()


def test_the_server_does_not_run_as_root(container: HBaseContainer) -> None:
    _code, user = run_in(container, "stat", "-c", "%U", "/proc/1")

    assert user == "hbase"


def test_the_container_becomes_healthy(container: HBaseContainer) -> None:
    deadline = time.monotonic() + HEALTHY_WITHIN_S

    while container.health() != "healthy" and time.monotonic() < deadline:
        time.sleep(0.2)

    assert container.health() == "healthy"


def test_a_server_that_has_not_answered_itself_for_long_is_unhealthy(
    container: HBaseContainer,
) -> None:
    check = "touch -d '-20 seconds' /tmp/hbase-answers && /opt/hbase/healthcheck.sh"

    # The server touches the file every 5 s, perhaps between these two commands: once, not twice.
    codes = [run_in(container, "bash", "-c", check)[0] for _ in range(2)]

    assert 1 in codes


def test_only_the_two_gateways_are_published_and_on_loopback_only(
    container: HBaseContainer,
) -> None:
    wrapped = container.get_wrapped_container()
    wrapped.reload()
    published = wrapped.attrs["NetworkSettings"]["Ports"]

    assert published == {
        "9090/tcp": [{"HostIp": "127.0.0.1", "HostPort": str(container.thrift1_port)}],
        "9091/tcp": [{"HostIp": "127.0.0.1", "HostPort": str(container.thrift2_port)}],
    }


def test_sigterm_ends_it_with_code_0_and_keeps_the_rows(container: HBaseContainer) -> None:
    write_rows(container, "kept_over_sigterm")

    assert container.terminate() == 0

    container.start_again()
    assert count_rows(container.thrift1_port, "kept_over_sigterm") == ROWS


def test_sigkill_loses_no_acknowledged_row_and_moves_no_port(container: HBaseContainer) -> None:
    url = container.url
    write_rows(container, "kept_over_sigkill")

    container.kill()
    container.start_again()

    assert container.url == url
    assert count_rows(container.thrift1_port, "kept_over_sigkill") == ROWS


def test_a_paused_server_answers_again_when_it_goes_on(container: HBaseContainer) -> None:
    with container.paused():
        frozen = answers("thrift1", container.thrift1_port, timeout_s=0.5)

    assert not frozen
    assert answers("thrift1", container.thrift1_port, timeout_s=10)


def test_a_region_is_split_through_the_admin(container: HBaseContainer) -> None:
    write_rows(container, "to_split")

    regions = container.admin.split("to_split", b"0100")

    assert [region.start for region in regions] == [b"", b"0100"]


def test_a_gateway_container_serves_the_rows_and_may_die_alone(container: HBaseContainer) -> None:
    write_rows(container, "behind_a_gateway")

    with GatewayContainer(container) as gateway:
        assert count_rows(gateway.thrift1_port, "behind_a_gateway") == ROWS
        gateway.kill()

    assert count_rows(container.thrift1_port, "behind_a_gateway") == ROWS


def test_a_container_that_ends_at_once_is_reported_with_its_last_words() -> None:
    container = HBaseContainer().with_env("HBASE_ROLE", "regionserver")

    with pytest.raises(ServerDiedError) as caught:
        container.start()

    assert "HBASE_ROLE is 'regionserver'" in caught.value.log
    container.stop()


def test_a_killed_runs_container_is_removed_and_a_running_ones_is_not() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        dead = leftovers.owner(process.pid)

    with closing(image.engine()) as client:
        stale = client.containers.create(image.tag(), labels={leftovers.LABEL: dead})
        alive = client.containers.create(
            image.tag(), labels={leftovers.LABEL: leftovers.owner(os.getpid())}
        )
        leftovers.remove_leftovers(client)
        left = {one.id for one in client.containers.list(all=True)} & {stale.id, alive.id}
        alive.remove(v=True)

    assert left == {alive.id}


def test_workers_of_xdist_share_one_container_that_is_gone_afterwards(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HBASE_ORM_TEST_URL", raising=False)
    for name in ("one", "two"):
        pytester.makepyfile(
            **{f"test_{name}": f"def test_{name}(hbase): print('URL', hbase.source, hbase.url)"}
        )

    result = pytester.runpytest_subprocess("-n2", "-rP", "-p", "no:randomly", timeout=100)

    result.assert_outcomes(passed=2)
    urls = [line for line in result.outlines if line.startswith("URL docker")]
    assert len(urls) == 2
    assert len(set(urls)) == 1
    with closing(image.engine()) as client:
        port = urls[0].split(":")[2].partition("?")[0]
        assert not [one for one in client.containers.list() if f"'{port}'" in str(one.ports)]
