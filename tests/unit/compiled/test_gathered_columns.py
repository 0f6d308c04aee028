"""The compiled gatherer of columns: buffers, texts, rows that do not fit, and damaged bytes."""

from __future__ import annotations

import random
import struct
import tracemalloc
from datetime import date
from typing import Any

import pytest

from hbase_orm import (
    Family,
    HashPrefix,
    Key,
    Mapped,
    Model,
    codecs,
    column,
    connect,
    rowkey,
    select,
)
from hbase_orm import key as key_field
from hbase_orm.codecs.source import MISFITS
from hbase_orm.compiled import EncodedRow, compiled_cells
from hbase_orm.errors import CorruptRowError, HBaseORMError
from hbase_orm.execute import CorruptRows
from hbase_orm.reading.columnar.arrow_columns import columns_of
from hbase_orm.reading.columnar.record_batches import record_batches

pytestmark = pytest.mark.skipif(compiled_cells is None, reason="it is not used")


class Note(Model, table="gathered_notes"):
    d = Family()
    n: Key[int] = key_field(codecs.uint32())
    flag: Mapped[bool | None] = column(d, "b", default=None)
    number: Mapped[int | None] = column(d, "n", default=None)
    text: Mapped[str] = column(d, "t")


def cell(name: bytes, value: bytes) -> bytes:
    """Return one cell as Thrift1 sends it."""
    head = struct.pack(">I", len(name)) + name + b"\x0b\x00\x01"
    return head + struct.pack(">I", len(value)) + value + b"\x0a\x00\x02" + bytes(8) + b"\x00"


def gatherer(*columns: tuple[Any, ...], names: tuple[bytes, ...] = (b"d:v",), most: int = 8) -> Any:
    cells = tuple((name, "", "none", "raw", 0, False, False, 0, None) for name in names)
    reader = compiled_cells.CellReader(cells, MISFITS)
    return compiled_cells.ColumnGatherer(columns, reader, None, None, MISFITS, EncodedRow, most)


def text_column(place: int = 0) -> tuple[Any, ...]:
    return ("cell", place, "text", 0, False, "unsigned", None, None, 0, None)


def number_column(**changes: Any) -> tuple[Any, ...]:
    parts: dict[str, Any] = {"source": "cell", "place": 0, "kind": "number", "size": 4}
    parts |= {
        "desc": False,
        "sign": "unsigned",
        "least": None,
        "last": None,
        "width": 4,
        "helper": None,
    }
    parts |= changes
    return tuple(parts.values())


def is_gathered(value: bytes) -> bool:
    columns = gatherer(text_column())
    done: int = columns.gather([EncodedRow(b"k", cell(b"d:v", value))])
    if done:
        ((nulls, valid, ends, values),) = columns.take()
        assert (nulls, bytes(valid), bytes(values)) == (0, b"\x01", value)
        assert struct.unpack("=2i", ends) == (0, len(value))
    return bool(done)


def is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_texts_are_utf8_exactly_if_python_decodes_them() -> None:
    chance = random.Random(7)
    some = "aé€\U0001f600\U00010000\ud7ff\ue000\uffff\x7f\x80\u07ff\u0800".encode()
    leads = [bytes([lead, low]) + b"\x80\x80"[:more] for lead in range(256) for low in (0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0) for more in range(3)]  # fmt: skip
    texts = [*leads, *(b"12345678" + each for each in leads)]
    for _ in range(3000):
        text = bytearray(some * 2)
        for _ in range(chance.randint(1, 3)):
            text[chance.randrange(len(text))] = chance.randrange(256)
        texts.append(bytes(text[chance.randrange(8) : chance.randrange(8, len(text))]))

    results = [is_gathered(text) for text in texts]

    assert results == [is_utf8(text) for text in texts]
    assert 500 < sum(results) < len(results) - 500


def test_a_row_that_does_not_fit_leaves_the_buffers_as_they_were() -> None:
    columns = gatherer(text_column(0), number_column(place=1), names=(b"d:t", b"d:n"))
    good = [
        EncodedRow(b"k", cell(b"d:t", b"ab") + cell(b"d:n", bytes([0, 0, 0, n]))) for n in (1, 2)
    ]
    bad = EncodedRow(b"k", cell(b"d:t", b"long text") + cell(b"d:n", b"short"))
    null = EncodedRow(b"k", cell(b"d:x", b""))

    assert columns.gather([good[0], bad, good[1]]) == 1
    assert columns.gather([null, good[1], EncodedRow(b"k", b"garbage"), good[0]]) == 2
    assert columns.rows == 3
    texts, numbers = columns.take()

    assert (texts[0], bytes(texts[1]), bytes(texts[3])) == (1, b"\x05", b"abab")
    assert struct.unpack("=4i", texts[2]) == (0, 2, 2, 4)
    assert (numbers[0], bytes(numbers[1])) == (1, b"\x05")
    assert struct.unpack("=3I", numbers[3]) == (1, 0, 2)
    assert columns.rows == 0


def test_no_more_rows_are_gathered_than_there_is_room_for() -> None:
    columns = gatherer(text_column(), most=3)
    rows = [EncodedRow(b"k", cell(b"d:v", b"v"))] * 5

    assert [columns.gather(rows), columns.gather(rows)] == [3, 0]
    assert len(columns.take()[0][2]) == 4 * 4
    assert columns.gather(rows) == 3


@pytest.mark.parametrize(
    "wrong",
    [
        number_column(place=1),
        number_column(place=-1),
        number_column(size=0),
        number_column(size=9),
        number_column(width=3),
        number_column(width=0),
        number_column(kind="float64"),
        number_column(kind="ieee", size=2),
        number_column(kind="choice", width=8),
        number_column(kind="either", size=2, helper=(b"0", b"1")),
        number_column(source="key"),
        number_column(source="decoded key"),
    ],
)
def test_a_column_that_would_leave_its_bytes_is_refused(wrong: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match=r"place|size|number|key"):
        gatherer(wrong)


@pytest.mark.parametrize("most", [0, -1, 1 << 40])
def test_a_number_of_rows_beyond_the_offsets_is_refused(most: int) -> None:
    with pytest.raises(ValueError, match="the number of rows"):
        gatherer(text_column(), most=most)


def encoded_note(n: int, text: bytes = b"text") -> EncodedRow:
    number = codecs.int64().encode(n)
    cells = cell(b"d:b", b"\x01") + cell(b"d:n", number) + cell(b"d:t", text)
    return EncodedRow(codecs.uint32().encode(n), cells)


def test_every_cut_and_every_changed_byte_of_a_row_is_an_error_or_a_value() -> None:
    whole = encoded_note(5)
    chance = random.Random(3)
    data = whole.encoded
    changed = [data[:cut] for cut in range(len(data))]
    changed += [
        data[:place] + bytes([byte]) + data[place + 1 :]
        for place in range(len(data))
        for byte in (0, 0x7F, 0x80, 0xFF, chance.randrange(256))
    ]
    with connect("memory://") as engine, engine.session() as session:
        bound = session._state.bound(Note)
    stmt = select(Note).allow_full_scan()
    columns = columns_of(stmt, bound, {})
    gathered = 0
    for data in changed:
        pages = iter([[encoded_note(1), EncodedRow(whole.key, data), encoded_note(2)]])
        try:
            (batch,) = record_batches(
                pages, bound, stmt, columns, 16, corrupt=CorruptRows("raise", "M")
            )
        except (HBaseORMError, ValueError):
            continue
        batch.validate(full=True)
        assert batch.num_rows == 3
        gathered += 1
    assert gathered > 50


class Named(Model, table="gathered_names"):
    d = Family()
    name: Key[str] = key_field()
    day: Key[date] = key_field()
    n: Key[int] = key_field(codecs.uint16())
    text: Mapped[str] = column(d, "t")
    __rowkey__ = rowkey(HashPrefix(4, of=name), name, day, n)


@pytest.mark.parametrize("batch_rows", [1, 2, 16])
@pytest.mark.parametrize("limit", [None, 1, 3])
@pytest.mark.parametrize("model", [Note, Named])
def test_rows_that_do_not_decode_are_left_out_between_gathered_ones(
    model: Any, limit: int | None, batch_rows: int
) -> None:
    with connect("memory://") as engine, engine.session() as session:
        bound = session._state.bound(model)
    keys = [
        Note.encode_key(n=n)
        if model is Note
        else Named.encode_key(name="a", day=date(2026, 1, 31), n=n)
        for n in range(6)
    ]
    good, bad = cell(b"d:t", b"x"), cell(b"d:t", b"\xff\xfe")
    page = [EncodedRow(key, bad if n in (0, 2, 3) else good) for n, key in enumerate(keys)]
    page.insert(5, EncodedRow(keys[4][:-1], good))
    stmt = select(model).allow_full_scan()
    stmt = stmt if limit is None else stmt.limit(limit)
    errors: list[CorruptRowError] = []
    corrupt = CorruptRows(errors.append, model.__name__)
    columns = columns_of(stmt, bound, {})

    batches = [*record_batches(iter([page]), bound, stmt, columns, batch_rows, corrupt=corrupt)]

    found = [n for batch in batches for n in batch.to_pydict()["n"]]
    assert found == [1, 4, 5][:limit]
    assert all(batch.num_rows <= batch_rows for batch in batches)
    assert limit == 1 or [error.row for error in errors] == [
        *(keys[n] for n in (0, 2, 3)),
        keys[4][:-1],
    ]


def test_memory_does_not_grow_with_the_rows() -> None:
    page = [encoded_note(n, b"x" * 100) for n in range(500)]
    with connect("memory://") as engine, engine.session() as session:
        bound = session._state.bound(Note)
    stmt = select(Note).allow_full_scan()
    columns = columns_of(stmt, bound, {})

    def peak_bytes(pages: int) -> int:
        tracemalloc.start()
        try:
            for batch in record_batches(
                iter([page] * pages), bound, stmt, columns, 1000, corrupt=CorruptRows("raise", "M")
            ):
                assert batch.num_rows == 1000
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak_bytes(2)  # what is imported at the first use is not counted
    assert peak_bytes(400) < 1.2 * peak_bytes(10) + 100_000
