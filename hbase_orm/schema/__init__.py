"""Frozen descriptions of what models declare: tables, families, columns, indexes, conditions."""

from __future__ import annotations

from hbase_orm.schema.absent import absent_value
from hbase_orm.schema.checking import check_conditions, codec_of
from hbase_orm.schema.conditions import (
    AddAmount,
    And,
    Assignment,
    Comparison,
    Condition,
    Contains,
    Expr,
    InValues,
    ItemBetween,
    Not,
    Operator,
    Or,
    Order,
    StartsWith,
    compared_by,
    conjuncts,
    depth_of,
    fields_of,
)
from hbase_orm.schema.declared_index import Index
from hbase_orm.schema.declared_table import (
    GUARD_FAMILY,
    Family,
    Table,
    check_family_name,
    resolve_splits,
)
from hbase_orm.schema.deferring import (
    NO_FIELDS,
    columns_read,
    deferred_names,
    kinds_of,
    left_out,
)
from hbase_orm.schema.entries import (
    DynamicExpr,
    EntryExpr,
    EntryRange,
    dynamic_of,
    stored_column,
    stored_name,
)
from hbase_orm.schema.functions import FUNCTIONS, FunctionExpr, FunctionName, column_field
from hbase_orm.schema.indexes import index_schema
from hbase_orm.schema.misuse import NoColumn
from hbase_orm.schema.packing import cells_as_rows, packed_get, packed_mutations, packed_range
from hbase_orm.schema.predicates import Check, compile_check
from hbase_orm.schema.tables import (
    MARKER_QUALIFIER,
    ColumnSchema,
    DynamicSchema,
    IndexSchema,
    Maintained,
    RecordKinds,
    TableSchema,
)

__all__ = [
    "FUNCTIONS",
    "GUARD_FAMILY",
    "MARKER_QUALIFIER",
    "NO_FIELDS",
    "AddAmount",
    "And",
    "Assignment",
    "Check",
    "ColumnSchema",
    "Comparison",
    "Condition",
    "Contains",
    "DynamicExpr",
    "DynamicSchema",
    "EntryExpr",
    "EntryRange",
    "Expr",
    "Family",
    "FunctionExpr",
    "FunctionName",
    "InValues",
    "Index",
    "IndexSchema",
    "ItemBetween",
    "Maintained",
    "NoColumn",
    "Not",
    "Operator",
    "Or",
    "Order",
    "RecordKinds",
    "StartsWith",
    "Table",
    "TableSchema",
    "absent_value",
    "cells_as_rows",
    "check_conditions",
    "check_family_name",
    "codec_of",
    "column_field",
    "columns_read",
    "compared_by",
    "compile_check",
    "conjuncts",
    "deferred_names",
    "depth_of",
    "dynamic_of",
    "fields_of",
    "index_schema",
    "kinds_of",
    "left_out",
    "packed_get",
    "packed_mutations",
    "packed_range",
    "resolve_splits",
    "stored_column",
    "stored_name",
]
