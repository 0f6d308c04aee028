"""What other declarations of a table would save: each is tried on the sampled cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from hbase_orm.advise.estimating.samples import TableSample
from hbase_orm.advise.estimating.store_files import sample_blocks
from hbase_orm.advise.estimating.stored_cells import FileCell, cells_of, rows_of
from hbase_orm.ops import FamilyDescriptor

_NUMBER: Final = re.compile(rb"-?\d{3,}")
_INT_BYTES: Final = 8
_SHORTER: Final = 8
_FEWEST: Final = 0.01
"""A saving below 1 % is not told."""

_Change = Callable[[list[FileCell]], list[FileCell]]


@dataclass(frozen=True, slots=True)
class Saving:
    """What another declaration would save.

    Attributes:
        what: What to declare instead.
        bytes: The bytes of store files, of all rows and tables.
        share: The part of all store files, 0 to 1.
    """

    what: str
    bytes: float
    share: float


def savings_of(
    samples: Sequence[TableSample], rows: int, *, most_cells: int, is_old: bool
) -> tuple[Saving, ...]:
    """Return what would save 1 % or more, the largest first.

    Args:
        samples: The sampled tables; the first one is that of the model.
        rows: The number of rows of the model.
        most_cells: How many cells of each family are measured.
        is_old: Whether the files are so old that writes have no numbers any more.
    """
    families = []
    for sample in samples:
        of_table = rows * sample.share
        numbers = {} if is_old else sample.sequences(of_table)
        for each in sample.families:
            cells = cells_of(sample.rows, each.name, numbers)
            families.append(_Family(each, cells, of_table / max(1, len(sample.rows))))
    declared = sum(each.size(most_cells) for each in families)
    tried: list[Saving] = []
    own = [each for each in families if each.options in samples[0].families]
    for what, change in _CHANGES.items():
        changed = sum(each.size(most_cells, change) for each in own)
        saved = sum(each.size(most_cells) for each in own) - changed
        tried.append(Saving(what, saved, saved / declared))
    for encoding, compression in (("FAST_DIFF", "NONE"), ("NONE", "GZ"), ("FAST_DIFF", "GZ")):
        saved = declared - sum(
            each.size(most_cells, encoding=encoding, compression=compression) for each in families
        )
        what = f'Family(block_encoding="{encoding}", compression="{compression}")'
        tried.append(Saving(what, saved, saved / declared))
    return tuple(
        sorted((each for each in tried if each.share >= _FEWEST), key=lambda each: -each.share)
    )


@dataclass(frozen=True)
class _Family:
    options: FamilyDescriptor
    cells: list[FileCell]
    scale: float

    def size(
        self,
        most_cells: int,
        change: _Change | None = None,
        *,
        encoding: str | None = None,
        compression: str | None = None,
    ) -> float:
        """Return the size of the store files, after a change of the cells or other options."""
        cells = self.cells if change is None else change(self.cells)
        kind = (
            encoding or self.options.block_encoding,
            compression or ("NONE" if self.options.compression == "NONE" else "GZ"),
        )
        sample = sample_blocks(
            cells, block_bytes=self.options.block_size_bytes, most_cells=most_cells, kinds=(kind,)
        )
        rows = len({each.row for each in cells})
        bloom = self.options.bloom if self.options.bloom in {"NONE", "ROWCOL"} else "ROW"
        return sample.file_size(
            *kind, cells=len(cells) * self.scale, rows=rows * self.scale, bloom=bloom
        ).total


def _short_names(cells: list[FileCell]) -> list[FileCell]:
    names = sorted({each.qualifier for each in cells})
    short = {name: _letter(n) if len(name) > 1 else name for n, name in enumerate(names)}
    return [
        each._replace(family=each.family[:1], qualifier=short[each.qualifier]) for each in cells
    ]


def _letter(number: int) -> bytes:
    return b"abcdefghijklmnopqrstuvwxyz0123456789"[number % 36 : number % 36 + 1]


def _packed(cells: list[FileCell]) -> list[FileCell]:
    """Return one cell for each row, with a value of two bytes more for each column."""
    return [
        row[0]._replace(
            qualifier=b"p",
            value=b"".join(len(each.value).to_bytes(2, "big") + each.value for each in row),
        )
        for row in rows_of(cells)
    ]


def _binary_numbers(cells: list[FileCell]) -> list[FileCell]:
    numeric = _numeric_columns(cells)
    return [
        each._replace(value=int(each.value).to_bytes(_INT_BYTES, "big", signed=True))
        if each.qualifier in numeric
        else each
        for each in cells
    ]


def _numeric_columns(cells: Iterable[FileCell]) -> set[bytes]:
    """Return the columns of which every value is a whole number as text, longer than in binary."""
    sizes: dict[bytes, list[int]] = {}
    others: set[bytes] = set()
    for each in cells:
        if _NUMBER.fullmatch(each.value) and abs(int(each.value)) < 1 << 63:
            sizes.setdefault(each.qualifier, []).append(len(each.value))
        else:
            others.add(each.qualifier)
    return {
        name
        for name, lengths in sizes.items()
        if name not in others and sum(lengths) > _INT_BYTES * len(lengths)
    }


def _shorter_keys(cells: list[FileCell]) -> list[FileCell]:
    if any(len(each.row) <= _SHORTER for each in cells):
        return cells
    return [each._replace(row=each.row[_SHORTER:]) for each in cells]


_CHANGES: Final[dict[str, _Change]] = {
    "names of one letter for families and qualifiers": _short_names,
    "columns that are read together in one column, with codecs.msgpack": _packed,
    "numbers as int64 instead of as text": _binary_numbers,
    f"row keys that are {_SHORTER} bytes shorter": _shorter_keys,
}
