"""Declarations that differ harmlessly from the record: old and new programs agree on the rows."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final
from uuid import uuid4

import pytest

from hbase_orm import Engine, codecs
from hbase_orm.errors import SchemaDriftError
from tests.support.backends import Backend
from tests.support.changed_models import FIRST, KINDS, Programs, col, fill, values_of
from tests.support.changed_uses import Use, as_read, at_first

CHANGES: Final = {
    "nothing": FIRST,
    "a new column": FIRST.having(colour=col(str, "k", nullable=True)),
    "a new column with a default": FIRST.having(colour=col(str, "k", default="red")),
    "a new column with a default above all": FIRST.below(colour=col(str, "k", default="red")),
    "a new required column": FIRST.having(colour=col(str, "k")),
    "a new required column above all": FIRST.below(colour=col(str, "k")),
    "another order": replace(FIRST, columns=dict(reversed(FIRST.columns.items()))),
    "a column less": FIRST.without("note"),
    "a required column less": FIRST.without("weight"),
    "the anchor's field renamed": FIRST.renamed(customer="client"),
    "a field renamed": FIRST.renamed(note="remark"),
    "a column may be None": FIRST.having(
        weight=col(int, "w", codec=codecs.uint16(), nullable=True)
    ),
    "a column is required": FIRST.having(note=col(str, "n")),
    "a column is deferred": FIRST.having(note=col(str, "n", nullable=True, deferred=True)),
    "a column is not deferred": FIRST.having(text=col(str, "x", nullable=True)),
    "more versions": replace(FIRST, family={"versions": 3}),
    "compression": replace(FIRST, family={"compression": "GZ"}),
    "a view": replace(FIRST.without("note", "text"), name="OrderView"),
    "a view with other names": replace(
        FIRST.without("text").renamed(note="remark", weight="mass"), name="OrderView"
    ),
}
UNRECORDED: Final = {"nothing", "another order", "more versions", "compression"}
"""The changes that leave nothing to record."""


@pytest.fixture
def shop() -> str:
    """Return a shop that no other test has."""
    return uuid4().hex[:8]


def used(engine: Engine, programs: Programs, change: str, shop: str) -> Use:
    declared = CHANGES[change]
    return Use(engine, declared.model(programs.kind), declared, shop)


def first(programs: Programs, shop: str) -> Use:
    return Use(programs.old, FIRST.model(programs.kind), FIRST, shop)


def check_alike(one: Use, other: Use, rows: dict[int, Any]) -> None:
    """Check that two programs find the same rows in every way, with the values they have."""
    numbers = sorted(rows)
    for use in (one, other):
        found = use.numbers()
        assert found == dict.fromkeys(found, numbers)
        assert use.rows() == as_read(rows, use.declared)


@pytest.mark.parametrize("change", CHANGES)
def test_the_new_program_reads_all_old_rows_and_changes_none(
    programs: Programs, change: str, shop: str
) -> None:
    old = first(programs, shop)
    fill(programs, old.model, shop)
    before = programs.raw()

    check_alike(used(programs.new(), programs, change, shop), old, at_first(shop))

    assert programs.raw() == before


@pytest.mark.parametrize("change", CHANGES)
def test_old_and_new_programs_agree_on_the_rows_that_the_new_one_writes(
    programs: Programs, change: str, shop: str
) -> None:
    old = first(programs, shop)
    fill(programs, old.model, shop)
    new = used(programs.new(), programs, change, shop)

    rows = at_first(shop)
    new.write(rows, is_simple=programs.kind in {"thrift1", "lww"})

    check_alike(new, old, rows)


def of_shop(programs: Programs, shop: str, table: str) -> dict[Any, bytes]:
    """Return the values of the cells of a shop's rows and of their entries."""
    cells = values_of(programs.raw(table))
    return {place: value for place, value in cells.items() if shop.encode() in place[1]}


@pytest.fixture(params=[pytest.param(kind, marks=pytest.mark.only_on("memory")) for kind in KINDS])
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name
