"""Computes the row of a new table from a row of the old one: its key, and its cells.

Fields are the same if they have the same name. Cells keep their timestamps, and all versions that
are visible are kept. Cells of columns that no model declares are copied as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.table_moves.column_places import ColumnPlaces, columns_from_key
from hbase_orm.index.entries.targets import MARKER_VALUE
from hbase_orm.ops import Cell, Protocol, Put, Row, RowMutation, StoredVersion
from hbase_orm.schema import ColumnSchema, deferred_names


@dataclass(frozen=True)
class RowMapping:
    """Maps the rows of one model of the old table to the new one.

    Attributes:
        source: The bound model of the old rows.
        target: The bound model of the new rows.
    """

    source: BoundModel
    target: BoundModel

    def row(
        self, placed: BoundModel, key: bytes, versions: Sequence[StoredVersion]
    ) -> Protocol[tuple[BoundModel, RowMutation]]:
        """Return the bound model of the new row's table, and the puts of its cells.

        Args:
            placed: The bound model of the old row's table.
            key: The old row key.
            versions: The visible cells of the old row, newest first in each column.

        Raises:
            CorruptRowError: The old row does not decode.
            RowKeyError, CodecError, ValidationError: A value does not fit the new row.
        """
        newest: dict[bytes, StoredVersion] = {}
        for each in versions:
            newest.setdefault(each.column, each)
        row = Row(key, {column: _cell(each) for column, each in newest.items()})
        names = yield from placed.load_names([row])
        values = self._values(placed, row)
        del names  # held until here, for the names in the key
        target = self.target.with_table_of(values)
        yield from target.keys.allocate_names([values])
        (new_key,) = target.keys.possible(values)
        return target, RowMutation(new_key, puts=tuple(self._puts(versions, values)))

    def _values(self, placed: BoundModel, row: Row) -> dict[str, Any]:
        obj = placed.hydrate(row, deferred_names(self.source.schema))
        values: dict[str, Any] = {}
        for name in (*self.target.schema.layout.arguments, *(n.name for n in self._from_key)):
            values[name] = getattr(obj, name)
        return values

    def _puts(self, versions: Sequence[StoredVersion], values: Mapping[str, Any]) -> list[Put]:
        puts: list[Put] = []
        for each in versions:
            place = self._places.place(each.column)
            if place is not None:
                column, convert = place
                puts.append(Put(column, convert(each.value), each.timestamp_ms))
        written = {put.column for put in puts}
        newest_ms = max(each.timestamp_ms for each in versions)
        puts += [
            Put(new.column, new.codec.encode(values[new.name]), newest_ms)
            for new in self._from_key
            if new.column not in written and values.get(new.name) is not None
        ]
        marker = self.target.schema.marker
        if marker is not None and marker not in written:
            puts.append(Put(marker, MARKER_VALUE, newest_ms))
        return puts

    @cached_property
    def _places(self) -> ColumnPlaces:
        return ColumnPlaces(self.source.schema, self.target.schema)

    @cached_property
    def _from_key(self) -> list[ColumnSchema]:
        """The new columns whose values were only in the old row key."""
        return list(columns_from_key(self.source.schema, self.target.schema).values())


def _cell(version: StoredVersion) -> Cell:
    return Cell(version.value, version.timestamp_ms)
