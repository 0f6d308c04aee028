"""`factory`: makes valid objects of a model, of which a test names only what matters to it."""

from __future__ import annotations

import inspect
import threading
from itertools import count
from typing import Any, Generic, TypeVar

from hbase_orm.errors import ValidationError
from hbase_orm.model import Model
from hbase_orm.model.made_values import made_arguments
from hbase_orm.model.refusals import check_makes_objects

M = TypeVar("M", bound=Model)


class Factory(Generic[M]):
    """Makes objects of one model. Threads may share it.

    Attributes:
        model: The model.
    """

    def __init__(self, model: type[M], values: dict[str, Any]) -> None:
        """Prepare to make objects with these values; see `factory`."""
        check_makes_objects(model)
        self.model = model
        self._parameters = inspect.signature(model).parameters
        self._values = self._known(values)
        self._numbers = count(1)
        self._lock = threading.Lock()

    def __call__(self, **values: Any) -> M:
        """Return a new object, which is not saved.

        Args:
            values: The values of fields, or functions that get the object's number and return them.

        Raises:
            ConfigurationError: Values of a field cannot be made; the error names it.
            ValidationError: The model refuses a value, or has no such field.
        """
        with self._lock:
            number = next(self._numbers)
        given = self._values | self._known(values)
        return self.model(**made_arguments(self.model, number, given))

    def batch(self, size: int, **values: Any) -> list[M]:
        """Return several new objects."""
        return [self(**values) for _ in range(size)]

    def _known(self, values: dict[str, Any]) -> dict[str, Any]:
        for name in values:
            if name not in self._parameters:
                raise ValidationError(
                    "the model has no constructor argument of this name",
                    model=self.model.__name__,
                    field=name,
                    fix=f"give only: {', '.join(self._parameters)}",
                )
        return values


def factory(model: type[M], **values: Any) -> Factory[M]:
    """Return a maker of objects of a model, for tests.

    Fields that have no default, and are not given, get valid values: numbers count up, texts are
    `city-1`, `city-2`, each time is a second later. So each object has a row key of its own.

    Args:
        model: The model.
        values: Values of fields for all objects, or functions that get the object's number, from 1,
            and return them.

    Raises:
        SchemaError: The model is abstract, or the base of record types.
        ValidationError: The model has no such field.

    Examples:
        >>> make_order = factory(Order, city="Oslo")  # doctest: +SKIP
        >>> session.add_all(make_order.batch(10, total=lambda n: n * 100))  # doctest: +SKIP
    """
    return Factory(model, values)
