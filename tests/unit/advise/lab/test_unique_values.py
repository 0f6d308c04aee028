"""Fields of which no two rows have one value, and what is said of rows that are written again."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from hbase_orm import Family, Index, Key, Mapped, Model, codecs, column, key
from hbase_orm.advise.lab import LabResult, lab
from hbase_orm.advise.lab.load.value_kinds import FieldValues
from hbase_orm.advise.lab.load.workloads import TIME_ORDERED

LARGE = 10_000_000


class Upload(Model, table="lab_uploads"):
    d = Family()
    number: Key[UUID] = key()
    name: Mapped[str] = column(d)
    by_name = Index(name, unique=True)


class Invoice(Model, table="lab_invoices"):
    d = Family()
    number: Key[int] = key(codecs.uint32())
    total: Mapped[int] = column(d)


class Member(Model, table="lab_members"):
    d = Family()
    name: Key[str] = key()
    total: Mapped[int] = column(d)


class Small(Model, table="lab_small"):
    d = Family()
    level: Key[int] = key(codecs.uint8())
    total: Mapped[int] = column(d)


def unique(model: type[Model], *, regions: int | None = None) -> LabResult:
    name = model.__schema__.layout.names[0]
    workload = replace(TIME_ORDERED, fields={name: FieldValues("unique")})
    return lab(model, rows=LARGE, sample=20_000, workload=workload, regions=regions)


def test_ids_and_values_of_unique_indexes_are_different_in_each_row_of_a_large_load() -> None:
    (design,) = lab(Upload, rows=LARGE, sample=20_000).designs

    assert [each.repeated_share for each in design.tables] == [0, 0]
    assert [each.rows.sum() for each in design.tables] == [LARGE, LARGE]


@pytest.mark.parametrize("model", [Invoice, Member])
def test_unique_values_do_not_rise_with_the_writes(model: type[Model]) -> None:
    (table,) = unique(model).designs[0].tables

    assert table.repeated_share == 0
    assert table.rows.sum() == LARGE
    assert len(table.regions) > 1
    assert table.busiest is not None
    assert not table.busiest.stays


def test_a_field_of_few_values_has_them_in_turn() -> None:
    (table,) = unique(Small).designs[0].tables

    assert table.rows.sum() == pytest.approx(256 * LARGE / 20_000)


def test_a_key_that_spreads_in_a_table_of_one_region_needs_regions_and_no_salt() -> None:
    sentences = unique(Member).verdict.sentences

    assert sentences[-1].startswith("A table of one region is on one server until")
    assert not any("a salt" in each for each in sentences)


def test_rows_that_are_written_again_are_said_with_what_makes_them_differ() -> None:
    (again,) = [
        each
        for each in lab(Invoice, rows=LARGE, sample=20_000).verdict.sentences
        if "written before" in each
    ]

    assert again.endswith('a workload can give a field of the key the kind "unique".')


def test_the_most_regions_are_remarked() -> None:
    workload = replace(TIME_ORDERED, fields={"name": FieldValues("unique")})
    result = lab(Member, rows=10**13, seconds=1e6, sample=20_000, workload=workload)

    (table,) = result.designs[0].tables
    assert len(table.regions) == 2_000
    assert table.remarks == ("no region is split beyond 2,000 regions",)
