"""Reads through indexes of every kind on a real HBase: the answers, the requests, stale entries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from hbase_orm import Engine, codecs, connect, func, select
from hbase_orm.query import Select
from hbase_orm.testing import RealHBase
from tests.support.index_statements import STATEMENTS, Job, add, check_answer, check_pages

pytestmark = pytest.mark.hbase

OLD_MS = 1_600_000_000_000


@pytest.fixture(scope="module")
def engine(hbase: RealHBase) -> Iterator[Engine]:
    namespace = f"n{uuid4().hex[:12]}"
    with connect(hbase.url_in(namespace)) as engine:
        engine.create_tables(Job)
        add(engine)
        yield engine
    hbase.drop_namespace(namespace)


def sent(engine: Engine, stmt: Select[Any]) -> dict[tuple[str, str], int]:
    """Return how many requests of each kind went to each table, but to the catalog."""
    with engine.session() as session:
        measured = session.explain(stmt, analyze=True).measured
    assert measured is not None
    prefix = f"{engine.options.namespace}:"
    return {
        (each.kind, each.table.removeprefix(prefix)): each.count
        for each in measured.requests
        if each.table.startswith(prefix)
    }


@pytest.mark.parametrize("stmt", STATEMENTS, ids=lambda stmt: repr(stmt.conditions))
def test_an_index_gives_what_a_full_scan_gives(engine: Engine, stmt: Select[Any]) -> None:
    check_answer(engine, stmt)


@pytest.mark.parametrize("stmt", STATEMENTS, ids=lambda stmt: repr(stmt.conditions))
def test_pages_joined_are_the_answer(engine: Engine, stmt: Select[Any]) -> None:
    check_pages(engine, stmt, 4)


def test_a_unique_value_costs_two_gets(engine: Engine) -> None:
    asked = select(Job).where(func.lower(Job.mail) == "u3@x.org")

    assert sent(engine, asked) == {("get", "jobs_ix_by_mail"): 1, ("get", "jobs"): 1}


def test_covered_values_cost_no_look_up(engine: Engine) -> None:
    found = sent(engine, select(Job.mail, Job.phone).where(Job.size >= 3))

    assert {table for _, table in found} == {"jobs_ix_by_size"}


def test_a_statement_repairs_the_stale_entries_that_it_met(engine: Engine) -> None:
    key = codecs.int64().encode(5) + b"gone\0\1\0\7"
    with engine.raw() as connection:
        entries = connection.table(f"{engine.options.namespace}:jobs_ix_by_size")
        entries.put(key, {b"d:": b"u"}, timestamp=OLD_MS)
        asked = select(Job).where(Job.size == 5)
        with engine.session() as session:
            measured = session.explain(asked, analyze=True).measured
            assert measured is not None
            assert measured.stale == 1
            assert entries.row(key)

            assert {job.n for job in session.all(asked)} == {5, 12, 19, 26, 33}

        assert not entries.row(key)
