"""Checks that rows with different key fields have different row keys.

A key distinguishes the values of a field if it has one of these:

- the field itself,
- its period and its offset,
- its number from a dictionary table,
- a whole hash of the field,
- the result of a user's function without a list of possible values.

A field that cannot be decoded from the key must also be stored in a column.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hbase_orm.errors import SchemaError
from hbase_orm.rowkey.computed import Calculated
from hbase_orm.rowkey.derivations import HashOf, NumberOfName
from hbase_orm.rowkey.layout import KeyLayout
from hbase_orm.rowkey.parts import Framing, Part


def check_distinct(layout: KeyLayout, names: Sequence[str], stored: Collection[str]) -> None:
    """Raise an error for a layout that gives several rows the same key, or loses a field's value.

    Args:
        layout: The layout.
        names: The names of the key fields.
        stored: The key fields that are also stored in a column.

    Raises:
        SchemaError: The layout is wrong; the error names the fields.
    """
    hidden = [name for name in names if name not in layout.decoded]
    left_out = [
        name for name in hidden if not any(_distinguishes(part, name) for part in layout.parts)
    ]
    if left_out:
        _check_joined(layout, left_out)
        raise SchemaError(
            "the row key must hold every key field exactly once: rows that differ only in a "
            "missing field would have the same key",
            left_out=left_out,
            rowkey=[part.name for part in layout.parts],
            fix=f"name each of these once in rowkey(...): {', '.join(names)}; instead of a "
            "field itself, its Digest, its Substitute, or its Period and the Offset in the same "
            "period will do",
        )
    lost = [name for name in hidden if name not in stored]
    if lost:
        raise SchemaError(
            "these fields cannot be decoded from the row key, and no column stores them",
            fields=lost,
            fix="store them as well: key(..., family=..., qualifier=...)",
        )


def _check_joined(layout: KeyLayout, left_out: Sequence[str]) -> None:
    """Refuse a digest of parts without terminators: "ab" + "c" has the same bytes as "a" + "bc"."""
    for part in layout.parts:
        of = part.derivation
        if isinstance(of, HashOf) and of.is_whole and not _come_apart(of.inputs):
            fields = [name for name in part.fields if name in left_out]
            if fields:
                raise SchemaError(
                    "different values of these fields could have the same digest, because "
                    "their bytes are joined without a separator",
                    digest=part.name,
                    fields=fields,
                    fix="write a Digest of each field; or give all fields but one a fixed width",
                )


def _distinguishes(part: Part, name: str) -> bool:
    """Return whether rows that differ only in this field always differ in this part."""
    of = part.derivation
    if of is None:
        return part.name == name
    if isinstance(of, HashOf):
        is_safe = of.is_whole and _come_apart(of.inputs)
    elif isinstance(of, Calculated):
        is_safe = of.values is None
    else:
        is_safe = isinstance(of, NumberOfName)
    return is_safe and any(_distinguishes(source, name) for source in of.inputs)


def _come_apart(parts: Sequence[Part]) -> bool:
    """Return whether the joined bytes of parts, without terminators, can be split in only one way.

    Parts that show their own end are split off at the front. Of the parts that remain, all but the
    first need a fixed width, so that they can be split off at the back.
    """
    waiting = list(parts)
    while waiting and waiting[0].framing in {Framing.FIXED, Framing.SELF}:
        waiting.pop(0)
    return all(part.framing is Framing.FIXED for part in waiting[1:])
