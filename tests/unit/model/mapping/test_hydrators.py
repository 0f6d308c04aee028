"""Objects of rows whose columns are known before are those of the equal plain rows."""

from __future__ import annotations

from typing import Any

import pytest

from hbase_orm import (
    Counter,
    Dynamic,
    Family,
    Key,
    Mapped,
    Model,
    codecs,
    column,
    counter,
    dynamic,
    key,
)
from hbase_orm.errors import CorruptRowError
from hbase_orm.model.mapping.projection import reader_of
from hbase_orm.ops import Cell, Row
from hbase_orm.schema import NO_FIELDS
from tests.support.listed_rows import listed


class Stop(Model, table="stops"):
    d = Family()
    name: Key[str] = key()
    line: Mapped[int] = column(d, "l", codec=codecs.uint32())
    note: Mapped[str | None] = column(d, "n")
    zone: Mapped[int] = column(d, "z", default=3)


COLUMNS = (b"d:l", b"d:n", b"d:z")


def row(**cells: bytes) -> Row:
    return Row(b"a", {f"d:{name}".encode(): Cell(value, 7) for name, value in cells.items()})


LINE, ZONE = (5).to_bytes(4, "big"), Stop.__schema__.column_by_name["zone"].codec.encode(9)


def hydrated(read: Row, columns: tuple[bytes, ...]) -> tuple[Any, Any]:
    mapping = Stop.__mapping__
    made = mapping.hydrator(NO_FIELDS, columns)(listed(read, columns))
    return made, mapping.hydrate(read)


@pytest.mark.parametrize(
    "read",
    [
        row(l=LINE, n=b"x", z=ZONE),
        row(l=LINE, z=ZONE),
        row(l=LINE),
        row(n=b""),
        row(),
        row(l=LINE, x=b"of another program"),
    ],
)
@pytest.mark.parametrize("columns", [COLUMNS, (*COLUMNS, b"d:x"), (b"d:x", *COLUMNS[::-1])])
def test_an_object_of_a_listed_row_is_that_of_the_row(
    read: Row, columns: tuple[bytes, ...]
) -> None:
    columns = (*columns, *(read.cells.keys() - columns))

    made, expected = hydrated(read, columns)

    assert made.__dict__ == expected.__dict__
    assert made.__state__.row == expected.__state__.row


@pytest.mark.parametrize("read", [row(l=LINE, n=b"x", z=ZONE), row(l=LINE), row()])
@pytest.mark.parametrize("columns", [COLUMNS, COLUMNS[::-1], (*COLUMNS, b"d:x")])
def test_selected_values_of_a_listed_row_are_those_of_the_row(
    read: Row, columns: tuple[bytes, ...]
) -> None:
    values = reader_of(Stop, [Stop.zone, Stop.name, Stop.line, Stop.note])

    assert values(listed(read, columns)) == values(read)
    assert values(listed(read, (b"d:l",) if len(read.cells) < 3 else COLUMNS)) == values(read)


def test_a_selected_value_that_does_not_decode_is_named() -> None:
    with pytest.raises(CorruptRowError, match="does not decode"):
        reader_of(Stop, [Stop.line])(listed(row(l=b"\x00")))


def test_columns_that_no_row_has_are_absent() -> None:
    made, expected = hydrated(row(l=LINE), (b"d:l",))

    assert made.__dict__ == expected.__dict__ == {"name": "a", "line": 5, "note": None, "zone": 3}
    assert made.__state__.row.cells.keys() == {b"d:l", b"d:z"}


def test_a_cell_that_does_not_decode_is_named() -> None:
    hydrate = Stop.__mapping__.hydrator(NO_FIELDS, COLUMNS)

    with pytest.raises(CorruptRowError) as caught:
        hydrate(listed(row(l=b"\x00"), COLUMNS))

    assert caught.value.details["field"] == "line"
    assert caught.value.details["value"] == b"\x00"


def test_hydrators_are_made_once_for_each_list_of_columns() -> None:
    hydrator = Stop.__mapping__.hydrator

    assert hydrator(NO_FIELDS, COLUMNS) is hydrator(NO_FIELDS, tuple(COLUMNS))
    assert hydrator(NO_FIELDS, COLUMNS) is not hydrator(NO_FIELDS, (b"d:l",))


class Wide(Model, table="wides"):
    d = Family()
    name: Key[str] = key()
    hits: Counter = counter(d, "h")
    tags: Dynamic[str, str] = dynamic(d, prefix="t:")
    e = Family()
    text: Mapped[str | None] = column(e, "x", deferred=True)


WIDE = Row(
    b"a",
    {
        b"d:t:b": Cell(b"2", 1),
        b"d:t:a": Cell(b"1", 1),
        b"d:h": Cell((6).to_bytes(8, "big"), 1),
        b"e:x": Cell(b"long", 1),
    },
)


@pytest.mark.parametrize("loaded", [NO_FIELDS, frozenset({"text"})])
def test_counters_dynamic_columns_and_deferred_ones_are_read_as_ever(
    loaded: frozenset[str],
) -> None:
    read = listed(WIDE)

    made = Wide.__mapping__.hydrator(loaded, read.listed)(read)
    expected = Wide.__mapping__.hydrator(loaded, None)(WIDE)

    assert made.__dict__ == expected.__dict__
    assert made.__dict__["tags"] == {"a": "1", "b": "2"}
    assert made.__state__.row == expected.__state__.row
    assert ("text" in made.__dict__) == bool(loaded)


def test_a_counter_of_a_listed_row_is_read() -> None:
    class Count(Model, table="counts"):
        d = Family()
        name: Key[str] = key()
        hits: Counter = counter(d, "h")

    read = listed(Row(b"a", {b"d:h": Cell((6).to_bytes(8, "big"), 1)}))

    made = Count.__mapping__.hydrator(NO_FIELDS, read.listed)(read)

    assert made.__dict__ == {"name": "a", "hits": 6}
