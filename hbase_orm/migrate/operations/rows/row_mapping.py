"""Computes the row of a new table from a row of the old one: its key, and its cells.

Fields are the same if they have the same name. Cells keep their timestamps, and all versions that
are visible are kept. Cells of columns that no model declares are copied as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.table_moves.column_places import ColumnPlaces, columns_from_key
from hbase_orm.index.entries.targets import MARKER_VALUE
from hbase_orm.ops import Protocol, Put, Row, RowMutation, StoredVersion
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
        self, placed: BoundModel, row: Row, versions: Sequence[StoredVersion] | None = None
    ) -> Protocol[tuple[BoundModel, RowMutation]]:
        """Return the bound model of the new row's table, and the puts of its cells.

        Args:
            placed: The bound model of the old row's table.
            row: The old row: the newest cell of each column.
            versions: All visible cells of the old row; None if each column has only one.

        Raises:
            CorruptRowError: The old row does not decode.
            RowKeyError, CodecError, ValidationError: A value does not fit the new row.
        """
        names = yield from placed.load_names([row])
        values = self._values(placed, row)
        del names  # held until here, for the names in the key
        target = self.target.with_table_of(values)
        yield from target.keys.allocate_names([values])
        (new_key,) = target.keys.possible(values)
        if versions is None:
            puts = self._copied((c, cell.timestamp_ms, cell.value) for c, cell in row.cells.items())
        else:
            puts = self._copied((v.column, v.timestamp_ms, v.value) for v in versions)
        puts += self._made(row, values, {put.column for put in puts})
        return target, RowMutation(new_key, puts=tuple(puts))

    def _values(self, placed: BoundModel, row: Row) -> dict[str, Any]:
        obj = placed.hydrate(row, deferred_names(self.source.schema))
        values: dict[str, Any] = {}
        for name in (*self.target.schema.layout.arguments, *(n.name for n in self._from_key)):
            values[name] = getattr(obj, name)
        return values

    def _copied(self, cells: Iterable[tuple[bytes, int, bytes]]) -> list[Put]:
        """Return the puts of cells, each with its column, timestamp and value."""
        puts: list[Put] = []
        for column, timestamp_ms, value in cells:
            place = self._places.place(column)
            if place is not None:
                puts.append(Put(place[0], place[1](value), timestamp_ms))
        return puts

    def _made(self, row: Row, values: Mapping[str, Any], written: set[bytes]) -> list[Put]:
        """Return the puts of values that no old cell has: those of the old key, and the marker."""
        marker = self.target.schema.marker
        if not self._from_key and marker is None:
            return []
        newest_ms = max(cell.timestamp_ms for cell in row.cells.values())
        puts = [
            Put(new.column, new.codec.encode(values[new.name]), newest_ms)
            for new in self._from_key
            if new.column not in written and values.get(new.name) is not None
        ]
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
