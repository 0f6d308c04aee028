"""Reads by a program that lacks codes of an index's own codec: no row is lost, none is wrong."""

from __future__ import annotations

from collections.abc import Mapping
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
    func,
    key,
    select,
)
from hbase_orm.errors import CorruptRowError, UnboundedScanError
from hbase_orm.index.entries.targets import ENTRY_COLUMN
from hbase_orm.ops import MutateRows, Put, RowMutation, Scan, ask, fetch_once
from tests.support.recording import gateway_of, through

Codes = Mapping[Any, bytes]

FEW: Codes = {"red": b"3"}
MORE: Codes = {"blue": b"1", "green": b"2", "red": b"3"}


class Shade(Enum):
    RED = "r"


class MoreShades(Enum):
    RED = "r"
    BLUE = "b"


def indexed(codes: Codes, *, kind: Any = str, of: Any = None, **options: Any) -> Any:
    """Return a model with indexes that have these codes of their own, alone and after a city."""
    d = Family()
    city, shade, plate = column(d), column(d), column(d, default="")
    if "covering" in options:
        options["include"] = [plate]
    coded = (shade if of is None else of(shade), codecs.code(codes))
    body = {
        "no": key(),
        "d": d,
        "city": city,
        "shade": shade,
        "plate": plate,
        "by_shade": Index(coded),
        "by_city": Index(city, coded, **options),
    }
    hints = {"no": Key[str], "city": Mapped[str], "shade": Mapped[kind], "plate": Mapped[str]}
    return make(hints, body)


def of_items(codes: Codes) -> Any:
    """Return a model with an index of the items of a list, which have codes of their own."""
    d = Family()
    city, shades = column(d), column(d, codec=codecs.json(list[str]))
    by_shades = Index(city, (func.each(shades), codecs.code(codes)))
    hints = {"no": Key[str], "city": Mapped[str], "shades": Mapped[list[str]]}
    body = {"no": key(), "d": d, "city": city, "shades": shades, "by_shades": by_shades}
    return make(hints, body)


def make(hints: Mapping[str, Any], body: Mapping[str, Any]) -> Any:
    def fill(namespace: dict[str, Any]) -> None:
        namespace.update(body, __annotations__=dict(hints), __module__=__name__)

    return new_class("Car", (Model,), {"table": "cars"}, fill)


def beside(engine: Engine) -> Engine:
    return through(gateway_of(engine), engine)


def filled(older: Any, newer: Any, *rows: Mapping[str, Any]) -> Engine:
    """Return an engine of rows that a newer program has written."""
    engine = connect("memory://")
    engine.create_tables(older)
    beside(engine).create_tables(newer)
    with beside(engine).session() as session:
        session.add_all([newer(**row) for row in rows])
    return engine


def cars(older: Any, newer: Any) -> Engine:
    shades = ("blue", "red", "green")
    rows = [{"no": f"{n}", "city": "Oslo", "shade": s} for n, s in enumerate(shades)]
    return filled(older, newer, *rows)


def entries(engine: Engine, table: str) -> list[bytes]:
    return [row.key for row in engine._runtime.run(fetch_once(Scan(table, caching_rows=100)))]


def put_entry(engine: Engine, table: str, entry: bytes) -> None:
    put = RowMutation(entry, puts=(Put(ENTRY_COLUMN, b"", 1),))
    engine._runtime.run(ask(MutateRows(table, (put,))))


# --- conditions on the coded value -----------------------------------------------------------------

CONDITIONS: Mapping[str, tuple[Any, list[str]]] = {
    "equal": (lambda car: car.shade == "blue", ["0"]),
    "one of": (lambda car: car.shade.in_(["red", "blue"]), ["0", "1"]),
    "range": (lambda car: car.shade >= "green", ["1", "2"]),
    "between": (lambda car: car.shade.between("a", "h"), ["0", "2"]),
    "prefix": (lambda car: car.shade.startswith("gr"), ["2"]),
    "function": (lambda car: func.lower(car.shade) == "blue", ["0"]),
}


@pytest.mark.parametrize("of", [None, func.lower], ids=["field", "function"])
@pytest.mark.parametrize("name", CONDITIONS)
def test_a_value_without_a_code_here_is_not_looked_for_in_the_index(name: str, of: Any) -> None:
    older, newer = indexed(FEW, of=of), indexed(MORE, of=of)
    condition, found = CONDITIONS[name][0](older), CONDITIONS[name][1]
    engine = cars(older, newer)
    session = beside(engine).session()

    with pytest.raises(UnboundedScanError):
        session.all(select(older.no).where(condition))
    with pytest.raises(UnboundedScanError):
        session.exists(select(older).where(condition))
    with pytest.raises(UnboundedScanError):
        session.delete_where(select(older).where(condition))
    statement = select(older.no).where(condition).allow_full_scan()

    assert session.all(statement) == found
    assert sorted(session.all(statement.using(older.by_shade))) == found
    assert sorted(session.all(statement.where(older.city == "Oslo"))) == found
    assert session.count(select(older).where(condition).allow_full_scan()) == len(found)
    assert "are empty" not in str(session.explain(statement))


def test_a_value_with_a_code_is_looked_for_in_the_index_also_after_one_without() -> None:
    older, newer = indexed(FEW), indexed(MORE)
    session = beside(cars(older, newer)).session()

    for shade, found in (("red", ["1"]), ("blue", ["0"]), ("red", ["1"])):
        statement = select(older.no).where(older.shade == shade)
        assert session.all(statement.allow_full_scan()) == found
    assert "by_shade" in str(session.explain(select(older.no).where(older.shade == "red")))


def test_the_other_parts_of_the_index_are_used_for_a_value_without_a_code() -> None:
    older, newer = indexed(FEW), indexed(MORE)
    session = beside(cars(older, newer)).session()
    statement = select(older.no).where(older.city == "Oslo", older.shade == "blue")

    assert session.all(statement) == ["0"]
    assert "by_city" in str(session.explain(statement))


def test_an_item_without_a_code_here_is_not_looked_for_in_the_index() -> None:
    older, newer = of_items(FEW), of_items(MORE)
    engine = filled(older, newer, {"no": "1", "city": "Oslo", "shades": ["red", "blue"]})
    session = beside(engine).session()

    for item in ("red", "blue"):
        statement = select(older.no).where(older.city == "Oslo", older.shades.contains(item))
        assert session.all(statement) == ["1"]
    assert session.all(select(older.no).where(older.shades.contains("blue")).allow_full_scan())


# --- entries that cannot be computed here ----------------------------------------------------------


PAIRS: Mapping[str, tuple[Any, Any, Any]] = {
    "text": (indexed(FEW), indexed(MORE), "blue"),
    "function": (indexed(FEW, of=func.lower), indexed(MORE, of=func.lower), "Blue"),
    "salted": (indexed(FEW, salt=4), indexed(MORE, salt=4), "blue"),
    "covering": (indexed(FEW, covering=True), indexed(MORE, covering=True), "blue"),
    "enum": (
        indexed({Shade.RED: b"3"}, kind=Shade),
        indexed({MoreShades.RED: b"3", MoreShades.BLUE: b"1"}, kind=MoreShades),
        MoreShades.BLUE,
    ),
}


@pytest.mark.parametrize("kind", PAIRS)
def test_a_row_with_a_value_of_an_unknown_code_is_read_by_the_other_parts(kind: str) -> None:
    older, newer, value = PAIRS[kind]
    red = MoreShades.RED if kind == "enum" else "red"
    engine = filled(
        older,
        newer,
        {"no": "1", "city": "Oslo", "shade": value},
        {"no": "2", "city": "Oslo", "shade": red},
        {"no": "3", "city": "Rome", "shade": value},
    )
    before = entries(engine, "cars_ix_by_city")
    session = beside(engine).session()
    statement = select(older.no).where(older.city == "Oslo")

    assert "by_city" in str(session.explain(statement))
    assert sorted(session.all(statement)) == ["1", "2"]
    assert session.count(select(older).where(older.city == "Oslo")) == 2
    assert session.exists(select(older).where(older.city == "Rome"))
    assert entries(engine, "cars_ix_by_city") == before
    page = session.page(statement, size=1)
    paged = page.items
    while page.token is not None:
        page = session.page(statement, size=1, token=page.token)
        paged += page.items
    assert sorted(paged) == ["1", "2"]


@pytest.mark.parametrize(
    "stale",
    [b"Rome\x00\x0110", b"Oslo\x00\x0130", b"Oslo\x00\x011no row"],
    ids=["another city", "a known code", "another row"],
)
def test_an_entry_that_the_row_cannot_have_is_skipped(stale: bytes) -> None:
    older, newer = indexed(FEW), indexed(MORE)
    engine = filled(older, newer, {"no": "0", "city": "Oslo", "shade": "blue"})
    table = "cars_ix_by_city"
    put_entry(engine, table, stale)
    before = entries(engine, table)
    session = beside(engine).session()

    assert session.all(select(older.no).where(older.city == "Rome")) == []
    assert session.all(select(older.no).where(older.city == "Oslo")) == ["0"]
    assert session.all(select(older.no).where(older.shade == "red")) == []
    assert entries(engine, table) == before


def test_a_row_is_checked_if_a_stale_entry_of_an_unknown_code_is_read() -> None:
    older, newer = indexed(FEW), indexed({**MORE, "zebra": b"4"})
    engine = filled(older, newer, {"no": "0", "city": "Oslo", "shade": "zebra"})
    put_entry(engine, "cars_ix_by_shade", b"10")
    session = beside(engine).session()

    assert session.all(select(older.no).where(older.shade <= "red").using(older.by_shade)) == []
    assert session.count(select(older).where(older.shade <= "red").using(older.by_shade)) == 0


def test_items_of_unknown_codes_do_not_hide_a_row_or_repeat_it() -> None:
    older, newer = of_items(FEW), of_items(MORE)
    engine = filled(
        older,
        newer,
        {"no": "1", "city": "Oslo", "shades": ["green", "red", "blue"]},
        {"no": "2", "city": "Oslo", "shades": ["blue"]},
    )
    session = beside(engine).session()

    statement = select(older.no).where(older.city == "Oslo", func.each(older.shades) >= "a")
    assert sorted(session.all(statement.using(older.by_shades))) == ["1", "2"]


def test_the_advice_for_a_value_that_others_may_know_is_not_to_write_or_delete() -> None:
    older = indexed({Shade.RED: b"3"}, kind=Shade)
    newer = indexed({MoreShades.RED: b"3", MoreShades.BLUE: b"1"}, kind=MoreShades)
    engine = filled(older, newer, {"no": "1", "city": "Oslo", "shade": MoreShades.BLUE})

    report = beside(engine).verify_index(older, "by_city")
    assert [pair.finding.name for pair in report.pairs] == ["UNKNOWN", "UNKNOWN"]
    with pytest.raises(CorruptRowError) as caught:
        beside(engine).session().put_row(older, older.city.to("Rome"), no="1")
    assert "delete the row" not in str(caught.value)
