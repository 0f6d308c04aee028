"""Engines and sessions: what an application holds."""

from __future__ import annotations

from hbase_orm.index.catalog_entry import IndexState
from hbase_orm.index.verify import Finding, RowPair
from hbase_orm.session.bulk import Bulk
from hbase_orm.session.engine import Engine, connect
from hbase_orm.session.history import CellVersion, StoredCell
from hbase_orm.session.index_admin import IndexStatus
from hbase_orm.session.index_build import BuildProgress
from hbase_orm.session.index_verify import Verification
from hbase_orm.session.pages import Page
from hbase_orm.session.session import Session
from hbase_orm.session.stream import Stream
from hbase_orm.session.unit_of_work import FlushReport

__all__ = [
    "BuildProgress",
    "Bulk",
    "CellVersion",
    "Engine",
    "Finding",
    "FlushReport",
    "IndexState",
    "IndexStatus",
    "Page",
    "RowPair",
    "Session",
    "StoredCell",
    "Stream",
    "Verification",
    "connect",
]
