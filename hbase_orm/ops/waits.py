"""Waits of a known length that show how much of them is left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hbase_orm.ops.operation import Protocol, Sleep
from hbase_orm.ops.protocol import ask

OnWait = Callable[[float], None]
"""A function that is called about once a second during a wait, with the seconds that are left."""

_LONGEST_NAP_S: Final = 1.0


def wait(seconds: float, on_wait: OnWait, *, later_s: float = 0.0) -> Protocol[None]:
    """Wait, and show about once a second how much is left.

    Args:
        seconds: The length of the wait.
        on_wait: The function that is called.
        later_s: The length of the waits that follow, which is added to what is left.
    """
    left_s = seconds
    while left_s > 0:
        on_wait(left_s + later_s)
        nap_s = min(left_s, _LONGEST_NAP_S)
        yield from ask(Sleep(nap_s))
        left_s -= nap_s
