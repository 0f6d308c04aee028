"""Index entries of values that an older program does not know: new members of enums, new codes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from enum import Enum
from types import new_class
from typing import Any

import pytest

from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    codecs,
    column,
    connect,
    key,
    select,
)
from hbase_orm.errors import CorruptRowError, SchemaDriftError
from hbase_orm.index.entries.targets import ENTRY_COLUMN
from hbase_orm.index.upkeep.compare import Finding
from hbase_orm.ops import MutateRows, Put, RowMutation, Scan, ask, fetch_once
from tests.support.recording import gateway_of, through


class Shade(Enum):
    RED = "r"


class MoreShades(Enum):
    RED = "r"
    BLUE = "b"


class Number(Enum):
    ONE = 1


class MoreNumbers(Enum):
    ONE = 1
    TWO = 2


def make(hints: Mapping[str, Any], body: Mapping[str, Any]) -> Any:
    def fill(namespace: dict[str, Any]) -> None:
        namespace.update(body, __annotations__=dict(hints), __module__=__name__)

    return new_class("Part", (Model,), {"table": "parts"}, fill)


def of_column(kind: Any, *, desc: bool = False, nulls: bool = False, **options: Any) -> Any:
    """Return a model with an index of an enum's column."""
    d = Family()
    city, shade = column(d), column(d)
    by_shade = Index(shade.desc() if desc else shade, nulls=nulls, **options)
    if options.get("covering"):
        by_shade = Index(shade, include=[city], covering=True)
    values: Any = kind | None if nulls else kind
    hints = {"no": Key[str], "city": Mapped[str], "shade": Mapped[values]}
    body = {"no": key(), "d": d, "city": city, "shade": shade, "by_shade": by_shade}
    return make(hints, body)


def of_codes(codes: Mapping[str, bytes], *, is_own: bool, covering: bool = False) -> Any:
    """Return a model with an index of a column of codes, or of texts that only it has codes of."""
    d = Family()
    codec = codecs.code(codes)
    city, shade = column(d), column(d) if is_own else column(d, codec=codec)
    of = (shade, codec) if is_own else shade
    by_shade = Index(of, include=[city], covering=True) if covering else Index(of)
    hints = {"no": Key[str], "city": Mapped[str], "shade": Mapped[str]}
    return make(hints, {"no": key(), "d": d, "city": city, "shade": shade, "by_shade": by_shade})


def of_key(kind: Any) -> Any:
    """Return a model with an index of an enum in the row key, which ends otherwise there."""
    d = Family()
    city, shade = column(d), key()
    hints = {"no": Key[str], "shade": Key[kind], "city": Mapped[str]}
    by_shade = Index(shade, city)
    return make(hints, {"no": key(), "shade": shade, "d": d, "city": city, "by_shade": by_shade})


ONE, TWO = {"a": b"1"}, {"a": b"1", "b": b"2"}
PAIRS: Mapping[str, tuple[Any, Any, Any]] = {
    "enum": (of_column(Shade), of_column(MoreShades), MoreShades.BLUE),
    "descending": (of_column(Shade, desc=True), of_column(MoreShades, desc=True), MoreShades.BLUE),
    "or none": (of_column(Shade, nulls=True), of_column(MoreShades, nulls=True), MoreShades.BLUE),
    "numbers": (of_column(Number), of_column(MoreNumbers), MoreNumbers.TWO),
    "unique": (
        of_column(Shade, unique=True),
        of_column(MoreShades, unique=True),
        MoreShades.BLUE,
    ),
    "covering": (
        of_column(Shade, covering=True),
        of_column(MoreShades, covering=True),
        MoreShades.BLUE,
    ),
    "codes": (of_codes(ONE, is_own=False), of_codes(TWO, is_own=False), "b"),
    "own codes": (of_codes(ONE, is_own=True), of_codes(TWO, is_own=True), "b"),
    "key": (of_key(Shade), of_key(MoreShades), MoreShades.BLUE),
}


def beside(engine: Engine) -> Engine:
    return through(gateway_of(engine), engine)


def entries(engine: Engine) -> dict[bytes, dict[bytes, bytes]]:
    rows = engine._runtime.run(fetch_once(Scan("parts_ix_by_shade", caching_rows=100)))
    return {row.key: {name: cell.value for name, cell in row.cells.items()} for row in rows}


def with_new_value(older: Any, newer: Any, value: Any) -> Engine:
    """Return an engine with one row, whose value only the newer model knows."""
    engine = connect("memory://")
    engine.create_tables(older)
    beside(engine).create_tables(newer)
    with beside(engine).session() as session:
        session.add(newer(no="1", city="Oslo", shade=value))
    return engine


@pytest.mark.parametrize("kind", PAIRS)
@pytest.mark.parametrize("recorded", ["older", "newer"])
def test_a_repair_by_an_older_program_keeps_entries_of_new_members(
    kind: str, recorded: str
) -> None:
    older, newer, value = PAIRS[kind]
    engine = connect("memory://")
    engine.create_tables(older)
    program = beside(engine)
    if recorded == "newer":
        program.create_tables(newer)
    with program.session() as session:
        session.add(newer(no="1", city="Oslo", shade=value))
    before = entries(engine)

    with suppress(SchemaDriftError):  # a model that lacks recorded codes repairs nothing
        beside(engine).verify_index(older, "by_shade", repair=True, min_age_ms=0)
        beside(engine).repair_indexes(older, min_age_ms=0)

    assert entries(engine) == before
    assert before


@pytest.mark.parametrize("kind", PAIRS)
def test_a_verification_by_an_older_program_does_not_call_new_entries_stale(kind: str) -> None:
    older, newer, value = PAIRS[kind]
    engine = with_new_value(older, newer, value)

    report = beside(engine).verify_index(older, "by_shade")

    assert report.stale == 0
    assert report.invalid == 0


@pytest.mark.parametrize("kind", ["enum", "covering", "codes", "unique"])
def test_a_delete_by_an_older_program_leaves_no_entry_that_queries_believe(kind: str) -> None:
    older, newer, value = PAIRS[kind]
    engine = with_new_value(older, newer, value)

    with beside(engine).session() as session:
        session.delete_row(older, no="1")

    with beside(engine).session() as session:
        assert session.all(select(newer.no, newer.city).where(newer.shade == value)) == []


def test_an_older_program_moves_the_covering_entry_of_a_new_member() -> None:
    older, newer, value = PAIRS["covering"]
    engine = with_new_value(older, newer, value)

    with beside(engine).session() as session:
        session.put_row(older, older.city.to("Rome"), no="1")

    statement = select(newer.no, newer.city).where(newer.shade == value)
    assert beside(engine).session().all(statement) == [("1", "Rome")]


def test_an_older_program_must_not_write_a_row_whose_verified_entry_it_cannot_compute() -> None:
    older = of_codes(ONE, is_own=True, covering=True)
    newer = of_codes(TWO, is_own=True, covering=True)
    engine = with_new_value(older, newer, "b")
    before = entries(engine)

    with pytest.raises(CorruptRowError, match="does not know the code"):
        beside(engine).session().delete_row(older, no="1")

    assert entries(engine) == before


def test_an_entry_of_a_new_member_that_its_row_has_no_more_is_repaired_by_an_older_program() -> (
    None
):
    older, newer, value = PAIRS["enum"]
    engine = with_new_value(older, newer, value)
    (good,) = entries(engine)
    stray = good.replace(b"b\x00\x01", b"c\x00\x01")
    put = RowMutation(stray, puts=(Put(ENTRY_COLUMN, b"", 1),))
    engine._runtime.run(ask(MutateRows("parts_ix_by_shade", (put,))))

    report = beside(engine).verify_index(older, "by_shade", repair=True, min_age_ms=0)

    assert report.entries[Finding.OLD] == 1
    assert list(entries(engine)) == [good]
