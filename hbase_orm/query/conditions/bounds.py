"""The bounds that a statement's conditions set for each field: a list of values, or a range.

A statement with OR is split into alternatives without OR; each alternative has its own bounds.

Bounds limit stored values, which may be coarser than the compared values. With a codec of
milliseconds, `at > 5.5 ms` becomes "the stored value is above 5 ms", and `at == 5.5 ms` matches
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hbase_orm.codecs import Codec
from hbase_orm.errors import CodecError
from hbase_orm.schema import (
    And,
    Comparison,
    Condition,
    Contains,
    Expr,
    FunctionExpr,
    InValues,
    ItemBetween,
    Operator,
    Or,
    StartsWith,
    TableSchema,
    codec_of,
)

MAX_ALTERNATIVES: Final = 64
"""The most alternatives of a statement. An OR that would make more is checked on the client."""

Group = tuple[Condition, ...]

_OfItem = Comparison | InValues | StartsWith | ItemBetween


class NothingMatchesError(Exception):
    """No row can fulfil the conditions. Caught inside this package."""


@dataclass(frozen=True, slots=True)
class End:
    """One end of a range of values."""

    value: Any
    included: bool


@dataclass(slots=True)
class Bounds:
    """The known bounds of one field.

    Attributes:
        equals: The values that the conditions allow, or None if the conditions list no values. One
            of the values is None if the field may be None.
        low: The lower end; None means no lower end.
        high: The upper end; None means no upper end.
        prefix: The prefix of the field's text or bytes, or None.
        excludes_none: Whether the conditions exclude rows in which the field is None.
    """

    equals: tuple[Any, ...] | None = None
    low: End | None = None
    high: End | None = None
    prefix: str | bytes | None = None
    excludes_none: bool = False

    @property
    def has_range(self) -> bool:
        """Whether the bounds have a lower end, an upper end, or a prefix that is not empty."""
        return not (self.low is None and self.high is None and not self.prefix)


def bounds_of(schema: TableSchema, conditions: Sequence[Condition]) -> dict[str, Bounds]:
    """Return the bounds that all conditions together set for each compared field, by its name.

    Args:
        schema: The table.
        conditions: Checked conditions: each compares a field of the table with a fitting value.

    Raises:
        NothingMatchesError: No row can fulfil all conditions.
    """
    keys = {name: Bounds(excludes_none=True) for name in schema.layout.names}
    by_field: dict[str, Bounds] = {}
    for condition in conditions:
        match condition:
            case Contains(field=of, value=value):
                of_items: Expr[Any] = FunctionExpr("each", of)
                if is_indexed(schema, of_items):
                    _narrow_by_item(schema, by_field, Comparison(of_items, "==", value))
            case (
                Comparison(field=FunctionExpr(function="each"))
                | InValues(field=FunctionExpr(function="each"))
                | StartsWith(field=FunctionExpr(function="each"))
                | ItemBetween()
            ):
                _narrow_by_item(schema, by_field, condition)
            case Comparison(field=of) | InValues(field=of) | StartsWith(field=of):
                bounds = by_field.setdefault(of.name, keys.get(of.name) or Bounds())
                _narrow_by(bounds, codec_of(schema, of), condition)
            case _:
                pass  # OR and NOT are checked on the client
    for name, bounds in by_field.items():
        _check_consistent(name, bounds)
    return by_field


def is_indexed(schema: TableSchema, of: Expr[Any]) -> bool:
    """Return whether any index of the table has `of` as one of its parts."""
    return any(of.name == each.name for index in schema.indexes for each in index.expressions)


def _narrow_by_item(schema: TableSchema, by_field: dict[str, Bounds], condition: _OfItem) -> None:
    """Narrow the bounds of a collection's items by one condition.

    Only one condition gives the bounds, because different items may fulfil different conditions.
    It is the first condition by == or in_(). Without such a condition, it is the first condition.
    """
    if isinstance(condition, Comparison) and condition.operator == "!=":
        return  # it gives no bounds
    codec = codec_of(schema, condition.field)
    item_bounds = Bounds(excludes_none=True)
    try:
        if isinstance(condition, ItemBetween):
            _narrow(item_bounds, codec, ">=", codec.comparable(condition.low))
            _narrow(item_bounds, codec, "<=", codec.comparable(condition.high))
        else:
            _narrow_by(item_bounds, codec, condition)
        _check_consistent(condition.field.name, item_bounds)
    except NothingMatchesError:
        return  # the collection's codec may store items that the codec of single items cannot
    earlier = by_field.get(condition.field.name)
    if earlier is None or (earlier.equals is None and item_bounds.equals is not None):
        by_field[condition.field.name] = item_bounds


def _narrow_by(
    bounds: Bounds, codec: Codec[Any], condition: Comparison | InValues | StartsWith
) -> None:
    if isinstance(condition, StartsWith):
        bounds.excludes_none = True
        _narrow_prefix(bounds, condition.prefix)
    elif isinstance(condition, InValues):
        nones = () if bounds.excludes_none or None not in condition.values else (None,)
        _narrow_equal(bounds, (*nones, *storable(codec, condition.values)))
    elif condition.value is None:
        _narrow_by_none(bounds, condition.operator)
    else:
        _narrow(bounds, codec, condition.operator, codec.comparable(condition.value))


def _narrow_by_none(bounds: Bounds, operator: Operator) -> None:
    if operator == "!=":
        bounds.excludes_none = True
    elif operator != "==" or bounds.excludes_none:
        raise NothingMatchesError("no value is less or greater than None, or None is excluded")
    else:
        _narrow_equal(bounds, (None,))


def _narrow_prefix(bounds: Bounds, prefix: Any) -> None:
    if bounds.prefix is None or prefix.startswith(bounds.prefix):
        bounds.prefix = prefix
    elif not bounds.prefix.startswith(prefix):
        raise NothingMatchesError("no value starts with both prefixes")


def _narrow(bounds: Bounds, codec: Codec[Any], operator: Operator, value: Any) -> None:
    bounds.excludes_none |= operator != "!="
    if operator == "==":
        _narrow_equal(bounds, storable(codec, (value,)))
    elif operator in {">", ">="}:
        low = low_end(codec, operator, value)
        if low is not None and (bounds.low is None or _starts_later(low, bounds.low)):
            bounds.low = low
    elif operator in {"<", "<="}:
        high = high_end(codec, operator, value)
        if high is not None and (bounds.high is None or _ends_earlier(high, bounds.high)):
            bounds.high = high


def storable(codec: Codec[Any], values: Sequence[Any]) -> tuple[Any, ...]:
    """Return the storable values that equal one of `values`, without None."""
    stored_values: list[Any] = []
    for value in values:
        if value is None:
            continue
        try:
            stored = codec.normalize(value)
        except CodecError:
            continue
        if stored == codec.comparable(value):
            stored_values += [0.0, -0.0] if isinstance(stored, float) and not stored else [stored]
    return tuple(stored_values)


def _narrow_equal(bounds: Bounds, values: tuple[Any, ...]) -> None:
    if bounds.equals is not None:
        values = tuple(value for value in values if value in bounds.equals)
    bounds.equals = values
    bounds.excludes_none |= None not in values
    if not values:
        raise NothingMatchesError("no stored value can equal the value of the comparison")


def low_end(codec: Codec[Any], operator: Operator, value: Any) -> End | None:
    """Return the lower end of the stored values for which `stored operator value` is true.

    The operator is > or >=. None if all stored values fulfil the comparison, or the end is unknown.

    Raises:
        NothingMatchesError: No stored value fulfils the comparison.
    """
    try:
        stored = codec.normalize(value)
    except CodecError:
        if codec.maximum is not None and value > codec.maximum:
            raise NothingMatchesError(
                "the value of the comparison is above all values that can be stored"
            ) from None
        return None  # below all stored values, or not comparable: the client checks
    if stored < value:
        return End(stored, included=False)
    if stored > value:  # rounded to the nearest: nothing stored lies between
        return End(stored, included=True)
    if operator == ">" and stored == codec.maximum:
        raise NothingMatchesError("no value above the value of the comparison can be stored")
    if operator == ">=" and stored == codec.minimum:
        return None  # every stored value
    return End(_zero(stored, low=operator == ">="), included=operator == ">=")


def high_end(codec: Codec[Any], operator: Operator, value: Any) -> End | None:
    """Return the upper end of the stored values for which `stored operator value` is true.

    The operator is < or <=. None if all stored values fulfil the comparison, or the end is unknown.

    Raises:
        NothingMatchesError: No stored value fulfils the comparison.
    """
    try:
        stored = codec.normalize(value)
    except CodecError:
        if codec.minimum is not None and value < codec.minimum:
            raise NothingMatchesError(
                "the value of the comparison is below all values that can be stored"
            ) from None
        return None
    if stored < value:
        return End(stored, included=True)
    if stored > value:
        return End(stored, included=False)
    if operator == "<" and stored == codec.minimum:
        raise NothingMatchesError("no value below the value of the comparison can be stored")
    if operator == "<=" and stored == codec.maximum:
        return None  # every stored value
    return End(_zero(stored, low=operator == "<"), included=operator == "<=")


def _zero(value: Any, *, low: bool) -> Any:
    """Return `value`; a float zero becomes -0.0 if `low` is true, and 0.0 if it is false."""
    if isinstance(value, float) and not value:
        return -0.0 if low else 0.0
    return value


def _starts_later(one: End, other: End) -> bool:
    if one.value == other.value:
        return other.included and not one.included
    return bool(one.value > other.value)


def _ends_earlier(one: End, other: End) -> bool:
    if one.value == other.value:
        return other.included and not one.included
    return bool(one.value < other.value)


def _check_consistent(name: str, bounds: Bounds) -> None:
    if bounds.equals is not None:
        if bounds.excludes_none:
            bounds.equals = tuple(value for value in bounds.equals if value is not None)
        bounds.equals = tuple(value for value in bounds.equals if _within(value, bounds))
        if not bounds.equals:
            raise NothingMatchesError(f"the conditions on {name} contradict each other")
    check_ends(name, bounds)


def check_ends(name: str, bounds: Bounds) -> None:
    """Raise an error if no value can be between the lower and the upper end of the bounds.

    Raises:
        NothingMatchesError: The ends are in the wrong order, or they are equal and one is excluded.
    """
    low, high = bounds.low, bounds.high
    if low is None or high is None:
        return
    if low.value > high.value or (low.value == high.value and not (low.included and high.included)):
        raise NothingMatchesError(f"the conditions on {name} contradict each other")


def _within(value: Any, bounds: Bounds) -> bool:
    low, high = bounds.low, bounds.high
    if value is None:
        return True
    above = low is None or value > low.value or (low.included and value == low.value)
    below = high is None or value < high.value or (high.included and value == high.value)
    return above and below and (bounds.prefix is None or value.startswith(bounds.prefix))


# --- alternatives ---------------------------------------------------------------------------------


def groups_of(conditions: Sequence[Condition]) -> tuple[Group, ...]:
    """Return groups of conditions: a row matches if it fulfils all conditions of one group.

    No group contains an OR, with one exception: an OR that would make more than
    `MAX_ALTERNATIVES` groups is not split.
    """
    groups: list[Group] = [()]
    for condition in conditions:
        options = _options(condition)
        if len(groups) * len(options) > MAX_ALTERNATIVES:
            options = ((condition,),)
        groups = [(*one, *more) for one in groups for more in options]
    return tuple(groups)


def _options(condition: Condition) -> tuple[Group, ...]:
    match condition:
        case And(conditions=inner):
            return groups_of(inner)
        case Or(conditions=inner):
            return tuple(option for part in _joined(inner) for option in _options(part))
    return ((condition,),)


def _joined(conditions: Sequence[Condition]) -> list[Condition]:
    """Return the conditions of an OR; join all equality tests of a field into one `InValues`."""
    equal: dict[str, InValues] = {}
    others: list[Condition] = []
    for condition in conditions:
        match condition:
            case Comparison(field=of, operator="==", value=value):
                values: tuple[Any, ...] = (value,)
            case InValues(field=of, values=values):
                pass
            case _:
                others.append(condition)
                continue
        known = equal[of.name].values if of.name in equal else ()
        equal[of.name] = InValues(of, (*known, *values))
    return [*equal.values(), *others]


@dataclass(frozen=True, slots=True)
class Alternative:
    """A group of conditions that together make a row match, and the bounds that they set.

    Attributes:
        conditions: The conditions, which must all be true.
        bounds: The bounds that the conditions set, by the name of the field.
    """

    conditions: Sequence[Condition]
    bounds: Mapping[str, Bounds]


def bounds_of_each(
    schema: TableSchema, conditions: Sequence[Condition]
) -> list[Mapping[str, Bounds]]:
    """Return the bounds of every alternative that a row can fulfil.

    Raises:
        NothingMatchesError: No row can fulfil any alternative.
    """
    return [each.bounds for each in alternatives_of(schema, conditions)]


def alternatives_of(schema: TableSchema, conditions: Sequence[Condition]) -> list[Alternative]:
    """Return every alternative that a row can fulfil.

    Raises:
        NothingMatchesError: No row can fulfil any alternative.
    """
    fulfillable, reason = [], ""
    for group in groups_of(conditions):
        try:
            fulfillable.append(Alternative(group, bounds_of(schema, group)))
        except NothingMatchesError as error:
            reason = str(error)
    if not fulfillable:
        raise NothingMatchesError(reason)
    return fulfillable
