"""The size of a store file (HFile, version 3): blocks, their index, bloom filter and trailer."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from hbase_orm.advise.estimating.block_encodings import ENCODINGS, ROW_INDEX_BYTES
from hbase_orm.advise.estimating.stored_cells import FileCell, rows_of, variable_int

BLOCK_BYTES: Final = 64 * 1024
"""The default size of a data block; a block ends after the cell that reaches it."""

HEADER_BYTES: Final = 33
"""The header of a block: magic, three sizes, offset of the block before, kind of checksums."""

_COMPRESSED: Final[dict[str, Callable[[bytes], int]]] = {
    "NONE": len,
    "GZ": lambda data: len(zlib.compress(data)) + _GZIP_BYTES,
}
COMPRESSIONS: Final = tuple(_COMPRESSED)
"""The compressions that are measured; others need libraries of their own."""


def measured_compression(declared: str) -> str:
    """Return the compression that is measured in the place of a declared one."""
    return declared if declared == "NONE" else "GZ"


ALL_KINDS: Final = tuple((name, how) for name in ENCODINGS for how in COMPRESSIONS)
"""Every encoding with every compression."""

_CHECKSUMMED: Final = 16 * 1024  # bytes with one checksum
_CHECKSUM_BYTES: Final = 4
_GZIP_BYTES: Final = 12  # gzip's header and trailer (18 bytes), instead of zlib's (6)
_INDEX_ENTRY_BYTES: Final = 14  # of a block's index entry, without its key: offset, size, length
_BLOOM_BITS: Final = -math.log(0.01) / math.log(2) ** 2  # for each row, with 1 % false positives
_BLOOM_CHUNK_BYTES: Final = 128 * 1024
_BLOOM_ENTRY_BYTES: Final = 14
TRAILER_BYTES: Final = 4096
_FILE_INFO_BYTES: Final = 900  # names and values of the file's facts, and empty index blocks


@dataclass(frozen=True, slots=True)
class FileSize:
    """The bytes of a store file, by what they are for.

    Attributes:
        data: The data blocks, with their headers and checksums.
        index: The index of the blocks.
        bloom: The bloom filter and its index.
        rest: The trailer and the facts about the file.
    """

    data: float
    index: float
    bloom: float
    rest: float

    @property
    def total(self) -> float:
        """All bytes of the file."""
        return self.data + self.index + self.bloom + self.rest


@dataclass(frozen=True, slots=True)
class BlockSample:
    """What blocks of neighbouring cells take.

    Attributes:
        cells: The number of cells.
        rows: The number of rows.
        blocks: The number of blocks, with a fraction: a full block is 1.
        key_bytes: The bytes of all row keys, one of each row.
        sizes: The bytes of the blocks, without headers and checksums, by encoding and compression.
    """

    cells: int
    rows: int
    blocks: float
    key_bytes: int
    sizes: dict[tuple[str, str], float]

    def file_size(
        self, encoding: str, compression: str, *, cells: float, rows: float, bloom: str
    ) -> FileSize:
        """Return the size of a store file with cells like these.

        Args:
            encoding: The block encoding.
            compression: The compression.
            cells: The number of cells in the file.
            rows: The number of rows in the file.
            bloom: The kind of bloom filter: NONE, ROW or ROWCOL.

        Returns:
            The sizes of the parts; all are 0 without cells, as HBase then writes no file.
        """
        if not cells:
            return FileSize(0.0, 0.0, 0.0, 0.0)
        scale = cells / max(1, self.cells)
        blocks = self.blocks * scale
        key = self.key_bytes / max(1, self.rows)
        encoded = self.sizes[encoding, compression]
        overhead = on_disk_bytes(encoded / self.blocks) - encoded / self.blocks if blocks else 0.0
        data = encoded * scale + overhead * max(1.0, blocks)
        index = _index_bytes(blocks, key)
        entries = {"NONE": 0.0, "ROW": rows, "ROWCOL": cells}[bloom]
        return FileSize(data, index, _bloom_bytes(entries, key), TRAILER_BYTES + _FILE_INFO_BYTES)


def sample_blocks(
    stretches: Sequence[Sequence[FileCell]],
    *,
    block_bytes: int = BLOCK_BYTES,
    most_cells: int,
    kinds: Sequence[tuple[str, str]] = ALL_KINDS,
) -> BlockSample:
    """Measure blocks of cells.

    Of many cells only some blocks are encoded, which are spread over all of them.

    Args:
        stretches: The cells of one family, sorted: pieces that are apart in the table. No block has
            cells of two of them.
        block_bytes: The block size of the family, in bytes without encoding.
        most_cells: About how many cells are encoded.
        kinds: The encodings and compressions.
    """
    cells = [cell for stretch in stretches for cell in stretch]
    size = sum(map(_unencoded_bytes, cells))
    every = max(1, math.ceil(len(cells) / most_cells))
    sizes: dict[tuple[str, str], float] = {}
    for encoding in dict.fromkeys(encoding for encoding, _ in kinds):
        blocks = [each for cells in stretches for each in divided(cells, block_bytes, encoding)]
        chosen = blocks[:: every if len(blocks) > every else 1]
        # Bytes, not cells: some stretches may have larger cells than others.
        scale = size / max(1, sum(_unencoded_bytes(cell) for block in chosen for cell in block))
        encoded = [ENCODINGS[encoding](block) for block in chosen]
        for compression, compressed_bytes in _COMPRESSED.items():
            if (encoding, compression) in kinds:
                sizes[encoding, compression] = sum(map(compressed_bytes, encoded)) * scale
    keys = [of_row[0].row for of_row in rows_of(cells)]
    return BlockSample(len(cells), len(keys), size / block_bytes, sum(map(len, keys)), sizes)


def on_disk_bytes(data: float) -> float:
    """Return the bytes of a block whose data takes so many: with its header and its checksums."""
    size = HEADER_BYTES + data
    return size + math.ceil(size / _CHECKSUMMED) * _CHECKSUM_BYTES


def _unencoded_bytes(cell: FileCell) -> int:
    return cell.size_bytes + len(variable_int(cell.sequence))


def divided(
    cells: Sequence[FileCell], block_bytes: int, encoding: str = "NONE"
) -> list[list[FileCell]]:
    """Return sorted cells in blocks as HBase does: a block ends after the cell that fills it.

    The cells count without encoding, as no encoding makes them larger; but `ROW_INDEX_V1` counts
    its index as well.
    """
    row_bytes = ROW_INDEX_BYTES if encoding == "ROW_INDEX_V1" else 0
    blocks: list[list[FileCell]] = []
    size, row = block_bytes, b""
    for cell in cells:
        if size >= block_bytes:
            blocks.append([])
            size, row = 0, b""
        size += _unencoded_bytes(cell) + (row_bytes if cell.row != row else 0)
        row = cell.row
        blocks[-1].append(cell)
    return blocks


def _index_bytes(blocks: float, key_bytes: float) -> float:
    # A key of the index is a short row key that separates two blocks, with an empty column.
    return HEADER_BYTES + _CHECKSUM_BYTES + blocks * (_INDEX_ENTRY_BYTES + key_bytes + 12)


def _bloom_bytes(entries: float, key_bytes: float) -> float:
    """Return the size of a bloom filter: full chunks, and one that is halved while it can be."""
    if not entries:
        return 0.0
    per_chunk = _BLOOM_CHUNK_BYTES * 8 / _BLOOM_BITS
    full = int(entries // per_chunk)
    left, size = entries - full * per_chunk, float(_BLOOM_CHUNK_BYTES)
    while left and left <= per_chunk / 2 and size > 1:
        left, size = left * 2, size / 2
    chunks = full + (1 if left else 0)
    headers = chunks * (HEADER_BYTES + _CHECKSUM_BYTES + _BLOOM_ENTRY_BYTES + key_bytes)
    return full * _BLOOM_CHUNK_BYTES + (size if left else 0) + headers
