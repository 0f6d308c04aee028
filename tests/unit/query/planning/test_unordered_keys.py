"""Ranges of key fields whose bytes do not sort as their values, and order that an end must keep."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any

import pytest

from hbase_orm import (
    Engine,
    Family,
    Key,
    Mapped,
    Model,
    Table,
    codecs,
    column,
    connect,
    key,
    select,
)

COMPARISONS = [operator.lt, operator.le, operator.ge, operator.gt]
TEXTS = ("", "a", "ab", "b", "ba", "c")
BLOBS = (b"\xfe", b"\xfe\xff", b"\xff", b"\xff\x00")
NUMBERS = (-2, 0, 1, 7)


class Tag(StrEnum):
    A = "a"
    AB = "ab"
    B = "b"


class Backwards(Model, table=Table("backwards")):
    d = Family("d")

    name: Key[str] = key(codecs.text(digit_reversed=True))
    note: Mapped[str] = column(d, "n", default="")


class Blob(Model, table=Table("blobs")):
    d = Family("d")

    name: Key[bytes] = key(codecs.get("ordered.blob", desc=True))
    note: Mapped[str] = column(d, "n", default="")


class Amount(Model, table=Table("amounts")):
    d = Family("d")

    name: Key[int] = key(codecs.get("bytes.int64"))
    note: Mapped[str] = column(d, "n", default="")


class Tagged(Model, table=Table("tagged")):
    d = Family("d")

    name: Key[Tag] = key(codecs.enum(Tag, desc=True))
    number: Key[int] = key(codecs.uint8())
    note: Mapped[str] = column(d, "n", default="")


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    engine = connect("memory://")
    engine.create_tables(Backwards, Blob, Amount, Tagged)
    with engine.session() as session:
        session.add_all(Backwards(name=text) for text in TEXTS if text)
        session.add_all(Blob(name=blob) for blob in BLOBS)
        session.add_all(Amount(name=number) for number in NUMBERS)
        session.add_all(Tagged(name=tag, number=1) for tag in Tag)
        session.flush()
    yield engine
    engine.close()


@pytest.mark.parametrize("compare", COMPARISONS)
@pytest.mark.parametrize(
    ("model", "limit", "stored"),
    [
        *((Backwards, text, TEXTS[1:]) for text in TEXTS),
        *((Blob, blob, BLOBS) for blob in BLOBS),
        *((Amount, number, NUMBERS) for number in NUMBERS),
        *((Tagged, tag, tuple(Tag)) for tag in Tag),
    ],
)
def test_a_range_finds_what_lies_in_it(
    engine: Engine, compare: Callable[[Any, Any], Any], model: Any, limit: Any, stored: Any
) -> None:
    statement = select(model).where(compare(model.name, limit)).allow_full_scan()

    with engine.session() as session:
        found = {one.name for one in session.all(statement)}

    assert found == {one for one in stored if compare(one, limit)}


def test_a_beginning_is_found_in_text_stored_backwards(engine: Engine) -> None:
    statement = select(Backwards).where(Backwards.name.startswith("b")).allow_full_scan()

    with engine.session() as session:
        found = {one.name for one in session.all(statement)}

    assert found == {"b", "ba"}


def test_members_come_in_the_order_of_their_values(engine: Engine) -> None:
    with engine.session() as session:
        found = [one.name for one in session.all(select(Tagged).allow_full_scan())]

    assert found == [Tag.B, Tag.AB, Tag.A]
