"""Decides which table holds a model's rows.

It is the model's own table, one table for each period, or the shared table of its base.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from hbase_orm.errors import CodecError, CorruptRowError, SchemaError
from hbase_orm.model.declare.keys import RowPlacement, rowkey_of
from hbase_orm.rowkey import RecordType, TablePerPeriod
from hbase_orm.rowkey.derivations import Fixed
from hbase_orm.rowkey.layout import part_bytes
from hbase_orm.rowkey.record_types import RecordTypeCodec
from hbase_orm.schema import Table, TableSchema
from hbase_orm.schema.options import check_table_name

_PART: Final = RecordType.kind  # what the part of a row key is called


def placement_of(
    cls: type, table: str | Table | TablePerPeriod | None, record_type: str | None
) -> RowPlacement:
    """Return which table holds a model's rows, from the arguments of its class.

    Raises:
        SchemaError: The model names no table, or a record type has no base with `RecordType()`.
    """
    if record_type is not None:
        return _placement_of_record_type(cls, table, record_type)
    if table is None:
        base = base_of(cls)
        named = f'{cls.__name__}(Model, table="...")'
        if base is not None:
            named = f'{cls.__name__}({base.__name__}, record_type="...")'
        raise SchemaError(
            "the model names no table",
            model=cls.__name__,
            fix=f"write class {named}, or abstract=True",
        )
    key = rowkey_of(cls)
    has_record_types = key is not None and any(isinstance(c, RecordType) for c in key.components)
    record = RecordTypeCodec() if has_record_types else None
    if not isinstance(table, TablePerPeriod):
        return RowPlacement(table if isinstance(table, Table) else Table(table), record=record)
    shared = Table(_example(table), foreign=table.foreign)
    return RowPlacement(shared, periods=table, record=record)


def _example(periods: TablePerPeriod) -> str:
    """Return an example of a table's name: the pattern with 0 for every `strftime` field.

    Raises:
        SchemaError: The example is not allowed as a table's name.
    """
    example = periods.name
    for directive in "YmdH":
        example = example.replace(f"%{directive}", "0")
    check_table_name(example)
    return example


def base_of(cls: type) -> type[Any] | None:
    """Return the base model of a record type, whose table the record type shares.

    None if `cls` is a base of record types itself, or does not derive from one.
    """
    own: TableSchema | None = vars(cls).get("__schema__")
    if own is not None and own.record_types is not None:
        return None  # a base itself
    for base in cls.__mro__[1:]:
        schema: TableSchema | None = vars(base).get("__schema__")
        if schema is not None and schema.record_types is not None:
            return base
    return None


def _placement_of_record_type(
    cls: type, table: str | Table | TablePerPeriod | None, record_type: str
) -> RowPlacement:
    base = base_of(cls)
    if base is None or table is not None or not isinstance(record_type, str) or not record_type:
        raise SchemaError(
            "record_type= needs a base model whose row key has RecordType()",
            model=cls.__name__,
            record_type=record_type,
            fix='class Base(Model, table="..."): __rowkey__ = rowkey(..., RecordType()); '
            'class Sub(Base, record_type="S")',
        )
    schema: TableSchema = base.__schema__
    period = schema.layout.table_period
    periods = None
    if period is not None:
        create = period.is_made_by_writes
        periods = TablePerPeriod(
            period.pattern, of=period.field, period=period.unit.name, create=create
        )
    shared = Table(
        schema.table if periods is None else _example(periods),
        splits=schema.split_keys,
        durability=schema.durability,  # type: ignore[arg-type]  # checked when it was declared
        region_replication=schema.region_replication,
        foreign=schema.is_foreign,
    )
    shared.attributes |= schema.attributes
    return RowPlacement(shared, periods=periods, record=record_type)


def join_base(cls: Any) -> None:
    """Add a new record type, and its families, to the schema of its base.

    Raises:
        SchemaError: One record type is a prefix of another, or the class has indexes or a version
            column.
    """
    schema: TableSchema = cls.__schema__
    base: Any = base_of(cls)
    record_types = base.__schema__.record_types
    if schema.is_guarded:
        raise SchemaError(
            "a record type cannot have indexes or a version column: other types write the "
            "same table without them",
            model=cls.__name__,
            fix="give it a table of its own",
        )
    part = next(p for p in schema.layout.parts if isinstance(p.derivation, Fixed))
    data = part.encode(part.derivation.value)  # type: ignore[union-attr]  # a Fixed
    record_types.codec.add(_name_of(part.derivation), data)
    record_types.models[data] = cls
    names = {family.name for family in base.__schema__.families}
    new = tuple(family for family in schema.families if family.name not in names)
    base.__schema__ = replace(base.__schema__, families=(*base.__schema__.families, *new))


def _name_of(derivation: Any) -> str:
    value = derivation.value
    return value.decode() if isinstance(value, bytes) else str(value)


def model_finder(base: Any) -> Callable[[bytes], Any]:
    """Return a function from a row key to the model of its record type.

    The function raises CorruptRowError for a record type that no class declares.
    """
    schema: TableSchema = base.__schema__
    models = _models_of(base)
    bytes_of = part_bytes(schema.layout, _PART)

    def find(key: bytes) -> Any:
        try:
            return models[bytes_of(key)]
        except (CodecError, KeyError) as error:
            raise CorruptRowError(
                "the row has a record type that this program does not declare",
                model=schema.model_name,
                row=key,
                known=kind_names(base),
                fix="import the module that declares the record type before reading its base",
            ) from error

    return find


def model_of_key(model: Any, key: bytes) -> Any:
    """Return the model of a row key.

    For the base of record types this is the model of the key's record type, else `model` itself.

    Raises:
        CorruptRowError: No class declares the key's record type.
    """
    return model if model.__schema__.record_types is None else model_finder(model)(key)


def record_type_test(model: Any) -> Callable[[bytes], bool] | None:
    """Return a function that returns whether a row key belongs to the record type `model`.

    Return None for a model without a record type.
    """
    base = base_of(model)
    if base is None:
        return None
    bytes_of = part_bytes(base.__schema__.layout, _PART)
    own = next(data for data, each in _models_of(base).items() if each is model)

    def is_own(key: bytes) -> bool:
        try:
            return bytes_of(key) == own
        except CodecError:
            return False  # of no record type that this program knows

    return is_own


def kind_names(base: Any) -> list[str]:
    """Return the class names of a base's record types, in order of declaration."""
    return [model.__name__ for model in _models_of(base).values()]


def _models_of(base: Any) -> dict[bytes, Any]:
    models: dict[bytes, Any] = base.__schema__.record_types.models
    return models
