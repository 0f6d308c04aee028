"""Split keys of new tables, so that writes are spread over the regions from the first row on."""

from __future__ import annotations

from typing import Final

from hbase_orm.rowkey.computed import Calculated
from hbase_orm.rowkey.derivations import HashOf
from hbase_orm.rowkey.layout import KeyLayout
from hbase_orm.rowkey.leading import choices_of, leading_bytes, part_steps
from hbase_orm.rowkey.parts import Part
from hbase_orm.rowkey.reach import LeadingBytes, even_split

HASH_REGIONS: Final = 16
"""The number of regions of a table whose keys begin with a hash, if no number is declared."""

MAX_AUTO_REGIONS: Final = 256


def split_keys(layout: KeyLayout, regions: int | None = None) -> tuple[bytes, ...]:
    """Return split keys that divide the possible beginnings of row keys evenly.

    If no number of regions is given, the first part of the key decides. A salt, a bucket or a
    computed part with known values gets one region per value, at most 256. A hash gets 16 regions.
    For other keys the result is empty, because the library does not know how their values are
    distributed.

    Args:
        layout: The layout of the row key.
        regions: The number of regions, 1 or more; None means the number that suits the key.

    Raises:
        SchemaError: `regions` is less than 1. Or the possible beginnings of row keys are unknown,
            or are fewer than `regions`.
    """
    if regions is not None:
        return even_split(regions, leading_bytes(layout))
    first = layout.parts[0]
    if not _spreads(first):
        return ()
    known = LeadingBytes(part_steps(first))
    if known.count is None:
        return ()
    wanted = HASH_REGIONS if isinstance(first.derivation, HashOf) else MAX_AUTO_REGIONS
    return even_split(min(known.count, wanted), known)


def _spreads(part: Part) -> bool:
    if isinstance(part.derivation, Calculated):
        return bool(choices_of(part))
    return part.derivation is not None and (
        part.derivation.spreads or isinstance(part.derivation, HashOf)
    )
