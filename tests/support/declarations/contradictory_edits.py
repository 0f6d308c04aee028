"""Edits after which a model must be refused: the documented rules, by kinds of edits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from tests.support.declarations.edited import Edit, Edited, changed, new_field, without
from tests.support.declarations.plain_models import (
    INT64,
    KEY_KINDS,
    VALUE_KINDS,
    KeySpec,
    ModelSpec,
)


def column_codec(edited: Edited) -> ModelSpec | None:
    free = edited.plain(is_anchor=None)
    if edited.spec.indexes:
        free = [f for f in free if f.name not in edited.indexed()]
    chosen = edited.pick(free)
    if chosen is None:
        return None
    alike = [k for k in VALUE_KINDS if k.python is chosen.kind.python and k != chosen.kind]
    others = [k for k in VALUE_KINDS if k != chosen.kind]
    kind = edited.chance.choice(alike or others)
    default = None if chosen.default is None else kind.values[0]
    return changed(edited, chosen.name, kind=kind, default=default)


def becomes_counter(edited: Edited) -> ModelSpec | None:
    chosen = edited.pick([f for f in edited.plain() if f.name not in edited.indexed()])
    return chosen and changed(
        edited, chosen.name, kind=INT64, role="counter", nullable=False, default=None
    )


def other_qualifier(edited: Edited) -> ModelSpec | None:
    """Let a field stand for a column that no field had."""
    chosen = edited.pick(edited.plain(is_anchor=None))
    return chosen and changed(edited, chosen.name, column=f"{chosen.family}:{edited.fresh()}")


def swap_qualifiers(edited: Edited) -> ModelSpec | None:
    """Let two fields of one kind stand for each other's columns."""
    free = [f for f in edited.plain(is_anchor=None) if f.name not in edited.touched]
    pairs = [
        (one, other)
        for one in free
        for other in free
        if one.name < other.name and one.of == other.of
    ]
    alike = [pair for pair in pairs if pair[0].kind == pair[1].kind]
    if not pairs:
        return None
    one, other = edited.chance.choice(alike or pairs)
    edited.touched |= {one.name, other.name}
    changed = edited.spec.with_field(one.name, column=other.column)
    return changed.with_field(other.name, column=one.column)


def remove_anchor(edited: Edited) -> ModelSpec | None:
    if "class" in edited.touched:
        return None
    chosen = edited.pick([f for f in edited.spec.fields if f.name in edited.anchors])
    if chosen is None:
        return None
    edited.touched.add("class")
    return without(edited.spec, chosen.name)


def nullable_anchor(edited: Edited) -> ModelSpec | None:
    free = [f for f in edited.spec.fields if f.name in edited.anchors]
    if edited.spec.without_thrift2:
        free = [f for f in free if f.name not in edited.indexed()]
    chosen = edited.pick(free)
    return chosen and changed(edited, chosen.name, nullable=True, default=None)


def new_family(edited: Edited) -> ModelSpec | None:
    changed = replace(edited.spec, families={**edited.spec.families, "f": {}})
    if not edited.touch("families"):
        return None
    edited.spec = changed
    return new_field(edited, family="f", nullable=True)


def _with_keys(
    edited: Edited, change: Callable[[list[KeySpec]], list[KeySpec] | None]
) -> ModelSpec | None:
    if not edited.touch("key") or any(each.name in edited.touched for each in edited.spec.keys):
        return None
    keys = change(list(edited.spec.keys))
    if keys is None:
        return None
    edited.touched |= {each.name for each in (*keys, *edited.spec.keys)}
    return replace(edited.spec, keys=tuple(keys))


def key_codec(edited: Edited) -> ModelSpec | None:
    def change(keys: list[KeySpec]) -> list[KeySpec] | None:
        place = edited.chance.choice([n for n, each in enumerate(keys) if each.name != "at"])
        others = [kind for kind in KEY_KINDS if kind != keys[place].kind]
        keys[place] = replace(keys[place], kind=edited.chance.choice(others))
        return keys

    return _with_keys(edited, change)


def add_key(edited: Edited) -> ModelSpec | None:
    def change(keys: list[KeySpec]) -> list[KeySpec] | None:
        place = edited.chance.randint(0, len(keys))
        return [
            *keys[:place],
            KeySpec(edited.fresh(), edited.chance.choice(KEY_KINDS)),
            *keys[place:],
        ]

    return _with_keys(edited, change)


def remove_key(edited: Edited) -> ModelSpec | None:
    def change(keys: list[KeySpec]) -> list[KeySpec] | None:
        free = [each for each in keys if each.name != "at"]
        gone = edited.chance.choice(free)
        return [each for each in keys if each != gone] if len(keys) > 1 else None

    return None if edited.spec.salt else _with_keys(edited, change)


def reorder_key(edited: Edited) -> ModelSpec | None:
    def change(keys: list[KeySpec]) -> list[KeySpec] | None:
        others = keys[::-1]
        is_other = [each.kind for each in others] != [each.kind for each in keys]
        return others if is_other else None

    return _with_keys(edited, change)


def swap_key_fields(edited: Edited) -> ModelSpec | None:
    """Let two key fields of one kind change places: the bytes of keys look the same."""

    def change(keys: list[KeySpec]) -> list[KeySpec] | None:
        if len(keys) < 2 or keys[0].kind != keys[1].kind:
            return None
        return [keys[1], keys[0], *keys[2:]]

    return _with_keys(edited, change)


def salt_count(edited: Edited) -> ModelSpec | None:
    spec = edited.spec
    if spec.types or spec.period or not edited.touch("salt"):
        return None
    return replace(spec, salt=edited.chance.choice([n for n in (0, 2, 4, 8, 8) if n != spec.salt]))


def record_types_text(edited: Edited) -> ModelSpec | None:
    """Let the rows of a record type have another text in their keys."""
    spec = edited.spec
    if not spec.types or not edited.touch("types") or "class" in edited.touched:
        return None
    edited.touched.add("class")
    types = {
        ("D" if record_type == "A" else record_type): n for record_type, n in spec.types.items()
    }
    fields = tuple(replace(each, of="D") if each.of == "A" else each for each in spec.fields)
    keys = tuple(replace(each, of="D") if each.of == "A" else each for each in spec.keys)
    return replace(spec, types=types, fields=fields, keys=keys)


def record_types_key(edited: Edited) -> ModelSpec | None:
    """Give a record type another key field."""
    spec = edited.spec
    if not spec.types or not edited.touch("key"):
        return None
    new = KeySpec(edited.fresh(), edited.chance.choice(KEY_KINDS), of=min(spec.types))
    return replace(spec, keys=(*spec.keys, new))


CONTRADICTORY: Final[Mapping[str, Edit]] = MappingProxyType(
    {
        "change a column's codec": column_codec,
        "a column becomes a counter": becomes_counter,
        "a field stands for another column": other_qualifier,
        "two fields swap their columns": swap_qualifiers,
        "remove the anchor": remove_anchor,
        "make the anchor nullable": nullable_anchor,
        "add a column in a new family": new_family,
        "change a key field's codec": key_codec,
        "add a key component": add_key,
        "remove a key component": remove_key,
        "reorder the key": reorder_key,
        "two key fields of one type swap": swap_key_fields,
        "change the salt": salt_count,
        "change a record type's text": record_types_text,
        "change a record type's key": record_types_key,
    }
)
"""The edits after which a model must be refused."""
