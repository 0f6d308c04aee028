"""A real HBase in a container, for integration tests.

`HBaseContainer` is a testcontainers container: HBase with both Thrift gateways. Its image is built
by `make image` or `python -m hbase_orm.testing.image build`. The ports are published only on
127.0.0.1. They stay the same when the container is killed and started again. `GatewayContainer` has
another pair of gateways for the same HBase. It can be killed without killing HBase.

    with HBaseContainer() as hbase:
        engine = connect(hbase.url)
        hbase.kill()
        hbase.start_again()
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final, Self

from docker.errors import APIError, ImageNotFound, NotFound
from testcontainers.core.config import testcontainers_config
from testcontainers.core.container import DockerContainer

from docker import DockerClient
from hbase_orm.errors import ServerDiedError, ServerError
from hbase_orm.server import probe
from hbase_orm.server.admin import ServerAdmin
from hbase_orm.server.jvm import ADMIN_CLIENT_CLASS
from hbase_orm.server.options import GatewayName
from hbase_orm.server.ports import LOOPBACK, free_ports
from hbase_orm.testing import image, leftovers
from hbase_orm.testing.settings import TEST_SETTINGS

HOSTNAME: Final = "hbase"
"""The host name by which gateways in other containers reach the server."""

_THRIFT1, _THRIFT2, _ZOOKEEPER = 9090, 9091, 2181
_ADMIN_CLIENT = (
    *("java", "-XX:TieredStopAtLevel=1", "-cp", "/opt/hbase/hbase-orm-server.jar"),
    *(ADMIN_CLIENT_CLASS, "/data/jvm.json"),
)
_PORT_ATTEMPTS = 3
_POLL_S = 0.1
_LOG_LINES = 30


class ThriftContainer(DockerContainer):
    """A container of the image with Thrift1 and Thrift2 on fixed loopback ports.

    Use `HBaseContainer` or `GatewayContainer`. `start` waits until both gateways have answered a
    call; published ports accept connections long before that.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        *,
        tag: str | None,
        owner_pid: int | None,
        start_timeout_s: float,
        **options: Any,
    ) -> None:
        """Prepare the container, without starting it."""
        super().__init__(
            tag or image.tag(),
            env=dict(environment),
            labels={leftovers.LABEL: leftovers.owner(owner_pid or os.getpid())},
            **options,
        )
        self._start_timeout_s = start_timeout_s
        self._outlives_this_process = owner_pid is not None
        self.thrift1_port = 0
        self.thrift2_port = 0

    @property
    def url(self) -> str:
        """The URL for `hbase_orm.connect`."""
        return f"hbase://{LOOPBACK}:{self.thrift1_port}?thrift2={LOOPBACK}:{self.thrift2_port}"

    @property
    def client(self) -> DockerClient:
        """The docker client of this container."""
        client: DockerClient = self.get_docker_client().client
        return client

    def start(self) -> Self:
        """Start the container and wait until both gateways answer.

        Raises:
            ServerError: The image is not built, or no free ports were found.
            ServerDiedError: The container ended, or its gateways did not answer in time.
        """
        self._require_image()
        leftovers.remove_leftovers(self.client)
        self._start_on_free_ports()
        if not self._outlives_this_process:
            atexit.register(self._discard)
        try:
            self.wait_until_ready()
        except BaseException:
            self._discard()
            raise
        return self

    def stop(self, force: bool = True, delete_volume: bool = True) -> None:  # noqa: FBT001, FBT002  # its parent's signature
        """Remove the container with its data."""
        atexit.unregister(self._discard)
        with contextlib.suppress(NotFound):
            super().stop(force, delete_volume)

    def kill(self) -> None:
        """End the container immediately (SIGKILL), so that it has no time to save anything."""
        self.get_wrapped_container().kill("SIGKILL")
        self.get_wrapped_container().wait()

    def terminate(self, *, timeout_s: int = 30) -> int:
        """Stop the container cleanly (SIGTERM) and return its exit code, 0 for success."""
        container = self.get_wrapped_container()
        container.stop(timeout=timeout_s)
        return int(container.wait()["StatusCode"])

    def start_again(self) -> None:
        """Start a killed or terminated container on the same data and the same ports."""
        self.get_wrapped_container().start()
        self.wait_until_ready()

    def pause(self) -> None:
        """Pause the processes: calls then get no answer, and connections stay open."""
        self.get_wrapped_container().pause()

    def unpause(self) -> None:
        """Let the paused processes continue."""
        self.get_wrapped_container().unpause()

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Pause the processes during a `with` block."""
        self.pause()
        try:
            yield
        finally:
            self.unpause()

    def log(self, *, lines: int | None = None) -> str:
        """Return the container's log, or its last lines."""
        text: bytes = self.get_wrapped_container().logs(tail=lines if lines is not None else "all")
        return text.decode(errors="replace")

    def health(self) -> str:
        """Return the container's health as Docker names it: starting, healthy or unhealthy."""
        container = self.get_wrapped_container()
        container.reload()
        return str(container.attrs["State"]["Health"]["Status"])

    def wait_until_ready(self) -> None:
        """Wait until both gateways have answered a call.

        Raises:
            ServerDiedError: The container ended, or did not answer in time. The error's `log` has
                the end of the container's log.
        """
        deadline = time.monotonic() + self._start_timeout_s
        ports: dict[GatewayName, int] = {
            "thrift1": self.thrift1_port,
            "thrift2": self.thrift2_port,
        }
        for name, port in ports.items():
            while not probe.answers(name, port):
                self._check_alive(deadline)
                time.sleep(_POLL_S)

    def _check_alive(self, deadline: float) -> None:
        container = self.get_wrapped_container()
        container.reload()
        if container.status == "exited":
            raise ServerDiedError("the HBase container ended", log=self.log(lines=_LOG_LINES))
        if time.monotonic() > deadline:
            raise ServerDiedError(
                "the HBase container did not answer in time",
                timeout_s=self._start_timeout_s,
                log=self.log(lines=_LOG_LINES),
            )

    def _require_image(self) -> None:
        try:
            self.client.images.get(self.image)
        except ImageNotFound as error:
            raise ServerError("the image is not built", image=self.image, fix=image.FIX) from error
        try:
            self.client.images.get(testcontainers_config.ryuk_image)
        except ImageNotFound:
            # The reaper cannot be started; labels take its place (see leftovers).
            testcontainers_config.ryuk_disabled = True

    def _start_on_free_ports(self) -> None:
        for _ in range(_PORT_ATTEMPTS):
            self.thrift1_port, self.thrift2_port = free_ports(2)
            # testcontainers' own methods publish on every interface.
            published: dict[str, Any] = {
                f"{_THRIFT1}/tcp": (LOOPBACK, self.thrift1_port),
                f"{_THRIFT2}/tcp": (LOOPBACK, self.thrift2_port),
            }
            self.ports = published
            try:
                super().start()
            except APIError as error:
                self._discard()
                # Another process took the port in the meantime.
                if not any(word in str(error) for word in ("in use", "allocated")):
                    raise
            else:
                return
        raise ServerError("no free ports for the container", attempts=_PORT_ATTEMPTS)

    def _discard(self) -> None:
        # Not get_wrapped_container: it raises where creation itself has failed.
        if self._container is not None:
            with contextlib.suppress(NotFound):
                self._container.remove(force=True, v=True)


class HBaseContainer(ThriftContainer):
    """A whole HBase with its Thrift1 and Thrift2 gateways."""

    def __init__(
        self,
        *,
        tag: str | None = None,
        settings: Mapping[str, str] = TEST_SETTINGS,
        heap: str = "512m",
        owner_pid: int | None = None,
        start_timeout_s: float = 110.0,
    ) -> None:
        """Prepare the container; `with` or `start` starts it.

        Args:
            tag: The image's name and tag; by default the image of this version of the library.
            settings: HBase's properties.
            heap: The heap of the JVM, in the format of -Xmx.
            owner_pid: The id of the process that will remove the container; by default this one.
            start_timeout_s: The time limit for the first answers of the gateways, in seconds.
        """
        environment = {
            "HBASE_ROLE": "server",
            "HBASE_HEAP": heap,
            "HBASE_HOSTNAME": HOSTNAME,
            "HBASE_SET": "\n".join(f"{name}={value}" for name, value in settings.items()),
        }
        super().__init__(
            environment,
            tag=tag,
            owner_pid=owner_pid,
            start_timeout_s=start_timeout_s,
            hostname=HOSTNAME,
        )

    @property
    def admin(self) -> ServerAdmin:
        """The admin, for operations that Thrift does not support, such as split and move."""
        return admin_of(self.get_container_id())

    def address(self) -> str:
        """Return the address of the container inside Docker; it may change with each start."""
        container = self.get_wrapped_container()
        container.reload()
        networks = container.attrs["NetworkSettings"]["Networks"].values()
        return str(next(iter(networks))["IPAddress"])


class GatewayContainer(ThriftContainer):
    """A container with only the Thrift gateways, for the HBase of another container."""

    def __init__(
        self,
        hbase: HBaseContainer,
        *,
        settings: Mapping[str, str] = TEST_SETTINGS,
        heap: str = "256m",
        start_timeout_s: float = 110.0,
    ) -> None:
        """Prepare gateways for a started `hbase`; `with` or `start` starts them."""
        environment = {
            "HBASE_ROLE": "gateway",
            "HBASE_HEAP": heap,
            "HBASE_QUORUM": f"{HOSTNAME}:{_ZOOKEEPER}",
            "HBASE_SET": "\n".join(f"{name}={value}" for name, value in settings.items()),
        }
        super().__init__(
            environment,
            tag=hbase.image,
            owner_pid=None,
            start_timeout_s=start_timeout_s,
            extra_hosts={HOSTNAME: hbase.address()},
        )


def admin_of(container_id: str) -> ServerAdmin:
    """Return the sender of admin commands to the `HBaseContainer` with this id.

    Another process may have started the container.
    """

    def send(command: Mapping[str, object]) -> str:
        # The admin port listens inside the container only.
        with contextlib.closing(image.engine()) as client:
            container = client.containers.get(container_id)
            done = container.exec_run([*_ADMIN_CLIENT, json.dumps(command)])
        assert isinstance(done.output, bytes), "it is an iterator only where a stream is asked for"
        reply = done.output.decode(errors="replace")
        if done.exit_code:
            raise ServerError("the admin command could not be sent", output=reply.strip())
        return reply

    return ServerAdmin(send)
