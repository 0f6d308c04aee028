"""The rows that a bulk writer has taken: those that wait, by model or table, and batches sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from hbase_orm.gateway.team import Share
from hbase_orm.model import Model
from hbase_orm.session.binding import BoundModel
from hbase_orm.session.carriers import Carrier
from hbase_orm.session.flush import BATCH_BYTES
from hbase_orm.session.unit_of_work import Outcome, RowWrite

WAITING_BATCHES: Final = 8
"""How many batches' worth of rows wait in all lanes together.

More than one, so that rows that arrive for many tables in turn still travel many at a time.
"""

LaneName = tuple[type[Model] | str, bool]


@dataclass(slots=True, eq=False)
class Lane:
    """The rows of one model on their way.

    Attributes:
        bound: The model.
        carrier: Sends a batch.
        batch: Rows not sent yet, by row key, each as the carrier wants it.
        size_bytes: How large these are.
        table: The model's table.
        name: The model, or of a model that has several tables the table; and whether
            the rows are flat.
    """

    bound: BoundModel
    carrier: Carrier
    batch: dict[bytes, Any] = field(default_factory=dict[bytes, Any])
    size_bytes: int = 0
    table: str = field(init=False)
    name: LaneName = field(init=False)

    @property
    def waiting(self) -> list[RowWrite]:
        """The writes that wait."""
        return list(self.carrier.writes(tuple(self.batch.values())))

    def __post_init__(self) -> None:
        """Name it."""
        self.table = self.bound.schema.table
        is_one_of_many = self.bound.schema.layout.table_period is not None
        of = self.table if is_one_of_many else self.bound.model
        self.name = of, self.carrier.shape is not None


@dataclass(frozen=True, slots=True)
class Sent:
    """A batch under way.

    Attributes:
        sending: Gives what did not end well.
        lane: Where its rows waited.
        rows: The rows by row key, each as the carrier wants it.
    """

    sending: Share[Any, Outcome]
    lane: Lane
    rows: Mapping[bytes, Any]

    def outcome(self) -> Outcome:
        """Wait for the batch; if an unforeseen error ended it, some of its rows may be written."""
        try:
            return self.sending.result()
        except Exception as error:  # noqa: BLE001  # each row of the batch is named in a FlushError
            writes = self.lane.carrier.writes(tuple(self.rows.values()))
            return Outcome(unknown=[(write, error) for write in writes])


class Lanes:
    """The lanes of one bulk writer, and how much waits in all of them.

    A table of a period has a lane only while rows wait for it: there may be any number of these.
    """

    def __init__(self, batch_rows: int) -> None:
        """Start without a lane."""
        self._batch_rows = batch_rows
        self._lanes: dict[LaneName, Lane] = {}
        self._by_table: dict[str, list[Lane]] = {}
        self._filled: dict[Lane, None] = {}  # in the order in which they got their first rows
        self._rows = 0
        self._size_bytes = 0

    def __iter__(self) -> Iterator[Lane]:
        """Return every lane, also those where nothing waits."""
        return iter(tuple(self._lanes.values()))

    def get(self, of: type[Model] | str) -> Lane | None:
        """Return the lane of a model's rows, or of a period's, that are not flat, if any."""
        return self._lanes.get((of, False))

    def holding(self, table: str, key: bytes) -> list[Lane]:
        """Return the lanes where a row waits."""
        lanes = self._by_table.get(table, ())
        return [lane for lane in lanes if key in lane.batch]

    def add(self, lane: Lane) -> None:
        """Keep a new lane."""
        self._lanes[lane.name] = lane
        self._by_table.setdefault(lane.table, []).append(lane)

    def put(self, lane: Lane, key: bytes, item: Any, size_bytes: int) -> None:
        """Let a row wait in a lane."""
        if not lane.batch:
            if lane.name not in self._lanes:
                self.add(lane)
            self._filled[lane] = None
        lane.batch[key] = item
        lane.size_bytes += size_bytes
        self._rows += 1
        self._size_bytes += size_bytes

    def cut(self, lane: Lane) -> None:
        """Take the waiting rows out of a lane."""
        rows = lane.batch
        self._rows -= len(rows)
        self._size_bytes -= lane.size_bytes
        lane.batch, lane.size_bytes = {}, 0
        self._filled.pop(lane, None)
        if lane.bound.schema.layout.table_period is not None:
            del self._lanes[lane.name]
            left = self._by_table[lane.table]
            left.remove(lane)
            if not left:
                del self._by_table[lane.table]

    def too_full(self, lane: Lane, size_bytes: int) -> Lane | None:
        """Return a lane to send before one more row may wait in `lane`, or None.

        That is `lane` if the row makes its batch too large, else, if too much waits in all lanes
        together, the one whose first row has waited the longest.
        """
        if lane.batch and lane.size_bytes + size_bytes > BATCH_BYTES:
            return lane
        is_over = (
            self._rows >= WAITING_BATCHES * self._batch_rows
            or self._size_bytes + size_bytes > WAITING_BATCHES * BATCH_BYTES
        )
        return next(iter(self._filled), None) if is_over else None

    def waiting(self) -> list[RowWrite]:
        """Return the writes that wait."""
        return [write for lane in self._filled for write in lane.waiting]
