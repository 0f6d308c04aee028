"""Compares the regions of a table with the split keys that models declare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hbase_orm.ops import ListRegions, Protocol, ask
from hbase_orm.rowkey.notation import to_string_binary
from hbase_orm.table_admin.table_check import Drift, TableDifference

_MOST_SHOWN: Final = 3


def region_notes(table: str, split_keys: Sequence[bytes]) -> Protocol[list[TableDifference]]:
    """Return a note about declared split keys at which no region begins; empty if there are none.

    Such split keys are not drift: HBase splits and merges regions by itself, reads and writes do
    not depend on them, and Thrift cannot split a table.
    """
    if not split_keys:
        return []
    regions = yield from ask(ListRegions(table))
    starts = {region.start for region in regions}
    missing = [key for key in split_keys if key not in starts]
    if not missing:
        return []
    shown = ", ".join(map(to_string_binary, missing[:_MOST_SHOWN]))
    more = f" and {len(missing) - _MOST_SHOWN} more" if len(missing) > _MOST_SHOWN else ""
    return [
        TableDifference(
            table,
            "split keys",
            f"{len(starts)} regions, none of which begins at {shown}{more}",
            f"{len(split_keys) + 1} regions",
            Drift.NOTE,
            "split the regions in the hbase shell, if the load is uneven: split 'TABLE', 'KEY'",
        )
    ]
