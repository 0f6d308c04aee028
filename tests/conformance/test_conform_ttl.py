"""Times to live: of a family, of a cell, and versions that stay in spite of them."""

from __future__ import annotations

import pytest

from hbase_orm.errors import RejectedError
from hbase_orm.gateway.base import Feature
from hbase_orm.ops import Delete, Put
from tests.conformance.bench import Bench

LONG_MS = 60_000


def test_a_cell_older_than_its_familys_ttl_is_not_seen(bench: Bench) -> None:
    bench.put(b"s:x", b"1", bench.subject.now_ms() - 1_500)

    assert bench.cells() == {}
    assert bench.keys() == []


def test_a_cell_disappears_when_its_familys_ttl_runs_out(bench: Bench) -> None:
    bench.put(b"s:x", b"1", bench.subject.now_ms() + 500)
    assert bench.value(b"s:x") == b"1"

    bench.subject.sleep(1.8)

    assert bench.value(b"s:x") is None


def test_min_versions_keep_the_newest_although_its_ttl_ran_out(bench: Bench) -> None:
    bench.put(b"m:x", b"older", 10)
    bench.put(b"m:x", b"newer", 20)

    assert bench.versions(b"m:x") == [(b"m:x", 20, b"newer")]


def test_versions_beyond_min_versions_are_seen_until_their_ttl_runs_out(bench: Bench) -> None:
    now_ms = bench.subject.now_ms() + LONG_MS
    bench.put(b"m:x", b"older", now_ms)
    bench.put(b"m:x", b"newer", now_ms + 1)

    assert [value for _, _, value in bench.versions(b"m:x")] == [b"newer", b"older"]


def test_a_cell_disappears_when_its_own_ttl_runs_out(bench: Bench) -> None:
    bench.put(b"d:x", b"1", ttl_ms=1_000)
    assert bench.value(b"d:x") == b"1"

    bench.subject.sleep(1.3)

    assert bench.value(b"d:x") is None


def test_a_cells_ttl_counts_from_its_timestamp(bench: Bench) -> None:
    now_ms = bench.subject.now_ms()
    bench.put(b"d:old", b"1", now_ms - 5_000, ttl_ms=4_000)
    bench.put(b"d:young", b"2", now_ms - 5_000, ttl_ms=LONG_MS)

    assert bench.values() == {b"d:young": b"2"}


def test_when_a_cells_ttl_runs_out_the_older_version_is_seen_again(bench: Bench) -> None:
    bench.put(b"v:x", b"older", 10)
    bench.put(b"v:x", b"newer", bench.subject.now_ms() - 5_000, ttl_ms=1_000)

    assert bench.versions(b"v:x") == [(b"v:x", 10, b"older")]


def test_a_cells_ttl_does_not_extend_its_familys(bench: Bench) -> None:
    bench.put(b"s:x", b"1", bench.subject.now_ms() - 1_500, ttl_ms=LONG_MS)

    assert bench.cells() == {}


def test_min_versions_do_not_keep_a_cell_whose_own_ttl_ran_out(bench: Bench) -> None:
    bench.put(b"m:x", b"1", bench.subject.now_ms() - 5_000, ttl_ms=1_000)

    assert bench.cells() == {}


def test_a_ttl_holds_for_all_puts_of_its_row_and_for_no_other_row(bench: Bench) -> None:
    past_ms = bench.subject.now_ms() - 5_000
    bench.run_rows(
        bench.mutation(Put(b"d:x", b"1", past_ms), Put(b"e:y", b"2", past_ms), ttl_ms=1_000),
        bench.mutation(Put(b"d:x", b"3", past_ms), row=b"s"),
    )

    assert bench.keys() == [b"s"]


@pytest.mark.feature(Feature.ATOMIC_ROW)
def test_an_atomic_mutation_gives_its_puts_a_ttl(bench: Bench) -> None:
    past_ms = bench.subject.now_ms() - 5_000
    bench.mutate(Delete(b"d:y"), Put(b"d:x", b"1", past_ms), ttl_ms=1_000)
    bench.mutate(Delete(b"d:y"), Put(b"d:z", b"2", past_ms), ttl_ms=LONG_MS)

    assert bench.values() == {b"d:z": b"2"}


def test_a_cell_whose_ttl_ran_out_is_absent_to_a_check(bench: Bench) -> None:
    bench.put(b"d:x", b"1", bench.subject.now_ms() - 5_000, ttl_ms=1_000)

    assert bench.check(b"d:x", b"", Put(b"d:x", b"2"))


def test_an_increment_of_a_counter_with_ttl_keeps_the_ttl(bench: Bench) -> None:
    bench.put(b"d:n", (1).to_bytes(8, "big"), ttl_ms=1_000)
    bench.increment({b"d:n": 1})
    bench.subject.sleep(1.5)

    assert bench.cells() == {}


@pytest.mark.parametrize("ttl_ms", [0, -1, 2**63])
def test_a_ttl_out_of_range_is_refused(bench: Bench, ttl_ms: int) -> None:
    with pytest.raises(RejectedError):
        bench.put(b"d:x", b"1", ttl_ms=ttl_ms)
