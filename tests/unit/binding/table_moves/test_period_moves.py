"""The rows of one table move to a table for each month: which table gets a row, and under which key."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import pytest

from hbase_orm import Family, Key, Mapped, Model, TablePerPeriod, codecs, column, connect, key
from hbase_orm.binding.table_moves.period_moves import (
    PREFIX_BYTES,
    PeriodMoves,
    prefix_of_start,
    rest_after_period,
    start_of_entry,
)
from hbase_orm.errors import ConfigurationError, RowKeyError
from hbase_orm.index.entries.index_entries import guarded_table
from hbase_orm.ops import Cell, KeyRange, Protocol
from tests.support.split_trips import monthly_class, plain_class

JANUARY: Final = datetime(2024, 1, 1, tzinfo=UTC)
FEBRUARY: Final = datetime(2024, 2, 1, tzinfo=UTC)
NOON: Final = datetime(2024, 2, 3, 12, tzinfo=UTC)
OLD, NEW = plain_class("trips"), monthly_class("trips_%Y%m")
CELLS: Final = {b"d:miles": Cell(b"\x00\x00\x00\x07", 5)}


class WholeTimes(Model, table=TablePerPeriod("trips_%Y%m", of="at", period="month")):
    """Trips whose keys have the whole time."""

    d = Family(versions=3)
    at: Key[datetime] = key(codecs.millis())
    tail: Key[str] = key()
    miles: Mapped[int] = column(d, codec=codecs.uint32())


def moves(new_class: Any = NEW) -> PeriodMoves:
    engine = connect("memory://")
    models = engine._bound_of(OLD), engine._bound_of(new_class)
    old, new = (guarded_table(bound.schema) for bound in models)

    def make_table(_: object) -> Protocol[None]:
        yield from ()

    return PeriodMoves(models, (old, new), "trips_new_keys", make_table)


def old_key(at: datetime) -> bytes:
    key: bytes = OLD.__schema__.layout.encode({"at": at, "tail": "N1"})
    return key


def new_key(at: datetime) -> bytes:
    key: bytes = NEW.__schema__.layout.encode({"at": at, "tail": "N1"})
    return key


def test_a_row_belongs_to_the_table_of_its_month() -> None:
    move = moves().of_row(old_key(NOON))

    row = move.to_new(old_key(NOON), CELLS)

    assert move.new.table == "trips_202402"
    assert row is not None
    assert (row.key, move.old_key(row.key)) == (new_key(NOON), old_key(NOON))


def test_a_row_does_not_exist_in_the_table_of_another_month() -> None:
    january = moves().of_table("trips_202401")

    assert january.to_new(old_key(NOON), CELLS) is None
    assert january.new_key_entries(old_key(NOON), {b"d:miles": b"\x00\x00\x00\x07"}) == set()


def test_the_entries_of_a_month_are_a_range_in_the_order_of_new_keys() -> None:
    (index,) = moves().with_new_indexes().indexes
    times = [datetime(2024, month, day, tzinfo=UTC) for month in (1, 2, 3) for day in (1, 9)]
    values = {column: cell.value for column, cell in CELLS.items()}
    entries = sorted(key for at in times for key in index.entry_keys(old_key(at), values))
    february = moves().of_table("trips_202402")

    own = [entry for entry in entries if entry in february.entry_range(KeyRange())]

    assert [start_of_entry(entry).month for entry in entries] == [1, 1, 2, 2, 3, 3]
    assert [february.key_of_entry(entry) for entry in own] == [
        new_key(at) for at in times if at.month == 2
    ]
    part = KeyRange(new_key(times[3]), new_key(NOON.replace(day=20)))
    assert [entry for entry in entries if entry in february.entry_range(part)] == own[1:]


def test_the_periods_of_entries_are_found_one_after_the_other() -> None:
    entry = prefix_of_start(FEBRUARY) + b"\xff" * 9
    rest = rest_after_period(entry)

    assert (len(prefix_of_start(JANUARY)), start_of_entry(entry)) == (PREFIX_BYTES, FEBRUARY)
    assert entry not in rest
    assert prefix_of_start(datetime(2024, 3, 1, tzinfo=UTC)) in rest
    last = datetime(9999, 12, 1, tzinfo=UTC)
    assert start_of_entry(prefix_of_start(last)) == last


def test_a_key_with_a_time_of_another_month_is_refused() -> None:
    with pytest.raises(RowKeyError, match="another period") as caught:
        moves(WholeTimes).of_table("trips_202402").old_key(old_key(JANUARY))

    assert caught.value.table == "trips_202402"


def test_a_table_of_another_name_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="does not belong"):
        moves().of_table("trips_20240")


def test_a_key_that_is_too_long_behind_its_period_is_refused() -> None:
    at: dict[str, Any] = {"at": NOON, "tail": "N" * 32_731}
    key = OLD.__schema__.layout.encode(at)

    with pytest.raises(RowKeyError, match="too long for the index"):
        moves().of_row(key).to_new(key, CELLS)
