"""Cells packed into a row an hour, on a real HBase, looked at with plain happybase."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from hbase_orm import Engine, connect
from hbase_orm.testing import RealHBase
from tests.support.time_series import check_reading, check_writing, load

pytestmark = pytest.mark.hbase


@pytest.fixture
def engine(hbase: RealHBase) -> Iterator[Engine]:
    namespace = f"n{uuid4().hex[:12]}"
    with connect(hbase.url_in(namespace)) as engine:
        load(engine)
        yield engine
    hbase.drop_namespace(namespace)


def test_an_hour_is_a_row_and_a_second_a_qualifier(engine: Engine) -> None:
    with engine.raw() as connection:
        rows = dict(connection.table(f"{engine.options.namespace}:tsdb").scan())

    assert {row: sorted(cells) for row, cells in rows.items()} == {
        bytes.fromhex("0000000000000001697db680"): [b"t:\x00\x05", b"t:\x0e\x0f"],
        bytes.fromhex("0000000000000001697dc490"): [b"t:\x00\x00", b"t:\x07\x08"],
        bytes.fromhex("0000000000000001697de0b0"): [b"t:\x00\x00"],
        bytes.fromhex("0000000000000002697db680"): [b"t:\x00\x05"],
    }


def test_cells_are_read_and_written_one_by_one(engine: Engine) -> None:
    check_reading(engine)
    check_writing(engine)
