"""Parts of row keys whose values a user's function computes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hbase_orm.codecs import Codec
from hbase_orm.errors import CodecError, SchemaError
from hbase_orm.rowkey.components import Component, KeySource, sources_of
from hbase_orm.rowkey.parts import Derivation, Made, Part


class Computed(Component):
    """A part whose value a pure function computes from fields and components.

    Attributes:
        function: A function that takes the values of `of` by position and returns the part's value.
            It must always return the same value for the same arguments.
        of: The key fields or components that are the arguments.
        codec: The codec of the value.
        values: The possible values: a list, or a function that returns them. The function takes the
            arguments of `function`, with None for each argument that a statement does not fix. If
            the attribute is None, the possible values are unknown.
    """

    kind = "computed part"

    def __init__(
        self,
        function: Callable[..., Any],
        /,
        *,
        of: KeySource | Sequence[KeySource],
        codec: Codec[Any],
        values: Iterable[Any] | Callable[..., Iterable[Any]] | None = None,
    ) -> None:
        """Declare a computed part.

        Raises:
            SchemaError: An argument is missing or has a wrong type.
        """
        if not callable(function):
            raise SchemaError(
                "a computed part needs a function as its first argument", got=function
            )
        if not isinstance(codec, Codec):
            raise SchemaError("a computed part needs codec=", got=codec, fix="codec=codecs.uint8()")
        self.function = function
        self.of = sources_of(self.kind, of)
        self.codec = codec
        self.values = values if values is None or callable(values) else _listed(values)


def _listed(values: Any) -> tuple[Any, ...]:
    """Return declared values as a tuple.

    Raises:
        SchemaError: The argument is not a list of values, or the list is empty.
    """
    listed = tuple(values) if isinstance(values, Iterable) else ()
    if not listed:
        raise SchemaError(
            "values= of a computed part must be a list or a function",
            values=values,
            fix="e.g. values=range(3); leave values= out if they are not known",
        )
    return listed


@dataclass(frozen=True, slots=True)
class Calculated(Derivation):
    """The derivation of a value by a user's function."""

    function: Callable[..., Any] = lambda: None
    values: tuple[Any, ...] | Callable[..., Iterable[Any]] | None = None

    def compute(self, *values: Any) -> Any:
        """Return the result of the function.

        Raises:
            CodecError: The result is not in `values`, so no query would find the row.
        """
        value = self.function(*values)
        known = self.choices(*values)
        if known is not None and value not in known:
            raise CodecError(
                "the computed value is not one of the declared values",
                value=value,
                inputs=values,
                fix="list every possible value in values=: queries read the rows of each of them",
            )
        return value

    def admits(self, value: Any) -> bool:
        """Return whether a decoded value is in the declared list; True if no list is declared."""
        return not isinstance(self.values, tuple) or value in self.values

    def choices(self, *values: Any) -> Iterable[Any] | None:
        """Return the possible values for these arguments, or None if no values are declared.

        Args:
            values: The arguments of the function; None for an unknown argument.
        """
        return self.values(*values) if callable(self.values) else self.values


def computed_made(component: Computed, inputs: tuple[Part, ...], _: Any) -> Made:
    """Return the name, the codec and the derivation of the part for a `Computed`.

    Raises:
        SchemaError: One of the declared values does not fit the codec, or the function given as
            `values` does not return values.
    """
    function = getattr(component.function, "__name__", "function")
    of = ", ".join(part.name for part in inputs)
    derivation = Calculated(inputs, component.function, component.values)
    _check_values(_all_values(derivation), component.codec)
    return f"{function}({of})", component.codec, derivation


def _all_values(derivation: Calculated) -> tuple[Any, ...]:
    """Return all possible values of a part; empty if no values are declared.

    Raises:
        SchemaError: The function given as `values` did not return values.
    """
    try:
        return tuple(derivation.choices(*[None] * len(derivation.inputs)) or ())
    except Exception as error:  # whatever the user's function raises
        raise SchemaError(
            "the function that is given as values= of a computed part did not return values",
            values=derivation.values,
            reason=f"{type(error).__name__}: {error}",
            fix="write a function that takes each argument of the part, with None for a value "
            "that the statement does not fix, and returns the values that are possible then",
        ) from error


def _check_values(values: Iterable[Any], codec: Codec[Any]) -> None:
    for value in values:
        try:
            codec.encode(value)
        except CodecError as error:
            raise SchemaError(
                "one of the values of a computed part does not fit its codec",
                value=value,
                codec=codec.name,
                reason=error.text,
                fix="leave it out of values=, or choose a codec that can store it",
            ) from None
