"""Operators that raise an error on fields, because Python would give them another meaning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Never

from hbase_orm.errors import QueryError

_NO_SEVERAL: Final = (str, bytes, bytearray, memoryview, Mapping)
_METHODS: Final = frozenset(
    {"in_", "between", "is_null", "is_", "startswith", "contains", "asc", "desc", "to", "by"}
)
"""The methods that only a field with one column has."""


class RefusesBooleanUse:
    """The base of fields with one column; using such a field as a condition raises an error."""

    def __and__(self, other: object, /) -> Never:
        """Raise an error: a field by itself is not a condition.

        Raises:
            QueryError: Always.
        """
        raise _no_condition(self, other)

    def __or__(self, other: object, /) -> Never:
        """Raise an error, as `__and__` does.

        Raises:
            QueryError: Always.
        """
        raise _no_condition(self, other)

    def __invert__(self) -> Never:
        """Raise an error, as `__and__` does.

        Raises:
            QueryError: Always.
        """
        raise _no_condition(self, None)

    def __rand__(self, other: object, /) -> Never:
        """Raise an error for `x == 1 & y == 2`.

        `&` binds tighter than `==`, so brackets are needed.

        Raises:
            QueryError: Always.
        """
        raise _needs_brackets(self, other)

    def __ror__(self, other: object, /) -> Never:
        """Raise an error for `x == 1 | y == 2`, as `__rand__` does.

        Raises:
            QueryError: Always.
        """
        raise _needs_brackets(self, other)

    def __contains__(self, item: object, /) -> Never:
        """Raise an error for `"vip" in M.labels`: Python converts every result of `in` to a bool.

        Raises:
            QueryError: Always.
        """
        raise QueryError(
            "`in` cannot make a condition",
            field=repr(self),
            item=item,
            fix=f"write {self!r}.contains({item!r})",
        )

    def __bool__(self) -> Never:
        """Raise an error: `flag and x == 1` would silently drop the flag.

        Raises:
            QueryError: Always.
        """
        raise QueryError(
            "a field cannot be used as True or False",
            field=repr(self),
            fix="compare the field: .is_(True), .is_null(), == ...; combine conditions with & | ~",
        )

    if not TYPE_CHECKING:  # checkers know that counters alone have it

        def by(self, amount: object, /) -> Never:
            """Raise an error: the field is not a counter.

            Raises:
                QueryError: Always.
            """
            raise QueryError(
                "only a counter can be incremented",
                field=repr(self),
                amount=amount,
                fix=f"assign a value: {self!r}.to(...), or declare the field as a Counter",
            )


class NoColumn:
    """The base of attributes without a column of their own, which cannot be compared."""

    @property
    def instead(self) -> str:
        """What to compare instead: the `fix` of the error for a comparison."""
        raise NotImplementedError

    def not_compared(self) -> QueryError:
        """Return the error to raise for a comparison, with the advice `instead`."""
        return QueryError(
            "this field has no column of its own, so it cannot be compared or selected",
            field=repr(self),
            fix=self.instead,
        )

    # Defining `__eq__` would remove `__hash__`; these attributes are compared by identity.
    __hash__ = object.__hash__

    def __eq__(self, other: object, /) -> bool:
        """Return whether `other` is the same attribute.

        Raises:
            QueryError: `other` is a value or a field, with which the attribute cannot be compared.
        """
        if isinstance(other, NoColumn):
            return self is other
        raise self.not_compared()

    def _refuse(self, other: object, /) -> Never:
        """Raise an error for an operator that would make a condition.

        Raises:
            QueryError: Always.
        """
        del other
        raise self.not_compared()

    __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __and__ = __or__ = __rand__ = __ror__ = __contains__ = _refuse

    def __invert__(self) -> Never:
        """Raise an error: the attribute is not a condition.

        Raises:
            QueryError: Always.
        """
        raise self.not_compared()

    if not TYPE_CHECKING:  # checkers know that there are no such methods

        def __getattr__(self, name: str) -> Never:
            """Raise an error for the methods that fields have and this attribute does not.

            Raises:
                QueryError: The name is the name of a field's method.
                AttributeError: The name is any other.
            """
            if name in _METHODS:
                raise self.not_compared()
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=self)


def several(field: object, values: Iterable[Any]) -> tuple[Any, ...]:
    """Return the values that were given to `in_`, as a tuple.

    Raises:
        QueryError: The argument is a single value. A text would count as its letters, a dict as its
            keys.
    """
    if isinstance(values, _NO_SEVERAL) or not isinstance(values, Iterable):
        raise QueryError(
            "the argument of in_() is not a list of values",
            field=repr(field),
            got=values,
            fix=f"write {field!r}.in_([...]), or == for one value",
        )
    return tuple(values)


def _no_condition(field: object, other: object) -> QueryError:
    return QueryError(
        "a field by itself is not a condition",
        field=repr(field),
        **({} if other is None else {"beside": repr(other)}),
        fix=f"compare the field, in brackets: ({field!r} == ...), or {field!r}.is_(True)",
    )


def _needs_brackets(field: object, other: object) -> QueryError:
    return QueryError(
        "a comparison next to & or | needs brackets around it",
        field=repr(field),
        value=other,
        fix="write (M.a == 1) & (M.b == 2)",
    )
