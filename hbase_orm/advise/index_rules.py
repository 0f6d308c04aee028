"""Rules about secondary indexes: where their entries are written, and how large they are."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from typing import Any, Final

from hbase_orm.advise.remarks import LintRule, LintTarget, Remark
from hbase_orm.advise.rising import few_values, is_rising_field
from hbase_orm.advise.sizes import (
    CELL_BYTES,
    bytes_text,
    cell_count,
    count_text,
    key_bytes,
    one_of,
    row_bytes,
)
from hbase_orm.rowkey.nulls import OrNone
from hbase_orm.rowkey.parts import Part
from hbase_orm.schema import FunctionExpr, IndexSchema, Order, TableSchema
from hbase_orm.schema.declared_index import Index
from hbase_orm.schema.entries import EntryExpr

_GUARD_BYTES: Final = 30  # the names and the value of a guard, about
_TYPICAL_TEXT_BYTES: Final = 16  # for texts of unknown length, on both sides of a comparison


def _monotone(target: LintTarget) -> Iterator[Remark]:
    for index in _unsalted(target.schema):
        part = index.layout.parts[0]
        if not _is_rising(index, target.schema):
            continue
        order = "newest first" if part.is_descending else "oldest first"
        yield Remark(
            index.name,
            f"the entries of {index.name} begin with {part.name}, a time or sequence, {order}",
            f"each of {count_text(target.rows)} writes of rows puts an entry at one place of "
            f"{index.table}, in {one_of(len(index.split_keys) + 1)}; with 16 buckets each takes "
            "6.25 %",
            _salted(target, index),
        )


def _is_rising(index: IndexSchema, schema: TableSchema) -> bool:
    """Return whether entries begin with a time or a sequence; a date may be any date."""
    part, of = index.layout.parts[0], index.expressions[0]
    if isinstance(of, EntryExpr):
        return False
    codec = part.codec.part.codec if isinstance(part.codec, OrNone) else part.codec
    if isinstance(of, FunctionExpr):
        return of.function == "day" and is_rising_field(of.of.name, codec, schema)
    kind = codec.python_type
    is_date = kind is str or (issubclass(kind, date) and not issubclass(kind, datetime))
    return not is_date and is_rising_field(part.name, codec, schema)


def _low_cardinality(target: LintTarget) -> Iterator[Remark]:
    schema = target.schema
    for index in _unsalted(schema):
        first = index.layout.parts[0]
        values = _few(first, schema)
        if values is None or index.unique or index.where or index.split_keys:
            continue
        share = -(-target.rows // values)
        yield Remark(
            index.name,
            f"the entries of {index.name} begin with {first.name}, whose values are listed: "
            f"{values}",
            f"at least {count_text(share)} of {count_text(target.rows)} entries share one value "
            f"and stand side by side, in a table that begins with 1 region{_places(index, values)}"
            "; with 16 buckets each takes 6.25 % of them",
            _salted(target, index)
            + f"; or, if reads ask for one value that few rows have: where={first.name} == ...",
        )


def _places(index: IndexSchema, values: int) -> str:
    """Return a text with the number of places of writing, if a time follows the first value."""
    codecs = [part.codec for part in index.layout.parts[1:2]]
    if not codecs or not issubclass(codecs[0].python_type, datetime):
        return ""
    return f", and new entries are written in at most {values} places"


def _few(part: Part, schema: TableSchema) -> int | None:
    count = few_values(part, schema)
    return None if count is None else count + isinstance(part.codec, OrNone)


def _unsalted(schema: TableSchema) -> Iterator[IndexSchema]:
    return (i for i in schema.indexes if not i.salt and i.maintained == "always")


def _salted(target: LintTarget, index: IndexSchema) -> str:
    declared = getattr(target.model, index.name, None)
    if not isinstance(declared, Index):
        return "salt=16"
    return f"{index.name} = {_text(declared)}"


def _text(index: Index) -> str:
    """Return the declaration of an index with a salt, as it is written in a class's body."""
    shown = [_component(each) for each in index.components]
    if index.include:
        shown.append(f"include=[{', '.join(of.name for of in index.include)}]")
    shown += [f"{name}=True" for name in ("covering", "unique", "nulls") if getattr(index, name)]
    shown += [] if index.where is None else ["where=..."]
    return f"Index({', '.join([*shown, 'salt=16'])})"


def _component(component: Any) -> str:
    if isinstance(component, Order):
        return f"{_written(component.field)}.{'desc' if component.descending else 'asc'}()"
    if isinstance(component, tuple):
        return f"({_written(component[0])}, ...)"
    return _written(component)


def _written(of: Any) -> str:
    return f"func.{of.function}({of.of.name})" if isinstance(of, FunctionExpr) else str(of.name)


def _large(target: LintTarget) -> Iterator[Remark]:
    schema = target.schema
    for index in schema.indexes:
        if not index.covering or index.is_multi_valued:
            continue
        entry, row = _entry_bytes(schema, index), _row_bytes(schema)
        if entry <= row:
            continue
        copied = len(index.included)
        yield Remark(
            index.name,
            f"{index.name} copies {copied} of {len(schema.columns)} columns into each entry",
            f"an entry has about {entry} bytes and a row {row}: the index takes "
            f"{bytes_text(entry * target.rows)} for {count_text(target.rows)} rows, "
            f"{entry / row:.1f} times the table, and each change of a copied column writes both",
            f"{index.name} = Index({', '.join(map(_component, _components(target, index)))}), and "
            "look up the rows; include= only what long lists show",
        )


def _components(target: LintTarget, index: IndexSchema) -> tuple[Any, ...]:
    declared = getattr(target.model, index.name, None)
    return declared.components if isinstance(declared, Index) else index.expressions


def _entry_bytes(schema: TableSchema, index: IndexSchema) -> int:
    """Return about how many bytes an entry has: the flag's cell, and a cell for each copy."""
    texts = _variable(index.layout.parts) + _variable(schema.row_layout.parts)
    key = key_bytes(index.layout) + key_bytes(schema.row_layout) + texts + bool(index.salt)
    cell = CELL_BYTES + key + len("d")
    copies = sum(
        cell + len(column.column) + (column.codec.width_bytes or _TYPICAL_TEXT_BYTES)
        for column in index.included
    )
    return cell + 1 + copies


def _row_bytes(schema: TableSchema) -> int:
    texts = sum(
        _TYPICAL_TEXT_BYTES
        for column in schema.column_by_name.values()
        if column.codec.width_bytes is None
    )
    key = _variable(schema.row_layout.parts)
    guard = CELL_BYTES + key_bytes(schema.row_layout) + key + _GUARD_BYTES
    return row_bytes(schema) + texts + cell_count(schema) * key + guard * schema.has_guards


def _variable(parts: tuple[Part, ...]) -> int:
    return sum(_TYPICAL_TEXT_BYTES for part in parts if part.codec.width_bytes is None)


INDEX_RULES: Final = (
    LintRule(
        "index-monotone",
        "warning",
        "entries that begin with a time or a sequence, without a salt",
        "entries that are written at one time stand side by side, so one region takes the entries "
        "of all writes, however well the rows are spread",
        "HBase Reference Guide, Rowkey Design: Monotonically Increasing Row Keys; docs/indexes.md",
        _monotone,
    ),
    LintRule(
        "index-low-cardinality",
        "warning",
        "entries that begin with a bool or an enum, without a salt",
        "entries of one value are one range of the index table",
        "docs/indexes.md: options of an index",
        _low_cardinality,
    ),
    LintRule(
        "index-covering-large",
        "note",
        "a covering index that is larger than its table",
        "each copied column is a cell with the entry's key, which holds the row key",
        "docs/indexes.md: covering indexes",
        _large,
    ),
)
"""The rules of this module."""
