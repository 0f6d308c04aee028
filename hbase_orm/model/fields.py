"""Field descriptors: what a model's body declares, and what an instance's attributes are.

On the class a field is an expression (`Reading.host == "a"`); on an instance it is the value. A
value lives in the instance's `__dict__`, so reading it costs no call of ours: the descriptor is
only asked when there is no value, and says why. Setting goes through `Model.__setattr__`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Literal, Never, TypeVar, overload

from hbase_orm.codecs import Codec
from hbase_orm.errors import MissingCellError, QueryError, SchemaError
from hbase_orm.rowkey import Offset
from hbase_orm.schema import AddAmount, Expr, Family

T = TypeVar("T")


class Unset:
    """The type of `UNSET`: no default was declared."""

    def __repr__(self) -> str:
        """Return the constant's name."""
        return "UNSET"


UNSET: Final = Unset()


class Mapped(Expr[T]):
    """A field stored in a column: `value: Mapped[float] = column(d, "v")`.

    Attributes:
        family: Where it is stored; None means the model's only family.
        qualifier: The column's qualifier, or the offset that is it; None means the field's name.
        codec: How it is stored; None means the default for the annotated type.
        default: The value of new objects, or UNSET.
        default_factory: Makes the value of new objects, or None.
    """

    def __init__(
        self,
        *,
        family: Family | None = None,
        qualifier: str | Offset | None = None,
        codec: Codec[Any] | None = None,
        default: Any = UNSET,
        default_factory: Callable[[], Any] | None = None,
    ) -> None:
        """Keep the declaration; the class that is being made resolves it."""
        if family is not None and not isinstance(family, Family):
            raise SchemaError(
                "this is no family",
                got=family,
                fix='name the Family first and the qualifier second: column(d, "v")',
            )
        if codec is not None and not isinstance(codec, Codec):
            raise SchemaError("this is no codec", got=codec, fix="write codecs.uint32()")
        if default is not UNSET and default_factory is not None:
            raise SchemaError(
                "a field has a default or a default_factory, not both",
                default=default,
                fix="leave one of them out",
            )
        self.family = family
        self.qualifier = qualifier
        self.codec = codec
        self.default = default
        self.default_factory = default_factory

    def __set_name__(self, owner: type, name: str) -> None:
        """Take the attribute's name."""
        self.name = name
        self.model_name = owner.__name__
        self.owner = owner

    @property
    def has_default(self) -> bool:
        """Whether new objects need no value."""
        return self.default is not UNSET or self.default_factory is not None

    @overload
    def __get__(self, instance: None, owner: Any, /) -> Expr[T]: ...
    @overload
    def __get__(self, instance: object, owner: Any, /) -> T: ...
    def __get__(self, instance: object | None, owner: Any, /) -> Any:
        """Return the expression on the class; on an instance without the value, say so.

        Raises:
            MissingCellError: The row that was read lacks this required column.
        """
        if instance is None:
            return self
        raise MissingCellError(
            "the row has no cell for this required field",
            model=type(instance).__name__,
            field=self.name,
            row=getattr(getattr(instance, "_row", None), "key", None),
            fix="declare the field nullable, or give it a default",
        )

    if TYPE_CHECKING:  # at run time Model.__setattr__ sets: a data descriptor would slow reading

        def __set__(self, instance: Any, value: T, /) -> None:
            """Set the value."""


class Key(Mapped[T]):
    """A field of the row key; it cannot be set after the object is made."""


class CounterExpr(Expr[int]):
    """A counter as an expression."""

    def by(self, amount: int, /) -> AddAmount:
        """Return the amount to add, negative to subtract.

        Raises:
            QueryError: Not an integer, or outside 64 bits.
        """
        if not isinstance(amount, int) or not -(1 << 63) <= amount < 1 << 63:
            raise QueryError(
                "a counter takes a 64-bit integer",
                field=self.name,
                amount=amount,
                fix="give an int from -2**63 to 2**63 - 1",
            )
        return AddAmount(self, amount)


class Counter(CounterExpr):
    """A 64-bit counter that HBase adds to: `hits: Counter = counter(d)`; absent, it reads 0."""

    def __init__(self, *, family: Family | None = None, qualifier: str | None = None) -> None:
        """Keep the declaration."""
        self.family = family
        self.qualifier = qualifier

    def __set_name__(self, owner: type, name: str) -> None:
        """Take the attribute's name."""
        self.name = name
        self.model_name = owner.__name__
        self.owner = owner

    @overload
    def __get__(self, instance: None, owner: Any, /) -> CounterExpr: ...
    @overload
    def __get__(self, instance: object, owner: Any, /) -> int: ...
    def __get__(self, instance: object | None, owner: Any, /) -> Any:
        """Return the expression on the class, 0 on an instance without the cell."""
        return self if instance is None else 0

    if TYPE_CHECKING:

        def __set__(self, instance: Any, value: Never, /) -> None:
            """Refuse: counters are incremented."""


class Version(Expr[int]):
    """How often this library wrote the row: `revision: Version = version(d)`; 0 in a new object.

    A model with one is written under a guard: the flush of an object whose row somebody else has
    written since it was loaded raises `VersionConflictError`.
    """

    def __init__(self, *, family: Family | None = None, qualifier: str | None = None) -> None:
        """Keep the declaration."""
        self.family = family
        self.qualifier = qualifier

    def __set_name__(self, owner: type, name: str) -> None:
        """Take the attribute's name."""
        self.name = name
        self.model_name = owner.__name__
        self.owner = owner

    @overload
    def __get__(self, instance: None, owner: Any, /) -> Expr[int]: ...
    @overload
    def __get__(self, instance: object, owner: Any, /) -> int: ...
    def __get__(self, instance: object | None, owner: Any, /) -> Any:
        """Return the expression on the class, 0 on an instance that was not read."""
        return self if instance is None else 0

    if TYPE_CHECKING:

        def __set__(self, instance: Any, value: Never, /) -> None:
            """Refuse: writes count."""


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
        codec: Its bytes in the key; None takes the default of the annotated type.
        default: The value of new objects that name none.
        default_factory: Makes that value.
        family: Store the value in a column as well.
        qualifier: The qualifier of that column.
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
) -> Mapped[T | None]: ...
@overload
def column(
    family: Family | None = None,
    qualifier: str | Offset | None = None,
    *,
    codec: Codec[T],
    default: T,
) -> Mapped[T]: ...
@overload
def column(
    family: Family | None = None,
    qualifier: str | Offset | None = None,
    *,
    codec: Codec[T],
    default_factory: Callable[[], T],
) -> Mapped[T]: ...
@overload
def column(
    family: Family | None = None, qualifier: str | Offset | None = None, *, codec: Codec[T]
) -> Mapped[T]: ...
@overload
def column(
    family: Family | None = None, qualifier: str | Offset | None = None, *, default: T
) -> Mapped[T]: ...
@overload
def column(
    family: Family | None = None,
    qualifier: str | Offset | None = None,
    *,
    default_factory: Callable[[], T],
) -> Mapped[T]: ...
@overload
def column(family: Family | None = None, qualifier: str | Offset | None = None) -> Mapped[Any]: ...
def column(
    family: Family | None = None,
    qualifier: str | Offset | None = None,
    *,
    codec: Codec[Any] | None = None,
    default: Any = UNSET,
    default_factory: Callable[[], Any] | None = None,
) -> Mapped[Any]:
    """Declare a field that is stored in a column.

    Args:
        family: Where; None means the model's only family.
        qualifier: The column's name in its family; None means the field's name, "" is a qualifier.
            An `Offset` packs the cells of a period into one row: an object is then one cell, the
            model has no other column, and its key holds the `Period` of the same time.
        codec: The bytes; None takes the default of the annotated type.
        default: The value of new objects that name none, and of rows without the cell.
        default_factory: Makes that value.
    """
    return Mapped(
        family=family,
        qualifier=qualifier,
        codec=codec,
        default=default,
        default_factory=default_factory,
    )


def counter(
    family: Family | None = None, qualifier: str | None = None, *, init: Literal[False] = False
) -> Counter:
    """Declare a counter: a 64-bit number that `session.increment` adds to atomically.

    Args:
        family: Where; None means the model's only family.
        qualifier: The column's name in its family; None means the field's name.
        init: Always False: type checkers read it and keep counters out of constructors.
    """
    if init:
        raise SchemaError("counters are no constructor arguments", fix="leave init= out")
    return Counter(family=family, qualifier=qualifier)


def version(
    family: Family | None = None, qualifier: str | None = None, *, init: Literal[False] = False
) -> Version:
    """Declare the column that counts the writes of a row; a model has at most one.

    Args:
        family: Where; None means the model's only family.
        qualifier: The column's name in its family; None means the field's name.
        init: Always False: type checkers read it and keep versions out of constructors.
    """
    if init:
        raise SchemaError("a version is no constructor argument", fix="leave init= out")
    return Version(family=family, qualifier=qualifier)
