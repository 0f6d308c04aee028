"""A declaration while it is edited."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from tests.support.declarations.plain_models import (
    VALUE_KINDS,
    FieldSpec,
    ModelSpec,
)


@dataclass
class Edited:
    """A declaration while it is edited.

    Attributes:
        chance: The random numbers.
        spec: The declaration.
        touched: What earlier edits have changed: names of fields, "key", "salt", "class".
        anchors: The names of the fields that show that a row exists.
    """

    chance: Random
    spec: ModelSpec
    touched: set[str] = field(default_factory=set)
    anchors: frozenset[str] = frozenset()
    _fresh: int = 0

    def fresh(self) -> str:
        """Return a name that no field and no column has or had."""
        self._fresh += 1
        return f"x{self._fresh}"

    def pick(self, fields: list[Any]) -> Any:
        """Return an untouched field, which is touched from now on; None if there is none."""
        free = [each for each in fields if each.name not in self.touched]
        if not free:
            return None
        chosen = self.chance.choice(free)
        self.touched.add(chosen.name)
        return chosen

    def plain(self, *, is_anchor: bool | None = False) -> list[FieldSpec]:
        """Return the plain columns: without anchors, only anchors, or all."""
        wanted = (None,) if is_anchor is None else (is_anchor,)
        return [
            each
            for each in self.spec.fields
            if each.is_plain and (wanted == (None,) or (each.name in self.anchors) in wanted)
        ]

    def indexed(self) -> set[str]:
        """Return the names of the fields that indexes name."""
        return {name for index in self.spec.indexes for name in index.fields}

    def touch(self, subject: str) -> bool:
        """Return whether nothing has touched a subject yet; it is touched from now on."""
        is_free = subject not in self.touched
        self.touched.add(subject)
        return is_free


Edit = Callable[[Edited], ModelSpec | None]
"""Returns the edited declaration, or None if the edit does not apply to it."""


def changed(edited: Edited, name: str, **changes: Any) -> ModelSpec:
    return edited.spec.with_field(name, **changes)


def new_field(edited: Edited, **options: Any) -> ModelSpec:
    """Return the model with a new field anywhere among its fields, also at the top."""
    spec, chance, name = edited.spec, edited.chance, edited.fresh()
    kind = options.pop("kind", None) or chance.choice(VALUE_KINDS)
    default = chance.choice(kind.values) if options.pop("has_default", False) else None
    family = options.pop("family", None) or chance.choice(sorted(spec.families))
    column = f"{family}:{options.pop('prefix', '')}{name}{options.pop('end', '')}"
    of = chance.choice(("", *spec.types))
    new = FieldSpec(name, column, kind, default=default, of=of, **options)
    place = chance.choice((0, chance.randint(0, len(spec.fields))))
    edited.touched.add(name)
    return replace(spec, fields=(*spec.fields[:place], new, *spec.fields[place:]))


def without(spec: ModelSpec, name: str) -> ModelSpec:
    return replace(
        spec,
        fields=tuple(each for each in spec.fields if each.name != name),
        indexes=tuple(index for index in spec.indexes if name not in index.fields),
    )
