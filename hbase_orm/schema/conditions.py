"""Expressions over a model's fields, and the conditions they make.

A condition is a frozen value of what the user selects; nothing is encoded or sent here. Logic
is two-valued: None equals only None, `!=` is the negation of `==`, and every other comparison with
None is false.
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
    """Something that a row fulfils or not. Combine with `&`, `|` and `~`."""

    @property
    def shape(self) -> Hashable:
        """What is alike in conditions that differ only in the values they compare with."""
        return type(self).__name__

    def __and__(self, other: Condition, /) -> Condition:
        """Return the condition that both hold."""
        # Chains stay flat: hundreds of terms must not nest hundreds deep.
        mine = self.conditions if isinstance(self, And) else (self,)
        return And((*mine, _condition(other)))

    def __or__(self, other: Condition, /) -> Condition:
        """Return the condition that at least one holds."""
        mine = self.conditions if isinstance(self, Or) else (self,)
        return Or((*mine, _condition(other)))

    def __invert__(self) -> Condition:
        """Return the condition that this one does not hold."""
        return self.condition if isinstance(self, Not) else Not(self)

    def __bool__(self) -> Never:
        """Refuse: `and`, `or`, `not` and `1 < x < 3` would silently drop a condition.

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
    """`field operator value`."""

    field: Expr[Any]
    operator: Operator
    value: Any

    @property
    def shape(self) -> Hashable:
        """The field, the operator, and whether it compares with None."""
        return self.field.name, self.operator, self.value is None

    def __repr__(self) -> str:
        """Return it as it was written."""
        return f"{self.field!r} {self.operator} {shown(self.value)}"


@dataclass(frozen=True, slots=True, eq=False)
class InValues(Condition):
    """`field` equals one of `values`."""

    field: Expr[Any]
    values: tuple[Any, ...]

    def __repr__(self) -> str:
        """Return it as it was written."""
        more = [f"… {len(self.values)} in all"] if len(self.values) > _SHOWN_VALUES else []
        values = ", ".join([*map(shown, self.values[:_SHOWN_VALUES]), *more])
        return f"{self.field!r}.in_([{values}])"


@dataclass(frozen=True, slots=True, eq=False)
class StartsWith(Condition):
    """`field` is text or bytes that start with `prefix`."""

    field: Expr[Any]
    prefix: str | bytes

    @property
    def shape(self) -> Hashable:
        """The field, and that its start is compared."""
        return self.field.name, "startswith"

    def __repr__(self) -> str:
        """Return it as it was written."""
        return f"{self.field!r}.startswith({shown(self.prefix)})"


@dataclass(frozen=True, slots=True, eq=False)
class Contains(Condition):
    """`field` is a list, set or tuple with `value` among its items."""

    field: Expr[Any]
    value: Any

    def __repr__(self) -> str:
        """Return it as it was written."""
        return f"{self.field!r}.contains({shown(self.value)})"


@dataclass(frozen=True, slots=True, eq=False)
class ItemBetween(Condition):
    """One item of a collection lies between `low` and `high`, both included.

    Two comparisons could hold of two items; this holds of one and the same.
    """

    field: Expr[Any]
    low: Any
    high: Any

    def __repr__(self) -> str:
        """Return it as it was written."""
        return f"{self.field!r}.between({shown(self.low)}, {shown(self.high)})"


@dataclass(frozen=True, slots=True, eq=False)
class And(Condition):
    """All of them hold."""

    conditions: tuple[Condition, ...]

    def __repr__(self) -> str:
        """Return it with its operator."""
        return " & ".join(f"({condition!r})" for condition in self.conditions)


@dataclass(frozen=True, slots=True, eq=False)
class Or(Condition):
    """At least one of them holds."""

    conditions: tuple[Condition, ...]

    def __repr__(self) -> str:
        """Return it with its operator."""
        return " | ".join(f"({condition!r})" for condition in self.conditions)


@dataclass(frozen=True, slots=True, eq=False)
class Not(Condition):
    """It does not hold."""

    condition: Condition

    def __repr__(self) -> str:
        """Return it with its operator."""
        return f"~({self.condition!r})"


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """A direction of one field's *values*, whatever the order of its bytes."""

    field: Expr[Any]
    descending: bool

    def __repr__(self) -> str:
        """Return it as it was written."""
        return f"{self.field!r}.{'desc' if self.descending else 'asc'}()"


@dataclass(frozen=True, slots=True, eq=False)
class AddAmount:
    """An amount to add to a counter."""

    field: Expr[int]
    amount: int


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """A value for a field, without an object: what `session.put_row` takes."""

    field: Expr[Any]
    value: Any

    def __repr__(self) -> str:
        """Return it as it was written."""
        return f"{self.field!r}.to({self.value!r})"


class Owned:
    """A field as one of a class: a model that inherits a field has one of its own.

    Attributes:
        model_name: The name of the class whose field it is.
        owner: That class; None until it is made.
        inherited_from: The field of a base that it is a copy of, or None.
    """

    model_name: str = ""
    owner: type | None = None
    inherited_from: Owned | None = None

    def inherited_by(self, cls: type) -> Self:
        """Return the field as one of a class that inherits it."""
        field = copy(self)
        field.owner, field.model_name, field.inherited_from = cls, cls.__name__, self
        return field

    def is_same_field(self, other: Owned) -> bool:
        """Return whether one of the two is the other, or was inherited from it."""
        return self._descends_from(other) or other._descends_from(self)

    def _descends_from(self, other: Owned) -> bool:
        field: Owned | None = self
        while field is not None and field is not other:
            field = field.inherited_from
        return field is other


class Expr(RefusesBooleanUse, Owned, KeySource, Generic[T]):
    """A field of a model as part of a condition.

    Attributes:
        name: The field's name; empty until its class is made.
        model_name: The name of the class whose field it is.
    """

    name: str = ""
    model_name: str = ""

    # Comparing makes conditions, so fields are compared by identity, never hashed.
    __hash__: ClassVar[None]  # type: ignore[assignment]  # pyright: ignore[reportIncompatibleMethodOverride]

    def __eq__(self, other: T, /) -> Condition:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the condition that the field equals a value; None means absent."""
        return Comparison(self, "==", other)

    def __ne__(self, other: T, /) -> Condition:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the negation of `==`: None != 5 is true."""
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
            QueryError: They are one value: a text, bytes, a dict, a number, None.
        """
        return InValues(self, several(self, values))

    def between(self, low: T, high: T, /) -> Condition:
        """Return the condition that the field lies between `low` and `high`, both included."""
        return And((Comparison(self, ">=", low), Comparison(self, "<=", high)))

    def is_null(self) -> Condition:
        """Return the condition that the field is absent."""
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
        """Return the condition that a list, set or tuple has `value` among its items.

        The client decides it: the rows are read.
        """
        return Contains(self, value)

    def to(self, value: T, /) -> Assignment:
        """Return the assignment of a value, for `session.put_row`; None deletes the cell."""
        return Assignment(self, value)

    def asc(self) -> Order:
        """Return the order of rising values."""
        return Order(self, descending=False)

    def desc(self) -> Order:
        """Return the order of falling values."""
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
            fix="compare a field, as in Reading.host == 'a'",
        )
    return value


def shown(value: Any) -> str:
    """Return a value as a condition prints it: datetimes as ISO 8601, and long ones cut."""
    return value.isoformat(" ") if isinstance(value, datetime) else shown_in_short(value)


def conjuncts(condition: Condition) -> tuple[Condition, ...]:
    """Return the conditions that all hold when `condition` does: nested ANDs laid flat."""
    if isinstance(condition, And):
        return tuple(part for inner in condition.conditions for part in conjuncts(inner))
    return (condition,)


def depth_of(condition: Condition) -> int:
    """Return how deep AND, OR and NOT are nested in a condition; 0 is a plain comparison."""
    deepest = 0
    waiting = [(condition, 0)]
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
    """Return the names of the fields that a condition speaks of, in order, repeats included."""
    return tuple(field.name for field in compared_by(condition))


def compared_by(condition: Condition) -> tuple[Expr[Any], ...]:
    """Return the fields, or entries of one, that a condition speaks of, repeats included."""
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
