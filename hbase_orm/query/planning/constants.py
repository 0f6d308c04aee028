"""The parts of a key that have one value in all rows of a statement: they decide no order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hbase_orm.errors import CodecError
from hbase_orm.query.conditions.bounds import Bounds
from hbase_orm.rowkey import Part
from hbase_orm.rowkey.derivations import Fixed
from hbase_orm.schema import FunctionExpr, IndexSchema


def constant_names(
    parts: Sequence[Part], alternatives: Sequence[Mapping[str, Bounds]]
) -> frozenset[str]:
    """Return the names of the parts and fields that have one value in all rows that can match.

    A part has one value if `==` decides its value, or the values of all parts that it is computed
    from. The part may stand anywhere in the key.

    Args:
        parts: The parts of the key.
        alternatives: The bounds of each alternative of the statement's conditions.
    """
    waiting, names = list(parts), set()
    while waiting:
        part = waiting.pop()
        waiting += part.inputs
        if _is_constant(part, alternatives):
            names.add(part.name)
    return frozenset(names)


def _is_constant(part: Part, alternatives: Sequence[Mapping[str, Bounds]]) -> bool:
    if isinstance(part.derivation, Fixed):
        return True
    if part.derivation is not None:
        return bool(part.inputs) and all(_is_constant(each, alternatives) for each in part.inputs)
    stored: set[bytes] = set()
    for bounds in alternatives:
        own = bounds.get(part.name)
        if own is None or own.equals is None:
            return False
        try:
            stored.update([part.codec.encode(value) for value in own.equals])
        except CodecError:
            return False  # no row has the value: the client checks
    return len(stored) == 1


def single_parts(index: IndexSchema) -> list[Part]:
    """Return the parts of an index that have one value in each row.

    The part for the items of a collection is left out. A row may be read through the entry of an
    item that the conditions do not compare.
    """
    pairs = zip(index.layout.parts, index.expressions, strict=True)
    return [part for part, of in pairs if not (isinstance(of, FunctionExpr) and of.is_each)]
