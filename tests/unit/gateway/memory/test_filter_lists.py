"""What the filters of the simulated server pass over when one part of them is done."""

from __future__ import annotations

from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.ops import (
    CreateTable,
    FamilyDescriptor,
    FetchRows,
    MutateRows,
    OpenScanner,
    Put,
    RowMutation,
    Scan,
    TableDescriptor,
)

CELLS = {b"r1": (b"go", b"end", b"go"), b"r2": (b"go", b"go", b"go")}
COLUMNS = (b"d:a", b"d:b", b"d:c")


def rows(sent: bytes) -> dict[bytes, list[bytes]]:
    """Return the columns that a filter lets through, by row."""
    gateway = MemoryGateway()
    gateway.execute(CreateTable(TableDescriptor("t", (FamilyDescriptor(b"d"),))))
    mutations = tuple(
        RowMutation(key, tuple(map(Put, COLUMNS, values))) for key, values in CELLS.items()
    )
    gateway.execute(MutateRows("t", mutations))
    read = gateway.execute(FetchRows(gateway.execute(OpenScanner(Scan("t", filter=sent))), 10))
    return {row.key: sorted(row.cells) for row in read}


def test_a_row_ends_where_a_filter_is_done() -> None:
    assert rows(b"WHILE ValueFilter(=, 'binary:go')") == {b"r1": [b"d:a"]}


def test_an_alternative_that_is_done_lets_nothing_through() -> None:
    sent = b"(WHILE ValueFilter(=, 'binary:go')) OR QualifierFilter(=, 'binary:c')"

    assert rows(sent) == {b"r1": [b"d:a", b"d:c"], b"r2": [b"d:c"]}
