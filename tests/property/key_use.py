"""What a read of one key can use of the conditions: how tight a plan has to be.

Written from the rule, not from the planner: go along the parts; a part is known if its fields are
compared by == or in_, if what it is computed of is, or if its values are few; the first one that is
not known may be narrowed by a range, and ends the way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import product
from typing import Any

from hbase_orm import Condition
from hbase_orm.codecs import Codec
from hbase_orm.errors import CodecError
from hbase_orm.rowkey import KeyLayout, Part
from hbase_orm.rowkey.derivations import NumberOfName, OffsetOf, PeriodOf
from hbase_orm.rowkey.periods import Unit
from hbase_orm.rowkey.record_types import AnyRecordType
from hbase_orm.schema import Comparison, InValues, Or, StartsWith, conjuncts
from tests.property.questions import Values, holds
from tests.property.random_models import Declared

MOST_PATHS = 1000


@dataclass(frozen=True)
class Stored:
    """A row where it is stored: its values, its table's period, its key and the parts of that."""

    values: Values
    start: datetime | None
    key: bytes
    pieces: Mapping[str, bytes] = field(default_factory=dict)


Test = Callable[[Stored], bool]


@dataclass
class KeyUse:
    """How far the conditions narrow one key.

    Attributes:
        tests: What the rows that are read fulfil.
        used: The fields whose conditions narrow.
        paths: At most so many combinations are read; None if that is too many to say.
    """

    declared: Declared
    layout: KeyLayout
    own: Mapping[str, list[Condition]]
    tests: list[Test] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    paths: int = 1

    @property
    def is_capped(self) -> bool:
        """Whether there are more combinations than a plan enumerates."""
        return self.paths > MOST_PATHS

    @property
    def tells_tables(self) -> bool:
        """Whether the conditions say which tables to read, if there is one for each period."""
        period = self.layout.table_period
        if period is None:
            return True
        return self.is_equal(period.field) or None not in self.ends(period.field)

    def reads(self, row: Stored) -> bool:
        """Return whether a tight plan reads a row."""
        return all(test(row) for test in self.tests)

    # --- the conditions ---------------------------------------------------------------------------

    def is_equal(self, name: str) -> bool:
        """Return whether the field is compared by == or in_."""
        return any(
            isinstance(c, InValues) or getattr(c, "operator", "") == "=="
            for c in self.own.get(name, ())
        )

    def allowed(self, name: str) -> list[Any]:
        """Return the stored values of a field that its conditions allow."""
        codec = self.declared.fields[name].codec
        own = self.own.get(name, ())
        asked = [
            value
            for condition in own
            for value in getattr(condition, "values", (getattr(condition, "value", None),))
            if value is not None and _is_storable(codec, value) and codec.normalize(value) == value
        ]
        found = {repr(value): value for value in (*self.declared.fields[name].values, *asked)}
        zeros = [-v for v in found.values() if isinstance(v, float) and not v]
        found |= {repr(zero): zero for zero in zeros}  # each is equal to both
        return [v for v in found.values() if all(holds(c, {name: v}) for c in own)]

    def ends(self, name: str) -> tuple[Any, Any]:
        """Return the lowest and the highest value of a field that is asked for, or None.

        At least the least that can be stored, and at most the greatest, says nothing.
        """
        lows, highs = [], []
        codec = self.declared.fields[name].codec
        nothing = {(">=", repr(codec.minimum)), ("<=", repr(codec.maximum))}
        for condition in self.own.get(name, ()):
            operator = getattr(condition, "operator", "")
            if (operator, repr(getattr(condition, "value", None))) in nothing:
                continue
            if operator in {">", ">="}:
                lows.append(condition.value)  # type: ignore[attr-defined]  # a Comparison
            if operator in {"<", "<="}:
                highs.append(condition.value)  # type: ignore[attr-defined]  # a Comparison
        return (max(lows) if lows else None), (min(highs) if highs else None)

    def fulfil(self, name: str) -> None:
        """Note that the rows that are read fulfil the conditions on a field."""
        conditions = self.own.get(name, [])
        codec = self.declared.fields[name].codec
        if not all(_excludes_nothing(condition, codec) for condition in conditions):
            self.used.add(name)
        self.tests.append(lambda row: all(holds(c, row.values) for c in conditions))

    # --- the way along the key --------------------------------------------------------------------

    def walk(self) -> None:
        """Go along the key."""
        period = self.layout.table_period
        if period is not None:
            count = self._period(period.field, period.unit, lambda row: row.start)
            self.paths *= count or 1
        spread = self.layout.spread
        if spread is not None and spread.fields and all(map(self.is_equal, spread.fields)):
            self._computed(spread)
            self.used.clear()  # one bucket of many is still no range of the key
        for number, part in enumerate(self.layout.behind):
            if not self._goes_on(part, self.layout.behind[number + 1 :]):
                return

    def _goes_on(self, part: Part, following: Sequence[Part]) -> bool:
        of = part.derivation
        if of is None:
            self.fulfil(part.name)
            self.paths *= len(self.allowed(part.name)) or 1 if self.is_equal(part.name) else 1
            return self.is_equal(part.name)
        if all(map(self.is_equal, part.fields)) and not isinstance(of, AnyRecordType):
            self._computed(part)
            return True
        if isinstance(of, PeriodOf):
            return self._goes_on_after_period(part, of, following)
        if isinstance(of, OffsetOf):
            if self._is_joined(part):
                self.fulfil(part.fields[0])
            return False
        few = of.choices(*[None for _ in of.inputs])
        if few is not None and not isinstance(of, AnyRecordType):
            self.paths *= len(list(few)) or 1
        return few is not None

    def _goes_on_after_period(self, part: Part, of: PeriodOf, following: Sequence[Part]) -> bool:
        name = part.fields[0]
        if not part.is_ordered and None in self.ends(name):
            return False
        count = self._period(name, of.unit, lambda row: of.unit.start(row.values[name]))
        nearest = following[0] if following else None
        if nearest is not None and nearest.fields == (name,) and self._is_whole(part, nearest):
            self.fulfil(name)
            return False
        if count is None:
            return False
        self.paths *= count or 1
        return True

    def _is_whole(self, period: Part, offset: Part) -> bool:
        joining = self.layout.joining(period.fields[0])
        return (
            joining is not None
            and joining[0] is period
            and joining[1] is offset
            and offset.is_ordered
            and offset.is_descending is period.is_descending
        )

    def _is_joined(self, offset: Part) -> bool:
        joining = self.layout.joining(offset.fields[0])
        if joining is None or joining[1] is not offset or not offset.is_ordered:
            return False
        if joining[0] is None:
            return True
        is_before = self.layout.parts.index(joining[0]) < self.layout.parts.index(offset)
        return is_before and None not in self.ends(offset.fields[0])

    def _period(self, name: str, unit: Unit, start_of: Callable[[Stored], Any]) -> int | None:
        """Note that the periods of a time are within its bounds; return how many there are."""
        if self.is_equal(name):
            starts = {unit.start(value) for value in self.allowed(name)}
            self.tests.append(lambda row: start_of(row) in starts)
            self.used.add(name)
            return len(starts)
        low, high = self.ends(name)
        if low is not None:
            first = unit.start(low)
            self.tests.append(lambda row: start_of(row) >= first)
        if high is not None:
            self.tests.append(lambda row: start_of(row) <= high)
        if low is not None or high is not None:
            self.used.add(name)
        if low is None or high is None:
            return None
        periods: float = (high - low) / unit.longest
        return math.ceil(periods) * 2 + 2  # months are shorter than 31 days

    def _computed(self, part: Part) -> None:
        """Note that a part is what its inputs make of it."""
        self.used.update(part.fields)
        if isinstance(part.derivation, NumberOfName):
            self.fulfil(part.fields[0])
            return
        if _has_lookup(part):
            return
        options = [self.allowed(name) for name in part.fields]
        self.paths *= math.prod(len(values) or 1 for values in options)
        found = {
            data
            for values in product(*options)
            for data in self._bytes_of(part, dict(zip(part.fields, values, strict=True)))
        }
        self.tests.append(lambda row: row.pieces[part.name] in found)

    def _bytes_of(self, part: Part, known: Mapping[str, Any]) -> Iterable[bytes]:
        try:
            return [part.encode(self.layout.value(part, known))]
        except CodecError:
            return []


def _has_lookup(part: Part) -> bool:
    return part.lookup is not None or any(_has_lookup(source) for source in part.inputs)


def key_use(declared: Declared, layout: KeyLayout, conditions: Sequence[Condition]) -> KeyUse:
    """Return how far conditions narrow a key."""
    own: dict[str, list[Condition]] = {}
    for condition in (part for one in conditions for part in conjuncts(one)):
        name = getattr(getattr(condition, "field", None), "name", None)
        part = layout.part(name) if name else None
        is_sorted = part is None or part.is_ordered
        if name and _is_expressible(condition, declared.fields[name].codec, is_sorted=is_sorted):
            own.setdefault(name, []).append(condition)
    use = KeyUse(declared, layout, own)
    use.walk()
    return use


def reads_some(
    declared: Declared, layout: KeyLayout, conditions: Sequence[Condition], rows: Sequence[Stored]
) -> int | None:
    """Return how many of the rows a tight plan reads; None if it may read wider ranges."""
    groups: list[Sequence[Condition]] = [conditions]
    if len(conditions) == 1 and isinstance(conditions[0], Or):
        groups = [[alternative] for alternative in conditions[0].conditions]
    uses = [key_use(declared, layout, group) for group in groups]
    if any(use.is_capped for use in uses):
        return None
    return sum(any(use.reads(row) for use in uses) for row in rows)


def _is_expressible(condition: Condition, codec: Codec[Any], *, is_sorted: bool) -> bool:
    match condition:
        case Comparison(operator="==", value=value):
            return value is not None
        case Comparison(operator="<" | "<=" | ">" | ">=", value=value):
            return is_sorted and _is_storable(codec, value)
        case InValues(values=values):
            return None not in values
        case StartsWith(prefix=prefix):
            return is_sorted and _is_storable(codec, prefix)
    return False


def _excludes_nothing(condition: Condition, codec: Codec[Any]) -> bool:
    match condition:
        case Comparison(operator=">=", value=value):
            return value == codec.minimum or value in ("", b"")
        case Comparison(operator="<=", value=value):
            return bool(value == codec.maximum)
        case StartsWith(prefix=prefix):
            return not prefix
    return False


def _is_storable(codec: Codec[Any], value: Any) -> bool:
    try:
        codec.encode(value)
    except CodecError:
        return False
    return True
