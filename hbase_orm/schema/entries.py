"""Dynamic columns: a field that maps names to the cells of many columns in one family.

A column's qualifier is the prefix of the field followed by the encoded name. In identifiers of the
code, an entry is one name with its column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from hbase_orm.codecs import Codec
from hbase_orm.errors import CodecError, QueryError
from hbase_orm.schema.conditions import Expr, Owned
from hbase_orm.schema.misuse import NoColumn
from hbase_orm.schema.tables import ColumnSchema, DynamicSchema, TableSchema

K = TypeVar("K")
V = TypeVar("V")


class DynamicExpr(NoColumn, Owned, Generic[K, V]):
    """A field of dynamic columns as an expression, such as `Reading.tags`.

    Attributes:
        name: The field's name; empty until its class is created.
        name_codec: The codec of the columns' names; None until the class is created.
    """

    name: str = ""
    name_codec: Codec[Any] | None = None

    # Python would take `__getitem__` for a sequence's and count 0, 1, 2 ... without an end.
    __iter__: ClassVar[None] = None

    def __getitem__(self, name: K, /) -> Expr[V | None]:
        """Return one dynamic column as an expression, such as `Reading.tags["rack"]`.

        Its value is None in a row without this column.

        Raises:
            QueryError: No dynamic column can have this name. Its type is wrong, or it does not fit
                the codec.
        """
        return EntryExpr(self, self.stored_name(name))

    @property
    def instead(self) -> str:
        """The `fix` of the error for a comparison of the whole map: compare one dynamic column."""
        is_text = self.name_codec is None or self.name_codec.python_type is str
        return f'name one entry: {self!r}["x"]' if is_text else f"name one entry: {self!r}[name]"

    def stored_name(self, name: Any) -> Any:
        """Return the name of a dynamic column as it is stored.

        Until the class is created, the name is returned unchanged.

        Raises:
            QueryError: No dynamic column can have this name.
        """
        return name if self.name_codec is None else stored_name(self, self.name_codec, name)

    def __repr__(self) -> str:
        """Return `Model.field`."""
        return f"{self.model_name}.{self.name}" if self.name else "an unnamed field"


class EntryExpr(Expr[V]):
    """One dynamic column as an expression, such as `Reading.tags["rack"]`.

    Attributes:
        of: The field of dynamic columns.
        key: The name of the dynamic column.
    """

    def __init__(self, of: DynamicExpr[Any, Any], key: Any) -> None:
        """Make the expression of the dynamic column with the name `key`."""
        self.of = of
        self.key = key

    # A map in its class's body has no name yet when an index of an entry is declared.
    @property
    def name(self) -> str:  # type: ignore[override]  # never set: it follows the map's
        """The name of this expression in statements and indexes, such as `tags['rack']`."""
        return f"{self.of.name}[{self.key!r}]"

    @property
    def model_name(self) -> str:  # type: ignore[override]  # never set: it follows the map's
        """The name of the class that the field belongs to."""
        return self.of.model_name

    @property
    def owner(self) -> type | None:  # type: ignore[override]  # never set: it follows the map's
        """The class that the field belongs to; None until the class is created."""
        return self.of.owner

    def __repr__(self) -> str:
        """Return `Model.field[name]`."""
        return f"{self.of!r}[{self.key!r}]"


@dataclass(frozen=True, slots=True)
class EntryRange:
    """The range of dynamic columns that a statement reads from each row.

    Attributes:
        of: The field of dynamic columns.
        start: The first name of the range.
        stop: The name before which the range ends.
        limit: The largest number of dynamic columns that are read from each row; None for no limit.
    """

    of: DynamicExpr[Any, Any]
    start: Any
    stop: Any
    limit: int | None = None

    def __repr__(self) -> str:
        """Return the range as it is written in a program."""
        most = "" if self.limit is None else f", limit={self.limit}"
        return f"columns_between({self.of!r}, {self.start!r}, {self.stop!r}{most})"


def stored_name(of: DynamicExpr[Any, Any], codec: Codec[Any], name: Any) -> Any:
    """Check the name of a dynamic column, and return it as it is stored.

    For example, a time is stored in UTC.

    Raises:
        QueryError: No dynamic column can have this name. Its type is wrong, it does not fit the
            codec, or it would be rounded when it is stored.
    """
    if not codec.accepts_type(name):
        raise QueryError(
            "the entry's name has the wrong type",
            field=repr(of),
            name=name,
            expected=codec.python_type.__name__,
            fix="give a name of this type",
        )
    try:
        stored = codec.normalize(name)
    except CodecError as error:
        raise QueryError(error.text, fix=error.fix, field=repr(of), **error.details) from None
    if stored != name:
        raise QueryError(
            "no entry can have exactly this name, because names are rounded when they are stored",
            field=repr(of),
            name=name,
            rounded=stored,
            fix="give the rounded name",
        )
    return stored


def dynamic_of(schema: TableSchema, of: DynamicExpr[Any, Any]) -> DynamicSchema:
    """Return the schema of a field of dynamic columns.

    Raises:
        QueryError: The field belongs to another model.
    """
    if not schema.has_field(of):
        raise QueryError(
            "the field does not belong to the selected model",
            field=repr(of),
            model=schema.model_name,
            fix=f"use the fields of {schema.model_name}",
        )
    return schema.dynamic_by_name[of.name]


def stored_column(schema: TableSchema, of: Expr[Any]) -> ColumnSchema | None:
    """Return the column of a field or of a dynamic column; None for a field without a column.

    Raises:
        QueryError: The dynamic column belongs to another model, or no dynamic column can have its
            name. Or a declared field has the same column.
    """
    if not isinstance(of, EntryExpr):
        return schema.column_by_name.get(of.name)
    dynamic = dynamic_of(schema, of.of)
    column = dynamic.column_of(stored_name(of.of, dynamic.name_codec, of.key))
    if column in dynamic.taken:
        raise QueryError(
            "the name belongs to a declared column, not to a dynamic one",
            field=repr(of),
            column=column,
            fix="compare the declared field",
        )
    return ColumnSchema(of.name, column, dynamic.codec, nullable=True)
