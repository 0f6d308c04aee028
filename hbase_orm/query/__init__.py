"""Statements and plans: what is asked, and what will be sent for it. Pure: nothing is sent here."""

from __future__ import annotations

from hbase_orm.query.aggregates import Aggregate, Grouping
from hbase_orm.query.cell_tests import cell_test, check_flat, holds_for_absent_row, may_be_empty
from hbase_orm.query.measured import Measured, Requests
from hbase_orm.query.planner import names_in, plan
from hbase_orm.query.plans import (
    EmptyPlan,
    GetPlan,
    IndexPlan,
    Plan,
    SaltedScanPlan,
    ScanPlan,
    TablesPlan,
)
from hbase_orm.query.selection import fields_read, loaded_by
from hbase_orm.query.shapes import Shapes
from hbase_orm.query.statement import ANY_INDEX, ROWS_ALONE, AnyIndex, Select, Sort, select
from hbase_orm.schema import codec_of, compile_check

__all__ = [
    "ANY_INDEX",
    "ROWS_ALONE",
    "Aggregate",
    "AnyIndex",
    "EmptyPlan",
    "GetPlan",
    "Grouping",
    "IndexPlan",
    "Measured",
    "Plan",
    "Requests",
    "SaltedScanPlan",
    "ScanPlan",
    "Select",
    "Shapes",
    "Sort",
    "TablesPlan",
    "cell_test",
    "check_flat",
    "codec_of",
    "compile_check",
    "fields_read",
    "holds_for_absent_row",
    "loaded_by",
    "may_be_empty",
    "names_in",
    "plan",
    "select",
]
