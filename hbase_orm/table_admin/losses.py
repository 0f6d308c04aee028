"""Which changes of options lose data: HBase deletes cells, or a crash may lose acknowledged writes.

Such a change is made only if the caller allows it.
"""

from __future__ import annotations

from typing import Any, Final

from hbase_orm.ops import FamilyDescriptor

_FOREVER: Final = float("inf")
_KEEPING: Final = ("FALSE", "TTL", "TRUE")
"""The values of KEEP_DELETED_CELLS; each keeps all deleted cells that the ones before it keep."""

_DURABLE: Final = {"SKIP_WAL": 0, "ASYNC_WAL": 1, "USE_DEFAULT": 2, "SYNC_WAL": 2, "FSYNC_WAL": 3}
"""The durabilities, from the weakest on; the default of HBase is SYNC_WAL."""

DURABILITIES: Final = tuple(_DURABLE)
"""The names of the durabilities."""


def family_loss(option: str, actual: FamilyDescriptor, declared: FamilyDescriptor) -> str:
    """Return what a change from `actual` to `declared` does to data; "" if no data is lost."""
    before, after = getattr(actual, option), getattr(declared, option)
    match option:
        case "ttl_s" if _seconds(after) < _seconds(before):
            return "deletes cells that are older"
        case "versions" if after < before:
            return "deletes older versions of cells"
        case "min_versions" if after < before and declared.ttl_s is not None:
            return "deletes expired versions of cells"
        case "keep_deleted_cells" if _KEEPING.index(after) < _KEEPING.index(before):
            return "deletes cells that only reads of the past show"
        case "new_version_behavior" if after != before:
            return "shows other cells: puts and deletes are ordered in another way"
    return ""


def table_loss(option: str, actual: Any, declared: Any) -> str:
    """Return what a change of a table's option does to data; "" if no data may be lost."""
    if option == "durability" and _DURABLE[declared] < _DURABLE.get(actual, 0):
        return "a crash may lose acknowledged writes"
    return ""


def _seconds(ttl_s: int | None) -> float:
    return _FOREVER if ttl_s is None else ttl_s
