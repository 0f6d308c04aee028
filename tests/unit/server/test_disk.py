from __future__ import annotations

from pathlib import Path

import pytest

from hbase_orm.errors import DiskFullError, ServerError
from hbase_orm.server import EmbeddedServer, ServerOptions
from hbase_orm.server.disk import require_space, writing_to


def test_too_little_room_is_noticed_before(tmp_path: Path) -> None:
    with pytest.raises(DiskFullError, match="too little free space"):
        require_space(tmp_path / "not" / "made" / "yet", 10**18)


def test_a_write_on_a_full_device_is_a_full_disk() -> None:
    with pytest.raises(DiskFullError), writing_to(Path("/dev")):  # noqa: SIM117 -- the file is inside
        with Path("/dev/full").open("w") as full:
            full.write("x")


def test_a_data_directory_below_a_file_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    server = EmbeddedServer(ServerOptions(data_dir=tmp_path / "file" / "data"))

    with pytest.raises(ServerError, match="cannot be used") as caught:
        server.start()

    assert caught.value.folder == str(tmp_path / "file" / "data")
