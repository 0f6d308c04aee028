"""Where a new table is cut, by what its row keys can begin with."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from hbase_orm import (
    Bucket,
    Computed,
    Digest,
    Family,
    HashPrefix,
    Key,
    Mapped,
    Model,
    RandomSalt,
    Salt,
    Substitute,
    Table,
    codecs,
    column,
    key,
    rowkey,
)
from hbase_orm.errors import SchemaError
from hbase_orm.rowkey import KeySource


class Row(Model, abstract=True):
    d = Family()
    user: Key[str] = key(family=d)
    at: Key[datetime] = key(codecs.millis())
    value: Mapped[int] = column(d)


def cut(*components: Any, splits: Any = "auto", fields: Any = (Row.user, Row.at)) -> Any:
    parts: tuple[KeySource, ...] = (*components, *fields)

    class Cut(Row, table=Table("cut", splits=splits)):
        __rowkey__ = rowkey(*parts)

    return Cut.__schema__.split_keys


def twelve(at: datetime) -> int:
    return at.month


@pytest.mark.parametrize(
    ("front", "expected"),
    [
        (Salt(4), [b"\x01", b"\x02", b"\x03"]),
        (Salt(12, of=Row.user, form="text"), [b"%02d" % number for number in range(1, 12)]),
        (RandomSalt(3), [b"\x01", b"\x02"]),
        (Bucket(3, of=Row.at, form=lambda number: b"b%d" % number), [b"b1", b"b2"]),
        (HashPrefix(1, of=Row.user), [bytes((number,)) for number in range(16, 256, 16)]),
        (HashPrefix(2, of=Row.user, form="hex"), [b"%x0" % number for number in range(1, 16)]),
        (
            Computed(twelve, of=Row.at, codec=codecs.digits(2), values=range(1, 13)),
            [b"%02d" % number for number in range(2, 13)],
        ),
        (Computed(twelve, of=Row.at, codec=codecs.digits(2)), []),
    ],
)
def test_a_part_that_spreads_keys_cuts_the_table_by_itself(
    front: KeySource, expected: list[bytes]
) -> None:
    assert list(cut(front)) == expected


def test_a_digest_in_front_gives_16_regions() -> None:
    keys = cut(Digest(of=Row.user), fields=(Row.at,))

    assert len(keys) == 15
    assert keys[7] == b"\x80" + b"\x00" * 15


def test_many_computed_values_share_256_regions() -> None:
    front = Computed(twelve, of=Row.at, codec=codecs.uint16(), values=range(1024))

    keys = cut(front)

    assert len(keys) == 255
    assert keys[:2] == (b"\x00\x04", b"\x00\x08")


@pytest.mark.parametrize("fields", [(Row.user, Row.at), (Row.at, Row.user)])
def test_keys_of_fields_alone_are_not_cut(fields: Any) -> None:
    assert cut(fields=fields) == ()


def test_a_substitute_in_front_is_not_cut() -> None:
    assert cut(Substitute(of=Row.user, dictionary="names"), fields=(Row.at,)) == ()


def test_a_number_of_regions_shares_what_keys_can_begin_with() -> None:
    class Numbered(Model, table=Table("numbered", splits=10)):
        d = Family()
        number: Key[int] = key(codecs.digits(4, digit_reversed=True))
        value: Mapped[int] = column(d)

    assert Numbered.__schema__.split_keys == tuple(b"%d000" % digit for digit in range(1, 10))
    assert cut(Salt(4), splits=2) == (b"\x02",)
    assert cut(Salt(4), splits=1) == ()


def test_more_regions_than_beginnings_are_refused() -> None:
    with pytest.raises(SchemaError) as caught:
        cut(Salt(4), splits=9)

    assert caught.value.model == "Cut"


def test_a_number_of_regions_needs_keys_of_known_beginnings() -> None:
    with pytest.raises(
        SchemaError,
        match="the library cannot compute split keys: the model does not show what bytes the row keys "
        "begin with",
    ) as caught:
        cut(splits=9)

    assert caught.value.model == "Cut"


@pytest.mark.parametrize("splits", [0, -1, True, 1.5, b"a", "12"])
def test_other_splits_are_refused(splits: Any) -> None:
    with pytest.raises(SchemaError, match="option is out of range"):
        Table("cut", splits=splits)
