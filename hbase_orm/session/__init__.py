"""Engines and sessions, and the classes of the results that their methods return."""

from __future__ import annotations

from hbase_orm.index.catalog.entry import IndexState
from hbase_orm.index.upkeep.compare import Finding, RowPair
from hbase_orm.index_admin.build import BuildProgress
from hbase_orm.index_admin.status import IndexStatus
from hbase_orm.index_admin.verify import Verification
from hbase_orm.reading.history import CellVersion, StoredCell
from hbase_orm.reading.pages import Page
from hbase_orm.reading.stream import Stream
from hbase_orm.session.engine import Engine, connect
from hbase_orm.session.session import Session
from hbase_orm.table_admin.adoption import Adoption
from hbase_orm.table_admin.alteration import AlterationProgress
from hbase_orm.table_admin.changes import TableChange
from hbase_orm.table_admin.listing import ListedTable
from hbase_orm.table_admin.table_check import Drift, TableCheck, TableDifference
from hbase_orm.writing.bulk import Bulk
from hbase_orm.writing.flush_outcome import FlushReport

__all__ = [
    "Adoption",
    "AlterationProgress",
    "BuildProgress",
    "Bulk",
    "CellVersion",
    "Drift",
    "Engine",
    "Finding",
    "FlushReport",
    "IndexState",
    "IndexStatus",
    "ListedTable",
    "Page",
    "RowPair",
    "Session",
    "StoredCell",
    "Stream",
    "TableChange",
    "TableCheck",
    "TableDifference",
    "Verification",
    "connect",
]
