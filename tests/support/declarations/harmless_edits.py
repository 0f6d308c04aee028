"""Edits after which a model must be used: the documented rules, by kinds of edits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from tests.support.declarations.edited import Edit, Edited, changed, new_field, without
from tests.support.declarations.plain_models import (
    INT64,
    TEXT,
    FieldSpec,
    IndexSpec,
    ModelSpec,
)
from tests.support.declarations.random_plain_models import (
    indexable,
    with_random_index,
)

# --- columns ---------------------------------------------------------------------------------------


def add_nullable(edited: Edited) -> ModelSpec | None:
    return new_field(edited, nullable=True)


def add_with_default(edited: Edited) -> ModelSpec | None:
    return new_field(edited, has_default=True)


def add_required(edited: Edited) -> ModelSpec | None:
    return new_field(edited)


def add_counter(edited: Edited) -> ModelSpec | None:
    return new_field(edited, kind=INT64, role="counter")


def add_dynamic(edited: Edited) -> ModelSpec | None:
    return new_field(edited, kind=TEXT, role="dynamic", end=":")


def reorder_columns(edited: Edited) -> ModelSpec | None:
    fields = list(edited.spec.fields)
    edited.chance.shuffle(fields)
    return replace(edited.spec, fields=tuple(fields))


def remove_column(edited: Edited) -> ModelSpec | None:
    chosen = edited.pick([f for f in edited.plain() if f.name not in edited.indexed()])
    return chosen and without(edited.spec, chosen.name)


def remove_counter(edited: Edited) -> ModelSpec | None:
    chosen = edited.pick([f for f in edited.spec.fields if f.role == "counter"])
    return chosen and without(edited.spec, chosen.name)


def remove_dynamic(edited: Edited) -> ModelSpec | None:
    chosen = edited.pick([f for f in edited.spec.fields if f.role == "dynamic"])
    return chosen and without(edited.spec, chosen.name)


def rename_field(edited: Edited) -> ModelSpec | None:
    chosen = edited.pick([f for f in edited.spec.fields if f.role != "version"])
    if chosen is None:
        return None
    new, spec = edited.fresh(), edited.spec
    edited.touched.add(new)
    if chosen.name in edited.anchors:
        edited.anchors |= {new}
    indexes = tuple(
        replace(
            index,
            parts=tuple((new if n == chosen.name else n, falls) for n, falls in index.parts),
            include=tuple(new if n == chosen.name else n for n in index.include),
        )
        for index in spec.indexes
    )
    return replace(spec.with_field(chosen.name, name=new), indexes=indexes)


def change_default(edited: Edited) -> ModelSpec | None:
    free = [f for f in edited.plain(is_anchor=None) if not f.nullable]
    if edited.spec.without_thrift2:
        free = [f for f in free if f.name not in edited.indexed()]
    chosen = edited.pick(free)
    if chosen is None:
        return None
    others = [None, *chosen.kind.values]
    default = edited.chance.choice([v for v in others if v != chosen.default])
    return changed(edited, chosen.name, default=default)


def make_nullable(edited: Edited) -> ModelSpec | None:
    free = [f for f in edited.plain() if not f.nullable]
    if edited.spec.without_thrift2:
        free = [f for f in free if f.name not in edited.indexed()]
    chosen = edited.pick(free)
    return chosen and changed(edited, chosen.name, nullable=True, default=None)


def make_required(edited: Edited) -> ModelSpec | None:
    chosen = edited.pick([f for f in edited.plain() if f.nullable])
    if chosen is None:
        return None
    default = edited.chance.choice((None, *chosen.kind.values[:1]))
    return changed(edited, chosen.name, nullable=False, default=default)


# --- what is around columns ------------------------------------------------------------------------


def rename_key_field(edited: Edited) -> ModelSpec | None:
    chosen = edited.pick([each for each in edited.spec.keys if each.name != "at"])
    if chosen is None:
        return None
    new = edited.fresh()
    edited.touched.add(new)
    keys = (replace(each, name=new) if each == chosen else each for each in edited.spec.keys)
    return replace(edited.spec, keys=tuple(keys))


def rename_class(edited: Edited) -> ModelSpec | None:
    if not edited.touch("class"):
        return None
    types = {record_type: f"{name}Other" for record_type, name in edited.spec.types.items()}
    return replace(edited.spec, name="Other", types=types)


def leave_out_anchor(edited: Edited) -> ModelSpec | None:
    """Make the model a view: another class, without the column that shows that a row exists."""
    spec = edited.spec
    if spec.types or not edited.touch("class"):
        return None
    chosen = edited.pick([f for f in spec.fields if f.name in edited.anchors])
    if chosen is None or chosen.name in edited.indexed():
        return None
    return replace(without(spec, chosen.name), name="View")


def family_option(edited: Edited) -> ModelSpec | None:
    spec, chance = edited.spec, edited.chance
    name = chance.choice(sorted(spec.families))
    options: list[dict[str, Any]] = [{"versions": 5}, {"compression": "GZ"}, {"block_cache": False}]
    return replace(
        spec, families={**spec.families, name: {**spec.families[name], **chance.choice(options)}}
    )


def add_index(edited: Edited) -> ModelSpec | None:
    changed = with_random_index(edited.chance, edited.spec)
    if changed is not None:
        edited.touched |= {"indexes", *changed.indexes[-1].fields}
    return changed


def remove_index(edited: Edited) -> ModelSpec | None:
    """Take one index away, or all: then the model is plain, and the table has guards."""
    if not edited.spec.indexes or not edited.touch("indexes"):
        return None
    chosen = edited.chance.choice(edited.spec.indexes)
    kept = tuple(index for index in edited.spec.indexes if index != chosen)
    if edited.chance.random() < 0.5:
        kept = ()
    return replace(edited.spec, indexes=kept)


def change_index(edited: Edited) -> ModelSpec | None:
    """Let an index of the same name have other entries."""
    spec = edited.spec
    if not spec.indexes or not edited.touch("indexes"):
        return None
    chosen = edited.chance.choice(spec.indexes)
    (name, falls), *others = chosen.parts
    other = replace(chosen, parts=((name, not falls), *others))
    names = [each.name for each in indexable(spec) if each.name not in chosen.fields]
    if names and edited.chance.random() < 0.5:
        other = IndexSpec(chosen.name, ((edited.chance.choice(names), False),))
    indexes = tuple(other if index == chosen else index for index in spec.indexes)
    return replace(spec, indexes=indexes)


def add_version(edited: Edited) -> ModelSpec | None:
    spec = edited.spec
    if spec.version or spec.without_thrift2 or spec.period or spec.types:
        return None
    new = FieldSpec(edited.fresh(), f"d:{edited.fresh()}", INT64, role="version")
    edited.touched.add(new.name)
    return replace(spec, fields=(*spec.fields, new))


def remove_version(edited: Edited) -> ModelSpec | None:
    chosen = edited.pick([f for f in edited.spec.fields if f.role == "version"])
    return chosen and without(edited.spec, chosen.name)


def add_record_type(edited: Edited) -> ModelSpec | None:
    spec = edited.spec
    if not spec.types or not edited.touch("types"):
        return None
    return replace(spec, types={**spec.types, "C": f"{spec.name}C"})


HARMLESS: Final[Mapping[str, Edit]] = MappingProxyType(
    {
        "add a nullable column": add_nullable,
        "add a column with a default": add_with_default,
        "add a required column": add_required,
        "add a counter": add_counter,
        "add dynamic columns": add_dynamic,
        "reorder columns": reorder_columns,
        "remove a column": remove_column,
        "remove a counter": remove_counter,
        "remove dynamic columns": remove_dynamic,
        "rename a field": rename_field,
        "change a default": change_default,
        "make a column nullable": make_nullable,
        "make a column required": make_required,
        "rename a key field": rename_key_field,
        "rename the class": rename_class,
        "a view without the anchor": leave_out_anchor,
        "change a family's option": family_option,
        "add an index": add_index,
        "remove an index": remove_index,
        "change an index": change_index,
        "add a version column": add_version,
        "remove the version column": remove_version,
        "add a record type": add_record_type,
    }
)
"""The edits after which a model must be used."""
