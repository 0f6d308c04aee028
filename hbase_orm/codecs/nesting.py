"""The limit of nesting in packed values.

Programs must be able to decode a value even if their call stack is deep already. Each level of
nesting needs one level of Python's stack, which usually has 1,000 levels.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

MOST_LEVELS: Final = 200
"""The largest number of levels of nested lists, maps and objects in a value that is written.

A list of numbers has one level.
"""


def is_too_deep(plain: Any) -> bool:
    """Return whether a value is nested deeper than `MOST_LEVELS`, without recursion."""
    level = [plain]
    for _ in range(MOST_LEVELS + 1):
        level = [inner for one in level for inner in _within(one)]
        if not level:
            return False
    return True


def _within(one: Any) -> Iterable[Any]:
    if isinstance(one, dict):
        return one.values()
    return one if isinstance(one, (list, tuple)) else ()
