"""Rows of an answer: also those that do not look like the others."""

from __future__ import annotations

import struct
from io import BytesIO

import pytest

from hbase_orm.gateway.thrift.decoding.answers import MAX_DEPTH
from hbase_orm.gateway.thrift.decoding.incoming import CHUNK_BYTES, Incoming
from hbase_orm.gateway.thrift.decoding.protocols import BinaryReader
from hbase_orm.gateway.thrift.decoding.result_answers import DecodedResult
from hbase_orm.gateway.thrift.decoding.row_answers import read_rows, usual_rows
from hbase_orm.ops import Cell, Row, StaleRow

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


NAME = b"\x0b\x00\x02"
THIRD = b"\x0b\x00\x03"
LIST_2 = b"\x0f\x00\x02\x0c"


def result_in(answer: bytes) -> DecodedResult:
    incoming = Incoming(BytesIO(struct.pack(">I", len(answer)) + answer), is_framed=True)
    incoming.begin()
    result: DecodedResult = BinaryReader(incoming, {}).read_struct(DecodedResult())
    incoming.end()
    return result


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


FALSE, TRUE, PARTIAL = b"\x02\x00\x03\x00", b"\x02\x00\x03\x01", b"\x02\x00\x04\x00"


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (b"", Row),
        (FALSE + PARTIAL, Row),
        (TRUE + PARTIAL, StaleRow),
        (TEXT_4 + TRUE, StaleRow),
    ],
)
def test_a_result_of_thrift2_shows_whether_it_is_stale(more: bytes, expected: type[Row]) -> None:
    values = b"".join(
        head + text(value) for head, value in ((KEY, b"d"), (NAME, b"a"), (THIRD, b"x"))
    )
    values += b"\x0a\x00\x04" + struct.pack(">q", 7) + STOP
    answer = KEY + text(b"r1") + LIST_2 + struct.pack(">I", 1) + values + more + STOP

    row = result_in(answer).row()

    assert row == expected(b"r1", {b"d:a": Cell(b"x", 7)})
    assert type(row) is expected


@pytest.mark.parametrize(("more", "expected"), [(FALSE, None), (TRUE, StaleRow(b"r9", {}))])
def test_an_absent_row_of_a_replica_has_the_requested_key(
    more: bytes, expected: Row | None
) -> None:
    result = result_in(LIST_2 + struct.pack(">I", 0) + more + STOP)

    assert result.row(b"r9") == expected
    assert result.row() is None


def test_a_row_of_many_bytes_is_read_among_others() -> None:
    large = b"x" * (3 * CHUNK_BYTES)
    answer = row(b"r1", b"x") + row(b"r2", large) + row(b"r3", b"z")

    assert [each.cells[b"d:a"].value for each in rows_in(answer, 3)] == [b"x", large, b"z"]


# --- answers of a usual form ----------------------------------------------------------------------

HEAD = b"head of the message"
ROWS = b"\x0f\x00\x00\x0c"


def result(rows: bytes, count: int) -> bytes:
    return HEAD + ROWS + struct.pack(">i", count) + rows + STOP


def usual(answer: bytes) -> tuple[list[Row] | None, int]:
    """Return the rows that are read in one step, and how many bytes were read.

    The reader has met such rows before: without the compiled reader it has to learn them.
    """
    incoming = Incoming(BytesIO(answer), is_framed=False)
    incoming.begin()
    incoming.need(1)
    reader = BinaryReader(incoming, {})
    if reader.row_takers.current is None:
        many = [Row(b"r%d" % number, {b"d:a": Cell(b"x", 7)}) for number in range(100)]
        for _ in range(10):
            reader.row_takers.note(many)
    return usual_rows(reader, HEAD), incoming.position


def test_a_usual_answer_is_read_in_one_step() -> None:
    answer = result(row(b"r1", b"x") + row(b"r2", b"y"), 2)

    expected = [Row(b"r1", {b"d:a": Cell(b"x", 7)}), Row(b"r2", {b"d:a": Cell(b"y", 7)})]
    assert usual(answer) == (expected, len(answer))


def test_an_answer_without_rows_is_usual() -> None:
    assert usual(result(b"", 0)) == ([], len(result(b"", 0)))


@pytest.mark.parametrize(
    "answer",
    [
        b"other" + result(row(b"r1", b"x"), 1),
        HEAD + b"\x0c" + result(row(b"r1", b"x"), 1)[len(HEAD) + 1 :],
        result(row(b"r1", b"x"), 2),
        result(row(b"r1", b"x"), 2**31 - 1),
        result(row(b"r1", b"x"), -1),
        result(row(b"r1", b"x") + row(b"r2", b"x"), 1),
        result(row(b"r1", b"x", TEXT_4), 1),
        result(row(b"r1", b"x"), 1) + STOP,
        result(row(b"r1", b"x"), 1)[:-1] + TEXT_4 + STOP,
        *(result(row(b"r1", b"x"), 1)[:count] for count in range(1, 74)),
    ],
)
def test_nothing_is_read_of_any_other_answer(answer: bytes) -> None:
    whole = result(row(b"r1", b"x"), 1)
    assert len(whole) == 74

    assert usual(answer) == (None, 0)
