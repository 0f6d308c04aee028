"""Moves a row to another row key: insert the copy, verify it, delete the original.

HBase cannot rename a row, and no request changes two rows. A process that dies during a move leaves
both rows with the same cells. The next move of the row finds the copy and continues.

Only copied cells of the original are deleted. A guarded row is deleted only if it has not changed
since it was copied. A plain row is deleted only up to the newest copied timestamp. If other
programs wrote the original in the meantime, it is copied again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.table_writer import TableWriter
from hbase_orm.binding.write_clock import TIE_S
from hbase_orm.errors import ConflictError, RowKeyError, ValidationError
from hbase_orm.index.entries.targets import MARKER_VALUE, GuardedTable, RowBefore, RowChange
from hbase_orm.model import Key
from hbase_orm.ops import (
    Delete,
    MutateRows,
    Protocol,
    RenewTimeLimit,
    Row,
    RowMutation,
    Sleep,
    ask,
)
from hbase_orm.reading.by_key import key_to_change
from hbase_orm.writing.by_key import absent_row_error, write_now
from hbase_orm.writing.conditional import duplicate_error, insert_row, need_conditions, stored_row
from hbase_orm.writing.row_write import RowWrite

MAX_TRIES: Final = 20
"""The largest number of times that a move copies a row which other programs keep writing."""


@dataclass(frozen=True, slots=True)
class RowLocation:
    """The table and the row key of a row."""

    bound: BoundModel
    key: bytes


class _ChangedError(Exception):
    """The original changed after it was copied; this error is caught inside this module."""


def new_values(bound: BoundModel, obj: Any, new_key: Mapping[str, Any]) -> dict[str, Any]:
    """Return the key fields of the copy: the object's key fields, changed by `new_key`.

    Raises:
        RowKeyError: A name is not a key field, a value does not fit, or no key field is given.
    """
    if not new_key:
        raise RowKeyError(
            "move() needs at least one new value of a key field",
            model=bound.schema.model_name,
            fix="write session.move(obj, name=...)",
        )
    names = bound.schema.layout.arguments
    for name in new_key:
        if name not in names:
            raise RowKeyError(
                "the model has no key field of this name",
                model=bound.schema.model_name,
                field=name,
                fix=f"give only: {', '.join(names)}",
            )
    values = {name: obj.__dict__[name] for name in names}
    checkers = bound.model.__checkers__
    return values | {name: checkers[name](value) for name, value in new_key.items()}


def location_of(bound: BoundModel, values: Mapping[str, Any]) -> Protocol[RowLocation]:
    """Return the location of the row with these key fields; it need not exist."""
    placed = bound.with_table_of(values)
    return RowLocation(placed, (yield from key_to_change(placed, values)))


def move_row(
    old: RowLocation,
    new: RowLocation,
    values: Mapping[str, Any],
    known: Mapping[bytes, bytes],
    writer: TableWriter,
    *,
    check: Callable[[Row], object] = lambda _: None,
) -> Protocol[Row]:
    """Move a row and return the copy as it is stored.

    Args:
        old: The location of the row.
        new: The new location.
        values: The new key fields.
        known: The cells of the row that the caller read last: values by column. If the row does not
            exist, they show whether the row at `new` is the copy of an interrupted move.
        writer: The object that reads and writes the tables.
        check: A function that raises an error for a row that must not be moved, before anything is
            written.

    Raises:
        RowNotFoundError: The row does not exist.
        DuplicateRowError: Another row has the new key.
        ConflictError: Other writers changed the row at every attempt.
        FeatureMissingError: The engine has no Thrift2 gateway.
        ValidationError: The row has a unique value, which the copy would have too.
        ConnectionLostError: Some steps may be done, others not; move the row again.
    """
    need_conditions(old.bound.schema, writer)
    move = _Move(old, new, values, writer)
    yield from writer.clock.wait_out_counter_skew([(old.bound.schema.table, old.key)])
    for _ in range(MAX_TRIES):
        yield from ask(RenewTimeLimit())  # a clean-up without an answer does not end the move
        original = yield from stored_row(old.bound, old.key)
        copy = yield from stored_row(new.bound, new.key)
        if original is None:
            return _finished_copy(move, copy, known)
        check(original)
        if (yield from move.make_copy(original, copy)):
            # From then on the server's timestamps are later than those that were read.
            yield from ask(Sleep(TIE_S))
            yield from ask(RenewTimeLimit())
            yield from move.delete_copied(original)
    raise ConflictError(
        "other writers kept changing the row while it was moved",
        model=old.bound.schema.model_name,
        row=old.key,
        new_row=new.key,
        fix="move the row again when they have finished: the move continues with the rows that "
        "were copied",
    )


@dataclass(slots=True)
class _Move:
    """The state of one move.

    Attributes:
        old: The location of the original.
        new: The location of the copy.
        values: The key fields of the copy.
        writer: The object that reads and writes the tables.
        copied: The cells of the copy that this move last wrote or read. None if there is no copy
            yet.
        has_deleted: Whether this move has deleted the original, a plain row. Cells that the
            original has after the delete were written by other programs.
    """

    old: RowLocation
    new: RowLocation
    values: Mapping[str, Any]
    writer: TableWriter
    copied: Mapping[bytes, bytes] | None = None
    has_deleted: bool = False

    def make_copy(self, original: Row, copy: Row | None) -> Protocol[bool]:
        """Write the copy, unless it is equal to the original; return whether it is equal now.

        An outdated copy of this move is deleted, and the result is False. Then call this method
        again.

        Raises:
            DuplicateRowError: Another row has the new key.
        """
        bound, key, writer = self.new.bound, self.new.key, self.writer
        wanted = _cells_of_copy(bound, _cells(self.old, original), self.values)
        stored = None if copy is None else _cells(self.new, copy)
        if copy is None or stored is None:
            _refuse_same_claims(self.old, original, self.new, wanted)
            yield from insert_row(RowWrite(bound, None, key, "insert", wanted), writer)
        elif self.has_deleted:
            yield from write_now([RowWrite(bound, None, key, "put", wanted)], writer)
        elif stored == wanted:
            pass  # an interrupted move left this copy
        elif stored == self.copied:  # our own copy, but the original has changed since
            yield from _delete(self.new, copy, writer)
            yield from ask(Sleep(TIE_S))
            self.copied = None
            return False
        else:
            raise duplicate_error(RowWrite(bound, None, key, "insert"))
        self.copied = wanted
        return True

    def delete_copied(self, original: Row) -> Protocol[None]:
        """Delete the original as it was read, unless it or its copy has changed since then."""
        copy = yield from stored_row(self.new.bound, self.new.key)
        now = yield from stored_row(self.old.bound, self.old.key)
        stored = {} if copy is None else _cells(self.new, copy)
        is_whole = self.copied is not None and self.copied.items() <= stored.items()
        if is_whole and now is not None and now.cells == original.cells:
            yield from _delete(self.old, original, self.writer)
            self.has_deleted = self.old.bound.guarded is None


def _refuse_same_claims(
    old: RowLocation, original: Row, new: RowLocation, wanted: Mapping[bytes, bytes]
) -> None:
    """Raise an error if the copy would have the same unique value as the original.

    Raises:
        ValidationError: The copy would have such a value; nothing was written.
    """
    if old.bound.guarded is None or new.bound.guarded is None:
        return
    cells = {column: cell.value for column, cell in original.cells.items()}
    held = _claims(old.bound.guarded, old.key, cells)
    for entry, index in _claims(new.bound.guarded, new.key, wanted).items():
        if entry in held:
            raise ValidationError(
                "a row with a unique value cannot be moved, because its copy would have the "
                "same value",
                model=old.bound.schema.model_name,
                index=index,
                row=old.key,
                new_row=new.key,
                fix="give the unique field another value or None, flush, move the row and set the "
                "field again",
            )


def _claims(
    target: GuardedTable, row: bytes, cells: Mapping[bytes, bytes]
) -> dict[tuple[str, bytes], str]:
    """Return the index names of a row's claims, by index table and claim key."""
    return {
        (index.table, key): index.name
        for index in target.maintained
        if index.unique
        for key in target.entry_keys(index, row, cells)
    }


def _finished_copy(move: _Move, copy: Row | None, known: Mapping[bytes, bytes]) -> Row:
    """Return `copy`, the row at the new key, if a move wrote it and then deleted the original.

    Raises:
        RowNotFoundError: No row is at the new key, or a row that is not a copy of the original.
    """
    if copy is not None and move.copied is not None:
        return copy
    expected = _cells_of_copy(move.new.bound, known, move.values)
    if copy is None or _visible_cells(move.new, copy, known) != expected:
        raise absent_row_error(move.old.bound, move.old.key)
    return copy


def _cells(location: RowLocation, row: Row) -> dict[bytes, bytes]:
    """Return the cells that a move copies: all but the version, which starts at 1 in the copy."""
    version = location.bound.schema.version
    own = None if version is None else version.column
    return {column: cell.value for column, cell in row.cells.items() if column != own}


def _visible_cells(
    location: RowLocation, row: Row, known: Mapping[bytes, bytes]
) -> dict[bytes, bytes]:
    """Return the cells of a row; leave out deferred columns that are not in `known`."""
    hidden = {each.column for each in location.bound.schema.deferred} - known.keys()
    return {name: value for name, value in _cells(location, row).items() if name not in hidden}


def _cells_of_copy(
    bound: BoundModel, cells: Mapping[bytes, bytes], values: Mapping[str, Any]
) -> dict[bytes, bytes]:
    """Return the cells of the copy: `cells`, with the new values of key fields stored in columns.

    The version is left out, and the marker of the model is added.
    """
    schema = bound.schema
    wanted = dict(cells)
    if schema.version is not None:
        wanted.pop(schema.version.column, None)
    if schema.marker is not None:  # a row of only counters has no marker, but inserts check it
        wanted[schema.marker] = MARKER_VALUE
    for column in schema.columns:
        if isinstance(schema.fields[column.name], Key) and column.column in wanted:
            wanted[column.column] = column.codec.encode(values[column.name])
    return wanted


def _delete(old: RowLocation, original: Row, writer: TableWriter) -> Protocol[None]:
    """Delete the row at `old`, but no cells that were written after `original` was read.

    A guarded row that has changed since then is not deleted. In a plain row, only cells up to the
    newest timestamp in `original` are deleted.
    """
    if old.bound.guarded is not None:
        yield from _delete_guarded(old, original, writer)
        return
    schema = old.bound.schema
    newest_ms = max(cell.timestamp_ms for cell in original.cells.values())
    deletes = tuple(Delete(family, newest_ms) for family in schema.family_names)
    mutations = schema.storage.mutations([RowMutation(old.key, deletes=deletes)])
    yield from writer.send(MutateRows(schema.table, tuple(mutations)), old.bound)


def _delete_guarded(old: RowLocation, original: Row, writer: TableWriter) -> Protocol[None]:
    copied = {column: cell.value for column, cell in original.cells.items()}

    def decide(before: RowBefore) -> RowChange:
        if before.values != copied:
            raise _ChangedError
        return RowChange(old.key, kind="delete")

    reads = frozenset(old.bound.schema.family_names)
    change = RowChange(old.key, kind="delete", reads=reads, decide=decide)
    try:
        yield from writer.change(old.bound, change)
    except _ChangedError:
        return  # the next round copies the changed row
