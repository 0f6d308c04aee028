"""Models with columns of every codec, also of users' codecs, are read alike by both readers.

The errors are the same too: their class, text, cause and details, and which value raises first.
"""

from __future__ import annotations

import random
import struct
import types
from collections.abc import Callable
from dataclasses import dataclass
from datetime import time
from decimal import Decimal
from ipaddress import ip_address
from typing import Any, ClassVar

import pytest

from hbase_orm import (
    Counter,
    Dynamic,
    Family,
    Key,
    Mapped,
    Model,
    RowKey,
    Version,
    codecs,
    column,
    counter,
    dynamic,
)
from hbase_orm import key as key_field
from hbase_orm import version as version_field
from hbase_orm.codecs import Codec
from hbase_orm.compiled import EncodedRow, compiled_cells
from hbase_orm.errors import CodecError
from hbase_orm.model.mapping.projection import reader_of
from hbase_orm.model.state import InstanceState
from hbase_orm.ops import Cell, Row
from tests.property.test_codecs_inline import CODECS, HARD

pytestmark = pytest.mark.skipif(compiled_cells is None, reason="it is not used")

SEEDS = range(10)
SOAK_SEEDS = range(10, 210)
MODELS = 12
ROWS = 8

ERRORS: dict[str, type[BaseException]] = {
    "misfit": ValueError,
    "overflow": OverflowError,
    "struct": struct.error,
    "codec": CodecError,
    "missing": KeyError,
    "type": TypeError,
    "end": StopIteration,
    "stop": KeyboardInterrupt,
}


@dataclass(frozen=True, slots=True)
class Fragile(Codec[Any]):
    """A user's codec, which raises an error for a third of all values."""

    name: ClassVar[str] = "fragile"
    python_type: ClassVar[type] = object

    error: str = "misfit"

    def encode(self, value: Any, /) -> bytes:
        return bytes(value)

    def decode(self, data: bytes, /) -> Any:
        if len(data) % 3 == 1:
            raise ERRORS[self.error](f"{len(data)} bytes")
        return None if len(data) % 3 == 2 else (data, "decoded")


OTHERS: tuple[Any, ...] = (
    *(Decimal("1.50"), Decimal("-0.001"), Decimal(12345)),
    *(time(0), time(23, 59)),
    *(ip_address("10.0.0.1"), ip_address("::1")),
    *(1, 2, [1, 2], []),
)
"""Values of codecs that take none of the hard values."""


def values_of(codec: Codec[Any]) -> list[tuple[Any, bytes]]:
    """Return the hard values that a codec stores, with their bytes as they are received."""
    stored = []
    for value in (*HARD, *OTHERS):
        try:
            stored.append((codec.normalize(value), b"".join((codec.encode(value), b""))))
        except (CodecError, AttributeError, TypeError, ValueError):
            continue
    return stored


NAMES = (codecs.text(), codecs.raw(), codecs.uint16(), codecs.int64(), codecs.text(desc=True))
"""The codecs of the names of dynamic columns."""

STORED = [(codec, values) for codec in CODECS if (values := values_of(codec))]


def new_model(chance: random.Random, number: int) -> type[Model]:
    """Return a model with random columns, mostly of different codecs."""
    body: dict[str, Any] = {"d": Family(), "e": Family()}
    key_codec = chance.choice((codecs.text(), codecs.int64(), codecs.uint8(), codecs.raw()))
    body["k"] = key_field(key_codec)
    kinds: dict[str, Any] = {"k": Key[key_codec.python_type]}  # type: ignore[name-defined]
    prefixes = chance.choice(((), (), ("",), ("x:", "y:"), ("x", "é")))
    for place in range(chance.choice((1, 2, 4, 8, 20, 130))):
        codec, values = chance.choice(STORED)
        if chance.random() < 0.2:
            codec, values = Fragile(error=chance.choice([*ERRORS])), []
        is_deferred = chance.random() < 0.03 and not prefixes
        options: dict[str, Any] = {"codec": codec, "deferred": is_deferred}
        kind: Any = codec.python_type
        how = chance.random()
        if how < 0.25:
            options["default"], kind = None, kind | None
        elif how < 0.4 and values:
            options["default_factory"] = _constant(chance.choice(values)[0])
        family, qualifier = body[chance.choice("de")], chance.choice((None, chr(0x1F600 + place)))
        body[f"c{place}"] = column(family, qualifier, **options)
        kinds[f"c{place}"] = Mapped[kind]
    if chance.random() < 0.3:
        body["n"], kinds["n"] = counter(body["d"]), Counter
    for place, prefix in enumerate(prefixes):
        _add_dynamic(body, kinds, place, prefix, chance)
    if chance.random() < 0.2:
        body["v"], kinds["v"] = version_field(body["d"]), Version
    body |= {"__annotations__": kinds, "__rowkey__": RowKey((body["k"],))}
    words = {"table": f"t{number}"}
    return types.new_class(f"M{number}", (Model,), words, lambda space: space.update(body))


def _add_dynamic(
    body: dict[str, Any], kinds: dict[str, Any], place: int, prefix: str, chance: random.Random
) -> None:
    """Declare dynamic columns, with names of a codec that has one encoding of each."""
    name_codec = chance.choice(NAMES)
    codec = Fragile() if chance.random() < 0.1 else chance.choice(STORED)[0]
    body[f"y{place}"] = dynamic(body["e"], prefix=prefix, name=name_codec, codec=codec)
    kinds[f"y{place}"] = Dynamic[name_codec.python_type, codec.python_type]  # type: ignore[name-defined]


def _constant(value: Any) -> Callable[[], Any]:
    return lambda: value


def stored_bytes(codec: Codec[Any], chance: random.Random) -> bytes:
    """Return the bytes of a value; a few times bytes of a wrong width, or any."""
    values = next((values for each, values in STORED if each == codec), ())
    if values and chance.random() < 0.93:
        return chance.choice(values)[1]
    width = codec.width_bytes or chance.choice((0, 1, 2, 8, 40))
    return chance.randbytes(chance.choice((width, width, 0, max(0, width - 1), width + 1)))


def new_row(model: type[Model], chance: random.Random) -> Row:
    """Return a row of a model; some cells are missing, strange, of no field, or in any order."""
    schema = model.__schema__
    missing = chance.choice((0, 0.02, 0.3))
    cells = {
        each.column: Cell(stored_bytes(each.codec, chance), chance.choice((0, -1, 5, 2**63 - 1)))
        for each in (*schema.columns, *schema.numbers)
        if chance.random() >= missing
    }
    if chance.random() < 0.2:
        cells[chance.choice((b"", b"d:other", b"e:"))] = Cell(b"other", 1)
    for each in schema.dynamics:
        for _ in range(chance.choice((0, 1, 7, 40))):
            name = each.prefix + stored_bytes(each.name_codec, chance)
            cells[name] = Cell(stored_bytes(each.codec, chance), chance.choice((0, 5)))
    names = sorted(cells) if chance.random() < 0.7 else chance.sample([*cells], len(cells))
    key = stored_bytes(schema.layout.parts[0].codec, chance) or b"z"
    return Row(key, {name: cells[name] for name in names})


def encoded(row: Row) -> EncodedRow:
    """Return a row as Thrift1 sends it."""
    cells = bytearray()
    for name, (value, stamp) in row.cells.items():
        cells += struct.pack(">I", len(name)) + name + b"\x0b\x00\x01"
        cells += struct.pack(">I", len(value)) + value + b"\x0a\x00\x02"
        cells += struct.pack(">q", stamp) + b"\x00"
    return EncodedRow(row.key, bytes(cells))


def outcome(read: Callable[..., Any], *arguments: object) -> object:
    """Return the result or the error in a form that shows NaN, types and orders, too."""
    try:
        made = read(*arguments)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - whatever a codec raises
        cause = error.__cause__
        return type(error), str(error), type(cause), str(cause), vars(error)
    if isinstance(made, tuple):
        return repr(made), [type(value) for value in made]
    state = [repr(getattr(made.__state__, name)) for name in InstanceState.__slots__]
    return repr(made.__dict__), [type(value) for value in made.__dict__.values()], state


def check_models(seed: int) -> None:
    """Compare both readers on rows of random models."""
    chance = random.Random(seed)
    objects = 0
    for number in range(MODELS):
        model: Any = new_model(chance, number)
        mapping = model.__mapping__
        dynamic_names = model.__schema__.dynamic_by_name
        fields = [each for each in model.__schema__.fields if each not in dynamic_names]
        for _ in range(ROWS):
            row = new_row(model, chance)
            maker = mapping.maker()
            if maker is not None:
                objects += 1
                made = outcome(maker.made, None, None, encoded(row))
                assert made == outcome(mapping.hydrate, row, None)
            chosen = chance.sample(fields, min(len(fields), chance.randint(1, 5)))
            read = reader_of(model, [getattr(model, name) for name in chosen])
            assert outcome(read, encoded(row), None) == outcome(read, row, None)
    assert objects


@pytest.mark.parametrize("seed", SEEDS)
def test_columns_of_every_codec_are_read_alike(seed: int) -> None:
    check_models(seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", SOAK_SEEDS)
def test_columns_of_every_codec_are_read_alike_in_many_models(seed: int) -> None:
    check_models(seed)


def test_every_codec_has_values_here() -> None:
    assert [codec for codec, _ in STORED] == CODECS
