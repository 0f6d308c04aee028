"""The tuples of a statement that selects several values: each value has a name, too.

A tuple of `select(Order.city, func.max(Order.total))` is `Values(city='x', max_total=9.5)`. It is
a `collections.namedtuple`, so it is equal to the plain tuple, and unpacked as one.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from typing import Any, Final

from hbase_orm.model.printing import shown
from hbase_orm.query.statements.aggregates import Aggregate
from hbase_orm.schema import EntryExpr, Expr, FunctionExpr

_KEPT: Final = 256


def value_name(item: Expr[Any]) -> str:
    """Return the name of a selected value, such as `city`, `max_total` or `tags_rack`.

    The name of a value that is no field itself begins with the function, or with the field of the
    dynamic column. It is not always an identifier: a dynamic column may have any name.
    """
    if isinstance(item, Aggregate):
        return item.function if item.field is None else f"{item.function}_{value_name(item.field)}"
    if isinstance(item, FunctionExpr):
        return f"{item.function}_{value_name(item.of)}"
    if isinstance(item, EntryExpr):
        return f"{item.of.name}_{item.key}"
    return item.name


def heading(item: Expr[Any]) -> str:
    """Return what stands over the column of a selected value: `total`, `count()`, `sum(total)`."""
    if isinstance(item, Aggregate):
        return f"{item.function}({'' if item.field is None else item.field.name})"
    return item.name


def named_values_of(items: Sequence[Expr[Any]]) -> Callable[[Iterable[Any]], Any]:
    """Return a function that makes the named tuple of the values of `items`."""
    return partial(tuple.__new__, named_type(tuple(map(value_name, items))))


@lru_cache(maxsize=_KEPT)
def named_type(names: tuple[str, ...]) -> type[tuple[Any, ...]]:
    """Return the type of the tuples whose values have these names.

    A name that is no identifier, begins with `_`, or was given before is replaced by `_` and the
    position: `_1` is the name of the second value.
    """
    make: Any = namedtuple  # noqa: PYI024  # the names are only known at run time
    fields: Any = make("Values", names, rename=True)

    class Values(fields):  # type: ignore[misc]  # likewise
        """Values that a statement selects: a tuple whose values have names."""

        __slots__ = ()

        def __repr__(self) -> str:
            """Return the values with their names; long values are cut."""
            pairs: Any = zip(self._fields, self, strict=True)
            return f"Values({', '.join(f'{name}={shown(value)}' for name, value in pairs)})"

        def __reduce__(self) -> tuple[Any, ...]:
            """Pickle the names and the values: the type is made again where they are read."""
            return _unpickled, (names, tuple(self))

    return Values


def _unpickled(names: tuple[str, ...], values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple.__new__(named_type(names), values)
