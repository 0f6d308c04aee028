"""The errors of `Model`: an attribute cannot be set, or an object cannot be created."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hbase_orm.errors import SchemaError, UnnamedKeyError, ValidationError, shown
from hbase_orm.model.fields.counters import Counter, Version
from hbase_orm.model.fields.fields import Mapped
from hbase_orm.model.fields.related import Related
from hbase_orm.model.hints import key_as_keywords
from hbase_orm.schema import TableSchema


def refuse_attribute(obj: Any, name: str, value: Any) -> None:
    """Refuse to set a counter, a version, a related object or an unknown attribute.

    Any other attribute of the class, such as a property with a setter, is set.

    Raises:
        ValidationError: The attribute is a counter, a version or a related object.
        AttributeError: The class has no such attribute.
    """
    model = type(obj).__name__
    if isinstance(obj.__schema__.fields.get(name), Counter):
        raise ValidationError(
            "a counter cannot be set",
            model=model,
            field=name,
            fix=f"use session.increment({model}, {model}.{name}.by(...), ...)",
        )
    if isinstance(getattr(type(obj), name, None), Related):
        raise ValidationError(
            "a related object cannot be set",
            model=type(obj).__name__,
            field=name,
            fix=obj.__related__[name].set_otherwise,
        )
    if isinstance(obj.__schema__.fields.get(name), Version):
        raise ValidationError(
            "a version cannot be set",
            model=type(obj).__name__,
            field=name,
            fix="the library increments it at each write of the row",
        )
    if not hasattr(type(obj), name):
        raise AttributeError(f"{type(obj).__name__} has no field {name!r}")
    object.__setattr__(obj, name, value)  # a property of the class


def explain_arguments(obj: Any, values: Mapping[str, Any]) -> None:
    """Refuse constructor arguments that are unknown or missing.

    Raises:
        ValidationError: An argument is unknown or missing; the error names the first such field.
    """
    model = type(obj).__name__
    fields = {n: f for n, f in obj.__schema__.fields.items() if isinstance(f, Mapped)}
    for name in values:
        if name in obj.__schema__.dynamic_by_name:
            raise ValidationError(
                "dynamic columns cannot be constructor arguments",
                model=model,
                field=name,
                fix=f'create the object first, then set its {name}: obj.{name}["name"] = value',
            ) from None
        if name not in fields:
            raise ValidationError(
                "the model has no constructor argument of this name",
                model=model,
                field=name,
                fix=f"give only: {', '.join(fields)}",
            ) from None
    for name, field in fields.items():
        if name not in values and not field.has_default:
            raise ValidationError(
                "a required field is missing", model=model, field=name, fix=f"give {name}=..."
            ) from None


def refuse_unnamed(
    call: str, model: Any, values: Sequence[object], between: Sequence[str] = ()
) -> None:
    """Refuse key fields that were given by position, if there are any.

    Args:
        call: The method, as users write it.
        model: The model; of anything else the method's own check has to speak.
        values: What was given by position.
        between: What stands between the model and the key fields.

    Raises:
        UnnamedKeyError: There are values.
    """
    if not values or not isinstance(getattr(model, "__schema__", None), TableSchema):
        return
    names = model.__schema__.layout.arguments
    named = key_as_keywords(names)
    if len(names) == len(values):
        named = ", ".join(f"{name}={shown(one)}" for name, one in zip(names, values, strict=True))
    first = () if call.startswith(f"{model.__name__}.") else (model.__name__,)
    raise UnnamedKeyError(
        "key fields are given by name",
        model=model.__name__,
        got=tuple(values),
        fix=f"write {call}({', '.join((*first, *between, named))})",
    )


def check_makes_objects(cls: Any) -> None:
    """Refuse a model that has no rows of its own.

    Raises:
        SchemaError: The model is abstract, or the base of record types.
    """
    schema = getattr(cls, "__schema__", None)
    if schema is None or schema.record_types is not None:
        raise SchemaError(
            "this model has no objects, because it is abstract or the base of record types",
            model=cls.__name__,
            fix='derive a class: class X(Base, table="..."), or with record_type="..."',
        )


def refuse_object(obj: Any, /, **values: Any) -> None:
    """Raise an error. This is the constructor of a model that is the base of record types.

    Raises:
        SchemaError: Always.
    """
    del values
    check_makes_objects(type(obj))


def check_mapping(cls: type, values: object) -> None:
    """Raise an error if the argument is not a mapping of field names to values.

    Raises:
        ValidationError: The argument is not such a mapping.
    """
    if not isinstance(values, Mapping) or not all(isinstance(name, str) for name in values):
        raise ValidationError(
            "from_dict takes a mapping of field names to values",
            model=cls.__name__,
            got=repr(values),
            fix="give a dict such as to_dict() returns",
        )
