"""Sessions at random in memory: each row is what a plain dict of versions holds."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from hbase_orm import Engine, connect
from hbase_orm.binding.url import EngineOptions
from tests.support.recording import gateway_of
from tests.support.session_machine import BusyMachine, run
from tests.support.session_models import KINDS, Audit
from tests.support.session_reference import Kind
from tests.support.thrift1_only import DoesWhatThrift1Does

SEQUENCES = 3
SOAK_SEQUENCES = 200

ROW: dict[str, Any] = {
    "name": "x",
    "unit": "a",
    "port": 1,
    "log": None,
    "code": None,
    "meta": {"k": [1]},
    "place": None,
    "tags": {},
}

kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.model.__name__)


def engine_beside(engine: Engine, kind: Kind) -> Engine:
    """Return an engine on the same store."""
    gateway = gateway_of(engine)
    return Engine(
        gateway if kind.has_thrift2 else DoesWhatThrift1Does(gateway),
        EngineOptions(scheme="memory"),
    )


@pytest.fixture
def store() -> Iterator[Engine]:
    with connect("memory://") as engine:
        yield engine


def machine(store: Engine, kind: Kind) -> BusyMachine:
    engine, other = engine_beside(store, kind), engine_beside(store, kind)
    if kind.model.__schema__.layout.table_period is None:
        engine.create_tables(kind.model)
    if kind.has_hooks:
        engine.create_tables(Audit)
    return BusyMachine(engine, other, kind)


def with_a_row(store: Engine, name: str) -> BusyMachine:
    """Return a machine of the model of that name, one row written."""
    driven = machine(store, next(kind for kind in KINDS if kind.model.__name__ == name))
    driven.note(0, ROW, "put")
    driven.flush(is_mended=True)
    return driven


def drive(store: Engine, kind: Kind, sequences: int) -> None:
    engine = machine(store, kind).engine
    run(engine, engine_beside(store, kind), kind, sequences)


# --- one by one what the machine must see ----------------------------------------------------------


def test_a_change_stays_on_the_version_it_is_based_on(store: Engine) -> None:
    driven = with_a_row(store, "Versioned")

    driven.change_field(0, ("unit", "b"))
    driven.others_change(0, ("port", 2))
    driven.get(0)
    driven.flush(is_mended=True)

    driven.teardown()


def test_what_a_hook_adds_after_a_write_is_written_with_it(store: Engine) -> None:
    driven = with_a_row(store, "Hooked")

    assert driven.audits_stored == 1

    driven.teardown()


def test_a_list_in_a_value_is_held_without_its_object(store: Engine) -> None:
    driven = with_a_row(store, "Plain")

    driven.hold(0, "meta", is_inner=True)
    driven.drop(0)
    driven.flush(is_mended=True)
    gc.collect()
    driven.change_held(0, 2)
    driven.flush(is_mended=True)

    driven.teardown()


def test_a_change_of_a_value_that_its_object_lost_is_refused(store: Engine) -> None:
    driven = with_a_row(store, "Plain")

    driven.hold(0, "meta", is_inner=True)
    driven.others_change(0, ("meta", {"z": []}))
    driven.get(0)
    driven.change_lost(0, 3)

    driven.teardown()


def test_rows_around_one_that_does_not_fit_are_written_in_bulk(store: Engine) -> None:
    driven = with_a_row(store, "Plain")

    driven.bulk([(1, ROW), (2, ROW), (3, ROW)], 1, has_ttl=True)

    driven.teardown()


def test_a_row_with_a_unique_value_is_not_moved_to_where_another_row_stands(store: Engine) -> None:
    driven = with_a_row(store, "Unique")

    driven.change_field(0, ("code", "a"))
    driven.flush(is_mended=True)
    driven.move(0, 1)
    driven.insert(2, ROW)
    driven.move(0, 2)

    driven.teardown()


@pytest.mark.parametrize("name", ["Plain", "Hooked", "Deferred", "Salted"])
def test_another_field_of_a_row_that_was_made_in_part_is_changed(store: Engine, name: str) -> None:
    driven = machine(store, next(kind for kind in KINDS if kind.model.__name__ == name))

    driven.increment(n=0, amount=0)
    driven.read_all()
    driven.change_entry(pick=0, entry="x", value="")
    driven.flush(is_mended=False)
    driven.change_field(0, ("unit", "a"))
    driven.flush(is_mended=False)

    driven.teardown()


def test_a_row_that_was_made_in_part_is_not_moved_to_where_another_row_stands(
    store: Engine,
) -> None:
    driven = with_a_row(store, "Plain")

    driven.append(1, "")
    driven.get(1)
    driven.move(1, 0)
    driven.move(1, 2)

    driven.teardown()


# --- at random -------------------------------------------------------------------------------------


@kinds
def test_sessions_leave_what_a_dict_of_versions_holds(store: Engine, kind: Kind) -> None:
    drive(store, kind, SEQUENCES)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@kinds
def test_sessions_leave_what_a_dict_of_versions_holds_for_long(store: Engine, kind: Kind) -> None:
    drive(store, kind, SOAK_SEQUENCES)
