"""The compiled reader decodes every codec's bytes as the codec does, and refuses what it refuses."""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest

from hbase_orm.codecs import Codec
from hbase_orm.codecs.forms import form_of
from hbase_orm.codecs.source import MISFITS
from hbase_orm.compiled import compiled_cells
from tests.property.test_codecs_inline import CODECS
from tests.property.test_codecs_properties import same

pytestmark = pytest.mark.skipif(compiled_cells is None, reason="it was not built")

COLUMN = b"d:v"
EDGES = (0, 1, 127, 128, 255, 1 << 31, (1 << 31) - 1, 1 << 63, (1 << 63) - 1, (1 << 64) - 1)
# The milliseconds, seconds and microseconds just before and in the years 1 and 9999.
TIMES = (-62_135_596_800_000, 253_402_300_799_999, 0, 951_782_400_000, 4_107_542_400_000)
NOT_A_NUMBER = "Decimal('NaN')"
TEXTS = (b"", b"a", b"\xc3\xa4", b"\xff", b"a\x00b", b"\xed\xa0\x80", b"1" * 300)


def encoded(value: bytes, column: bytes = COLUMN) -> bytes:
    """Return one cell as Thrift1 sends it."""
    head = struct.pack(">I", len(column)) + column + b"\x0b\x00\x01"
    return head + struct.pack(">I", len(value)) + value + b"\x0a\x00\x02" + bytes(8) + b"\x00"


def samples(codec: Codec[Any], chance: random.Random) -> list[bytes]:
    """Return bytes of many kinds: numbers at the ends of ranges, texts, and random bytes."""
    width = codec.width_bytes or 8
    numbers = [(n & ((1 << 8 * width) - 1)).to_bytes(width, "big") for n in EDGES]
    for ms in TIMES:
        for near in (ms - 1, ms, ms + 1):
            for number in (near, near // 1000, near * 1000):
                stored = (number, number + (1 << 63), (1 << 63) - 1 - number)
                numbers += [each.to_bytes(8, "big") for each in stored if 0 <= each < 1 << 64]
    drawn = [chance.randbytes(chance.choice((width, width, 0, 1, width + 1))) for _ in range(300)]
    inverted = [bytes(255 - byte for byte in each) for each in numbers]
    return [*numbers, *inverted, *TEXTS, *drawn, b"\x00", b"\x01", b"\xfe", b"\x02"]


def decoded(codec: Codec[Any], data: bytes) -> object:
    """Return the value, or None if the bytes are refused."""
    try:
        return codec.decode(data)
    except MISFITS:
        return None


@pytest.mark.parametrize("codec", CODECS, ids=repr)
def test_every_codec_is_read_as_it_decodes(codec: Codec[Any]) -> None:
    form = form_of(codec)
    sizes = (form.size, form.desc, form.is_flipped, form.unit_micros)
    column = (COLUMN, "v", "left out", form.name, *sizes, form.helper)
    reader = compiled_cells.CellReader((column,), MISFITS)
    fitting = 0
    for data in samples(codec, random.Random(7)):
        values: dict[str, Any] = {}
        wanted = decoded(codec, data)

        fits = reader.read_into(values, encoded(data))

        assert fits == (wanted is not None), data
        if fits:
            fitting += 1
            assert same(values["v"], wanted) or repr(values["v"]) == repr(wanted) == NOT_A_NUMBER
            assert type(values["v"]) is type(wanted)
    assert fitting or form.name == "call"


def test_the_usual_codecs_have_forms_of_their_own() -> None:
    called = {codec.name for codec in CODECS if form_of(codec).name == "call"}
    assert called.isdisjoint({"int64", "uint32", "float64", "bool", "millis", "bytes.int64"})


def test_a_subclass_that_decodes_in_another_way_is_called() -> None:
    base: Any = type(CODECS[0])

    class Other(base):  # type: ignore[misc]  # the class is known at run time
        """Decodes other values."""

    assert form_of(Other()).name == "call"


@pytest.mark.parametrize("cut", [1, 3, 8, 15, 20])
def test_bytes_that_are_no_cells_are_left_to_python(cut: int) -> None:
    column = (COLUMN, "v", "left out", "raw", 0, False, False, 0, None)
    reader = compiled_cells.CellReader((column,), MISFITS)
    whole = encoded(b"value")
    assert not reader.read_into({}, whole[:-cut])
    assert not reader.read_into({}, whole + whole[:cut])
    assert reader.read_into({}, whole + whole)
