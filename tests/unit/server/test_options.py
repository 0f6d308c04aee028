from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hbase_orm.errors import ConfigurationError
from hbase_orm.server.options import ServerOptions, default_cache_dir, default_data_dir


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"port": 0}, "port"),
        ({"port": 65536}, "port"),
        ({"thrift2_port": -1}, "thrift2_port"),
        ({"region_servers": 0}, "region_servers"),
        ({"region_servers": 9}, "region_servers"),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(given: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        ServerOptions(**given)

    assert caught.value.option == named


def test_the_gateways_cannot_share_a_port() -> None:
    with pytest.raises(ConfigurationError, match="same port"):
        ServerOptions(port=9090, thrift2_port=9090)


def test_both_ports_may_be_free_ones() -> None:
    assert ServerOptions(port=None, thrift2_port=None).port is None


def test_the_xdg_folders_are_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "/somewhere/data")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere/cache")

    assert default_data_dir() == Path("/somewhere/data/hbase-orm/server")
    assert default_cache_dir() == Path("/somewhere/cache/hbase-orm")


def test_a_relative_xdg_folder_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "here")
    monkeypatch.setenv("HOME", "/home/someone")

    assert default_data_dir() == Path("/home/someone/.local/share/hbase-orm/server")


@pytest.mark.parametrize(
    ("ephemeral", "daemon", "watches"),
    [(True, False, True), (True, True, False), (False, False, False)],
)
def test_only_an_ephemeral_server_ends_with_its_parent(
    *, ephemeral: bool, daemon: bool, watches: bool
) -> None:
    assert ServerOptions(ephemeral=ephemeral, daemon=daemon).watches_parent is watches
