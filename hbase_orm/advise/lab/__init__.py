"""The hotspot lab: simulates designs of row keys side by side, before there is a table.

A workload gives the values of rows (`workloads`, `sampled_rows`), the models' codecs their keys
(`designs`, `keyed_tables`), the keys the regions that take the writes (`region_growth`), the
planner the ranges that statements read (`plan_reads`, `statement_costs`). `lab` returns all of it
with a verdict; `page` draws it. Nothing is sent. NumPy is needed: the extra `lab`.
"""

from __future__ import annotations

from importlib.util import find_spec

from hbase_orm.errors import ConfigurationError

if find_spec("numpy") is None:
    raise ConfigurationError(
        "the lab needs NumPy, which is not installed", fix="pip install 'hbase-orm[lab]'"
    )

from hbase_orm.advise.lab.lab_results import DesignResult, LabResult, TableResult, Verdict
from hbase_orm.advise.lab.load.load_shapes import LoadShape
from hbase_orm.advise.lab.load.value_kinds import FieldValues
from hbase_orm.advise.lab.load.workload_files import read_workload
from hbase_orm.advise.lab.load.workloads import WORKLOADS, Workload
from hbase_orm.advise.lab.simulation import lab

__all__ = [
    "WORKLOADS",
    "DesignResult",
    "FieldValues",
    "LabResult",
    "LoadShape",
    "TableResult",
    "Verdict",
    "Workload",
    "lab",
    "read_workload",
]
