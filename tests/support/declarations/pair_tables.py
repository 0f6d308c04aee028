"""The tables of a pair: their rows, and the cells that these must have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import Any

from hbase_orm.errors import (
    MissingCellError,
)
from tests.support.declarations.cell_oracle import (
    MISSING,
    RowId,
    exists,
    is_data,
    may_write,
    written,
)
from tests.support.declarations.plain_models import (
    TAG_NAMES,
    TIMES,
    Built,
    FieldSpec,
    ModelSpec,
)
from tests.support.declarations.programs import Programs, Snapshot
from tests.support.declarations.random_pairs import Pair

Cells = dict[bytes, bytes]

Rows = Sequence[tuple[RowId, Mapping[str, Any]]]


@dataclass
class PairTables:
    """The tables of a pair, the rows in them, and what they must hold.

    Attributes:
        pair: The pair.
        programs: Where its programs run.
        chance: The random numbers for rows and values.
        ids: All rows that were ever written.
        expected: The data cells of each row, by table and row key.
        writes_refused: Whether the second program's writes were refused.
        is_view_recorded: Whether the record has a model without the anchor.
    """

    pair: Pair
    programs: Programs
    chance: Random
    ids: list[RowId] = field(default_factory=list)
    expected: dict[tuple[str, bytes], Cells] = field(default_factory=dict)
    writes_refused: bool = False
    is_view_recorded: bool = False
    _versions: set[bytes] = field(default_factory=set)

    @property
    def first(self) -> Built:
        return self.pair.first

    @property
    def recorded(self) -> ModelSpec:
        return self.pair.first.spec

    def _may_write(self, built: Built) -> bool:
        return may_write(self.recorded, built.spec)

    def _existing(self) -> list[RowId]:
        cells = self._cells()
        return [
            row
            for row in self.ids
            if exists(self.recorded, row.record_type, cells.get((row.table, row.data), {}))
        ]

    # --- rows and cells ---------------------------------------------------------------------------

    def _new_row(self, built: Built) -> RowId | None:
        """Return a row that was never written, known from now on; None if it is hard to find."""
        spec = built.spec
        record_type = self.chance.choice(self.recorded.kinds_of_rows)
        keys = spec.keys_of(record_type)
        values = tuple(self.chance.choice(each.kind.values) for each in keys)
        own = dict(zip((each.name for each in keys), values, strict=True))
        data = built.makers[record_type].encode_key(**own)
        table = spec.table + (f"_{own['at']:%Y%m%d}" if spec.period else "")
        row = RowId(record_type, values, data, self.programs.named(table))
        if any((known.table, known.data) == (row.table, row.data) for known in self.ids):
            return None
        self.ids.append(row)
        return row

    def _object(self, built: Built, row: RowId, *, is_kept: bool = True) -> Any:
        """Return a new object of a row; if it is kept, the row is expected to have its cells."""
        values: dict[str, Any] = {}
        for each in built.spec.fields_of(row.record_type):
            if each.is_plain:
                values[each.name] = self._value(each)
        obj = built.makers[row.record_type](**key_of(built, row), **values)
        for each in built.spec.fields_of(row.record_type):
            if each.role == "dynamic":
                names = self.chance.sample(TAG_NAMES, self.chance.randint(0, 2))
                values[each.name] = {name: self.chance.choice(each.kind.values) for name in names}
                setattr(obj, each.name, dict(values[each.name]))
        if is_kept:
            cells = self.expected.setdefault((row.table, row.data), {})
            cells.update(written(built.spec, row.record_type, values))
        return obj

    def _value(self, of: FieldSpec) -> Any:
        values = (*of.kind.values, None) if of.nullable else of.kind.values
        return self.chance.choice(values)

    def _expect(self, cells: Cells, of: FieldSpec, value: Any) -> None:
        if value is None:
            cells.pop(of.column.encode(), None)
        else:
            cells[of.column.encode()] = of.kind.codec().encode(value)

    def _snapshot(self) -> Snapshot:
        return self.programs.snapshot(self.recorded.table)

    def _cells(self) -> dict[tuple[str, bytes], Cells]:
        """Return the cells of the rows, without index entries."""
        tables = {row.table for row in self.ids}
        return {
            place: {column: value for column, (value, _) in cells.items()}
            for place, cells in self._snapshot().items()
            if place[0] in tables
        }

    def _check_cells(self) -> None:
        """Compare the data cells of all rows with what was written: none lost, none doubled."""
        data = {
            place: {c: v for c, v in cells.items() if is_data(c) and c not in self._versions}
            for place, cells in self._cells().items()
        }
        stored = {place: cells for place, cells in data.items() if cells}
        wanted = {place: cells for place, cells in self.expected.items() if cells}
        assert stored == wanted, differing(stored, wanted)


def differing(stored: Mapping[Any, Cells], wanted: Mapping[Any, Cells]) -> dict[Any, Any]:
    """Return the cells of the rows that differ: what is stored, and what should be."""
    places = [each for each in {**stored, **wanted} if stored.get(each) != wanted.get(each)]
    return {place: (stored.get(place), wanted.get(place)) for place in places}


def periods_of(built: Built) -> tuple[datetime, datetime] | None:
    """Return the `periods` that `create_tables` needs for a model."""
    return (TIMES[0], TIMES[-1]) if built.spec.period else None


def targets(built: Built) -> list[tuple[Any, tuple[str, ...]]]:
    """Return the classes that statements select, each with the record types that it gives."""
    types = built.spec.kinds_of_rows
    makers = [(maker, (name,)) for name, maker in built.makers.items() if name]
    return [(built.model, types), *makers]


def key_of(built: Built, row: RowId) -> dict[str, Any]:
    names = [each.name for each in built.spec.keys_of(row.record_type)]
    return dict(zip(names, row.values, strict=True))


def object_shown(built: Built, record_type: str, obj: Any) -> dict[str, Any]:
    """Return the value of each field that an object shows."""
    values: dict[str, Any] = {}
    for each in built.spec.fields_of(record_type):
        try:
            value = getattr(obj, each.name)
        except MissingCellError:
            value = MISSING
        values[each.name] = dict(value) if each.role == "dynamic" else value
    return values


def type_of(built: Built, obj: Any) -> str:
    return next(name for name, maker in built.makers.items() if type(obj) is maker)


def keys_of_objects(built: Built, objects: Iterable[Any]) -> list[str]:
    """Return the key values of objects, sorted."""
    keys = []
    for obj in objects:
        own = built.spec.keys_of(type_of(built, obj))
        keys.append(repr(tuple(getattr(obj, each.name) for each in own)))
    return sorted(keys)
