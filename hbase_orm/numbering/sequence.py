"""Sequences: numbers that are handed out once, taken from an atomic counter in blocks.

The table of sequences has one row a sequence: its key is the sequence's name in UTF-8, the cell
`d:v` the highest number taken so far, 8 bytes big-endian. A process increments it by the size of a
block and hands the numbers of its block out by itself; what is left of the block when the process
ends is skipped. Numbers are unique and rise within one block, but are neither dense nor in the
order of time over several processes.

Of several loaders, loader i of n (counted from 0) hands out only numbers with
`number % n == i`: i, i+n, i+2n … It draws a stretch of block * n numbers and skips the others of
it, so numbers stay unique when n changes, or when two processes take themselves for the same one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from typing import Final
from weakref import WeakSet

from hbase_orm.errors import ConfigurationError, TableNotFoundError
from hbase_orm.numbering.counters import MAX_NUMBER, take
from hbase_orm.numbering.create_tables import VALUE_COLUMN, descriptor, ensure_table
from hbase_orm.ops import Protocol, TableDescriptor, longest_row_key_bytes

SEQUENCES_TABLE: Final = "hbase_orm_sequences"
FORMAT: Final = "sequences 1"

DEFAULT_BLOCK: Final = 100


def sequences_descriptor(table: str) -> TableDescriptor:
    """Return what the table of sequences is made of."""
    return descriptor(table, FORMAT)


def take_block(
    table: str,
    row: bytes,
    *,
    block: int,
    loaders: int = 1,
    loader: int = 0,
    may_create: bool = True,
) -> Protocol[range]:
    """Draw the next `block` numbers of loader `loader` of `loaders`, and return them.

    An increment whose answer is lost is not taken for failed: its block is skipped and another one
    taken.

    Args:
        table: The table of sequences.
        row: The sequence's row.
        block: How many numbers.
        loaders: How many loaders there are.
        loader: Which one this is, from 0.
        may_create: Make the table if it is missing.

    Raises:
        TableNotFoundError: The table is missing and may not be made.
        CorruptRowError: The sequence has run over 2^63-1.
        ConnectionLostError: Several answers were lost in a row; call again.
        FeatureMissingError: The table is missing and the engine has no Thrift2 gateway.
    """
    count = block * loaders
    try:
        taken = yield from take(table, row, VALUE_COLUMN, count)
    except TableNotFoundError:
        if not may_create:
            raise
        yield from ensure_table(sequences_descriptor(table))
        taken = yield from take(table, row, VALUE_COLUMN, count)
    return taken[(loader - taken.start) % loaders :: loaders]


class Sequence:
    """Gives a number at each call, never twice. Threads may share it, forks may use it.

    A child process draws a block of its own: it never gives a number of its parent's block.
    """

    def __init__(
        self,
        run: Callable[[Protocol[range]], range],
        table: str,
        name: str,
        *,
        block: int = DEFAULT_BLOCK,
        loaders: int = 1,
        loader: int = 0,
    ) -> None:
        """Prepare; nothing is sent before the first number is taken.

        Args:
            run: Runs a protocol to its end.
            table: The table of sequences.
            name: The sequence; all that use one name share its numbers.
            block: How many numbers are taken by one request.
            loaders: How many loaders there are.
            loader: Which one this is, from 0.

        Raises:
            ConfigurationError: The name cannot be a row key, or a number is out of range.
        """
        self.name = name
        self.block = block
        self.loaders = loaders
        self.loader = loader
        self._run = run
        self._table = table
        self._row = _row(table, name)
        _check_sizes(block, loaders, loader)
        self._lock = threading.Lock()
        self._numbers: Iterator[int] = iter(())
        self._has_taken = False
        _SEQUENCES.add(self)

    def __repr__(self) -> str:
        """Return name, block and loader."""
        loader = f", loaders={self.loaders}, loader={self.loader}" if self.loaders > 1 else ""
        return f"Sequence({self.name!r}, block={self.block}{loader})"

    def __call__(self) -> int:
        """Return the next number, 1 or more; every `block` calls one request is sent.

        Raises:
            GatewayError: No block could be taken; call again.
            TableNotFoundError: The table was dropped after the last block was reserved; a new table
                would give the same numbers again.
            CorruptRowError: The sequence has run over 2^63-1.
        """
        with self._lock:
            number = next(self._numbers, None)
            if number is None:
                self._numbers = iter(self._run(self._draw()))
                self._has_taken = True
                number = next(self._numbers)
            return number

    def start_without_block_in_child(self) -> None:
        """Leave the block to the parent, and the lock, which a fork may copy as held."""
        self._lock = threading.Lock()
        self._numbers = iter(())

    def _draw(self) -> Protocol[range]:
        return take_block(
            self._table,
            self._row,
            block=self.block,
            loaders=self.loaders,
            loader=self.loader,
            may_create=not self._has_taken,
        )


def _row(table: str, name: str) -> bytes:
    try:
        row = name.encode()
    except (AttributeError, UnicodeEncodeError):
        row = b""
    if not 0 < len(row) <= longest_row_key_bytes(table):
        raise ConfigurationError(
            "a sequence's name cannot be a row key", name=name, fix="use a short, non-empty text"
        )
    return row


def _check_sizes(block: int, loaders: int, loader: int) -> None:
    sizes = (block, loaders, loader)
    if any(type(size) is not int for size in sizes) or block < 1 or loaders < 1:
        raise ConfigurationError(
            "a sequence's block or number of loaders is not positive",
            block=block,
            loaders=loaders,
            loader=loader,
            fix="use whole numbers, 1 or more",
        )
    if not 0 <= loader < loaders:
        raise ConfigurationError(
            "the loader's number is out of range",
            loaders=loaders,
            loader=loader,
            fix="loaders are counted from 0: loaders=4 has loader=0 to loader=3",
        )
    if block * loaders > MAX_NUMBER:
        raise ConfigurationError(
            "a block of numbers for all loaders does not fit 63 bits",
            block=block,
            loaders=loaders,
            fix="use a smaller block",
        )


_SEQUENCES: WeakSet[Sequence] = WeakSet()


def _start_without_blocks_in_child() -> None:
    for sequence in tuple(_SEQUENCES):
        sequence.start_without_block_in_child()


os.register_at_fork(after_in_child=_start_without_blocks_in_child)
