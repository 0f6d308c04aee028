"""Field descriptors: the attributes that a model's body declares and its instances have.

On the class a field is an expression (`Reading.host == "a"`). On an instance it is the value.

A value is in the instance's `__dict__`, so reading it calls no code of the library. Python calls
the descriptor only if there is no value. The descriptor of a counter or a version then returns 0.
Any other descriptor raises an error. Setting a field calls `Model.__setattr__`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

from hbase_orm.codecs import Codec
from hbase_orm.errors import MissingCellError, SchemaError
from hbase_orm.model.fields.deferring import is_loaded, not_loaded
from hbase_orm.model.state import row_key_of
from hbase_orm.rowkey import Offset
from hbase_orm.schema import Expr, Family
from hbase_orm.schema.conditions import Owned

T = TypeVar("T")


class Unset:
    """The type of `UNSET`, which means that no default was declared."""

    def __repr__(self) -> str:
        """Return the constant's name."""
        return "UNSET"


UNSET: Final = Unset()


class Attribute(Owned):
    """A field that knows the attribute name it is assigned to.

    Attributes:
        name: The attribute name; empty until the class is created.
    """

    name: str = ""

    def __set_name__(self, owner: type, name: str) -> None:
        """Store the attribute's name."""
        self.name = name
        self.model_name = owner.__name__
        self.owner = owner


class Mapped(Attribute, Expr[T]):
    """A field stored in a column: `value: Mapped[float] = column(d, "v")`.

    Attributes:
        family: The family of the column; None means the model's only family.
        qualifier: The column's qualifier, or the offset that is used as the qualifier; None means
            the field's name.
        codec: The codec of the value; None means the default for the annotated type.
        default: The value of new objects, or UNSET.
        default_factory: A function that returns the value of new objects, or None.
        onupdate: A function that returns a new value whenever a changed object is written, or None.
        validate: A function that raises ValueError for a value that is not allowed, or None.
        is_in_repr: Whether the `repr` of objects shows the field.
        is_deferred: Whether reads of objects leave the field out.
    """

    def __init__(
        self,
        *,
        family: Family | None = None,
        qualifier: str | Offset | None = None,
        codec: Codec[Any] | None = None,
        default: Any = UNSET,
        default_factory: Callable[[], Any] | None = None,
        onupdate: Callable[[], Any] | None = None,
        validate: Callable[[Any], None] | None = None,
        is_in_repr: bool = True,
        is_deferred: bool = False,
    ) -> None:
        """Store the declaration, which is resolved when the class of the model is created."""
        if family is not None and not isinstance(family, Family):
            raise SchemaError(
                "the argument is not a Family",
                got=family,
                fix='name the Family first and the qualifier second: column(d, "v")',
            )
        if codec is not None and not isinstance(codec, Codec):
            raise SchemaError("the argument is not a codec", got=codec, fix="write codecs.uint32()")
        if default is not UNSET and default_factory is not None:
            raise SchemaError(
                "a field cannot have both a default and a default_factory",
                default=default,
                fix="leave one of them out",
            )
        _check_functions(default_factory=default_factory, onupdate=onupdate, validate=validate)
        self.family = family
        self.qualifier = qualifier
        self.codec = codec
        self.default = default
        self.default_factory = default_factory
        self.onupdate = onupdate
        self.validate = validate
        self.is_in_repr = is_in_repr
        self.is_deferred = is_deferred

    @property
    def has_default(self) -> bool:
        """Whether a new object can be created without a value of the field."""
        return self.default is not UNSET or self.default_factory is not None

    @overload
    def __get__(self, instance: None, owner: Any, /) -> Expr[T]: ...
    @overload
    def __get__(self, instance: object, owner: Any, /) -> T: ...
    def __get__(self, instance: object | None, owner: Any, /) -> Any:
        """Return the expression if called on the class; raise an error on an instance.

        Python calls this method on an instance only if the object has no value.

        Raises:
            NotLoadedError: The field is deferred, and the object was read without it.
            MissingCellError: The row that was read lacks this required column.
        """
        if instance is None:
            return self
        if self.is_deferred and not is_loaded(instance, self.name):
            raise not_loaded(instance, self.name)
        raise MissingCellError(
            "the row has no cell for this required field",
            model=type(instance).__name__,
            field=self.name,
            row=row_key_of(instance),
            fix="declare the field nullable, or give it a default",
        )

    if TYPE_CHECKING:  # at run time Model.__setattr__ sets: a data descriptor would slow reading

        def __set__(self, instance: Any, value: T, /) -> None:
            """Set the value."""


def _check_functions(**functions: object) -> None:
    for name, function in functions.items():
        if function is not None and not callable(function):
            raise SchemaError(
                "the argument is not a function",
                argument=name,
                got=function,
                fix=f"give the function itself, without calling it: {name}=utc_now",
            )


class Key(Mapped[T]):
    """A field of the row key; it cannot be set after the object is made."""


@overload
def key(
    codec: Codec[T],
    /,
    *,
    default: T,
    family: Family | None = None,
    qualifier: str | None = None,
) -> Key[T]: ...
@overload
def key(
    codec: Codec[T],
    /,
    *,
    default_factory: Callable[[], T],
    family: Family | None = None,
    qualifier: str | None = None,
) -> Key[T]: ...
@overload
def key(
    codec: Codec[T], /, *, family: Family | None = None, qualifier: str | None = None
) -> Key[T]: ...
@overload
def key(*, default: T, family: Family | None = None, qualifier: str | None = None) -> Key[T]: ...
@overload
def key(
    *,
    default_factory: Callable[[], T],
    family: Family | None = None,
    qualifier: str | None = None,
) -> Key[T]: ...
@overload
def key(*, family: Family | None = None, qualifier: str | None = None) -> Key[Any]: ...
def key(
    codec: Codec[Any] | None = None,
    /,
    *,
    default: Any = UNSET,
    default_factory: Callable[[], Any] | None = None,
    family: Family | None = None,
    qualifier: str | None = None,
) -> Key[Any]:
    """Declare a field of the row key.

    Args:
        codec: The codec in the row key; None takes the default of the annotated type.
        default: The value of objects that are created without this field.
        default_factory: A function that returns the default.
        family: The family in which the value is also stored in a column. None stores the value only
            in the row key.
        qualifier: The qualifier of that column; None means the field's name.
    """
    return Key(
        family=family,
        qualifier=qualifier,
        codec=codec,
        default=default,
        default_factory=default_factory,
    )


@overload
def column(
    family: Family | None = None,
    qualifier: str | Offset | None = None,
    *,
    codec: Codec[T],
    default: None,
    onupdate: Callable[[], T] | None = None,
    validate: Callable[[T], None] | None = None,
    repr: bool = True,
    deferred: bool = False,
) -> Mapped[T | None]: ...
@overload
def column(
    family: Family | None = None,
    qualifier: str | Offset | None = None,
    *,
    codec: Codec[T],
    default: T,
    onupdate: Callable[[], T] | None = None,
    validate: Callable[[T], None] | None = None,
    repr: bool = True,
    deferred: bool = False,
) -> Mapped[T]: ...
@overload
def column(
    family: Family | None = None,
    qualifier: str | Offset | None = None,
    *,
    codec: Codec[T],
    default_factory: Callable[[], T],
    onupdate: Callable[[], T] | None = None,
    validate: Callable[[T], None] | None = None,
    repr: bool = True,
    deferred: bool = False,
) -> Mapped[T]: ...
@overload
def column(
    family: Family | None = None,
    qualifier: str | Offset | None = None,
    *,
    codec: Codec[T],
    onupdate: Callable[[], T] | None = None,
    validate: Callable[[T], None] | None = None,
    repr: bool = True,
    deferred: bool = False,
) -> Mapped[T]: ...
@overload
def column(
    family: Family | None = None,
    qualifier: str | Offset | None = None,
    *,
    default: T,
    onupdate: Callable[[], Any] | None = None,
    validate: Callable[[Any], None] | None = None,
    repr: bool = True,
    deferred: bool = False,
) -> Mapped[T]: ...
@overload
def column(
    family: Family | None = None,
    qualifier: str | Offset | None = None,
    *,
    default_factory: Callable[[], T],
    onupdate: Callable[[], Any] | None = None,
    validate: Callable[[Any], None] | None = None,
    repr: bool = True,
    deferred: bool = False,
) -> Mapped[T]: ...
@overload
def column(
    family: Family | None = None,
    qualifier: str | Offset | None = None,
    *,
    onupdate: Callable[[], Any] | None = None,
    validate: Callable[[Any], None] | None = None,
    repr: bool = True,
    deferred: bool = False,
) -> Mapped[Any]: ...
def column(
    family: Family | None = None,
    qualifier: str | Offset | None = None,
    *,
    codec: Codec[Any] | None = None,
    default: Any = UNSET,
    default_factory: Callable[[], Any] | None = None,
    onupdate: Callable[[], Any] | None = None,
    validate: Callable[[Any], None] | None = None,
    repr: bool = True,  # noqa: A002 - called so by dataclasses and attrs
    deferred: bool = False,
) -> Mapped[Any]:
    """Declare a field that is stored in a column.

    Args:
        family: The family of the column; None means the model's only family.
        qualifier: The column's name in its family; None means the field's name, and "" the empty
            qualifier. With an `Offset`, an object is one cell, and the objects of a period share a
            row. The model then has no other column, and its row key has the `Period` of the time.
        codec: The codec of the value; None takes the default of the annotated type.
        default: The value of objects that are created without this field, and of objects whose
            row does not have the cell.
        default_factory: A function that returns the default.
        onupdate: A function that returns a new value of the field. It is called when a loaded
            object is written and other fields were changed, but not this one. New objects take the
            default.
        validate: A function that raises ValueError for a value that is not allowed; see
            `validators`. It is called when an object is created and when the field is set. It is
            not called for None, nor for values read from HBase.
        repr: Whether the `repr` of objects shows the field.
        deferred: Whether reads of objects leave the field out, for large values that are seldom
            needed. The attribute then raises NotLoadedError until the program sets it or
            `session.refresh(obj, M.body)` reads it. `select(M.body)` returns only the values. A
            statement that compares the field or sorts by it does read it. A field that is not
            loaded is not written.
    """
    return Mapped(
        family=family,
        qualifier=qualifier,
        codec=codec,
        default=default,
        default_factory=default_factory,
        onupdate=onupdate,
        validate=validate,
        is_in_repr=repr,
        is_deferred=deferred,
    )
