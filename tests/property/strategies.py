"""Random key fields, models, rows and statements, and what each codec's values are.

Values come from small pools, so that rows collide, neighbour and match; the pools hold what is
hard: zeros of both signs, texts that are each other's prefixes, NUL bytes, the ends of the ranges.
"""

from __future__ import annotations

import math
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from hypothesis import strategies as st

from hbase_orm import (
    Condition,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Salt,
    codecs,
    column,
    key,
    rowkey,
)
from hbase_orm.codecs import Codec
from hbase_orm.schema import Comparison, Expr, InValues, Not, Or, Order, StartsWith, conjuncts

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TEXTS = (
    "",
    "a",
    "ab",
    "abc",
    "a_",
    "a\x00",
    "a\x00\x01",
    "a\x01",
    "b",
    "ä",
    "\uffff",
    "\U0001f600",
)
BYTES = (b"", b"\x00", b"\x00\x01", b"\x00\xff", b"a", b"ab", b"\xff", b"\xff\xff")
FLOATS = (-math.inf, -1.5, -0.0, 0.0, 5e-324, 1.5, math.inf)
TIMES = tuple(EPOCH + timedelta(milliseconds=ms) for ms in (0, 1, 5, 6, 7, 1_400_000_000_000))
BETWEEN_TIMES = (
    EPOCH - timedelta(microseconds=1),
    *(EPOCH + timedelta(microseconds=us) for us in (5_500, 5_001, 6_999)),
)


@dataclass(frozen=True)
class Kind:
    """A codec with what it can store, and what it can only be compared with."""

    codec: Codec[Any]
    python_type: type
    values: tuple[Any, ...]
    foreign: tuple[Any, ...] = ()

    def __repr__(self) -> str:
        return f"{self.codec!r}"


def _integers(codec: Codec[int], *more: int) -> Kind:
    low, high = codec.minimum or 0, codec.maximum or 0
    values = (low, low + 1, *more, high - 1, high)
    return Kind(codec, int, tuple(dict.fromkeys(values)), (low - 1, high + 1))


def _texts(codec: Codec[str], separator: str | None = None) -> Kind:
    fits = [t for t in TEXTS if separator is None or separator not in t]
    return Kind(codec, str, tuple(fits), tuple(t for t in TEXTS if t not in fits))


def _kinds(*, desc: bool) -> tuple[Kind, ...]:
    return (
        _integers(codecs.uint8(desc=desc), 2, 5),
        _integers(codecs.uint16(desc=desc), 255, 256),
        _integers(codecs.uint32(desc=desc), 7),
        _integers(codecs.uint64(desc=desc), 1 << 63),
        _integers(codecs.int64(desc=desc), -5, -1, 0, 1, 255),
        Kind(codecs.float64(desc=desc), float, FLOATS, (0, 2, 2**53 + 1)),
        Kind(codecs.boolean(desc=desc), bool, (False, True)),
        Kind(codecs.millis(desc=desc), datetime, TIMES, BETWEEN_TIMES),
        Kind(codecs.micros(desc=desc), datetime, TIMES + BETWEEN_TIMES),
        _texts(codecs.text(desc=desc)),
        _texts(codecs.text(separator=b"\x00", desc=desc), "\x00"),
        _texts(codecs.text(separator=b"_", desc=desc), "_"),
        Kind(codecs.get("raw", desc=desc), bytes, BYTES),
    )


KINDS = (*_kinds(desc=False), *_kinds(desc=True))
kinds = st.sampled_from(KINDS)


class Falling:
    """A value that sorts the other way round."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: Falling) -> bool:
        return bool(self.value > other.value)

    def __gt__(self, other: Falling) -> bool:
        return bool(self.value < other.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Falling) and self.value == other.value

    __hash__ = None  # type: ignore[assignment]  # only ever compared


def rank(value: Any, *, desc: bool = False) -> Any:
    """Return something that sorts as stored values do: -0.0 before 0.0, NaN last."""
    if isinstance(value, float):
        value = (1, 0.0, 0.0) if math.isnan(value) else (0, value, math.copysign(1, value))
    return Falling(value) if desc else value


def part_rank(codec: Codec[Any], value: Any, *, is_last: bool, ends: bool = False) -> Any:
    """Return what a part of a key sorts by: its value, or its bytes where a separator decides.

    Args:
        codec: The part's codec.
        value: Its value.
        is_last: Whether the key ends with it.
        ends: Whether it is ended even in the last place, as in an index entry.
    """
    separator = getattr(codec, "separator", None)
    if separator not in {None, b"\x00"} and not (is_last and not codec.desc and not ends):
        return rank(value.encode() + separator, desc=codec.desc)
    return rank(value, desc=codec.desc)


@dataclass(frozen=True)
class Declared:
    """A model made at random, and what of it the oracle needs.

    Attributes:
        model: The class.
        keys: The key fields in the order of their bytes.
        fields: The kind of every field.
        nullable: The fields that may be None.
        indexes: For each index its parts: field, and whether it falls.
        is_salted: Whether a salt stands in front.
    """

    model: type[Model]
    keys: tuple[str, ...]
    fields: Mapping[str, Kind]
    nullable: frozenset[str]
    indexes: Mapping[str, tuple[tuple[str, bool], ...]]
    is_salted: bool

    def __repr__(self) -> str:
        parts = f"{self.model.describe_key()} {dict(self.fields)}"
        return f"{parts} nullable={sorted(self.nullable)} {dict(self.indexes)}"


@st.composite
def narrowed(draw: st.DrawFn) -> Kind:
    """Draw a kind with few of its values, so that rows share them and conditions name them."""
    kind = draw(kinds)
    few = st.lists(st.sampled_from(kind.values), min_size=2, max_size=4, unique_by=repr)
    values = tuple(draw(few))
    others = tuple(value for value in kind.values if value not in values)
    return replace(kind, values=values, foreign=kind.foreign + others)


@st.composite
def models(draw: st.DrawFn) -> Declared:
    """Draw a model of 1 to 3 key fields, 1 to 3 columns and up to 2 indexes."""
    key_kinds = draw(st.lists(narrowed(), min_size=1, max_size=3))
    column_kinds = draw(st.lists(narrowed(), min_size=1, max_size=3))
    required = draw(st.lists(st.booleans(), min_size=3, max_size=3))
    body: dict[str, Any] = {"__module__": __name__, "d": Family()}
    annotations: dict[str, Any] = {}
    fields = {f"k{number}": kind for number, kind in enumerate(key_kinds)}
    keys = tuple(draw(st.permutations(sorted(fields))))
    for name, kind in fields.items():
        body[name] = key(kind.codec)
        annotations[name] = Key[kind.python_type]  # type: ignore[name-defined]  # a type at run time
    nullable = set()
    for number, kind in enumerate(column_kinds):
        name = f"c{number}"
        fields[name] = kind
        if required[number]:
            body[name] = column(body["d"], codec=kind.codec)
            annotations[name] = Mapped[kind.python_type]  # type: ignore[name-defined]  # as above
        else:
            nullable.add(name)
            body[name] = column(body["d"], codec=kind.codec, default=None)
            annotations[name] = Mapped[kind.python_type | None]  # type: ignore[name-defined]  # as above
    salts = st.none() | st.builds(
        lambda count, sources: Salt(count, of=sources and [body[name] for name in sources]),
        st.integers(2, 5),
        st.none() | st.lists(st.sampled_from(keys), min_size=1, max_size=2, unique=True),
    )
    salt = draw(salts)
    body["__rowkey__"] = rowkey(*([salt] if salt else []), *(body[name] for name in keys))
    indexes = draw(_indexes(fields))
    for name, parts in indexes.items():
        body[name] = Index(
            *(_directed(body[field], fields[field], falls) for field, falls in parts)
        )
    body["__annotations__"] = annotations
    model = types.new_class("Row", (Model,), {"table": "rows"}, lambda space: space.update(body))
    return Declared(
        model=model,
        keys=keys,
        fields=fields,
        nullable=frozenset(nullable),
        indexes=indexes,
        is_salted=salt is not None,
    )


def _directed(field: Expr[Any], kind: Kind, falls: bool) -> Expr[Any] | Order:  # noqa: FBT001 - drawn
    if falls is kind.codec.desc:
        return field
    return field.desc() if falls else field.asc()


@st.composite
def _indexes(
    draw: st.DrawFn, fields: Mapping[str, Kind]
) -> dict[str, tuple[tuple[str, bool], ...]]:
    usable = sorted(
        name for name, kind in fields.items() if getattr(kind.codec, "separator", None) != b"_"
    )
    if not usable:
        return {}
    parts = st.tuples(st.sampled_from(usable), st.booleans())
    drawn = draw(st.lists(st.lists(parts, min_size=1, max_size=2), max_size=2))
    return {f"ix{number}": tuple(index) for number, index in enumerate(drawn)}


def rows(declared: Declared, max_size: int = 10) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Return rows with distinct row keys, none of them empty, mostly several."""
    fields = {
        name: (st.none() if name in declared.nullable else st.nothing())
        | st.sampled_from(kind.values)
        for name, kind in declared.fields.items()
    }
    one = st.fixed_dictionaries(fields)
    many, few = (
        st.lists(one, min_size=least, max_size=max_size, unique_by=partial(_identity, declared))
        for least in (min(4, _most_keys(declared)), 0)
    )
    return st.one_of(many, many, few).map(
        lambda found: [row for row in found if not _is_empty(declared, row)]
    )


def _most_keys(declared: Declared) -> int:
    return math.prod(len(declared.fields[name].values) for name in declared.keys)


def _identity(declared: Declared, row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(repr(row[name]) for name in declared.keys)


def _is_empty(declared: Declared, row: Mapping[str, Any]) -> bool:
    """Say whether all the bytes of the key are those of one empty, unended value."""
    last = declared.fields[declared.keys[-1]].codec
    is_bare = len(declared.keys) == 1 and not declared.is_salted and not last.desc
    return is_bare and row[declared.keys[0]] in ("", b"")


@st.composite
def conditions_on(draw: st.DrawFn, declared: Declared, name: str) -> Condition:
    """Draw one plain condition on one field."""
    field: Expr[Any] = declared.model.__schema__.fields[name]
    kind = declared.fields[name]
    usual = st.sampled_from(kind.values)
    rare = st.sampled_from(kind.foreign or kind.values)
    values = st.one_of(usual, usual, usual, rare)
    if name in declared.nullable:
        values = st.one_of(values, values, values, st.none())
    shape = draw(
        st.sampled_from(("==", "==", "==", "!=", "<", "<=", ">", ">=", "in", "between", "^"))
    )
    if shape == "in":
        return field.in_(draw(st.lists(values, max_size=3)))
    if shape == "between":
        low, high = draw(st.tuples(values, values))
        return field.between(low, high)
    if shape == "^" and kind.python_type in (str, bytes):
        return field.startswith(draw(st.sampled_from(kind.values + kind.foreign)))
    return Comparison(field, "==" if shape == "^" else shape, draw(values))  # type: ignore[arg-type]  # one of Operator


@st.composite
def where(draw: st.DrawFn, declared: Declared) -> list[Condition]:
    """Draw conditions, most of them on the leading fields of the key or of an index."""
    found: list[Condition] = []
    leading = [declared.keys, *(tuple(f for f, _ in index) for index in declared.indexes.values())]
    for name in draw(st.sampled_from(leading)):
        if draw(st.booleans()):
            break
        found.append(draw(conditions_on(declared, name)))
    for name in draw(st.lists(st.sampled_from(sorted(declared.fields)), max_size=2)):
        one = draw(conditions_on(declared, name))
        shape = draw(st.sampled_from(("plain", "plain", "not", "or")))
        if shape == "not":
            one = ~one
        elif shape == "or":
            one = one | draw(
                conditions_on(declared, draw(st.sampled_from(sorted(declared.fields))))
            )
        found.append(one)
    return found


@st.composite
def orders(draw: st.DrawFn, declared: Declared) -> list[Order]:
    """Draw no order, a run of the key's or an index's fields one way, or any."""
    fields = declared.model.__schema__.fields
    shape = draw(st.sampled_from(("none", "none", "key", "index", "any")))
    if shape == "none":
        return []
    names: Sequence[tuple[str, bool]] = [(n, declared.fields[n].codec.desc) for n in declared.keys]
    if shape == "index" and declared.indexes:
        names = draw(st.sampled_from(sorted(declared.indexes.values())))
    if shape == "any":
        drawn = st.tuples(st.sampled_from(sorted(declared.fields)), st.booleans())
        names = draw(st.lists(drawn, min_size=1, max_size=2))
    first = draw(st.integers(0, len(names) - 1))
    turned = draw(st.booleans())
    chosen = names[first : first + draw(st.integers(1, 3))]
    return [Order(fields[name], descending=falls is not turned) for name, falls in chosen]


def holds(condition: Condition, row: Mapping[str, Any]) -> bool:
    """Say by plain Python whether a row fulfils a condition; the oracle's two-valued logic."""
    match condition:
        case Or(conditions=inner):
            return any(holds(part, row) for part in inner)
        case Not(condition=single):
            return not holds(single, row)
        case InValues(field=of, values=values):
            return any(_equal(row[of.name], value) for value in values)
        case StartsWith(field=of, prefix=prefix):
            return row[of.name] is not None and row[of.name].startswith(prefix)
        case Comparison(field=of, operator=operator, value=value):
            return _compare(row[of.name], operator, value)
    return all(holds(part, row) for part in conjuncts(condition))


def _equal(one: Any, other: Any) -> bool:
    return bool(one is None and other is None) or bool(
        one is not None and other is not None and one == other
    )


def _compare(one: Any, operator: str, other: Any) -> bool:
    if operator in {"==", "!="}:
        return _equal(one, other) is (operator == "==")
    if one is None or other is None:
        return False
    return bool(
        {"<": one < other, "<=": one <= other, ">": one > other, ">=": one >= other}[operator]
    )
