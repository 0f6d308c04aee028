"""Rules about the regions of new tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final
from uuid import UUID

from hbase_orm.advise.remarks import LintRule, LintTarget, Remark
from hbase_orm.advise.rising import is_rising
from hbase_orm.advise.sizes import ONLY_REGION_BYTES, count_text, row_bytes
from hbase_orm.codecs import Codec
from hbase_orm.codecs.fixed import Digits
from hbase_orm.rowkey.leading import leading_bytes
from hbase_orm.rowkey.nulls import OrNone
from hbase_orm.rowkey.reach import LeadingBytes, survey
from hbase_orm.rowkey.splits import HASH_REGIONS

_LEAST_HASH_BYTES: Final = 8


def _unreachable(target: LintTarget) -> Iterator[Remark]:
    schema = target.schema
    table = f'table=Table("{schema.table}", splits=%d)'
    leading = leading_bytes(schema.row_layout)
    yield from _idle(schema.split_keys, leading, target, subject="", what="row keys", fix=table)
    for index in schema.indexes:
        values = leading_bytes(index.layout)
        if values.is_whole and not index.unique:
            values = values.then(leading)
        if not index.salt and not isinstance(index.layout.parts[0].codec, OrNone):
            split = f"{index.name} = Index(..., splits=%d)"
            keys, name = index.split_keys, index.name
            yield from _idle(keys, values, target, subject=name, what="entries", fix=split)


def _idle(
    split_keys: tuple[bytes, ...],
    leading: LeadingBytes,
    target: LintTarget,
    *,
    subject: str,
    what: str,
    fix: str,
) -> Iterator[Remark]:
    reaches = survey(split_keys, leading)
    idle = [region for region in reaches if not region.is_reachable]
    if not idle:
        return
    regions, used = len(reaches), len(reaches) - len(idle)
    largest = max(region.share or 0 for region in reaches)
    fewest = regions if leading.count is None else min(regions, leading.count)
    yield Remark(
        subject,
        f"{len(idle)} of {regions} regions can never hold a row: {what} begin with {leading}",
        f"{used} regions share {count_text(target.rows)} rows, and one has {100 * largest:.0f} % "
        f"of the possible keys; evenly split, each of {fewest} has {100 / fewest:.3g} %",
        f"{fix % fewest}, which divides the possible keys evenly",
    )


def _one_region(target: LintTarget) -> Iterator[Remark]:
    schema = target.schema
    first = schema.layout.parts[0]
    is_even = first.derivation is None and _is_even(first.codec) and not is_rising(first, schema)
    if schema.split_keys or schema.layout.table_period is not None or not is_even:
        return
    row = row_bytes(schema)
    yield Remark(
        "",
        f"row keys begin with {first.name}, whose bytes are spread, but the table has one region",
        f"one server takes all writes until HBase splits the region, at 256 MiB: about "
        f"{count_text(ONLY_REGION_BYTES // row)} rows of {row} bytes or more; with 16 regions each "
        "takes 6.25 %",
        f'table=Table("{schema.table}", splits={HASH_REGIONS})',
    )


def _is_even(codec: Codec[Any]) -> bool:
    """Return whether the first bytes of values are likely to be spread evenly."""
    if codec.python_type is UUID:
        return True
    if codec.python_type is bytes:
        return (codec.width_bytes or 0) >= _LEAST_HASH_BYTES
    return isinstance(codec, Digits) and codec.digit_reversed


REGION_RULES: Final = (
    LintRule(
        "regions-unreachable",
        "warning",
        "split keys lie where no row key ever does",
        "a region that no key reaches costs a server its memory, and leaves the load to the others",
        "HBase Reference Guide, Rowkey Design: Relationship Between RowKeys and Region Splits",
        _unreachable,
    ),
    LintRule(
        "regions-one",
        "note",
        "keys that spread by themselves, in a table of one region",
        "a new table has one region, on one server, unless it is split when it is made",
        "HBase Reference Guide, Table Creation: Pre-Creating Regions; docs/row-keys.md",
        _one_region,
    ),
)
"""The rules of this module."""
