"""Finds out whether the gateways of a URL do not answer because an embedded server has died."""

from __future__ import annotations

from typing import Final

from hbase_orm.binding.url import parse_url
from hbase_orm.cli.errors import one_line
from hbase_orm.server import EmbeddedServer, default_data_dir

_HERE: Final = frozenset({"127.0.0.1", "localhost", "::1"})


def death_behind(url: str) -> str:
    """Return why the embedded server at a URL has died; an empty text if none has died.

    Only the servers in the default data folders are checked. Nothing is sent.

    Raises:
        ConfigurationError: The URL is wrong.
    """
    options = parse_url(url)
    ports = {port for host, port in (*options.thrift1, *options.thrift2) if host in _HERE}
    for folder in (default_data_dir(), default_data_dir(ephemeral=True)):
        server = EmbeddedServer.recorded(folder)
        death = None if server is None else server.death()
        if server is not None and death is not None and ports & set(server.ports.values()):
            return one_line(death)
    return ""
