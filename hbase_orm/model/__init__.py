"""Models: classes whose declarations name the row key, the families and the columns."""

from __future__ import annotations

from hbase_orm.model.base import Model, check_key_arguments, is_stale
from hbase_orm.model.discovery import models
from hbase_orm.model.fields.counters import Counter, CounterExpr, Version, counter, version
from hbase_orm.model.fields.dynamics import Dynamic, dynamic
from hbase_orm.model.fields.fields import Key, Mapped, column, key
from hbase_orm.model.fields.related import Related, RelatedExpr, related
from hbase_orm.model.fields.related_lists import ListRelation

__all__ = [
    "Counter",
    "CounterExpr",
    "Dynamic",
    "Key",
    "ListRelation",
    "Mapped",
    "Model",
    "Related",
    "RelatedExpr",
    "Version",
    "check_key_arguments",
    "column",
    "counter",
    "dynamic",
    "is_stale",
    "key",
    "models",
    "related",
    "version",
]
