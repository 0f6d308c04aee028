"""Declared secondary indexes and how they become index tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hbase_orm.codecs import Codec
from hbase_orm.errors import SchemaError
from hbase_orm.rowkey import KeyLayout, part_of
from hbase_orm.schema.conditions import Expr, Order
from hbase_orm.schema.tables import IndexSchema


class Index:
    """A secondary index: an index table whose entries are kept by every write.

    A row has no entry while one of the indexed fields is None.

    Attributes:
        name: The attribute it was declared as.
        components: The indexed fields; an `Order` where a direction was asked for.
    """

    def __init__(self, *components: Expr[Any] | Order) -> None:
        """Declare an index over fields in this order.

        A bare field sorts as its codec does; `.desc()` puts larger values first, `.asc()` last.

        Raises:
            SchemaError: No field, or something that is none.
        """
        if not components:
            raise SchemaError("the index names no field", fix="name at least one field")
        for component in components:
            if not isinstance(component, (Expr, Order)):
                raise SchemaError(
                    "an index is made of fields", got=component, fix="write Index(unit, at.desc())"
                )
        self.name = ""
        self.components = components

    def __set_name__(self, owner: type, attribute: str) -> None:
        """Take the attribute's name."""
        self.name = attribute

    def __repr__(self) -> str:
        """Return the declaration."""
        return f"Index({', '.join(map(repr, self.components))})"


def index_schema(index: Index, table: str, codecs: Mapping[str, Codec[Any]]) -> IndexSchema:
    """Return the index's table and entry layout.

    Args:
        index: The declaration.
        table: The base table.
        codecs: The codec of every field that may be indexed, by name.

    Raises:
        SchemaError: A field cannot be indexed or its bytes do not sort.
    """
    parts = []
    for component in index.components:
        name = component.field.name if isinstance(component, Order) else component.name
        codec = codecs.get(name)
        if codec is None:
            raise SchemaError(
                "the field cannot be indexed",
                index=index.name,
                field=name,
                fix="index plain columns and key fields that row keys give back; counters change "
                "behind an index's back; a name whose number is in the key must be stored as well: "
                'key(..., family=d, qualifier="n")',
            )
        parts.append(part_of(name, _directed(codec, component), is_last=False))
        if not parts[-1].is_ordered:
            raise SchemaError(
                "the field's bytes do not sort as its values do",
                index=index.name,
                field=name,
                codec=codec.name,
                fix="give the field a codec whose bytes sort, e.g. codecs.text() without separator",
            )
    layout = KeyLayout(tuple(parts), tuple(part.name for part in parts))
    return IndexSchema(index.name, f"{table}_ix_{index.name}", layout)


def _directed(codec: Codec[Any], component: Expr[Any] | Order) -> Codec[Any]:
    if isinstance(component, Order):
        return replace(codec, desc=component.descending)
    return codec
