"""Converts conditions to texts, which are the same in every process.

The order of a set differs from process to process, so its members are sorted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from hbase_orm.schema.conditions import (
    And,
    Comparison,
    Condition,
    Contains,
    InValues,
    ItemBetween,
    Not,
    Or,
    StartsWith,
)
from hbase_orm.schema.entries import EntryRange


def condition_text(condition: Condition, named: Callable[[str], str] = str) -> str:
    """Return the text of a condition; equal conditions have the same text.

    Args:
        condition: The condition.
        named: A function from the name of a field to the name that the text has for it.
    """
    match condition:
        case And(conditions=inner) | Or(conditions=inner):
            parts = "),(".join(condition_text(each, named) for each in inner)
            return f"{type(condition).__name__}(({parts}))"
        case Not(condition=single):
            return f"Not({condition_text(single, named)})"
    return _leaf_text(condition, named)


def _leaf_text(condition: Condition, named: Callable[[str], str]) -> str:
    match condition:
        case Comparison(field=of, operator=operator, value=value):
            return f"{named(of.name)} {operator} {value_text(value)}"
        case InValues(field=of, values=values):
            return f"{named(of.name)} in {_sorted(values)}"
        case StartsWith(field=of, prefix=prefix):
            return f"{named(of.name)} startswith {prefix!r}"
        case Contains(field=of, value=value):
            return f"{named(of.name)} contains {value_text(value)}"
        case ItemBetween(field=of, low=low, high=high):
            return f"{named(of.name)} between {value_text(low)}, {value_text(high)}"
    return repr(condition)


def entries_text(entries: EntryRange | None) -> str:
    """Return the text of a range of dynamic columns; "whole rows" for None."""
    if entries is None:
        return "whole rows"
    ends = f"{value_text(entries.start)}, {value_text(entries.stop)}"
    return f"{entries.of!r} between {ends} limit {entries.limit}"


def value_text(value: Any) -> str:
    """Return the text of a value: times in UTC, the members of sets and dicts sorted."""
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, datetime) and value.tzinfo is not None:
        return _utc_text(value)
    if isinstance(value, Mapping):
        items = (f"{value_text(key)}: {value_text(each)}" for key, each in value.items())
        return f"{{{', '.join(sorted(items))}}}"
    if isinstance(value, AbstractSet):
        return _sorted(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(value_text, value))}]"
    return repr(value)


def _utc_text(at: datetime) -> str:
    try:
        return at.astimezone(UTC).isoformat()
    except OverflowError:  # in UTC the time is before the year 1, or after 9999
        return at.isoformat()


def _sorted(values: Iterable[Any]) -> str:
    return f"{{{', '.join(sorted(set(map(value_text, values))))}}}"
