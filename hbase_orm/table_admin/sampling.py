"""Samples rows of a table, and decodes each row with the models that declare the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.errors import CodecError, CorruptRowError, RowKeyError
from hbase_orm.index.entries.targets import GUARD_COLUMN
from hbase_orm.model import Model
from hbase_orm.model.declare.placement import model_of_key
from hbase_orm.ops import (
    CorruptRow,
    KeyRange,
    ListRegions,
    Protocol,
    RegionRange,
    RenewTimeLimit,
    ResumableScan,
    Row,
    Scan,
    ask,
    run_all,
)
from hbase_orm.record.snapshots import rows_of
from hbase_orm.rowkey.notation import to_string_binary
from hbase_orm.schema import NO_FIELDS, TableSchema

T = TypeVar("T")

_PAGE_ROWS: Final = 100
_MOST_BYTES: Final = 32
MOST_REASONS: Final = 5
"""How many rows that do not decode are described."""


@dataclass(slots=True)
class Sample:
    """The results of decoding the sampled rows of a table.

    Attributes:
        rows: The number of sampled rows.
        undecodable: The number of rows that no model decodes.
        reasons: For the first undecodable rows, a text with the row and why it does not decode.
        undeclared: The columns that no model declares, each with the number of rows that have it.
        lacking: For each kind of rows (see `kind_of`), the columns that a model requires, each with
            the number of rows that lack it.
    """

    rows: int = 0
    undecodable: int = 0
    reasons: list[str] = field(default_factory=list[str])
    undeclared: Counter[bytes] = field(default_factory=Counter[bytes])
    lacking: dict[str, Counter[bytes]] = field(default_factory=dict[str, Counter[bytes]])


def sample_tables(tables: Sequence[Sequence[BoundModel]], rows: int) -> Protocol[Sample]:
    """Return a sample of the rows of several tables that have the same models.

    Args:
        tables: For each table, the models bound to it.
        rows: About how many rows are read from all tables together.
    """
    sample = Sample()
    chosen = list(spread(tables, rows))
    for bounds in chosen:
        yield from _sample_table(bounds, max(1, rows // len(chosen)), sample)
    return sample


def _sample_table(bounds: Sequence[BoundModel], rows: int, sample: Sample) -> Protocol[None]:
    table = bounds[0].schema.table
    regions = yield from ask(ListRegions(table))
    chosen = list(spread(regions, rows))
    for region in chosen:
        yield from _sample_region(bounds, region, max(1, rows // len(chosen)), sample)


def _sample_region(
    bounds: Sequence[BoundModel], region: RegionRange, rows: int, sample: Sample
) -> Protocol[None]:
    scan = Scan(bounds[0].schema.table, KeyRange(region.start, region.stop))
    reading = ResumableScan(scan)
    left = rows
    while left and not reading.is_done:
        yield from ask(RenewTimeLimit())
        page = yield from reading.fetch(min(left, _PAGE_ROWS))
        left -= len(page)
        # The names stay available for decoding as long as the result is held.
        held = yield from run_all([bound.load_names(page) for bound in bounds])
        for row in page:
            _add(sample, bounds, row)
        del held
    yield from reading.close()


def spread(items: Sequence[T], most: int) -> Iterator[T]:
    """Yield all items, or `most` of them at even distances if there are more."""
    count = min(len(items), most)
    for number in range(count):
        yield items[number * len(items) // count]


def _add(sample: Sample, bounds: Sequence[BoundModel], row: Row) -> None:
    if not row.cells.keys() - {GUARD_COLUMN}:
        return  # the guard of a deleted row
    sample.rows += 1
    reasons: list[str] = []
    for alike in _by_row_key(bounds):
        reason = _reason(alike, row)
        if not reason:
            for bound in alike:
                _note_lacking(sample, bound, row)
            _note_undeclared(sample, alike, row)
            return
        reasons.append(reason)
    sample.undecodable += 1
    if len(sample.reasons) < MOST_REASONS:
        table = bounds[0].schema.table
        key = to_string_binary(row.key)
        sample.reasons.append(f"row {key} of {table}: {'; '.join(reasons)}")


def _by_row_key(bounds: Sequence[BoundModel]) -> list[list[BoundModel]]:
    """Return the models in groups that describe the same rows."""
    groups: dict[str, list[BoundModel]] = {}
    for bound in bounds:
        groups.setdefault(kind_of(bound.schema), []).append(bound)
    return list(groups.values())


def kind_of(schema: TableSchema) -> str:
    """Return a text that is equal for models that describe the same rows.

    The record types, the row keys and the `packed_bytes` of such models are equal.
    """
    rows = rows_of(schema)
    return f"{rows.record_type} {rows.packed_bytes} {rows.key!r}"


def _reason(bounds: Sequence[BoundModel], row: Row) -> str:
    """Return the reason of the first model that cannot decode a row; empty if all models can."""
    for bound in bounds:
        try:
            names = frozenset(column.name for column in bound.schema.deferred) or NO_FIELDS
            for each in bound.schema.storage.objects([_data_of(row)], [KeyRange()]):
                if isinstance(each, CorruptRow):
                    raise each.error
                if not _has_key(bound, bound.hydrate(each, names), each.key):
                    return f"{bound.schema.model_name}: its fields have another row key"
        except CorruptRowError as error:
            return f"{bound.schema.model_name}: {_text_of(error)}"
        except RowKeyError as error:
            return f"{bound.schema.model_name}: {error.text}"
    return ""


def _has_key(bound: BoundModel, obj: Model, key: bytes) -> bool:
    """Return whether `key` is one of the possible keys of an object; True if that is unknown.

    A wrong salt or hash in a key decodes too. So the keys are computed from the object's fields.
    """
    layout, values = obj.__schema__.layout, obj.__dict__
    if any(name not in values for name in layout.arguments):
        return True  # a digest, and the row lacks the column that has the field
    numbered = values if bound.keys.names is None else bound.keys.names.numbered(values)
    return numbered is None or key in layout.keys(numbered)


def _data_of(row: Row) -> Row:
    """Return a row without its guard."""
    if GUARD_COLUMN not in row.cells:
        return row
    return Row(row.key, {name: cell for name, cell in row.cells.items() if name != GUARD_COLUMN})


def _text_of(error: CorruptRowError) -> str:
    """Return why a row does not decode: the wrong cell with its value, or the error of the key."""
    details, cause = error.details, error.__cause__
    why = cause.text if isinstance(cause, CodecError) else ""
    if "column" not in details:
        return f"{error.text}, {why}" if why else error.text
    column, value = to_string_binary(details["column"]), details.get("value", b"")
    shown = to_string_binary(value[:_MOST_BYTES]) + ("…" if len(value) > _MOST_BYTES else "")
    where = f"field {details['field']}, {details['codec']}" if "codec" in details else error.text
    return f"column {column} ({where}) has {shown}" + (f": {why}" if why else "")


def _note_lacking(sample: Sample, bound: BoundModel, row: Row) -> None:
    schema: TableSchema = model_of_key(bound.model, row.key).__schema__
    if schema.packed_bytes:
        return
    lacking = sample.lacking.setdefault(kind_of(schema), Counter())
    lacking.update(
        column.column
        for column in schema.columns
        if column.is_required and column.column not in row.cells
    )


def _note_undeclared(sample: Sample, bounds: Sequence[BoundModel], row: Row) -> None:
    schemas: list[TableSchema] = [model_of_key(bound.model, row.key).__schema__ for bound in bounds]
    if any(schema.packed_bytes for schema in schemas):
        return
    for column in row.cells:
        if column != GUARD_COLUMN and not any(_declares(schema, column) for schema in schemas):
            sample.undeclared[column] += 1


def _declares(schema: TableSchema, column: bytes) -> bool:
    if column == schema.default_marker:
        return True
    named = column in {each.column for each in (*schema.columns, *schema.numbers)}
    return named or any(dynamic.holds(column) for dynamic in schema.dynamics)
