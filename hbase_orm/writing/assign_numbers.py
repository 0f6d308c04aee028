"""Gives numbers to the names in row keys of objects, before the rows are written."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.model import Model
from hbase_orm.ops import Protocol


def assign_substitute_numbers(
    pending: Iterable[tuple[Model, str]], bound_of: Callable[[type[Model]], BoundModel]
) -> Protocol[list[Model]]:
    """Give numbers to the new names in the row keys of many objects, before they are written.

    Names of an object to delete get no new numbers. If a name in its key has no number yet, its row
    cannot exist.

    Args:
        pending: The objects, each with the kind of its write.
        bound_of: A function that returns the bound model of a class.

    Returns:
        The objects to delete whose rows cannot exist.

    Raises:
        RowKeyError, ValidationError: A value of an object does not fit; no number was given.
    """
    to_write: dict[type[Model], list[Model]] = {}
    to_delete: dict[type[Model], list[Model]] = {}
    for obj, kind in pending:
        bound = bound_of(type(obj))
        if not bound.keys.are_names_known(obj.__dict__):
            chosen = to_delete if kind == "delete" else to_write
            chosen.setdefault(type(obj), []).append(obj)
    for model, objects in to_write.items():
        for obj in objects:
            bound_of(model).check_values(obj.__dict__)
    for model, objects in to_write.items():
        yield from bound_of(model).keys.allocate_names([obj.__dict__ for obj in objects])
    rowless: list[Model] = []
    for model, objects in to_delete.items():
        keys = bound_of(model).keys
        yield from keys.look_up_names([obj.__dict__ for obj in objects])
        rowless += [obj for obj in objects if not keys.are_names_known(obj.__dict__)]
    return rowless
