"""The data blocks of a real store file, for comparison with those of an estimate."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from hbase_orm.advise.estimating.store_files import HEADER_BYTES
from hbase_orm.advise.estimating.stored_cells import FileCell

_MAGICS: Final = (b"DATABLK*", b"DATABLKE")  # without and with an encoding
_SKIPPED: Final = (b"BLMFBLK2", b"IDXLEAF2")  # stand between data blocks
_ON_DISK: Final = slice(8, 12)
_DATA_END: Final = slice(29, 33)
_SHORT: Final = 127
_LENGTH_BASE: Final = 144


def data_blocks(path: Path) -> list[bytes]:
    """Return the data blocks of an uncompressed store file, without headers and checksums."""
    data, at, blocks = path.read_bytes(), 0, []
    while data[at : at + 8] in _MAGICS + _SKIPPED:
        header = data[at : at + HEADER_BYTES]
        if header[:8] in _MAGICS:
            end = int.from_bytes(header[_DATA_END], "big")
            blocks.append(data[at + HEADER_BYTES : at + end])
        at += HEADER_BYTES + int.from_bytes(header[_ON_DISK], "big")
    return blocks


def plain_cells(block: bytes) -> list[FileCell]:
    """Return the cells of a block without encoding, with the numbers of their writes."""
    return [*_cells(block)]


def _cells(block: bytes) -> Iterator[FileCell]:
    at = 0
    while at < len(block):
        key_bytes, value_bytes = (int.from_bytes(block[at + i : at + i + 4], "big") for i in (0, 4))
        start, value = at + 8, at + 8 + key_bytes
        row = start + 2 + int.from_bytes(block[start : start + 2], "big")
        family = row + 1 + block[row]
        end = value + value_bytes
        sequence, at = _variable_int(block, end)
        yield FileCell(
            block[start + 2 : row],
            block[row + 1 : family],
            block[family : value - 9],
            int.from_bytes(block[value - 9 : value - 1], "big"),
            block[value:end],
            sequence,
        )


def _variable_int(block: bytes, at: int) -> tuple[int, int]:
    """Return a number and the place behind it."""
    if block[at] <= _SHORT:
        return block[at], at + 1
    end = at + 1 + _LENGTH_BASE - block[at]
    return int.from_bytes(block[at + 1 : end], "big"), end
