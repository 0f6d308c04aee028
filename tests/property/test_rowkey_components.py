"""What holds for row keys of any codecs and any components, as far as they can be declared."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from hbase_orm import codecs
from hbase_orm.codecs import Codec
from hbase_orm.errors import CorruptRowError, SchemaError
from hbase_orm.rowkey import (
    Bucket,
    Component,
    Computed,
    Digest,
    HashPrefix,
    KeyFields,
    KeyLayout,
    KeySource,
    Offset,
    Part,
    Period,
    RandomSalt,
    RecordType,
    Salt,
    Substitute,
    TablePerPeriod,
    assemble,
)
from hbase_orm.rowkey.derivations import SaltOf, check_numbered
from hbase_orm.rowkey.periods import UNITS
from tests.property.test_codec_families import SUBJECTS
from tests.property.test_codecs_properties import CODECS, values_of
from tests.support.key_components import Names, check_keys

IN_ALL_RANGES = st.integers(0, 4 * 10**15).map(
    lambda micros: datetime(1970, 1, 2, tzinfo=UTC) + timedelta(microseconds=micros)
)
CASES: list[tuple[Codec[Any], st.SearchStrategy[Any]]] = [
    (
        codec,
        IN_ALL_RANGES
        if codec.python_type is datetime
        else values.filter(len)
        if codec.empty_is_null
        else values,
    )
    for codec, values in (*SUBJECTS, *((codec, values_of(codec)) for codec in CODECS))
]
MANY_FORMS = ("float", "double", "json", "msgpack", "bytes.decimal", "timestamp")
"""Codecs, by parts of their names, that read bytes which they would write otherwise."""

FORMS: tuple[Callable[[int], bytes] | str, ...] = ("byte", "text", lambda n: b"%x_" % n)
PERIODS = (
    None,
    codecs.seconds(),
    codecs.millis(desc=True),
    codecs.get("phoenix.timestamp"),
    *map(codecs.strftime, ("%Y", "%Y-%m", "%Y%m%d", "%Y%j%H", "%Y%m%d%H%M")),
)
OFFSETS = (
    None,
    codecs.uint16(),
    codecs.uint64(desc=True),
    codecs.digits(17),
    codecs.digits(17, digit_reversed=True),
    codecs.millis_of_day(),
    codecs.timedelta_(desc=True),
    *map(codecs.strftime, ("%S.%f", "%M%S%f", "-%H:%M:%S.%f", "-%d %H:%M:%S.%f")),
)
# Units, and the number of them in one period.
LENGTHS = (*((unit, 1) for unit in UNITS), ("minute", 5), ("hour", 6))
RESOLUTIONS = ("micros", "millis", "seconds")

several = settings(
    max_examples=150, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)


def third(*values: Any) -> int:
    return zlib.crc32(repr(values).encode()) % 3


@dataclass(frozen=True)
class Field:
    """A key field: its declaration, its codec and what it can hold."""

    source: KeySource
    codec: Codec[Any]
    values: st.SearchStrategy[Any]


@dataclass(frozen=True)
class Declared:
    """A row key and its fields."""

    layout: KeyLayout
    fields: Mapping[str, Field]

    def __repr__(self) -> str:
        return f"{[(part.name, part.codec, part.framing) for part in self.layout.parts]}"

    def rows(self) -> st.SearchStrategy[list[dict[str, Any]]]:
        """Return rows of one table whose fields are not all stored alike."""

        def stored(row: Mapping[str, Any]) -> tuple[bytes, ...]:
            return tuple(field.codec.encode(row[name]) for name, field in self.fields.items())

        one = st.fixed_dictionaries({name: field.values for name, field in self.fields.items()})
        drawn = st.lists(one, min_size=1, max_size=6, unique_by=stored)
        return drawn.map(self._in_one_table).map(self._without_empty)

    def _in_one_table(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        period = self.layout.table_period
        if period is None:
            return rows
        first = period.unit.start(rows[0][period.field])
        return [row for row in rows if period.unit.start(row[period.field]) == first]

    def _without_empty(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the rows that have a key, those whose only part is empty left out."""
        (part, *more) = self.layout.parts
        if more or part.derivation is not None:
            return rows
        return [row for row in rows if part.encode(row[part.name])] or reject()


def _is_numbered(codec: Codec[Any]) -> bool:
    try:
        check_numbered(codec, "")
    except SchemaError:
        return False
    return True


def _assembled(
    components: Sequence[KeySource],
    fields: Mapping[str, Field],
    table: TablePerPeriod | None = None,
) -> KeyLayout:
    key = KeyFields(
        {name: field.source for name, field in fields.items()},
        {name: field.codec for name, field in fields.items()},
        stored=frozenset(fields),
    )
    return assemble(components, key, table=table, record="ré")


@cache
def splits_of(codec: Codec[Any]) -> list[tuple[str, int, Any, str, Any]]:
    """Return the units with codecs of period and offset that hold every time of a codec."""
    found = []
    at = KeySource()
    fields = {"at": Field(at, codec, st.nothing())}
    for (unit, every), resolution, offset in product(LENGTHS, RESOLUTIONS, OFFSETS):
        for period in PERIODS:
            parts = (
                Period(unit, of=at, every=every, codec=period),
                Offset(unit, of=at, every=every, codec=offset, resolution=resolution),  # type: ignore[arg-type]  # one of the three
            )
            try:
                _assembled(parts, fields)
            except SchemaError:
                continue
            found.append((unit, every, period, resolution, offset))
    return found


@st.composite
def told(draw: st.DrawFn, field: Field) -> list[KeySource]:
    """Draw the components that tell a field."""
    ways = ["itself"] * 3 + ["digest"]
    if field.codec.python_type is str:
        ways.append("substitute")
    if field.codec.python_type is datetime:
        ways += ["split"] * 3
    way = draw(st.sampled_from(ways))
    if way == "digest":
        return [Digest(of=field.source, form=draw(st.sampled_from(("raw", "hex"))))]
    if way == "substitute":
        codec = draw(st.sampled_from((None, codecs.uint32(desc=True), codecs.digits(9))))
        return [Substitute(of=field.source, dictionary="names", codec=codec)]
    if way == "split" and splits_of(field.codec):
        unit, every, period, resolution, offset = draw(st.sampled_from(splits_of(field.codec)))
        return [
            Period(unit, of=field.source, every=every, codec=period),
            Offset(unit, of=field.source, every=every, codec=offset, resolution=resolution),
        ]
    return [field.source]


@st.composite
def derived(draw: st.DrawFn, fields: Sequence[Field], others: Sequence[KeySource]) -> KeySource:
    """Draw a component that tells nothing by itself."""
    usable = [other for other in others if not isinstance(other, RecordType)]
    of = draw(st.lists(st.sampled_from(usable), min_size=1, max_size=2, unique_by=id))
    numbered = [field for field in fields if _is_numbered(field.codec)]
    times = [field for field in fields if field.codec.python_type is datetime]
    makers: list[Callable[[], KeySource]] = [
        lambda: HashPrefix(draw(st.integers(1, 20)), of=of, algorithm="sha1"),
        lambda: HashPrefix(draw(st.integers(1, 32)), of=of, form="hex"),
        lambda: Computed(third, of=of, codec=codecs.uint8(desc=True), values=(0, 1, 2)),
        lambda: Computed(third, of=of, codec=codecs.digits(2), values=lambda *_: range(3)),
        lambda: Computed(lambda *v: "\0" * third(*v), of=of, codec=codecs.text()),
    ]
    if numbered:
        number = draw(st.sampled_from(numbered)).source
        makers.append(lambda: Bucket(draw(st.integers(2, 9)), of=number, form=draw(forms)))
    if times:
        at, codec = draw(st.sampled_from(times)).source, draw(st.sampled_from(PERIODS))
        unit, every = draw(st.sampled_from(LENGTHS))
        makers.append(lambda: Period(unit, of=at, every=every, codec=codec))
    return draw(st.sampled_from(makers))()


forms: st.SearchStrategy[Any] = st.sampled_from(FORMS)


@st.composite
def front(draw: st.DrawFn, others: Sequence[KeySource]) -> list[KeySource]:
    """Draw a salt, or none."""
    usable = [other for other in others if not isinstance(other, RecordType)]
    of = draw(st.lists(st.sampled_from(usable), min_size=1, max_size=2, unique_by=id))
    count = draw(st.integers(2, 16))
    hashes = st.sampled_from(("phoenix", "crc32"))
    return draw(
        st.sampled_from(
            (
                [],
                [Salt(count, form=draw(forms), hash=draw(hashes))],
                [Salt(count, of=of, form=draw(forms), hash=draw(hashes))],
                [RandomSalt(count, form=draw(forms))],
            )
        )
    )


@st.composite
def declared(draw: st.DrawFn) -> Declared:
    """Draw a row key: fields told in some way, what is derived of them, and a salt or none."""
    cases = draw(st.lists(st.sampled_from(CASES), min_size=1, max_size=3))
    fields = {
        f"f{number}": Field(KeySource(), codec, values)
        for number, (codec, values) in enumerate(cases)
    }
    sources = tuple(fields.values())
    components = [part for field in sources for part in draw(told(field))]
    for _ in range(draw(st.integers(0, 2))):
        components.append(draw(derived(sources, components)))
    if draw(st.booleans()):
        components.append(
            RecordType(draw(st.sampled_from((None, codecs.text(), codecs.text(desc=True)))))
        )
    components = [*draw(front(components)), *draw(st.permutations(components))]
    table = draw(tables(components, fields))
    try:
        return Declared(_assembled(components, fields, table), fields)
    except SchemaError:
        return reject()


@st.composite
def tables(
    draw: st.DrawFn, components: list[KeySource], fields: Mapping[str, Field]
) -> TablePerPeriod | None:
    """Draw a table for each period of a time; it may stand for the period in the key."""
    patterns = {"hour": "t%Y%m%d%H", "day": "t%Y%m%d", "month": "t%Y%m", "year": "t%Y"}
    offsets = [
        c for c in components if isinstance(c, Offset) and c.unit in patterns and c.every == 1
    ]
    if not offsets or draw(st.booleans()):
        return None
    unit, of = offsets[0].unit, offsets[0].of
    periods = [part for part in components if isinstance(part, Period) and part.of == of]
    used = [source for part in components if isinstance(part, Component) for source in part.of]
    if draw(st.booleans()) and periods[0] not in used:
        components.remove(periods[0])
    name = next(name for name, field in fields.items() if field.source is of[0])
    return TablePerPeriod(patterns[unit], of=name, period=unit)


@several
@given(data=st.data(), made=declared())
def test_keys_give_back_sort_and_begin_as_their_values_say(
    data: st.DataObject, made: Declared
) -> None:
    check_keys(made.layout, data.draw(made.rows()))


@several
@given(data=st.data(), made=declared())
def test_the_generated_source_makes_the_keys_that_the_codecs_make(
    data: st.DataObject, made: Declared
) -> None:
    layout = made.layout
    width = (layout.spread.codec.width_bytes or 0) if layout.is_random and layout.spread else 0
    for row in data.draw(made.rows()):
        known = Names().numbered(layout, row)
        values = [known[name] for name in layout.inputs]

        assert layout.encode(known)[width:] == layout._encode_plainly(values)[width:]


@several
@given(data=st.data(), made=declared())
def test_a_key_is_its_parts_one_after_the_other_each_of_its_width(
    data: st.DataObject, made: Declared
) -> None:
    layout = made.layout
    for row in data.draw(made.rows()):
        known = Names().numbered(layout, row)
        key = layout.encode(known)

        found = layout.split(key)

        assert b"".join(piece for _, piece in found) == key
        for part, piece in found:
            assert part.codec.width_bytes in {None, len(piece)} or part.end
            assert layout.is_random or piece == _piece(layout, part, known, key)


def _piece(layout: KeyLayout, part: Part, known: Mapping[str, Any], key: bytes) -> bytes:
    if isinstance(part.derivation, SaltOf) and not part.inputs:
        return part.derivation.of_bytes(key[part.codec.width_bytes :])
    return part.encode(layout.value(part, known))


@several
@given(data=st.data(), made=declared(), noise=st.binary(max_size=40))
def test_any_bytes_decode_or_are_corrupt(data: st.DataObject, made: Declared, noise: bytes) -> None:
    row = data.draw(made.rows())[0]
    key = made.layout.encode(Names().numbered(made.layout, row))
    at = data.draw(st.integers(0, len(key)))
    for strange in (noise, key[:at] + noise, key[:at], key[:at] + noise[:1] + key[at + 1 :]):
        _decode_or_refuse(made.layout, strange)


def _decode_or_refuse(layout: KeyLayout, key: bytes) -> None:
    try:
        layout.decode(key)
    except CorruptRowError:
        return
    for part, piece in layout.split(key):
        if not any(name in part.codec.name for name in MANY_FORMS):
            assert part.encode(part.value_of(piece)) == piece


@pytest.mark.parametrize("kind", [int, datetime, date, time, timedelta])
def test_there_are_codecs_for_buckets_of_each_kind(kind: type) -> None:
    assert any(_is_numbered(codec) and codec.python_type is kind for codec, _ in CASES)


@pytest.mark.parametrize("unit", UNITS)
def test_there_are_ways_to_split_a_time_at_each_unit(unit: str) -> None:
    assert any(unit == way[0] for way in splits_of(codecs.micros()))
