"""The interface between the runner of revisions and their operations.

An operation is a value. `run` may be called again after a crash at any point: it continues at the
checkpoint, and what was done before is not done twice.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from hbase_orm.index_admin.admin import GATEWAY_TIMEOUT_S
from hbase_orm.record.declaration import Declaration
from hbase_orm.session.engine import Engine


@dataclass(frozen=True, slots=True)
class Irreversible:
    """The answer of an operation that cannot be undone.

    Attributes:
        reason: Why it cannot be undone.
    """

    reason: str


class Checkpoint(Protocol):
    """Where a step notes how far it is; the runner keeps it in HBase, under its lock."""

    @property
    def position(self) -> Mapping[str, str]:
        """The last saved position; empty at the first run."""
        ...

    def save(self, position: Mapping[str, str]) -> None:
        """Save a position.

        Raises:
            LockLostError: Another runner took over; the step must end.
        """
        ...


@dataclass(frozen=True, slots=True)
class MigrationOptions:
    """How operations are run.

    Attributes:
        rows_per_second: The largest average number of rows per second; None for no limit.
        exclusive: Whether the caller promises that no other program writes the tables, nor has
            written them for `gateway_timeout_s`.
        gateway_timeout_s: The time for which a gateway may repeat a request by itself.
        dry_run: Whether rows are only read, and nothing is written.
        stop_before: The name of the state before which a moving operation stops; None for its end.
    """

    rows_per_second: float | None = None
    exclusive: bool = False
    gateway_timeout_s: float = GATEWAY_TIMEOUT_S
    dry_run: bool = False
    stop_before: str | None = None


@dataclass(frozen=True, slots=True)
class Estimate:
    """What an operation will cost, for plans.

    Attributes:
        tables: The tables that it touches.
        rows: The estimated number of rows; None if the cost does not depend on rows.
        requests: The estimated number of requests, or None.
        seconds: The time at the given rate, or None.
        irreversible: What cannot be undone, in words; empty if everything can.
        waits_s: The time of waits for other programs.
    """

    tables: tuple[str, ...]
    rows: int | None
    requests: int | None
    seconds: float | None
    irreversible: str = ""
    waits_s: float = 0.0


@dataclass(frozen=True)
class Progress:
    """The progress of an operation.

    Attributes:
        step: What is done now.
        rows: The number of rows that were processed, in earlier runs too.
        fraction: The finished fraction, from 0 to 1; None if it is unknown.
        seconds_left: The estimated time that is left; None if it is unknown.
    """

    step: str
    rows: int
    fraction: float | None
    seconds_left: float | None


@dataclass(frozen=True, slots=True)
class Migration:
    """What an operation gets to run.

    Attributes:
        engine: The engine.
        before: The declarations by table before the revision, as its file has them.
        after: The declarations by table after the revision. For a downgrade the two are exchanged.
        options: How operations are run.
        report: A function that is called with the progress.
    """

    engine: Engine
    before: Mapping[str, Declaration]
    after: Mapping[str, Declaration]
    options: MigrationOptions
    report: Callable[[Progress], None]


class Operation(abc.ABC):
    """One step of a revision: a frozen value."""

    @abc.abstractmethod
    def describe(self) -> str:
        """Return the operation as one line, such as "add index by_unit to readings"."""

    @abc.abstractmethod
    def reverse(self) -> Operation | Irreversible:
        """Return the operation that undoes this one, or why there is none."""

    @abc.abstractmethod
    def estimate(self, migration: Migration) -> Estimate:
        """Return what the operation will cost; nothing is changed."""

    @abc.abstractmethod
    def run(self, migration: Migration, checkpoint: Checkpoint) -> None:
        """Carry the operation out; safe to repeat from any point.

        Raises:
            MigrationError: The tables are not in the state that the revision expects.
            HBaseORMError: A request failed; run the operation again.
        """

    @abc.abstractmethod
    def source(self) -> str:
        """Return the Python source of the operation, for revision files."""
