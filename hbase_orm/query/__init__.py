"""Statements and plans: what is selected, and what will be sent for it. Nothing is sent here."""

from __future__ import annotations

from hbase_orm.query.planning.cell_tests import (
    cell_test,
    check_flat,
    holds_for_absent_row,
    may_be_empty,
)
from hbase_orm.query.planning.planner import names_in, plan
from hbase_orm.query.planning.shapes import Shapes
from hbase_orm.query.plans.index_plan import IndexPlan
from hbase_orm.query.plans.measured import Measured, Requests
from hbase_orm.query.plans.plans import (
    EmptyPlan,
    GetPlan,
    Plan,
    SaltedScanPlan,
    ScanPlan,
    TablesPlan,
)
from hbase_orm.query.statements.aggregates import Aggregate, Grouping
from hbase_orm.query.statements.argument_checks import positive
from hbase_orm.query.statements.clauses import (
    ANY_INDEX,
    ROWS_ONLY,
    AnyIndex,
    OnCorrupt,
    Selection,
    Sort,
)
from hbase_orm.query.statements.named_values import heading, named_values_of
from hbase_orm.query.statements.selection import fields_given, fields_read, loaded_by
from hbase_orm.query.statements.statement import Select, select
from hbase_orm.schema import codec_of, compile_match

__all__ = [
    "ANY_INDEX",
    "ROWS_ONLY",
    "Aggregate",
    "AnyIndex",
    "EmptyPlan",
    "GetPlan",
    "Grouping",
    "IndexPlan",
    "Measured",
    "OnCorrupt",
    "Plan",
    "Requests",
    "SaltedScanPlan",
    "ScanPlan",
    "Select",
    "Selection",
    "Shapes",
    "Sort",
    "TablesPlan",
    "cell_test",
    "check_flat",
    "codec_of",
    "compile_match",
    "fields_given",
    "fields_read",
    "heading",
    "holds_for_absent_row",
    "loaded_by",
    "may_be_empty",
    "named_values_of",
    "names_in",
    "plan",
    "positive",
    "select",
]
