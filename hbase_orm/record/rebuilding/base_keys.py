"""Makes the part of the row key that the record types of one base share."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hbase_orm.record.rebuilding.class_bodies import ClassBody, RecordedClass
from hbase_orm.record.rebuilding.key_components import KeyBuilder, without_ends
from hbase_orm.record.specifications import Spec
from hbase_orm.rowkey import rowkey
from hbase_orm.rowkey.components import Component


@dataclass(frozen=True, slots=True)
class BaseKey:
    """The row key of a base: the parts with which the keys of all its record types begin.

    Attributes:
        keys: The key fields by their positions in the record.
        known: The components, by name or specification.
        body: The body of the base's class.
    """

    keys: Mapping[int, Any]
    known: Mapping[str, Component]
    body: ClassBody


def base_key(group: Sequence[RecordedClass], body: ClassBody) -> BaseKey:
    """Add the shared key fields and the row key of record types to the body of their base.

    Raises:
        DeclarationError: A component needs a function that is not supplied, or is unknown.
        RecordError: The record is damaged.
    """
    first = group[0]
    count = _shared_count(group)
    positions = {n for spec in first.rows.key[:count] for n in _mentioned(spec)}
    names = [name for name in first.order() if name in first.keys]
    keys = {
        first.keys.index(name): body.add(name, first.field(name))
        for name in names
        if first.keys.index(name) in positions
    }
    builder = KeyBuilder(keys, iter(first.options.parts), first.options.values, first.supplied)
    components = [builder.source(part) for part in first.parts[:count]]
    body.values["__rowkey__"] = rowkey(*components)
    return BaseKey(keys, builder.known, body)


def _shared_count(group: Sequence[RecordedClass]) -> int:
    """Return the number of parts with which the keys of all record types begin."""
    count = 0
    for parts in zip(*(each.rows.key for each in group), strict=False):
        shown = [_shown(each, part) for each, part in zip(group, parts, strict=True)]
        if any(other != shown[0] for other in shown):
            break
        count += 1
    return count


def _shown(recorded: RecordedClass, part: Spec) -> tuple[Any, Sequence[str]]:
    """Return a part without what differs between record types, and the names of its fields."""
    kind = "Fixed" if part.get("derived") == "Fixed" else without_ends(part)
    return kind, [recorded.keys[n] for n in _mentioned(part) if n < len(recorded.keys)]


def _mentioned(part: Spec) -> Collection[int]:
    return list(_fields_in(part))


def _fields_in(part: Any) -> Iterator[int]:
    if not isinstance(part, dict):
        return
    number = part.get("field")
    if type(number) is int:
        yield number
    inputs = part.get("of")
    for each in inputs if isinstance(inputs, list) else []:
        yield from _fields_in(each)
