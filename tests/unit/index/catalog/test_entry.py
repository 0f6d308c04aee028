"""Entries of the catalog as JSON: which programs can decode them."""

from __future__ import annotations

import json
from itertools import product

import pytest

from hbase_orm import Family, Index, Key, Mapped, Model, column, connect, key
from hbase_orm.errors import CorruptRowError
from hbase_orm.index.catalog.catalog import CATALOG_TABLE
from hbase_orm.index.catalog.entry import (
    MOVING_FORMAT_VERSION,
    RECORDED_FORMAT_VERSION,
    CatalogEntry,
    CatalogIndex,
    TableState,
)
from hbase_orm.ops import GetRows
from tests.support.thrift1_only import engine_without_thrift2

UNRECORDED = {False: 2, True: 3}
"""The version of an entry without a record, by whether the table has no guards."""


class Person(Model, table="people"):
    """Guarded, by an index of one required column: Thrift1 alone can write it too."""

    d = Family()
    name: Key[str] = key()
    city: Mapped[str] = column(d)
    by_city = Index(city)


@pytest.mark.parametrize(("is_lww", "is_recorded"), list(product((False, True), repeat=2)))
def test_an_entry_decodes_to_what_was_encoded(*, is_lww: bool, is_recorded: bool) -> None:
    indexes = {"by_city": CatalogIndex("a | b", table="other", epoch=2)}
    entry = CatalogEntry(3, TableState.READABLE, None, indexes, is_lww, is_recorded)

    stored = entry.encode()

    assert CatalogEntry.decode(stored) == entry
    wanted = RECORDED_FORMAT_VERSION if is_recorded else UNRECORDED[is_lww]
    assert json.loads(stored)["version"] == wanted


def test_an_entry_of_a_newer_library_is_refused() -> None:
    content = json.loads(CatalogEntry(1, TableState.NEW, is_recorded=True).encode())
    newer = json.dumps(content | {"version": MOVING_FORMAT_VERSION + 1}).encode()

    with pytest.raises(CorruptRowError, match="use a version of hbase_orm that is not older"):
        CatalogEntry.decode(newer)


@pytest.mark.parametrize("has_thrift2", [True, False])
def test_tables_with_a_record_have_entries_that_earlier_libraries_refuse(
    *,
    has_thrift2: bool,
) -> None:
    engine = connect("memory://") if has_thrift2 else engine_without_thrift2()[0]
    engine.create_tables(Person)

    (row,) = engine._runtime.gateway.execute(GetRows(CATALOG_TABLE, (b"people",)))

    assert row is not None
    content = json.loads(row.cells[b"d:entry"].value)
    assert (content["version"], content["lww"]) == (RECORDED_FORMAT_VERSION, not has_thrift2)
    assert b"d:record" in row.cells
