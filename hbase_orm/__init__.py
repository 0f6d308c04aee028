"""Declarative models, planned queries and index tables on HBase.

Declare a model, connect, and work with its objects in a session:

    class Reading(Model, table="readings"):
        d = Family()
        host: Key[str] = key()
        at: Key[datetime] = key(codecs.millis(desc=True))
        value: Mapped[float] = column(d, "v")

    with connect("hbase://127.0.0.1:9090?thrift2=127.0.0.1:9091") as engine:
        engine.create_tables(Reading)
        with engine.session() as session:
            session.add(Reading(host="web-1", at=now, value=0.3))
"""

from __future__ import annotations

from hbase_orm import codecs, errors, func, validators
from hbase_orm.codecs import Codec
from hbase_orm.model import (
    Counter,
    CounterExpr,
    Dynamic,
    Key,
    Mapped,
    Model,
    Related,
    RelatedExpr,
    Version,
    column,
    counter,
    dynamic,
    is_stale,
    key,
    models,
    related,
    version,
)
from hbase_orm.query import Plan, Select, select
from hbase_orm.rowkey import (
    Bucket,
    Component,
    Computed,
    Digest,
    HashPrefix,
    Offset,
    Period,
    RandomSalt,
    RecordType,
    RowKey,
    Salt,
    Substitute,
    TablePerPeriod,
    rowkey,
)
from hbase_orm.schema import (
    Assignment,
    Condition,
    DynamicExpr,
    Expr,
    Family,
    Index,
    Order,
    Table,
)
from hbase_orm.session import (
    AlterationProgress,
    BuildProgress,
    Bulk,
    CellVersion,
    Drift,
    Engine,
    Finding,
    FlushReport,
    IndexState,
    IndexStatus,
    Page,
    RowPair,
    Session,
    StoredCell,
    Stream,
    TableChange,
    TableCheck,
    TableDifference,
    Verification,
    connect,
)

__all__ = [
    "AlterationProgress",
    "Assignment",
    "Bucket",
    "BuildProgress",
    "Bulk",
    "CellVersion",
    "Codec",
    "Component",
    "Computed",
    "Condition",
    "Counter",
    "CounterExpr",
    "Digest",
    "Drift",
    "Dynamic",
    "DynamicExpr",
    "Engine",
    "Expr",
    "Family",
    "Finding",
    "FlushReport",
    "HashPrefix",
    "Index",
    "IndexState",
    "IndexStatus",
    "Key",
    "Mapped",
    "Model",
    "Offset",
    "Order",
    "Page",
    "Period",
    "Plan",
    "RandomSalt",
    "RecordType",
    "Related",
    "RelatedExpr",
    "RowKey",
    "RowPair",
    "Salt",
    "Select",
    "Session",
    "StoredCell",
    "Stream",
    "Substitute",
    "Table",
    "TableChange",
    "TableCheck",
    "TableDifference",
    "TablePerPeriod",
    "Verification",
    "Version",
    "codecs",
    "column",
    "connect",
    "counter",
    "dynamic",
    "errors",
    "func",
    "is_stale",
    "key",
    "models",
    "related",
    "rowkey",
    "select",
    "validators",
    "version",
]
