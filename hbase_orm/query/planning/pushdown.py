"""Converts conditions to a filter for the server, which may pass more rows than match.

The filter never drops a row that matches. The client checks every row that the filter passes.

A condition on a column becomes a test of the cell's bytes if the bytes decide it. For this, equal
values must have equal bytes (`Codec.canonical`). For ranges, the bytes must also sort like the
values. A row without the cell counts as having the value that is read for an absent cell: None, the
declared default, or 0 for a counter.

Some conditions are never in the filter:

- conditions on key fields: key ranges or the client decide them
- conditions on models whose objects are single cells
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isnan
from types import MappingProxyType
from typing import Any, Final

from hbase_orm.codecs import Codec
from hbase_orm.codecs.text import Raw, Text
from hbase_orm.errors import CodecError, QueryError
from hbase_orm.query.conditions.bounds import NothingMatchesError, high_end, low_end, storable
from hbase_orm.query.conditions.filters import (
    ANY_BYTES,
    NO_BYTES,
    AllOf,
    AnyOf,
    ByteTest,
    ColumnFilter,
    Filter,
    RowKeyFilter,
)
from hbase_orm.query.statements.aggregates import SORTED_TYPES
from hbase_orm.schema import (
    And,
    ColumnSchema,
    Comparison,
    Condition,
    Expr,
    InValues,
    Not,
    Or,
    StartsWith,
    TableSchema,
    absent_value,
    stored_column,
)

MAX_TESTS: Final = 64
"""The largest number of tests in a filter.

A server makes each test for each row; with more tests, sending the rows costs less.
"""

MAX_FILTER_BYTES: Final = 65_536
"""The largest size of a filter, which is sent for every scanner that is opened."""

_Leaf = Comparison | InValues | StartsWith

_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = MappingProxyType(
    {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
)
_UNKNOWN: Final = object()


@dataclass(frozen=True, slots=True)
class PushDown:
    """The filter for some conditions, and the conditions that it does not decide.

    Attributes:
        filter: The filter that the server applies, or None.
        remaining: The conditions that the filter does not decide completely.
        is_empty: Whether no row can match.
    """

    filter: Filter | None
    remaining: tuple[Condition, ...]
    is_empty: bool = False


@dataclass(frozen=True, slots=True)
class _Term:
    """A filter for one condition, with its properties.

    Attributes:
        filter: The filter. It passes all rows that match, maybe also others. None passes all rows.
        is_exact: Whether the filter passes only rows that match.
        is_empty: Whether no row can match.
    """

    filter: Filter | None = None
    is_exact: bool = True
    is_empty: bool = False


_EVERY = _Term()
_ANYTHING = _Term(is_exact=False)
_NONE = _Term(is_empty=True)


def push_down(
    schema: TableSchema,
    conditions: Sequence[Condition],
    *,
    reverse: bool = False,
    columns: Sequence[bytes] | None = None,
) -> PushDown:
    """Return the filter for a scan by `conditions`, and the conditions that it does not decide.

    Args:
        schema: The table.
        conditions: Checked conditions: each compares a field of the table with a fitting value.
        reverse: Whether the scan runs in reverse.
        columns: The columns or whole families that the scan reads; None means all families.
    """
    if not schema.storage.has_own_rows:  # rows hold many objects each
        return PushDown(None, tuple(conditions))
    fetched = schema.family_names if columns is None else tuple(columns)
    terms = _Terms(schema, frozenset(fetched))
    parts: list[Filter] = []
    remaining: list[Condition] = []
    room, bytes_left = MAX_TESTS, MAX_FILTER_BYTES
    for condition in conditions:
        term = terms.of(condition, wanted=True)
        if term.is_empty:
            return PushDown(None, (), is_empty=True)
        size = 0 if term.filter is None else len(bytes(term.filter))
        tests = 0 if term.filter is None else term.filter.tests
        fits = tests <= room and size <= bytes_left
        if term.filter is not None and fits:
            parts.append(term.filter)
            room, bytes_left = room - tests, bytes_left - size
        if not (term.is_exact and fits):
            remaining.append(condition)
    if parts and reverse and len({column.partition(b":")[0] for column in fetched}) > 1:
        # HBase reads the families that a filter does not need only for rows that pass, which it
        # cannot do in a reverse scan. A filter on row keys needs all families; this one passes all
        # rows.
        parts.append(RowKeyFilter(ANY_BYTES))
    return PushDown(_joined(AllOf, parts), tuple(remaining))


@dataclass(frozen=True, slots=True)
class _Terms:
    """Makes the terms of one scan: a filter for each condition.

    Attributes:
        schema: The table.
        fetched: The columns and whole families that the scan reads.
    """

    schema: TableSchema
    fetched: frozenset[bytes]

    def of(self, condition: Condition, *, wanted: bool) -> _Term:
        """Return a term that passes the rows for which a condition has the result `wanted`."""
        match condition:
            case Not(condition=single):
                return self.of(single, wanted=not wanted)
            case And(conditions=inner) | Or(conditions=inner):
                terms = [self.of(part, wanted=wanted) for part in inner]
                return _both(terms) if isinstance(condition, And) is wanted else _either(terms)
            case Comparison(operator="!=", field=of, value=value):
                return self._leaf(Comparison(of, "==", value), wanted=not wanted)
            case Comparison() | InValues() | StartsWith():
                return self._leaf(condition, wanted=wanted)
        return _ANYTHING

    def _leaf(self, leaf: _Leaf, *, wanted: bool) -> _Term:
        column = self._column(leaf.field)
        if column is None:
            return _ANYTHING
        ways, is_exact = ways_of(column.codec, leaf)
        if not (wanted or is_exact):
            ways = ()  # the tests pass too much: their negation would drop rows that match
        absent = _UNKNOWN if column.makes_default else absent_value(self.schema, column)
        passes = absent is _UNKNOWN or holds(leaf, absent, column.codec) is wanted
        term = _term(column.column, ways, wanted=wanted, passes_missing=passes)
        return replace(term, is_exact=is_exact and absent is not _UNKNOWN)

    def _column(self, of: Expr[Any]) -> ColumnSchema | None:
        """Return the column of a field, if the filter can test it.

        None in these cases:

        - The field has no column, or its value is read from the row key.
        - The scan does not read the column.
        - The row key has another codec for the field.
        - A record type of the table has another column, or another codec, for the field.
        """
        schema, name = self.schema, of.name
        column = stored_column(schema, of)
        if column is None or name in schema.layout.decoded:
            return None
        if schema.layout.codec(name) not in (None, column.codec):
            return None
        if not {column.column, column.column.partition(b":")[0]} & self.fetched:
            return None
        models = () if schema.record_types is None else schema.record_types.models.values()
        is_shared = all(_is_stored_in(m.__schema__, of, column) for m in models)
        return column if is_shared else None


def _is_stored_in(schema: TableSchema, of: Expr[Any], column: ColumnSchema) -> bool:
    """Return whether a record type stores a field in the same column, with the same codec."""
    try:
        return stored_column(schema, of) == column
    except QueryError:
        return False


def _both(terms: Sequence[_Term]) -> _Term:
    if any(term.is_empty for term in terms):
        return _NONE
    filters = [term.filter for term in terms if term.filter is not None]
    return _Term(_joined(AllOf, filters), all(term.is_exact for term in terms))


def _either(terms: Sequence[_Term]) -> _Term:
    some = [term for term in terms if not term.is_empty]
    if not some:
        return _NONE
    every = [term for term in some if term.filter is None]
    if every:
        return _EVERY if any(term.is_exact for term in every) else _ANYTHING
    filters = [term.filter for term in some if term.filter is not None]
    return _Term(_joined(AnyOf, filters), all(term.is_exact for term in some))


def _joined(kind: type[AllOf | AnyOf], parts: Sequence[Filter]) -> Filter | None:
    if len(parts) < 2:  # noqa: PLR2004 - one alone needs no joining
        return parts[0] if parts else None
    return kind(tuple(parts))


_Ways = tuple[tuple[ByteTest, ...], ...]
"""Alternatives of tests: a cell's bytes fit if they pass all tests of one alternative.

No bytes fit `()`, and all bytes fit `((),)`.
"""

_NO_WAY: Final[_Ways] = ()
_ANY_WAY: Final[_Ways] = ((),)


def _term(column: bytes, ways: _Ways, *, wanted: bool, passes_missing: bool) -> _Term:
    """Return a term for the rows whose cell fits an alternative in `ways`.

    If `wanted` is false, the term is for the rows whose cell fits no alternative. Rows without the
    cell pass if `passes_missing` is true.
    """
    if () in ways if wanted else not ways:
        return _EVERY if passes_missing else _Term(ColumnFilter(column, ANY_BYTES, False))
    if not ways if wanted else () in ways:
        return _Term(ColumnFilter(column, NO_BYTES, True)) if passes_missing else _NONE
    inner, outer = (AllOf, AnyOf) if wanted else (AnyOf, AllOf)
    parts = []
    for way in ways:
        tests = way if wanted else [test.negated for test in way]
        joined = _joined(inner, [ColumnFilter(column, test, passes_missing) for test in tests])
        assert joined is not None
        parts.append(joined)
    return _Term(_joined(outer, parts))


def ways_of(codec: Codec[Any], leaf: _Leaf) -> tuple[_Ways, bool]:
    """Return tests that all matching cells pass, and whether only matching cells pass them."""
    match leaf:
        case Comparison(operator="==", value=value):
            return _equal(codec, (value,))
        case InValues(values=values):
            return _equal(codec, values)
        case StartsWith(prefix=prefix):
            return _starting(codec, prefix)
        case Comparison(value=None):
            return _NO_WAY, True
    return _within(codec, leaf)


def _equal(codec: Codec[Any], values: Sequence[Any]) -> tuple[_Ways, bool]:
    if all(value is None for value in values):
        return _NO_WAY, True
    if not codec.canonical or (codec.python_type is str and not _are_encodable(codec, values)):
        return _ANY_WAY, False
    stored = storable(codec, [v if v is None else codec.comparable(v) for v in values])
    return tuple((ByteTest("=", data),) for data in dict.fromkeys(map(codec.encode, stored))), True


def _are_encodable(codec: Codec[Any], values: Sequence[Any]) -> bool:
    """Return whether a codec can encode all of `values`.

    Some codecs can decode values that they cannot encode.
    """
    try:
        for value in values:
            if value is not None:
                codec.encode(value)
    except CodecError:
        return False
    return True


def _starting(codec: Codec[Any], prefix: Any) -> tuple[_Ways, bool]:
    if not prefix:
        return _ANY_WAY, True
    try:
        data = codec.encode_prefix(prefix)
    except CodecError:
        return _ANY_WAY, False
    if not data:
        return _ANY_WAY, False
    return ((ByteTest("=", data, "binaryprefix"),),), isinstance(codec, (Text, Raw))


def _within(codec: Codec[Any], comparison: Comparison) -> tuple[_Ways, bool]:
    value = codec.comparable(comparison.value)
    is_real = codec.python_type is float
    if not (codec.canonical and codec.ordered and codec.python_type in SORTED_TYPES):
        return _ANY_WAY, False
    if isinstance(value, float) and isnan(value):
        return _NO_WAY, True  # nothing is less or greater
    is_low = comparison.operator in {">", ">="}
    find = low_end if is_low else high_end
    try:
        end = find(codec, comparison.operator, value)
    except NothingMatchesError:
        return _NO_WAY, True
    if end is None:
        return _ANY_WAY, False
    tests = [_test(codec, end.value, is_low=is_low, included=end.included)]
    if is_real:  # NaN, which sorts beyond the infinities, is neither less nor greater
        tests.append(_test(codec, inf if is_low else -inf, is_low=not is_low, included=True))
    return (tuple(tests),), True


def _test(codec: Codec[Any], value: Any, *, is_low: bool, included: bool) -> ByteTest:
    data = codec.encode(value)
    if is_low is not codec.desc:
        return ByteTest(">=" if included else ">", data)
    return ByteTest("<=" if included else "<", data)


def holds(leaf: _Leaf, value: Any, codec: Codec[Any]) -> bool:
    """Return whether a value fulfils a simple condition, by the same rule as the client's check."""
    match leaf:
        case InValues(values=values):
            return value in tuple(v if v is None else codec.comparable(v) for v in values)
        case StartsWith(prefix=prefix):
            return value is not None and bool(value.startswith(prefix))
        case Comparison(value=None):
            return leaf.operator == "==" and value is None
        case Comparison(operator="==", value=expected):
            return bool(value == codec.comparable(expected))
        case Comparison(value=expected):
            compare = _OPERATORS[leaf.operator]
            return value is not None and bool(compare(value, codec.comparable(expected)))
