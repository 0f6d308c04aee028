"""What the lab says that statements read, against what they do read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hbase_orm import Engine
from hbase_orm.advise.lab.designs import design_of
from hbase_orm.advise.lab.load.load_shapes import LoadShape
from hbase_orm.advise.lab.load.sampled_rows import SampledRows
from hbase_orm.advise.lab.plan_reads import reads_of
from hbase_orm.advise.lab.statement_costs import LabStatement
from hbase_orm.query import plan
from tests.support.lab_designs import DESIGNS, STATEMENTS, WORKLOAD, load

ROWS = 2_500
WRITTEN = SampledRows(LoadShape.of(rows=ROWS), WORKLOAD, ROWS)


def prepare(engine: Engine) -> None:
    for model in DESIGNS:
        load(engine, model, WRITTEN)


@pytest.mark.parametrize("row", [7, ROWS // 2])
@pytest.mark.parametrize("name", STATEMENTS)
@pytest.mark.parametrize("model", DESIGNS, ids=lambda model: model.__name__)
def test_statements_read_as_many_rows_as_predicted(
    engine: Engine, model: Any, name: str, row: int
) -> None:
    design = design_of(model, model.__name__, WRITTEN)
    statement = LabStatement(name, STATEMENTS[name]).made_for(design, row)
    chosen = plan(statement, design.schema)

    predicted = reads_of(design, statement, chosen, own_row=row, random=np.random.default_rng(1))

    with engine.session() as session:
        measured = session.explain(statement, analyze=True).measured
    assert measured is not None
    assert predicted.fetched == pytest.approx(measured.fetched, rel=0.05)
    assert predicted.entries == pytest.approx(measured.entries, rel=0.05)
    assert predicted.wanted == pytest.approx(measured.kept, rel=0.05)
