"""Reads conditions and orders of statements from text: `host=a`, `at>=2026-01-31`, `-at`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from operator import eq, ge, gt, le, lt, ne
from types import MappingProxyType
from typing import Any, Final

import click

from hbase_orm.cli.values import read_value
from hbase_orm.model import Model
from hbase_orm.schema import Condition, Index, Order, TableSchema

_CONDITION: Final = re.compile(
    r"(?P<field>\w+)\s*"
    r"(?:(?P<operator>==|!=|<=|>=|\^=|=|<|>)(?P<value>.*)"
    r"|\bin\b\s*(?P<values>.*)"
    r"|\bis\s+(?P<negated>not\s+)?null)",
    re.DOTALL,
)
_COMPARISONS: Final[Mapping[str, Callable[[Any, Any], Any]]] = MappingProxyType(
    {"=": eq, "==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
)
_FORMS: Final = (
    "FIELD=VALUE, or with != < <= > >=, FIELD^=PREFIX, 'FIELD in VALUE,VALUE', 'FIELD is null', "
    "'FIELD is not null'"
)


def read_condition(model: type[Model], text: str) -> Condition:
    """Return the condition on a field of `model` that a text such as `at>=2026-01-31` describes.

    Raises:
        click.BadParameter: The text is not a condition, the model does not have the field, or the
            value does not fit.
    """
    match = _CONDITION.fullmatch(text.strip())
    if match is None:
        raise click.BadParameter(f"{text!r} is no condition: write {_FORMS}")
    name = match["field"]
    python_type = _type(model, name)
    field: Any = getattr(model, name)

    def value(shown: str) -> Any:
        return read_value(name, python_type, shown.strip())

    condition: Condition
    if match["values"] is not None:
        condition = field.in_([value(each) for each in match["values"].split(",")])
    elif match["operator"] is None:
        condition = field != None if match["negated"] else field == None  # noqa: E711 - an expression
    elif match["operator"] == "^=":
        condition = field.startswith(value(match["value"]))
    else:
        condition = _COMPARISONS[match["operator"]](field, value(match["value"]))
    return condition


def read_order(model: type[Model], text: str) -> Order:
    """Return the order by the field of `model` that a text names.

    The order is descending if the text begins with a minus sign.

    Raises:
        click.BadParameter: The model does not have the field.
    """
    name = text.removeprefix("-")
    _type(model, name)
    field: Any = getattr(model, name)
    order: Order = field.desc() if text.startswith("-") else field.asc()
    return order


def read_index(model: type[Model], text: str) -> Index | None:
    """Return a model's index by its name; None for the text "none".

    Raises:
        click.BadParameter: The model does not have the index.
    """
    if text == "none":
        return None
    member = getattr(model, text, None)
    if not isinstance(member, Index):
        names = [index.name for index in model.__schema__.indexes]
        raise click.BadParameter(
            f"{model.__name__} has no index {text!r}; write one of: {', '.join([*names, 'none'])}"
        )
    return member


def _type(model: type[Model], name: str) -> type:
    types = _types(model.__schema__)
    if name not in types:
        raise click.BadParameter(
            f"{model.__name__} has no field {name!r}; its fields are {', '.join(types)}"
        )
    return types[name]


def _types(schema: TableSchema) -> dict[str, type]:
    codecs = {each.name: each.codec for each in (*schema.columns, *schema.numbers)}
    codecs.update(schema.layout.codecs)
    return {name: codecs[name].python_type for name in schema.fields if name in codecs}
