"""Rules about column families: their number, names, versions and lifetimes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hbase_orm.advise.remarks import LintRule, LintTarget, Remark, listed
from hbase_orm.advise.sizes import bytes_text, count_text, row_columns, time_text
from hbase_orm.ops import FamilyDescriptor

MOST_FAMILIES: Final = 3
MOST_VERSIONS: Final = 100
_HISTORY_VERSIONS: Final = 10
_LEAST_NAME_BYTES: Final = 32  # that names of a row could be shorter before a note is worth it
_SHORT_FAMILY_BYTES: Final = 1
_SHORT_QUALIFIER_BYTES: Final = 2
_UNLIKE_TTLS: Final = 10
_YEAR_S: Final = 365 * 86_400
_GUIDE: Final = "HBase Reference Guide"


def _many(target: LintTarget) -> Iterator[Remark]:
    schema = target.schema
    names = [family.name.decode() for family in schema.families]
    if len(names) <= MOST_FAMILIES:
        return
    regions, stores = len(schema.split_keys) + 1, len(names) + schema.has_guards
    guards = f", and {stores} with the family of the guards" if schema.has_guards else ""
    yield Remark(
        "",
        f"the table has {len(names)} families: {listed(names)}{guards}",
        f"each region has {stores} memstores and {stores} sets of files, {stores * regions} in "
        f"all: a read of a whole row looks into {stores}; a flush of 128 MB writes up to {stores} "
        f"files of {bytes_text(128_000_000 // stores)}",
        f"{names[0]} = Family(), and its columns in it: column({names[0]}, ...); keep a second "
        "family only for columns that are read without the others",
    )


def _unlike(target: LintTarget) -> Iterator[Remark]:
    families = target.schema.families
    if len(families) < 2:  # noqa: PLR2004 - two can be unlike
        return
    lives = {f.name.decode(): _life_s(f) for f in families}
    short, long = min(lives, key=lambda n: lives[n]), max(lives, key=lambda n: lives[n])
    ratio = lives[long] // lives[short]
    if ratio < _UNLIKE_TTLS:
        return
    kept = target.rows // ratio
    yield Remark(
        short,
        f"cells of {short} live for {_life_text(lives[short])}, cells of {long} for "
        f"{_life_text(lives[long])}",
        f"for {count_text(target.rows)} rows with {long}, only about {count_text(kept)} have "
        f"{short}: regions are split by the size of {long}, and a scan of {short} visits all",
        f"a model of its own for {short}, with the same row key: class Short(Model, "
        f'table="{target.schema.table}_{short}")',
    )


def _life_s(family: FamilyDescriptor) -> int:
    """Return how long cells live; a year, if for ever, for which the ratio is computed."""
    if family.ttl_s is None or family.min_versions:
        return _YEAR_S
    return min(family.ttl_s, _YEAR_S)


def _life_text(seconds: int) -> str:
    if seconds >= _YEAR_S:
        return "a year or longer"
    return time_text(seconds)


def _names(target: LintTarget) -> Iterator[Remark]:
    schema = target.schema
    encoded = {f.name for f in schema.families if f.block_encoding not in {"NONE", "ROW_INDEX_V1"}}
    longer = 0
    names: list[str] = []
    plain = [f.name.decode() for f in schema.families if f.name not in encoded]
    for column in row_columns(schema):
        family, _, qualifier = column.partition(b":")
        if family in encoded:
            continue
        extra = max(0, len(family) - _SHORT_FAMILY_BYTES)
        extra += max(0, len(qualifier) - _SHORT_QUALIFIER_BYTES)
        longer += extra
        names.append(column.decode(errors="replace"))
    if longer < _LEAST_NAME_BYTES:
        return
    longest = sorted(names, key=len, reverse=True)[:3]
    yield Remark(
        "",
        f"names of families and qualifiers are long: {listed(longest)}",
        f"a row's names have {longer} bytes more than with a family of one letter and qualifiers "
        f"of two: {bytes_text(longer * target.rows)} for {count_text(target.rows)} rows, in the "
        "memstore, the block cache and store files without compression",
        f'{plain[0]} = Family(block_encoding="FAST_DIFF"), which writes repeated names once a '
        f'block; in a new table also short qualifiers: column(d, "{_short(longest[0])}")',
    )


def _short(column: str) -> str:
    qualifier = column.partition(":")[2]
    return "".join(word[:1] for word in qualifier.split("_")) or "v"


def _versions(target: LintTarget) -> Iterator[Remark]:
    for family in target.schema.families:
        if family.versions > MOST_VERSIONS:
            yield _of_versions(target, family)


def _versions_as_rows(target: LintTarget) -> Iterator[Remark]:
    for family in target.schema.families:
        if _HISTORY_VERSIONS < family.versions <= MOST_VERSIONS:
            yield _of_versions(target, family)


def _of_versions(target: LintTarget, family: FamilyDescriptor) -> Remark:
    name, versions = family.name.decode(), family.versions
    arguments = ", ".join(target.schema.layout.arguments)
    cells = sum(c.startswith(family.name + b":") for c in row_columns(target.schema))
    return Remark(
        name,
        f"family {name} keeps {versions} versions of each cell",
        f"a row grows to {count_text(versions * cells)} cells where {cells} would do, which "
        f"every read of the row passes and no split can divide: up to "
        f"{count_text(versions * cells * target.rows)} cells for {count_text(target.rows)} rows",
        f"a row for each state, newest first: at: Key[datetime] = key(codecs.millis(desc=True)); "
        f"__rowkey__ = rowkey({arguments}, at); versions=1",
    )


def _ttl_no_effect(target: LintTarget) -> Iterator[Remark]:
    for family in target.schema.families:
        if family.ttl_s is not None and family.min_versions >= family.versions:
            name = family.name.decode()
            yield Remark(
                name,
                f"family {name} has a TTL of {_life_text(family.ttl_s)}, but keeps "
                f"{family.min_versions} of at most {family.versions} versions in any case",
                f"nothing ever expires: 0 of {count_text(target.rows)} rows",
                f"{name} = Family(versions={family.versions + 1}, "
                f"min_versions={family.min_versions}, ttl=...), or leave min_versions out",
            )


def _ttl_min_versions(target: LintTarget) -> Iterator[Remark]:
    for family in target.schema.families:
        if family.ttl_s is not None and 0 < family.min_versions < family.versions:
            name = family.name.decode()
            yield Remark(
                name,
                f"family {name} has a TTL, and min_versions={family.min_versions}",
                f"each of {count_text(target.rows)} rows stays for ever, with up to "
                f"{family.min_versions} of its versions, and no store file is dropped as "
                "a whole when all its cells have expired: only compactions remove them",
                f"{name} = Family(versions={family.versions}, ttl=...) if rows shall end",
            )


FAMILY_RULES: Final = (
    LintRule(
        "families-many",
        "warning",
        f"more than {MOST_FAMILIES} families",
        "families of a table are flushed, compacted and split together",
        f"{_GUIDE}: On the number of column families",
        _many,
    ),
    LintRule(
        "families-unlike",
        "note",
        "families whose cells live for very different times",
        "the smaller family is spread over as many regions as the larger one",
        f"{_GUIDE}: Cardinality of ColumnFamilies",
        _unlike,
    ),
    LintRule(
        "names-long",
        "note",
        "long names of families and qualifiers",
        "each cell repeats the names of its family and its column",
        f"{_GUIDE}: Try to minimize row and column sizes",
        _names,
    ),
    LintRule(
        "versions-many",
        "warning",
        f"more than {MOST_VERSIONS} versions",
        "versions of a cell are one row, and a row is never divided",
        f"{_GUIDE}: Number of Versions",
        _versions,
    ),
    LintRule(
        "versions-as-rows",
        "note",
        f"more than {_HISTORY_VERSIONS} versions: a history, for which rows serve better",
        "rows can be read by time, split, counted and deleted one by one; versions cannot",
        f"{_GUIDE}: Rows vs. Versions",
        _versions_as_rows,
    ),
    LintRule(
        "ttl-no-effect",
        "warning",
        "a TTL that min_versions makes useless",
        "HBase keeps min_versions of each cell, whatever their age",
        f"{_GUIDE}: Minimum Number of Versions; Time To Live",
        _ttl_no_effect,
    ),
    LintRule(
        "ttl-min-versions",
        "note",
        "a TTL together with min_versions",
        "HBase drops a store file whose cells have all expired only where min_versions is 0",
        f"{_GUIDE}: Time To Live",
        _ttl_min_versions,
    ),
)
"""The rules of this module."""
