"""Random conditions and orders over a random model, and what they mean in plain Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from hbase_orm import Condition
from hbase_orm.schema import And, Comparison, Expr, InValues, Not, Or, Order, StartsWith, conjuncts
from tests.property.random_models import Declared
from tests.property.strategies import Kind

Values = Mapping[str, Any]

SHAPES = ("==", "==", "==", "==", "in", "in", "!=", "<", "<=", ">", ">=", "between", "between", "^")
RANGES = ("<", "<", "<=", ">", ">=", ">=", ">=", ">=", "between", "between", "between", "^")


@st.composite
def conditions_on(
    draw: st.DrawFn,
    declared: Declared,
    name: str,
    near: Values | None = None,
    shapes: Sequence[str] = SHAPES,
) -> Condition:
    """Draw one plain condition on one field, mostly with the value of the row `near`."""
    field: Expr[Any] = declared.model.__schema__.fields[name]
    kind = declared.fields[name]
    values = _values(declared, name, near)
    shape = draw(st.sampled_from(shapes))
    if shape == "in":
        least = draw(st.sampled_from((1,) * 7 + (0,)))
        return field.in_(draw(st.lists(values, min_size=least, max_size=3)))
    if shape == "between":
        ends = draw(st.tuples(values, values))
        is_mixed = None in ends or draw(st.sampled_from((False, False, False, True)))
        low, high = ends if is_mixed else sorted(ends)
        return field.between(low, high)
    if shape == "^" and kind.python_type in (str, bytes):
        return field.startswith(draw(st.sampled_from(kind.values + kind.foreign)))
    return Comparison(field, ">=" if shape == "^" else shape, draw(values))  # type: ignore[arg-type]  # one of Operator


@st.composite
def _values(draw: st.DrawFn, declared: Declared, name: str, near: Values | None) -> Any:
    """Draw a value that a field is compared with."""
    kind: Kind = declared.fields[name]
    choice = draw(st.sampled_from(("of the row",) * 12 + ("usual",) * 3 + ("foreign", "none")))
    if choice == "of the row" and near is not None and near[name] is not None:
        return near[name]
    if choice == "none" and name in declared.nullable:
        return None
    if choice == "foreign" and kind.foreign:
        return draw(st.sampled_from(kind.foreign))
    return draw(st.sampled_from(kind.values))


@st.composite
def where(draw: st.DrawFn, declared: Declared, rows: Sequence[Values]) -> list[Condition]:
    """Draw conditions, most of them on the leading fields of the key or of an index.

    They mostly speak of one of the rows, so that they seldom contradict each other.
    """
    if draw(st.sampled_from((*(False,) * 7, True))):
        both = [draw(_run(declared, draw(st.sampled_from(rows)) if rows else None)) for _ in "ab"]
        if all(both):
            return [And(tuple(both[0])) | And(tuple(both[1]))]
    near = draw(st.sampled_from(rows)) if rows else None
    partial = [options["where"] for options in declared.options.values() if "where" in options]
    own = draw(st.lists(st.sampled_from(partial), max_size=1)) if partial else []
    others = draw(st.lists(st.sampled_from(sorted(declared.fields)), max_size=1))
    return [
        *draw(_run(declared, near)),
        *own,
        *(draw(_any_condition(declared, name, near)) for name in others),
    ]


@st.composite
def _run(draw: st.DrawFn, declared: Declared, near: Values | None) -> list[Condition]:
    """Draw conditions on the leading fields of the key or of an index."""
    leading = [declared.keys, declared.keys]
    leading += [tuple(field for field, _ in index) for index in declared.indexes.values()]
    found: list[Condition] = []
    names = draw(st.sampled_from(leading))
    is_to_the_last = draw(st.sampled_from((False, True, True)))
    for number, name in enumerate(names):
        shape = draw(st.sampled_from(("stop", "range", *("any",) * 6)))
        if is_to_the_last:
            shape = "range" if number == len(names) - 1 else "equal"
        if shape == "stop":
            break
        shapes = {"range": RANGES, "equal": ("==", "==", "==", "in")}.get(shape, SHAPES)
        found.append(draw(conditions_on(declared, name, near, shapes)))
    return found


@st.composite
def _any_condition(
    draw: st.DrawFn, declared: Declared, name: str, near: Values | None
) -> Condition:
    one = draw(conditions_on(declared, name, near))
    shape = draw(st.sampled_from(("plain", "plain", "not", "or", "or not")))
    if shape == "not":
        return ~one
    if shape == "plain":
        return one
    other = draw(conditions_on(declared, draw(st.sampled_from(sorted(declared.fields))), near))
    return one | (~other if shape == "or not" else other)


@st.composite
def orders(draw: st.DrawFn, declared: Declared) -> list[Order]:
    """Draw no order, a run of the key's or an index's fields one way, or any."""
    fields = declared.model.__schema__.fields
    shape = draw(st.sampled_from(("none", "none", "none", "key", "key", "index", "any")))
    if shape == "none":
        return []
    names: Sequence[tuple[str, bool]] = [(n, declared.fields[n].codec.desc) for n in declared.keys]
    if shape == "index" and declared.indexes:
        names = draw(st.sampled_from(sorted(declared.indexes.values())))
    if shape == "any":
        drawn = st.tuples(st.sampled_from(sorted(declared.fields)), st.booleans())
        names = draw(st.lists(drawn, min_size=1, max_size=2))
    first = draw(st.integers(0, len(names) - 1))
    turned = draw(st.booleans())
    chosen = names[first : first + draw(st.integers(1, 3))]
    return [Order(fields[name], descending=falls is not turned) for name, falls in chosen]


# --- what they mean -------------------------------------------------------------------------------


def holds(condition: Condition, row: Values) -> bool:
    """Say by plain Python whether a row fulfils a condition; the oracle's two-valued logic."""
    match condition:
        case Or(conditions=inner):
            return any(holds(part, row) for part in inner)
        case Not(condition=single):
            return not holds(single, row)
        case InValues(field=of, values=values):
            return any(_equal(row[of.name], value) for value in values)
        case StartsWith(field=of, prefix=prefix):
            return row[of.name] is not None and row[of.name].startswith(prefix)
        case Comparison(field=of, operator=operator, value=value):
            return _compare(row[of.name], operator, value)
    return all(holds(part, row) for part in conjuncts(condition))


def _equal(one: Any, other: Any) -> bool:
    return bool(one is None and other is None) or bool(
        one is not None and other is not None and one == other
    )


def _compare(one: Any, operator: str, other: Any) -> bool:
    if operator in {"==", "!="}:
        return _equal(one, other) is (operator == "==")
    if one is None or other is None:
        return False
    return bool(
        {"<": one < other, "<=": one <= other, ">": one > other, ">=": one >= other}[operator]
    )
