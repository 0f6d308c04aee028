"""Rows of an answer: also those that do not look like the others."""

from __future__ import annotations

import struct
from io import BytesIO

import pytest

from hbase_orm.gateway.thrift.decoding.answers import MAX_DEPTH
from hbase_orm.gateway.thrift.decoding.incoming import CHUNK_BYTES, Incoming
from hbase_orm.gateway.thrift.decoding.protocols import BinaryReader
from hbase_orm.gateway.thrift.decoding.row_answers import read_rows
from hbase_orm.ops import Cell, Row

STOP = b"\x00"
KEY = b"\x0b\x00\x01"
CELLS = b"\x0d\x00\x02\x0b\x0c"
VALUE = b"\x0b\x00\x01"
TIMESTAMP = b"\x0a\x00\x02"
# A field that this library does not know, as a later gateway may send it.
TEXT_4 = b"\x0b\x00\x04\x00\x00\x00\x05other"


def text(value: bytes) -> bytes:
    return struct.pack(">I", len(value)) + value


def row(key: bytes, value: bytes, more: bytes = b"") -> bytes:
    cell = text(b"d:a") + VALUE + text(value) + TIMESTAMP + struct.pack(">q", 7) + STOP
    return KEY + text(key) + CELLS + struct.pack(">I", 1) + cell + more + STOP


def rows_in(answer: bytes, size: int) -> list[Row]:
    incoming = Incoming(BytesIO(struct.pack(">I", len(answer)) + answer), is_framed=True)
    incoming.begin()
    rows = read_rows(BinaryReader(incoming, {}), size, MAX_DEPTH)
    incoming.end()
    return rows


@pytest.mark.parametrize("more", [b"", TEXT_4, TEXT_4 + TEXT_4])
def test_a_row_with_further_fields_is_read_without_them(more: bytes) -> None:
    answer = row(b"r1", b"x") + row(b"r2", b"y", more) + row(b"r3", b"z")

    assert rows_in(answer, 3) == [
        Row(b"r1", {b"d:a": Cell(b"x", 7)}),
        Row(b"r2", {b"d:a": Cell(b"y", 7)}),
        Row(b"r3", {b"d:a": Cell(b"z", 7)}),
    ]


def test_a_row_of_many_bytes_is_read_among_others() -> None:
    large = b"x" * (3 * CHUNK_BYTES)
    answer = row(b"r1", b"x") + row(b"r2", large) + row(b"r3", b"z")

    assert [each.cells[b"d:a"].value for each in rows_in(answer, 3)] == [b"x", large, b"z"]
