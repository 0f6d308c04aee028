"""The columns of a statement's Arrow table: their names, types, and whether they can be null."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.codecs import Codec
from hbase_orm.errors import CodecError, QueryError
from hbase_orm.query import Aggregate, Select, codec_of, heading, loaded_by
from hbase_orm.reading.columnar.arrow_module import arrow
from hbase_orm.reading.columnar.arrow_types import (
    DECIMAL_SCALE,
    ArrowType,
    arrow_type,
    average_type,
)
from hbase_orm.schema import DynamicSchema, EntryExpr, Expr, FunctionExpr, TableSchema

Types = Mapping[str, Any]
"""Arrow types that a program chose, by the name of the column."""

_NO_TYPE_FIX: Final = (
    "select other fields, or choose a type that pyarrow makes of the values: "
    "types={'field': pyarrow.string()}"
)


@dataclass(frozen=True, slots=True)
class ArrowColumn:
    """One column of an Arrow table.

    Attributes:
        name: The name of the column.
        type: The Arrow type, and how values become an array.
        is_nullable: Whether the column may have nulls.
        codec: The codec of the values; None for aggregates and for dynamic columns as a map.
        is_chosen: Whether the program chose the type.
    """

    name: str
    type: ArrowType
    is_nullable: bool
    codec: Codec[Any] | None = None
    is_chosen: bool = False

    @property
    def field(self) -> Any:
        """The `pyarrow.Field`."""
        return arrow().field(self.name, self.type.type, nullable=self.is_nullable)

    def array(self, values: Sequence[Any]) -> Any:
        """Return an array of values.

        Raises:
            CodecError: A value does not fit the type.
        """
        pa = arrow()
        try:
            array = self.type.array(values)
        except (pa.ArrowException, ValueError, TypeError, OverflowError, LookupError) as error:
            raise self._misfit(str(error)) from error
        if array.null_count and not self.is_nullable:
            raise self._misfit("the codec returned None, although the field is required")
        return array

    def _misfit(self, reason: str) -> CodecError:
        return CodecError(
            "a value does not fit the Arrow type of its column",
            column=self.name,
            type=str(self.type.type),
            reason=reason,
            fix=self._fix(),
        )

    def _fix(self) -> str:
        if arrow().types.is_decimal(self.type.type):
            return (
                f"choose another type: types={{{self.name!r}: pyarrow.decimal128(38, 18)}}; "
                f"decimals have {DECIMAL_SCALE} digits after the point if you choose none"
            )
        return f"choose a type of pyarrow that has such values: types={{{self.name!r}: ...}}"


@dataclass(frozen=True, slots=True)
class _MapType(ArrowType):
    """The type of dynamic columns as a map from names to values."""

    names: ArrowType | None = None
    values: ArrowType | None = None

    def array(self, values: Sequence[Any]) -> Any:
        """Return an array of maps from dicts."""
        pa = arrow()
        assert self.names is not None
        assert self.values is not None
        offsets = [0]
        for each in values:
            offsets.append(offsets[-1] + len(each))
        names = self.names.array([name for each in values for name in each])
        stored = self.values.array([value for each in values for value in each.values()])
        return pa.MapArray.from_arrays(pa.array(offsets, pa.int32()), names, stored)


def check_has_columns(stmt: Select[Any]) -> None:
    """Raise an error for a statement whose results are not a table.

    Raises:
        QueryError: The statement loads related objects.
    """
    if stmt.related:
        raise QueryError(
            "related objects cannot be columns of an Arrow table",
            related=[repr(field) for field in stmt.related],
            fix="leave .load_related() out, and read the other model into a table of its own",
        )


def columns_of(stmt: Select[Any], bound: BoundModel, types: Types) -> list[ArrowColumn]:
    """Return the columns of a statement's table, in order.

    Raises:
        QueryError: A field has no Arrow type, or `types` names no column of the statement.
    """
    if stmt.selection is None:
        columns = [_of_field(bound.schema, name, types) for name in names_of_objects(stmt, bound)]
    else:
        columns = [_of_item(bound.schema, item, types) for item in stmt.items]
    unknown = types.keys() - {column.name for column in columns}
    if unknown:
        raise QueryError(
            "types= names a column that the statement does not have",
            names=sorted(map(str, unknown)),
            columns=[column.name for column in columns],
            fix="name columns of the statement: types={'field': pyarrow.string()}",
        )
    return columns


def names_of_objects(stmt: Select[Any], bound: BoundModel) -> list[str]:
    """Return the names of the fields that the objects of a statement have, in declared order."""
    schema, loaded = bound.schema, loaded_by(stmt, bound.schema)
    left_out = {column.name for column in schema.deferred} - loaded
    if stmt.entries is not None:
        left_out |= {each.name for each in schema.dynamics} - {stmt.entries.of.name}
    return [name for name in _stored(schema) if name not in left_out]


def _stored(schema: TableSchema) -> list[str]:
    dynamics = {each.name for each in schema.dynamics}
    return [name for name in schema.fields if name in schema.codecs or name in dynamics]


def _of_field(schema: TableSchema, name: str, types: Types) -> ArrowColumn:
    dynamic = next((each for each in schema.dynamics if each.name == name), None)
    if dynamic is not None:
        return _of_dynamic(schema, dynamic, types)
    return _of_codec(
        schema, name, schema.codecs[name], types, is_nullable=_is_nullable(schema, name)
    )


def _is_nullable(schema: TableSchema, name: str) -> bool:
    if name in schema.layout.names:
        return False
    column = schema.column_by_name.get(name)
    if column is None:
        return True
    # A record type may declare a field of its base again.
    return column not in schema.numbers and (column.nullable or schema.record_types is not None)


def _of_dynamic(schema: TableSchema, dynamic: DynamicSchema, types: Types) -> ArrowColumn:
    pa = arrow()
    names, values = arrow_type(dynamic.name_codec), arrow_type(dynamic.codec)
    if names is None or values is None:
        codec = dynamic.name_codec if names is None else dynamic.codec
        raise _without_type(schema, dynamic.name, codec)
    if dynamic.name in types:
        raise QueryError(
            "the type of dynamic columns as a map cannot be chosen",
            field=dynamic.name,
            fix=f"select single columns: {schema.model_name}.{dynamic.name}[name]",
        )
    kind = pa.map_(names.type, values.type)
    return ArrowColumn(dynamic.name, _MapType(kind, names=names, values=values), is_nullable=False)


def _of_item(schema: TableSchema, item: Expr[Any], types: Types) -> ArrowColumn:
    name = heading(item)
    if isinstance(item, Aggregate):
        return _of_aggregate(schema, item, types)
    if isinstance(item, (EntryExpr, FunctionExpr)):
        return _of_codec(schema, name, codec_of(schema, item), types, is_nullable=True)
    return _of_field(schema, name, types)


def _of_aggregate(schema: TableSchema, item: Aggregate[Any], types: Types) -> ArrowColumn:
    pa, name = arrow(), heading(item)
    is_count = item.function == "count"
    if is_count or item.field is None:
        kind = ArrowType(pa.int64())
        return _of_type(name, kind, types, is_nullable=False)
    codec = codec_of(schema, item.field)
    if item.function == "avg":
        return _of_average(name, codec, types)
    if item.function != "sum":
        return _of_codec(schema, name, codec, types, is_nullable=True)
    kind = _sum_type(codec)
    return _of_type(name, kind, types, is_nullable=False)


def _sum_type(codec: Codec[Any]) -> ArrowType:
    """Return the type of the sum of a codec's values, which is wider than the type of one."""
    pa, one = arrow(), arrow_type(codec)
    if one is None or pa.types.is_integer(one.type):
        return ArrowType(pa.int64())
    return ArrowType(pa.float64()) if pa.types.is_floating(one.type) else one


def _of_average(name: str, codec: Codec[Any], types: Types) -> ArrowColumn:
    column = _of_type(name, average_type(codec), types, is_nullable=True)
    return replace(column, type=column.type.rounding_decimals())


def _of_codec(
    schema: TableSchema,
    name: str,
    codec: Codec[Any],
    types: Types,
    *,
    is_nullable: bool,
) -> ArrowColumn:
    kind = arrow_type(codec)
    if kind is None:
        if name not in types:
            raise _without_type(schema, name, codec)
        kind = ArrowType(types[name])
    is_nullable = is_nullable or kind.has_none
    return _of_type(name, kind, types, is_nullable=is_nullable, codec=codec)


def _of_type(
    name: str,
    kind: ArrowType,
    types: Types,
    *,
    is_nullable: bool,
    codec: Codec[Any] | None = None,
) -> ArrowColumn:
    if name not in types:
        return ArrowColumn(name, kind, is_nullable, codec)
    if not isinstance(types[name], arrow().DataType):
        raise QueryError(
            "a value of types= is not an Arrow type",
            column=name,
            got=repr(types[name]),
            fix="write types={'field': pyarrow.string()}",
        )
    return ArrowColumn(name, kind.as_type(types[name]), is_nullable, codec, is_chosen=True)


def _without_type(schema: TableSchema, name: str, codec: Codec[Any]) -> QueryError:
    return QueryError(
        "the field's values have no Arrow type",
        model=schema.model_name,
        field=name,
        codec=codec.name,
        type=codec.python_type.__name__,
        fix=_NO_TYPE_FIX,
    )
