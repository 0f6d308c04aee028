"""Changes of what the record says about single fields and indexes of a model; pure functions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from hbase_orm.record.declaration import RecordedModel
from hbase_orm.record.declared_options import ModelOptions


def with_options_of(
    model: RecordedModel, wanted: RecordedModel, names: Collection[str]
) -> RecordedModel:
    """Return a model with what another declaration says about some of its fields."""
    own, other = model.options, wanted.options
    if own is None or other is None:
        return model
    options = replace(
        own,
        nullable=_joined(own.nullable, other.nullable, names),
        deferred=_joined(own.deferred, other.deferred, names),
        defaults={**own.defaults, **_of(other.defaults, names)},
        types={**own.types, **_of(other.types, names)},
    )
    return replace(model, options=options)


def without_fields(model: RecordedModel, names: Collection[str]) -> RecordedModel:
    """Return a model without what it says about some fields."""

    def edit(options: ModelOptions) -> ModelOptions:
        return replace(
            options,
            nullable=tuple(name for name in options.nullable if name not in names),
            deferred=tuple(name for name in options.deferred if name not in names),
            defaults={n: each for n, each in options.defaults.items() if n not in names},
            types={n: each for n, each in options.types.items() if n not in names},
        )

    return _edited(model, edit)


def with_field_renamed(model: RecordedModel, old: str, new: str) -> RecordedModel:
    """Return a model that says about one field what it said about another."""

    def renamed(name: str) -> str:
        return new if name == old else name

    def edit(options: ModelOptions) -> ModelOptions:
        return replace(
            options,
            keys=tuple(map(renamed, options.keys)),
            nullable=tuple(map(renamed, options.nullable)),
            deferred=tuple(map(renamed, options.deferred)),
            defaults={renamed(name): each for name, each in options.defaults.items()},
            types={renamed(name): each for name, each in options.types.items()},
            period_field=renamed(options.period_field),
        )

    return _edited(model, edit)


def with_index(model: RecordedModel, index: str) -> RecordedModel:
    """Return a model that declares an index too."""

    def edit(options: ModelOptions) -> ModelOptions:
        return replace(options, indexes=tuple(dict.fromkeys((*options.indexes, index))))

    return _edited(model, edit)


def without_index(model: RecordedModel, index: str) -> RecordedModel:
    """Return a model that does not declare an index."""

    def edit(options: ModelOptions) -> ModelOptions:
        return replace(options, indexes=tuple(name for name in options.indexes if name != index))

    return _edited(model, edit)


def declares_index(model: RecordedModel | None, index: str) -> bool:
    """Return whether a model declares an index."""
    return model is not None and model.options is not None and index in model.options.indexes


def _edited(model: RecordedModel, edit: Callable[[ModelOptions], ModelOptions]) -> RecordedModel:
    return model if model.options is None else replace(model, options=edit(model.options))


def _joined(own: Iterable[str], other: Collection[str], names: Collection[str]) -> tuple[str, ...]:
    kept = (name for name in own if name not in names)
    return tuple(dict.fromkeys((*kept, *(name for name in other if name in names))))


def _of(values: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: each for name, each in values.items() if name in names}
