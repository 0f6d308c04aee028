"""How much the rows of a model take, as HBase stores them: `estimate(model, rows=…)`.

The formulas and their sources are in `docs/estimates.md`.
"""

from __future__ import annotations

from hbase_orm.advise.estimating.estimates import (
    FamilyEstimate,
    SizeEstimate,
    TableEstimate,
    estimate,
)
from hbase_orm.advise.estimating.savings import Saving
from hbase_orm.advise.estimating.store_files import FileSize

__all__ = ["FamilyEstimate", "FileSize", "Saving", "SizeEstimate", "TableEstimate", "estimate"]
