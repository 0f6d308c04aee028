"""Resolves the related fields of a model: the related model, and the fields of its row key."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, get_origin

from hbase_orm.errors import SchemaError
from hbase_orm.model.declare.annotations import annotated_type, field_type
from hbase_orm.model.declare.declare import declared
from hbase_orm.model.declare.names import check_names
from hbase_orm.model.fields.related import Related, Relation
from hbase_orm.model.fields.related_lists import ListRelation
from hbase_orm.schema import Expr, TableSchema


def relations(cls: type[Any]) -> Mapping[str, Relation | ListRelation]:
    """Return the related fields of a model by name; `cls.__schema__` must be set before the call.

    Raises:
        SchemaError: A declaration does not fit the related model; the error names the field and the
            fix.
    """
    fields: dict[str, Related[Any]] = declared(cls, Related)
    check_names(cls, fields)
    return MappingProxyType({name: _relation(cls, name, field) for name, field in fields.items()})


def _relation(cls: type[Any], name: str, field: Related[Any]) -> Relation | ListRelation:
    where = {"model": cls.__name__, "field": name}
    if _is_list(cls, name, field, where):
        for own in field.key:
            _check_own_name(cls, own, where)
        return ListRelation(cls, name, field.key)
    target = _target(cls, name, where)
    wanted = target.__schema__.layout.arguments
    if set(field.key) != set(wanted):
        raise SchemaError(
            "the names are not the key arguments of the related model",
            **where,
            related=target.__name__,
            given=list(field.key),
            key_arguments=list(wanted),
            fix=f"write related({', '.join(f'{each}=...' for each in wanted)})",
        )
    own_fields: dict[str, Any] = dict(field.key)
    for argument, own in own_fields.items():
        _check_field(cls, target, argument, own, where)
    return Relation(name, target, {each: own_fields[each].name for each in wanted})


def _is_list(cls: type[Any], name: str, field: Related[Any], where: Mapping[str, str]) -> bool:
    """Return whether a related field is a list; the related class may not exist yet.

    Raises:
        SchemaError: Annotation and arguments do not go together.
    """
    has_functions = not all(isinstance(each, Expr) for each in field.key.values())
    try:
        is_list = get_origin(annotated_type(cls, name)) is list
    except SchemaError as error:
        if has_functions and isinstance(error.__cause__, NameError):
            return True  # the class in the annotation is created later
        raise
    if has_functions and not is_list:
        raise SchemaError(
            "functions name the fields of the rows of a related list",
            **where,
            fix=f"annotate {name} as Related[list[...]], or name fields of {cls.__name__} itself",
        )
    return is_list


def _check_own_name(cls: type[Any], own: str, where: Mapping[str, str]) -> None:
    schema: TableSchema = cls.__schema__
    if own not in schema.codecs:
        raise SchemaError(
            "a related list is found by key fields and columns of this model",
            **where,
            got=own,
            fix=f"name one of: {', '.join(schema.codecs)}",
        )


def _target(cls: type[Any], name: str, where: Mapping[str, str]) -> Any:
    target, _ = field_type(cls, name)
    if not isinstance(target, type) or not hasattr(target, "__schema__"):
        raise SchemaError(
            "the annotation of a related field is not a model with a table",
            **where,
            annotated=target,
            fix=f"annotate {name} as Related[...] with a model that has a table, and is declared "
            f"before {cls.__name__}",
        )
    # In a notebook a class may be created again while its name still means the earlier class.
    is_itself = (target.__module__, target.__qualname__) == (cls.__module__, cls.__qualname__)
    if is_itself:
        target = cls
    schema: TableSchema = target.__schema__
    if schema.record_types is not None:
        raise SchemaError(
            "the base of record types has no rows, and so no row keys",
            **where,
            related=target.__name__,
            fix="annotate it with one of its record types",
        )
    return target


def _check_field(
    cls: type[Any], target: Any, argument: str, own: Any, where: Mapping[str, str]
) -> None:
    schema: TableSchema = cls.__schema__
    codecs = {column.name: column.codec for column in schema.columns}
    codecs.update(schema.layout.codecs)
    if not schema.has_field(own) or own.name not in codecs:
        raise SchemaError(
            "the key of a related row must come from key fields and columns of this model",
            **where,
            argument=argument,
            got=repr(own),
            fix=f"name one of: {', '.join(codecs)}",
        )
    mine = codecs[own.name].python_type
    theirs = target.__schema__.layout.codecs[argument].python_type
    if not issubclass(mine, theirs) and not issubclass(theirs, mine):
        raise SchemaError(
            "the field has another type than the key argument of the related model",
            **where,
            argument=argument,
            wanted=theirs.__name__,
            got=f"{own!r}: {mine.__name__}",
            fix=f"name a field of type {theirs.__name__}",
        )
