"""Sequences: unique numbers, which are reserved from an atomic counter in blocks.

The table of sequences has one row for each sequence. Its row key is the sequence's name in UTF-8.
Its cell `d:v` holds the largest reserved number, 8 bytes big-endian.

A process increments this cell by the size of a block. Then it gives out the numbers of the block
without further requests. When the process ends, the unused numbers of the block are skipped.
Numbers are unique, but they have gaps. They increase within a block, but a process may give out
smaller numbers than another process did before.

If several processes load rows, each of them may be declared as one of n loaders. Loader i (counted
from 0) gives out only the numbers i, i+n, i+2n …: those with `number % n == i`. To get a block, it
reserves block * n numbers and skips the numbers of the other loaders. So numbers stay unique if n
changes, or if two processes have the same loader number by mistake.
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
    """Return the descriptor of the table of sequences."""
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
    """Reserve `block` numbers of a sequence for one loader, and return these numbers.

    The counter is increased by `block * loaders`. An increment without an answer may have been
    applied, so the numbers of that increment are skipped, and other numbers are reserved.

    Args:
        table: The table of sequences.
        row: The row key of the sequence.
        block: How many numbers to return.
        loaders: How many loaders share the sequence.
        loader: Which of the loaders gets the numbers, counted from 0.
        may_create: Whether to create the table if it is missing.

    Raises:
        TableNotFoundError: The table is missing and may not be created.
        CorruptRowError: The sequence has passed 2^63-1.
        ConnectionLostError: Several requests in a row got no answer; call again.
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
    """A callable object that returns a new number at each call. Threads may share it.

    The object may also be used in a forked child. The child reserves a block of its own, and never
    returns numbers of the block that its parent reserved.
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
        """Prepare the sequence; nothing is sent before the first call.

        Args:
            run: A function that runs a protocol.
            table: The table of sequences.
            name: The name of the sequence. Sequences with the same name, in all processes, take
                their numbers from the same counter.
            block: How many numbers one request reserves for this object.
            loaders: How many loaders share the sequence.
            loader: Which of the loaders this object is, counted from 0.

        Raises:
            ConfigurationError: The name cannot be a row key, or an argument is out of range.
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
        """Return the class with name, block and loader."""
        loader = f", loaders={self.loaders}, loader={self.loader}" if self.loaders > 1 else ""
        return f"Sequence({self.name!r}, block={self.block}{loader})"

    def __call__(self) -> int:
        """Return the next number, 1 or more; one request is sent for every `block` calls.

        Raises:
            GatewayError: No block could be reserved; call again.
            TableNotFoundError: The table was dropped after the last block was reserved. It is not
                created again, because a new table would give the same numbers again.
            CorruptRowError: The sequence has passed 2^63-1.
        """
        with self._lock:
            number = next(self._numbers, None)
            if number is None:
                self._numbers = iter(self._run(self._draw()))
                self._has_taken = True
                number = next(self._numbers)
            return number

    def start_without_block_in_child(self) -> None:
        """In a forked child, drop the parent's block and replace the lock."""
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
