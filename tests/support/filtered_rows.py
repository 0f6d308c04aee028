"""Models with columns of every kind, rows as other programs write them, and conditions on them.

A row's cells are put as bytes: some are absent, also of required columns, and some are what a codec
reads but never writes (other bits of NaN, nanoseconds, blanks in JSON).
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any, Literal
from uuid import UUID

from hypothesis import strategies as st

from hbase_orm import Condition, Counter, Family, Key, Mapped, Model, codecs, column, counter, key
from hbase_orm.codecs import Codec
from hbase_orm.gateway.base import Gateway
from hbase_orm.ops import (
    CloseScanner,
    FetchRows,
    KeyRange,
    MutateRows,
    OpenScanner,
    Put,
    Row,
    RowMutation,
    Scan,
)
from hbase_orm.query import compile_match
from hbase_orm.query.planning.pushdown import PushDown, push_down
from hbase_orm.schema import Comparison, Expr, TableSchema

Mode = Literal["required", "nullable", "default", "factory"]
MODES: tuple[Mode, ...] = ("required", "nullable", "default", "factory")

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TEXTS = ("", "a", "ab", "a'b", "it''s", "'", "ab\x01", "b", "ä", "\U0001f600", "AND (x, 'y')")
BYTES = (b"", b"\x00", b"\x00'\xff", b"'", b"''", b"a", b"ab", b"\xff\xff", bytes(range(256)))
FLOATS = (-math.inf, -1.5, -0.0, 0.0, 1e-60, 1.5, math.inf, math.nan)
DECIMALS = tuple(map(Decimal, ("-10", "-1.50", "0", "0.00", "1", "1.0", "1.5", "100")))
TIMES = tuple(EPOCH + timedelta(microseconds=us) for us in (0, 1_000_000, 86_400_000_000))
BETWEEN = tuple(EPOCH + timedelta(microseconds=us) for us in (-1, 5_500, 1_000_001, 3_600_000_000))


class Level(IntEnum):
    LOW = 1
    MIDDLE = 7
    HIGH = 20


class Colour(Enum):
    """Reads upper case too, which it does not write."""

    RED = "r"
    BLUE = "b"

    @classmethod
    def _missing_(cls, value: object) -> Colour | None:
        return next((c for c in cls if c.value == str(value).lower()), None)


@dataclass(frozen=True)
class Kind:
    """A codec, values that it stores, others to compare with, and cells that only others write."""

    codec: Codec[Any]
    python_type: Any
    values: tuple[Any, ...]
    foreign: tuple[Any, ...] = ()
    cells: tuple[bytes, ...] = ()
    is_sorted: bool = True

    def __repr__(self) -> str:
        return f"{self.codec!r}"


def _numbers(codec: Codec[int], *more: int) -> Kind:
    low, high = codec.minimum, codec.maximum
    assert low is not None
    assert high is not None
    return Kind(codec, int, (low, *more, high), (low - 1, low + 1, high + 1))


def _times(codec: Codec[datetime], *cells: bytes) -> Kind:
    return Kind(codec, datetime, TIMES, BETWEEN, cells)


def _texts(codec: Codec[str], *refused: str, cells: tuple[bytes, ...] = ()) -> Kind:
    fits = tuple(text for text in TEXTS if text not in refused)
    return Kind(codec, str, fits, ("aa", "\udc80", *refused), cells)


def _floats(codec: Codec[float], *cells: bytes) -> Kind:
    values = tuple(value if abs(value) > 1e-50 else value * 0 for value in FLOATS)
    return Kind(codec, float, values, (1e-60, -1e-60, 1, 2**53 + 1, 2**2000), cells)


def _kinds(*, desc: bool) -> Iterator[Kind]:
    named: Callable[..., Codec[Any]] = codecs.get
    yield _numbers(codecs.uint8(desc=desc), 1, 39)  # 39 is the quote
    yield _numbers(codecs.int64(desc=desc), -256, -1, 0, 1, 39)
    yield _numbers(named("bytes.int32", desc=desc), -1, 0, 1)
    yield _numbers(named("ordered.int16", desc=desc), -1, 0, 1)
    yield _numbers(codecs.digits(3, desc=desc), 1, 10)
    yield _numbers(codecs.digits(3, digit_reversed=True, desc=desc), 1, 10)
    nans = (b"\x7f\xf8\x00\x00\x00\x00\x00\x01", b"\xff\xf8\x00\x00\x00\x00\x00\x00")
    sorted_nans = (b"\xff\xf8\x00\x00\x00\x00\x00\x01", b"\x00\x07\xff\xff\xff\xff\xff\xff")
    mirrored = bytes(range(255, -1, -1))
    turned = [tuple(n.translate(mirrored) for n in each) for each in (nans, sorted_nans)]
    yield _floats(codecs.float64(desc=desc), *(turned[1] if desc else sorted_nans))
    yield _floats(named("bytes.float64", desc=desc), *(turned[0] if desc else nans))
    yield _floats(named("ordered.float32", desc=desc))
    yield _floats(named("phoenix.double", desc=desc))
    yield Kind(codecs.decimal(desc=desc), Decimal, DECIMALS, (Decimal("1.0000"), Decimal("7e-40")))
    yield Kind(named("bytes.decimal", desc=desc), Decimal, DECIMALS, (Decimal("1.000"),))
    yield Kind(codecs.boolean(desc=desc), bool, (False, True))
    yield Kind(named("bytes.bool", desc=desc), bool, (False, True))
    yield _texts(codecs.text(desc=desc))
    held = b"a_b".translate(mirrored) if desc else b"a_b"
    yield _texts(codecs.text(separator=b"_", desc=desc), "a_b", cells=(held,))
    yield _texts(codecs.text(digit_reversed=True, desc=desc))
    yield _texts(codecs.text(width_bytes=12, desc=desc), "ab\x00")
    yield _texts(named("ordered.utf8", desc=desc), "a\x00")
    yield _texts(named("phoenix.varchar", desc=desc), "a\x00")
    yield Kind(codecs.raw(desc=desc), bytes, BYTES, (b"aa", b"a'"))
    yield Kind(codecs.raw(width_bytes=2, desc=desc), bytes, (b"\x00'", b"ab", b"\xff\xff"), (b"a",))
    yield Kind(named("ordered.blob", desc=desc), bytes, BYTES, (b"aa",))
    yield _times(codecs.millis(desc=desc))
    yield _times(codecs.micros(desc=desc))
    yield _times(codecs.seconds(width_bytes=4, desc=desc))
    yield _times(codecs.strftime("%Y%m%d", desc=desc))
    nanos = (b"\x80" + bytes(7) + (999).to_bytes(4, "big"),)
    turned_nanos = tuple(n.translate(mirrored) for n in nanos)
    yield _times(named("phoenix.timestamp", desc=desc), *(turned_nanos if desc else nanos))
    days = (date(1969, 12, 31), date(1970, 1, 1), date(2024, 2, 29))
    yield Kind(codecs.date_(desc=desc), date, days, (date(1970, 1, 2),))
    hours = (time(0), time(0, 39), time(23, 59))
    yield Kind(codecs.minute_of_day(desc=desc), time, hours, (time(0, 39, 1),))
    spans = tuple(timedelta(microseconds=us) for us in (-1, 0, 39))
    yield Kind(codecs.timedelta_(desc=desc), timedelta, spans, (timedelta(days=1),))
    yield Kind(codecs.uuid(desc=desc), UUID, (UUID(int=0), UUID(int=39), UUID(int=2**128 - 1)))
    yield Kind(codecs.enum(Level, desc=desc), Level, tuple(Level))
    upper = b"R".translate(mirrored) if desc else b"R"
    yield Kind(codecs.enum(Colour, desc=desc), Colour, tuple(Colour), (), (upper,), is_sorted=False)
    yield Kind(codecs.code({1: b"A", 2: b"'"}, desc=desc), int, (1, 2), (3,))


KINDS = (
    *_kinds(desc=False),
    *_kinds(desc=True),
    Kind(codecs.json(list[int]), list, ([], [1]), ([2],), (b'{"v":1, "d":[1]}',), is_sorted=False),
)


class Declared:
    """A model of columns `c0`, `c1`, …, a counter, and one column that every row has."""

    def __init__(self, columns: Sequence[tuple[Kind, Mode, str]], table: str = "rows") -> None:
        """Declare a column of each kind, mode and family ("d" or "e")."""
        families = {"d": Family(), "e": Family()}
        body: dict[str, Any] = {"__module__": __name__, **families}
        annotations: dict[str, Any] = {"k": Key[int], "there": Mapped[bool], "hits": Counter}
        body["k"] = key(codecs.uint32())
        body["there"] = column(families["d"], default=True)
        body["hits"] = counter(families["e"])
        self.kinds: dict[str, Kind] = {}
        for number, (kind, mode, family) in enumerate(columns):
            name = f"c{number}"
            self.kinds[name] = kind
            annotations[name] = Mapped[_type(kind, mode)]  # type: ignore[misc]  # a type at run time
            body[name] = column(families[family], codec=kind.codec, **_options(kind, mode))
        self.kinds["hits"] = Kind(codecs.get("bytes.int64"), int, (-1, 0, 5), (1, 2**63))
        body["__annotations__"] = annotations
        self.model: type[Model] = types.new_class(
            "Wide", (Model,), {"table": table}, lambda space: space.update(body)
        )
        self.shown = [(kind, mode, family) for kind, mode, family in columns]

    def __repr__(self) -> str:
        return f"Declared({self.shown})"


def _type(kind: Kind, mode: Mode) -> Any:
    return kind.python_type | None if mode == "nullable" else kind.python_type


def _options(kind: Kind, mode: Mode) -> dict[str, Any]:
    if mode == "nullable":
        return {"default": None}
    if mode == "default" and isinstance(kind.values[0], Hashable):  # a list is no default
        return {"default": kind.values[0]}
    return {} if mode == "required" else {"default_factory": lambda: kind.values[-1]}


@st.composite
def models(draw: st.DrawFn) -> Declared:
    """Draw a model of one to four columns."""
    columns = st.tuples(st.sampled_from(KINDS), st.sampled_from(MODES), st.sampled_from("de"))
    return Declared(draw(st.lists(columns, min_size=1, max_size=4)))


def cells(declared: Declared) -> st.SearchStrategy[dict[bytes, bytes]]:
    """Return the cells of one row."""
    schema: TableSchema = declared.model.__schema__
    optional = {
        schema.column_by_name[name].column: st.sampled_from(
            (*map(kind.codec.encode, kind.values), *kind.cells)
        )
        for name, kind in declared.kinds.items()
    }
    there = schema.column_by_name["there"].column
    return st.fixed_dictionaries({there: st.just(b"\x01")}, optional=optional)


@st.composite
def conditions(draw: st.DrawFn, declared: Declared, depth: int = 2) -> Condition:
    """Draw a condition on the columns, or on the key."""
    shape = draw(st.sampled_from((*["leaf"] * 5, "and", "or", "not"))) if depth else "leaf"
    if shape == "not":
        return ~draw(conditions(declared, depth - 1))
    if shape in {"and", "or"}:
        one, other = (draw(conditions(declared, depth - 1)) for _ in range(2))
        return one & other if shape == "and" else one | other
    return draw(_leaves(declared, draw(st.sampled_from(("k", *[*declared.kinds] * 3)))))


@st.composite
def _leaves(draw: st.DrawFn, declared: Declared, name: str) -> Condition:
    field: Expr[Any] = declared.model.__schema__.fields[name]
    kind = declared.kinds.get(name) or Kind(codecs.uint32(), int, (0, 1, 2, 3))
    some = st.sampled_from(kind.values)
    values = st.one_of(some, some, st.sampled_from((None, *kind.foreign)))
    if kind.python_type is Decimal or isinstance(kind.codec, type(codecs.enum(Level))):
        values = values.filter(lambda value: value is None or kind.codec.compares(value))
    shape = draw(st.sampled_from(("==", "!=", "<", "<=", ">", ">=", "between", "in", "^")))
    if shape == "in":
        return field.in_(draw(st.lists(values, max_size=4)))
    if shape == "^" and kind.python_type in (str, bytes):
        return field.startswith(draw(values.filter(lambda value: value is not None)))
    if shape == "^" or not kind.is_sorted:
        shape = draw(st.sampled_from(("==", "!=")))
    if shape == "between":
        return field.between(draw(values), draw(values))
    return Comparison(field, shape, draw(values))  # type: ignore[arg-type]  # one of Operator


@dataclass(frozen=True)
class Outcome:
    """What a filter let through, and what it should have.

    Attributes:
        pushed: The filter and what it leaves.
        passing: The keys of the rows that came through.
        matching: Those of the rows that fulfil all conditions.
        checked: Those that came through and fulfil what the filter leaves.
    """

    pushed: PushDown
    passing: list[bytes]
    matching: list[bytes]
    checked: list[bytes]

    def check(self) -> None:
        """Compare: no right row is dropped, and what is decided is decided rightly."""
        assert set(self.matching) <= set(self.passing)
        assert self.checked == self.matching
        if not self.pushed.remaining:
            assert self.passing == self.matching


def put_rows(gateway: Gateway, table: str, rows: Sequence[Mapping[bytes, bytes]]) -> None:
    """Put the cells of rows 0, 1, 2, …"""
    puts = [tuple(Put(name, value) for name, value in row.items()) for row in rows]
    mutations = (RowMutation(n.to_bytes(4, "big"), put) for n, put in enumerate(puts))
    gateway.execute(MutateRows(table, tuple(mutations)))


def outcome(
    gateway: Gateway,
    declared: Declared,
    table: str,
    asked: Sequence[Condition],
    *,
    reverse: bool,
    known: Sequence[Row] | None = None,
) -> Outcome:
    """Scan with the filter for the conditions, and compare with a check of every row."""
    schema: TableSchema = declared.model.__schema__
    every = known or scan(gateway, Scan(table, columns=schema.family_names))
    pushed = push_down(schema, asked, reverse=reverse)
    passing: list[Row] = []
    if not pushed.is_empty:
        text = None if pushed.filter is None else bytes(pushed.filter)
        # Not up to the table's end: a reverse range that has one is read a row too far.
        key_range = KeyRange(stop=b"\xff")
        passing = scan(gateway, Scan(table, key_range, schema.family_names, text, reverse))
    passing.sort(key=lambda row: row.key)
    return Outcome(
        pushed=pushed,
        passing=[row.key for row in passing],
        matching=[row.key for row in every if _holds(declared, asked, row)],
        checked=[row.key for row in passing if _holds(declared, pushed.remaining, row)],
    )


def _holds(declared: Declared, asked: Sequence[Condition], row: Row) -> bool:
    check = compile_match(declared.model.__schema__, asked)
    return check is None or check(declared.model.__mapping__.hydrate(row).__dict__)


def scan(gateway: Gateway, wanted: Scan) -> list[Row]:
    """Return all rows of a scan."""
    scanner = gateway.execute(OpenScanner(wanted))
    found: list[Row] = []
    while rows := gateway.execute(FetchRows(scanner, 1000)):
        found += rows
    gateway.execute(CloseScanner(scanner))
    return found
