"""The guard: the cell of a row by which writers detect each other's changes.

Value: flag `L` (live) or `D` (dead: the row is deleted), epoch (2 bytes), timestamp (8), nonce (8),
then the nonces of up to 3 predecessors, newest first; numbers big-endian, so that a prefix filter
on flag and epoch works. Where a row has no guard, eight zero bytes take the place of its nonce.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from hbase_orm.errors import CorruptRowError
from hbase_orm.ops import Cell

NONCE_BYTES: Final = 8
ABSENT_NONCE: Final = bytes(NONCE_BYTES)
MAX_PREDECESSORS: Final = 3

MAX_EPOCH: Final = 65_535
MAX_EPOCH_LEAD: Final = 1_000
"""How much a guard's epoch may exceed the catalog's; a guard with a greater epoch is damaged.

A build raises the catalog's epoch by about three.
"""

_HEAD: Final = struct.Struct(">cHQ8s")
_FLAGS: Final = {b"L": False, b"D": True}


@dataclass(frozen=True, slots=True)
class GuardCell:
    """A decoded guard.

    Attributes:
        epoch: The catalog epoch of the writer.
        timestamp_ms: The timestamp of the write and of the guard's cell.
        nonce: A random number that identifies the write.
        predecessors: The nonces of the writes before, newest first.
        is_dead: Whether the write deleted the row.
    """

    epoch: int
    timestamp_ms: int
    nonce: bytes
    predecessors: tuple[bytes, ...] = ()
    is_dead: bool = False

    def encode(self) -> bytes:
        """Return the value of the cell."""
        flag = b"D" if self.is_dead else b"L"
        head = _HEAD.pack(flag, self.epoch, self.timestamp_ms, self.nonce)
        return head + b"".join(self.predecessors)

    @classmethod
    def decode(cls, value: bytes) -> GuardCell:
        """Return the guard that is encoded in `value`.

        Raises:
            CorruptRowError: The bytes are not a guard.
        """
        ring = value[_HEAD.size :]
        if (
            len(value) < _HEAD.size
            or value[:1] not in _FLAGS
            or len(ring) % NONCE_BYTES
            or len(ring) > MAX_PREDECESSORS * NONCE_BYTES
        ):
            raise CorruptRowError(
                "the guard cell does not decode",
                value=value,
                fix="the row was written by another program: delete the cell and reindex the row",
            )
        flag, epoch, timestamp_ms, nonce = _HEAD.unpack_from(value)
        nonces = tuple(ring[at : at + NONCE_BYTES] for at in range(0, len(ring), NONCE_BYTES))
        return cls(epoch, timestamp_ms, nonce, nonces, _FLAGS[flag])


def guard_of(cell: Cell | None, known_epoch: int = MAX_EPOCH) -> GuardCell | None:
    """Return the guard in a stored cell; None if the cell is absent or holds no valid guard.

    These are not valid: an empty cell, bytes that do not decode, a guard with a timestamp later
    than its cell's, and a guard with an epoch much greater than `known_epoch`, the catalog's epoch.
    """
    if cell is None or not cell.value:
        return None
    try:
        guard = GuardCell.decode(cell.value)
    except CorruptRowError:
        return None
    is_plausible = is_plausible_epoch(guard.epoch, known_epoch)
    return guard if is_plausible and guard.timestamp_ms <= cell.timestamp_ms else None


def is_plausible_epoch(epoch: int, known_epoch: int) -> bool:
    """Return whether a writer can have had `epoch` if the catalog has `known_epoch`."""
    return epoch <= known_epoch + MAX_EPOCH_LEAD


def nonces_of(guard: GuardCell | None) -> tuple[bytes, ...]:
    """Return the nonces of the latest writes of a row, newest first."""
    return (ABSENT_NONCE,) if guard is None else (guard.nonce, *guard.predecessors)


def next_guard(
    before: GuardCell | None, *, timestamp_ms: int, nonce: bytes, epoch: int, is_dead: bool
) -> GuardCell:
    """Return the guard that a write puts into a row with the guard `before`; None means no guard.

    The new guard keeps the nonces of the latest writes as predecessors. Its epoch is `epoch`, but
    never less than before.
    """
    known = 0 if before is None else before.epoch
    ring = nonces_of(before)[:MAX_PREDECESSORS]
    return GuardCell(max(known, epoch), timestamp_ms, nonce, ring, is_dead)
