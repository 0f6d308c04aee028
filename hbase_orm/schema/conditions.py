"""Fields of a model as expressions, and the conditions made from them.

A condition is a frozen value; nothing is encoded or sent here. A condition is True or False, never
unknown as in SQL. None equals only None, and `!=` is the negation of `==`. Every other comparison
with None is False.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Final, Generic, Literal, Never, Self, TypeVar, overload

from hbase_orm.errors import QueryError
from hbase_orm.errors import shown as shown_in_short
from hbase_orm.rowkey import KeySource
from hbase_orm.schema.misuse import NoColumn, RefusesBooleanUse, several

T = TypeVar("T")
C = TypeVar("C")

_SHOWN_VALUES: Final = 10
Operator = Literal["==", "!=", "<", "<=", ">", ">="]


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """A condition that a row fulfils or not. Combine conditions with `&`, `|` and `~`."""

    @property
    def shape(self) -> Hashable:
        """The condition without its compared values, as a hashable value.

        Conditions that differ only in the compared values have equal shapes.
        """
        return type(self).__name__

    def __and__(self, other: Condition, /) -> Condition:
        """Return the condition that both conditions are true."""
        # Chains stay flat: hundreds of terms must not nest hundreds deep.
        mine = self.conditions if isinstance(self, And) else (self,)
        return And((*mine, _condition(other)))

    def __or__(self, other: Condition, /) -> Condition:
        """Return the condition that at least one of both is true."""
        mine = self.conditions if isinstance(self, Or) else (self,)
        return Or((*mine, _condition(other)))

    def __invert__(self) -> Condition:
        """Return the condition that this condition is false."""
        return self.condition if isinstance(self, Not) else Not(self)

    def __bool__(self) -> Never:
        """Raise an error: `and`, `or`, `not` and `1 < x < 3` would silently drop a condition.

        Raises:
            QueryError: Always.
        """
        raise QueryError(
            "a condition cannot be used as True or False",
            condition=repr(self),
            fix="combine conditions with & | ~ and brackets, and use between() for a range",
        )


@dataclass(frozen=True, slots=True, eq=False)
class Comparison(Condition):
    """The condition `field operator value`."""

    field: Expr[Any]
    operator: Operator
    value: Any

    @property
    def shape(self) -> Hashable:
        """The field, the operator, and whether the value is None."""
        return self.field.name, self.operator, self.value is None

    def __repr__(self) -> str:
        """Return the expression as it is written in a program."""
        return f"{self.field!r} {self.operator} {shown(self.value)}"


@dataclass(frozen=True, slots=True, eq=False)
class InValues(Condition):
    """The condition that `field` equals one of `values`."""

    field: Expr[Any]
    values: tuple[Any, ...]

    def __repr__(self) -> str:
        """Return the expression as it is written in a program."""
        more = [f"… {len(self.values)} in all"] if len(self.values) > _SHOWN_VALUES else []
        values = ", ".join([*map(shown, self.values[:_SHOWN_VALUES]), *more])
        return f"{self.field!r}.in_([{values}])"


@dataclass(frozen=True, slots=True, eq=False)
class StartsWith(Condition):
    """The condition that `field`, text or bytes, starts with `prefix`."""

    field: Expr[Any]
    prefix: str | bytes

    @property
    def shape(self) -> Hashable:
        """The field and the kind of the comparison."""
        return self.field.name, "startswith"

    def __repr__(self) -> str:
        """Return the expression as it is written in a program."""
        return f"{self.field!r}.startswith({shown(self.prefix)})"


@dataclass(frozen=True, slots=True, eq=False)
class Contains(Condition):
    """The condition that `field`, a list, set or tuple, has the item `value`."""

    field: Expr[Any]
    value: Any

    def __repr__(self) -> str:
        """Return the expression as it is written in a program."""
        return f"{self.field!r}.contains({shown(self.value)})"


@dataclass(frozen=True, slots=True, eq=False)
class ItemBetween(Condition):
    """The condition that an item of a collection is between `low` and `high`, both included.

    Two separate comparisons could be true for two different items. Here both ends are compared with
    the same item.
    """

    field: Expr[Any]
    low: Any
    high: Any

    def __repr__(self) -> str:
        """Return the expression as it is written in a program."""
        return f"{self.field!r}.between({shown(self.low)}, {shown(self.high)})"


@dataclass(frozen=True, slots=True, eq=False)
class And(Condition):
    """The condition that all of several conditions are true."""

    conditions: tuple[Condition, ...]

    def __repr__(self) -> str:
        """Return the conditions joined by the operator."""
        return " & ".join(f"({condition!r})" for condition in self.conditions)


@dataclass(frozen=True, slots=True, eq=False)
class Or(Condition):
    """The condition that at least one of several conditions is true."""

    conditions: tuple[Condition, ...]

    def __repr__(self) -> str:
        """Return the conditions joined by the operator."""
        return " | ".join(f"({condition!r})" for condition in self.conditions)


@dataclass(frozen=True, slots=True, eq=False)
class Not(Condition):
    """The condition that another condition is false."""

    condition: Condition

    def __repr__(self) -> str:
        """Return the expression as it is written in a program."""
        return f"~({self.condition!r})"


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """An order of rows by the values of one field, ascending or descending."""

    field: Expr[Any]
    descending: bool

    def __repr__(self) -> str:
        """Return the expression as it is written in a program."""
        return f"{self.field!r}.{'desc' if self.descending else 'asc'}()"


@dataclass(frozen=True, slots=True, eq=False)
class AddAmount:
    """An amount to add to a counter."""

    field: Expr[int]
    amount: int


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """A field and its new value, without an object: an argument of `session.put_row`."""

    field: Expr[Any]
    value: Any

    def __repr__(self) -> str:
        """Return the expression as it is written in a program."""
        return f"{self.field!r}.to({self.value!r})"


class Owned:
    """A field that belongs to one class: a model that inherits a field gets its own copy.

    Attributes:
        model_name: The name of the class that the field belongs to.
        owner: The class that the field belongs to; None until the class is created.
        inherited_from: The field of a base class from which this field was copied, or None.
    """

    model_name: str = ""
    owner: type | None = None
    inherited_from: Owned | None = None

    def inherited_by(self, cls: type) -> Self:
        """Return a copy of the field for a class that inherits it."""
        field = copy(self)
        field.owner, field.model_name, field.inherited_from = cls, cls.__name__, self
        return field

    def is_same_field(self, other: Owned) -> bool:
        """Return whether both are the same field, or one is inherited from the other."""
        return self._descends_from(other) or other._descends_from(self)

    def _descends_from(self, other: Owned) -> bool:
        field: Owned | None = self
        while field is not None and field is not other:
            field = field.inherited_from
        return field is other


class Expr(RefusesBooleanUse, Owned, KeySource, Generic[T]):
    """A field of a model as part of a condition.

    Attributes:
        name: The field's name; empty until its class is created.
        model_name: The name of the class that the field belongs to.
    """

    name: str = ""
    model_name: str = ""

    # Comparing makes conditions, so fields are compared by identity, never hashed.
    __hash__: ClassVar[None]  # type: ignore[assignment]  # pyright: ignore[reportIncompatibleMethodOverride]

    def __eq__(self, other: T, /) -> Condition:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the condition that the field equals a value, which may be None."""
        return Comparison(self, "==", other)

    def __ne__(self, other: T, /) -> Condition:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the negation of `==`; a field that is None fulfils `!= 5`."""
        return Comparison(self, "!=", other)

    def __lt__(self, other: T, /) -> Condition:
        """Return the condition that the field is less than a value."""
        return Comparison(self, "<", other)

    def __le__(self, other: T, /) -> Condition:
        """Return the condition that the field is at most a value."""
        return Comparison(self, "<=", other)

    def __gt__(self, other: T, /) -> Condition:
        """Return the condition that the field is greater than a value."""
        return Comparison(self, ">", other)

    def __ge__(self, other: T, /) -> Condition:
        """Return the condition that the field is at least a value."""
        return Comparison(self, ">=", other)

    def in_(self, values: Iterable[T], /) -> Condition:
        """Return the condition that the field equals one of `values`.

        Raises:
            QueryError: The argument is a single value, such as a text, bytes, a dict, a number or
                None.
        """
        return InValues(self, several(self, values))

    def between(self, low: T, high: T, /) -> Condition:
        """Return the condition that the field is between `low` and `high`, both included."""
        return And((Comparison(self, ">=", low), Comparison(self, "<=", high)))

    def is_null(self) -> Condition:
        """Return the condition that the field is None."""
        return Comparison(self, "==", None)

    @overload
    def is_(self: Expr[bool], value: bool, /) -> Condition: ...  # noqa: FBT001 - the compared value
    @overload
    def is_(self: Expr[bool | None], value: bool | None, /) -> Condition: ...  # noqa: FBT001 - the compared value
    def is_(self: Expr[Any], value: bool | None, /) -> Condition:  # noqa: FBT001 - the compared value
        """Return the condition that a boolean field is `value`."""
        return Comparison(self, "==", value)

    def startswith(
        self: Expr[str] | Expr[str | None] | Expr[bytes], prefix: str | bytes, /
    ) -> Condition:
        """Return the condition that the field starts with `prefix`."""
        return StartsWith(self, prefix)

    @overload
    def contains(self: Expr[list[C]], value: C, /) -> Condition: ...
    @overload
    def contains(self: Expr[set[C]], value: C, /) -> Condition: ...
    @overload
    def contains(self: Expr[frozenset[C]], value: C, /) -> Condition: ...
    @overload
    def contains(self: Expr[tuple[C, ...]], value: C, /) -> Condition: ...
    def contains(self: Expr[Any], value: Any, /) -> Condition:
        """Return the condition that a list, set or tuple has the item `value`.

        The client checks this condition after reading the rows.
        """
        return Contains(self, value)

    def to(self, value: T, /) -> Assignment:
        """Return the assignment of a value, for `session.put_row`; None deletes the cell."""
        return Assignment(self, value)

    def asc(self) -> Order:
        """Return the ascending order of the field's values."""
        return Order(self, descending=False)

    def desc(self) -> Order:
        """Return the descending order of the field's values."""
        return Order(self, descending=True)

    def __repr__(self) -> str:
        """Return `Model.field`."""
        return f"{self.model_name}.{self.name}" if self.name else "an unnamed field"


def _condition(value: object) -> Condition:
    if isinstance(value, NoColumn):
        raise value.not_compared()
    if not isinstance(value, Condition):
        raise QueryError(
            "the argument is not a condition",
            got=value,
            fix="compare a field with a value; combine with & | ~",
        )
    return value


def shown(value: Any) -> str:
    """Return the text of a value in a condition: datetimes as ISO 8601, long values cut."""
    return value.isoformat(" ") if isinstance(value, datetime) else shown_in_short(value)


def conjuncts(condition: Condition) -> tuple[Condition, ...]:
    """Return the parts of a condition that AND joins, at any depth; all of them must be true."""
    if isinstance(condition, And):
        return tuple(part for inner in condition.conditions for part in conjuncts(inner))
    return (condition,)


def depth_of(condition: Condition) -> int:
    """Return how deep AND, OR and NOT are nested in a condition; 0 for a simple comparison."""
    if not isinstance(condition, (And, Or, Not)):
        return 0
    deepest = 0
    waiting: list[tuple[Condition, int]] = [(condition, 0)]
    while waiting:
        each, depth = waiting.pop()
        deepest = max(deepest, depth)
        inner: tuple[Condition, ...] = ()
        if isinstance(each, (And, Or)):
            inner = each.conditions
        elif isinstance(each, Not):
            inner = (each.condition,)
        waiting += [(part, depth + 1) for part in inner]
    return deepest


def fields_of(condition: Condition) -> tuple[str, ...]:
    """Return the names of the expressions that a condition compares, in order, with repetitions."""
    return tuple(field.name for field in compared_by(condition))


def compared_by(condition: Condition) -> tuple[Expr[Any], ...]:
    """Return the expressions that a condition compares, in order, with repetitions."""
    match condition:
        case And(conditions=inner) | Or(conditions=inner):
            return tuple(field for part in inner for field in compared_by(part))
        case Not(condition=single):
            return compared_by(single)
        case Comparison(field=of) | InValues(field=of) | StartsWith(field=of):
            return (of,)
        case Contains(field=of) | ItemBetween(field=of):
            return (of,)
    return ()
