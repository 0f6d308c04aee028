"""Engines and sessions: what an application holds."""

from __future__ import annotations

from hbase_orm.session.bulk import Bulk
from hbase_orm.session.engine import Engine, connect
from hbase_orm.session.history import CellVersion, StoredCell
from hbase_orm.session.pages import Page
from hbase_orm.session.session import Session
from hbase_orm.session.stream import Stream
from hbase_orm.session.unit_of_work import FlushReport

__all__ = [
    "Bulk",
    "CellVersion",
    "Engine",
    "FlushReport",
    "Page",
    "Session",
    "StoredCell",
    "Stream",
    "connect",
]
