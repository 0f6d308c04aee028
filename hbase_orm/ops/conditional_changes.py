"""Loops that read a cell and change it if it is unchanged: why none of their changes was made."""

from __future__ import annotations

from dataclasses import dataclass

from hbase_orm.errors import ConflictError, ConnectionLostError, HBaseORMError, RetryableError
from hbase_orm.ops.operation import Operation, Protocol
from hbase_orm.ops.protocol import ask


@dataclass(slots=True)
class ConditionalChanges:
    """The conditional changes of one loop.

    A change whose answer is lost looks like one that was refused: the loop reads again. At its end
    the difference matters: if the last answer was lost, perhaps no other program changed the cell.

    Attributes:
        lost: The error of the last change; None if HBase has answered it.
    """

    lost: HBaseORMError | None = None

    def ask(self, request: Operation[bool]) -> Protocol[bool]:
        """Request a change; return whether it was made, False also without an answer."""
        try:
            is_made = yield from ask(request)
        except (RetryableError, ConnectionLostError) as error:
            self.lost = error
            return False
        self.lost = None
        return is_made

    def error(self, conflict: ConflictError) -> HBaseORMError:
        """Return the error of the loop: the lost answer, or `conflict` if HBase has answered."""
        return conflict if self.lost is None else self.lost
