"""The comparators of HBase's filter language, as functions on bytes."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

from hbase_orm.gateway.memory.filters import Comparison

_OPERATORS: dict[str, Callable[[bytes, bytes], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compare_binary(symbol: str, expected: bytes) -> Comparison:
    """Return a function that compares a value with `expected` as unsigned bytes."""
    holds = _OPERATORS[symbol]
    return lambda value: holds(value, expected)


def compare_prefix(symbol: str, expected: bytes) -> Comparison:
    """Return a function that compares a value's first `len(expected)` bytes with `expected`."""
    holds = _OPERATORS[symbol]
    return lambda value: holds(value[: len(expected)], expected)


def compare_substring(symbol: str, expected: bytes) -> Comparison:
    """Return a function that tests whether a value contains `expected`, ignoring case.

    With the symbol `!=` the function tests the opposite.
    """
    wanted = expected.decode(errors="replace").lower()
    return lambda value: (wanted in value.decode(errors="replace").lower()) is (symbol == "=")


def compare_regex(symbol: str, expected: bytes, *, ignore_case: bool) -> Comparison:
    """Return a function that tests whether a value has a match of the regular expression.

    With the symbol `!=` the function tests the opposite. The expression is in Python's dialect,
    which is similar to Java's.

    Raises:
        re.error: The expression is not valid.
    """
    flags = re.DOTALL | (re.IGNORECASE if ignore_case else 0)
    pattern = re.compile(expected.decode(errors="replace"), flags)

    def matches(value: bytes) -> bool:
        return (pattern.search(value.decode(errors="replace")) is not None) is (symbol == "=")

    return matches
