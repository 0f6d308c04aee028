"""Which cells both tables of a copy keep."""

from __future__ import annotations

from datetime import timedelta
from types import new_class
from typing import Any

import pytest

from hbase_orm import Family, Key, Mapped, Model, column, key
from hbase_orm.migrate.operations.rows.kept_cells import KeptCells, kept_cells
from hbase_orm.migrate.operations.rows.row_copies import RowCopy, ordered
from hbase_orm.ops import FamilyDescriptor
from hbase_orm.schema import TableSchema

DAY_MS = 86_400_000
HOUR_MS = 3_600_000
MINUTE_MS = 60_000
NOW_MS = 1000 * DAY_MS


def schema(**families: Family) -> TableSchema:
    """Return the schema of a model with one column in each family, which has the family's name."""
    names: dict[str, Any] = {"k": key(), "__module__": __name__}
    annotations: dict[str, Any] = {"k": Key[str]}
    for number, (name, family) in enumerate(families.items()):
        names[name] = family
        names[f"c{number}"] = column(family, "c")
        annotations[f"c{number}"] = Mapped[str]
    names["__annotations__"] = annotations
    made: Any = new_class("Row", (Model,), {"table": "t"}, lambda space: space.update(names))
    result: TableSchema = made.__schema__
    return result


def kept(new: Family, *old: FamilyDescriptor) -> KeptCells:
    return kept_cells([(schema(d=Family()), schema(d=new))], old)


def row(*ages_ms: int) -> RowCopy:
    return ordered(b"r", [(b"d:c", NOW_MS - age, b"%d" % age) for age in ages_ms])


def ages(copy: RowCopy) -> list[int]:
    return [NOW_MS - stamp for stamp in copy.stamps]


def test_without_ttl_and_with_enough_versions_everything_is_kept() -> None:
    every = kept(Family(versions=3), FamilyDescriptor(b"d", versions=3))

    assert ages(every.compared(row(1, 2, 3), 0)) == [1, 2, 3]
    assert ages(every.put(row(1, 2, 3))) == [1, 2, 3]
    assert (every.ttl_ms, every.horizon_ms(NOW_MS)) == (None, 0)
    assert not every.has_passed(0, NOW_MS)


def test_the_newest_versions_are_put() -> None:
    fewer = kept(Family(versions=2), FamilyDescriptor(b"d", versions=3))

    assert ages(fewer.put(row(1, 2, 3))) == [1, 2]


@pytest.mark.parametrize(
    ("new", "old", "lasting"),
    [
        (Family(versions=5, ttl=timedelta(days=2)), FamilyDescriptor(b"d", versions=5), 1),
        (Family(versions=5), FamilyDescriptor(b"d", versions=5, ttl_s=2 * 86_400), 1),
        (Family(versions=5, ttl=timedelta(days=2), min_versions=2), FamilyDescriptor(b"d"), 2),
        (
            Family(versions=5, ttl=timedelta(days=2), min_versions=3),
            FamilyDescriptor(b"d", versions=5, ttl_s=86_400, min_versions=2),
            2,
        ),
        (Family(versions=5, ttl=timedelta(days=9)), FamilyDescriptor(b"other", ttl_s=1), 3),
    ],
)
def test_cells_are_compared_that_last_in_both_tables(
    new: Family, old: FamilyDescriptor, lasting: int
) -> None:
    cells = kept(new, old)

    copy = cells.compared(row(1, 3 * DAY_MS, 4 * DAY_MS), cells.horizon_ms(NOW_MS))

    assert len(copy.columns) == lasting
    assert len(copy.row) == lasting + 1


def test_the_ttl_of_the_family_that_a_column_comes_from_counts() -> None:
    source, target = schema(a=Family(), b=Family()), schema(x=Family(), y=Family())
    cells = kept_cells([(source, target)], [FamilyDescriptor(b"a", ttl_s=60)])

    limits = {name: each.ttls for name, each in cells.limits.items()}

    assert limits == {b"x": {(60_000, 0)}, b"y": frozenset()}


@pytest.mark.parametrize(
    ("ttl", "horizon_ms"),
    [
        (timedelta(days=100), HOUR_MS),
        (timedelta(hours=2), 6 * MINUTE_MS),
        (timedelta(seconds=1), 2 * MINUTE_MS),
    ],
)
def test_only_cells_are_left_out_that_are_about_to_expire(ttl: timedelta, horizon_ms: int) -> None:
    cells = kept(Family(ttl=ttl))

    assert cells.horizon_ms(NOW_MS) == NOW_MS + horizon_ms
    assert not cells.has_passed(NOW_MS + horizon_ms, NOW_MS)
    assert cells.has_passed(NOW_MS + horizon_ms, NOW_MS + horizon_ms - MINUTE_MS)


def test_a_horizon_lasts_for_twice_as_long_as_the_first_comparison_took() -> None:
    cells = kept(Family(ttl=timedelta(days=100)))

    assert cells.horizon_ms(NOW_MS, 5 * HOUR_MS) == NOW_MS + 10 * HOUR_MS + MINUTE_MS
