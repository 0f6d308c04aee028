"""Which fields of the results of a statement are shown, and their values by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import click

from hbase_orm.model import Model
from hbase_orm.query import Select, heading
from hbase_orm.schema import TableSchema

RECORD_TYPE: Final = "record type"
"""The name under which the class of an object is shown, if a table has several record types."""


@dataclass(frozen=True, slots=True)
class ShownFields:
    """The fields that are shown of each result.

    Attributes:
        names: Their names, in order.
        values: A function that returns the values of a result by name; a name may be missing.
        columns: For the cells of a stored row, a function that returns whether a column is shown.
            None if the results are values, and not objects of rows.
    """

    names: tuple[str, ...]
    values: Callable[[Any], Mapping[str, Any]]
    columns: Callable[[bytes], bool] | None = None


def read_names(model: type[Model], text: str | None) -> tuple[str, ...]:
    """Return the names of fields in a list such as `host,value`; empty if there is no list.

    Raises:
        click.BadParameter: The model does not have a field.
    """
    names = [] if text is None else [each.strip() for each in text.split(",")]
    known = all_fields(model)
    for name in names:
        if name not in known:
            raise click.BadParameter(
                f"{model.__name__} has no field {name!r}; its fields are {', '.join(known)}",
                param_hint="--columns",
            )
    return tuple(dict.fromkeys(names))


def all_fields(model: type[Model]) -> tuple[str, ...]:
    """Return the names of a model's fields; of a base, also those of its record types."""
    return tuple(dict.fromkeys(name for each in _schemas(model) for name in each.fields))


def deferred_fields(model: type[Model]) -> frozenset[str]:
    """Return the names of the fields that are not read with objects."""
    return frozenset(column.name for each in _schemas(model) for column in each.deferred)


def fields_of_objects(model: type[Model], chosen: Sequence[str]) -> ShownFields:
    """Return the fields of objects: the chosen ones, or without a choice all that are read."""
    hidden = deferred_fields(model)
    names = tuple(chosen) or tuple(name for name in all_fields(model) if name not in hidden)
    shows = _columns_of(model, chosen) if chosen else lambda _: True
    if model.__schema__.record_types is None:
        return ShownFields(names, _fields, shows)
    return ShownFields((RECORD_TYPE, *names), _typed_fields, shows)


def fields_of_values(stmt: Select[Any]) -> ShownFields:
    """Return the fields of a statement that selects values."""
    names = tuple(map(heading, stmt.items))
    if stmt.selection is not None and stmt.selection.is_bare:
        return ShownFields(names, lambda value: {names[0]: value})
    return ShownFields(names, lambda values: dict(zip(names, values, strict=True)))


def _schemas(model: type[Model]) -> list[TableSchema]:
    schema = model.__schema__
    kinds = () if schema.record_types is None else schema.record_types.models.values()
    return [schema, *(kind.__schema__ for kind in kinds)]


def _fields(obj: Model) -> Mapping[str, Any]:
    return obj.to_dict()


def _typed_fields(obj: Model) -> Mapping[str, Any]:
    return {RECORD_TYPE: type(obj).__name__, **obj.to_dict()}


def _columns_of(model: type[Model], chosen: Sequence[str]) -> Callable[[bytes], bool]:
    """Return a function that returns whether a column belongs to one of the chosen fields."""
    columns = set[bytes]()
    prefixes: tuple[bytes, ...] = ()
    for schema in _schemas(model):
        columns |= {each.column for name, each in schema.column_by_name.items() if name in chosen}
        prefixes += tuple(each.prefix for each in schema.dynamics if each.name in chosen)
    return lambda column: column in columns or column.startswith(prefixes)
