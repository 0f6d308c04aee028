"""Related lists: `orders: Related[list[Order]] = related(customer_id=lambda: Order.customer_id)`.

The related class mostly refers to this one and is created later, so its fields are given by
functions, which are called when the list is first loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hbase_orm.errors import SchemaError
from hbase_orm.model.state import InstanceState
from hbase_orm.schema import Expr, TableSchema

RelatedField = Expr[Any] | Callable[[], Expr[Any]]
"""A field of the related model, or a function that returns it."""


class ListRelation:
    """A related list: all rows of a model, some fields of which equal fields of this model.

    Attributes:
        name: The field.
        own_fields: The fields of this model whose values the related rows have.
    """

    def __init__(self, model: type[Any], name: str, fields: Mapping[str, RelatedField]) -> None:
        """Store the declaration.

        Args:
            model: The model with the list.
            name: The field.
            fields: For each field of this model the field of the related model that equals it.
        """
        self.name = name
        self.own_fields = tuple(fields)
        self._model = model
        self._given = tuple(fields.values())
        self._fields: tuple[Expr[Any], ...] = ()

    @property
    def fields(self) -> tuple[Expr[Any], ...]:
        """The fields of the related model, in the order of `own_fields`.

        Raises:
            SchemaError: The related class does not exist yet, or a field does not fit.
        """
        if not self._fields:
            fields = tuple(map(self._called, self._given))
            for own, field in zip(self.own_fields, fields, strict=True):
                self._check(own, field, fields[0])
            self._fields = fields
        return self._fields

    @property
    def target(self) -> type[Any]:
        """The model of the related rows."""
        owner = self.fields[0].owner
        assert owner is not None
        return owner

    @property
    def key(self) -> Mapping[str, str]:
        """For each field of the related rows, the field of this model that has its value."""
        names = [field.name for field in self.fields]
        return dict(zip(names, self.own_fields, strict=True))

    @property
    def shown_type(self) -> str:
        """The type of the list, as `list[Order]`; `list` while the related class does not exist."""
        try:
            return f"list[{self.target.__name__}]"
        except SchemaError:
            return "list"

    @property
    def note(self) -> str:
        """How the rows are found, for a description of the field."""
        return f"related by {', '.join(self.own_fields)}"

    @property
    def read_otherwise(self) -> str:
        """How a program reads the rows without this field."""
        conditions = ", ".join(f"{field!r} == ..." for field in self.fields)
        return f"session.all(select({self.target.__name__}).where({conditions}))"

    @property
    def set_otherwise(self) -> str:
        """How a program changes which rows are related."""
        return f"set {', '.join(map(repr, self.fields))} of the related objects"

    def key_of(self, obj: Any) -> tuple[Any, ...]:
        """Return the values that related rows have, with None for each field without a value."""
        values = obj.__dict__
        return tuple(values.get(name) for name in self.own_fields)

    def put(self, obj: Any, related: list[Any]) -> None:
        """Store the loaded list of this field of `obj`."""
        state: InstanceState = obj.__state__
        state.related = {**state.related, self.name: (self.key_of(obj), related)}

    def _called(self, field: RelatedField) -> Expr[Any]:
        if isinstance(field, Expr):
            return field
        try:
            return field()
        except (NameError, AttributeError) as error:
            raise self._error(
                "the field of the related model is not there (yet)",
                reason=str(error),
                fix="create the related class before the list is loaded, and name its field",
            ) from error

    def _check(self, own: str, field: object, first: object) -> None:
        owner = field.owner if isinstance(field, Expr) else None
        schema: TableSchema | None = getattr(owner, "__schema__", None)
        if not isinstance(field, Expr) or schema is None or not schema.has_field(field):
            raise self._error(
                "the related rows of a list are found by fields of their model",
                got=repr(field),
                fix=f"write related({own}=lambda: Other.field) with a key field or column of the "
                "model of the related rows",
            )
        if owner is not getattr(first, "owner", None):
            raise self._error(
                "the fields are of several models",
                got=[repr(first), repr(field)],
                fix="name fields of one model",
            )
        codec = schema.codecs.get(field.name)
        mine = self._model.__schema__.codecs[own].python_type
        if codec is None or not _are_alike(mine, codec.python_type):
            raise self._error(
                "the field cannot have the values of this model's field",
                own=f"{self._model.__name__}.{own}: {mine.__name__}",
                got=repr(field) if codec is None else f"{field!r}: {codec.python_type.__name__}",
                fix=f"name a key field or column of type {mine.__name__}",
            )

    def _error(self, text: str, *, fix: str, **details: Any) -> SchemaError:
        return SchemaError(text, model=self._model.__name__, field=self.name, fix=fix, **details)


def _are_alike(one: type, other: type) -> bool:
    return issubclass(one, other) or issubclass(other, one)
