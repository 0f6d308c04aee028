"""Frozen descriptions of what models declare: tables, families, columns, indexes, conditions."""

from __future__ import annotations

from hbase_orm.schema.conditions import (
    AddAmount,
    And,
    Comparison,
    Condition,
    Expr,
    InValues,
    Not,
    Operator,
    Or,
    Order,
    StartsWith,
    conjuncts,
    fields_of,
)
from hbase_orm.schema.indexes import Index, index_schema
from hbase_orm.schema.packing import cells_as_rows, packed_get, packed_mutations, packed_range
from hbase_orm.schema.tables import (
    GUARD_FAMILY,
    MARKER_QUALIFIER,
    ColumnSchema,
    Family,
    IndexSchema,
    RecordKinds,
    Table,
    TableSchema,
    check_family_name,
    resolve_splits,
)

__all__ = [
    "GUARD_FAMILY",
    "MARKER_QUALIFIER",
    "AddAmount",
    "And",
    "ColumnSchema",
    "Comparison",
    "Condition",
    "Expr",
    "Family",
    "InValues",
    "Index",
    "IndexSchema",
    "Not",
    "Operator",
    "Or",
    "Order",
    "RecordKinds",
    "StartsWith",
    "Table",
    "TableSchema",
    "cells_as_rows",
    "check_family_name",
    "conjuncts",
    "fields_of",
    "index_schema",
    "packed_get",
    "packed_mutations",
    "packed_range",
    "resolve_splits",
]
