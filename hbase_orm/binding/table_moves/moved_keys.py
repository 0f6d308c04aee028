"""The row keys of a row in the old and in the new table of a move."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.errors import CodecError, RowKeyError, ValidationError
from hbase_orm.model.mapping.hydrators import corrupt
from hbase_orm.ops import Row
from hbase_orm.schema import ColumnSchema, TableSchema
from hbase_orm.schema.absent import absent_value_in_entries

Values = dict[str, Any]

FROM_MOVING_ON: Final = "write the row when the move of the rows has reached its phase MOVING"


def fields_from_cells(old: TableSchema, new: TableSchema) -> tuple[str, ...]:
    """Return the fields of the new row key that are not in the old one, so that cells have them."""
    if has_same_key(old, new):
        return ()
    return tuple(name for name in new.layout.arguments if name not in old.layout.decoded)


def has_same_key(old: TableSchema, new: TableSchema) -> bool:
    """Return whether rows have the same row key in both tables."""
    return old.layout.parts == new.layout.parts


@dataclass(frozen=True)
class MovedKeys:
    """Computes the row keys in one table from those in the other, and the values in them.

    Attributes:
        old: The bound model of the old rows.
        new: The bound model of the new rows.
    """

    old: BoundModel
    new: BoundModel

    @cached_property
    def is_same(self) -> bool:
        """Whether rows have the same row key in both tables."""
        return has_same_key(self.old.schema, self.new.schema)

    @cached_property
    def _stored(self) -> tuple[ColumnSchema, ...]:
        by_name = self.old.schema.column_by_name
        return tuple(by_name[n] for n in fields_from_cells(self.old.schema, self.new.schema))

    @property
    def columns(self) -> frozenset[bytes]:
        """The old columns on which the new key depends."""
        return frozenset(column.column for column in self._stored)

    # --- from old to new --------------------------------------------------------------------------

    def values_of_old(self, key: bytes) -> Values:
        """Return the key fields that an old row key holds.

        Raises:
            CorruptRowError: The key does not decode.
        """
        return dict(self.old.schema.layout.decode(key))

    def new_key(self, row: Row, values: Values) -> bytes:
        """Return the new key of an old row, from its cells and the values of its key.

        Raises:
            CorruptRowError: A cell does not decode.
            RowKeyError: A value is missing or does not fit, or the key is too long.
        """
        if self.is_same:
            return self.new.keys.checked(row.key)
        stored = {column.name: self._stored_value(column, row) for column in self._stored}
        return self.new.keys.checked(self.new.schema.layout.encode({**values, **stored}))

    def _stored_value(self, column: ColumnSchema, row: Row) -> Any:
        cell = row.cells.get(column.column)
        if cell is not None:
            try:
                return column.codec.decode(cell.value)
            except CodecError as error:
                raise corrupt(self.old.schema, row, column) from error
        value = absent_value_in_entries(column)
        if value is None:
            raise RowKeyError(
                "the row has no value for a field of the new row key",
                model=self.new.schema.model_name,
                table=self.old.schema.table,
                field=column.name,
                row=row.key,
                fix="write the field in each row, or leave it out of the new row key",
            )
        return value

    # --- from new to old --------------------------------------------------------------------------

    def values_of_new(self, key: bytes) -> Values:
        """Return the key fields that a new row key holds.

        Raises:
            CorruptRowError: The key does not decode.
        """
        return dict(self.new.schema.layout.decode(key, self.new.context))

    def old_key(self, key: bytes) -> bytes:
        """Return the old key of the row that has a new key.

        Raises:
            CorruptRowError: The key does not decode.
            RowKeyError: A value does not fit the old key, so the old table cannot have the row.
        """
        if self.is_same:
            return self.old.keys.checked(key)
        values = self.values_of_new(key)
        try:
            return self.old.keys.checked(self.old.schema.layout.encode(values))
        except RowKeyError as error:
            raise RowKeyError(
                "the row key does not fit the old table, out of which the rows are moved",
                **{**error.details, "table": self.old.schema.table, "row": key},
                why=error.text,
                fix="use the row when the move has ended, or run the migration exclusively",
            ) from error

    def check_kept(self, key: bytes) -> None:
        """Raise an error if the old table cannot store the values of a new key exactly.

        Raises:
            ValidationError: A row that is written into the old table would get another new key.
        """
        if self.is_same:
            return
        values, kept = self.values_of_new(key), self.values_of_old(self.old_key(key))
        stored = {column.name: column.codec for column in self._stored}
        for name, value in values.items():
            codec = self.new.schema.layout.codecs[name]
            try:
                if name in stored:
                    normal = stored[name].normalize(value)
                    kept[name] = stored[name].decode(stored[name].encode(normal))
                is_kept = codec.encode(kept[name]) == codec.encode(value)
            except CodecError:
                is_kept = False
            if not is_kept:
                raise ValidationError(
                    "the old table cannot store a value of the row key as the new one does",
                    model=self.new.schema.model_name,
                    table=self.old.schema.table,
                    field=name,
                    row=key,
                    value=value,
                    fix=FROM_MOVING_ON,
                )
