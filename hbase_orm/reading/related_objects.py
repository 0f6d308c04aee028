"""Loads the related objects of a statement's rows: one multi-get for each page and field.

Related lists are read by statements of their own, which the session runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.execute import CorruptRows, Emit, Pages, Reading, Rows
from hbase_orm.model import Model
from hbase_orm.model.fields.related import Relation
from hbase_orm.model.fields.related_lists import ListRelation
from hbase_orm.ops import Nested, Protocol, RenewTimeLimit, ask
from hbase_orm.query import Select, Sort, select
from hbase_orm.reading.by_key import made_of, rows_with_keys
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
    stmt: Select[Any],
    bound_of: Callable[[type[Model]], BoundModel],
    attach: Attach,
    corrupt: CorruptRows,
) -> Load:
    """Return a function that loads the related objects of given objects.

    Args:
        stmt: The statement.
        bound_of: Returns a model's bound model.
        attach: Makes the related object of each object that was read.
        corrupt: Decides about related rows that do not decode. Related objects that are left out
            are None.
    """
    known = [stmt.model.__related__[field.name] for field in stmt.related]
    relations = [relation for relation in known if isinstance(relation, Relation)]

    def load(objects: Sequence[Any]) -> Protocol[None]:
        for relation in relations:
            yield from ask(RenewTimeLimit())
            yield from _load(objects, relation, bound_of(relation.target), attach, corrupt)

    return load


def related_lists(stmt: Select[Any]) -> list[ListRelation]:
    """Return the related lists that a statement loads."""
    known = [stmt.model.__related__[field.name] for field in stmt.related]
    return [relation for relation in known if isinstance(relation, ListRelation)]


def list_statement(
    stmt: Select[Any], relation: ListRelation, key: Sequence[Any]
) -> Select[Any] | None:
    """Return the statement that reads a related list; None if a field of the object is None.

    Args:
        stmt: The statement that loads the list.
        relation: The related list.
        key: The values of the object's fields, see `ListRelation.key_of`.
    """
    if any(value is None for value in key):
        return None
    conditions = [field == value for field, value in zip(relation.fields, key, strict=True)]
    wanted = select(relation.target).where(*conditions)
    limit = dict(stmt.related_limits).get(relation.name)
    return replace(wanted, row_limit=limit, corrupt_rule=stmt.corrupt_rule)


def with_related(
    rows: Rows,
    bound: BoundModel,
    stmt: Select[Any],
    corrupt: CorruptRows,
    load: Load,
    *,
    kept: Watch = iter,
) -> Rows:
    """Emit the objects that a statement selects, page by page, with their related objects loaded.

    Objects that are sorted in memory are emitted as one page.
    """
    left = stmt.row_limit
    unlimited = replace(stmt, row_limit=None)
    with closing(Pages(rows)) as pages:
        if stmt.sort is not None:  # all of them are in memory before the first is known
            results = yield from _sorted(pages, bound, stmt, corrupt, stmt.sort, kept=kept)
            yield from ask(Nested(load(results)))
            yield Emit(results)
            return
        while left != 0 and (page := (yield from pages.next())) is not None:
            objects = list(islice(selected(iter((page,)), bound, unlimited, corrupt, kept), left))
            yield from ask(Nested(load(objects)))
            yield Emit(objects)
            if left is not None:
                left -= len(objects)


def _sorted(
    pages: Pages,
    bound: BoundModel,
    stmt: Select[Any],
    corrupt: CorruptRows,
    sort: Sort,
    *,
    kept: Watch,
) -> Reading[list[Any]]:
    held = HeldRows(sort)
    while (page := (yield from pages.next())) is not None:
        objects = (obj for _, obj in matching_rows(iter((page,)), bound, stmt, corrupt))
        held.take(kept((sort_values(obj, bound, sort.orders), obj) for obj in objects))
    return list(islice(held.in_order(), stmt.row_limit))


def _load(
    objects: Sequence[Any],
    relation: Relation,
    target: BoundModel,
    attach: Attach,
    corrupt: CorruptRows,
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
        obj = made_of(row, placed, corrupt)
        if obj is not None:
            objects_by_key[possible[position]] = attach(placed, obj)
    for key, owners in waiting.items():
        for obj in owners:
            relation.put(obj, objects_by_key.get(key))
