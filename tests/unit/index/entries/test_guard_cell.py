"""The guard's bytes: what is kept, in which order, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hbase_orm.errors import CorruptRowError
from hbase_orm.index.entries.guard_cell import (
    ABSENT_NONCE,
    GuardCell,
    next_guard,
    nonces_of,
    sealed_guard,
)

nonces = st.binary(min_size=8, max_size=8)
guards = st.builds(
    GuardCell,
    epoch=st.integers(0, 2**16 - 1),
    timestamp_ms=st.integers(0, 2**63 - 1),
    nonce=nonces,
    predecessors=st.lists(nonces, max_size=3).map(tuple),
    is_dead=st.booleans(),
)


def nonce(number: int) -> bytes:
    return number.to_bytes(8, "big")


def following(before: GuardCell | None, number: int, *, epoch: int = 1) -> GuardCell:
    return next_guard(before, timestamp_ms=number, nonce=nonce(number), epoch=epoch, is_dead=False)


@given(guards)
def test_a_guard_decodes_to_what_was_encoded(guard: GuardCell) -> None:
    assert GuardCell.decode(guard.encode()) == guard


def test_a_sealed_guard_has_a_flag_of_its_own_and_keeps_the_nonces() -> None:
    before = GuardCell(2, 3, b"n" * 8, (b"p" * 8,))

    guard = sealed_guard(before, timestamp_ms=4, nonce=b"s" * 8, epoch=1)

    assert guard.encode()[:1] == b"M"
    assert GuardCell.decode(guard.encode()) == guard
    assert (guard.is_sealed, guard.is_dead, guard.epoch) == (True, False, 2)
    assert nonces_of(guard) == (b"s" * 8, b"n" * 8, b"p" * 8)


def test_the_bytes_are_flag_epoch_timestamp_nonce_and_predecessors() -> None:
    guard = GuardCell(2, 3, b"n" * 8, (b"p" * 8,), is_dead=True)

    assert guard.encode() == b"D\x00\x02" + nonce(3) + b"n" * 8 + b"p" * 8


def test_live_guards_of_one_epoch_share_a_prefix() -> None:
    prefixes = {GuardCell(258, t, nonce(t)).encode()[:3] for t in (1, 2**40)}

    assert prefixes == {b"L\x01\x02"}


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"L\x00\x01" + bytes(15),
        b"X\x00\x01" + bytes(16),
        b"L\x00\x01" + bytes(16) + b"short",
        b"L\x00\x01" + bytes(16) + bytes(4 * 8),
    ],
)
def test_other_programs_bytes_are_refused(value: bytes) -> None:
    with pytest.raises(CorruptRowError) as caught:
        GuardCell.decode(value)

    assert caught.value.value == value


def test_a_row_without_guard_counts_as_one_write_of_zeros() -> None:
    assert nonces_of(None) == (ABSENT_NONCE,) == (bytes(8),)


def test_a_guard_remembers_its_three_predecessors_newest_first() -> None:
    guard: GuardCell | None = None
    for number in range(1, 6):
        guard = following(guard, number)

    assert nonces_of(guard) == (nonce(5), nonce(4), nonce(3), nonce(2))


def test_the_first_guard_remembers_that_there_was_none() -> None:
    assert nonces_of(following(None, 1)) == (nonce(1), ABSENT_NONCE)


def test_the_epoch_never_goes_back() -> None:
    newer = following(following(None, 1, epoch=7), 2, epoch=3)

    assert newer.epoch == 7
