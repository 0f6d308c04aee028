"""Regions during a load: where rows go, hot spots, splits, and regions that stay empty."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pytest

from hbase_orm import (
    Family,
    Index,
    Key,
    Mapped,
    Model,
    RecordType,
    Substitute,
    TablePerPeriod,
    codecs,
    column,
    func,
    key,
)
from hbase_orm import rowkey as rowkey_of
from hbase_orm.advise.lab import FieldValues, TableResult, Workload, lab
from hbase_orm.advise.lab.skew import skew_of
from hbase_orm.errors import ConfigurationError
from tests.support.lab_designs import (
    DESIGNS,
    WORKLOAD,
    NewestFirst,
    PageFirst,
    RandomFirst,
    Salted,
    TimeFirst,
)
from tests.support.table_designs import Log


def table_of(model: type[Model], **options: object) -> TableResult:
    options = {"rows": 5000, "workload": WORKLOAD, **options}
    return lab(model, **options).designs[0].tables[0]  # type: ignore[arg-type]  # of several types


@pytest.mark.parametrize("model", DESIGNS, ids=lambda model: model.__name__)
def test_every_row_is_in_one_region(model: type[Model]) -> None:
    table = table_of(model)

    assert table.rows.sum() == 5000
    assert len(table.rows) == len(table.regions) == table.regions_at_first


def test_a_time_in_front_is_written_in_one_region_at_a_time() -> None:
    table = table_of(TimeFirst)

    assert table.busiest is not None
    assert table.busiest.share == pytest.approx(1)
    assert (table.writes > 0).sum(axis=1).max() <= 2
    assert [int(each) for each in np.flatnonzero(table.writes[0])] == [0]
    assert [int(each) for each in np.flatnonzero(table.writes[-1])] == [3]


def test_the_newest_first_are_written_from_the_last_region_to_the_first() -> None:
    table = table_of(NewestFirst)

    assert int(table.writes[0].argmax()) == 3
    assert int(table.writes[-1].argmax()) == 0


def test_a_salt_is_written_in_all_regions_at_once() -> None:
    table = table_of(Salted, regions=8)

    assert table.busiest is not None
    assert table.busiest.share < 0.2
    assert (table.writes > 0).all()


def test_sampled_rows_stand_for_all_rows() -> None:
    every, some = table_of(Salted, rows=40_000), table_of(Salted, rows=40_000, sample=20_000)

    assert some.rows.sum() == pytest.approx(40_000)
    assert some.rows == pytest.approx(every.rows, rel=0.1)
    assert some.writes.sum() * some.cell_s == pytest.approx(40_000)


def test_equal_arguments_give_equal_results() -> None:
    first, second = lab(Salted, rows=1000).to_dict(), lab(Salted, rows=1000).to_dict()

    assert first == second


def test_rows_go_to_other_regions_with_another_seed_only_by_chance() -> None:
    first, second = table_of(PageFirst), table_of(PageFirst, seed=9)

    assert first.rows == pytest.approx(second.rows, abs=150)
    assert first.rows.tolist() != second.rows.tolist()


# --- splits ---------------------------------------------------------------------------------------


def test_a_full_region_is_split_in_its_middle_and_grows_on_at_the_end() -> None:
    table = table_of(TimeFirst, rows=4_000_000, sample=4000, region_bytes=60 * 2**20)

    assert table.splits
    assert len(table.regions) == table.regions_at_first + len(table.splits)
    assert [each.at_s for each in table.splits] == sorted(each.at_s for each in table.splits)
    assert table.rows.sum() == pytest.approx(4_000_000)
    assert table.size_bytes.max() < 75 * 2**20
    assert {each.key for each in table.splits} < {region.start for region in table.regions}


def test_before_a_split_both_halves_are_one_region() -> None:
    table = table_of(TimeFirst, rows=4_000_000, sample=4000, region_bytes=60 * 2**20)
    split = table.splits[-1]
    new = [region.start for region in table.regions].index(split.key)
    before = int(split.at_s / table.cell_s) - 1

    assert table.owners[before, new] == table.owners[before, new - 1]
    assert table.owners[-1, new] != table.owners[-1, new - 1]
    assert table.total(table.writes) == pytest.approx(
        np.full(len(table.writes), 4_000_000 / 3600), rel=0.05
    )


def test_the_only_region_is_split_early() -> None:
    class Single(Model, table="lab_single"):
        d = Family()
        at: Key[datetime] = key(codecs.millis())
        value: Mapped[int] = column(d, "v", codec=codecs.uint32())

    rows = 2 * 128 * 2**20 // 33
    table = lab(Single, rows=rows * 4, sample=2000).designs[0].tables[0]

    assert len(table.splits) == 1
    assert table.splits[0].at_s == pytest.approx(900, abs=100)


# --- regions that are asked for ------------------------------------------------------------------


def test_regions_by_the_possible_keys_may_stay_empty() -> None:
    table = table_of(TimeFirst, regions=16)

    assert (len(table.regions), table.skew.empty) == (16, 15)
    assert len(table.never_filled) == 15


def test_regions_of_unknown_keys_divide_the_load_evenly_and_that_is_remarked() -> None:
    table = table_of(PageFirst, regions=4)

    assert len(table.regions) == 4
    assert table.skew.max_over_mean < 1.5
    assert any("divide this load evenly" in remark for remark in table.remarks)


# --- kinds of models ------------------------------------------------------------------------------


class Payment(Model, table=TablePerPeriod("lab_pay_%Y%m%d", of="at", period="day")):
    d = Family()
    user: Key[int] = key(codecs.uint32())
    at: Key[datetime] = key(codecs.millis())
    total: Mapped[int] = column(d, "t", codec=codecs.uint32())


class Named(Model, table="lab_named"):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.millis())
    value: Mapped[int] = column(d, "v", codec=codecs.uint32())
    __rowkey__ = rowkey_of(Substitute(of=host, dictionary="lab_hosts"), at)


def test_a_table_for_each_period_has_its_own_regions() -> None:
    table = lab(Payment, rows=3000, seconds=3 * 86_400).designs[0].tables[0]

    assert [region.start for region in table.regions] == [
        b"",
        b"lab_pay_20260102\x00",
        b"lab_pay_20260103\x00",
    ]
    assert table.rows == pytest.approx(np.array([1000, 1000, 1000]), abs=1)


def test_numbers_of_names_are_given_in_the_order_of_the_writes() -> None:
    values = {"host": FieldValues(distinct=4)}
    table = lab(Named, rows=400, workload=Workload("few", "few hosts", values)).designs[0].tables[0]

    assert table.rows.sum() == 400


def test_rows_with_one_key_are_written_twice_and_stored_once() -> None:
    values = {"user": FieldValues(distinct=10), "at": FieldValues("uniform", distinct=1)}
    table = lab(Payment, rows=1000, workload=Workload("w", "", values)).designs[0].tables[0]

    assert table.rows.sum() == 10
    assert table.repeated_share == pytest.approx(0.99)


def test_the_base_of_record_types_is_refused() -> None:
    class Kind(Model, table="lab_kinds"):
        d = Family()
        name: Key[str] = key()
        __rowkey__ = rowkey_of(name, RecordType())

    class One(Kind, record_type="A"):
        x: Mapped[str] = column(Kind.d)

    with pytest.raises(ConfigurationError, match="base of record types") as caught:
        lab(Kind)
    assert "One" in caught.value.fix
    assert lab(One, rows=100).designs[0].tables[0].rows.sum() == 100


def test_values_of_unknown_types_are_refused() -> None:
    class Tagged(Model, table="lab_tagged"):
        d = Family()
        name: Key[str] = key()
        tags: Mapped[list[str]] = column(d, codec=codecs.json(list[str]))
        by_tag = Index(func.each(tags))

    with pytest.raises(ConfigurationError, match="cannot make values"):
        lab(Tagged)


@pytest.mark.parametrize(
    ("models", "options", "text"),
    [
        ((), {}, "no design"),
        ((Log,), {}, "not a model with a table"),
        ((Salted,), {"regions": 0}, "out of range"),
        ((Salted,), {"sample": 0}, "out of range"),
        ((Salted,), {"region_bytes": 5}, "out of range"),
        ((Salted,), {"reads_per_s": -1}, "out of range"),
        ((Salted,), {"statements": {"x": 7}}, "as a statement"),
        ((Salted,), {"statements": {"x": Salted}}, "as a statement"),
        ((Salted,), {"statements": {"x": lambda a, b, c: (a, b, c)}}, "as a statement"),
        ((Salted,), {"statements": {"x": lambda _: 7}}, "as a statement"),
        ((Salted,), {"statements": {"x": lambda model: model.color}}, "as a statement"),
    ],
)
def test_wrong_arguments_are_refused(
    models: tuple[type[Model], ...], options: dict[str, object], text: str
) -> None:
    with pytest.raises(ConfigurationError, match=text):
        lab(*models, **options)  # type: ignore[arg-type]  # wrong on purpose


def test_a_random_salt_spreads() -> None:
    assert table_of(RandomFirst, regions=8).skew.max_over_mean < 1.3


def test_skew_of_nothing_is_nothing() -> None:
    skew = skew_of(np.zeros(3))

    assert (skew.max_over_mean, skew.gini, skew.empty) == (0, 0, 3)
