"""`estimate`: how much the rows of a model take, as HBase stores them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hbase_orm.advise.estimating.memstores import (
    WAL_ENTRY_BYTES,
    data_bytes,
    heap_bytes,
    wal_bytes,
)
from hbase_orm.advise.estimating.notes import notes_of
from hbase_orm.advise.estimating.samples import (
    DEFAULT_SAMPLE_ROWS,
    DEFAULT_TABLE_ROWS,
    TableSample,
    csv_sample,
    made_up_sample,
    table_sample,
)
from hbase_orm.advise.estimating.savings import Saving, savings_of
from hbase_orm.advise.estimating.store_files import (
    BlockSample,
    FileSize,
    measured_compression,
    sample_blocks,
)
from hbase_orm.advise.estimating.stored_cells import FileCell, cells_of
from hbase_orm.errors import ConfigurationError, SchemaError
from hbase_orm.model import Model
from hbase_orm.session.engine import Engine

MOST_CELLS: Final = 20_000
"""How many cells of a family are encoded and compressed."""

REGION_GIB: Final = (10, 50)
"""The sizes of regions that HBase's guides advise."""

REGIONS_PER_SERVER: Final = (50, 100)
"""How many regions a server is advised to have, of tables with one or two families."""

_GIB: Final = 2**30
_MOST_ROWS: Final = 10**15
DEFAULT_WRITES_PER_S: Final = 1_000.0


@dataclass(frozen=True, slots=True)
class FamilyEstimate:
    """What one family of a table takes, for all rows.

    Attributes:
        family: The name of the family.
        encoding: The block encoding that it is declared with.
        compression: The compression that is measured: GZ in the place of all others.
        declared_compression: The compression that it is declared with.
        cells: The number of cells.
        plain_bytes: All cells as `KeyValue`, without block encoding and compression.
        key_bytes: What of `plain_bytes` are row keys.
        name_bytes: What of `plain_bytes` are names of families and qualifiers.
        value_bytes: What of `plain_bytes` are values.
        files: The store files, by block encoding and compression, after a major compaction.
        memstore_bytes: The data size of the memstore, if all rows were in it.
        heap_bytes: The heap that these cells would take.
        wal_bytes: What all cells take in the write-ahead log.
    """

    family: str
    encoding: str
    compression: str
    declared_compression: str
    cells: float
    plain_bytes: float
    key_bytes: float
    name_bytes: float
    value_bytes: float
    files: dict[tuple[str, str], FileSize]
    memstore_bytes: float
    heap_bytes: float
    wal_bytes: float

    @property
    def file_bytes(self) -> float:
        """The size of the store files as declared, with GZ for all compressions."""
        return self.files[self.encoding, self.compression].total


@dataclass(frozen=True, slots=True)
class TableEstimate:
    """What one table takes.

    Attributes:
        table: The name of the table.
        index: The name of the index whose table it is; empty for the table of the model.
        rows: The number of rows.
        families: Its families.
    """

    table: str
    index: str
    rows: float
    families: tuple[FamilyEstimate, ...]

    @property
    def file_bytes(self) -> float:
        """The size of the store files as declared."""
        return sum(each.file_bytes for each in self.families)

    @property
    def plain_bytes(self) -> float:
        """All cells, without block encoding and compression."""
        return sum(each.plain_bytes for each in self.families)

    @property
    def regions(self) -> tuple[int, int]:
        """The number of regions of 50 GiB, and of 10 GiB."""
        few, many = (max(1, -int(-self.file_bytes // (gib * _GIB))) for gib in REGION_GIB[::-1])
        return few, many


@dataclass(frozen=True, slots=True)
class SizeEstimate:
    """What the rows of a model take.

    Attributes:
        model: The name of the model.
        rows: The number of rows.
        sampled: The number of rows that were measured.
        source: Where these rows come from.
        writes_per_s: How many rows are written in a second.
        tables: The table of the model, and those of its indexes.
        wal_bytes_per_s: What the write-ahead logs grow in a second, all replicas apart.
        savings: What other declarations would save, the largest first.
        notes: What is not counted, or badly known, as sentences.
    """

    model: str
    rows: int
    sampled: int
    source: str
    writes_per_s: float
    tables: tuple[TableEstimate, ...]
    wal_bytes_per_s: float
    savings: tuple[Saving, ...]
    notes: tuple[str, ...]

    @property
    def file_bytes(self) -> float:
        """The size of all store files as declared, without the copies of the file system."""
        return sum(each.file_bytes for each in self.tables)

    @property
    def regions(self) -> tuple[int, int]:
        """The number of regions of all tables, of 50 GiB and of 10 GiB."""
        return (
            sum(each.regions[0] for each in self.tables),
            sum(each.regions[1] for each in self.tables),
        )

    @property
    def servers(self) -> tuple[int, int]:
        """How many servers carry them: few large regions, and many small ones."""
        few, many = self.regions
        return (
            max(1, -(-few // REGIONS_PER_SERVER[1])),
            max(1, -(-many // REGIONS_PER_SERVER[0])),
        )


def estimate(
    model: type[Model],
    *,
    rows: float,
    sample: Path | str | Engine | None = None,
    sample_rows: int | None = None,
    writes_per_s: float = DEFAULT_WRITES_PER_S,
    is_old: bool = False,
    values: Mapping[str, Any] | None = None,
) -> SizeEstimate:
    """Return what the rows of a model take: store files, memstores, log, regions, and what saves.

    The cells are those that the library writes: sampled objects are saved in memory, with guards
    and index entries. Blocks of them are encoded as HBase does, and compressed with zlib.

    Args:
        model: The model.
        rows: The number of rows, 1 to 10**15.
        sample: A CSV file whose first line names the fields; or an engine, to sample the model's
            real table. Without a sample values are made up: numbers count up, texts are `city-1`.
        sample_rows: The largest number of rows that are sampled, 10 to 1,000,000; about so many of
            a table. None means 5,000, or 20,000 of a table.
        writes_per_s: How many rows are written in a second. Timestamps of made-up rows follow it.
        is_old: Whether the files were compacted later than five days after the writes. HBase then
            drops the numbers of the writes: 1 to 5 bytes of a cell, which hardly compress.
        values: Values of fields in place of made-up ones, or functions that get the row's number.

    Raises:
        ConfigurationError: A number is impossible; the sample cannot be read, does not fit the
            model, or has two rows with one row key; or values of a field cannot be made up.
        SchemaError: The model is the base of record types; or it has a table for each period, and a
            sample of them is asked for.
        GatewayError: The table cannot be read.

    Examples:
        >>> estimate(Order, rows=1e9).file_bytes  # doctest: +SKIP
        47513018230.1
    """
    if sample_rows is None:
        sample_rows = DEFAULT_TABLE_ROWS if isinstance(sample, Engine) else DEFAULT_SAMPLE_ROWS
    count = _checked(model, rows, sample, sample_rows, writes_per_s)
    wanted = min(sample_rows, count)
    sample = Path(sample) if isinstance(sample, str) else sample
    if sample is None:
        source = "made-up rows"
        samples = made_up_sample(
            model, values or {}, rows=wanted, of_rows=count, rows_per_s=writes_per_s
        )
    elif isinstance(sample, Engine):
        samples = table_sample(sample, model, rows=wanted)
        source = f"the table {samples[0].table}"
    else:
        source = sample.name
        samples = csv_sample(model, sample, rows=wanted, rows_per_s=writes_per_s)
    tables = tuple(_table(each, count, is_old=is_old) for each in samples)
    entries = sum(each.rows for each in tables) * WAL_ENTRY_BYTES
    logged = sum(family.wal_bytes for table in tables for family in table.families) + entries
    return SizeEstimate(
        model=model.__name__,
        rows=count,
        sampled=len(samples[0].rows),
        source=source,
        writes_per_s=writes_per_s,
        tables=tables,
        wal_bytes_per_s=logged / count * writes_per_s,
        savings=savings_of(
            model.__schema__, samples, count, most_cells=MOST_CELLS // 2, is_old=is_old
        ),
        notes=tuple(
            notes_of(model, samples, sample, values or {}, rows=count, rows_per_s=writes_per_s)
        ),
    )


def _table(sample: TableSample, rows: int, *, is_old: bool) -> TableEstimate:
    of_table = rows * sample.share
    scale = of_table / max(1, len(sample.rows))
    sequences = {} if is_old else sample.sequences(of_table)
    families = []
    for each in sample.families:
        stretches = [cells_of(stretch, each.name, sequences) for stretch in sample.stretches]
        blocks = sample_blocks(stretches, block_bytes=each.block_size_bytes, most_cells=MOST_CELLS)
        cells = [cell for stretch in stretches for cell in stretch]
        families.append(_family(each, cells, blocks, scale))
    return TableEstimate(sample.table, sample.index, of_table, tuple(families))


def _family(
    described: Any, cells: Sequence[FileCell], blocks: BlockSample, scale: float
) -> FamilyEstimate:
    having = len({each.row for each in cells})
    bloom = described.bloom if described.bloom in {"NONE", "ROWCOL"} else "ROW"
    files = {
        kind: blocks.file_size(*kind, cells=len(cells) * scale, rows=having * scale, bloom=bloom)
        for kind in blocks.sizes
    }
    return FamilyEstimate(
        family=described.name.decode(),
        encoding=described.block_encoding,
        compression=measured_compression(described.compression),
        declared_compression=described.compression,
        cells=len(cells) * scale,
        plain_bytes=sum(each.size_bytes for each in cells) * scale,
        key_bytes=sum(len(each.row) for each in cells) * scale,
        name_bytes=sum(len(each.family) + len(each.qualifier) for each in cells) * scale,
        value_bytes=sum(len(each.value) for each in cells) * scale,
        files=files,
        memstore_bytes=sum(map(data_bytes, cells)) * scale,
        heap_bytes=sum(map(heap_bytes, cells)) * scale,
        wal_bytes=sum(map(wal_bytes, cells)) * scale,
    )


def _checked(
    model: type[Model], rows: float, sample: object, sample_rows: int, writes_per_s: float
) -> int:
    """Return the number of rows.

    Raises:
        ConfigurationError: A number is impossible.
        SchemaError: The model has no rows of its own, or its tables cannot be sampled.
    """
    if not (1 <= rows <= _MOST_ROWS) or rows != int(rows):
        raise ConfigurationError(
            "the number of rows is impossible", rows=rows, fix="give a whole number from 1 to 1e15"
        )
    if not 10 <= sample_rows <= 1_000_000:  # noqa: PLR2004 - the limits of the docstring
        raise ConfigurationError(
            "so many rows cannot be sampled",
            sample_rows=sample_rows,
            fix="give a number from 10 to 1,000,000",
        )
    if not 0 < writes_per_s <= 1e9:  # noqa: PLR2004 - more rows a second than any cluster takes
        raise ConfigurationError(
            "the rate of writes is impossible",
            writes_per_s=writes_per_s,
            fix="give the rows that are written in a second, above 0 and at most 1e9",
        )
    schema = model.__schema__
    if schema.record_types:
        raise SchemaError(
            "the base of record types has no rows of its own",
            model=model.__name__,
            fix="estimate the record types, each with its number of rows",
        )
    if schema.layout.table_period is not None and isinstance(sample, Engine):
        raise SchemaError(
            "the tables of a model with a table for each period are not sampled",
            model=model.__name__,
            fix="give rows as a CSV file, or leave out the sample",
        )
    return int(rows)
