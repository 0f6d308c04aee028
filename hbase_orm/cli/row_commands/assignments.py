"""The arguments of `put`: texts such as `value=0.3` and `tags[rack]=r7`, as values of fields."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import click
import msgspec

from hbase_orm.codecs import Codec
from hbase_orm.codecs.structures import Json, Packed
from hbase_orm.errors import CodecError
from hbase_orm.model import Model
from hbase_orm.schema.typed_values import typed_value

_TEXT: Final = re.compile(r"(?P<name>\w+)(?:\[(?P<entry>[^\]]*)\])?(?:=(?P<value>.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Assignments:
    """The values that `put` was given.

    Attributes:
        fields: The values of key fields and columns, by name.
        entries: The values of dynamic columns, by the name of the field and their own name.
    """

    fields: dict[str, Any] = field(default_factory=dict[str, Any])
    entries: dict[str, dict[Any, Any]] = field(default_factory=dict[str, dict[Any, Any]])

    def key(self, model: type[Model]) -> dict[str, Any]:
        """Return the values of the key fields."""
        names = model.__schema__.layout.arguments
        return {name: self.fields[name] for name in names if name in self.fields}

    def others(self, model: type[Model]) -> dict[str, Any]:
        """Return the values of the fields that are not in the key."""
        names = model.__schema__.layout.arguments
        return {name: value for name, value in self.fields.items() if name not in names}

    def check(self, model: type[Model]) -> None:
        """Raise an error if a value does not fit its field; the key is not checked.

        Raises:
            ValidationError: A value does not fit, or the field cannot be set, as a counter.
        """
        blank = model.__new__(model)
        for name, value in self.others(model).items():
            setattr(blank, name, value)
        for name, entries in self.entries.items():
            setattr(blank, name, entries)


def read_assignments(model: type[Model], texts: Sequence[str], nulls: Sequence[str]) -> Assignments:
    """Return the values that texts such as `value=0.3` describe.

    Args:
        model: The model.
        texts: The texts.
        nulls: The names of fields, or of dynamic columns, that become None.

    Raises:
        click.BadParameter: A text has another form, names no field, or a field comes twice.
        CodecError: A text is not a value of its field.
    """
    given = Assignments()
    for text in texts:
        match = _TEXT.fullmatch(text)
        if match is None or match["value"] is None:
            raise click.BadParameter(f"{text!r}: expected FIELD=VALUE")
        _add(given, model, match["name"], match["entry"], match["value"])
    for text in nulls:
        match = _TEXT.fullmatch(text)
        if match is None or match["value"] is not None:
            raise click.BadParameter(f"{text!r}: expected the name of a field", param_hint="--null")
        _add(given, model, match["name"], match["entry"], None)
    return given


def _add(
    given: Assignments, model: type[Model], name: str, entry: str | None, text: str | None
) -> None:
    schema = model.__schema__
    dynamic = schema.dynamic_by_name.get(name)
    values: dict[Any, Any] = given.fields
    place: Any = name
    if dynamic is not None:
        if entry is None:
            raise click.BadParameter(f"{name}: write {name}[NAME]=VALUE for a dynamic column")
        values = given.entries.setdefault(name, {})
        place = _value(model, f"{name}[...]", dynamic.name_codec, entry)
        codec = dynamic.codec
    elif entry is not None or name not in schema.codecs:
        shown = name if entry is None else f"{name}[{entry}]"
        raise click.BadParameter(
            f"{model.__name__} has no field {shown!r}; its fields are {', '.join(schema.fields)}"
        )
    else:
        codec = schema.codecs[name]
    if place in values:
        raise click.BadParameter(f"{name} has two values")
    values[place] = None if text is None else _value(model, name, codec, text)


def _value(model: type[Model], name: str, codec: Codec[Any], text: str) -> Any:
    """Return the value that a text means for a field.

    Raises:
        CodecError: The text is not a value of the field.
    """
    where: Mapping[str, Any] = {"model": model.__name__, "field": name, "text": text}
    if isinstance(codec, Packed):
        try:
            return Json(type_=codec.type_).unpack(text.encode())
        except (msgspec.MsgspecError, TypeError, ValueError) as error:
            raise CodecError(
                "the text is not JSON of the field's type", **where, cause=str(error)
            ) from error
    try:
        return typed_value(codec.python_type, text)
    except CodecError as error:
        expected = error.details["expected"]
        fix = f"write {expected}" if expected else "write the value in a program"
        raise CodecError(error.text, **where, fix=fix) from error
