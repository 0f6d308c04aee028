"""The lab's predictions against real tables: rows of regions, and rows that statements read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from uuid import uuid4

import numpy as np
import pytest

from hbase_orm import Engine, connect
from hbase_orm.advise.lab import TableResult, lab
from hbase_orm.advise.lab.live.live_regions import live_lab
from hbase_orm.advise.lab.load.load_shapes import LoadShape
from hbase_orm.advise.lab.load.sampled_rows import SampledRows
from hbase_orm.testing import RealHBase
from tests.support.lab_designs import DESIGNS, WORKLOAD, Visit, load

pytestmark = [pytest.mark.hbase, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def engine(hbase: RealHBase) -> Iterator[Engine]:
    namespace = f"lab_{uuid4().hex[:8]}"
    with connect(hbase.url_in(namespace)) as engine:
        yield engine
    hbase.drop_namespace(namespace)


def misses(counted: TableResult, predicted: TableResult, sampled: int) -> list[str]:
    """Return the regions whose rows are predicted neither within 5 % nor within 4 deviations.

    Both are samples of the same load: the real one of all its rows, the predicted one of fewer.
    """
    rows = float(counted.rows.sum())
    parts = predicted.rows / predicted.rows.sum()
    deviations = np.sqrt(rows * parts * (1 - parts) * (1 + rows / sampled))
    allowed = np.maximum(0.05 * counted.rows, 4 * deviations)
    return [
        f"region {number}: {real:.0f} rows, predicted {expected:.0f}"
        for number, (real, expected, most) in enumerate(
            zip(counted.rows, predicted.rows, allowed, strict=True)
        )
        if abs(real - expected) > most
    ]


def check_agreement(engine: Engine, model: type[Visit], *, rows: int, sample: int) -> None:
    written = SampledRows(LoadShape.of(rows=rows), WORKLOAD, rows, seed=2)
    load(engine, model, written)

    (real,) = live_lab(engine, model, most_rows=rows).designs
    (predicted,) = lab(model, rows=rows, workload=WORKLOAD, sample=sample, seed=1).designs

    assert [table.index for table in real.tables] == [table.index for table in predicted.tables]
    for counted, expected in zip(real.tables, predicted.tables, strict=True):
        assert counted.regions == expected.regions
        assert counted.rows.sum() == pytest.approx(rows, rel=0.01)
        assert misses(counted, expected, sample) == []


@pytest.mark.parametrize("model", DESIGNS[::2], ids=lambda model: model.__name__)
def test_the_rows_of_regions_are_as_predicted(engine: Engine, model: Any) -> None:
    check_agreement(engine, model, rows=4_000, sample=20_000)


@pytest.mark.soak
@pytest.mark.parametrize("model", DESIGNS, ids=lambda model: model.__name__)
def test_the_rows_of_regions_are_as_predicted_for_100_000_rows(engine: Engine, model: Any) -> None:
    check_agreement(engine, model, rows=100_000, sample=25_000)


def test_a_wrong_prediction_is_noticed() -> None:
    """The check itself: an even prediction for rows that are not even."""
    (salted,) = lab(DESIGNS[1], rows=4_000, workload=WORKLOAD).designs
    (by_time,) = lab(DESIGNS[5], rows=4_000, workload=WORKLOAD).designs

    assert misses(salted.tables[0], salted.tables[0], 4_000) == []
    first = by_time.tables[0]
    assert len(misses(first, _even(first), 4_000)) == 3


def _even(table: TableResult) -> TableResult:
    return replace(table, rows=np.full(len(table.rows), table.rows.mean()))
