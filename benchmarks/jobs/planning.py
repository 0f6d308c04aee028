"""Planning a statement of four conditions, beside one get: of a new shape, and of a known one.

A get is the least that any statement costs; planning should be lost in it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from benchmarks.models import PlainReading, SaltedReading, Source, sources
from benchmarks.paired import Variant, compare, pair_by_hand
from benchmarks.place import Place
from benchmarks.results import Comparison
from hbase_orm import Model, Select, select
from hbase_orm.query import Plan, Shapes, plan

TIMES = 500


def planning(place: Place) -> list[Comparison]:
    """Compare planning with gets of one row, for a plain and a salted key."""
    place.make_anew(PlainReading)
    place.make_anew(SaltedReading)
    return [_compared(place, model) for model in (PlainReading, SaltedReading)]


def _compared(place: Place, model: type[Any]) -> Comparison:
    readings = list(sources(TIMES))
    with place.engine.session() as session, session.bulk() as bulk:
        bulk.add_all(model(**source._asdict()) for source in readings)
    schema, shapes = model.__schema__, Shapes()

    def got() -> int:
        with place.engine.session() as session:
            for source in readings:
                assert session.get(model, host=source.host, at=source.at) is not None
        return TIMES

    def planned(with_shapes: Shapes | None) -> int:
        for source in readings:
            found = plan(_statement(model, source), schema, shapes=with_shapes)
            assert isinstance(found, Plan)
        return TIMES

    variants = [
        *pair_by_hand("session.get", got),
        Variant("new-shape", "made and planned, of a new shape", lambda: planned(None)),
        Variant("known-shape", "made and planned, of a known shape", lambda: planned(shapes)),
    ]
    name = "planning-salted" if model is SaltedReading else "planning"
    title = f"A statement of four conditions on {_key_of(model)}, planned, beside gets of one row"
    return compare(name, title, "statement", variants, repetitions=place.repetitions, seed=7)


def _statement(model: type[Any], source: Source) -> Select[Any]:
    make: Callable[[type[Any]], Select[Any]] = select
    return make(model).where(
        model.host == source.host,
        model.at >= source.at,
        model.at < source.at + timedelta(hours=1),
        model.status == source.status,
    )


def _key_of(model: type[Model]) -> str:
    return "a salted key" if model is SaltedReading else "a plain key"
