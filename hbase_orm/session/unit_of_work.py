"""What a flush will write, worked out before anything is sent.

An object that is new puts its non-None cells; one that was loaded puts the cells that differ from
the loaded ones and clears those that became None. Several writes of one row keep their order: they
go into rounds, and a round is sent when the one before it was answered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from hbase_orm.errors import HBaseORMError
from hbase_orm.model import Model
from hbase_orm.ops import Row
from hbase_orm.session.binding import BoundModel


@dataclass(frozen=True, slots=True)
class RowWrite:
    """One row to write.

    Attributes:
        bound: Its model.
        obj: Its object, or None for a write by key alone.
        key: Its row key.
        kind: "put" changes cells, "update" those of a row that was loaded, "insert" those of an
            absent row; "delete" removes the row.
        puts: Values by column.
        clears: Columns that become absent.
        cells: The row's cells afterwards, as far as the object knows them.
    """

    bound: BoundModel
    obj: Model | None
    key: bytes
    kind: Literal["put", "update", "insert", "delete"]
    puts: Mapping[bytes, bytes] = field(default_factory=dict[bytes, bytes])
    clears: frozenset[bytes] = frozenset()
    cells: Mapping[bytes, bytes] = field(default_factory=dict[bytes, bytes])

    @property
    def where(self) -> tuple[str, bytes]:
        """The table and the row key."""
        return self.bound.schema.table, self.key

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to send."""
        return self.kind in {"put", "update"} and not self.puts and not self.clears


@dataclass(frozen=True, slots=True)
class FlushReport:
    """What a flush did.

    Attributes:
        written: How many rows were acknowledged.
    """

    written: int = 0


@dataclass(slots=True)
class Outcome:
    """How the writes of a flush ended, each with table and row key.

    Attributes:
        written: Acknowledged.
        not_written: Certainly not written, with the reason.
        unknown: Sent, and not answered.
    """

    written: list[RowWrite] = field(default_factory=list)
    not_written: list[tuple[RowWrite, HBaseORMError]] = field(default_factory=list)
    unknown: list[tuple[RowWrite, HBaseORMError]] = field(default_factory=list)


def loaded_row(obj: Model) -> Row | None:
    """Return the row an object was read from or last written as; None for a new object."""
    row: Row | None = obj._row  # noqa: SLF001 - the model's own state
    return row


def write_of(bound: BoundModel, obj: Model, kind: Literal["put", "insert", "delete"]) -> RowWrite:
    """Return what writes `obj` now.

    Raises:
        ValidationError: A value does not fit its codec.
        RowKeyError: The row key cannot be made.
    """
    key = bound.key(obj)
    if kind == "delete":
        return RowWrite(bound, obj, key, "delete")
    cells = bound.cells(obj, key)
    loaded = loaded_row(obj)
    if loaded is None or kind == "insert":
        return RowWrite(bound, obj, key, kind, cells, frozenset(), cells)
    old = loaded.cells
    marker = bound.schema.marker
    puts = {
        c: value
        for c, value in cells.items()
        if c != marker and (c not in old or old[c].value != value)
    }
    known = {column.column for column in bound.schema.columns}
    clears = frozenset(column for column in known if column in old and column not in cells)
    if marker is not None and (puts or (clears and marker not in old)):
        puts[marker] = cells[marker]
    return RowWrite(bound, obj, key, "update", puts, clears, cells)


def rounds_of(writes: Iterable[RowWrite]) -> Sequence[Sequence[RowWrite]]:
    """Return the writes in rounds: a row stands once in a round, its writes in their order."""
    rounds: list[list[RowWrite]] = []
    seen: dict[tuple[str, bytes], int] = {}
    for write in writes:
        number = seen.get(write.where, 0)
        seen[write.where] = number + 1
        if number == len(rounds):
            rounds.append([])
        rounds[number].append(write)
    return rounds


def described(pairs: Iterable[tuple[RowWrite, HBaseORMError]]) -> list[tuple[str, bytes, Any]]:
    """Return (table, row key, error) of writes that did not end well."""
    return [(*write.where, error) for write, error in pairs]
