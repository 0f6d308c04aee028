"""What models declare besides names and columns, and their tables' options: members of a record.

A record that an earlier version wrote lacks them. They are needed to make a model from the record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from hbase_orm.record.stored_values import StoredValue


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """What a model declares besides its key, its columns and the names of its fields.

    Attributes:
        keys: The key fields in the order of declaration.
        parts: The names of the derived parts of the row key, each before those of its inputs.
        values: The possible values of computed parts, by the name of the part: encoded, as
            hexadecimal digits.
        nullable: The fields that may be None.
        deferred: The fields that reads of objects leave out.
        defaults: The defaults of columns by field. A constant has its encoded value.
        types: The types of packed values by field, if they are made of built-in types.
        indexes: The names of the indexes.
        base: The name of the base of a record type, else empty.
        period_field: The field whose period is in the names of the tables, else empty.
        creates_tables: Whether a write creates the missing table of a period.
        timestamps: Who sets the timestamps of cells; empty for the engine's option.
    """

    keys: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    nullable: tuple[str, ...] = ()
    deferred: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict[str, Any])
    types: Mapping[str, Any] = field(default_factory=dict[str, Any])
    indexes: tuple[str, ...] = ()
    base: str = ""
    period_field: str = ""
    creates_tables: bool = False
    timestamps: str = ""


@dataclass(frozen=True, slots=True)
class TableOptions:
    """The options of new tables.

    Attributes:
        split_keys: The split keys in ascending order.
        durability: How writes reach the write-ahead log.
        region_replication: The number of copies of each region.
        attributes: The attributes.
    """

    split_keys: tuple[bytes, ...] = ()
    durability: str = "USE_DEFAULT"
    region_replication: int = 1
    attributes: Mapping[str, str] = field(default_factory=dict[str, str])


def stored_model_options(options: ModelOptions) -> dict[str, Any]:
    """Return a model's options as JSON."""
    return {
        "keys": list(options.keys),
        "parts": list(options.parts),
        "values": {name: list(values) for name, values in options.values.items()},
        "nullable": list(options.nullable),
        "deferred": list(options.deferred),
        "defaults": dict(options.defaults),
        "types": dict(options.types),
        "indexes": list(options.indexes),
        "base": options.base,
        "period": options.period_field,
        "creates": options.creates_tables,
        "timestamps": options.timestamps,
    }


def model_options_of(stored: StoredValue) -> ModelOptions:
    """Return the options of a model that a record has.

    Raises:
        RecordError: They are damaged.
    """
    content = stored.members(*NO_OPTIONS)
    return ModelOptions(
        keys=_texts_of(content["keys"]),
        parts=_texts_of(content["parts"]),
        values={name: _texts_of(values) for name, values in content["values"].each()},
        nullable=_texts_of(content["nullable"]),
        deferred=_texts_of(content["deferred"]),
        defaults={name: value.value for name, value in content["defaults"].each()},
        types={name: value.value for name, value in content["types"].each()},
        indexes=_texts_of(content["indexes"]),
        base=content["base"].typed(str),
        period_field=content["period"].typed(str),
        creates_tables=content["creates"].typed(bool),
        timestamps=content["timestamps"].typed(str),
    )


NO_OPTIONS: Final[Mapping[str, Any]] = MappingProxyType(stored_model_options(ModelOptions()))
"""The options of a model that declares none, as JSON."""


def stored_table_options(options: TableOptions) -> dict[str, Any]:
    """Return a table's options as JSON."""
    return {
        "splits": [key.decode("latin-1") for key in options.split_keys],
        "durability": options.durability,
        "replication": options.region_replication,
        "attributes": dict(options.attributes),
    }


def table_options_of(stored: StoredValue) -> TableOptions:
    """Return the options of a table that a record has.

    Raises:
        RecordError: They are damaged.
    """
    content = stored.members("splits", "durability", "replication", "attributes")
    return TableOptions(
        tuple(key.data() for key in content["splits"].items()),
        content["durability"].typed(str),
        content["replication"].typed(int),
        {name: value.typed(str) for name, value in content["attributes"].each()},
    )


def _texts_of(stored: StoredValue) -> tuple[str, ...]:
    return tuple(text.typed(str) for text in stored.items())
