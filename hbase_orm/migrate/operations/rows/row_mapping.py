"""Computes the row of a new table from a row of the old one: its key, and its cells.

Fields are the same if they have the same name. Cells keep their timestamps, and all versions that
are visible are copied. Cells of columns that no model declares are copied as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.table_moves.column_places import ColumnPlaces, columns_from_key
from hbase_orm.index.entries.targets import MARKER_VALUE
from hbase_orm.migrate.operations.rows.row_copies import CellCopier, RowCopy, ordered
from hbase_orm.ops import Protocol, Row, StoredVersion
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
    ) -> Protocol[tuple[BoundModel, RowCopy]]:
        """Return the bound model of the new row's table, and the copy; look up names in keys.

        Args:
            placed: The bound model of the old row's table.
            row: The old row: the newest cell of each column.
            versions: All visible cells of the old row; None if each column has only one.

        Raises:
            CorruptRowError: The old row does not decode.
            RowKeyError, CodecError, ValidationError: A value does not fit the new row.
            ValueError: The new table has no place for any cell of the row.
        """
        names = yield from placed.load_names([row])
        values = self._values(placed, row)
        del names  # held until here, for the names in the key
        target = self.target.with_table_of(values)
        yield from target.keys.allocate_names([values])
        (key,) = target.keys.possible(values)
        return target, self._copy(key, values, row, versions)

    @cached_property
    def has_names(self) -> bool:
        """Whether row keys hold numbers of names, which `row` looks up; otherwise call `copy`."""
        return self.source.keys.names is not None or self.target.keys.names is not None

    def copy(
        self, placed: BoundModel, row: Row, versions: Sequence[StoredVersion] | None = None
    ) -> tuple[BoundModel, RowCopy]:
        """Return what `row` returns, for row keys without names; nothing is sent.

        Raises:
            CorruptRowError, RowKeyError, CodecError, ValidationError, ValueError: As for `row`.
        """
        values = self._values(placed, row)
        target = self.target.with_table_of(values)
        key = target.keys.checked(self._encode_key(values))
        return target, self._copy(key, values, row, versions)

    @cached_property
    def _encode_key(self) -> Callable[[dict[str, Any]], bytes]:
        return self.target.model.__mapping__.encode_key

    def _values(self, placed: BoundModel, row: Row) -> dict[str, Any]:
        """Return the values of the new key; every cell of the row is decoded, to check it."""
        obj = placed.hydrate(row, self._deferred)
        stored = obj.__dict__
        try:
            return {name: stored[name] for name in self._needed}
        except KeyError:  # a field without a cell has a default, or raises a precise error
            return {name: getattr(obj, name) for name in self._needed}

    def _copy(
        self,
        key: bytes,
        values: Mapping[str, Any],
        row: Row,
        versions: Sequence[StoredVersion] | None,
    ) -> RowCopy:
        copier = self._copier
        copy = copier.newest(key, row) if versions is None else copier.versions(key, versions)
        if self._makes_cells:
            copy = self._completed(copy, row, values)
        if not copy.columns:
            message = "the new table has no place for any cell of the row"
            raise ValueError(message)
        return copy

    @property
    def _makes_cells(self) -> bool:
        return bool(self._from_key) or self.target.schema.marker is not None

    def _completed(self, copy: RowCopy, row: Row, values: Mapping[str, Any]) -> RowCopy:
        """Return a copy with the cells that no old cell has, as old as the row's newest cell."""
        newest_ms = max(cell.timestamp_ms for cell in row.cells.values())
        made = [(name, newest_ms, data) for name, data in self._made(values, set(copy.columns))]
        if not made:
            return copy
        key, *data = copy.row
        return ordered(key, [*zip(copy.columns, copy.stamps, data, strict=True), *made])

    def _made(
        self, values: Mapping[str, Any], written: set[bytes]
    ) -> Iterable[tuple[bytes, bytes]]:
        """Yield the values that no old cell has: those of the old key, and the marker."""
        for new in self._from_key:
            if new.column not in written and values.get(new.name) is not None:
                yield new.column, new.codec.encode(values[new.name])
        marker = self.target.schema.marker
        if marker is not None and marker not in written:
            yield marker, MARKER_VALUE

    @cached_property
    def _copier(self) -> CellCopier:
        return CellCopier(ColumnPlaces(self.source.schema, self.target.schema).place)

    @cached_property
    def _needed(self) -> tuple[str, ...]:
        """The fields whose values are needed: those of the new key, and those for new cells."""
        return (*self.target.schema.layout.arguments, *(each.name for each in self._from_key))

    @cached_property
    def _deferred(self) -> frozenset[str]:
        return deferred_names(self.source.schema)

    @cached_property
    def _from_key(self) -> list[ColumnSchema]:
        """The new columns whose values were only in the old row key."""
        return list(columns_from_key(self.source.schema, self.target.schema).values())
