"""Loads the related objects of a statement's rows: one multi-get for each page and field."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.runtime import Runtime
from hbase_orm.model import Model
from hbase_orm.model.fields.related import Relation
from hbase_orm.ops import Row
from hbase_orm.query import Select
from hbase_orm.reading.by_key import rows_with_keys
from hbase_orm.reading.stream import Watch, selected

RELATED_ROWS: Final = 1000
"""More related rows are read by several requests."""

Attach = Callable[[BoundModel, Any], Any]
Load = Callable[[Sequence[Any]], None]


def unattached(bound: BoundModel, obj: Any) -> Any:
    """Return the object as it is, belonging to no session."""
    del bound
    return obj


def loader(
    stmt: Select[Any],
    bound_of: Callable[[type[Model]], BoundModel],
    runtime: Runtime,
    attach: Attach,
) -> Load:
    """Return what loads the related objects that a statement asks for."""
    relations: dict[str, Relation] = {
        field.name: stmt.model.__related__[field.name] for field in stmt.related
    }

    def load(objects: Sequence[Any]) -> None:
        for relation in relations.values():
            _load(objects, relation, bound_of(relation.target), runtime, attach)

    return load


def with_related(
    pages: Iterable[Sequence[Row]],
    bound: BoundModel,
    stmt: Select[Any],
    load: Load,
    kept: Watch = iter,
) -> Iterator[Any]:
    """Yield what a statement selects, the related objects of each page loaded before its first."""
    if stmt.sort is not None:  # all of them are in memory before the first is known
        objects = list(selected(iter(pages), bound, stmt, kept))
        load(objects)
        yield from objects
        return
    left = stmt.row_limit
    unlimited = replace(stmt, row_limit=None)
    for page in pages:
        objects = list(islice(selected(iter((page,)), bound, unlimited), left))
        load(objects)
        yield from objects
        if left is not None:
            left -= len(objects)
            if left == 0:
                return


def _load(
    objects: Sequence[Any],
    relation: Relation,
    target: BoundModel,
    runtime: Runtime,
    attach: Attach,
) -> None:
    waiting: dict[tuple[Any, ...], list[Any]] = {}
    for obj in objects:
        waiting.setdefault(relation.key_of(obj), []).append(obj)
    named = {key: dict(zip(relation.key, key, strict=True)) for key in waiting}
    possible = [key for key, names in named.items() if target.fits(names)]
    keys = [named[key] for key in possible]
    objects_by_key: dict[tuple[Any, ...], Any] = {}
    rows = runtime.run(rows_with_keys(target, keys, most=RELATED_ROWS))
    for position, placed, row in rows.rows:
        objects_by_key[possible[position]] = attach(placed, placed.hydrate(row))
    for key, owners in waiting.items():
        for obj in owners:
            relation.put(obj, objects_by_key.get(key))
