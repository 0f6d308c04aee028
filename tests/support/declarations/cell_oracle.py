"""What reads must give and writes must leave, decided from raw cells and plain declarations.

Nothing here calls the library, except for single codecs, which have tests of their own: a cell is
decoded by the codec of the field that is declared for its column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final

from hbase_orm import codecs
from tests.support.declarations.plain_models import (
    FieldSpec,
    IndexSpec,
    ModelSpec,
)

Values = Mapping[bytes, bytes]
"""The values of a row's cells by column."""

COUNTS: Final = codecs.get("bytes.int64")
"""HBase's own codec of counters."""

GUARD_FAMILY: Final = b"_:"
MARKER_QUALIFIER: Final = b"_0"


class Missing(Enum):
    """The mark of a required column that a row lacks."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING


@dataclass(frozen=True)
class RowId:
    """A row's record type and key values, and the bytes of its key as the first model writes it."""

    record_type: str
    values: tuple[Any, ...]
    data: bytes
    table: str


def is_data(column: bytes) -> bool:
    """Return whether a cell holds a value: no guard and no marker."""
    return not column.startswith(GUARD_FAMILY) and not column.endswith(b":" + MARKER_QUALIFIER)


def columns_of(spec: ModelSpec, record_type: str) -> dict[bytes, FieldSpec]:
    """Return the fields with one column each, by column."""
    fields = spec.fields_of(record_type)
    return {each.column.encode(): each for each in fields if each.role != "dynamic"}


def exists(recorded: ModelSpec, record_type: str, cells: Values) -> bool:
    """Return whether a row exists, as the declaration says that created the table.

    A row of a plain model exists if it has any cell; a row with a guard if it has its anchor, or
    without one the marker or a recorded column that is no counter.
    """
    own = [column for column in cells if not column.startswith(GUARD_FAMILY)]
    if not recorded.is_guarded:
        return bool(own)
    anchor = recorded.anchor(record_type)
    if anchor is not None:
        return anchor.column.encode() in own
    known = {
        column for column, f in columns_of(recorded, record_type).items() if f.role != "counter"
    }
    prefixes = tuple(f.column.encode() for f in recorded.fields if f.role == "dynamic")
    return any(
        column in known or column.startswith(prefixes) or column.endswith(b":" + MARKER_QUALIFIER)
        for column in own
    )


def shown(spec: ModelSpec, record_type: str, cells: Values) -> dict[str, Any]:
    """Return the value of each field that a model has for a row."""
    return {each.name: _value(each, cells) for each in spec.fields_of(record_type)}


def _value(spec: FieldSpec, cells: Values) -> Any:
    if spec.role == "dynamic":
        return _entries(spec, cells)
    data = cells.get(spec.column.encode())
    if spec.role in {"counter", "version"}:
        return 0 if data is None else COUNTS.decode(data)
    if data is not None:
        return spec.kind.codec().decode(data)
    if spec.nullable:
        return None
    return MISSING if spec.default is None else spec.default


def _entries(spec: FieldSpec, cells: Values) -> dict[str, Any]:
    prefix = spec.column.encode()
    return {
        column[len(prefix) :].decode(): spec.kind.codec().decode(data)
        for column, data in cells.items()
        if column.startswith(prefix)
    }


def written(spec: ModelSpec, record_type: str, values: Mapping[str, Any]) -> dict[bytes, bytes]:
    """Return the cells that a new object with these values has."""
    cells: dict[bytes, bytes] = {}
    for each in spec.fields_of(record_type):
        value = values.get(each.name)
        if each.role == "dynamic":
            prefix = each.column.encode()
            codec = each.kind.codec()
            cells |= {prefix + n.encode(): codec.encode(v) for n, v in (value or {}).items()}
        elif each.is_plain and value is not None:
            cells[each.column.encode()] = each.kind.codec().encode(value)
    return cells


# --- conditions ------------------------------------------------------------------------------------


def compared(value: Any) -> Any:
    """Return a value as conditions see it: a cell that is missing counts as None."""
    return None if value is MISSING else value


def holds(operator: str, value: Any, other: Any) -> bool:
    """Return whether a comparison holds, in the two-valued logic of statements."""
    value = compared(value)
    match operator:
        case "==":
            return bool(value == other)
        case "!=":
            return bool(value != other)
        case "<":
            return value is not None and bool(value < other)
    return value is not None and bool(value >= other)


# --- indexes and writes ----------------------------------------------------------------------------


def index_state(recorded: ModelSpec, used: ModelSpec, index: IndexSpec) -> str:
    """Return "kept" if the table has an index as it is declared, else "new" or "otherwise".

    Names of fields do not matter: an index is over columns, with what its entries depend on.
    """
    known = next((each for each in recorded.indexes if each.name == index.name), None)
    if known is None:
        return "new"
    return "kept" if _entries_of(recorded, known) == _entries_of(used, index) else "otherwise"


def _entries_of(spec: ModelSpec, index: IndexSpec) -> tuple[Any, ...]:
    parts = [(replace(spec.named(name), name="", of=""), falls) for name, falls in index.parts]
    included = [replace(spec.named(name), name="", of="") for name in index.include]
    return parts, included, index.salt


def may_write(recorded: ModelSpec, used: ModelSpec) -> bool:
    """Return whether the catalog's rules let a model write: it keeps every index of the table."""
    if not recorded.is_guarded:
        return not used.is_guarded
    names = {index.name for index in used.indexes}
    lacks = any(index.name not in names for index in recorded.indexes)
    otherwise = any(index_state(recorded, used, index) == "otherwise" for index in used.indexes)
    before, now = recorded.version, used.version
    is_versioned = (before and before.column) == (now and now.column)
    return is_versioned and not lacks and not otherwise


def is_view(recorded: ModelSpec, used: ModelSpec) -> bool:
    """Return whether a model lacks the column that shows that a row exists."""
    anchor = None if recorded.types else recorded.anchor("")
    return anchor is not None and all(each.column != anchor.column for each in used.fields)


def matching(
    rows: Sequence[tuple[RowId, Mapping[str, Any]]], name: str, operator: str, other: Any
) -> Iterator[RowId]:
    """Yield the rows whose field fulfils a comparison."""
    for row, values in rows:
        if name in values and holds(operator, values[name], other):
            yield row
