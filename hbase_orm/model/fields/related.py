"""Related rows: `customer: Related[Customer] = related(customer_id=customer_id)`.

The related row is read by its row key, whose values are fields of this model. Reading the attribute
sends no request: `.load_related(Order.customer)` in a statement loads the related rows of a page by
one request. A list of rows, `orders: Related[list[Order]] = related(customer_id=lambda:
Order.customer_id)`, is read by a statement for each object.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, Never, TypeVar, overload

from hbase_orm.errors import NotLoadedError, SchemaError
from hbase_orm.model.fields.related_lists import ListRelation, RelatedField
from hbase_orm.model.state import InstanceState
from hbase_orm.schema import Expr, NoColumn

T = TypeVar("T")
C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class Relation:
    """A related field whose model and key are resolved.

    Attributes:
        name: The field.
        target: The model of the related row.
        key: For each key argument of the target, the field of this model that has its value.
    """

    name: str
    target: type[Any]
    key: Mapping[str, str]

    @property
    def own_fields(self) -> tuple[str, ...]:
        """The fields of this model that determine the related row."""
        return tuple(self.key.values())

    @property
    def shown_type(self) -> str:
        """The related model's name."""
        name: str = self.target.__name__
        return name

    @property
    def note(self) -> str:
        """How the row is found, for a description of the field."""
        return "related by " + ", ".join(f"{name}={field}" for name, field in self.key.items())

    @property
    def read_otherwise(self) -> str:
        """How a program reads the object without loading it as a related one."""
        return f"session.get({self.shown_type}, {', '.join(f'{name}=...' for name in self.key)})"

    @property
    def set_otherwise(self) -> str:
        """How a program changes which object is related."""
        return f"set the fields of its key: {', '.join(self.own_fields)}"

    def key_of(self, obj: Any) -> tuple[Any, ...]:
        """Return the related row's key arguments, with None for each field that has no value."""
        values = obj.__dict__
        return tuple(values.get(name) for name in self.own_fields)

    def put(self, obj: Any, related: Any) -> None:
        """Store `related`, an object or None, as the loaded value of this field of `obj`."""
        state: InstanceState = obj.__state__
        state.related = {**state.related, self.name: (self.key_of(obj), related)}


class RelatedExpr(NoColumn, Generic[T]):
    """A related field as an attribute of its class; `.load_related()` takes it as argument."""

    name: str
    model_name: str

    @property
    def instead(self) -> str:
        """The `fix` of the error for a comparison of the related field."""
        return f"compare the fields of the key of {self!r}; .load_related({self!r}) loads it"

    def __repr__(self) -> str:
        """Return the field as it is written in a program."""
        return f"{self.model_name}.{self.name}"


class Related(RelatedExpr[T]):
    """The object of another row: `customer: Related[Customer] = related(customer_id=customer_id)`.

    Or a list of objects: `orders: Related[list[Order]] = related(customer_id=lambda:
    Order.customer_id)`.

    The object is loaded by `.load_related()`. It is None if its row does not exist, or if a field
    of its row key is None; a list is empty then. The attribute is not a constructor argument, is
    never written, and is ignored by `==`. A list is what was read: objects that are added later do
    not appear in it.

    Attributes:
        key: For each key argument of the related model, the field of this model that has its value.
            For a list, for each field of this model the field of the related model that equals it.
    """

    def __init__(self, key: Mapping[str, RelatedField]) -> None:
        """Store the declaration, which is resolved when the class of the model is created."""
        self.key = key

    def __set_name__(self, owner: type, name: str) -> None:
        """Store the attribute's name."""
        self.name = name
        self.model_name = owner.__name__

    @overload
    def __get__(self, instance: None, owner: Any, /) -> RelatedExpr[T]: ...
    @overload
    def __get__(self: Related[list[C]], instance: object, owner: Any, /) -> list[C]: ...
    @overload
    def __get__(self, instance: object, owner: Any, /) -> T | None: ...
    def __get__(self, instance: Any, owner: Any, /) -> Any:
        """Return the expression if called on the class; on an instance, what is related to it.

        Raises:
            NotLoadedError: The object was not loaded, or the fields of its key have changed since.
        """
        if instance is None:
            return self
        relation: Relation | ListRelation = type(instance).__related__[self.name]
        key = relation.key_of(instance)
        loaded_by, obj = instance.__state__.related.get(self.name, (None, None))
        if loaded_by == key:
            return obj
        model = type(instance).__name__
        raise NotLoadedError(
            "the related object was not loaded for the present values of its key",
            model=model,
            field=self.name,
            key=dict(zip(relation.key, key, strict=True)),
            fix=f"read it with select({model}).load_related({model}.{self.name}), "
            f"or with {relation.read_otherwise}",
        )

    if TYPE_CHECKING:  # at run time Model.__setattr__ refuses

        def __set__(self, instance: Any, value: Never, /) -> None:
            """Refuse to set the object: the fields of its key define the related row."""


def related(*, init: Literal[False] = False, **key: RelatedField) -> Related[Any]:
    """Declare the object of another row, or a list of them, to be loaded by `.load_related()`.

    Args:
        key: For one object, for each key argument of the related model, the field of this model
            that has its value. For a list, for each field of this model, the field of the related
            model that equals it; or, if that class is created later, a function that returns it.
        init: Always False, so that type checkers leave the field out of the constructor.

    Raises:
        SchemaError: No field is given, or an argument is not a field.

    Examples:
        customer: Related[Customer] = related(customer_id=customer_id)
        orders: Related[list[Order]] = related(customer_id=lambda: Order.customer_id)
    """
    if (
        init
        or not key
        or not all(isinstance(each, Expr) or callable(each) for each in key.values())
    ):
        raise SchemaError(
            "a related row is found by fields of this model",
            got=key,
            fix=f"write related({', '.join(f'{each}=...' for each in key) or 'ARGUMENT=...'}): for "
            "each key argument of the related model the field of this model that has its value",
        )
    return Related(key)
