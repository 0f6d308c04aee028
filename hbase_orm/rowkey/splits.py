"""Split keys of new tables, so that writes are spread over the regions from the first row on."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from hbase_orm.rowkey.computed import Calculated
from hbase_orm.rowkey.derivations import HashOf
from hbase_orm.rowkey.layout import KeyLayout
from hbase_orm.rowkey.leading import choices_of, leading_bytes, part_steps
from hbase_orm.rowkey.nulls import OrNone
from hbase_orm.rowkey.parts import Part
from hbase_orm.rowkey.reach import LeadingBytes, even_split

HASH_REGIONS: Final = 16
"""The default number of regions of a table whose keys begin with evenly spread bytes.

A hash is an example of such bytes.
"""

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


def entry_split_keys(
    index: KeyLayout, row_key: KeyLayout | None, regions: int | None = None
) -> tuple[bytes, ...]:
    """Return split keys for the entries of an index without a salt.

    If no number of regions is given, the first indexed value decides: UUIDs and bytes of a fixed
    width get 16 regions, because these are mostly hashes or random numbers. For other values the
    result is empty, because the library does not know how the values are distributed. If the first
    value may be None, the entries with None are in the first region, or in the last region if the
    index is descending.

    Args:
        index: The layout of the indexed values.
        row_key: The layout of the row key that follows the values; None if nothing follows them.
        regions: The number of regions, 1 or more; None means the number that suits the values.

    Raises:
        SchemaError: `regions` is given and less than 1, or the possible beginnings of entries are
            unknown or fewer than `regions`.
    """
    first = index.parts[0]
    if isinstance(first.codec, OrNone):
        marker, known = first.codec.values.start, LeadingBytes(part_steps(first.codec.part))
        is_even = _is_even(first.codec.part)
    else:
        marker, known, is_even = b"", _beginnings(index, row_key), _is_even(first)
    if regions is None:
        if not is_even:
            return ()
        known = LeadingBytes(known.steps[:1])
        regions = min(HASH_REGIONS, known.count or 1)
    return tuple(marker + key for key in even_split(regions, known))


def _beginnings(index: KeyLayout, row_key: KeyLayout | None) -> LeadingBytes:
    """Return the possible beginnings of entries."""
    values = leading_bytes(index)
    if row_key is None or not values.is_whole:
        return values
    return values.then(leading_bytes(row_key))


def _is_even(part: Part) -> bool:
    """Return whether the values of a part are likely to be spread evenly over its bytes."""
    return part.codec.python_type in {bytes, UUID} and bool(part_steps(part))


def _spreads(part: Part) -> bool:
    if isinstance(part.derivation, Calculated):
        return bool(choices_of(part))
    return part.derivation is not None and (
        part.derivation.spreads or isinstance(part.derivation, HashOf)
    )
