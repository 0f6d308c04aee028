"""Programs that run while the declaration of their table changes: a lease later they know of it."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

import pytest

from hbase_orm import Engine, select
from hbase_orm.binding.runtime import Runtime
from hbase_orm.errors import SchemaDriftError
from tests.support.changed_models import FIRST, Declared, Programs, fill
from tests.support.changed_uses import HARMLESS, Use, at_first, check_reads, used
from tests.support.recording import gateway_of
from tests.support.shop_processes import Clock

A_LEASE_S = 31.0
REQUIRED = HARMLESS["a new required column above all"]


def with_clock(engine: Engine) -> Clock:
    """Give an engine a clock that stands still; return the clock."""
    clock = Clock()
    engine._runtime = Runtime(
        gateway_of(engine), parallel=1, monotonic_s=clock, sleep=clock.sleep, lease_s=30.0
    )
    return clock


def made_anew(programs: Programs, declared: Declared) -> Use:
    """Drop the table and create it for another declaration, with some rows of it."""
    other = used(programs.new(), programs, declared, "s")
    other.engine.drop_tables(other.model)
    other.engine.create_tables(other.model)
    with other.engine.session() as session:
        session.add_all(other.made(n) for n in range(4))
    return other


@pytest.mark.parametrize("own", ["plain", "versioned", "guarded"], indirect=True)
def test_a_table_that_was_made_anew_is_refused_a_lease_later_and_so_are_its_old_objects(
    own: Programs,
) -> None:
    clock, old = with_clock(own.old), used(own.old, own, FIRST, "s")
    fill(own, old.model, "s")
    session = own.old.session()
    loaded = old.one(session, 1)
    other = made_anew(own, replace(FIRST, salt=8))
    before = own.raw()
    clock.now_s += A_LEASE_S

    loaded.size = 77
    with pytest.raises(SchemaDriftError):
        session.flush()
    with pytest.raises(SchemaDriftError):
        session.get(old.model, shop="s", number=2)
    with pytest.raises(SchemaDriftError):
        session.refresh(loaded)

    assert own.raw() == before
    assert other.numbers()["all"] == [0, 1, 2, 3]


@pytest.mark.parametrize("own", ["plain", "versioned", "guarded", "lww"], indirect=True)
def test_a_program_goes_on_when_a_new_one_is_deployed_and_so_do_its_objects(
    own: Programs,
) -> None:
    clock, old, rows = with_clock(own.old), used(own.old, own, FIRST, "s"), at_first("s")
    fill(own, old.model, "s")
    session = own.old.session()
    loaded = old.one(session, 1)
    new = used(own.new(), own, REQUIRED, "s")
    new.engine.create_tables(new.model)

    loaded.size = 77
    session.flush()
    clock.now_s += A_LEASE_S
    loaded.weight = 78
    session.flush()
    session.add(old.made(11))
    session.flush()

    rows[1] |= {"s": 77, "w": 78}
    rows[11] = old.cells_of(old.made(11))
    check_reads(old, rows)
    check_reads(new, rows)


@pytest.mark.parametrize("own", ["plain", "guarded"], indirect=True)
def test_an_object_of_the_old_class_is_not_written_by_a_session_of_a_dropped_table(
    own: Programs,
) -> None:
    clock, old = with_clock(own.old), used(own.old, own, FIRST, "s")
    fill(own, old.model, "s")
    session = own.old.session()
    session.add(old.made(11))
    made_anew(own, replace(FIRST, parts=("number", "shop")))
    before = own.raw()
    clock.now_s += A_LEASE_S

    with pytest.raises(SchemaDriftError):
        session.flush()

    assert own.raw() == before


@pytest.mark.parametrize("own", ["guarded"], indirect=True)
def test_a_view_repairs_once_it_is_recorded_beside_the_whole_model(own: Programs) -> None:
    whole = used(own.old, own, FIRST, uuid4().hex)
    view = used(own.new(), own, HARMLESS["a view with other names"], whole.shop)
    fill(own, whole.model, whole.shop)

    assert view.repaired() is None
    view.engine.create_tables(whole.model, view.model)

    assert view.repaired() == 0
    assert used(own.new(), own, FIRST, whole.shop).repaired() == 0
    by_index = select(view.model).where(view.model.city == f"{whole.shop}-1")
    assert len(view.engine.session().all(by_index)) == 3
