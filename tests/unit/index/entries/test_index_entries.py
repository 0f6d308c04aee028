"""Index entries in bytes: literal entry keys, and the way back to the row."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hbase_orm import Counter, Family, Index, Key, Mapped, Model, codecs, column, counter, key
from hbase_orm.errors import CorruptRowError, RowKeyError
from hbase_orm.index.entries.index_entries import base_key_of, guarded_table, index_target
from hbase_orm.index.entries.targets import Entry
from hbase_orm.schema import IndexSchema

ROW = bytes.fromhex("610007")  # host a, n 7
AT = datetime(2014, 5, 13, 16, 53, 20, tzinfo=UTC)


class Reading(Model, table="ns:readings"):
    d = Family()
    host: Key[str] = key(codecs.text(separator=b"\x00"))
    n: Key[int] = key(codecs.uint8())
    value: Mapped[int] = column(d, "v", codec=codecs.uint8())
    unit: Mapped[str | None] = column(d, "u", default=None)
    at: Mapped[datetime | None] = column(d, codec=codecs.millis(), default=None)
    hits: Counter = counter(d)
    single = Index(value)
    falling = Index(value.desc())
    texts = Index(unit, value)
    mixed = Index(unit.desc(), at.desc())
    with_key = Index(unit, n.desc())
    key_only = Index(n)


class Marked(Model, table="marked"):
    d = Family()
    n: Key[int] = key(codecs.uint8())
    unit: Mapped[str | None] = column(d, default=None)
    by_unit = Index(unit)


SCHEMA = Reading.__schema__
# 32,767 less what the catalog adds to find the region: the table's name and 16 bytes.
LONGEST = 32_731
INDEXES = {index.name: index for index in SCHEMA.indexes}
CELLS = {
    b"d:v": b"\x09",
    b"d:u": b"m\x00s",
    b"d:at": codecs.millis().encode(AT),
}


def entry_keys(index: IndexSchema, cells: dict[bytes, bytes], row: bytes = ROW) -> list[str]:
    return [made.hex() for made in index_target(SCHEMA, index).entry_keys(row, cells)]


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("single", "09610007"),
        ("falling", "f6610007"),
        ("texts", "6d00ff73000109610007"),
        ("mixed", "92ff008cfffe7ffffeba097f4fff610007"),
        ("with_key", "6d00ff730001f8610007"),
        ("key_only", "07610007"),
    ],
)
def test_a_row_has_this_entry(name: str, entry: str) -> None:
    # A descending time inverts every bit of the ascending one in HBase's own Long form.
    assert entry_keys(INDEXES[name], CELLS) == [entry]


@pytest.mark.parametrize("name", sorted(INDEXES))
def test_an_entry_leads_back_to_its_row(name: str) -> None:
    (entry,) = entry_keys(INDEXES[name], CELLS)

    assert base_key_of(INDEXES[name])(bytes.fromhex(entry)) == ROW


@pytest.mark.parametrize(
    ("name", "absent"), [("texts", b"d:u"), ("texts", b"d:v"), ("mixed", b"d:at")]
)
def test_a_row_with_a_none_has_no_entry(name: str, absent: bytes) -> None:
    cells = {column: value for column, value in CELLS.items() if column != absent}

    assert entry_keys(INDEXES[name], cells) == []


def test_an_index_derives_from_its_columns_alone() -> None:
    target = index_target(SCHEMA, INDEXES["with_key"])

    assert (target.name, target.table) == ("with_key", "ns:readings_ix_with_key")
    assert target.columns == {b"d:u"}


def test_an_entry_that_is_too_long_is_refused() -> None:
    with pytest.raises(RowKeyError) as caught:
        entry_keys(INDEXES["texts"], {**CELLS, b"d:u": b"x" * 32_765})

    assert (caught.value.index, caught.value.length_bytes) == ("texts", 32_765 + 2 + 1 + 3)
    assert caught.value.limit_bytes == LONGEST


def test_the_longest_entry_is_made() -> None:
    (entry,) = entry_keys(INDEXES["texts"], {**CELLS, b"d:u": b"x" * (LONGEST - 6)})

    assert len(bytes.fromhex(entry)) == LONGEST


def test_a_stored_value_that_does_not_decode_makes_no_entry() -> None:
    with pytest.raises(CorruptRowError):
        entry_keys(INDEXES["single"], {**CELLS, b"d:v": b"too long"})


def test_an_entry_too_short_for_its_parts_leads_nowhere() -> None:
    with pytest.raises(CorruptRowError):
        base_key_of(INDEXES["texts"])(b"m\x00s")


def test_the_guarded_write_is_told_of_every_column() -> None:
    target = guarded_table(SCHEMA)

    assert (target.table, target.families, target.expires) == ("ns:readings", (b"d",), False)
    assert (target.anchor, target.marker) == (b"d:v", None)
    assert target.counters == {b"d:hits"}
    assert target.columns == {b"d:v", b"d:u", b"d:at"}
    assert Entry("ns:readings_ix_single", b"\x09" + ROW) in target.entries(ROW, CELLS)
    assert len(target.entries(ROW, CELLS)) == len(INDEXES)


def test_a_model_without_a_required_column_has_a_marker() -> None:
    target = guarded_table(Marked.__schema__)

    assert (target.anchor, target.marker) == (None, b"d:_0")


@pytest.mark.parametrize(("options", "expires"), [({}, True), ({"min_versions": 1}, False)])
def test_a_family_with_a_time_to_live_expires_unless_a_version_is_kept(
    options: dict[str, Any],
    expires: bool,  # noqa: FBT001 - of the table
) -> None:
    class Expiring(Model, table="expiring"):
        d = Family(ttl=timedelta(days=1), **options)
        e = Family()
        n: Key[int] = key(codecs.uint8())
        v: Mapped[int] = column(d, codec=codecs.uint8())
        hits: Counter = counter(d)
        misses: Counter = counter(e)
        by_v = Index(v)

    target = guarded_table(Expiring.__schema__)
    assert target.expires is expires
    assert target.counter_ttls_s == ({b"d:hits": 86_400} if expires else {})
