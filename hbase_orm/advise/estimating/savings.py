"""What other declarations of a table would save: each is tried on the sampled cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Final

from hbase_orm.advise.estimating.changed_cells import SHORTER_BYTES, Change, ChangedCells
from hbase_orm.advise.estimating.samples import TableSample
from hbase_orm.advise.estimating.store_files import measured_compression, sample_blocks
from hbase_orm.advise.estimating.stored_cells import FileCell, cells_of
from hbase_orm.ops import FamilyDescriptor
from hbase_orm.schema import TableSchema

_FEWEST: Final = 0.01
"""A saving below 1 % is left out."""

_SMALLEST: Final = ("FAST_DIFF", "GZ")
_OPTIONS: Final = (("FAST_DIFF", "NONE"), ("NONE", "GZ"), _SMALLEST)


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
    schema: TableSchema,
    samples: Sequence[TableSample],
    rows: int,
    *,
    most_cells: int,
    is_old: bool,
) -> tuple[Saving, ...]:
    """Return what would save 1 % or more, the largest first.

    Args:
        schema: The declarations of the model.
        samples: The sampled tables; the first one is that of the model.
        rows: The number of rows of the model.
        most_cells: How many cells of each family are measured.
        is_old: Whether the files are so old that writes have no numbers any more.
    """
    families = [*_families(schema, samples, rows, most_cells, is_old=is_old)]
    total = sum(each.bytes for each in families)
    savings = [Saving(what, size, size / total) for what, size in _tried(schema, families)]
    savings.sort(key=lambda each: -each.share)
    return tuple(each for each in savings if each.share >= _FEWEST)


def _tried(schema: TableSchema, families: Sequence[_Family]) -> Iterator[tuple[str, float]]:
    """Yield what is tried, and what it saves."""
    declared = [each for each in families if each.is_declared]
    others = [each for each in families if not each.is_declared]
    changed = ChangedCells.of(schema, chain.from_iterable(each.cells for each in declared))
    yield (
        "names of one letter for families and qualifiers",
        _saved(declared, lambda each: each.size(changed.with_short_names)),
    )
    yield (
        "columns that are read together in one column, with codecs.msgpack",
        _saved(declared, lambda each: each.size(changed.with_packed_columns)),
    )
    yield (
        "numbers as int64 instead of as text",
        _saved(declared, lambda each: each.size(changed.with_binary_numbers)),
    )
    if all(len(cell.row) > SHORTER_BYTES for each in declared for cell in each.cells):
        # Guards have the row key as well, and index entries end with it.
        yield (
            f"row keys that are {SHORTER_BYTES} bytes shorter",
            _saved(families, lambda each: each.size(changed.with_shorter_keys)),
        )
    for kind in _OPTIONS:
        yield (
            f'Family(block_encoding="{kind[0]}", compression="{kind[1]}")',
            sum(each.bytes - each.size(kind=kind) for each in declared),
        )
    yield (
        f"{' and '.join(_SMALLEST)} for guards and index tables, by alter in the HBase shell",
        _saved(others, lambda each: each.size(kind=_SMALLEST)),
    )


def _saved(families: Iterable[_Family], changed: Callable[[_Family], float]) -> float:
    return sum(each.bytes - changed(each) for each in families)


@dataclass(frozen=True)
class _Family:
    options: FamilyDescriptor
    stretches: list[list[FileCell]]
    scale: float
    most_cells: int
    is_declared: bool  # so it does not hold guards or index entries

    @property
    def cells(self) -> Iterator[FileCell]:
        """All cells."""
        return chain.from_iterable(self.stretches)

    @cached_property
    def bytes(self) -> float:
        """The size of the store files as declared."""
        return self.size()

    def size(self, change: Change | None = None, *, kind: tuple[str, str] | None = None) -> float:
        """Return the size of the store files, after a change of the cells or other options."""
        stretches = self.stretches
        if change is not None:
            stretches = [change(cells) for cells in stretches]
        kind = kind or (
            self.options.block_encoding,
            measured_compression(self.options.compression),
        )
        sample = sample_blocks(
            stretches,
            block_bytes=self.options.block_size_bytes,
            most_cells=self.most_cells,
            kinds=(kind,),
        )
        rows = len({each.row for each in self.cells})
        cells = sum(map(len, stretches))
        bloom = self.options.bloom if self.options.bloom in {"NONE", "ROWCOL"} else "ROW"
        return sample.file_size(
            *kind, cells=cells * self.scale, rows=rows * self.scale, bloom=bloom
        ).total


def _families(
    schema: TableSchema,
    samples: Sequence[TableSample],
    rows: int,
    most_cells: int,
    *,
    is_old: bool,
) -> Iterator[_Family]:
    for sample in samples:
        of_table = rows * sample.share
        numbers = {} if is_old else sample.sequences(of_table)
        for each in sample.families:
            yield _Family(
                each,
                [cells_of(stretch, each.name, numbers) for stretch in sample.stretches],
                of_table / max(1, len(sample.rows)),
                most_cells,
                is_declared=not sample.index and each.name in schema.family_names,
            )
