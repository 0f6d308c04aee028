"""Programs with an edited declaration: they read and write what the cells mean, or are refused."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tests.support.declarations.pair_run import run_pair, run_pairs
from tests.support.declarations.programs import InMemoryPrograms
from tests.support.declarations.random_pairs import pair_named, random_pairs
from tests.support.declarations.random_plain_models import SHAPES

PAIRS = 16
SOAK_PAIRS = 240

FAILED_ONCE = (
    "3539365873/record types/30",  # a new record type beside others that contradict the record
    "1433290979/record types/6",
    "599611838/dynamic/3",
)
"""The names of pairs that failed before."""

shapes = pytest.mark.parametrize("shape", SHAPES)
Record = Callable[[str, object], None]


def check(shape: str, count: int, record_property: Record) -> None:
    pairs = random_pairs(shape, random.getrandbits(32), count)

    shares = run_pairs(pairs, InMemoryPrograms)

    shares.record(record_property)
    assert shares.pairs == count
    assert shares.wrong() == []


@pytest.mark.timeout(600)
@shapes
def test_an_edited_declaration_reads_what_is_stored_or_is_refused(
    shape: str, record_property: Record
) -> None:
    check(shape, PAIRS, record_property)


@pytest.mark.parametrize("name", FAILED_ONCE)
def test_a_pair_that_failed_once_reads_what_is_stored_or_is_refused(name: str) -> None:
    pair = pair_named(name)

    assert pair is not None
    run_pair(pair, InMemoryPrograms())


@pytest.mark.soak
@pytest.mark.timeout(3600)
@shapes
def test_an_edited_declaration_reads_what_is_stored_or_is_refused_for_long(
    shape: str, record_property: Record
) -> None:
    check(shape, SOAK_PAIRS, record_property)
