"""Starts and stops the HBase of a test run, and provides it to the tests."""

from __future__ import annotations

import os
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import cast
from urllib.parse import urlsplit

from hbase_orm.errors import JavaNotFoundError, JavaUnsuitableError, ServerError
from hbase_orm.server.admin import ServerAdmin
from hbase_orm.server.java import choose_java
from hbase_orm.server.launcher import EmbeddedServer
from hbase_orm.server.options import ServerOptions
from hbase_orm.testing import cleanup, image
from hbase_orm.testing.settings import TEST_SETTINGS
from hbase_orm.testing.shared import Running
from hbase_orm.testing.sources import Choice, Source


def docker_refusal() -> str:
    """Return why tests cannot use Docker; empty if they can. Nothing is started or built."""
    for name in ("docker", "testcontainers"):
        if find_spec(name) is None:
            return f"{name} is not installed (pip install 'hbase-orm[testing]')"
    try:
        with closing(image.engine()) as client:
            if not image.is_local(client):
                return "the Docker engine is on another machine"
            if not image.is_built(client):
                return f"the image {image.tag()} is not built; {image.FIX}"
    except ServerError as error:
        return str(error)
    return ""


def embedded_refusal() -> str:
    """Return why tests cannot use the embedded server; empty if they can. Nothing is started."""
    try:
        choose_java()
    except (JavaNotFoundError, JavaUnsuitableError) as error:
        return str(error)
    # Jars in the cache are enough, but only the launcher knows whether the cache is complete.
    return "" if which("mvn") else "Maven is not on the PATH"


def start(choice: Choice, owner_pid: int) -> Running:
    """Start the chosen HBase; for a URL, nothing is started.

    Args:
        choice: The choice, whose source is not None.
        owner_pid: The id of the process that will call `stop`.

    Raises:
        ServerError: HBase does not start; a subclass shows why.
    """
    if choice.source == "docker":
        return _start_docker(owner_pid)
    if choice.source == "embedded":
        return _start_embedded(owner_pid)
    return Running(choice.url, "url")


def _start_docker(owner_pid: int) -> Running:
    from hbase_orm.testing.containers import HBaseContainer  # noqa: PLC0415  # optional

    container = HBaseContainer(owner_pid=owner_pid, heap="1g").start()
    with closing(container.client):
        return Running(container.url, "docker", container.get_container_id())


def _start_embedded(owner_pid: int) -> Running:
    # A worker that starts HBase may end before the run does; HBase must then keep running.
    options = ServerOptions(ephemeral=True, settings=TEST_SETTINGS, daemon=owner_pid != os.getpid())
    server = EmbeddedServer(options).start()
    return Running(server.url, "embedded", str(server.data_dir))


def read_log(running: Running) -> str:
    """Return the server's log; empty if HBase was given by a URL, because its log is elsewhere."""
    if running.source == "docker":
        with closing(image.engine()) as client:
            return client.containers.get(running.handle).logs().decode(errors="replace")
    if running.source == "embedded" and (server := EmbeddedServer.recorded(Path(running.handle))):
        return server.log.read_text(errors="replace")
    return ""


def stop(running: Running) -> None:
    """Stop the HBase that `start` started and delete its data; do nothing for a URL."""
    if running.source == "docker":
        with closing(image.engine()) as client:
            client.containers.get(running.handle).remove(force=True, v=True)
    elif running.source == "embedded" and (server := EmbeddedServer.recorded(Path(running.handle))):
        server.stop()


class RealHBase:
    """The HBase of the tests, which the fixture `hbase` returns."""

    def __init__(self, running: Running) -> None:
        """Use a started HBase."""
        self._running = running

    @property
    def url(self) -> str:
        """The URL for `hbase_orm.connect`."""
        return self._running.url

    @property
    def source(self) -> Source:
        """The kind of the HBase: `url`, `docker` or `embedded`."""
        return cast("Source", self._running.source)

    @property
    def admin(self) -> ServerAdmin:
        """The admin, for operations that Thrift does not support, such as split and move.

        Raises:
            ServerError: The server was given by a URL, so its admin port is unknown. Or the
                embedded server does not run.
        """
        if self.source == "docker":
            from hbase_orm.testing.containers import admin_of  # noqa: PLC0415  # optional

            return admin_of(self._running.handle)
        if self.source == "embedded" and (
            server := EmbeddedServer.running(Path(self._running.handle))
        ):
            return server.admin
        raise ServerError(
            "this HBase has no admin port that tests can reach",
            url=self.url,
            fix="unset HBASE_ORM_TEST_URL, so that tests start a server of their own",
        )

    def url_in(self, namespace: str) -> str:
        """Return the URL with a namespace for all tables, instead of one that it may have."""
        return urlsplit(self.url)._replace(path=f"/{namespace}").geturl()

    def drop_tables(self, prefix: str) -> None:
        """Drop every table whose name starts with `prefix`, with or without its namespace."""
        cleanup.drop_tables(self.url, prefix)

    def drop_namespace(self, namespace: str) -> None:
        """Drop a namespace with all its tables; do nothing if it does not exist."""
        cleanup.drop_namespace(self.url, namespace)

    def __repr__(self) -> str:
        """Return the source and the URL."""
        return f"<RealHBase {self.source} {self.url}>"
