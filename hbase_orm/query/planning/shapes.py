"""Keeps plans by shape: statements that compare the same fields in the same ways share a plan.

Some decisions do not depend on the compared values, e.g. which key is read, and in which direction.
`Shapes` keeps the plan with these decisions. For new values it computes only the bytes.

A statement is planned again each time in these cases:

- It has lists, OR or NOT.
- Names are looked up for it, or its model has a table for each period.
- A compared value is unusual, e.g. it cannot be stored.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from hbase_orm.codecs import Codec
from hbase_orm.errors import CodecError
from hbase_orm.ops import KeyRange, after_prefix
from hbase_orm.query.conditions.bounds import (
    Bounds,
    NothingMatchesError,
    check_ends,
    high_end,
    low_end,
)
from hbase_orm.query.planning.candidates import Candidate, reads_of_shape
from hbase_orm.query.planning.key_ranges import limits_of
from hbase_orm.query.planning.pushdown import push_down
from hbase_orm.query.plans.index_plan import IndexPlan
from hbase_orm.query.plans.plans import GetPlan, Plan, SaltedScanPlan, ScanPlan
from hbase_orm.query.statements.statement import Select
from hbase_orm.rowkey import KeyLayout, Part
from hbase_orm.rowkey.derivations import Fixed, Hashed
from hbase_orm.schema import (
    Comparison,
    Condition,
    EntryExpr,
    FunctionExpr,
    StartsWith,
    TableSchema,
    column_field,
    compared_by,
)

MAX_SHAPES: Final = 256
"""The most shapes that are kept for one model; before one more is added, all are dropped."""

_LONGEST_BYTES: Final = 4096
"""Kept plans are used only for keys up to this length: longer keys may exceed HBase's limits."""

_SIDES: Final[Mapping[str, str]] = MappingProxyType(
    {"==": "equal", "<": "high", "<=": "high", ">": "low", ">=": "low"}
)


class _UnusualError(Exception):
    """The kept plan does not fit a statement's values. Caught inside this module."""


class Shapes:
    """The kept plans of one model's statements, by the shape of the statement.

    Threads may share the object.
    """

    def __init__(self) -> None:
        """Start without shapes."""
        self._shapes: dict[Hashable, PlanShape | None] = {}

    def __len__(self) -> int:
        """Return the number of known shapes."""
        return len(self._shapes)

    def find(self, statement: Select[Any]) -> Plan | None:
        """Return the plan of a statement with a known shape; None if it must be planned."""
        key = statement.shape
        shape = None if key is None else self._shapes.get(key)
        return None if shape is None else _planned(shape, statement)

    def keep(self, statement: Select[Any], template: Plan, chosen: Candidate) -> None:
        """Keep a statement's plan, if it is valid for all statements of the same shape.

        Args:
            statement: The statement.
            template: The plan of the statement.
            chosen: The candidate that the plan uses.
        """
        key = statement.shape
        if key is None or key in self._shapes:
            return
        if len(self._shapes) >= MAX_SHAPES:
            self._shapes.clear()
        shape = _shape(statement, template, chosen)
        again = None if shape is None else _planned(shape, statement)
        # The shape is kept only if it gives the same plan for this statement again.
        self._shapes[key] = shape if again is not None and _is_same(again, template) else None


def _planned(shape: PlanShape, statement: Select[Any]) -> Plan | None:
    try:
        return shape.plan(statement)
    except (_UnusualError, CodecError, NothingMatchesError):
        return None


@dataclass(frozen=True, slots=True)
class _Comparing:
    """One condition without its value: the field, the value's class, and the kind of bound."""

    field: Any
    of_type: Any
    codec: Codec[Any]
    side: str
    operator: Any

    def note(self, condition: Condition, by_field: dict[str, Bounds]) -> None:
        """Narrow the bounds of the field by a statement's condition.

        Raises:
            _UnusualError: The kept plan does not fit the condition or its value.
        """
        if not isinstance(condition, (Comparison, StartsWith)):
            raise _UnusualError
        value: Any = condition.value if isinstance(condition, Comparison) else condition.prefix
        if condition.field is not self.field or value.__class__ is not self.of_type:
            raise _UnusualError
        bounds = by_field.get(self.field.name)
        if bounds is None:
            bounds = by_field[self.field.name] = Bounds(excludes_none=True)
        if self.side != "equal" and _is_extreme(value):
            raise _UnusualError
        if self.side == "prefix":
            bounds.prefix = value
        elif self.side == "equal":
            if self.codec.normalize(value) != value or (not value and self.of_type is float):
                raise _UnusualError
            bounds.equals = (value,)
        else:
            self._note_end(bounds, value)

    def _note_end(self, bounds: Bounds, value: Any) -> None:
        find = low_end if self.side == "low" else high_end
        end = find(self.codec, self.operator, value)
        if end is None:
            raise _UnusualError
        setattr(bounds, self.side, end)
        check_ends(self.field.name, bounds)


def _is_extreme(value: Any) -> bool:
    """Return whether the value is empty or only FF bytes: such an end may not narrow a range."""
    if isinstance(value, bytes):
        return not value.strip(b"\xff")
    return isinstance(value, str) and not value


@dataclass(frozen=True, slots=True)
class PlanShape:
    """The decisions that depend only on a statement's shape.

    Attributes:
        comparing: The conditions without their values, in order.
        ordering: The fields that the rows are ordered by.
        template: The plan of the first statement of this shape.
        layout: The layout of the key that is read.
        run: The number of known parts of this key, after the part that spreads keys.
        has_range: Whether the part after the known parts has a range.
        buckets: The buckets of a plan that reads several buckets; empty for other plans.
        pushed: The positions of the conditions that the server may decide.
        remaining: The positions of the pushed conditions that the client must check too.
    """

    comparing: tuple[_Comparing, ...]
    ordering: tuple[Any, ...]
    template: Plan
    layout: KeyLayout
    run: int
    has_range: bool
    buckets: tuple[bytes, ...]
    pushed: tuple[int, ...]
    remaining: tuple[int, ...]

    def plan(self, statement: Select[Any]) -> Plan:
        """Return the plan of a statement that has this shape.

        Raises:
            _UnusualError: The kept plan does not fit the values.
            CodecError: A value cannot be stored.
            NothingMatchesError: The conditions contradict each other.
        """
        conditions = statement.conditions
        for order, field in zip(statement.orders, self.ordering, strict=True):
            if order.field is not field:
                raise _UnusualError
        by_field: dict[str, Bounds] = {}
        for one, condition in zip(self.comparing, conditions, strict=True):
            one.note(condition, by_field)
        known: dict[str, Any] = {}
        rest = self._rest(by_field, known)
        buckets = self._buckets(by_field, known, rest)
        if isinstance(self.template, GetPlan):
            return replace(self.template, conditions=conditions, keys=(buckets[0] + rest,))
        streams = self._streams(buckets, rest, by_field, known)
        server_filter, left = self.push_down(conditions)
        if left != self.remaining:
            raise _UnusualError
        with_values = partial(replace, self.template, conditions=conditions)
        if isinstance(self.template, IndexPlan):
            return with_values(**reads_of_shape(self.template, streams[0], rest))
        if isinstance(self.template, ScanPlan):
            return with_values(ranges=streams[0], filter=server_filter)
        return with_values(buckets=streams, filter=server_filter)

    def _rest(self, by_field: Mapping[str, Bounds], known: dict[str, Any]) -> bytes:
        """Return the bytes of the leading known parts; add the values of these parts to `known`."""
        rest = b"".join(
            [part.encode(_value(part, by_field, known)) for part in self.layout.behind[: self.run]]
        )
        if len(rest) > _LONGEST_BYTES:
            raise _UnusualError
        return rest

    def _buckets(
        self, by_field: Mapping[str, Bounds], known: dict[str, Any], rest: bytes
    ) -> tuple[bytes, ...]:
        spread = self.layout.spread
        if self.buckets or spread is None:
            return self.buckets or (b"",)
        if isinstance(spread.derivation, Hashed) and not spread.inputs:
            return (spread.derivation.of_bytes(rest),)
        bucket: bytes = _value(spread, by_field, known)
        return (bucket,)

    def _streams(
        self,
        buckets: Sequence[bytes],
        rest: bytes,
        by_field: Mapping[str, Bounds],
        known: Mapping[str, Any],
    ) -> tuple[tuple[KeyRange, ...], ...]:
        limits = None
        if self.run < len(self.layout.behind):
            limits = limits_of(self.layout, self.layout.behind[self.run], by_field, known, None)
        start, stop = (b"", None) if limits is None else (limits.start, limits.stop)
        if (limits is not None) is not self.has_range:
            raise _UnusualError
        if (stop is not None and start >= stop) or len(start) > _LONGEST_BYTES:
            raise _UnusualError
        streams = []
        for bucket in buckets:
            prefix = bucket + rest
            end = after_prefix(prefix) if stop is None else prefix + stop
            streams.append((KeyRange(prefix + start, end),))
        return tuple(streams)

    def push_down(self, conditions: Sequence[Condition]) -> tuple[bytes | None, tuple[int, ...]]:
        """Return the server's filter, and the positions of the conditions that it does not decide.

        The result is `(None, ())` if `pushed` is empty.

        Raises:
            NothingMatchesError: No stored value fulfils the conditions.
        """
        if not self.pushed or not isinstance(self.template, (ScanPlan, SaltedScanPlan)):
            return None, ()
        tested = [conditions[number] for number in self.pushed]
        pushed = push_down(self.template.schema, tested, reverse=self.template.reverse)
        if pushed.is_empty:
            raise NothingMatchesError
        left = tuple([n for n in self.pushed if conditions[n] in pushed.remaining])
        return None if pushed.filter is None else bytes(pushed.filter), left


def _value(part: Part, by_field: Mapping[str, Bounds], known: dict[str, Any]) -> Any:
    """Return the value of a known part; add it, and the values it is computed from, to `known`."""
    if part.name in known:
        return known[part.name]
    derivation = part.derivation
    if derivation is None:
        bounds = by_field.get(part.name)
        if bounds is None or bounds.equals is None:
            raise _UnusualError
        value = bounds.equals[0]
    elif isinstance(derivation, Fixed):
        value = derivation.value
    elif derivation.inputs:
        value = derivation.compute(
            *[_value(source, by_field, known) for source in derivation.inputs]
        )
    else:
        raise _UnusualError
    known[part.name] = value
    return value


# --- which shapes are kept ------------------------------------------------------------------------


def _shape(statement: Select[Any], template: Plan, chosen: Candidate) -> PlanShape | None:
    schema, layout = template.schema, chosen.layout
    comparing = _comparing_all(schema, statement.conditions)
    if comparing is None or schema.layout.lookups or schema.layout.table_period is not None:
        return None
    if any(_is_derived_of_range(part, comparing) for part in schema.layout.parts):
        return None
    if _decides_index(schema, comparing) or _is_special(template):
        return None
    is_fan_out = isinstance(template, SaltedScanPlan)
    streams = len(template.buckets) if isinstance(template, SaltedScanPlan) else 1
    has_one_path = len(chosen.access.paths) == streams
    if not has_one_path or not isinstance(template, (GetPlan, ScanPlan, SaltedScanPlan, IndexPlan)):
        return None
    pushed: tuple[int, ...] = ()
    if isinstance(template, (ScanPlan, SaltedScanPlan)):
        pushed = tuple(
            number
            for number, one in enumerate(comparing)
            if one.field.name not in schema.layout.decoded
        )
    shape = PlanShape(
        comparing=comparing,
        ordering=tuple(order.field for order in statement.orders),
        template=template,
        layout=layout,
        run=chosen.access.run,
        has_range=chosen.access.has_range,
        buckets=tuple(path.spread for path in chosen.access.paths) if is_fan_out else (),
        pushed=pushed,
        remaining=(),
    )
    return replace(shape, remaining=shape.push_down(statement.conditions)[1])


def _is_derived_of_range(part: Part, comparing: Sequence[_Comparing]) -> bool:
    """Return whether a part is derived from a field that is compared by a range or a prefix.

    The ends of the range then decide how many values the part can have.
    """
    if part.derivation is None:
        return False
    return any(one.side != "equal" and one.field.name in part.fields for one in comparing)


def _decides_index(schema: TableSchema, comparing: Sequence[_Comparing]) -> bool:
    """Return whether the values of the conditions decide which partial indexes can be used."""
    compared = {one.field.name for one in comparing}
    conditions = [condition for index in schema.indexes for condition in index.where]
    return any(column_field(of).name in compared for each in conditions for of in compared_by(each))


def _is_special(template: Plan) -> bool:
    """Return whether other values change more of an index plan than its ranges and keys."""
    if not isinstance(template, IndexPlan):
        return False
    return template.index.is_multi_valued or template.is_covered


def _comparing_all(
    schema: TableSchema, conditions: Sequence[Condition]
) -> tuple[_Comparing, ...] | None:
    """Return the conditions without their values; None if a plan for them cannot be kept.

    A plan can be kept only if each field is compared with one value, one range or one prefix. It
    cannot be kept for functions, for dynamic columns, or for comparisons with None.
    """
    comparing: list[_Comparing] = []
    sides: dict[str, set[str]] = {}
    for condition in conditions:
        match condition:
            case (
                Comparison(field=EntryExpr() | FunctionExpr())
                | StartsWith(field=EntryExpr() | FunctionExpr())
            ):
                return None  # each use in a statement makes a new object
            case Comparison(field=of, operator=operator, value=value) if operator in _SIDES:
                side = _SIDES[operator]
            case StartsWith(field=of, prefix=value):
                side, operator = "prefix", "=="
            case _:
                return None
        seen = sides.setdefault(of.name, set())
        if side in seen or "equal" in seen or (seen and side == "equal") or value is None:
            return None  # the value is None, or the field has several values or ranges
        seen.add(side)
        comparing.append(_Comparing(of, type(value), schema.codecs[of.name], side, operator))
    return tuple(comparing)


def _is_same(one: Plan, other: Plan) -> bool:
    return type(one) is type(other) and all(
        getattr(one, f.name) == getattr(other, f.name) for f in fields(one)
    )
