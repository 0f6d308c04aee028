"""Any bytes as the key of a row in an index table lead to a row key, or are refused by name."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hbase_orm.execute.by_entries import covered_row, owner_of
from hbase_orm.index.entries.index_entries import base_key_of, index_target
from hbase_orm.index.entries.targets import ENTRY_COLUMN
from hbase_orm.index.protocol.covering import VERIFIED
from hbase_orm.index.upkeep.table_pages import with_base_keys
from hbase_orm.ops import Cell, Row
from tests.support.index_statements import Job

SCHEMA = Job.__schema__
INDEXES = pytest.mark.parametrize("index", SCHEMA.indexes, ids=lambda index: str(index.name))
FRAMED = st.lists(
    st.sampled_from([b"\x00", b"\x00\x01", b"\x00\xff", b"\xff", b"\x80", b"new", b"a"]), max_size=9
).map(b"".join)
KEYS = st.binary(max_size=40) | FRAMED


@INDEXES
@settings(max_examples=40)
@given(key=KEYS)
def test_any_key_leads_to_a_row_or_is_refused_by_name(index: Any, key: bytes) -> None:
    entry = Row(key, {ENTRY_COLUMN: Cell(b"", 1)})

    found, corrupt = with_base_keys(index_target(SCHEMA, index), base_key_of(index), [entry])

    assert all(key.endswith(owner) and owner for _, owner in found)
    for error in corrupt.values():
        assert (error.table, error.index, error.entry) == (index.table, index.name, key)


@INDEXES
@settings(max_examples=40)
@given(key=KEYS, flag=st.binary(max_size=3), copy=st.binary(max_size=10))
def test_any_entry_leads_to_a_row_or_none(index: Any, key: bytes, flag: bytes, copy: bytes) -> None:
    cells = {ENTRY_COLUMN: Cell(VERIFIED + flag, 1)}
    cells |= {b"d:" + column.column: Cell(copy, 1) for column in index.included}
    entry = Row(key, cells)

    owner = owner_of(index, index_target(SCHEMA, index))(entry)
    covered = covered_row(SCHEMA, index)(entry) if index.included else None

    assert owner is None or key.endswith(owner)
    assert covered is None or (covered.key and key.endswith(covered.key))
