"""Random declarations of every family of models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Final

from tests.support.declarations.plain_models import (
    INDEXED_KINDS,
    INT64,
    KEY_KINDS,
    MILLIS,
    TEXT,
    VALUE_KINDS,
    FieldSpec,
    IndexSpec,
    KeySpec,
    ModelSpec,
)

SHAPES = (
    "plain",
    "version",
    "guarded",
    "without thrift2",
    "salted",
    "record types",
    "counters",
    "dynamic",
    "periods",
)
"""The families of models."""

INDEXED_SHAPES: Final = frozenset({"guarded", "without thrift2"})
"""The families whose models have indexes."""

COUNTED: Final = {"guarded": 0.5}
"""The share of models with a counter: a counter alone makes no row of a guarded table."""

SELDOM: Final = 0.25
"""The share of models that have what their family need not have."""


def random_model(chance: Random, shape: str, table: str) -> ModelSpec:
    """Return a random model of a family of models."""
    spec = ModelSpec(
        "Row",
        table,
        {"d": chance.choice(({}, {"versions": 2}, {"versions": 3})), "e": {}},
        _random_keys(chance, shape),
        (*_random_columns(chance, shape), *_random_others(chance, shape)),
        salt=chance.choice((2, 3, 4)) if shape == "salted" else 0,
        period="day" if shape == "periods" else "",
        without_thrift2=shape == "without thrift2",
    )
    if shape == "record types":
        return _with_types(chance, spec)
    wanted = int(shape == "salted" and chance.random() < SELDOM)
    if shape in INDEXED_SHAPES:
        wanted = chance.choice((1, 1, 2))
    for _ in range(wanted):
        spec = with_random_index(chance, spec) or spec
    return spec


def _random_keys(chance: Random, shape: str) -> tuple[KeySpec, ...]:
    kinds = [chance.choice(KEY_KINDS) for _ in range(chance.choice((1, 2, 2)))]
    if chance.random() < SELDOM:
        kinds = [kinds[0] for _ in kinds]
    keys = [KeySpec(f"k{number}", kind) for number, kind in enumerate(kinds)]
    return (*keys, KeySpec("at", MILLIS)) if shape == "periods" else tuple(keys)


def _random_columns(chance: Random, shape: str) -> list[FieldSpec]:
    fields = [_random_column(chance, number) for number in range(chance.randint(2, 5))]
    if shape == "without thrift2" or chance.random() > SELDOM:
        fields[0] = replace(fields[0], nullable=False)
    if shape in INDEXED_SHAPES:
        place = int(shape == "guarded")
        kind = chance.choice(INDEXED_KINDS)
        fields[place] = replace(fields[place], kind=kind, default=None)
    chance.shuffle(fields)
    return fields


def _random_others(chance: Random, shape: str) -> Iterator[FieldSpec]:
    """Yield counters, dynamic columns and a version column."""
    if shape == "counters" or chance.random() < COUNTED.get(shape, SELDOM):
        yield FieldSpec("hits", "d:h", INT64, role="counter")
    if shape == "dynamic" or chance.random() < SELDOM:
        yield FieldSpec("tags", "e:t:", TEXT, role="dynamic")
    if shape == "version" or (shape in {"guarded", "salted"} and chance.random() < SELDOM):
        yield FieldSpec("revision", "d:_v", INT64, role="version")


def _random_column(chance: Random, number: int) -> FieldSpec:
    kind = chance.choice(VALUE_KINDS)
    nullable = chance.random() < 0.5
    has_default = not nullable and chance.random() < 0.3
    default = chance.choice(kind.values) if has_default else None
    family = chance.choice("dde")
    return FieldSpec(f"c{number}", f"{family}:q{number}", kind, nullable, default)


def _with_types(chance: Random, spec: ModelSpec) -> ModelSpec:
    own: list[FieldSpec] = []
    for record_type in ("A", "B"):
        for number in range(chance.randint(1, 2)):
            made = _random_column(chance, number)
            name, place = f"{record_type.lower()}{number}", f"{made.column}{record_type}"
            own.append(replace(made, name=name, column=place, of=record_type))
    return replace(
        spec, fields=(*spec.fields, *own), types={"A": f"{spec.name}A", "B": f"{spec.name}B"}
    )


def indexable(spec: ModelSpec) -> list[FieldSpec]:
    """Return the fields that an index can have."""
    return [
        each
        for each in spec.fields
        if each.is_plain
        and each.kind in INDEXED_KINDS
        and not (spec.without_thrift2 and (each.nullable or each.default is not None))
    ]


def with_random_index(chance: Random, spec: ModelSpec) -> ModelSpec | None:
    """Return the model with another index; None if no field can be in one."""
    fields = indexable(spec)
    if not fields or spec.period or spec.types:
        return None
    taken = {index.name for index in spec.indexes}
    name = next(f"by{n}" for n in range(99) if f"by{n}" not in taken)
    several = chance.random() < 0.3 and not spec.without_thrift2
    chosen = chance.sample(fields, min(len(fields), 2 if several else 1))
    parts = tuple((each.name, chance.random() < 0.3) for each in chosen)
    names = {each.name for each in chosen}
    others = [f.name for f in spec.fields if f.is_plain and f.name not in names]
    covers = bool(others) and chance.random() < 0.25 and not spec.without_thrift2
    include = (chance.choice(others),) if covers else ()
    if include and any("ttl" in options for options in spec.families.values()):
        include = ()
    salt = 2 if chance.random() < 0.2 else 0
    return replace(spec, indexes=(*spec.indexes, IndexSpec(name, parts, include, salt)))
