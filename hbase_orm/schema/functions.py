"""Functions of fields, such as `func.lower(field)`, in conditions and indexes.

A function is pure, and its results must never change, because index entries store them. Every
function returns None for None.

`func.each(field)` stands for every item of a collection. A comparison with it is true if at least
one item fulfils it. But `!=` is the negation of `==`: it is true if no item is equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from types import MappingProxyType
from typing import Any, Final, Literal, TypeVar, get_args

from hbase_orm.codecs import Codec, default_codec, text
from hbase_orm.codecs.structures import Packed
from hbase_orm.errors import QueryError
from hbase_orm.schema.conditions import Condition, Expr, ItemBetween

T = TypeVar("T")

FunctionName = Literal["lower", "digit_reversed", "day", "each"]
COLLECTIONS: Final = (list, set, frozenset, tuple)


class FunctionExpr(Expr[T]):
    """A function of a field or of one dynamic column.

    Attributes:
        function: The name of the function.
        of: The field that the function is applied to.
    """

    def __init__(self, function: FunctionName, of: Expr[Any]) -> None:
        """Make the expression of a function of a field.

        Raises:
            QueryError: The argument is not a field, or is already a function of a field.
        """
        if not isinstance(of, Expr) or isinstance(of, FunctionExpr):
            raise QueryError(
                "the argument of the function is not a field",
                function=f"func.{function}",
                got=repr(of),
                fix=f"write func.{function}(M.field)",
            )
        self.function = function
        self.of = of

    # A field in its class's body has no name yet when a function of it is declared.
    @property
    def name(self) -> str:  # type: ignore[override]  # never set: it follows the field's
        """The name of this expression in statements and indexes, such as `lower(host)`.

        No field can have such a name.
        """
        return f"{self.function}({self.of.name})"

    @property
    def model_name(self) -> str:  # type: ignore[override]  # never set: it follows the field's
        """The name of the class that the field belongs to."""
        return self.of.model_name

    @property
    def owner(self) -> type | None:  # type: ignore[override]  # never set: it follows the field's
        """The class that the field belongs to; None until the class is created."""
        return self.of.owner

    @property
    def is_each(self) -> bool:
        """Whether the function is `each`."""
        return self.function == "each"

    def between(self, low: T, high: T, /) -> Condition:
        """Return the condition that the result is between `low` and `high`, both included.

        For `func.each`, at least one item of the collection must be between them.
        """
        return ItemBetween(self, low, high) if self.is_each else super().between(low, high)

    def is_null(self) -> Condition:
        """Return the condition that the result is None.

        Raises:
            QueryError: The function is `func.each`, because no item is None.
        """
        if self.is_each:
            raise QueryError(
                "the items of a collection are never None",
                field=repr(self),
                fix=f"compare the collection itself: {self.of!r} == []",
            )
        return super().is_null()

    def __repr__(self) -> str:
        """Return the expression as it is written in a program."""
        return f"func.{self.function}({self.of!r})"


@dataclass(frozen=True, slots=True)
class FieldFunction:
    """The implementation of a function of fields.

    Attributes:
        python_type: The type, or the types, that the function's argument may have.
        apply: The Python function; its argument is never None.
        codec: A function that takes the codec of the field and returns the codec of the results.
            It returns None if the type of the results is unknown.
    """

    python_type: type | tuple[type, ...]
    apply: Callable[[Any], Any]
    codec: Callable[[Codec[Any]], Codec[Any] | None]

    def of(self, value: Any) -> Any:
        """Return the function's result for a value; None for None."""
        return None if value is None else self.apply(value)


def items_codec(codec: Codec[Any]) -> Codec[Any] | None:
    """Return the default codec of the items of the collections that `codec` stores.

    None if the type of the items is unknown, or there are several types. Also None if the type has
    no default codec.
    """
    type_ = codec.type_ if isinstance(codec, Packed) else codec.python_type
    kinds = {one for one in get_args(type_) if one is not Ellipsis}
    return default_codec(kinds.pop()) if len(kinds) == 1 else None


def _day(at: datetime) -> date:
    return at.astimezone(UTC).date()


def _items(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(value for value in values if value is not None)


FUNCTIONS: Final[Mapping[FunctionName, FieldFunction]] = MappingProxyType(
    {
        "lower": FieldFunction(str, str.lower, lambda _: text()),
        "digit_reversed": FieldFunction(str, lambda value: value[::-1], lambda _: text()),
        "day": FieldFunction(datetime, _day, lambda _: default_codec(date)),
        "each": FieldFunction(COLLECTIONS, _items, items_codec),
    }
)


def column_field(of: Expr[Any]) -> Expr[Any]:
    """Return the field of a function of a field; return any other expression unchanged."""
    return of.of if isinstance(of, FunctionExpr) else of


def function_codec(of: FunctionExpr[Any], codec: Codec[Any]) -> Codec[Any]:
    """Return the codec of a function's results.

    `of` is the function of a field, and `codec` is the field's codec.

    Raises:
        QueryError: The function does not work on the field's type, or the type of a collection's
            items is unknown.
    """
    function = FUNCTIONS[of.function]
    if not issubclass(codec.python_type, function.python_type):
        wanted = function.python_type
        names = [one.__name__ for one in (wanted if isinstance(wanted, tuple) else (wanted,))]
        raise QueryError(
            "the function does not work on fields of this type",
            field=repr(of),
            expected=" or ".join(names),
            type=codec.python_type.__name__,
            fix="give a field of an allowed type, or compare the field itself",
        )
    own = function.codec(codec)
    if own is None:
        raise QueryError(
            "the type of the collection's items is unknown",
            field=repr(of),
            fix="name the type in the codec, as in codecs.json(list[str]), or write "
            ".contains(item)",
        )
    return own
