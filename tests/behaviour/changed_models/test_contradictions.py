"""Declarations that contradict the record of their table: every verb refuses them.

On code without records, each of these programs misread rows, hid them, wrote them twice or deleted
good index entries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

import pytest

from hbase_orm import Engine, codecs, func, select
from hbase_orm.errors import FeatureMissingError, QueryError, SchemaDriftError, SchemaError
from tests.support.changed_models import FIRST, WITH_INDEXES, Programs, col, fill

SHOP = "s"
LATER = datetime(2100, 1, 1, tzinfo=UTC)

CHANGES: Final = {
    "the anchor's qualifier": (FIRST.having(customer=col(str, "k")), "field customer"),
    "the anchor may be None": (FIRST.having(customer=col(str, "c", nullable=True)), "column d:c"),
    "the anchor is gone": (FIRST.without("customer"), "column d:c"),
    "a qualifier": (
        FIRST.having(weight=col(int, "z", codec=codecs.uint16())),
        "field weight",
    ),
    "two qualifiers changed places": (
        FIRST.having(customer=col(str, "t"), city=col(str, "c")),
        "field customer",
    ),
    "the codec of a column": (
        FIRST.having(size=col(int, "s", codec=codecs.int32())),
        "codec of column d:s",
    ),
    "the width of a column": (
        FIRST.having(weight=col(int, "w", codec=codecs.uint32())),
        "codec of column d:w",
    ),
    "more salt": (replace(FIRST, salt=8), "row key"),
    "no salt": (replace(FIRST, salt=0), "row key"),
    "the codec of a key field": (replace(FIRST, number=codecs.int32), "row key"),
    "the width of a key field": (replace(FIRST, number=codecs.uint64), "row key"),
    "the order of a key field": (
        replace(FIRST, number=partial(codecs.uint32, desc=True)),
        "row key",
    ),
    "the order of the key": (replace(FIRST, parts=("number", "shop")), "row key"),
}

Verb = Callable[[Engine, Any], object]


def made(model: Any, number: int = 50) -> Any:
    """Return an object with a value for each field that needs one."""
    texts = {"customer": "new", "city": "s-1"}
    given = {name: value for name, value in texts.items() if name in model.__schema__.fields}
    return model(shop=SHOP, number=number, size=1, weight=1, **given)


def mine(model: Any) -> Any:
    return select(model).where(model.shop == SHOP, model.number == 1)


def added(engine: Engine, model: Any) -> None:
    with engine.session() as session:
        session.add(made(model, 1))


def deleted(engine: Engine, model: Any) -> None:
    with engine.session() as session:
        session.delete(made(model, 1))


def loaded(engine: Engine, model: Any, **options: Any) -> None:
    with engine.session() as session, session.bulk(**options) as bulk:
        bulk.add(made(model))


def streamed(engine: Engine, model: Any) -> list[Any]:
    with engine.session().stream(mine(model)) as stream:
        return list(stream)


READS: Final[dict[str, Verb]] = {
    "get": lambda engine, model: engine.session().get(model, shop=SHOP, number=1),
    "get_many": lambda engine, model: engine.session().get_many(model, [(SHOP, 1), (SHOP, 2)]),
    "all": lambda engine, model: engine.session().all(mine(model)),
    "all of the table": lambda engine, model: engine.session().all(select(model).allow_full_scan()),
    "values": lambda engine, model: engine.session().all(
        select(model.number, model.size).where(model.shop == SHOP, model.number == 1)
    ),
    "first": lambda engine, model: engine.session().first(mine(model)),
    "stream": streamed,
    "page": lambda engine, model: engine.session().page(mine(model), size=5),
    "count": lambda engine, model: engine.session().count(mine(model)),
    "exists": lambda engine, model: engine.session().exists(mine(model)),
    "aggregate": lambda engine, model: engine.session().all(
        select(func.max(model.size)).where(model.shop == SHOP, model.number == 1)
    ),
    "the past": lambda engine, model: engine.session().all(mine(model).as_of(LATER)),
    "explain": lambda engine, model: engine.session().explain(mine(model)),
    "analyze": lambda engine, model: engine.session().explain(mine(model), analyze=True),
}

WRITES: Final[dict[str, Verb]] = {
    "add": added,
    "put_row": lambda engine, model: engine.session().put_row(
        model, model.weight.to(1), shop=SHOP, number=1
    ),
    "increment": lambda engine, model: engine.session().increment(
        model, model.hits.by(1), shop=SHOP, number=1
    ),
    "bulk": loaded,
    "bulk(insert_only)": partial(loaded, insert_only=True),
    "create_tables": lambda engine, model: engine.create_tables(model),
}

SOMETIMES: Final[dict[str, Verb]] = {
    "delete": deleted,
    "delete_row": lambda engine, model: engine.session().delete_row(model, shop=SHOP, number=1),
    "stored_cells": lambda engine, model: engine.session().stored_cells(model, shop=SHOP, number=1),
    "insert": lambda engine, model: engine.session().insert(made(model)),
    "insert again": lambda engine, model: engine.session().insert(made(model, 1)),
    "replace": lambda engine, model: engine.session().replace(made(model, 1)),
    "put_if": lambda engine, model: engine.session().put_if(made(model, 1), model.size == 1),
    "delete_if": lambda engine, model: engine.session().delete_if(made(model, 1), model.size == 1),
    "update": lambda engine, model: engine.session().update(
        model, lambda each: setattr(each, "size", 9), shop=SHOP, number=1
    ),
    "append": lambda engine, model: engine.session().append(
        model, model.note, "!", shop=SHOP, number=1
    ),
    "delete_where": lambda engine, model: engine.session().delete_where(mine(model)),
}
"""What some models, or Thrift1 alone, refuse anyway: before the record is read."""

OF_INDEXES: Final[dict[str, Verb]] = {
    "verify_index": lambda engine, model: engine.verify_index(model, "by_city"),
    "verify and repair": lambda engine, model: engine.verify_index(
        model, "by_city", repair=True, min_age_ms=0
    ),
    "repair_indexes": lambda engine, model: engine.repair_indexes(model, min_age_ms=0),
    "build_index": lambda engine, model: engine.build_index(model, "by_city"),
    "rebuild": lambda engine, model: engine.build_index(model, "by_city", rebuild=True),
}


def refusal(verb: Verb, engine: Engine, model: Any) -> type[Exception] | None:
    """Return the class of the error that a verb ends in."""
    try:
        verb(engine, model)
    except (SchemaError, FeatureMissingError, QueryError) as error:
        return type(error)
    return None


@pytest.fixture(scope="module")
def filled(programs: Programs) -> Programs:
    fill(programs, programs.model(FIRST), SHOP)
    return programs


@pytest.mark.parametrize("change", CHANGES)
def test_every_verb_is_refused_and_nothing_is_changed(filled: Programs, change: str) -> None:
    declared, _ = CHANGES[change]
    model, engines, before = filled.model(declared), filled.first_uses(), filled.raw()
    verbs = READS | WRITES | (OF_INDEXES if filled.kind in WITH_INDEXES else {})

    ended = {name: refusal(verb, next(engines), model) for name, verb in verbs.items()}
    others = {name: refusal(verb, next(engines), model) for name, verb in SOMETIMES.items()}

    assert ended == dict.fromkeys(verbs, SchemaDriftError)
    assert set(others.values()) <= {
        SchemaDriftError,
        SchemaError,  # of the catalog, which knows the row key and the indexes too
        FeatureMissingError,
        QueryError,
    }
    assert filled.raw() == before


@pytest.mark.only_on("memory")
@pytest.mark.parametrize("change", CHANGES)
def test_a_program_that_has_used_the_old_class_refuses_the_new_one(
    filled: Programs, change: str
) -> None:
    declared, _ = CHANGES[change]
    model, verbs = filled.model(declared), READS | WRITES | SOMETIMES
    fill(filled, filled.model(FIRST), SHOP)
    before = filled.raw()

    ended = {refusal(verb, filled.old, model) for verb in verbs.values()}

    assert ended <= {SchemaDriftError, SchemaError, FeatureMissingError, QueryError}
    assert filled.raw() == before


@pytest.mark.only_on("memory")
@pytest.mark.parametrize("change", CHANGES)
def test_the_refusal_names_what_differs_on_both_sides_and_the_way_to_go(
    filled: Programs, change: str
) -> None:
    declared, subject = CHANGES[change]
    model = filled.model(declared)

    with pytest.raises(SchemaDriftError) as caught:
        filled.new().session().get(model, shop=SHOP, number=1)

    error = caught.value
    named = [each for each in error.differences if each.startswith(subject)]
    assert named
    assert all("recorded" in each and "declared" in each for each in named)
    assert (error.model, error.table.rpartition(":")[2]) == ("Order", filled.table)
    assert "declare what the record says" in error.fix


@pytest.mark.parametrize("programs", ["guarded", "lww"], indirect=True, scope="module")
@pytest.mark.parametrize("change", CHANGES)
def test_reading_by_an_index_is_refused_and_deletes_no_entry(filled: Programs, change: str) -> None:
    declared, _ = CHANGES[change]
    model, engine = filled.model(declared), filled.later()
    before = filled.raw()

    for _ in range(4):
        with pytest.raises(SchemaError):
            engine.session().all(select(model).where(model.city == "s-1"))

    assert filled.raw() == before


def test_the_old_program_reads_everything_afterwards(filled: Programs) -> None:
    model = filled.model(FIRST)
    for declared, _ in CHANGES.values():
        refusal(READS["all"], filled.new(), filled.model(declared))
        refusal(added, filled.new(), filled.model(declared))

    rows = filled.old.session().all(select(model).where(model.shop == SHOP))

    assert [(row.number, row.customer, row.size) for row in rows] == [
        (n, f"c{n}", n) for n in range(10)
    ]
