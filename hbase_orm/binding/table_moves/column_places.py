"""Where the cells of one model's rows are in the rows of another model.

Fields are the same if they have the same name. Their values are converted if the codecs differ.
Cells of columns that neither model declares are copied as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hbase_orm.codecs import Codec
from hbase_orm.errors import CodecError, CorruptRowError
from hbase_orm.index.entries.targets import GUARD_FAMILY, family_of
from hbase_orm.record.specifications import codec_spec, same_codec
from hbase_orm.schema import ColumnSchema, DynamicSchema, TableSchema

Convert = Callable[[bytes], bytes]
Place = tuple[bytes, Convert]
"""A column of the target, and the function that converts the bytes of a value."""


def unchanged(data: bytes) -> bytes:
    """Return the bytes of a value that needs no conversion."""
    return data


@dataclass(frozen=True)
class ColumnPlaces:
    """The columns of a target model to which the columns of a source model belong.

    Attributes:
        source: The schema of the rows that have the cells.
        target: The schema of the rows that get the cells.
        is_strict: Whether values are refused that only the source has a code for. Without it they
            keep their bytes, which programs with all codes can read.
    """

    source: TableSchema
    target: TableSchema
    is_strict: bool = False

    def place(self, column: bytes) -> Place | None:
        """Return the place of the cells of a column; None if the target has no place for them.

        Raises:
            CorruptRowError, CodecError: The name of a dynamic column does not decode, or does not
                fit the target.
        """
        if column in self._declared:
            return self._declared[column]
        if column == self.source.marker or family_of(column) == GUARD_FAMILY:
            return None
        for dynamic in self.source.dynamics:
            if dynamic.holds(column):
                wanted = self.target.dynamic_by_name.get(dynamic.name)
                return None if wanted is None else self._dynamic_place(dynamic, wanted, column)
        is_kept = family_of(column) in self.target.family_names and not self._is_taken(column)
        return (column, unchanged) if is_kept else None

    @cached_property
    def _declared(self) -> Mapping[bytes, Place | None]:
        places: dict[bytes, Place | None] = {}
        for old in (*self.source.columns, *self.source.numbers):
            new = self.target.column_by_name.get(old.name)
            places[old.column] = None if new is None else (new.column, self._converter(old, new))
        return places

    @cached_property
    def _target_columns(self) -> frozenset[bytes | None]:
        columns = (each.column for each in (*self.target.columns, *self.target.numbers))
        return frozenset((*columns, self.target.marker))

    def _is_taken(self, column: bytes) -> bool:
        """Return whether a column of the target belongs to a field or is the marker."""
        return column in self._target_columns or any(
            dynamic.holds(column) for dynamic in self.target.dynamics
        )

    def _dynamic_place(self, old: DynamicSchema, new: DynamicSchema, column: bytes) -> Place:
        rename = self._conversion(old.name, column, old.name_codec, new.name_codec)
        place = new.prefix + rename(column[len(old.prefix) :])
        if not new.holds(place):
            raise CodecError(
                "the dynamic column would become a declared column of the other table",
                **self._where(old.name, column),
                place=place,
                fix="rename the entry, or declare the column with another qualifier",
            )
        return place, self._conversion(old.name, column, old.codec, new.codec)

    def _converter(self, old: ColumnSchema, new: ColumnSchema) -> Convert:
        return self._conversion(old.name, old.column, old.codec, new.codec)

    def _conversion(self, name: str, column: bytes, old: Codec[Any], new: Codec[Any]) -> Convert:
        where = self._where(name, column)
        old_spec, new_spec = codec_spec(old), codec_spec(new)
        if same_codec(old_spec, new_spec):
            return _decodable(new, where) if self.is_strict and old_spec != new_spec else unchanged

        def convert(data: bytes) -> bytes:
            try:
                value = old.decode(data)
            except CodecError as error:
                raise CorruptRowError(
                    "a stored cell does not decode as the model declares",
                    **where,
                    codec=old.name,
                    value=data,
                ) from error
            try:
                return new.encode(new.normalize(value))
            except CodecError as error:
                raise CodecError(error.text, fix=error.fix, **{**error.details, **where}) from error

        return convert

    def _where(self, name: str, column: bytes) -> dict[str, Any]:
        source = self.source
        return {
            "model": source.model_name,
            "table": source.table,
            "field": name,
            "column": column,
        }


def columns_from_key(source: TableSchema, target: TableSchema) -> dict[bytes, ColumnSchema]:
    """Return the columns of `target` whose values rows of `source` have only in their keys."""
    in_key = set(source.layout.arguments) - source.column_by_name.keys()
    return {each.column: each for each in target.columns if each.name in in_key}


def _decodable(codec: Codec[Any], where: Mapping[str, Any]) -> Convert:
    """Return a function that returns bytes unchanged if a codec can decode them."""

    def checked(data: bytes) -> bytes:
        try:
            codec.decode(data)
        except CodecError as error:
            raise CodecError(error.text, fix=error.fix, **{**error.details, **where}) from error
        return data

    return checked
