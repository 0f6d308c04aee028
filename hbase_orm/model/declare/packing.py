"""Models whose objects are cells: the qualifier of their one column is an offset of a time.

OpenTSDB stores the points of an hour in this way: one row for the hour, with a column for each
second.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hbase_orm.errors import SchemaError
from hbase_orm.model.fields.counters import Counter, Version
from hbase_orm.model.fields.fields import Key, Mapped
from hbase_orm.rowkey import KeyLayout, Offset, RecordType
from hbase_orm.schema import Index

Field = Mapped[Any] | Counter | Version


def packed_offset(fields: Mapping[str, Any], indexes: Mapping[str, Index]) -> Offset | None:
    """Return the offset that is the qualifier of a model's only column.

    None for a usual model, whose qualifiers are texts.

    Raises:
        SchemaError: The model has another column or an index. Or it stores a key field in a column.
    """
    packed = {n: f for n, f in fields.items() if isinstance(getattr(f, "qualifier", None), Offset)}
    if not packed:
        return None
    others = [
        name
        for name, field in fields.items()
        if name not in packed and not (isinstance(field, Key) and field.family is None)
    ]
    (name, field), *more = packed.items()
    if others or more or indexes or isinstance(field, (Key, Counter, Version)):
        raise SchemaError(
            "a model with an Offset as a qualifier can have only that column and no index",
            field=name,
            others=[*others, *(other for other, _ in more), *indexes],
            fix="pack several values into one: codec=codecs.msgpack(...)",
        )
    offset: Offset = field.qualifier
    return offset


def check_packed(layout: KeyLayout, *, nullable: bool) -> int:
    """Return the width of the qualifier in bytes; the qualifier is the last part of the layout.

    Raises:
        SchemaError: The qualifier has no fixed width, the value may be None, or the key has a
            record type.
    """
    if any(part.name == RecordType.kind for part in layout.parts):
        raise SchemaError(
            "a model with a record type cannot have an Offset as a qualifier: rows of the "
            "other types do not pack several objects into one row",
            fix="give the model its own table, and a row key without RecordType",
        )
    width_bytes = layout.parts[-1].codec.width_bytes
    if width_bytes is None:
        raise SchemaError(
            "the codec of an offset in a qualifier must have a fixed width",
            codec=layout.parts[-1].codec.name,
            fix="use codecs.uint16() or uint32()",
        )
    if nullable:
        raise SchemaError(
            "the value of a packed cell cannot be None: without a value the cell would not exist",
            fix="annotate it without None",
        )
    return width_bytes
