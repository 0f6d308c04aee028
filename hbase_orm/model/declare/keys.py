"""Makes the layout of a model's row keys from its key fields and its `__rowkey__`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hbase_orm.codecs import Codec
from hbase_orm.codecs.hbase import BytesDecimal
from hbase_orm.codecs.structures import Packed
from hbase_orm.errors import SchemaError
from hbase_orm.model.fields.fields import Key
from hbase_orm.rowkey import (
    Component,
    KeyFields,
    KeyLayout,
    KeySource,
    Offset,
    Period,
    RandomSalt,
    RecordType,
    RowKey,
    Salt,
    TablePerPeriod,
    assemble,
)
from hbase_orm.rowkey.periods import UNITS, unit_of
from hbase_orm.rowkey.record_types import RecordTypeCodec
from hbase_orm.schema import Table
from hbase_orm.schema.options import check_table_name


@dataclass(frozen=True, slots=True)
class RowPlacement:
    """The table of a model's rows.

    Attributes:
        table: The table. If there is one table for each period, a table with an example name.
        periods: The declaration of one table for each period, or None.
        record: The record type of the model. For the base of record types, the codec of the record
            types. None if the model has no record type.
        packed: The offset that is the cell's qualifier if each object is stored as one cell, else
            None.
    """

    table: Table
    periods: TablePerPeriod | None = None
    record: RecordTypeCodec | str | None = None
    packed: Offset | None = None


def key_layout(
    cls: type,
    placement: RowPlacement,
    keys: Mapping[str, Key[Any]],
    codecs: Mapping[str, Codec[Any]],
) -> KeyLayout:
    """Return the layout of a model's row keys.

    Raises:
        SchemaError: The declaration is wrong.
    """
    if not keys:
        raise SchemaError(
            "the model has no row key", fix="declare at least one key field: name: Key[str] = key()"
        )
    for name in keys:
        _check_identity(name, codecs[name])
    key = KeyFields(
        fields=keys,
        codecs={name: codecs[name] for name in keys},
        stored=frozenset(name for name, field in keys.items() if field.family is not None),
    )
    components = _components(cls, keys, is_record_type=isinstance(placement.record, str))
    if placement.packed is not None:
        _check_salt(components[0])
        _check_together(components, placement.packed)
        components = (*components, placement.packed)
    layout = assemble(
        components, key, table=placement.periods, record=placement.record, model=cls.__name__
    )
    for lookup in layout.lookups:
        _check_dictionary(lookup.dictionary, placement)
    return layout


def _check_dictionary(dictionary: str, placement: RowPlacement) -> None:
    """Refuse a dictionary whose name cannot be a table's name or is the model's own table.

    Raises:
        SchemaError: The error names the dictionary.
    """
    check_table_name(dictionary)
    periods = placement.periods
    if periods is None:
        is_own = dictionary == placement.table.name
    else:
        is_own = UNITS[periods.period].start_of(periods.name, dictionary) is not None
    if is_own:
        raise SchemaError(
            "the dictionary of a substitute cannot be the model's own table",
            dictionary=dictionary,
            fix='name another table, which need not exist yet: dictionary="names"',
        )


def _check_salt(first: KeySource) -> None:
    """Refuse a salt that is computed from the whole key if the qualifier stores the time's offset.

    Raises:
        SchemaError: The salt would depend on the offset, so the cells of one period, which must
            share a row, would be in several rows.
    """
    if isinstance(first, Salt) and not first.of:
        raise SchemaError(
            "the salt would put the cells of one period into different rows",
            salt=first,
            fix="compute the salt from fields other than the time: Salt(16, of=metric)",
        )


def _check_together(components: tuple[KeySource, ...], packed: Offset) -> None:
    """Refuse a row key that differs between the cells of one period, which must share a row.

    Raises:
        SchemaError: A component differs; the error names it.
    """
    for component in components:
        if isinstance(component, RandomSalt) or _differs_in_period(component, packed):
            raise SchemaError(
                "the component would put the cells of one period into different rows",
                component=component,
                offset=str(unit_of(packed.unit, packed.every)),
                fix=f"leave it out, compute it without the time, or from {_period_of(packed)}",
            )


def _differs_in_period(source: KeySource, packed: Offset) -> bool:
    """Return whether a component's value can differ between the cells of one period."""
    if source is packed.of[0]:
        return True
    if isinstance(source, Period) and source.of == packed.of:
        periods = unit_of(source.unit, source.every)
        return not periods.contains(unit_of(packed.unit, packed.every))
    return isinstance(source, Component) and any(_differs_in_period(of, packed) for of in source.of)


def _period_of(packed: Offset) -> str:
    every = "" if packed.every == 1 else f", every={packed.every}"
    return f"Period({packed.unit!r}{every})"


def _names_of_keys(cls: type) -> list[str]:
    return [name for name, value in vars(cls).items() if isinstance(value, Key)]


def rowkey_of(cls: type) -> RowKey | None:
    """Return the model's `__rowkey__`, or None if it declares none.

    Raises:
        SchemaError: `__rowkey__` is not a result of `rowkey`.
    """
    declared: Any = getattr(cls, "__rowkey__", None)
    if declared is not None and not isinstance(declared, RowKey):
        raise SchemaError(
            "__rowkey__ must be made with rowkey()",
            model=cls.__name__,
            got=declared,
            fix=f"write __rowkey__ = rowkey({', '.join(_names_of_keys(cls)) or 'FIELD, ...'})",
        )
    return declared


def _components(
    cls: type, keys: Mapping[str, Key[Any]], *, is_record_type: bool
) -> tuple[KeySource, ...]:
    """Return the components of a model's row key.

    These are the components of `__rowkey__`, which the model may inherit. Without `__rowkey__`,
    they are the key fields. For a record type that inherits `__rowkey__`, the key fields that it
    declares itself follow.
    """
    declared = rowkey_of(cls)
    if declared is None:
        return tuple(keys.values())
    if not is_record_type:
        return declared.components
    if "__rowkey__" in vars(cls):
        _check_kind(cls, declared)
        return declared.components
    own = tuple(field for name, field in keys.items() if name in vars(cls))
    return (*declared.components, *own)


def _check_kind(cls: type, declared: RowKey) -> None:
    """Refuse a record type whose row keys do not begin like the row keys of its base.

    If they began differently, a read of the table could not recognize the record type.

    Raises:
        SchemaError: The beginnings differ; the error shows how the row key must begin.
    """
    base = next(vars(base)["__rowkey__"] for base in cls.__mro__[1:] if "__rowkey__" in vars(base))
    if _before_kind(declared) != _before_kind(base):
        raise SchemaError(
            "the row key of a record type must begin with the components of its base's row key",
            rowkey=declared.components,
            base=base.components,
            fix="repeat the base's components up to RecordType(), or leave __rowkey__ out: the "
            "type's own key fields then follow",
        )


def _before_kind(key: RowKey) -> tuple[int, ...] | None:
    """Return the `id` of each component before `RecordType()`; None without a `RecordType()`."""
    for number, component in enumerate(key.components):
        if isinstance(component, RecordType):
            return tuple(map(id, key.components[:number]))
    return None


def _check_identity(name: str, codec: Codec[Any]) -> None:
    """Refuse a codec whose bytes do not identify a row.

    Equal values may have several encodings: dicts in another order, 1 and 1.0, `Decimal("1.0")` and
    `Decimal("1.00")`. Each encoding would be another row.

    Raises:
        SchemaError: The codec may encode equal values differently; the error names field and codec.
    """
    if isinstance(codec, (Packed, BytesDecimal)):
        raise SchemaError(
            "the codec may encode equal values differently, so a row could not be found by its key",
            field=name,
            codec=codec.name,
            fix="use a codec with one encoding for each value: separate fields instead of "
            "packed values, codecs.decimal() for decimal numbers",
        )
