"""Frozen descriptions of what models declare: tables, families, columns, indexes, conditions."""

from __future__ import annotations

from hbase_orm.schema.absent import absent_value, absent_value_in_entries
from hbase_orm.schema.condition_checks import check_conditions, codec_of
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
    left_out,
    record_types_of,
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
from hbase_orm.schema.matching import Match, Matches, compile_match
from hbase_orm.schema.misuse import NoColumn
from hbase_orm.schema.tables import (
    MARKER_QUALIFIER,
    ColumnSchema,
    DynamicSchema,
    Existence,
    IndexSchema,
    KnownColumns,
    Maintained,
    RecordTypes,
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
    "ColumnSchema",
    "Comparison",
    "Condition",
    "Contains",
    "DynamicExpr",
    "DynamicSchema",
    "EntryExpr",
    "EntryRange",
    "Existence",
    "Expr",
    "Family",
    "FunctionExpr",
    "FunctionName",
    "InValues",
    "Index",
    "IndexSchema",
    "ItemBetween",
    "KnownColumns",
    "Maintained",
    "Match",
    "Matches",
    "NoColumn",
    "Not",
    "Operator",
    "Or",
    "Order",
    "RecordTypes",
    "StartsWith",
    "Table",
    "TableSchema",
    "absent_value",
    "absent_value_in_entries",
    "check_conditions",
    "check_family_name",
    "codec_of",
    "column_field",
    "columns_read",
    "compared_by",
    "compile_match",
    "conjuncts",
    "deferred_names",
    "depth_of",
    "dynamic_of",
    "fields_of",
    "index_schema",
    "left_out",
    "record_types_of",
    "resolve_splits",
    "stored_column",
    "stored_name",
]
