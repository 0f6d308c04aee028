"""OR: conditions as alternatives without it, each of which narrows the key in its own way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hbase_orm.ops import KeyRange
from hbase_orm.query.access import MAX_PATHS, MAX_RANGES
from hbase_orm.query.bounds import Bounds, NothingMatchesError, bounds_of
from hbase_orm.query.paths import KeyAccess, Path, constant_of
from hbase_orm.schema import And, Comparison, Condition, InValues, Or, TableSchema

MAX_ALTERNATIVES: Final = 64
"""An OR that would make more of them is left to the client's check: a wider range costs less."""

_NOTHING_MORE: Final = KeyRange(stop=b"\x00")

Group = tuple[Condition, ...]


def alternatives(conditions: Sequence[Condition]) -> tuple[Group, ...]:
    """Return groups of conditions: all of `conditions` hold exactly if all of one group do."""
    found: list[Group] = [()]
    for condition in conditions:
        options = _options(condition)
        if len(found) * len(options) > MAX_ALTERNATIVES:
            options = ((condition,),)
        found = [(*one, *more) for one in found for more in options]
    return tuple(found)


def _options(condition: Condition) -> tuple[Group, ...]:
    match condition:
        case And(conditions=inner):
            return alternatives(inner)
        case Or(conditions=inner):
            return tuple(option for part in _joined(inner) for option in _options(part))
    return ((condition,),)


def _joined(conditions: Sequence[Condition]) -> list[Condition]:
    """Return the alternatives with the equal values of each field joined in one list."""
    equal: dict[str, InValues] = {}
    others: list[Condition] = []
    for condition in conditions:
        match condition:
            case Comparison(field=of, operator="==", value=value):
                values: tuple[Any, ...] = (value,)
            case InValues(field=of, values=values):
                pass
            case _:
                others.append(condition)
                continue
        known = equal[of.name].values if of.name in equal else ()
        equal[of.name] = InValues(of, (*known, *values))
    return [*equal.values(), *others]


@dataclass(frozen=True, slots=True)
class Option:
    """One alternative that some row can fulfil.

    Attributes:
        conditions: They all hold.
        bounds: What they say of each field.
    """

    conditions: Sequence[Condition]
    bounds: Mapping[str, Bounds]


def bounds_of_each(
    schema: TableSchema, conditions: Sequence[Condition]
) -> list[Mapping[str, Bounds]]:
    """Return the bounds of every alternative that some row can fulfil.

    Raises:
        NothingMatchesError: There is none.
    """
    return [option.bounds for option in options_of(schema, conditions)]


def options_of(schema: TableSchema, conditions: Sequence[Condition]) -> list[Option]:
    """Return every alternative that some row can fulfil.

    Raises:
        NothingMatchesError: There is none.
    """
    found, reason = [], ""
    for group in alternatives(conditions):
        try:
            found.append(Option(group, bounds_of(schema, group)))
        except NothingMatchesError as error:
            reason = str(error)
    if not found:
        raise NothingMatchesError(reason)
    return found


def united(accesses: Sequence[KeyAccess], *, are_whole_keys: bool) -> KeyAccess | None:
    """Return what several alternatives read of one key; None if they are far too many ranges.

    Args:
        accesses: Each alternative's.
        are_whole_keys: Whether nothing follows in a key whose parts are all known.
    """
    if len(accesses) == 1:
        return accesses[0]
    is_complete = all(access.is_complete for access in accesses)
    pairs: dict[tuple[Any, ...], tuple[Path, KeyRange | None]] = {}
    for access in accesses:
        is_one_row = access.is_complete and are_whole_keys and not is_complete
        for path, limits_of_path in zip(access.paths, access.limits, strict=True):
            limits = _NOTHING_MORE if is_one_row else limits_of_path
            pairs.setdefault((path.start, path.spread, path.rest, limits), (path, limits))
    combinations = {(start, rest, limits) for start, _, rest, limits in pairs}
    if len(combinations) > MAX_PATHS or len(pairs) > MAX_RANGES:
        return None
    return KeyAccess(
        paths=tuple(path for path, _ in pairs.values()),
        limits=tuple(limits for _, limits in pairs.values()),
        run=min(access.run for access in accesses),
        told=min(access.told for access in accesses),
        is_complete=is_complete,
        narrows=all(access.narrows for access in accesses),
        constant=constant_of([path for access in accesses for path in access.paths]),
    )
