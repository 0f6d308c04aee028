"""Where the table of an index is split: by its salt, as declared, or by its first value."""

from __future__ import annotations

from enum import Enum
from typing import Any
from uuid import UUID

import pytest

from hbase_orm import Family, Index, Key, Mapped, Model, codecs, column, key
from hbase_orm.errors import SchemaError

SIXTEENTHS = tuple(bytes([number]) for number in range(16, 256, 16))


class Status(Enum):
    NEW = "new"
    PAID = "paid"


class Row(Model, abstract=True):
    d = Family()
    number: Key[int] = key(codecs.digits(2))
    token: Mapped[UUID] = column(d)
    parent: Mapped[UUID | None] = column(d, default=None)
    digest: Mapped[bytes] = column(d, codec=codecs.raw(width_bytes=20))
    blob: Mapped[bytes] = column(d)
    text: Mapped[str] = column(d)
    size: Mapped[int] = column(d, codec=codecs.uint8())
    status: Mapped[Status] = column(d, codec=codecs.code({Status.NEW: b"n", Status.PAID: b"p"}))


def split_keys(*components: Any, **options: Any) -> tuple[bytes, ...]:
    class Declared(Row, table="rows"):
        by_what = Index(*components, **options)

    (index,) = Declared.__schema__.indexes
    return index.split_keys


def leads(keys: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """Return the first byte of each split key, whose other bytes must be the least ones."""
    assert all(not key[1:].strip(b"\x00") for key in keys)
    return tuple(key[:1] for key in keys)


def test_a_salted_index_is_split_at_every_bucket() -> None:
    assert split_keys(Row.text, salt=3) == (b"\x01", b"\x02")
    assert len(split_keys(Row.token, salt=256)) == 255


@pytest.mark.parametrize("of", [Row.token, Row.digest])
def test_values_that_are_spread_evenly_get_16_regions(of: Any) -> None:
    assert leads(split_keys(of)) == SIXTEENTHS
    assert leads(split_keys(of, unique=True)) == SIXTEENTHS
    assert leads(split_keys(of, Row.text)) == SIXTEENTHS


def test_in_descending_order_they_get_as_many() -> None:
    assert len(split_keys(Row.token.desc())) == 15


@pytest.mark.parametrize("of", [Row.blob, Row.text, Row.size, Row.status, Row.number])
def test_other_values_get_one_region(of: Any) -> None:
    assert split_keys(of) == ()


def test_the_marker_of_a_value_that_may_be_none_is_in_front() -> None:
    ascending = split_keys(Row.parent, nulls=True)
    descending = split_keys(Row.parent.desc(), nulls=True)

    assert leads(tuple(key[1:] for key in ascending)) == SIXTEENTHS
    assert {key[:1] for key in ascending} == {b"\x01"}
    assert {key[:1] for key in descending} == {b"\xfe"}


def test_declared_split_keys_are_used() -> None:
    assert split_keys(Row.text, splits=[b"g", b"p"]) == (b"g", b"p")
    assert split_keys(Row.token, splits=[]) == ()


def test_a_number_of_regions_divides_the_possible_beginnings() -> None:
    assert split_keys(Row.size, splits=4) == (b"\x4000", b"\x8000", b"\xc000")
    assert split_keys(Row.token, splits=1) == ()
    assert len(split_keys(Row.parent, nulls=True, splits=5)) == 4


def test_the_row_key_behind_the_values_divides_them_further() -> None:
    assert split_keys(Row.status, splits=4) == (b"n50", b"p00", b"p50")
    with pytest.raises(SchemaError, match="larger than the number of keys"):
        split_keys(Row.status, unique=True, splits=4)


def test_a_number_of_regions_needs_known_beginnings() -> None:
    with pytest.raises(SchemaError) as caught:
        split_keys(Row.text, splits=4)

    assert (caught.value.model, caught.value.index) == ("Declared", "by_what")
    assert caught.value.splits == 4
    assert "give the split keys" in caught.value.fix


@pytest.mark.parametrize(
    ("splits", "reason"),
    [
        ([b"g", b"p", b"g"], "distinct"),
        ([b"", b"g"], "not empty"),
        ([b"p", b"g"], "ascending order"),
    ],
)
def test_split_keys_that_are_no_borders_are_refused(splits: list[bytes], reason: str) -> None:
    with pytest.raises(SchemaError, match=reason) as caught:
        split_keys(Row.text, splits=splits)

    assert (caught.value.model, caught.value.index) == ("Declared", "by_what")
    assert caught.value.fix


@pytest.mark.parametrize("splits", [0, True, "4", b"ab", ["g"], None])
def test_other_splits_are_refused(splits: Any) -> None:
    with pytest.raises(SchemaError) as caught:
        split_keys(Row.text, splits=splits)

    assert (caught.value.index, caught.value.option) == ("by_what", "splits")


def test_a_salted_index_has_no_other_splits() -> None:
    with pytest.raises(SchemaError, match="salt cannot also have splits") as caught:
        split_keys(Row.text, salt=4, splits=[b"g"])

    assert "splits=[b'g']" in caught.value.declared
