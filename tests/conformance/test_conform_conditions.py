"""Check-and-mutate, counters, appends: writes that depend on what is stored."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from hbase_orm.errors import FamilyNotFoundError, RejectedError
from hbase_orm.gateway.base import Feature
from hbase_orm.ops import Cell, CheckAndMutate, Delete, Put, RowMutation
from tests.conformance.bench import Bench

MAX_LONG = 2**63 - 1
HOUR_MS = 3_600_000


# --- check and mutate -----------------------------------------------------------------------------


def test_one_cell_is_put_where_nothing_is_and_then_where_it_is_as_expected(bench: Bench) -> None:
    answers = [
        bench.check(b"d:x", b"", Put(b"d:x", b"1")),
        bench.check(b"d:x", b"", Put(b"d:x", b"2")),
        bench.check(b"d:x", b"other", Put(b"d:x", b"3")),
        bench.check(b"d:x", b"1", Put(b"d:x", b"4")),
    ]

    assert answers == [True, False, False, True]
    assert bench.value(b"d:x") == b"4"


def test_of_many_that_put_one_cell_where_nothing_is_one_wins(bench: Bench) -> None:
    with ThreadPoolExecutor(4) as pool:
        won = list(pool.map(lambda n: bench.check(b"d:x", b"", Put(b"d:x", b"%d" % n)), range(8)))

    assert won.count(True) == 1
    assert bench.value(b"d:x") == b"%d" % won.index(True)


@pytest.mark.feature(Feature.CHECK_AND_MUTATE)
def test_a_check_that_holds_applies_the_mutation(bench: Bench) -> None:
    bench.put(b"d:x", b"old", 10)

    assert bench.check(b"d:x", b"old", Put(b"d:x", b"new", 20), Put(b"e:y", b"too", 20))
    assert bench.values() == {b"d:x": b"new", b"e:y": b"too"}


@pytest.mark.feature(Feature.CHECK_AND_MUTATE)
def test_a_check_that_fails_changes_nothing(bench: Bench) -> None:
    bench.put(b"d:x", b"old", 10)

    assert not bench.check(b"d:x", b"other", Put(b"d:x", b"new", 20), Delete(b"e"))
    assert bench.cells() == {b"d:x": Cell(b"old", 10)}


@pytest.mark.feature(Feature.CHECK_AND_MUTATE)
def test_a_value_that_only_starts_with_the_expected_one_fails_the_check(bench: Bench) -> None:
    bench.put(b"d:x", b"old and more", 10)

    assert not bench.check(b"d:x", b"old", Put(b"d:x", b"new", 20))


@pytest.mark.feature(Feature.CHECK_AND_MUTATE)
def test_an_absent_cell_fails_a_check_for_a_value(bench: Bench) -> None:
    assert not bench.check(b"d:x", b"old", Put(b"d:x", b"new", 20))
    assert bench.cells() == {}


@pytest.mark.feature(Feature.CHECK_AND_MUTATE)
def test_nothing_expected_matches_an_absent_cell(bench: Bench) -> None:
    bench.put(b"d:other", b"1", 10)

    assert bench.check(b"d:x", b"", Put(b"d:x", b"new", 20))
    assert not bench.check(b"d:x", b"", Put(b"d:x", b"newer", 30))
    assert bench.value(b"d:x") == b"new"


@pytest.mark.feature(Feature.CHECK_AND_MUTATE)
def test_nothing_expected_matches_an_empty_cell(bench: Bench) -> None:
    bench.put(b"d:x", b"", 10)

    assert bench.check(b"d:x", b"", Put(b"d:x", b"new", 20))


@pytest.mark.feature(Feature.CHECK_AND_MUTATE)
def test_a_deleted_cell_is_absent_to_a_check(bench: Bench) -> None:
    bench.put(b"d:x", b"old", 10)
    bench.delete(b"d:x", 10)

    assert not bench.check(b"d:x", b"old", Put(b"d:y", b"1", 20))
    assert bench.check(b"d:x", b"", Put(b"d:x", b"new", 20))


@pytest.mark.feature(Feature.CHECK_AND_MUTATE)
@pytest.mark.parametrize(
    ("operator", "those_that_hold"),
    [
        ("==", {b"c"}),
        ("!=", {b"b", b"b\xff", b"c\x00", b"\xff"}),
        ("<", {b"b", b"b\xff"}),
        ("<=", {b"b", b"b\xff", b"c"}),
        (">", {b"c\x00", b"\xff"}),
        (">=", {b"c", b"c\x00", b"\xff"}),
    ],
)
def test_a_check_compares_the_stored_bytes_with_the_expected_ones(
    bench: Bench, operator: str, those_that_hold: set[bytes]
) -> None:
    found = set[bytes]()
    for number, stored in enumerate((b"b", b"b\xff", b"c", b"c\x00", b"\xff")):
        bench.put(b"d:x", stored, 10 + number)
        if bench.check_that(b"d:x", operator, b"c", Put(b"e:y", b"1", 20 + number)):
            found.add(stored)

    assert found == those_that_hold


@pytest.mark.feature(Feature.CHECK_AND_MUTATE)
@pytest.mark.parametrize("operator", ["!=", "<", "<=", ">", ">="])
def test_an_absent_cell_fails_every_comparison(bench: Bench, operator: str) -> None:
    assert not bench.check_that(b"d:x", operator, b"c", Put(b"d:x", b"new", 20))
    assert bench.cells() == {}


@pytest.mark.parametrize("operator", ["!=", "<", "<=", ">", ">="])
def test_nothing_expected_is_compared_only_for_equality(bench: Bench, operator: str) -> None:
    with pytest.raises(RejectedError):
        bench.check_that(b"d:x", operator, b"", Put(b"d:x", b"new", 20))


@pytest.mark.feature(Feature.CHECK_AND_MUTATE)
def test_the_checked_column_may_be_deleted_and_written_in_one(bench: Bench) -> None:
    bench.put_row(b"r", {b"d:g": b"guard", b"d:x": b"1", b"e:y": b"2"}, 10)

    assert bench.check(
        b"d:g", b"guard", Delete(b"d", 19), Delete(b"e:y", 20), Put(b"d:g", b"next", 20)
    )
    assert bench.cells() == {b"d:g": Cell(b"next", 20)}


@pytest.mark.feature(Feature.CHECK_AND_MUTATE)
def test_a_check_may_lead_to_deletes_alone(bench: Bench) -> None:
    bench.put_row(b"r", {b"d:x": b"1", b"d:y": b"2"}, 10)

    assert bench.check(b"d:x", b"1", Delete(b"d:y", 10))
    assert bench.values() == {b"d:x": b"1"}


def test_a_conditional_put_without_timestamp_is_not_eclipsed_by_the_cell_it_checked(
    bench: Bench,
) -> None:
    future_ms = bench.subject.now_ms() + HOUR_MS
    bench.put(b"d:x", b"old", future_ms)

    assert bench.check(b"d:x", b"old", Put(b"d:x", b"new"))
    assert bench.cells() == {b"d:x": Cell(b"new", future_ms)}


@pytest.mark.feature(Feature.CHECK_AND_MUTATE)
def test_a_conditional_mutation_of_an_unknown_family_changes_nothing(bench: Bench) -> None:
    bench.put(b"d:x", b"1", 10)

    with pytest.raises(FamilyNotFoundError):
        bench.check(b"d:x", b"1", Put(b"d:x", b"2", 20), Put(b"nope:y", b"3", 20))

    assert bench.values() == {b"d:x": b"1"}


@pytest.mark.feature(Feature.CHECK_AND_MUTATE)
def test_a_check_of_an_unknown_family_is_refused(bench: Bench) -> None:
    with pytest.raises(FamilyNotFoundError):
        bench.check(b"nope:x", b"1", Put(b"d:x", b"2", 20))


def test_of_four_threads_that_claim_absent_keys_each_key_has_one_winner(bench: Bench) -> None:
    def claim(winner: int) -> int:
        claims = [
            CheckAndMutate(
                bench.table,
                b"d:x",
                b"",
                RowMutation(bench.key(b"%d" % key), (Put(b"d:x", b"%d" % winner),)),
            )
            for key in range(25)
        ]
        return sum(bench.run(claim) for claim in claims)

    with ThreadPoolExecutor(4) as threads:
        wins = list(threads.map(claim, range(4)))

    assert sum(wins) == 25


# --- counters -------------------------------------------------------------------------------------


def test_a_counter_starts_at_zero_and_the_new_value_is_the_answer(bench: Bench) -> None:
    assert bench.increment({b"d:n": 5}) == {b"d:n": 5}
    assert bench.increment({b"d:n": -7}) == {b"d:n": -2}
    assert bench.value(b"d:n") == (-2).to_bytes(8, "big", signed=True)


def test_an_increment_by_zero_creates_the_counter(bench: Bench) -> None:
    assert bench.increment({b"d:n": 0}) == {b"d:n": 0}
    assert bench.value(b"d:n") == bytes(8)


def test_a_counter_wraps_around_at_64_bits(bench: Bench) -> None:
    bench.increment({b"d:n": MAX_LONG})

    assert bench.increment({b"d:n": 1}) == {b"d:n": -(2**63)}


def test_eight_bytes_of_text_count_as_a_number(bench: Bench) -> None:
    bench.put(b"d:n", b"AAAAAAAA", 10)

    assert bench.increment({b"d:n": 1}) == {b"d:n": int.from_bytes(b"AAAAAAAB", "big")}


@pytest.mark.parametrize("value", [b"", b"123", b"123456789"])
def test_a_cell_that_is_not_8_bytes_wide_is_no_counter(bench: Bench, value: bytes) -> None:
    bench.put(b"d:n", value, 10)

    with pytest.raises(RejectedError):
        bench.increment({b"d:n": 1})

    assert bench.value(b"d:n") == value


def test_an_increment_is_stamped_past_a_cell_from_the_future(bench: Bench) -> None:
    future_ms = bench.subject.now_ms() + HOUR_MS
    bench.put(b"d:n", (41).to_bytes(8, "big"), future_ms)

    assert bench.increment({b"d:n": 1}) == {b"d:n": 42}
    assert bench.cells()[b"d:n"] == Cell((42).to_bytes(8, "big"), future_ms + 1)


def test_a_deleted_counter_starts_again(bench: Bench) -> None:
    bench.put(b"d:n", (41).to_bytes(8, "big"), 10)
    bench.delete(b"d:n", 10)

    assert bench.increment({b"d:n": 1}) == {b"d:n": 1}


def test_an_increment_below_a_tombstone_answers_and_is_not_seen(bench: Bench) -> None:
    bench.delete(b"d:n", bench.subject.now_ms() + HOUR_MS)

    assert bench.increment({b"d:n": 1}) == {b"d:n": 1}
    assert bench.cells() == {}


def test_the_empty_qualifier_may_be_a_counter(bench: Bench) -> None:
    assert bench.increment({b"d:": 3}) == {b"d:": 3}
    assert bench.increment({b"d:": 3}) == {b"d:": 6}


def test_an_increment_in_an_unknown_family_is_refused(bench: Bench) -> None:
    with pytest.raises(FamilyNotFoundError):
        bench.increment({b"nope:n": 1})


def test_an_increment_keeps_older_versions_where_the_family_does(bench: Bench) -> None:
    bench.put(b"v:n", (1).to_bytes(8, "big"), 10)
    bench.increment({b"v:n": 1})

    assert [value[-1] for _, _, value in bench.versions(b"v:n")] == [2, 1]


@pytest.mark.feature(Feature.MULTI_INCREMENT)
def test_several_counters_of_a_row_change_in_one_call(bench: Bench) -> None:
    bench.increment({b"d:n": 1})

    assert bench.increment({b"d:n": 1, b"d:m": 2, b"e:n": 3}) == {
        b"d:n": 2,
        b"d:m": 2,
        b"e:n": 3,
    }


@pytest.mark.feature(Feature.MULTI_INCREMENT)
def test_of_several_counters_one_that_is_none_leaves_all_unchanged(bench: Bench) -> None:
    bench.increment({b"d:n": 1, b"d:m": 1})
    bench.put(b"d:text", b"abc", 10)

    with pytest.raises(RejectedError):
        bench.increment({b"d:n": 1, b"d:text": 1})

    assert bench.value(b"d:n") == (1).to_bytes(8, "big")


@pytest.mark.feature(Feature.CHECK_AND_MUTATE)
@pytest.mark.parametrize("is_there", [False, True], ids=["absent", "present"])
def test_a_counter_that_a_check_replaced_by_a_wider_cell_takes_no_amount(
    bench: Bench, *, is_there: bool
) -> None:
    bench.delete(b"d:n", bench.subject.now_ms() - HOUR_MS)
    before = bench.increment({b"d:n": 5}) if is_there else {}
    expected = (5).to_bytes(8, "big") if is_there else b""
    wide, later_ms = b"M" * 18, bench.subject.now_ms() + HOUR_MS

    assert before == ({b"d:n": 5} if is_there else {})
    assert not bench.check(b"d:n", (4).to_bytes(8, "big"), Put(b"d:n", wide, later_ms))
    assert bench.check(b"d:n", expected, Put(b"d:n", wide, later_ms))
    for amount in (1, 0, -1):
        with pytest.raises(RejectedError, match="not a counter"):
            bench.increment({b"d:n": amount})
    assert bench.cells() == {b"d:n": Cell(wide, later_ms)}
    assert not bench.check(b"d:n", expected, Put(b"d:n", b"again", later_ms + 1))


def test_increments_of_two_threads_all_count(bench: Bench) -> None:
    def count(_: int) -> None:
        for _ in range(25):
            bench.increment({b"d:n": 1})

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(count, range(2)))

    assert bench.value(b"d:n") == (50).to_bytes(8, "big")


@pytest.mark.parametrize("amount", [2**63, -(2**63) - 1])
def test_an_amount_beyond_64_bits_is_refused(bench: Bench, amount: int) -> None:
    with pytest.raises(RejectedError):
        bench.increment({b"d:n": amount})


# --- append ---------------------------------------------------------------------------------------


def test_an_append_creates_what_is_missing_and_answers_the_new_values(bench: Bench) -> None:
    bench.put(b"d:x", b"one", 10)

    assert bench.append({b"d:x": b", two", b"d:y": b"new"}) == {
        b"d:x": b"one, two",
        b"d:y": b"new",
    }
    assert bench.values() == {b"d:x": b"one, two", b"d:y": b"new"}


def test_an_append_is_stamped_past_a_cell_from_the_future(bench: Bench) -> None:
    future_ms = bench.subject.now_ms() + HOUR_MS
    bench.put(b"d:x", b"one", future_ms)
    bench.append({b"d:x": b"!"})

    assert bench.cells() == {b"d:x": Cell(b"one!", future_ms + 1)}


def test_an_append_to_a_deleted_cell_starts_anew(bench: Bench) -> None:
    bench.put(b"d:x", b"one", 10)
    bench.delete(b"d:x", 10)

    assert bench.append({b"d:x": b"two"}) == {b"d:x": b"two"}


def test_an_append_to_an_unknown_family_is_refused(bench: Bench) -> None:
    with pytest.raises(FamilyNotFoundError):
        bench.append({b"nope:x": b"1"})


def test_a_request_that_names_no_column_is_refused(bench: Bench) -> None:
    with pytest.raises(RejectedError):
        bench.increment({})
    with pytest.raises(RejectedError):
        bench.append({})
