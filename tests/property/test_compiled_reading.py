"""What the compiled reader makes of a row is what the generated functions make of it."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hbase_orm.compiled import EncodedRow, compiled_cells
from hbase_orm.errors import HBaseORMError
from hbase_orm.model.mapping.projection import reader_of
from hbase_orm.ops import Cell, Row
from hbase_orm.rowkey import KeyContext
from tests.property.random_models import Declared, models, row_key, rows

pytestmark = pytest.mark.skipif(compiled_cells is None, reason="it was not built")

many = settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
CONTEXTS = (None, KeyContext(name_of=lambda _, number: f"name {number}"))


def encoded(row: Row) -> EncodedRow:
    """Return a row as Thrift1 sends it."""
    cells = b""
    for column, (value, stamp) in row.cells.items():
        cells += struct.pack(">I", len(column)) + column + b"\x0b\x00\x01"
        cells += struct.pack(">I", len(value)) + value + b"\x0a\x00\x02"
        cells += struct.pack(">q", stamp) + b"\x00"
    return EncodedRow(row.key, cells)


def outcome(read: Callable[[], Any]) -> tuple[str, str]:
    """Return the result or the error as texts, which show NaN, types and orders, too."""
    try:
        made = read()
    except HBaseORMError as error:
        return type(error).__name__, str(error)
    if isinstance(made, tuple):
        return "values", repr(made)
    state = made.__state__
    return "object", repr((made.__dict__, state.row, state.on_change, dict(state.rare)))


def stored(declared: Declared, values: dict[str, Any], chance: random.Random) -> Row | None:
    """Return a row with these values, often with cells that are missing, strange or not known."""
    maker: Any = declared.makers[values["class"]]
    fields = {name: value for name, value in values.items() if name in maker.__schema__.fields}
    obj = maker(**fields)
    key = row_key(maker.__schema__.layout, values)
    if chance.random() < 0.1:
        key = key[: chance.randrange(len(key))] + chance.randbytes(chance.randint(0, 2)) or b"x"
    cells = {c: Cell(v, 5) for c, v in maker.__mapping__.dehydrate(obj.__dict__).items()}
    for column in [*cells]:
        if chance.random() < 0.15:
            del cells[column]
        elif chance.random() < 0.1:
            cells[column] = Cell(chance.randbytes(chance.choice((0, 1, 8, 9))), 6)
    if chance.random() < 0.2:
        cells[b"d:zz"] = Cell(b"other", 7)
    names = sorted(cells) if chance.random() < 0.8 else chance.sample([*cells], len(cells))
    return Row(key, {name: cells[name] for name in names}) if cells else None


@many
@given(st.data(), models(), st.randoms(use_true_random=False))
def test_objects_and_values_are_the_same(
    data: st.DataObject, declared: Declared, chance: random.Random
) -> None:
    for values in data.draw(rows(declared, max_size=4)):
        row = stored(declared, values, chance)
        if row is not None:
            for context in CONTEXTS:
                check(declared.makers[values["class"]], row, context, chance)


def check(model: Any, row: Row, context: KeyContext | None, chance: random.Random) -> None:
    """Compare the objects and some values that both readers make of a row."""
    mapping, names = model.__mapping__, [*model.__schema__.fields]
    maker = mapping.maker()
    if maker is not None:
        made = outcome(lambda: maker.made(None, context, encoded(row)))
        assert made == outcome(lambda: mapping.hydrate(row, context))
    chosen = chance.sample(names, chance.randint(1, min(4, len(names))))
    read = reader_of(model, [getattr(model, name) for name in chosen])
    assert outcome(lambda: read(encoded(row), context)) == outcome(lambda: read(row, context))


def test_an_encoded_row_is_used_like_a_row() -> None:
    row = Row(b"k", {b"d:a": Cell(b"1", 5), b"d:b": Cell(b"", -1)})
    one = encoded(row)
    assert one == row
    assert row == one
    assert one == encoded(row)
    assert list(one.columns) == [b"d:a", b"d:b"]
    assert one.content_bytes == row.content_bytes
    assert repr(one) == repr(row)
    assert type(one.with_cells({})) is Row
    assert one != Row(b"k", {})
