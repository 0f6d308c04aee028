"""The generated functions of a model: usual values without a call of a codec, others as codecs do."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from enum import IntEnum
from typing import Any

import pytest

from hbase_orm import Family, Key, Mapped, Model, codecs, column, key
from hbase_orm.errors import CorruptRowError, ValidationError
from hbase_orm.ops import Cell, Row

NOON = datetime(2024, 5, 6, 12, tzinfo=UTC)
COUNTED: list[int] = []
MAYBE: Any = int | None


class Level(IntEnum):
    HIGH = 20


def count() -> int:
    COUNTED.append(1)
    return 7


class Sample(Model, table="samples"):
    d = Family()
    name: Key[str] = key()
    status: Mapped[int] = column(d, "s", codec=codecs.uint32())
    note: Mapped[str | None] = column(d, "n", default=None)
    total: Mapped[int] = column(d, "t")
    value: Mapped[float] = column(d, "v")
    seen: Mapped[datetime] = column(d, "w", codec=codecs.millis())
    made: Mapped[int] = column(d, "m", default_factory=count)
    late: Mapped[str | None] = column(d, "l", default=None)


class Packed(Model, table="packed"):
    d = Family()
    name: Key[str] = key()
    choice: Mapped[int] = column(d, "c", codec=codecs.json(MAYBE))


def sample(**changes: Any) -> Sample:
    values: dict[str, Any] = {"name": "a", "status": 7, "total": -1, "value": 0.5, "seen": NOON}
    return Sample(**{**values, "made": 1, **changes})


def without_calls(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every call of a codec from a generated function fail."""

    def refuse(value: object) -> None:
        raise AssertionError(value)

    names = [n for n in function.__globals__ if n.startswith(("_encode", "_decode", "_check"))]
    assert names
    for name in names:
        monkeypatch.setitem(function.__globals__, name, refuse)


def test_cells_of_usual_values_are_made_without_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    obj = sample(note="n")
    expected = {
        c.column: c.codec.encode(getattr(obj, c.name)) for c in Sample.__schema__.columns[:-1]
    }
    without_calls(Sample.__mapping__.dehydrate, monkeypatch)

    assert Sample.__mapping__.dehydrate(obj.__dict__) == expected


def test_an_object_of_usual_values_is_made_without_a_check(monkeypatch: pytest.MonkeyPatch) -> None:
    without_calls(Sample.__mapping__.initialize, monkeypatch)

    assert sample().seen is NOON


def test_cells_stand_in_the_order_of_declaration() -> None:
    cells = Sample.__mapping__.dehydrate(sample(note="n", late="l").__dict__)

    assert [*cells] == [b"d:s", b"d:n", b"d:t", b"d:v", b"d:w", b"d:m", b"d:l"]


def test_a_value_of_a_derived_class_is_stored_as_its_codec_stores_it() -> None:
    assert Sample.__mapping__.dehydrate(sample(status=Level.HIGH).__dict__)[b"d:s"] == b"\0\0\0\x14"


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("status", -1, "out of range"),
        ("status", 1 << 32, "out of range"),
        ("total", 1 << 63, "out of range"),
        ("value", "x", "the value is not a float"),
        ("seen", NOON.replace(tzinfo=None), "has no time zone"),
        ("seen", NOON.replace(year=1969), "before 1970"),
        ("note", "\ud800", "lone surrogate"),
        ("made", None, "no value"),
    ],
)
def test_a_value_that_does_not_fit_names_model_and_field(field: str, value: Any, text: str) -> None:
    obj = sample()
    obj.__dict__[field] = value

    with pytest.raises(ValidationError, match=text) as caught:
        Sample.__mapping__.dehydrate(obj.__dict__)

    assert (caught.value.model, caught.value.field) == ("Sample", field)
    assert caught.value.__cause__ is None


def test_a_required_field_that_was_deleted_has_no_value() -> None:
    obj = sample()
    del obj.__dict__["seen"]

    with pytest.raises(ValidationError, match="no value") as caught:
        Sample.__mapping__.dehydrate(obj.__dict__)

    assert caught.value.field == "seen"


def test_none_is_refused_even_where_the_codec_has_bytes_for_it() -> None:
    obj = Packed(name="a", choice=1)
    obj.__dict__["choice"] = None

    with pytest.raises(ValidationError, match="no value"):
        Packed.__mapping__.dehydrate(obj.__dict__)


def test_a_factory_is_asked_once_for_a_row_in_which_another_cell_is_corrupt() -> None:
    cells = {**Sample.__mapping__.dehydrate(sample(late="l").__dict__), b"d:l": b"\xff"}
    del cells[b"d:m"]
    COUNTED.clear()
    row = Row(b"a", {name: Cell(value, 0) for name, value in cells.items()})

    with pytest.raises(CorruptRowError) as caught:
        Sample.__mapping__.hydrate(row)

    assert (caught.value.field, caught.value.value) == ("late", b"\xff")
    assert len(COUNTED) == 1


@pytest.mark.parametrize("length", [0, 3, 5])
def test_a_cell_of_another_width_is_corrupt(length: int) -> None:
    cells = Sample.__mapping__.dehydrate(sample().__dict__)
    row = Row(b"a", {name: Cell(value, 0) for name, value in cells.items()})
    row.cells[b"d:s"] = Cell(bytes(length), 0)

    with pytest.raises(CorruptRowError) as caught:
        Sample.__mapping__.hydrate(row)

    assert (caught.value.field, caught.value.codec) == ("status", "uint32")
    assert caught.value.column == b"d:s"
