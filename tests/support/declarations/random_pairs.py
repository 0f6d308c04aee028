"""Random pairs of declarations of one table, made by one to three edits."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import Final

from hbase_orm.errors import SchemaError
from tests.support.declarations.contradictory_edits import CONTRADICTORY
from tests.support.declarations.edited import Edit, Edited
from tests.support.declarations.harmless_edits import HARMLESS
from tests.support.declarations.plain_models import (
    Built,
    ModelSpec,
    built,
)
from tests.support.declarations.random_plain_models import (
    random_model,
)

EDITS: Final[Mapping[str, Edit]] = MappingProxyType({**HARMLESS, **CONTRADICTORY})

OFTEN: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "record types": (
            "add a record type",
            "change a record type's text",
            "change a record type's key",
        ),
        "guarded": ("add an index", "remove an index", "change an index"),
        "without thrift2": ("add an index", "remove an index", "change an index"),
        "version": ("add an index", "remove the version column"),
    }
)
"""The edits that are made four times as often as others, by family of models."""


@dataclass(frozen=True)
class Pair:
    """Two declarations of one table.

    Attributes:
        name: The seed and number that make the pair again.
        shape: The family of models.
        first: The model that created the table.
        second: The model with the edited declaration.
        edits: The kinds of edits.
        refused_types: The record types of the second model that contradict the first; its other
            record types may be used.
    """

    name: str
    shape: str
    first: Built
    second: Built
    edits: tuple[str, ...]
    refused_types: frozenset[str]

    @property
    def is_contradictory(self) -> bool:
        return any(kind in CONTRADICTORY for kind in self.edits)


def edited_with(
    chance: Random, first: ModelSpec, kinds: list[str]
) -> tuple[ModelSpec, frozenset[str]] | None:
    """Return the model after edits of these kinds, and which record types contradict the first.

    None if one of the edits does not apply.
    """
    refused: set[str] = set()
    anchors = (first.anchor(record_type) for record_type in first.kinds_of_rows)
    edited = Edited(chance, first, anchors=frozenset(each.name for each in anchors if each))
    for kind in kinds:
        before = edited.spec
        changed = EDITS[kind](edited)
        if changed is None or changed == before:
            return None
        if kind in CONTRADICTORY:
            refused |= {each for each in changed.types if _differs(before, changed, each)}
        edited.spec = changed
    known = {*first.types, *first.types.values()}  # rows of a new record type contradict none
    types = edited.spec.types
    return edited.spec, frozenset(t for t in types if t in refused and {t, types[t]} & known)


def _differs(before: ModelSpec, after: ModelSpec, record_type: str) -> bool:
    """Return whether an edit has changed what a record type declares."""
    return record_type not in before.types or _declared(before, record_type) != _declared(
        after, record_type
    )


def _declared(spec: ModelSpec, record_type: str) -> str:
    return repr((spec.fields_of(record_type), spec.keys_of(record_type), spec.families))


# --- pairs -----------------------------------------------------------------------------------------

TRIES: Final = 40
"""How many random models are tried until the edits apply to one."""

MOSTLY: Final = 0.8
"""The share of pairs whose further edits are harmless ones."""


def random_pairs(shape: str, seed: int, count: int, prefix: str = "") -> Iterator[Pair]:
    """Yield so many random pairs of a family of models; every kind of edit has its turn.

    The names of their tables begin with `prefix`.
    """
    numbers = itertools.count()
    pairs = (pair_named(f"{seed}/{shape}/{number}", prefix) for number in numbers)
    return itertools.islice((pair for pair in pairs if pair is not None), count)


def pair_named(name: str, prefix: str = "") -> Pair | None:
    """Return the pair of this name; None if no model was found that the edits apply to."""
    seed, shape, number = name.split("/")
    kinds = [*EDITS, *3 * OFTEN.get(shape, ())]
    Random(f"{seed}/{shape}").shuffle(kinds)
    return _random_pair(
        shape, name, kinds[int(number) % len(kinds)], f"{prefix}pair{int(number):04}"
    )


def _random_pair(shape: str, name: str, kind: str, table: str) -> Pair | None:
    """Return a pair with an edit of this kind and up to two more; None if it does not apply."""
    for attempt in range(TRIES):
        chance = Random(f"{name} {attempt}")
        others = chance.choice((0, 0, 1, 2))
        pool = HARMLESS if chance.random() < MOSTLY else EDITS
        kinds = [kind, *chance.choices(list(pool), k=others)]
        chance.shuffle(kinds)
        first = random_model(chance, shape, table)
        edited = edited_with(chance, first, kinds)
        if edited is None:
            continue
        second, refused = edited
        try:
            models = built(first), built(second)
        except SchemaError:
            continue
        return Pair(name, shape, *models, tuple(kinds), refused)
    return None
