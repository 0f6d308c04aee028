"""Validators of fields: called for values that are set, and once for a constant default."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hbase_orm.errors import SchemaError, ValidationError
from hbase_orm.model.fields.fields import Mapped
from hbase_orm.validators import ask

Check = Callable[[Any], Any]


def validated(model: str, field: Mapped[Any], check: Check) -> Check:
    """Return a function that checks and rounds a value, then calls the field's validator, if any.

    None, which stands for an absent cell, is not validated.
    """
    validate = field.validate
    if validate is None:
        return check
    name = field.name

    def checked(value: Any) -> Any:
        settled = check(value)
        if settled is None:
            return None
        try:
            ask(validate, settled)
        except SchemaError as error:
            raise of_field(error, {"model": model, "field": name}) from error
        except ValueError as error:
            raise ValidationError(
                "the field's validator refuses the value",
                model=model,
                field=name,
                value=value,
                reason=str(error),
                validator=validate,
            ) from error
        return settled

    return checked


def check_default(field: Mapped[Any], value: Any, where: Mapping[str, str]) -> None:
    """Refuse a constant default that the field's validator refuses.

    Raises:
        SchemaError: The validator refuses the default, or returns a value.
    """
    if field.validate is None:
        return
    try:
        ask(field.validate, value)
    except SchemaError as error:
        raise of_field(error, where) from error
    except ValueError as error:
        raise SchemaError(
            "the field's validator refuses the field's default",
            **where,
            default=value,
            reason=str(error),
            validator=field.validate,
            fix="choose a default that the validator accepts",
        ) from error


def of_field(error: SchemaError, where: Mapping[str, str]) -> SchemaError:
    """Return an error of a validator with the name of the field added."""
    return SchemaError(error.text, fix=error.fix, **{**where, **error.details})
