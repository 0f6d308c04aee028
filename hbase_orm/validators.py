"""Validators: functions for `column(validate=...)`, called with each value that is set.

A validator is any function that raises `ValueError` for a value that it refuses, and returns None
for any other value. The functions of this module return the usual validators. If a validator
refuses a value, the program gets a `ValidationError` that names model, field, value and reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

from hbase_orm.errors import SchemaError

__all__ = ["all_of", "between", "matches", "max_length", "min_length", "one_of"]

T = TypeVar("T")


class _Validator:
    """A validator whose `repr` is the call that made it."""

    __slots__ = ("_reason", "_test", "_text")

    def __init__(self, text: str, reason: str, test: Callable[[Any], bool]) -> None:
        self._text = text
        self._reason = reason
        self._test = test

    def __repr__(self) -> str:
        return self._text

    def __call__(self, value: Any, /) -> None:
        try:
            fits = self._test(value)
        except TypeError as error:
            raise SchemaError(
                "the validator cannot check a value of this type",
                validator=self,
                value=value,
                reason=str(error),
                fix="use a validator that fits the field's type",
            ) from error
        if not fits:
            raise ValueError(self._reason)


def between(low: T, high: T, /) -> Callable[[T], None]:
    """Return a validator of values from `low` to `high`, both included; NaN is refused.

    Raises:
        SchemaError: The bounds cannot be compared, or no value is between them.

    Examples:
        >>> between(1, 10)(11)
        Traceback (most recent call last):
        ValueError: must be from 1 to 10
    """
    least: Any = low
    most: Any = high
    text = f"between({low!r}, {high!r})"
    try:
        is_range = bool(least <= most)
    except TypeError:
        is_range = False
    if not is_range:
        raise SchemaError(
            "no value is between these bounds",
            validator=text,
            fix="give the lower bound first: between(1, 10)",
        )
    return _Validator(text, f"must be from {low!r} to {high!r}", lambda v: least <= v <= most)


def one_of(*choices: T) -> Callable[[T], None]:
    """Return a validator of values that equal one of the choices.

    Raises:
        SchemaError: No choices are given.

    Examples:
        >>> one_of("s", "m", "l")("xl")
        Traceback (most recent call last):
        ValueError: must be one of 's', 'm', 'l'
    """
    if not choices:
        raise SchemaError("one_of() needs at least one value", fix='write one_of("s", "m", "l")')
    shown = ", ".join(map(repr, choices))
    return _Validator(f"one_of({shown})", f"must be one of {shown}", lambda v: v in choices)


def matches(pattern: str, /) -> Callable[[str], None]:
    r"""Return a validator of text that a regular expression matches as a whole.

    Raises:
        SchemaError: The argument is not a regular expression.

    Examples:
        >>> matches(r"[a-z]+")("ab1")
        Traceback (most recent call last):
        ValueError: must match '[a-z]+' as a whole
    """
    try:
        compiled = re.compile(pattern)
    except (re.error, TypeError) as error:
        raise SchemaError(
            "the argument is not a regular expression",
            pattern=pattern,
            reason=str(error),
            fix="correct the expression; write a backslash twice, or use a raw string",
        ) from error
    return _Validator(
        f"matches({pattern!r})",
        f"must match {pattern!r} as a whole",
        lambda v: compiled.fullmatch(v) is not None,
    )


def min_length(n: int, /) -> Callable[[Any], None]:
    """Return a validator of values with at least `n` characters, bytes or items.

    Examples:
        >>> min_length(1)("")
        Traceback (most recent call last):
        ValueError: must not be shorter than 1
    """
    least = _checked_length(n, "min_length")
    return _Validator(
        f"min_length({n})", f"must not be shorter than {n}", lambda v: len(v) >= least
    )


def max_length(n: int, /) -> Callable[[Any], None]:
    """Return a validator of values with at most `n` characters, bytes or items.

    Examples:
        >>> max_length(3)("long")
        Traceback (most recent call last):
        ValueError: must not be longer than 3
    """
    most = _checked_length(n, "max_length")
    return _Validator(f"max_length({n})", f"must not be longer than {n}", lambda v: len(v) <= most)


def _checked_length(n: object, name: str) -> int:
    if not isinstance(n, int) or isinstance(n, bool) or n < 0:
        raise SchemaError(
            "the length must be an integer, 0 or more",
            validator=name,
            got=n,
            fix=f"write {name}(80)",
        )
    return n


def all_of(*validators: Callable[[T], None]) -> Callable[[T], None]:
    """Return a validator that calls several validators in order; the first refusal is raised.

    Raises:
        SchemaError: One of the arguments is not a function.

    Examples:
        >>> all_of(min_length(1), max_length(3))("long")
        Traceback (most recent call last):
        ValueError: must not be longer than 3
    """
    for each in validators:
        if not callable(each):
            raise SchemaError(
                "the argument is not a validator",
                got=each,
                fix="write all_of(min_length(1), max_length(3))",
            )

    def accepts(value: T) -> bool:
        for each in validators:
            ask(each, value)
        return True

    shown = ", ".join(map(repr, validators))
    return _Validator(f"all_of({shown})", "must be accepted by all", accepts)


def ask(validate: Callable[[Any], object], value: Any) -> None:
    """Check a value by a validator.

    Raises:
        ValueError: The validator refuses the value.
        SchemaError: The validator returned a value instead of raising or returning None.
    """
    answer = validate(value)
    if answer is not None:
        raise SchemaError(
            "a validator returned a value: it must raise ValueError or return None",
            validator=validate,
            value=value,
            returned=answer,
            fix="write a function that raises ValueError with the reason, or use one of "
            "hbase_orm.validators",
        )
