"""The kinds of components that a row key can have, and what must hold for keys made of them."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from itertools import pairwise, product
from typing import Any

from hbase_orm import codecs
from hbase_orm.codecs import Codec
from hbase_orm.errors import SchemaError
from hbase_orm.ops import KeyRange
from hbase_orm.rowkey import (
    Bucket,
    Computed,
    Digest,
    HashPrefix,
    KeyContext,
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
    assemble,
)
from hbase_orm.rowkey.derivations import OffsetOf
from tests.property.strategies import rank
from tests.property.test_codecs_properties import same

RECORD_TYPE = "R"
START = datetime(2024, 2, 29, tzinfo=UTC)
TEXTS = ("", "a", "a\x00", "a_", "ab", "x", "ä\U0001f600")
WORDS = tuple(text for text in TEXTS if "\x00" not in text and "_" not in text)
FULL_WORDS = tuple(filter(None, WORDS))
BYTES = (b"", b"\x00", b"\x00\x01", b"a", b"\xff", b"\xff\xff")
NUMBERS = (0, 1, 7, 255, 256)
TIMES = tuple(
    START + timedelta(milliseconds=ms)
    for ms in (0, 1, 59_999, 3_600_000, 86_399_999, 86_400_000, 31 * 86_400_000)
)
DECIMALS = tuple(map(Decimal, ("-100", "-1.5", "-1", "0", "0.01", "1", "1.5", "99", "100")))


class Size(Enum):
    """Codes of several lengths."""

    SMALL = 1
    LARGE = 2
    HUGE = 3


@dataclass(frozen=True)
class Source:
    """A key field.

    Attributes:
        codec: Its codec.
        values: Some values.
    """

    codec: Codec[Any]
    values: tuple[Any, ...]


OWN: Mapping[str, Source] = {
    "text": Source(codecs.text(), TEXTS),
    "number": Source(codecs.uint32(), NUMBERS),
    "time": Source(codecs.millis(), TIMES),
}
"""The field of a derived component that stands in a key without one it could be made of."""
ANY = ("text", "number", "time", "other")


@dataclass(frozen=True)
class Kind:
    """A kind of component.

    Attributes:
        name: As it is declared; of a derived one without `of=`.
        source: The field, if the component is one.
        takes: Of which types of fields a derived one can be made, the first by preference.
        make: The derived component of a field.
    """

    name: str
    source: Source | None = None
    takes: tuple[str, ...] = ()
    make: Callable[[KeySource], KeySource] = field(default=lambda source: source)

    @property
    def gives(self) -> str:
        """The type of a field, as `takes` has it; empty if this is none."""
        kinds = {str: "text", int: "number", datetime: "time"}
        return "" if self.source is None else kinds.get(self.source.codec.python_type, "other")

    def __repr__(self) -> str:
        return self.name


def part_of_three(value: Any) -> int:
    """Return a number that a value decides; a computed part's function."""
    return zlib.crc32(repr(value).encode()) % 3


def possible_parts(value: Any) -> Iterable[int]:
    return range(3) if value is None else (part_of_three(value),)


def letters(number: int) -> bytes:
    return b"%c-" % (ord("a") + number)


def _fields() -> Iterable[Kind]:
    for name, codec, values in (
        ("uint32()", codecs.uint32(), NUMBERS),
        ("uint32(desc=True)", codecs.uint32(desc=True), NUMBERS),
        ("digits(6, digit_reversed=True)", codecs.digits(6, digit_reversed=True), NUMBERS),
        ('"bytes.int32"', codecs.get("bytes.int32"), (-1, *NUMBERS)),
        ("millis()", codecs.millis(), TIMES),
        ("millis(desc=True)", codecs.millis(desc=True), TIMES),
        ("decimal()", codecs.decimal(), DECIMALS),
        (
            "code({...})",
            codecs.code({Size.SMALL: b"s", Size.LARGE: b"l", Size.HUGE: b"xl"}),
            tuple(Size),
        ),
        ("text()", codecs.text(), TEXTS),
        ("text(desc=True)", codecs.text(desc=True), TEXTS),
        ('text(separator=b"\\x00")', codecs.text(separator=b"\x00"), WORDS),
        ('text(separator=b"_")', codecs.text(separator=b"_"), WORDS),
        ("text(width_bytes=8)", codecs.text(width_bytes=8), WORDS),
        (
            'text(width_bytes=8, pad=b"x")',
            codecs.text(width_bytes=8, pad=b"x"),
            ("", "a", "xa", "b"),
        ),
        ("text(digit_reversed=True)", codecs.text(digit_reversed=True), TEXTS),
        ("raw()", codecs.raw(), BYTES),
        ("raw(desc=True)", codecs.raw(desc=True), BYTES),
        ("json(list[int])", codecs.json(list[int]), ([], [1], [1, 2])),
        ('"ordered.utf8"', codecs.get("ordered.utf8"), WORDS),
        ('"ordered.blob"', codecs.get("ordered.blob"), BYTES),
        ('"ordered.blobcopy"', codecs.get("ordered.blobcopy"), BYTES),
        ('"phoenix.varchar"', codecs.get("phoenix.varchar"), FULL_WORDS),
        ('"phoenix.varchar", desc=True', codecs.get("phoenix.varchar", desc=True), FULL_WORDS),
        ('"phoenix.decimal"', codecs.get("phoenix.decimal"), DECIMALS),
        ('"phoenix.varbinary"', codecs.get("phoenix.varbinary"), BYTES[1:]),
    ):
        yield Kind(name, Source(codec, values))


KINDS: tuple[Kind, ...] = (
    *_fields(),
    Kind("Salt(4)", make=lambda _: Salt(4)),
    Kind("Salt(4, of=...)", takes=ANY, make=lambda source: Salt(4, of=source)),
    Kind("RandomSalt(3)", make=lambda _: RandomSalt(3, form="text")),
    Kind("Bucket(5)", takes=("number", "time"), make=lambda s: Bucket(5, of=s, form=letters)),
    Kind("HashPrefix(2)", takes=ANY, make=lambda source: HashPrefix(2, of=source)),
    Kind('HashPrefix(4, form="hex")', takes=ANY, make=lambda s: HashPrefix(4, of=s, form="hex")),
    Kind("Digest()", takes=ANY, make=lambda source: Digest(of=source)),
    Kind("Substitute()", takes=("text",), make=lambda s: Substitute(of=s, dictionary="names")),
    Kind(
        "Computed(values=(...))",
        takes=ANY,
        make=lambda s: Computed(part_of_three, of=s, codec=codecs.uint8(), values=(0, 1, 2)),
    ),
    Kind(
        "Computed(values=function)",
        takes=ANY,
        make=lambda s: Computed(part_of_three, of=s, codec=codecs.uint8(), values=possible_parts),
    ),
    Kind(
        "Computed() as text",
        takes=ANY,
        make=lambda s: Computed(repr, of=s, codec=codecs.text()),
    ),
    Kind("Period()", takes=("time",), make=lambda s: Period("day", of=s)),
    Kind(
        "Period() as text",
        takes=("time",),
        make=lambda s: Period("month", of=s, codec=codecs.strftime("%Y-%m")),
    ),
    Kind("Offset()", takes=("time",), make=lambda s: Offset("day", of=s)),
    Kind(
        "Offset() as text",
        takes=("time",),
        make=lambda s: Offset("month", of=s, codec=codecs.strftime("-%d %H:%M:%S.%f")),
    ),
    Kind("RecordType()", make=lambda _: RecordType()),
)


@dataclass(frozen=True)
class Keys:
    """A layout with values for its fields.

    Attributes:
        layout: The layout.
        fields: The key fields.
        behind: The fields that had to be named behind the components, to tell the rows apart.
    """

    layout: KeyLayout
    fields: Mapping[str, Source]
    behind: tuple[str, ...] = ()

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of all values."""
        pools = [source.values for source in self.fields.values()]
        return [dict(zip(self.fields, values, strict=True)) for values in product(*pools)]


@dataclass
class Names:
    """A dictionary that numbers names as it meets them."""

    known: list[str] = field(default_factory=list)
    start: datetime | None = None

    def number_of(self, name: str) -> int:
        if name not in self.known:
            self.known.append(name)
        return self.known.index(name)

    def numbered(self, layout: KeyLayout, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return a row with the numbers that its key needs."""
        numbers = {lookup.number: self.number_of(row[lookup.field]) for lookup in layout.lookups}
        return {**row, **numbers}

    @property
    def context(self) -> KeyContext:
        return KeyContext(self.start, lambda _, number: self.known[number])


def keys_of(
    components: Sequence[KeySource], fields: Mapping[str, tuple[KeySource, Source]]
) -> Keys:
    """Return keys of components; fields that these do not tell are named behind them.

    Raises:
        SchemaError: The components do not go together.
    """
    key = KeyFields(
        {name: source for name, (source, _) in fields.items()},
        {name: known.codec for name, (_, known) in fields.items()},
        stored=frozenset(fields),
    )
    known = {name: source for name, (_, source) in fields.items()}
    try:
        return Keys(assemble(components, key, record=RECORD_TYPE), known)
    except SchemaError as error:
        behind = tuple(error.details.get("left_out", ()))
        if not behind:
            raise
    more = [fields[name][0] for name in behind]
    return Keys(assemble((*components, *more), key, record=RECORD_TYPE), known, behind)


def pair_of(first: Kind, second: Kind) -> Keys:
    """Return keys of two components: each derived of the other's field, or of one of both.

    Raises:
        SchemaError: They do not go together.
    """
    fields: dict[str, tuple[KeySource, Source]] = {}

    def named(name: str, source: Source) -> KeySource:
        return fields.setdefault(name, (KeySource(), source))[0]

    def component(kind: Kind, other: Kind, name: str, of: str) -> KeySource:
        if kind.source is not None:
            return named(name, kind.source)
        if not kind.takes:
            return kind.make(KeySource())
        if other.source is not None and other.gives in kind.takes:
            return kind.make(named(of, other.source))
        shared = [each for each in kind.takes if each in other.takes]
        own = shared[0] if shared else kind.takes[0]
        return kind.make(named("both" if shared else name, OWN[own]))

    both = component(first, second, "a", "b"), component(second, first, "b", "a")
    if not fields:  # a model has a key field
        return keys_of(both, {"c": (KeySource(), OWN["number"])})
    return keys_of(both, fields)


def _start(layout: KeyLayout, row: Mapping[str, Any]) -> datetime | None:
    period = layout.table_period
    return None if period is None else period.unit.start(row[period.field])


# --- what must hold ---------------------------------------------------------------------------------


def part_rank(layout: KeyLayout, part: Part, known: Mapping[str, Any]) -> Any:
    """Return what the bytes of a part sort by: its value, or where it is not ordered its bytes."""
    value = layout.value(part, known)
    if isinstance(part.derivation, OffsetOf) and part.derivation.repeating is not None:
        return part.encode(value)
    if isinstance(part.derivation, OffsetOf) and part.is_ordered:
        (source,) = part.derivation.inputs
        at = source.codec.normalize(known[source.name])
        return rank(at - part.derivation.unit.start(at), desc=part.is_descending)
    if not part.is_ordered or isinstance(value, Enum):
        return part.encode(value)
    return rank(part.codec.normalize(value), desc=part.is_descending)


def check_keys(layout: KeyLayout, rows: Sequence[Mapping[str, Any]]) -> list[bytes]:
    """Check that rows have keys of their own, which give them back and sort as they do.

    Rows in a table for each period are all in the first row's. Returns the keys.
    """
    names = Names(start=_start(layout, rows[0]))
    known = [names.numbered(layout, row) for row in rows]
    encoded = [layout.encode(row) for row in known]
    width = (layout.spread.codec.width_bytes or 0) if layout.spread else 0
    found = sorted(
        zip([key[width:] for key in encoded], known, encoded, strict=True), key=lambda each: each[0]
    )

    ranks = [tuple(part_rank(layout, part, row) for part in layout.behind) for _, row, _ in found]
    for one, other in pairwise(ranks):
        assert one < other, "keys sort as their parts, and rows have keys of their own"
    for row, key in zip(rows, encoded, strict=True):
        decoded = layout.decode(key, names.context)
        codec = layout.codecs
        assert list(decoded) == list(layout.decoded)
        assert all(same(decoded[name], codec[name].normalize(row[name])) for name in decoded)
        assert set(decoded.unrecoverable) == set(layout.hidden)
        assert set(decoded) | set(decoded.unrecoverable) == set(row)
    _check_prefixes(layout, [(key, row) for _, row, key in found], width)
    return encoded


def _check_prefixes(
    layout: KeyLayout, found: Sequence[tuple[bytes, Mapping[str, Any]]], width: int
) -> None:
    """Check that the range of the first parts' bytes holds exactly the keys with these values."""
    for run in range(1, len(layout.behind)):
        begun = [
            b"".join(part.encode(layout.value(part, row)) for part in layout.behind[:run])
            for _, row in found
        ]
        for prefix in set(begun):
            held = KeyRange.prefix(prefix)
            assert [key[width:] in held for key, _ in found] == [each == prefix for each in begun]
