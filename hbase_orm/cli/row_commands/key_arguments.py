"""The arguments `[MODEL] KEY...`: a model, and the key fields of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from hbase_orm.cli.model_arguments import model_and_texts
from hbase_orm.cli.project import MODEL_NAME
from hbase_orm.cli.row_commands.cell_texts import typed_text
from hbase_orm.cli.values import read_value
from hbase_orm.model import Model, check_key_arguments


@dataclass(frozen=True, slots=True)
class ModelAndKeys:
    """A model and the keys of rows.

    Attributes:
        model: The model.
        keys: The key fields of each row by name; empty if no KEY was given.
    """

    model: type[Model]
    keys: Sequence[Mapping[str, Any]]

    def required_keys(self) -> Sequence[Mapping[str, Any]]:
        """Return the keys.

        Raises:
            click.UsageError: No KEY was given.
        """
        if not self.keys:
            fields = " ".join(f"{name}=..." for name in self.model.__schema__.layout.arguments)
            raise click.UsageError(f"no KEY was given; write {fields}.")
        return self.keys


def model_and_keys() -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds the argument `target`: a `ModelAndKeys`.

    The first text names the model if it has the form of such a name, as `shop.models:Order`. The
    keys are checked, so that nothing is sent for a wrong one.
    """
    return model_and_texts("[KEY]...", is_text=is_no_model, of_texts=_target)


def is_no_model(text: str) -> bool:
    """Return whether a text is not a model's name, but for example `number=7`, or 7."""
    return MODEL_NAME.fullmatch(text) is None


def check_key(model: type[Model], key: Mapping[str, Any]) -> None:
    """Raise an error if key fields are missing, or if their values do not fit; send nothing.

    Raises:
        RowKeyError: A key field is missing or unknown, or no row can have this key.
        ValidationError: A value does not fit its key field.
    """
    schema = model.__schema__
    check_key_arguments(schema, key)
    for name, value in key.items():
        model.__checkers__[name](value)
    if not schema.layout.lookups:  # otherwise the numbers of names have to be looked up
        model.encode_key(**key)


def shown_key(key: Mapping[str, Any]) -> str:
    """Return a key as a user types it: `host=web-1 at=2026-01-31T00:00:00+00:00`."""
    return " ".join(f"{name}={typed_text(value)}" for name, value in key.items())


def _target(model: type[Model], texts: Sequence[str]) -> ModelAndKeys:
    are_named = bool(texts) and all("=" in text for text in texts)
    keys = _named_keys(model, texts) if are_named else _keys_by_position(model, texts)
    for key in keys:
        check_key(model, key)
    return ModelAndKeys(model, keys)


def _named_keys(model: type[Model], texts: Sequence[str]) -> list[dict[str, Any]]:
    """Return the keys of texts such as `host=a`; a field that comes again begins the next key."""
    types = key_types(model)
    keys: list[dict[str, Any]] = [{}]
    for text in texts:
        name, _, value = text.partition("=")
        if name not in types:
            raise click.BadParameter(
                f"{model.__name__} has no key field {name!r}; its key fields are "
                f"{', '.join(types)}. For conditions on other fields write 'scan' with --where"
            )
        if name in keys[-1]:
            keys.append({})
        keys[-1][name] = read_value(name, types[name], value)
    return keys


def _keys_by_position(model: type[Model], texts: Sequence[str]) -> list[dict[str, Any]]:
    """Return the keys of values without names, in the order in which the fields are declared."""
    types = key_types(model)
    if len(texts) % len(types):
        fields = " ".join(f"{name}=..." for name in types)
        raise click.UsageError(f"a KEY of {model.__name__} needs {len(types)} values: {fields}.")
    return [
        {
            name: read_value(name, kind, text)
            for (name, kind), text in zip(types.items(), texts[start:], strict=False)
        }
        for start in range(0, len(texts), len(types))
    ]


def key_types(model: type[Model]) -> dict[str, type]:
    """Return the types of the key fields, in the order of their declaration."""
    layout = model.__schema__.layout
    return {name: layout.codecs[name].python_type for name in layout.arguments}
