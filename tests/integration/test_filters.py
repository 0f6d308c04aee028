"""Filters on a real HBase, through each gateway: they pass what the memory gateway says they pass."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hbase_orm import Condition
from hbase_orm.gateway.base import Gateway
from hbase_orm.ops import Row, Scan
from tests.conformance.subjects import open_subject
from tests.support.filtered_rows import KINDS, MODES, Declared, conditions, outcome, put_rows, scan

pytestmark = pytest.mark.hbase

SEED = 7
ROWS = 24
DECLARED = Declared(
    [(kind, MODES[n % len(MODES)], "de"[n % 3 == 0]) for n, kind in enumerate(KINDS)]
)


@dataclass(frozen=True)
class Place:
    """A table with rows, as one gateway reaches it."""

    gateway: Gateway
    table: str
    rows: Sequence[Row]

    def __repr__(self) -> str:
        return f"Place({self.gateway!r}, {self.table!r})"


@pytest.fixture(scope="module", params=["memory", "thrift1", "thrift2", "routed"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    schema = DECLARED.model.__schema__
    with open_subject(request.param, request) as subject:
        table = subject.new_table(*schema.families, splits=((ROWS // 2).to_bytes(4, "big"),))
        put_rows(subject.gateway, table, _cells())
        every = Scan(table, columns=schema.family_names)
        yield Place(subject.gateway, table, scan(subject.gateway, every))
        subject.drop(table)


def _cells() -> list[dict[bytes, bytes]]:
    chance = random.Random(SEED)
    columns = DECLARED.model.__schema__.column_by_name
    return [
        {columns["there"].column: b"\x01"}
        | {
            columns[name].column: chance.choice((*map(kind.codec.encode, kind.values), *kind.cells))
            for name, kind in DECLARED.kinds.items()
            if chance.random() < 0.7
        }
        for _ in range(ROWS)
    ]


@settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(asked=st.lists(conditions(DECLARED), min_size=1, max_size=2), reverse=st.booleans())
def test_what_a_filter_lets_through_matches_or_is_left_to_the_client(
    place: Place, asked: list[Condition], *, reverse: bool
) -> None:
    assert len(place.rows) == ROWS
    found = outcome(place.gateway, DECLARED, place.table, asked, reverse=reverse, known=place.rows)

    found.check()


def test_every_value_of_every_kind_is_found_by_its_filter(place: Place) -> None:
    """All 256 byte values and quotes are among them."""
    fields = DECLARED.model.__schema__.fields
    for name, kind in DECLARED.kinds.items():
        for value in kind.values:
            condition = fields[name] == value
            found = outcome(
                place.gateway, DECLARED, place.table, [condition], reverse=False, known=place.rows
            )
            found.check()


def test_absence_alone_is_asked_for(place: Place) -> None:
    for number in range(len(KINDS)):
        expr = DECLARED.model.__schema__.fields[f"c{number}"]
        for condition in (expr.is_null(), ~expr.is_null()):
            found = outcome(
                place.gateway, DECLARED, place.table, [condition], reverse=True, known=place.rows
            )
            found.check()
            # What a default_factory makes for an absent cell is not known beforehand.
            column = DECLARED.model.__schema__.column_by_name[f"c{number}"]
            assert column.default_factory is not None or not found.pushed.remaining
