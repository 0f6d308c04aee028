"""Programs with an edited declaration on a real HBase: they read what is stored, or are refused."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest

from hbase_orm import Engine, connect
from hbase_orm.binding.dictionaries import in_namespace
from hbase_orm.numbering.create_tables import ensure_namespace
from tests.support.declarations.pair_run import run_pair, run_pairs
from tests.support.declarations.programs import Programs
from tests.support.declarations.random_pairs import pair_named, random_pairs
from tests.support.declarations.random_plain_models import SHAPES

pytestmark = pytest.mark.hbase

PAIRS = 4
"""The pairs of each family of models: 36 in all."""

SOAK_PAIRS = 40

FAILED_ONCE = ("3539365873/record types/30", "1433290979/record types/6", "599611838/dynamic/3")
"""The names of pairs that failed before; two of them when the server ran out of memory."""

Record = Callable[[str, object], None]


@pytest.fixture(scope="module")
def shared_engine(url: str) -> Iterator[Engine]:
    with connect(url) as engine:
        # Thrift1 alone cannot create a namespace.
        engine._runtime.run(ensure_namespace(in_namespace("any", engine.options.namespace)))
        yield engine


def check(engine: Engine, shape: str, count: int, record_property: Record) -> None:
    seed = random.getrandbits(32)
    prefix = f"{shape.replace(' ', '_')}_{count}_"
    pairs = random_pairs(shape, seed, count, prefix)

    shares = run_pairs(pairs, lambda: Programs(engine))

    shares.record(record_property)
    assert shares.pairs == count
    assert shares.wrong() == []


@pytest.mark.timeout(600)
@pytest.mark.parametrize("shape", SHAPES)
def test_an_edited_declaration_reads_what_is_stored_or_is_refused(
    shared_engine: Engine, shape: str, record_property: Record
) -> None:
    check(shared_engine, shape, PAIRS, record_property)


@pytest.mark.parametrize("name", FAILED_ONCE)
def test_a_pair_that_failed_once_reads_what_is_stored_or_is_refused(
    shared_engine: Engine, name: str
) -> None:
    pair = pair_named(name, "again_")

    assert pair is not None
    run_pair(pair, Programs(shared_engine))


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("shape", SHAPES)
def test_an_edited_declaration_reads_what_is_stored_or_is_refused_for_long(
    shared_engine: Engine, shape: str, record_property: Record
) -> None:
    check(shared_engine, shape, SOAK_PAIRS, record_property)
