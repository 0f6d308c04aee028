"""Mutations of cells become mutations of the rows that hold them, with all they say."""

from __future__ import annotations

from hbase_orm.ops import Delete, Put, RowMutation
from tests.support.time_series import Point

SCHEMA = Point.__schema__


def test_cells_of_one_row_with_unlike_ttls_stay_apart() -> None:
    mutations = [
        RowMutation(b"row\x00\x01", (Put(b"t:", b"a", 5),), ttl_ms=1000),
        RowMutation(b"row\x00\x02", (Put(b"t:", b"b"),)),
        RowMutation(b"row\x00\x03", (Put(b"t:", b"c"),), ttl_ms=1000),
    ]

    assert SCHEMA.storage.mutations(mutations) == [
        RowMutation(b"row", (Put(b"t:\x00\x01", b"a", 5), Put(b"t:\x00\x03", b"c")), ttl_ms=1000),
        RowMutation(b"row", (Put(b"t:\x00\x02", b"b"),)),
    ]


def test_a_delete_keeps_its_timestamp() -> None:
    mutations = [
        RowMutation(b"row\x00\x01", deletes=(Delete(b"t", 7),)),
        RowMutation(b"row\x00\x02", deletes=(Delete(b"t"),)),
    ]

    assert SCHEMA.storage.mutations(mutations) == [
        RowMutation(b"row", deletes=(Delete(b"t:\x00\x01", 7), Delete(b"t:\x00\x02")))
    ]
