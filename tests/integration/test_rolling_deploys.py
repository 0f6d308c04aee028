"""Rolling deploys of harmless changes: processes with old and new classes write side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from hbase_orm import Engine, connect, select
from hbase_orm.errors import DuplicateRowError
from tests.support.changed_models import FIRST, WITH_INDEXES, rows_of
from tests.support.changed_uses import Use
from tests.support.deploy_writer import (
    DEPLOYED,
    DEPLOYED_KINDS,
    SHARED,
    SHARED_ROWS,
    declared_as,
    model_of,
)
from tests.support.storms import stale, writers

pytestmark = [pytest.mark.hbase, pytest.mark.timeout(600)]

ROUNDS = 6
SOAK_ROUNDS = 300
OLD, NEW = (1, 2), (3, 4)
"""The numbers of the processes with old classes and with new ones."""

Acknowledged = dict[int, dict[str, Any]]
"""What each process was acknowledged, by its number and the table."""


@dataclass(frozen=True)
class Deployed:
    """What a deploy has left: two engines, and what the processes were acknowledged."""

    old: Engine
    new: Engine
    acknowledged: Acknowledged

    def uses(self, change: str, kind: str, shop: str) -> tuple[Use, Use]:
        """Return the rows of a shop as the old class and as the new class has them."""
        sides = (("old", self.old), ("new", self.new))
        return (
            *(
                Use(engine, model_of(side, change, kind), declared_as(side, change), shop)
                for side, engine in sides
            ),
        )  # type: ignore[return-value] # two

    def own(self, change: str, kind: str, number: int) -> dict[int, int]:
        """Return the sizes of the rows that a process alone wrote, by number."""
        ledger = self.acknowledged[number][f"{change}_{kind}"]["own"]
        return {int(n): size for n, size in ledger.items() if size is not None}


def deploy(url: str, rounds: int) -> Acknowledged:
    """Let new processes start and write beside old ones; return what was acknowledged."""
    old = [(url, "old", number, 0) for number in OLD]
    new = [(url, "new", number, rounds) for number in NEW]
    with writers(old, "deploy_writer") as before:
        assert [each.next() for each in before] == ["begun"] * len(OLD)
        with writers(new, "deploy_writer") as after:
            said = [each.finish() for each in after]
        said = [each.finish() for each in before] + said
    return dict(zip((*OLD, *NEW), said, strict=True))


def prepare(engine: Engine) -> None:
    """Create all tables as the old programs did, with the rows that all processes write."""
    for kind in DEPLOYED_KINDS:
        models = [model_of("old", change, kind) for change in DEPLOYED]
        engine.create_tables(*models)
        with engine.session() as session:
            for model in models:
                shared = Use(engine, model, FIRST, SHARED)
                session.add_all(shared.made(k) for k in range(SHARED_ROWS))


def deployed_on(hbase_url: str, rounds: int) -> Iterator[Deployed]:
    url = f"{hbase_url}{'&' if '?' in hbase_url else '?'}lease_s=2"
    with connect(url) as old, connect(url) as new:
        prepare(old)
        yield Deployed(old, new, deploy(url, rounds))


@pytest.fixture(scope="module")
def deployed(url: str) -> Iterator[Deployed]:
    yield from deployed_on(url, ROUNDS)


def check(deployed: Deployed, change: str, kind: str) -> None:
    check_rows(deployed, change, kind)
    check_raw_cells(deployed, change, kind)
    check_indexes(deployed, change, kind)
    check_inserts(deployed, change, kind)


def check_rows(deployed: Deployed, change: str, kind: str) -> None:
    """Check that both classes find every acknowledged write, and the shared rows in every way."""
    for number in (*OLD, *NEW):
        written = deployed.own(change, kind, number)
        for use in deployed.uses(change, kind, f"p{number}"):
            found = use.rows()
            assert {n: row["size"] for n, row in found.items()} == written
            assert use.engine.session().count(use.mine) == len(written)
    ledgers = [each[f"{change}_{kind}"] for each in deployed.acknowledged.values()]
    for use in deployed.uses(change, kind, SHARED):
        found_by = use.numbers()
        assert found_by == {name: [*range(SHARED_ROWS)] for name in found_by}
        for k, row in use.rows().items():
            assert row["size"] in {each["sizes"].get(str(k)) for each in ledgers}
            assert row["city"] in {
                f"{SHARED}-{k % 3}",
                *(each["cities"].get(str(k)) for each in ledgers),
            }


def check_raw_cells(deployed: Deployed, change: str, kind: str) -> None:
    """Check that the table has the cells of the acknowledged rows, and no other row."""
    model = model_of("old", change, kind)
    table = deployed.old._bound_of(model).schema.table
    stored = {
        row.key: cells
        for row in rows_of(deployed.old, table)
        if (cells := {c: cell.value for c, cell in row.cells.items() if c.startswith(b"d:")})
    }
    wanted = {
        model.encode_key(shop=f"p{number}", number=n): size.to_bytes(4, "big")
        for number in (*OLD, *NEW)
        for n, size in deployed.own(change, kind, number).items()
    }
    shared = {model.encode_key(shop=SHARED, number=k) for k in range(SHARED_ROWS)}

    assert stored.keys() == wanted.keys() | shared
    assert {key: stored[key][b"d:s"] for key in wanted} == wanted
    assert all({b"d:c", b"d:t", b"d:s"} <= cells.keys() for cells in stored.values())


def check_indexes(deployed: Deployed, change: str, kind: str) -> None:
    """Check that no entry misses by either class, and that a repair deletes the stale ones alone."""
    if kind not in WITH_INDEXES:
        return
    old, new = model_of("old", change, kind), model_of("new", change, kind)
    entries = deployed.old._bound_of(old).schema.indexes[0].table
    before = {row.key for row in rows_of(deployed.old, entries)}

    found = [compare(deployed.old, old), compare(deployed.new, new)]
    deployed.new.repair_indexes(new, min_age_ms=-3_600_000)

    assert found[0] == found[1]
    assert found[0][0] == 0
    assert [compare(deployed.old, old), compare(deployed.new, new)] == [(0, 0)] * 2
    kept = {row.key for row in rows_of(deployed.old, entries)}
    assert kept <= before
    assert len(before - kept) == found[0][1]


def compare(engine: Engine, model: Any) -> tuple[int, int]:
    """Return how many entries are missing and how many are stale."""
    found = engine.verify_index(model, "by_city")
    return found.missing, stale(found)


def check_inserts(deployed: Deployed, change: str, kind: str) -> None:
    """Check that each class inserts no row that the other has written, and sees what it inserts."""
    for number in (OLD[0], NEW[0]):
        there = max(deployed.own(change, kind, number))
        for use in deployed.uses(change, kind, f"p{number}"):
            with pytest.raises(DuplicateRowError):
                use.engine.session().insert(use.made(there))
    old, new = deployed.uses(change, kind, "later")
    old.engine.session().insert(old.made(1))
    new.engine.session().insert(new.made(2))
    for use, n in ((new, 1), (old, 2)):
        with pytest.raises(DuplicateRowError):
            use.engine.session().insert(use.made(n))
        assert use.engine.session().count(select(use.model).where(use.model.shop == "later")) == 2


@pytest.mark.parametrize("kind", DEPLOYED_KINDS)
@pytest.mark.parametrize("change", DEPLOYED)
def test_old_and_new_processes_lose_no_write_and_agree_on_the_rows(
    deployed: Deployed, change: str, kind: str
) -> None:
    check(deployed, change, kind)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_after_long_deploys_no_write_is_lost(hbase_url: str) -> None:
    for deployed in deployed_on(hbase_url, SOAK_ROUNDS):
        for change in DEPLOYED:
            for kind in DEPLOYED_KINDS:
                check(deployed, change, kind)
