"""Dynamic columns in a model's body: `tags: Dynamic[str, str] = dynamic(d, prefix="t:")`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from hbase_orm.codecs import Codec
from hbase_orm.errors import NotLoadedError, SchemaError
from hbase_orm.model.fields.fields import Attribute
from hbase_orm.model.state import row_key_of
from hbase_orm.schema import DynamicExpr, Family

K = TypeVar("K")
V = TypeVar("V")


class Dynamic(Attribute, DynamicExpr[K, V]):
    """A field that maps names to the values of columns whose qualifiers start with a prefix.

    An object's attribute is a dict, which can be changed in place or set. A name whose
    value is None counts as absent. The next flush writes or deletes one cell for each name whose
    value differs from the row.

    Attributes:
        family: The family of the columns; None means the model's only family.
        prefix: The prefix of the qualifiers; "" means the whole family.
        given_name_codec: The codec of the names; an encoded name is the part of the qualifier after
            the prefix. None means the default of the annotated type.
        codec: The codec of the values; None means the default of the annotated type.
    """

    def __init__(
        self,
        *,
        family: Family | None = None,
        prefix: str = "",
        name: Codec[Any] | None = None,
        codec: Codec[Any] | None = None,
    ) -> None:
        """Store the declaration, which is resolved when the class of the model is created."""
        if family is not None and not isinstance(family, Family):
            raise SchemaError(
                "the argument is not a Family",
                got=family,
                fix='name the Family first and the prefix second: dynamic(d, prefix="t:")',
            )
        for given in (name, codec):
            if given is not None and not isinstance(given, Codec):
                raise SchemaError(
                    "the argument is not a codec", got=given, fix="write codecs.uint32()"
                )
        if not isinstance(prefix, str):
            raise SchemaError("the prefix is not a str", got=prefix, fix='write prefix="t:"')
        self.family = family
        self.prefix = prefix
        self.given_name_codec = name
        self.codec = codec

    @overload
    def __get__(self, instance: None, owner: Any, /) -> DynamicExpr[K, V]: ...
    @overload
    def __get__(self, instance: object, owner: Any, /) -> dict[K, V]: ...
    def __get__(self, instance: object | None, owner: Any, /) -> Any:
        """Return the expression if called on the class; raise an error on an instance.

        Python calls this method on an instance only if the object has no value.

        Raises:
            NotLoadedError: The object was read without these columns.
        """
        if instance is None:
            return self
        raise NotLoadedError(
            "the object was read without these columns",
            model=type(instance).__name__,
            field=self.name,
            row=row_key_of(instance),
            fix="get the row again, or name this field in columns_between",
        )

    if TYPE_CHECKING:  # at run time Model.__setattr__ sets: a data descriptor would slow reading

        def __set__(self, instance: Any, value: Mapping[K, V], /) -> None:
            """Replace the whole map."""


def dynamic(
    family: Family | None = None,
    *,
    prefix: str = "",
    name: Codec[Any] | None = None,
    codec: Codec[Any] | None = None,
    init: Literal[False] = False,
) -> Dynamic[Any, Any]:
    """Declare dynamic columns: a map from names, which are parts of qualifiers, to values.

    Args:
        family: The family of the columns; None means the model's only family.
        prefix: The prefix of the qualifiers; "" takes all columns of the family except declared
            ones.
        name: The codec of a name, whose bytes follow the prefix; None takes the default of the
            annotated type. The codec must encode each name in one way only.
        codec: The codec of a value; None takes the default of the annotated type.
        init: Always False, so that type checkers leave the field out of the constructor.
    """
    if init:
        raise SchemaError("dynamic columns cannot be constructor arguments", fix="leave init= out")
    return Dynamic(family=family, prefix=prefix, name=name, codec=codec)
