"""Make a request again while that can help: for requests that may be repeated by their meaning."""

from __future__ import annotations

from typing import Final, TypeVar

from hbase_orm.errors import ConnectionLostError, RetryableError
from hbase_orm.ops import Operation, Protocol, Sleep, ask

R = TypeVar("R")

MAX_SENDS: Final = 4
"""How often one request is sent at most; each may take as long as the engine's time-out."""

_PAUSE_S: Final = 0.1


def ask_patiently(operation: Operation[R]) -> Protocol[R]:
    """Make a request; after a failure that another try may mend, pause and make it again.

    The caller sees to it that a request which was applied unseen does no harm.
    """
    for sends in range(1, MAX_SENDS):
        try:
            return (yield from ask(operation))
        except (RetryableError, ConnectionLostError):
            yield from pause(sends)
    return (yield from ask(operation))


def pause(sends: int) -> Protocol[None]:
    """Wait, longer after each send."""
    yield from ask(Sleep(_PAUSE_S * sends))
