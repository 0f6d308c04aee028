"""What an operation of a revision is, and what the runner gives it."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Protocol

from hbase_orm.index.catalog.lease import GATEWAY_TIMEOUT_S
from hbase_orm.record.declaration import Declaration
from hbase_orm.session import Engine


@dataclass(frozen=True)
class Irreversible:
    """Why an operation cannot be reversed.

    Attributes:
        reason: The reason, in words.
    """

    reason: str


class Checkpoint(Protocol):
    """Where a step notes how far it is; the runner keeps it in HBase, under its lock."""

    @property
    def position(self) -> Mapping[str, str]:
        """The position that was saved last; empty at the first run."""
        ...

    @property
    def interrupted(self) -> Mapping[str, str] | None:
        """The position of a run in the other direction that this run undoes; None without one.

        A downgrade may begin at a step whose upgrade was interrupted, and the other way round.
        After the first `save` it is None.
        """
        ...

    def save(self, position: Mapping[str, str]) -> None:
        """Save a position, at which the step continues after an interruption.

        Raises:
            LockLostError: Another runner has taken over; nothing was saved.
        """
        ...


_BEGUN: Final = MappingProxyType({"phase": "begun"})
_WAS_THERE: Final = "was there"


def begin(checkpoint: Checkpoint, *, was_there: bool = False) -> None:
    """Save that an operation has checked all, and begins to change things; keep a position.

    Args:
        checkpoint: The checkpoint of the operation.
        was_there: Whether what it adds is there already, so that its reverse must not delete it. It
            is not asked if an interrupted run in the other direction is undone.
    """
    if checkpoint.position:
        return
    is_kept = was_there and checkpoint.interrupted is None
    checkpoint.save({**_BEGUN, **({_WAS_THERE: "yes"} if is_kept else {})})


def has_changed_nothing(position: Mapping[str, str]) -> bool:
    """Return whether an interrupted operation with this position has changed nothing.

    It may have been refused because what it makes was there: its reverse must not delete that, and
    must not be refused for the same reason.
    """
    return not position or _WAS_THERE in position


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a step will do and take, for `--plan`.

    Attributes:
        tables: The tables that it reads or writes.
        rows: The estimated number of rows; None if the step does not depend on rows.
        requests: The estimated number of requests; None if unknown.
        seconds: The time at the given rate; None if unknown.
        irreversible: What cannot be undone, in words; empty if everything can.
        waits_s: How long the step waits for other programs, in seconds.
    """

    tables: tuple[str, ...]
    rows: int | None
    requests: int | None
    seconds: float | None
    irreversible: str = ""
    waits_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a step is.

    Attributes:
        step: What the step is doing, in a few words.
        rows: The number of rows that are finished.
        fraction: The finished part, from 0 to 1; None if unknown.
        seconds_left: The time that is left; None if unknown.
    """

    step: str
    rows: int
    fraction: float | None
    seconds_left: float | None


@dataclass(frozen=True, slots=True)
class MigrationOptions:
    """How the operations work.

    Attributes:
        rows_per_second: The largest average number of rows per second; None for no limit.
        exclusive: Whether no other program uses the tables: no step waits for the gateway's time.
        gateway_timeout_s: How long a gateway may repeat a request by itself.
        dry_run: Whether nothing may be changed.
        stop_before: The phase of an operation before which the run stops; None to run to the end.
    """

    rows_per_second: float | None = None
    exclusive: bool = False
    gateway_timeout_s: float = GATEWAY_TIMEOUT_S
    dry_run: bool = False
    stop_before: str | None = None


@dataclass(frozen=True, slots=True)
class Migration:
    """What an operation gets.

    Attributes:
        engine: The engine.
        before: The declarations by table before the revision, from the file beside the revision.
        after: The declarations by table after the revision.
        options: How the operations work.
        report: A function that is called with the progress; it may raise LockLostError.
    """

    engine: Engine
    before: Mapping[str, Declaration]
    after: Mapping[str, Declaration]
    options: MigrationOptions
    report: Callable[[Progress], None]


class Operation(abc.ABC):
    """One step of a revision. Subclasses are frozen dataclasses."""

    @abc.abstractmethod
    def describe(self) -> str:
        """Return one line: "add index by_unit to readings"."""

    @abc.abstractmethod
    def reverse(self) -> Operation | Irreversible:
        """Return the operation that undoes this one, also one that was interrupted."""

    @abc.abstractmethod
    def estimate(self, migration: Migration) -> Estimate:
        """Return what the operation will do and take; nothing is changed."""

    @abc.abstractmethod
    def run(self, migration: Migration, checkpoint: Checkpoint) -> None:
        """Run the operation; it continues at `checkpoint.position`, and is safe to repeat."""

    def source(self) -> str:
        """Return the Python source of the call, for revision files."""
        return repr(self)


class CheckedOperation(Operation):
    """An operation that checks all, and saves a position before its first change.

    So an interrupted run that has saved none has changed nothing, and is not undone.
    """
