"""Loads the related objects of a statement's rows: one multi-get for each page and field."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.execute import Emit, Pages, Rows
from hbase_orm.model import Model
from hbase_orm.model.fields.related import Relation
from hbase_orm.ops import Nested, Protocol, RenewTimeLimit, ask
from hbase_orm.query import Select, Sort
from hbase_orm.reading.by_key import rows_with_keys
from hbase_orm.reading.results import HeldRows, sort_values
from hbase_orm.reading.stream import Watch, matching_rows, selected

RELATED_ROWS: Final = 1000
"""The most related rows in one request; more rows are read by several requests."""

Attach = Callable[[BoundModel, Any], Any]
Load = Callable[[Sequence[Any]], Protocol[None]]


def unattached(bound: BoundModel, obj: Any) -> Any:
    """Return the object unchanged, without attaching it to a session."""
    del bound
    return obj


def loader(
    stmt: Select[Any], bound_of: Callable[[type[Model]], BoundModel], attach: Attach
) -> Load:
    """Return a function that loads the related objects of given objects."""
    relations: dict[str, Relation] = {
        field.name: stmt.model.__related__[field.name] for field in stmt.related
    }

    def load(objects: Sequence[Any]) -> Protocol[None]:
        for relation in relations.values():
            yield from ask(RenewTimeLimit())
            yield from _load(objects, relation, bound_of(relation.target), attach)

    return load


def with_related(
    rows: Rows, bound: BoundModel, stmt: Select[Any], load: Load, kept: Watch = iter
) -> Rows:
    """Emit the objects that a statement selects, page by page, with their related objects loaded.

    Objects that are sorted in memory are emitted as one page.
    """
    left = stmt.row_limit
    unlimited = replace(stmt, row_limit=None)
    with closing(Pages(rows)) as pages:
        if stmt.sort is not None:  # all of them are in memory before the first is known
            yield from _sorted_with_related(pages, bound, stmt, stmt.sort, load=load, kept=kept)
            return
        while left != 0 and (page := (yield from pages.next())) is not None:
            objects = list(islice(selected(iter((page,)), bound, unlimited, kept), left))
            yield from ask(Nested(load(objects)))
            yield Emit(objects)
            if left is not None:
                left -= len(objects)


def _sorted_with_related(
    pages: Pages, bound: BoundModel, stmt: Select[Any], sort: Sort, *, load: Load, kept: Watch
) -> Rows:
    held = HeldRows(sort)
    while (page := (yield from pages.next())) is not None:
        objects = (obj for _, obj in matching_rows(iter((page,)), bound, stmt))
        held.take(kept((sort_values(obj, bound, sort.orders), obj) for obj in objects))
    results = list(islice(held.in_order(), stmt.row_limit))
    yield from ask(Nested(load(results)))
    yield Emit(results)


def _load(
    objects: Sequence[Any], relation: Relation, target: BoundModel, attach: Attach
) -> Protocol[None]:
    waiting: dict[tuple[Any, ...], list[Any]] = {}
    for obj in objects:
        waiting.setdefault(relation.key_of(obj), []).append(obj)
    named = {key: dict(zip(relation.key, key, strict=True)) for key in waiting}
    possible = [key for key, names in named.items() if target.fits(names)]
    keys = [named[key] for key in possible]
    objects_by_key: dict[tuple[Any, ...], Any] = {}
    keyed = yield from rows_with_keys(target, keys, most=RELATED_ROWS)
    for position, placed, row in keyed.rows:
        objects_by_key[possible[position]] = attach(placed, placed.hydrate(row))
    for key, owners in waiting.items():
        for obj in owners:
            relation.put(obj, objects_by_key.get(key))
