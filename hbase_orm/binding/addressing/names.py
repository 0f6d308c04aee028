"""Key fields that are names: the row key holds a number from a dictionary for each name.

Numbers are looked up before a row key is computed or a statement is planned. Names are looked up
after rows are read. The names of many rows are looked up together; cached names are not read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hbase_orm.binding.addressing.misfits import misfit
from hbase_orm.binding.dictionaries import Dictionaries, LoadedNames, Numbers
from hbase_orm.errors import CodecError, CorruptRowError
from hbase_orm.ops import Protocol
from hbase_orm.query import Select, names_in
from hbase_orm.rowkey import KeyContext, KeyLayout
from hbase_orm.schema import TableSchema

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class KeyNames:
    """The key fields of a model that are names; row keys hold their numbers from dictionaries.

    Attributes:
        schema: The schema of the model.
        dictionaries: The dictionaries of the engine.
    """

    schema: TableSchema
    dictionaries: Dictionaries

    @property
    def tables(self) -> Sequence[str]:
        """The tables of the dictionaries that the key fields use, each once.

        For the base of record types, the dictionaries that its record types use are included.
        """
        types = self.schema.record_types
        schemas = [] if types is None else [model.__schema__ for model in types.models.values()]
        lookups = [each for schema in (self.schema, *schemas) for each in schema.layout.lookups]
        declared = dict.fromkeys(lookup.dictionary for lookup in lookups)
        return [self.dictionaries.table(name) for name in declared]

    @property
    def context(self) -> KeyContext:
        """The context for decoding row keys: a function that returns the names of numbers."""
        return KeyContext(name_of=self.dictionaries.name_of)

    def are_in(self, fields: Iterable[str] | None) -> bool:
        """Return whether one of these fields is decoded from the row key; None means all fields."""
        return fields is None or not frozenset(fields).isdisjoint(self.schema.layout.decoded)

    def numbered(self, values: Values) -> dict[str, Any] | None:
        """Return key fields with the numbers of their names; None if a number is not cached."""
        numbers = self.dictionaries.known(self.schema.layout.lookups, values)
        return None if numbers is None else {**values, **numbers}

    def allocated(self, values: Values) -> Protocol[dict[str, Any]]:
        """Return key fields and the numbers of their names; give numbers to new names."""
        lookups = self.schema.layout.lookups
        numbers = yield from self.dictionaries.allocate(lookups, [values])
        return {
            **values,
            **{each.number: numbers[each.dictionary, values[each.field]] for each in lookups},
        }

    def sample(self, values: Values) -> Values:
        """Return key fields with an arbitrary number for each name, to check the other fields.

        Raises:
            RowKeyError: A name does not fit.
        """
        layout = self.schema.layout
        for lookup in layout.lookups:
            codec = layout.codec(lookup.field)
            try:
                if codec is not None:
                    codec.encode(values[lookup.field])
            except CodecError as error:
                raise misfit(self.schema, lookup.field, error) from error
        # Any number will do to try the other parts; 1 fits wherever a number does.
        return {**values, **{each.number: 1 for each in layout.lookups}}

    def look_up(self, rows: Sequence[Values]) -> Protocol[None]:
        """Look up and cache the existing numbers of all names in the key fields of these rows."""
        lookups = self.schema.layout.lookups
        names = ((each.dictionary, row[each.field]) for each in lookups for row in rows)
        yield from self.dictionaries.look_up(names)

    def allocate(self, rows: Sequence[Values]) -> Protocol[None]:
        """Give numbers to all names without a number in the key fields of these rows.

        Raises:
            ConfigurationError: A name has no number, and there is no Thrift2 gateway to get one.
        """
        yield from self.dictionaries.allocate(self.schema.layout.lookups, rows)

    def load(self, keys: Iterable[tuple[bytes, KeyLayout]]) -> Protocol[LoadedNames]:
        """Look up the names whose numbers are in these keys.

        The caller must hold the result until it has decoded the keys, because the cache may drop
        names. A key that does not decode is skipped; making an object from its row raises the
        error.

        Args:
            keys: The keys, each with its layout.
        """
        pairs = (pair for key, layout in keys for pair in _numbers_in(key, layout))
        return (yield from self.dictionaries.load(pairs))

    def numbers_to_plan(self, stmt: Select[Any]) -> Protocol[Numbers]:
        """Return the numbers of the names in a statement's conditions, by dictionary and name."""
        return (yield from self.dictionaries.look_up(names_in(stmt, self.schema)))


def _numbers_in(key: bytes, layout: KeyLayout) -> list[tuple[str, int]]:
    """Return the numbers in a key, each with its dictionary; empty if the key does not decode."""
    if not layout.lookups:
        return []
    try:
        pieces = [(part, data) for part, data in layout.split(key) if part.lookup is not None]
        return [(part.lookup.dictionary, part.value_of(data)) for part, data in pieces]  # type: ignore[union-attr]  # chosen above
    except (CodecError, CorruptRowError):
        return []
