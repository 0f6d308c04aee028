"""Counters and versions: numbers that HBase or this library increments, and programs cannot set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, Never, TypeVar, overload

from hbase_orm.errors import QueryError, SchemaError
from hbase_orm.model.fields.fields import Attribute
from hbase_orm.schema import AddAmount, Expr, Family

E = TypeVar("E")


class CounterExpr(Expr[int]):
    """A counter as an expression, for conditions and increments."""

    def by(self, amount: int, /) -> AddAmount:
        """Return the increment that adds `amount` to the counter; a negative amount subtracts.

        Raises:
            QueryError: The amount is not an integer, or does not fit 64 bits.
        """
        if not isinstance(amount, int) or not -(1 << 63) <= amount < 1 << 63:
            raise QueryError(
                "a counter's value must be a 64-bit integer",
                model=self.model_name,
                field=self.name,
                amount=amount,
                fix="give an int from -2**63 to 2**63 - 1",
            )
        return AddAmount(self, amount)


class _Counted(Attribute, Generic[E]):
    """A number that programs cannot set; without a cell its value is 0.

    Attributes:
        family: The family of the column; None means the model's only family.
        qualifier: The column's qualifier; None means the field's name.
    """

    def __init__(self, *, family: Family | None = None, qualifier: str | None = None) -> None:
        """Keep the declaration."""
        self.family = family
        self.qualifier = qualifier

    @overload
    def __get__(self, instance: None, owner: Any, /) -> E: ...
    @overload
    def __get__(self, instance: object, owner: Any, /) -> int: ...
    def __get__(self, instance: object | None, owner: Any, /) -> Any:
        """Return the expression on the class, 0 on an instance without the cell."""
        return self if instance is None else 0

    if TYPE_CHECKING:

        def __set__(self, instance: Any, value: Never, /) -> None:
            """Refuse to set the number: only increments and writes change it."""


class Counter(_Counted[CounterExpr], CounterExpr):
    """A 64-bit counter that HBase increments: `hits: Counter = counter(d)`.

    A counter without a cell is 0.
    """


class Version(_Counted[Expr[int]], Expr[int]):
    """The number of writes of the row by this library: `revision: Version = version(d)`.

    The version of a new object is 0. Rows of a model with a version column have a guard. If another
    program wrote the row after its object was loaded, a flush raises `VersionConflictError`.
    """


def counter(
    family: Family | None = None, qualifier: str | None = None, *, init: Literal[False] = False
) -> Counter:
    """Declare a counter: a 64-bit number that `session.increment` adds to atomically.

    Args:
        family: The family of the column; None means the model's only family.
        qualifier: The column's name in its family; None means the field's name.
        init: Always False, so that type checkers leave the counter out of the constructor.
    """
    if init:
        raise SchemaError("a counter cannot be a constructor argument", fix="leave init= out")
    return Counter(family=family, qualifier=qualifier)


def version(
    family: Family | None = None, qualifier: str | None = None, *, init: Literal[False] = False
) -> Version:
    """Declare the column that counts the writes of a row; a model has at most one.

    Args:
        family: The family of the column; None means the model's only family.
        qualifier: The column's name in its family; None means the field's name.
        init: Always False, so that type checkers leave the version out of the constructor.
    """
    if init:
        raise SchemaError(
            "a version column cannot be a constructor argument", fix="leave init= out"
        )
    return Version(family=family, qualifier=qualifier)
