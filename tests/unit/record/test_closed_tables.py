"""Records of tables that are closed while their rows move."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hbase_orm import Family, Key, Mapped, Model, codecs, column, key
from hbase_orm.binding.recorded_models import compared, drift_error
from hbase_orm.record.closed_tables import (
    being_moved_to,
    closed,
    closed_why,
    filled_from,
    how_to_go_on,
    moved_to,
    reopened,
)
from hbase_orm.record.declaration import TableRecord
from hbase_orm.record.snapshots import declaration_of


class Trip(Model, table="trips"):
    d = Family()
    tail: Key[str] = key()
    at: Key[int] = key(codecs.uint32())
    miles: Mapped[int] = column(d, codec=codecs.uint32())


OPEN = declaration_of([Trip.__schema__])
REASONS = pytest.mark.parametrize("reason", [being_moved_to, moved_to, filled_from])


@REASONS
def test_a_closed_record_has_one_reason_and_is_opened_as_it_was(reason: object) -> None:
    assert callable(reason)
    why = reason("trips_2")
    once = closed(closed(OPEN, being_moved_to("others")), why)

    stored = TableRecord.decode(TableRecord("id", once).encode(), "trips").current

    assert (closed_why(OPEN), closed_why(stored)) == ("", why)
    assert closed(stored, why) == stored
    assert reopened(stored) == OPEN == reopened(OPEN)


@REASONS
def test_a_class_is_refused_with_what_to_do(reason: object) -> None:
    assert callable(reason)
    record = TableRecord("id", closed(OPEN, reason("trips_2")))

    differing = compared(Trip.__schema__, record)

    assert [str(each) for each in differing] == [
        f"table: recorded {reason('trips_2')}, declared open"
    ]
    error = drift_error(Trip.__schema__, differing)
    assert error.fix == how_to_go_on(reason("trips_2"))
    assert ("trips_2" in str(error.fix)) is (reason is not filled_from)


def test_rows_without_a_key_are_not_closed() -> None:
    damaged = replace(OPEN, rows=tuple(replace(each, key=()) for each in OPEN.rows))

    assert closed_why(damaged) == ""
    assert reopened(damaged) == damaged
