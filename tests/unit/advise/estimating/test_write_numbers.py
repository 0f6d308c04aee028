"""The numbers of writes."""

from __future__ import annotations

from random import Random

import pytest

from hbase_orm import connect
from hbase_orm.advise.estimating.write_numbers import (
    numbers_of_batches,
    numbers_of_entries,
    numbers_of_single_writes,
)
from hbase_orm.ops import Cell, MutateRows, Row
from tests.support.estimated_models import Indexed, load
from tests.support.recording import RecordsRequests, gateway_of, through


def rows_at(times: list[int]) -> list[Row]:
    return [
        Row(n.to_bytes(4, "big"), {b"d:c": Cell(b"", time_ms)}) for n, time_ms in enumerate(times)
    ]


def test_rows_that_are_written_one_by_one_have_numbers_of_their_own() -> None:
    numbers = numbers_of_single_writes(rows_at([5, 5, 4, 9]), 400)

    assert [*numbers.values()] == [1, 101, 201, 301]
    assert numbers[b"\0\0\0\2", 4] == 1


def test_a_hundred_entries_of_an_index_are_written_at_once() -> None:
    numbers = numbers_of_entries(rows_at([*range(250)]), 2_500)

    assert [numbers[n.to_bytes(4, "big"), n] for n in (0, 9, 10, 249)] == [1, 1, 2, 25]


def test_as_many_entries_are_written_at_once_as_is_assumed() -> None:
    with connect("memory://") as engine:
        engine.create_tables(Indexed)
        sent = RecordsRequests(gateway_of(engine))
        load(through(sent, engine), Indexed, 2_000)

    writes = [each for each in sent.requests if isinstance(each, MutateRows)]
    entries = [len(each.mutations) for each in writes if each.table == "indexed_ix_by_city"]
    numbers = numbers_of_entries(rows_at([*range(2_000)]), 2_000)
    assert entries == [100] * 20
    assert len(entries) == len(set(numbers.values()))


def test_cells_of_one_timestamp_have_one_number() -> None:
    row = Row(b"k", {b"d:a": Cell(b"", 7), b"d:b": Cell(b"", 8), b"d:c": Cell(b"", 7)})

    assert numbers_of_batches([row], 1, is_thinned=False) == {(b"k", 7): 1, (b"k", 8): 2}


def test_batches_of_consecutive_rows_go_on_in_the_others() -> None:
    numbers = numbers_of_batches(rows_at([1] * 10 + [2] * 10), 2_000, is_thinned=False)

    assert set(numbers.values()) == {1, 101}


@pytest.mark.parametrize("of_batch", [1, 5, 1_000])
def test_a_part_of_the_rows_shows_how_many_batches_there_were(of_batch: int) -> None:
    times = [n // of_batch for n in range(100_000)]
    sample = Random(1).sample(times, 10_000)

    numbers = numbers_of_batches(rows_at(sample), 100_000, is_thinned=True)

    assert max(numbers.values()) == pytest.approx(100_000 / of_batch, rel=0.05)
