"""Decides whether a key gives the rows of each group one after another.

Then groups need no memory.

A group may be named by fields and by functions of fields. A function of time, such as `func.day`,
never falls while its time rises: rows in the order of the time are in the order of the function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from hbase_orm.rowkey import Part
from hbase_orm.rowkey.derivations import PeriodOf
from hbase_orm.rowkey.periods import UNITS, Unit
from hbase_orm.schema import Expr, FunctionExpr

SortsBy = Callable[[Sequence[Part], str], bool]
"""A function: whether rows that differ only in the given parts are in the order of a field."""

# A function that gives different texts different results: equal results are equal texts.
_REVERSIBLE: Final = "digit_reversed"


def streams_groups(
    groups: Sequence[Expr[Any]],
    parts: Sequence[Part],
    constant: frozenset[str],
    sorts_by: SortsBy,
) -> bool:
    """Return whether the rows of each group are read one after another.

    Args:
        groups: The fields, and functions of fields, that the groups are named by.
        parts: The parts of the key that decide the order of the rows.
        constant: The fields and parts that have the same value in all rows.
        sorts_by: A function that returns whether given parts sort by the field with a given name.
    """
    of_group = constant.union(*(_names(group) for group in groups))
    known = set(constant)
    for number, part in enumerate(parts):
        missing = [group for group in groups if not _is_known(group, known)]
        if not missing or _are_in_order(missing, parts[number:], sorts_by):
            return True
        decided = _decided_by(part, groups, of_group)
        if decided is None:
            return False
        known.add(decided)
    return all(_is_known(group, known) for group in groups)


def _names(group: Expr[Any]) -> set[str]:
    """Return the names of the fields and functions that have only one value in each group."""
    if isinstance(group, FunctionExpr) and group.function == _REVERSIBLE:
        return {group.name, group.of.name}
    return {group.name}


def _is_known(group: Expr[Any], known: set[str]) -> bool:
    if isinstance(group, FunctionExpr) and group.of.name in known:
        return True
    return group.name in known


def _decided_by(part: Part, groups: Sequence[Expr[Any]], of_group: frozenset[str]) -> str | None:
    """Return the name of the value that a part decides; None if the part differs in a group."""
    if not (part.codec.canonical or part.is_ordered):
        return None
    # A part that is computed from the group's own fields has one value in a group.
    if part.fields and of_group.issuperset(part.fields):
        return part.name if part.lookup is None else part.lookup.field
    for group in groups:
        unit, period = _unit(group), part.derivation
        if isinstance(period, PeriodOf) and period.unit == unit and part.fields == (_field(group),):
            return group.name
    return None


def _are_in_order(missing: Sequence[Expr[Any]], parts: Sequence[Part], sorts_by: SortsBy) -> bool:
    """Return whether all missing groups are of one field, and rows are in the order of each."""
    name = _field(missing[0])
    if any(_field(group) != name for group in missing):
        return False
    units = [_unit(group) for group in missing]
    if any(isinstance(group, FunctionExpr) and not _unit(group) for group in missing):
        return False
    if sorts_by(parts, name):
        return True
    period = parts[0].derivation
    if not isinstance(period, PeriodOf) or parts[0].fields != (name,) or not parts[0].is_ordered:
        return False
    return all(unit is not None and unit.contains(period.unit) for unit in units)


def _field(group: Expr[Any]) -> str:
    return group.of.name if isinstance(group, FunctionExpr) else group.name


def _unit(group: Expr[Any]) -> Unit | None:
    """Return the unit of time that a function rounds down to; None for others and for fields."""
    return UNITS.get(group.function) if isinstance(group, FunctionExpr) else None
