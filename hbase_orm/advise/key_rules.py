"""Rules about the order and the uniqueness of row keys."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator
from datetime import date, datetime, time
from typing import Final

from hbase_orm.advise.remarks import LintRule, LintTarget, Remark, listed
from hbase_orm.advise.rising import few_values, is_rising, rising_front, rising_text
from hbase_orm.advise.sizes import (
    CELL_BYTES,
    at_least,
    bytes_text,
    cell_count,
    count_text,
    has_exact_key,
    key_bytes,
    one_of,
)
from hbase_orm.codecs.formats import Strftime
from hbase_orm.model import Model
from hbase_orm.rowkey import KeyLayout
from hbase_orm.rowkey.derivations import PeriodOf
from hbase_orm.rowkey.parts import Part
from hbase_orm.schema import TableSchema

MOST_KEY_BYTES: Final = 100
_RANDOM_NAMES: Final = re.compile(r"(.*_)?(rand|random|rnd)(_.*)?")
_PERIOD_NAMES: Final = re.compile(r"(.*_)?(hour|day|date|week|month|minute|quarter|year)")
_PER_SECOND: Final = {"micros": 1_000_000, "millis": 1000, "seconds": 1}
_UNITS: Final = {"micros": "microsecond", "millis": "millisecond", "seconds": "second"}
_WRITES_PER_SECOND: Final = 1000
_DIGEST_BYTES: Final = 16
_GUIDE: Final = "HBase Reference Guide, Rowkey Design"


def _monotone(target: LintTarget) -> Iterator[Remark]:
    yield from _rising(target, is_descending=False)


def _descending(target: LintTarget) -> Iterator[Remark]:
    yield from _rising(target, is_descending=True)


def _rising(target: LintTarget, *, is_descending: bool) -> Iterator[Remark]:
    schema = target.schema
    front = rising_front(schema.layout, schema)
    if front is None or front[0].is_descending != is_descending:
        return
    part, points = front
    regions = len(schema.split_keys) + 1
    before = f" after one of {points} listed values" if points > 1 else ""
    order = ", newest first" if is_descending else ""
    end = "front" if is_descending else "end"
    at = f"at the {end} of the table" if points == 1 else f"in at most {points} places"
    yield Remark(
        "",
        f"row keys begin with {rising_text(part, schema)}{order}{before}",
        f"all of {count_text(target.rows)} rows are written {at}, each in {one_of(regions)}, "
        "however many servers there are; with Salt(16) each of 16 regions takes 6.25 %",
        _spread_fix(part, points, schema),
    )


def _spread_fix(part: Part, points: int, schema: TableSchema) -> str:
    """Return a declaration with a salt, or with a field that spreads in front."""
    parts = schema.row_layout.parts
    others = [each.name for each in parts if each.derivation is None and _spreads(each, schema)]
    if schema.packed_bytes:  # the cells of a period must have one salt
        of = others[0] if others else "FIELD"
        return f"put Salt(16, of={of}) first: __rowkey__ = rowkey(Salt(16, of={of}), ...)"
    if any(each.derivation is not None for each in parts):
        return "put Salt(16) first: __rowkey__ = rowkey(Salt(16), ...)"
    names = [each.name for each in parts]
    salted = f"__rowkey__ = rowkey({', '.join(['Salt(16)', *names])})"
    if not others:
        return salted
    front = [*others[:1], *(name for name in names if name != others[0])]
    return (
        f"{salted}, which reads a range of {part.name} in {16 * points} scans; or, if reads name "
        f"{others[0]}: __rowkey__ = rowkey({', '.join(front)})"
    )


def _spreads(part: Part, schema: TableSchema) -> bool:
    return not is_rising(part, schema) and few_values(part, schema) is None


def _random_suffix(target: LintTarget) -> Iterator[Remark]:
    layout = target.schema.layout
    for part in layout.parts[1:]:
        field = target.schema.fields.get(part.name)
        factory = getattr(field, "default_factory", None)
        is_random = isinstance(getattr(factory, "__self__", None), random.Random)
        is_random = is_random or _RANDOM_NAMES.fullmatch(part.name) is not None
        if part.derivation is None and is_random and part.codec.python_type is int:
            others = [name for name in layout.arguments if name != part.name]
            yield Remark(
                part.name,
                f"{part.name} is a random part behind the beginning of the row key",
                "a random number at the end spreads nothing, and no get can compute it: each get "
                f"by {listed(others) or 'the other fields'} is a scan instead of 1 request",
                f"leave {part.name} out; to spread writes, write rowkey(Salt(16), "
                f"{', '.join(others)}); to tell rows apart, end the key with a UUID",
            )


def _not_unique(target: LintTarget) -> Iterator[Remark]:
    schema = target.schema
    names = schema.layout.arguments
    codecs = {name: schema.layout.codecs[name] for name in names}
    if schema.counters and not schema.columns:
        return  # rows are sums, so equal keys are meant to meet
    times = [n for n, c in codecs.items() if issubclass(c.python_type, (datetime, time))]
    others = [n for n in names if n not in times]
    if len(times) != 1 or _PERIOD_NAMES.fullmatch(times[0]):
        return
    codec = codecs[times[0]]
    if isinstance(codec, Strftime) or codec.name not in _PER_SECOND:
        return
    listed_others = [count for n in others if (count := _listed(schema, n)) is not None]
    is_by_day = any(issubclass(codecs[n].python_type, date) for n in others)
    if len(listed_others) < len(others) or is_by_day:
        return
    slots = _PER_SECOND[codec.name] * math.prod(listed_others)
    lost = 1 - slots / _WRITES_PER_SECOND * (1 - math.exp(-_WRITES_PER_SECOND / slots))
    with_ = f" and {listed(others)}" if others else ""
    yield Remark(
        "",
        f"nothing but {times[0]} ({codec.name}){with_} tells rows apart",
        f"two rows of one {_UNITS[codec.name]} have one key, and the second replaces the "
        f"first: at {count_text(_WRITES_PER_SECOND)} writes a second {100 * lost:.2f} % of the "
        f"rows are lost, {count_text(round(lost * target.rows))} of {count_text(target.rows)}",
        f"add what makes rows different: {times[0]}_id: Key[UUID] = key(default_factory=uuid4)",
    )


def _listed(schema: TableSchema, name: str) -> int | None:
    part = schema.layout.part(name)
    return None if part is None else few_values(part, schema)


def _long(target: LintTarget) -> Iterator[Remark]:
    layout, cells = target.schema.row_layout, cell_count(target.schema)
    length = key_bytes(layout)
    encoded = [] if layout.lookups else [_sampled_bytes(obj) for obj in target.samples]
    longest = max(encoded, default=0)
    if max(length, longest) <= MOST_KEY_BYTES:
        return
    mean = length if not encoded else max(length, sum(encoded) // len(encoded))
    widest = max(layout.parts, key=lambda part: part.codec.width_bytes or 0)
    shown = at_least(layout)
    if longest > length:
        shown = f"up to {longest} bytes in {len(encoded)} samples"
    yield Remark(
        "",
        f"row keys have {shown}; the longest part of known width is {widest.name}",
        f"each of {cells} cells of a row repeats the key: {bytes_text(mean * cells * target.rows)} "
        f"for {count_text(target.rows)} rows, before compression",
        _short_fix(widest, layout, cells, mean),
    )


def _sampled_bytes(obj: Model) -> int:
    return len(obj.encode_key(**{n: getattr(obj, n) for n in obj.__schema__.layout.arguments}))


def _short_fix(widest: Part, layout: KeyLayout, cells: int, mean: int) -> str:
    """Return a declaration with a shorter key, and what it saves: a digest needs a cell more."""
    field = widest.fields[0] if widest.fields else widest.name
    if widest.derivation is not None and not isinstance(widest.derivation, PeriodOf):
        return f"put a shorter hash into the key: Digest(of={field}), {_DIGEST_BYTES} bytes"
    saved = cells * (mean - _DIGEST_BYTES) - (CELL_BYTES + _DIGEST_BYTES + len("d:p") - 1 + mean)
    short = f"store a code or a number in the stead of {field}"
    if saved <= 0:
        return f"{short}; a digest of it saves nothing, as the value then takes a cell of its own"
    text = (
        f'{field}: Key[str] = key(family=d, qualifier="{field[0]}"), and in rowkey(...) '
        f"Digest(of={field}) in its stead: a row has about {saved} bytes less, but no range of "
        f"{field} can be read"
    )
    return text if has_exact_key(layout) else f"{text}; or {short}"


KEY_RULES: Final = (
    LintRule(
        "key-monotone",
        "warning",
        "row keys begin with a time or a sequence, without a salt, hash or bucket in front",
        "rows that are written at one time stand side by side, so one region, on one server, takes "
        "every write",
        f"{_GUIDE}: Monotonically Increasing Row Keys/Timeseries Data",
        _monotone,
    ),
    LintRule(
        "key-descending",
        "warning",
        "row keys begin with a descending time: newest first, and as hot as ascending",
        "descending times move the hot place from the end of the table to its front; they do not "
        "spread",
        f"{_GUIDE}: Reverse Timestamps; Monotonically Increasing Row Keys",
        _descending,
    ),
    LintRule(
        "key-random-suffix",
        "warning",
        "a random number stands behind the beginning of the row key",
        "HBase spreads rows by the beginning of their keys",
        f"{_GUIDE}: Salting, whose random part is a prefix",
        _random_suffix,
    ),
    LintRule(
        "key-not-unique",
        "warning",
        "nothing in the row key tells two rows of one moment apart",
        "a put of an existing key is a new version of that row, and not an error",
        "HBase Reference Guide, Data Model: Versions; docs/row-keys.md",
        _not_unique,
    ),
    LintRule(
        "key-long",
        "warning",
        f"row keys have more than {MOST_KEY_BYTES} bytes",
        "each cell repeats its row key in store files, memstore and block index; 10 to 100 bytes "
        "are usual, 16 or less are best",
        f"{_GUIDE}: Try to minimize row and column sizes; docs/server-tuning.md",
        _long,
    ),
)
"""The rules of this module."""
