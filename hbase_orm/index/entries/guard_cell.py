"""The guard: the cell of a row by which writers detect each other's changes.

The value of the cell has these parts, with big-endian numbers, so that a prefix filter on flag and
epoch works:

- the flag: `L` (live), `D` (dead: the row is deleted), `M` (sealed: the row has moved to another
  table) or `P` (provisionally sealed: see `hbase_orm.moving.joint_seals`)
- the epoch of the write (2 bytes)
- its timestamp (8 bytes)
- its nonce (8 bytes)
- its predecessors: the nonces of up to 3 earlier writes, newest first

If a row has no guard, eight zero bytes are used as its nonce.

A sealed guard is final: nothing replaces it, so the row never changes again. Only a provisional one
is replaced, by a final one. Releases that do not know the flags `M` and `P` cannot decode the
guard.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
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
_LIVE, _DEAD, _SEALED, _PROVISIONAL = b"L", b"D", b"M", b"P"
_FLAGS: Final = frozenset((_LIVE, _DEAD, _SEALED, _PROVISIONAL))


@dataclass(frozen=True, slots=True)
class GuardCell:
    """A decoded guard.

    Attributes:
        epoch: The catalog epoch of the writer.
        timestamp_ms: The timestamp of the write and of the guard's cell.
        nonce: A random number that identifies the write.
        predecessors: The nonces of the row's writes before this one, newest first.
        is_dead: Whether the row does not exist after the write. False if the guard is sealed: then
            the cells show whether the row existed when it was sealed.
        is_sealed: Whether the row may not be written any more, because it is handed over to another
            table; see `hbase_orm.moving`.
        is_provisional: Whether a late request could still remove the seal. So the row is not handed
            over before the final seal was put.
    """

    epoch: int
    timestamp_ms: int
    nonce: bytes
    predecessors: tuple[bytes, ...] = ()
    is_dead: bool = False
    is_sealed: bool = False
    is_provisional: bool = False

    def encode(self) -> bytes:
        """Return the value of the guard's cell."""
        flag = _DEAD if self.is_dead else _LIVE
        if self.is_sealed:
            flag = _PROVISIONAL if self.is_provisional else _SEALED
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
        is_sealed = flag in {_SEALED, _PROVISIONAL}
        is_provisional = flag == _PROVISIONAL
        return cls(epoch, timestamp_ms, nonce, nonces, flag == _DEAD, is_sealed, is_provisional)


def guard_of(cell: Cell | None, known_epoch: int = MAX_EPOCH) -> GuardCell | None:
    """Return the decoded guard of a stored cell.

    The result is None if `cell` is None, or if its guard is not valid. These guards are not valid:

    - an empty cell, or bytes that do not decode
    - a guard whose timestamp is later than the timestamp of its cell
    - a guard whose epoch is much greater than `known_epoch`, the catalog's epoch
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
    """Return whether `epoch`, from a guard, is not much greater than `known_epoch`.

    `known_epoch` is the catalog's epoch. A writer may know a newer epoch than the reader. A guard
    with a much greater epoch is damaged.
    """
    return epoch <= known_epoch + MAX_EPOCH_LEAD


def nonces_of(guard: GuardCell | None) -> tuple[bytes, ...]:
    """Return the nonces of a row's latest writes, newest first.

    If the row has no guard, the only nonce is `ABSENT_NONCE`.
    """
    return (ABSENT_NONCE,) if guard is None else (guard.nonce, *guard.predecessors)


def next_guard(
    before: GuardCell | None, *, timestamp_ms: int, nonce: bytes, epoch: int, is_dead: bool
) -> GuardCell:
    """Return the guard that a write puts into a row.

    `before` is the guard that the row has until now; None if it has none. The new guard has the
    nonce of `before` as its first predecessor. Its epoch is `epoch`, or the epoch of `before` if
    that is greater.
    """
    known = 0 if before is None else before.epoch
    ring = nonces_of(before)[:MAX_PREDECESSORS]
    return GuardCell(max(known, epoch), timestamp_ms, nonce, ring, is_dead)


def sealed_guard(
    before: GuardCell | None, *, timestamp_ms: int, nonce: bytes, epoch: int
) -> GuardCell:
    """Return the guard that seals a row whose guard is `before` until now; see `next_guard`."""
    guard = next_guard(before, timestamp_ms=timestamp_ms, nonce=nonce, epoch=epoch, is_dead=False)
    return replace(guard, is_sealed=True)


def provisional_seal(before: GuardCell) -> GuardCell:
    """Return the guard that seals a row provisionally, in the place of its guard `before`."""
    return replace(before, is_dead=False, is_sealed=True, is_provisional=True)


def final_seal(provisional: GuardCell) -> GuardCell:
    """Return the guard that takes the place of a provisional seal, one millisecond later."""
    return replace(provisional, timestamp_ms=provisional.timestamp_ms + 1, is_provisional=False)
