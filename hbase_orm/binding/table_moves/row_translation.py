"""Makes the translation of rows between two models, for a move of rows to another table.

Fields are the same if they have the same name. A value that is only in the row key of one table,
and in a column of the other, is computed from the key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.table_moves.column_places import ColumnPlaces, columns_from_key
from hbase_orm.binding.table_moves.moved_keys import FROM_MOVING_ON, MovedKeys, Values
from hbase_orm.binding.table_moves.pair_checks import check_pair
from hbase_orm.errors import CodecError, CorruptRowError, ValidationError
from hbase_orm.index.entries.targets import MARKER_VALUE, RowChange, family_of
from hbase_orm.moving.layouts import RowTranslation
from hbase_orm.ops import Cell, FamilyDescriptor, Row, StoredVersion
from hbase_orm.schema import ColumnSchema, TableSchema

_CREATING = frozenset({"put", "insert", "replace"})
"""The kinds of changes that may create a row."""


def row_translation(old: BoundModel, new: BoundModel) -> RowTranslation:
    """Return the translation between the rows of two models, each of its own table.

    The old row key must be computable from the new one. Each field of the new model must be in the
    old table, because rows of new programs are written there before the phase MOVING.

    Raises:
        ConfigurationError: Rows cannot be translated between these models.
    """
    check_pair(old, new)
    return unchecked_translation(old, new)


def unchecked_translation(old: BoundModel, new: BoundModel) -> RowTranslation:
    """Return the translation between two models that were checked before.

    Args:
        old: The bound model of the old table.
        new: The bound model of the new table. If there is a table for each period, old keys can be
            computed only for a model that is bound to one of these tables.
    """
    rows = _RowPair(old.schema, new.schema, MovedKeys(old, new))
    has_versions = _keep_versions(old.schema.families) and _keep_versions(new.schema.families)
    return RowTranslation(
        rows.to_new,
        rows.keys.old_key,
        rows.old_change,
        rows.old_columns,
        rows.older_versions if has_versions else None,
        rows.old_counters,
    )


def _keep_versions(families: Iterable[FamilyDescriptor]) -> bool:
    return any(family.versions > 1 for family in families)


@dataclass(frozen=True)
class _RowPair:
    """The old and the new layout of a row.

    Attributes:
        old: The schema of the old rows.
        new: The schema of the new rows.
        keys: The row keys of both.
    """

    old: TableSchema
    new: TableSchema
    keys: MovedKeys

    @cached_property
    def _forward(self) -> ColumnPlaces:
        return ColumnPlaces(self.old, self.new)

    @cached_property
    def _backward(self) -> ColumnPlaces:
        return ColumnPlaces(self.new, self.old, is_strict=True)

    @cached_property
    def _from_old_key(self) -> Mapping[bytes, ColumnSchema]:
        """The new columns whose values are only in the old row key."""
        return columns_from_key(self.old, self.new)

    @cached_property
    def _from_new_key(self) -> Mapping[bytes, ColumnSchema]:
        """The old columns whose values are only in the new row key."""
        return columns_from_key(self.new, self.old)

    # --- rows -------------------------------------------------------------------------------------

    def to_new(self, row: Row) -> Row:
        """Return an old row, or some of its cells, in the new layout.

        Cells of values that were only in the old key are as old as the newest cell.

        Raises:
            CorruptRowError: The row does not decode.
            RowKeyError, CodecError: A value is missing, or does not fit the new table.
        """
        values = self.keys.values_of_old(row.key) if self._needs_values else {}
        key = self.keys.new_key(row, values)
        newest_ms = max((cell.timestamp_ms for cell in row.cells.values()), default=0)
        cells = {column: Cell(data, newest_ms) for column, data in self._made(values).items()}
        for column, cell in row.cells.items():
            try:
                place = self._forward.place(column)
                if place is not None:
                    cells[place[0]] = Cell(place[1](cell.value), cell.timestamp_ms)
            except (CodecError, CorruptRowError) as error:
                details = {**error.details, "row": row.key}
                raise type(error)(error.text, fix=error.fix, **details) from error
        return Row(key, cells)

    @cached_property
    def _needs_values(self) -> bool:
        return bool(self._from_old_key) or not self.keys.is_same

    def _made(self, values: Values) -> dict[bytes, bytes]:
        """Return the new values that no old cell has: those of the old key, and the marker."""
        made = _encoded(self._from_old_key, values)
        return made if self.new.marker is None else {**made, self.new.marker: MARKER_VALUE}

    def older_versions(self, versions: Sequence[StoredVersion]) -> list[StoredVersion]:
        """Return stored versions of an old row in the new layout.

        Raises:
            CorruptRowError, CodecError: As for `to_new`.
        """
        placed = [(self._forward.place(version.column), version) for version in versions]
        return [
            version._replace(column=place[0], value=place[1](version.value))
            for place, version in placed
            if place is not None
        ]

    def old_columns(self, columns: frozenset[bytes]) -> frozenset[bytes]:
        """Return what to read of an old row for its new key and for some new columns."""
        needed = set(self.keys.columns)
        for column in columns:
            needed |= self._in_family(column) if b":" not in column else self._column(column)
        return frozenset(needed)

    def _in_family(self, family: bytes) -> set[bytes]:
        """Return the old columns and families of all cells of a new family."""
        columns = [each.column for each in (*self.new.columns, *self.new.numbers)]
        needed = {family} & set(self.old.family_names)
        for column in columns:
            needed |= self._column(column) if family_of(column) == family else set()
        for dynamic in self.new.dynamics:
            if family_of(dynamic.prefix) == family:
                needed.add(family_of(self.old.dynamic_by_name[dynamic.name].prefix))
        return needed

    def _column(self, column: bytes) -> set[bytes]:
        try:
            place = self._backward.place(column)
        except (CodecError, CorruptRowError):
            return set()  # no old row has the name of this dynamic column
        return set() if place is None else {place[0]}

    @property
    def old_counters(self) -> dict[bytes, bytes]:
        """The columns of the old counters by those of the new ones."""
        old = {each.name: each.column for each in self.old.counters}
        return {each.column: old[each.name] for each in self.new.counters}

    # --- changes ----------------------------------------------------------------------------------

    def old_change(self, change: RowChange) -> RowChange:
        """Return the change of the old row for a change of the new row.

        Raises:
            RowKeyError: The old table cannot have a row with this key.
            ValidationError: The old table cannot store a value as the new one does.
        """
        key = self.keys.old_key(change.row)
        self.keys.check_kept(change.row)
        made = _encoded(self._from_old_key, self.keys.values_of_old(key))
        puts: dict[bytes, bytes] = {}
        if change.kind in _CREATING:
            puts = _encoded(self._from_new_key, self.keys.values_of_new(change.row))
        for column, value in change.puts.items():
            if made.get(column, value) != value:
                raise self._misfit(change, column, "the old row key has another value")
            if column not in made and column != self.new.marker:
                place, data = self._old_put(change, column, value)
                puts[place] = data
        clears = self._old_clears(change)
        if change.decide is None:
            self._check_required(change, puts, clears)
        no_reads = frozenset[bytes]()
        return replace(
            change, row=key, puts=puts, clears=clears, reads=no_reads, check=None, decide=None
        )

    def _old_put(self, change: RowChange, column: bytes, value: bytes) -> tuple[bytes, bytes]:
        try:
            place = self._backward.place(column)
            data = b"" if place is None else place[1](value)
            back = None if place is None else self._forward.place(place[0])
            is_kept = back is not None and (back[0], back[1](data)) == (column, value)
        except (CodecError, CorruptRowError) as error:
            raise self._misfit(change, column, error.text, value=value) from error
        if place is None or not is_kept:
            reason = "it would be read back differently from there"
            raise self._misfit(change, column, reason, value=value)
        return place[0], data

    def _old_clears(self, change: RowChange) -> frozenset[bytes]:
        for column in change.clears & self._from_old_key.keys():
            raise self._misfit(change, column, "the value is in the old row key")
        columns = change.clears - {self.new.marker}
        return frozenset(place for column in columns for place in self._column(column))

    def _check_required(
        self, change: RowChange, puts: Mapping[bytes, bytes], clears: frozenset[bytes]
    ) -> None:
        """Refuse None in a field that only the new model lets be None."""
        for column in self.old.columns:
            new = self.new.column_by_name.get(column.name)
            if not column.is_required or new is None or not new.nullable:
                continue
            is_lacking = change.kind in _CREATING and column.column not in puts
            if is_lacking or column.column in clears:
                raise self._misfit(change, new.column, "each row of the old table needs the column")

    def _misfit(
        self, change: RowChange, column: bytes, reason: str, *, value: bytes | None = None
    ) -> ValidationError:
        names = {each.column: each.name for each in (*self.new.columns, *self.new.numbers)}
        return ValidationError(
            "the old table, where the row still is, cannot store the change",
            model=self.new.model_name,
            table=self.old.table,
            row=change.row,
            field=names.get(column, column),
            value=value,
            reason=reason,
            fix=FROM_MOVING_ON,
        )


def _encoded(columns: Mapping[bytes, ColumnSchema], values: Values) -> dict[bytes, bytes]:
    return {
        column: each.codec.encode(each.codec.normalize(values[each.name]))
        for column, each in columns.items()
    }
