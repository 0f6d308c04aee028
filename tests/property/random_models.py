"""Random models whose row keys hold components of every kind, and random rows of them."""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any
from zlib import crc32

from hypothesis import reject
from hypothesis import strategies as st

from hbase_orm import (
    Bucket,
    Computed,
    Digest,
    Family,
    HashPrefix,
    Index,
    Key,
    Mapped,
    Model,
    Offset,
    Period,
    RandomSalt,
    RecordType,
    Salt,
    Substitute,
    Table,
    TablePerPeriod,
    codecs,
    column,
    key,
    rowkey,
)
from hbase_orm.codecs import Codec
from hbase_orm.errors import SchemaError
from hbase_orm.rowkey import KeyLayout
from hbase_orm.schema import Comparison, Condition, Expr, Order
from tests.property.strategies import OTHER_KINDS, TIME_KINDS, Kind
from tests.property.wishes import BESIDE, INDEXES, KEY_KINDS, SHAPES, WISHES, is_wished

RECORD_TYPES = ("S", "TT")
MOST_COMPONENTS = 5


@dataclass(frozen=True)
class Declared:
    """A model made at random, and what of it the oracle needs.

    Attributes:
        model: The class that statements select.
        makers: The classes that rows are made of: itself, or the record types of a base.
        keys: The key fields as the key first speaks of them.
        components: The kinds of the key's components, in order.
        fields: The kind of every field.
        nullable: The fields that may be None.
        indexes: For each index its parts: field, and whether it falls.
        options: For each index how else it is declared.
    """

    model: type[Model]
    makers: tuple[type[Model], ...]
    keys: tuple[str, ...]
    components: tuple[str, ...]
    fields: Mapping[str, Kind]
    nullable: frozenset[str]
    indexes: Mapping[str, tuple[tuple[str, bool], ...]]
    options: Mapping[str, Mapping[str, Any]]

    def __repr__(self) -> str:
        parts = f"{self.model.describe_key()} {dict(self.fields)}"
        return f"{parts} nullable={sorted(self.nullable)} {dict(self.indexes)} {dict(self.options)}"

    @property
    def is_base(self) -> bool:
        """Whether the model is the base of record types."""
        return self.model.__schema__.record_types is not None


def hashed(value: Any, count: int) -> int:
    """Return a number below `count` that a value always gives."""
    return crc32(repr(value).encode()) % count


@dataclass(frozen=True)
class Mixed:
    """A function of one or two values, and what it can give when one of them is not known."""

    arity: int
    __name__ = "mixed"

    def __call__(self, *values: Any) -> int:
        digits = [hashed(value, 3) for value in values]
        return digits[0] + 3 * sum(digits[1:])

    def values(self, *values: Any) -> list[int]:
        """Return what is possible, None for a value that is not known."""
        known = [range(3) if v is None else [hashed(v, 3)] for v in values]
        firsts, seconds = (known * 2)[:2] if self.arity == 2 else (known[0], [0])
        return [first + 3 * second for first in firsts for second in seconds]


@dataclass
class _Body:
    """What the body of a class holds while it is made up."""

    draw: st.DrawFn
    values: dict[str, Any]
    annotations: dict[str, Any]
    fields: dict[str, Kind]
    wish: str = ""
    is_simple: bool = False
    numbered: set[str] = field(default_factory=set)

    def flip(self) -> bool:
        return self.draw(st.booleans())

    def pick(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def shape(self, *choices: str) -> str:
        """Return the shape that is wished for, if it is one of these, else any of them."""
        wished = SHAPES.get(self.wish)
        return wished if wished in choices else self.draw(st.sampled_from(choices))

    def key_kinds(self, *pools: tuple[Kind, ...]) -> tuple[Kind, ...]:
        """Return the kinds that a key field may have."""
        return KEY_KINDS.get(self.wish) or self.pick(*pools)

    # --- fields -----------------------------------------------------------------------------------

    def add_key(self, name: str, kind: Kind, *, is_stored: bool) -> None:
        family = self.values["d"] if is_stored else None
        self.values[name] = key(kind.codec, family=family)
        self.annotations[name] = Key[kind.python_type]  # type: ignore[name-defined]  # a type at run time
        self.fields[name] = kind

    def is_nullable(self, name: str) -> bool:
        """Return whether a field may be None."""
        return "None" in str(self.annotations[name])

    def add_column(self, name: str, kind: Kind, *, is_nullable: bool) -> None:
        if is_nullable:
            self.values[name] = column(self.values["d"], codec=kind.codec, default=None)
            self.annotations[name] = Mapped[kind.python_type | None]  # type: ignore[name-defined]  # as above
        else:
            self.values[name] = column(self.values["d"], codec=kind.codec)
            self.annotations[name] = Mapped[kind.python_type]  # type: ignore[name-defined]  # as above
        self.fields[name] = kind

    # --- components that tell a field -------------------------------------------------------------

    def told(self, name: str, kind: Kind, *, in_tables: bool) -> list[Any]:
        """Declare a key field and return the components that tell it."""
        forms = ["itself"] * 4 + ["digest"]
        if kind.python_type is str:
            forms += ["substitute"] * 2
        if kind.python_type is datetime:
            forms = ["itself", "period and offset", "period and offset", "digest"]
        form = "itself" if self.is_simple else self.shape(*forms)
        form = "table" if in_tables else form
        self.add_key(name, kind, is_stored=form == "digest")
        of = self.values[name]
        if form == "digest":
            return [Digest(of=of, form=self.pick("raw", "hex"))]
        if form == "substitute":
            self.numbered.add(name)
            return [Substitute(of=of, dictionary="names", codec=self.pick(None, codecs.uint8()))]
        if form == "period and offset":
            unit = self.pick("hour", "day", "month", "year")
            every = self.pick(1, 1, 6) if unit == "hour" else 1
            return [self.period(of, unit, every), self.offset(of, unit, every)]
        if form == "table":
            offset = self.offset(of, self.values["__period__"])
            return [self.pick(of, offset, offset)]
        return [of]

    def period(self, of: Any, unit: str, every: int = 1) -> Period:
        form = {"hour": "%Y%m%d%H", "day": "%Y%m%d", "month": "%Y-%m", "year": "%Y"}[unit]
        falls = self.flip()
        codec = self.pick(None, codecs.seconds(desc=falls), codecs.strftime(form, desc=falls))
        return Period(unit, of=of, every=every, codec=codec)

    def offset(self, of: Any, unit: str, every: int = 1) -> Offset:
        resolution: Any = {"millis": "millis", "seconds": "seconds", "strftime": "seconds"}.get(
            of.codec.name, "micros"
        )
        wide = codecs.uint64(desc=self.flip())
        codec = self.pick(None, wide, codecs.timedelta_(desc=wide.desc))
        if unit == "day" and resolution == "millis" and self.flip():
            codec = codecs.millis_of_day(desc=wide.desc)
        return Offset(unit, of=of, every=every, resolution=resolution, codec=codec)

    # --- components beside ------------------------------------------------------------------------

    def sources(self, components: list[Any]) -> list[Any]:
        names = [name for name in self.fields if name.startswith("k")]
        usable = [self.values[name] for name in names]
        usable += [c for c in components if isinstance(c, (Period, Substitute, HashPrefix))]
        return self.draw(st.lists(st.sampled_from(usable), min_size=1, max_size=2, unique_by=id))

    def beside(self, components: list[Any]) -> Any:
        """Return a component that helps, and tells nothing."""
        shape = self.shape("hash", "computed", "computed", "computed", "period", "bucket")
        sources = self.sources(components)
        if shape == "computed":
            return _computed(self, [s for s in sources if not isinstance(s, Substitute)])
        times = [v for n, v in self.values.items() if n in self.fields and _is_time(self, n)]
        if shape == "period" and times:
            return self.period(self.pick(*times), self.pick("hour", "day", "month"))
        numbers = [v for n, v in self.values.items() if _is_number(self, n)]
        if shape == "bucket" and numbers:
            return Bucket(3, of=self.pick(*numbers), form="text")
        form = self.pick("raw", "hex")
        return HashPrefix(self.draw(st.integers(1, 2)), of=sources, form=form)

    def in_front(self, components: list[Any]) -> list[Any]:
        """Return what spreads the keys, or nothing."""
        form = self.pick("byte", "text", lambda number: b"%03d" % number)
        count = self.draw(st.integers(2, 4))
        shape = self.shape("none", "none", "salt", "salt", "salt of all", "random", "bucket")
        numbers = [v for n, v in self.values.items() if _is_number(self, n)]
        if shape == "salt":
            hash_name = self.pick("phoenix", "crc32")
            return [Salt(count, of=self.sources(components), form=form, hash=hash_name)]
        if shape == "salt of all":
            return [Salt(count, form=form)]
        if shape == "random":
            return [RandomSalt(count, form=form)]
        if shape == "bucket" and numbers:
            return [Bucket(count, of=self.pick(*numbers), form=form)]
        return []


def _is_time(body: _Body, name: str) -> bool:
    return name.startswith("k") and body.fields[name].python_type is datetime


def _is_number(body: _Body, name: str) -> bool:
    if not name.startswith("k") or name not in body.fields:
        return False
    kind = body.fields[name]
    is_counted = kind.codec.name in {"millis", "micros", "seconds", "date"}
    return kind.python_type is int or (is_counted and kind.codec.width_bytes in {4, 8})


def _computed(body: _Body, sources: list[Any]) -> Any:
    sources = sources or [body.values["k0"]]
    function = Mixed(len(sources))
    choices: Any = {
        "all": tuple(range(9)),
        "function": function.values,
        "none": None,
    }[body.pick("all", "function", "function", "none")]
    codec = codecs.uint8(desc=body.flip())
    return Computed(function, of=sources, codec=codec, values=choices)


def _narrowed(draw: st.DrawFn, pool: tuple[Kind, ...]) -> Kind:
    """Return a kind with few of its values, so that rows share them and conditions name them."""
    kind = draw(st.sampled_from(pool))
    few = st.lists(st.sampled_from(kind.values), min_size=2, max_size=4, unique_by=repr)
    values = tuple(draw(few))
    others = tuple(value for value in kind.values if value not in values)
    return replace(kind, values=values, foreign=kind.foreign + others)


@st.composite
def models(
    draw: st.DrawFn,
    *,
    is_split: bool = True,
    wish: str = "",
    family: st.SearchStrategy[Family] | None = None,
    table_options: st.SearchStrategy[dict[str, Any]] | None = None,
) -> Declared:
    """Draw a model of 1 to 3 key fields in 1 to 5 components, up to 3 columns and 3 indexes.

    Args:
        draw: Hypothesis's.
        is_split: Whether tables are pre-split on the salt, which costs time on a real HBase.
        wish: One of `WISHES`: what the model has, but for few draws.
        family: The family of the columns; by default one without options.
        table_options: The options of the table, if it is one for all rows; by default none.
    """
    assert wish in WISHES
    body = _Body(
        draw,
        {"__module__": __name__, "d": Family() if family is None else draw(family)},
        {},
        {},
        wish,
    )
    body.is_simple = not wish and body.flip()
    in_tables = is_wished(draw, wish, "TablePerPeriod", (False, False, False, False, True))
    body.values["__period__"] = body.pick("day", "month")
    components: list[Any] = []
    for number in range(draw(st.integers(1, 2 if wish else 3))):
        is_placed = in_tables and not number
        pool = TIME_KINDS if is_placed else body.key_kinds(TIME_KINDS, OTHER_KINDS, OTHER_KINDS)
        components += body.told(f"k{number}", _narrowed(draw, pool), in_tables=is_placed)
    for number in range(draw(st.integers(int(wish in INDEXES), 3))):
        kind = _narrowed(draw, body.pick(TIME_KINDS, OTHER_KINDS, OTHER_KINDS))
        body.add_column(f"c{number}", kind, is_nullable=body.flip())
    for _ in range(draw(st.sampled_from((1,) if wish in BESIDE else (0, 0, 1, 1, 2)))):
        if len(components) < MOST_COMPONENTS and not body.is_simple:
            components.append(body.beside(components))
    may_have_types = not in_tables and len(components) < MOST_COMPONENTS
    has_types = may_have_types and is_wished(draw, wish, "RecordType", (False,) * 7 + (True,))
    if has_types:
        components.append(RecordType())
    components = draw(st.permutations(components))
    if len(components) < MOST_COMPONENTS:
        components = [*body.in_front(components), *components]
    body.values["__rowkey__"] = rowkey(*components)
    indexes = {} if has_types or in_tables else draw(_indexes(body))
    options = {name: draw(_options(body, dict(parts))) for name, parts in indexes.items()}
    for name, parts in indexes.items():
        own = (_directed(body.values[f], body.fields[f], falls) for f, falls in parts)
        body.values[name] = Index(*own, **options[name])
    options_of_table = {} if table_options is None else draw(table_options)
    period = body.values.pop("__period__")
    table = _table(period, in_tables=in_tables, is_split=is_split, options=options_of_table)
    declared = _declared(body, table, indexes, components, has_types=has_types)
    return replace(declared, options=options)


def _table(period: str, *, in_tables: bool, is_split: bool, options: dict[str, Any]) -> Any:
    if in_tables:
        pattern = {"day": "rows_%Y%m%d", "month": "rows_%Y%m"}[period]
        return TablePerPeriod(pattern, of="k0", period=period)
    return Table("rows", splits="auto" if is_split else (), **options)


def _declared(
    body: _Body, table: Any, indexes: Any, components: list[Any], *, has_types: bool
) -> Declared:
    body.values["__annotations__"] = body.annotations
    try:
        model = _class("Row", (Model,), body.values, table=table)
        makers = (model,)
        if has_types:
            makers = tuple(_class(t, (model,), {}, record_type=t) for t in RECORD_TYPES)
    except SchemaError:
        reject()
    names = [n for n in body.fields if n.startswith("k")]
    first = {
        n: next(i for i, p in enumerate(model.__schema__.layout.behind) if n in p.fields)
        if any(n in p.fields for p in model.__schema__.layout.behind)
        else -1
        for n in names
    }
    return Declared(
        model=body.pick(model, *makers),
        makers=makers,
        keys=tuple(sorted(names, key=lambda name: first[name])),
        components=tuple(_kind_of(component) for component in components)
        + (("TablePerPeriod",) if isinstance(table, TablePerPeriod) else ()),
        fields=body.fields,
        nullable=frozenset(n for n, a in body.annotations.items() if "None" in str(a)),
        indexes=indexes,
        options={},
    )


def _kind_of(component: Any) -> str:
    return type(component).__name__


def _class(name: str, bases: tuple[type, ...], body: Mapping[str, Any], **words: Any) -> Any:
    fill: Callable[[dict[str, Any]], None] = lambda space: space.update(body)  # noqa: E731 - typed
    return types.new_class(name, bases, words, fill)


def _directed(of: Expr[Any], kind: Kind, falls: bool) -> Expr[Any] | Order:  # noqa: FBT001 - drawn
    if falls is kind.codec.desc:
        return of
    return of.desc() if falls else of.asc()


@st.composite
def _indexes(draw: st.DrawFn, body: _Body) -> dict[str, tuple[tuple[str, bool], ...]]:
    told = {n: kind for n, kind in body.fields.items() if n not in body.numbered}
    usable = sorted(name for name, kind in told.items() if _is_indexable(kind.codec))
    if not usable:
        return {}
    nullable = [name for name in usable if body.is_nullable(name)]
    parts = st.tuples(st.sampled_from(usable + 4 * nullable), st.booleans())
    least = draw(st.sampled_from((1,) if body.wish in INDEXES else (0, 0, 1)))
    drawn = draw(st.lists(st.lists(parts, min_size=1, max_size=2), min_size=least, max_size=3))
    return {f"ix{number}": tuple(index) for number, index in enumerate(drawn)}


@st.composite
def _options(draw: st.DrawFn, body: _Body, indexed: Mapping[str, bool]) -> dict[str, Any]:
    """Draw what else an index is declared with, of what fits: most are plain."""
    found: dict[str, Any] = {}
    columns = sorted(name for name in body.fields if name.startswith("c") and name not in indexed)
    wish = body.wish
    if wish == "plain index":
        return found
    if any(map(body.is_nullable, indexed)) and (wish == "nulls" or draw(_MOSTLY)):
        found["nulls"] = True
    if wish == "salted index" or draw(st.sampled_from((False, False, False, True))):
        found["salt"] = draw(st.integers(2, 4))
    if wish == "partial" or draw(st.booleans()):
        found["where"] = draw(_where(body))
    if columns and (wish == "covered" or draw(st.sampled_from((False, False, True)))):
        names = draw(st.lists(st.sampled_from(columns), min_size=1, max_size=2, unique=True))
        is_covering = wish == "covered" or draw(_MOSTLY)
        found |= {"include": [body.values[name] for name in names], "covering": is_covering}
    return found


_MOSTLY = st.sampled_from((True, True, True, False))


@st.composite
def _where(draw: st.DrawFn, body: _Body) -> Condition:
    """Draw a condition that a row's own values decide."""
    name = draw(st.sampled_from(sorted(set(body.fields) - body.numbered)))
    of, value = body.values[name], draw(st.sampled_from(body.fields[name].values))
    operators = ("==", "!=", "!=") if value != value else ("==", "!=", "!=", ">=", "<=", ">")  # noqa: PLR0124 - NaN
    condition = Comparison(of, draw(st.sampled_from(operators)), value)
    return ~condition if draw(st.sampled_from((False, False, True))) else condition


def _is_indexable(codec: Codec[Any]) -> bool:
    return codec.ordered and getattr(codec, "separator", None) != b"_"


# --- rows -----------------------------------------------------------------------------------------


def rows(declared: Declared, max_size: int = 12) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Return rows with distinct row keys, none of them empty, mostly several.

    The number under "class" says which of `makers` a row is made of.
    """
    fields = {
        name: (st.none() if name in declared.nullable else st.nothing())
        | st.sampled_from(kind.values)
        for name, kind in declared.fields.items()
    }
    one = st.fixed_dictionaries({**fields, "class": st.integers(0, len(declared.makers) - 1)})
    many, few = (
        st.lists(one, min_size=least, max_size=max_size, unique_by=partial(_identity, declared))
        for least in (min(4, _most_keys(declared)), 0)
    )
    return st.one_of(many, many, many, few).map(
        lambda found: [row for row in found if not _is_empty(declared, row)]
    )


def _most_keys(declared: Declared) -> int:
    return math.prod(len(declared.fields[name].values) for name in declared.keys)


def _identity(declared: Declared, row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(repr(row[name]) for name in declared.keys)


def _is_empty(declared: Declared, row: Mapping[str, Any]) -> bool:
    """Return whether all the bytes of the key are those of one empty, unended value."""
    parts = declared.model.__schema__.layout.parts
    (first, *others) = parts
    is_bare = first.derivation is None and not others and not first.is_delimited
    return is_bare and row[first.name] in ("", b"")


def row_key(layout: KeyLayout, row: Mapping[str, Any]) -> bytes:
    """Return a row's key; names have made-up numbers."""
    numbers = {lookup.number: hashed(row[lookup.field], 255) for lookup in layout.lookups}
    return layout.encode({**row, **numbers})
