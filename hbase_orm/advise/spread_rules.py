"""Rules about salts, buckets and hash prefixes: do they spread, and what do reads pay for them?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date, datetime
from typing import Final

from hbase_orm.advise.remarks import LintRule, LintTarget, Remark, listed
from hbase_orm.advise.rising import few_values, is_rising
from hbase_orm.advise.sizes import count_text, one_of, time_text
from hbase_orm.codecs.formats import Strftime
from hbase_orm.rowkey.derivations import BucketOf, HashOf, PeriodOf, RandomBucket, SaltOf
from hbase_orm.rowkey.leading import part_steps
from hbase_orm.rowkey.parts import Part
from hbase_orm.rowkey.reach import LeadingBytes
from hbase_orm.schema import TableSchema

_GUIDE: Final = "HBase Reference Guide, Rowkey Design"
_SECONDS_A_DAY: Final = 86_400
_SHORTEST_S: Final = {"month": 28 * _SECONDS_A_DAY, "year": 365 * _SECONDS_A_DAY}
_VALUES_A_BUCKET: Final = 4  # with fewer, some buckets have several times the values of others
_SPREADING: Final = (SaltOf, BucketOf, HashOf)


def _random_salt(target: LintTarget) -> Iterator[Remark]:
    layout = target.schema.layout
    derivation = layout.parts[0].derivation
    if not isinstance(derivation, RandomBucket):
        return
    count = len(derivation.numbers)
    yield Remark(
        "",
        f"each row is in one of {count} buckets at random",
        f"a get asks for {count} keys instead of 1, and two programs that write one key at one "
        f"time store it twice with a chance of {100 - 100 / count:.0f} %",
        f"{_salted(target.schema, buckets=count)}: a computed bucket spreads as well",
    )


def _few_values(target: LintTarget) -> Iterator[Remark]:
    first, schema = target.schema.layout.parts[0], target.schema
    if not isinstance(first.derivation, _SPREADING) or not first.inputs:
        return
    counts = [few_values(part, schema) for part in first.inputs]
    if None in counts:
        return
    values = math.prod(count or 1 for count in counts)
    regions = len(schema.split_keys) + 1
    places = regions
    if not isinstance(first.derivation, HashOf):
        places = len(first.derivation.numbers)
    if values >= _VALUES_A_BUCKET * places:
        return
    of = listed([part.name for part in first.inputs])
    yield Remark(
        "",
        f"{first.name} is computed of {of}, whose values are listed: {values}",
        f"rows of one value stay together: at most {min(values, regions)} of {regions} regions "
        f"ever hold a row, and the most frequent value is one hot region, with at least "
        f"{count_text(-(-target.rows // values))} of {count_text(target.rows)} rows",
        _of_more(first, schema, of),
    )


def _salted(schema: TableSchema, otherwise: str = "...", *, buckets: int = 16) -> str:
    """Return the row key with a salt in the stead of the first part.

    Parts that are derived are shown as `...`, as they have no name that could be written.
    """
    behind = schema.row_layout.parts[1:]
    is_plain = all(part.derivation is None for part in behind)
    rest = ", ".join(part.name for part in behind) if is_plain else "..."
    of = ""
    if schema.packed_bytes:  # the cells of a period must have one salt
        fields = [part.name for part in behind if part.derivation is None]
        of = f", of={fields[0] if fields else '...'}"
    return f"__rowkey__ = rowkey(Salt({buckets}{of}), {rest or otherwise})"


def _of_more(first: Part, schema: TableSchema, of: str) -> str:
    others = [
        part.name
        for part in schema.layout.parts[1:]
        if part.derivation is None and part.name not in first.fields
    ]
    if not others:
        return f"leave it out, and put a field with many values in front of {of}"
    return f"leave of= out, so that the whole key is hashed: {_salted(schema)}"


def _of_period(target: LintTarget) -> Iterator[Remark]:
    schema = target.schema
    first = schema.layout.parts[0]
    if not isinstance(first.derivation, _SPREADING) or not first.inputs:
        return
    lengths_s = [_period_s(part) for part in first.inputs]
    if any(length is None for length in lengths_s):
        return
    shortest_s = min(length or 0 for length in lengths_s)
    regions = len(schema.split_keys) + 1
    yield Remark(
        "",
        f"{first.name} is computed of {listed([part.name for part in first.inputs])}, which is the "
        f"same for {time_text(shortest_s)}",
        f"all writes of {time_text(shortest_s)} go to one bucket, in {one_of(regions)}; then the "
        "next one is hot",
        f"compute it of something that differs from row to row: {_salted(schema)}",
    )


def _period_s(part: Part) -> int | None:
    """Return for how many seconds a part keeps its value, if these are 60 or more; else None."""
    if isinstance(part.derivation, PeriodOf):
        unit = part.derivation.unit
        shortest_s = _SHORTEST_S.get(unit.name)
        return shortest_s if unit.step is None else int(unit.step.total_seconds())
    if part.derivation is not None:
        return None
    codec = part.codec
    if codec.python_type is date:
        return _SECONDS_A_DAY
    if isinstance(codec, Strftime) and issubclass(codec.python_type, datetime):
        directives = (("%S", None), ("%M", 60), ("%H", 3600), ("%d", _SECONDS_A_DAY))
        finer = {"%f", "%S"} & {codec.format[i : i + 2] for i in range(len(codec.format))}
        return None if finer else next((s for d, s in directives if d in codec.format), None)
    return None


def _hides_range(target: LintTarget) -> Iterator[Remark]:
    schema = target.schema
    first = schema.layout.parts[0]
    if not isinstance(first.derivation, HashOf):
        return
    times = [
        part.name
        for part in first.inputs
        if part.derivation is None and issubclass(part.codec.python_type, (date, datetime))
    ]
    if not times:
        return
    yield Remark(
        "",
        f"the row key begins with a hash of {listed([part.name for part in first.inputs])}",
        f"a range of {times[0]} names no hash, so it reads all {count_text(target.rows)} rows; "
        "with Salt(16) it is 16 scans of the range",
        _salted(schema, ", ".join(times)),
    )


def _fewer_than_regions(target: LintTarget) -> Iterator[Remark]:
    schema = target.schema
    first, regions = schema.layout.parts[0], len(schema.split_keys) + 1
    if not isinstance(first.derivation, (*_SPREADING, RandomBucket)):
        return
    count = LeadingBytes(part_steps(first)).count
    behind = schema.layout.parts[1:]
    if count is None or count >= regions or not behind or not is_rising(behind[0], schema):
        return
    yield Remark(
        "",
        f"the table has {regions} regions, but {first.name} has {count} values, and "
        f"{behind[0].name} behind it rises with time",
        f"each value is one place of writing: {count} of {regions} regions are written, and "
        f"{regions - count} wait",
        f"write Salt({regions}) in the stead of {first.name}, or {count} regions",
    )


SPREAD_RULES: Final = (
    LintRule(
        "salt-random",
        "warning",
        "a random salt, where a computed one spreads as well",
        "a random bucket is unknown to everyone who has only the key",
        f"{_GUIDE}: Salting; Hashing",
        _random_salt,
    ),
    LintRule(
        "salt-few-values",
        "warning",
        "a salt, bucket or hash prefix is computed of fields with few values",
        "equal values have equal buckets, so a value that is hot stays hot",
        f"{_GUIDE}: Hashing; docs/row-keys.md",
        _few_values,
    ),
    LintRule(
        "salt-of-period",
        "warning",
        "a salt, bucket or hash prefix is computed of a period only",
        "the period of now is one value, and has one bucket",
        f"{_GUIDE}: Monotonically Increasing Row Keys/Timeseries Data",
        _of_period,
    ),
    LintRule(
        "hash-hides-range",
        "warning",
        "a hash of a time stands in front, where a salt would keep ranges of time",
        "a hash destroys the order of what it is computed of",
        f"{_GUIDE}: Hashing; docs/row-keys.md",
        _hides_range,
    ),
    LintRule(
        "salt-fewer-than-regions",
        "warning",
        "fewer buckets than regions, with a time behind them",
        "within a bucket the newest rows stand together, in one region",
        f"{_GUIDE}: Salting",
        _fewer_than_regions,
    ),
)
"""The rules of this module."""
