"""Resolves and checks the dynamic columns of a model, and adds them to its schema."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from types import MappingProxyType
from typing import Any, Final, ForwardRef, Union, get_args, get_origin

from hbase_orm.codecs import Codec, default_codec
from hbase_orm.errors import SchemaError
from hbase_orm.model.declare.annotations import FIELD_KINDS, declaring_class, resolve_annotation
from hbase_orm.model.declare.declare import check_type, declared, family_of, of_model
from hbase_orm.model.declare.names import check_names
from hbase_orm.model.fields.dynamics import Dynamic
from hbase_orm.schema import MARKER_QUALIFIER, DynamicSchema, Family, TableSchema

_TYPES: Final = 2  # a map has two: the type of the names and that of the values


def with_dynamics(cls: type, schema: TableSchema) -> TableSchema:
    """Return a schema with the model's dynamic columns added.

    Raises:
        SchemaError: A declaration is wrong; the error names the class, the field and the fix.
    """
    fields: dict[str, Dynamic[Any, Any]] = declared(cls, Dynamic)
    if not fields:
        return schema
    check_names(cls, fields)
    with of_model(cls):
        if not schema.storage.has_own_rows:
            raise SchemaError(
                "a model with an Offset as a qualifier cannot have dynamic columns",
                field=next(iter(fields)),
                fix="pack several values into one: codec=codecs.msgpack(...)",
            )
        families: dict[str, Family] = declared(cls, Family)
        dynamics = [_dynamic(cls, field, families, schema) for field in fields.values()]
        _check_apart(dynamics, schema)
    every = MappingProxyType(declared(cls, FIELD_KINDS))
    return replace(schema, dynamics=tuple(dynamics), fields=every)


def _dynamic(
    cls: type, field: Dynamic[Any, Any], families: Mapping[str, Family], schema: TableSchema
) -> DynamicSchema:
    names, values = _entry_types(cls, field.name)
    name_codec = _codec(cls, field, field.given_name_codec, names, "name")
    codec = _codec(cls, field, field.codec, values, "codec")
    _check_names_differ(field, name_codec)
    if field.name_codec is None:
        field.name_codec = name_codec
    family = family_of(cls, field.name, field.family, families)
    prefix = f"{family.name}:{field.prefix}".encode()
    every = {column.column for column in (*schema.columns, *schema.numbers)}
    every.add(f"{family.name}:".encode() + MARKER_QUALIFIER)
    taken = frozenset(column for column in every if column.startswith(prefix))
    return DynamicSchema(field.name, prefix, name_codec, codec, taken)


def _entry_types(cls: type, name: str) -> tuple[Any, Any]:
    """Return the types K and V of the annotation `Dynamic[K, V]`; `| None` in V is ignored."""
    owner = declaring_class(cls, name)
    annotation = vars(owner).get("__annotations__", {}).get(name)
    if isinstance(annotation, str):
        annotation = resolve_annotation(owner, name, annotation)
    given = get_args(annotation)
    if get_origin(annotation) is not Dynamic or len(given) != _TYPES:
        raise SchemaError(
            "the annotation of dynamic columns must name two types: that of the names and "
            "that of the values",
            field=name,
            annotation=annotation,
            fix=f"write {name}: Dynamic[str, str] = dynamic(...)",
        )
    inner = [
        resolve_annotation(owner, name, each.__forward_arg__)
        if isinstance(each, ForwardRef)
        else each
        for each in given
    ]
    return inner[0], _without_none(inner[1])


def _without_none(annotated: Any) -> Any:
    if get_origin(annotated) not in (Union, types.UnionType):
        return annotated
    options = [option for option in get_args(annotated) if option is not type(None)]
    return options[0] if len(options) == 1 else object


def _codec(
    cls: type, field: Dynamic[Any, Any], given: Codec[Any] | None, annotated: Any, argument: str
) -> Codec[Any]:
    own: Mapping[type, Codec[Any]] = getattr(cls, "__codecs__", {})
    codec = given or own.get(annotated) or default_codec(annotated)
    if not isinstance(codec, Codec):
        raise SchemaError(
            "no codec is known for the annotated type",
            field=field.name,
            type=annotated,
            fix=f"name one: dynamic(d, {argument}=codecs.…)",
        )
    check_type(codec, annotated, {"field": field.name})
    return codec


def _check_names_differ(field: Dynamic[Any, Any], codec: Codec[Any]) -> None:
    """Refuse a codec if one name could have two qualifiers, or if names are not hashable."""
    kind = codec.python_type
    is_hashed = getattr(kind, "__hash__", None) is not None
    if codec.canonical and is_hashed and not issubclass(kind, float):
        return
    raise SchemaError(
        "the codec of the names may encode equal names differently, so one name could have "
        "two qualifiers",
        field=field.name,
        codec=codec.name,
        fix="use a codec with one encoding for each value: name=codecs.text(), uint64(), "
        "millis(), uuid() ...",
    )


def _check_apart(dynamics: Sequence[DynamicSchema], schema: TableSchema) -> None:
    """Refuse columns that would belong to two fields.

    Dynamic columns without a prefix take all columns of the family that are not declared. If
    dynamic columns have a prefix, no declared column may start with this prefix.
    """
    by_column = {column.column: name for name, column in schema.column_by_name.items()}
    for dynamic in dynamics:
        is_whole = dynamic.prefix.endswith(b":") and dynamic.prefix.count(b":") == 1
        inside = sorted(by_column[column] for column in dynamic.taken if column in by_column)
        if inside and not is_whole:
            raise SchemaError(
                "a declared column starts with the prefix of dynamic columns",
                field=dynamic.name,
                prefix=dynamic.prefix,
                other_fields=inside,
                fix='give the column another qualifier, or the map another prefix: prefix="t:"',
            )
    for one, other in combinations(dynamics, 2):
        if one.prefix.startswith(other.prefix) or other.prefix.startswith(one.prefix):
            raise SchemaError(
                "the prefix of these dynamic columns starts with the prefix of others",
                field=one.name,
                other_field=other.name,
                prefixes=[one.prefix, other.prefix],
                fix="choose prefixes of which none starts with another, or give each its own "
                "family",
            )
