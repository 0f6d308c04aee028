"""Key fields whose values are names: row keys hold the number of each name instead.

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
    """The key fields of a model whose values are names, which row keys hold as numbers.

    Each of these fields has a dictionary: a table that gives each name a number.

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
        """The context for decoding row keys, with a function that returns the name of a number."""
        return KeyContext(name_of=self.dictionaries.name_of)

    def are_in(self, fields: Iterable[str] | None) -> bool:
        """Return whether one of `fields` is decoded from the row key; True if `fields` is None."""
        return fields is None or not frozenset(fields).isdisjoint(self.schema.layout.decoded)

    def numbered(self, values: Values) -> dict[str, Any] | None:
        """Return `values` and the cached number of each name in it; None if one is not cached."""
        numbers = self.dictionaries.known(self.schema.layout.lookups, values)
        return None if numbers is None else {**values, **numbers}

    def allocated(self, values: Values) -> Protocol[dict[str, Any]]:
        """Return `values` with the numbers of its names; give numbers to new names."""
        lookups = self.schema.layout.lookups
        numbers = yield from self.dictionaries.allocate(lookups, [values])
        return {
            **values,
            **{each.number: numbers[each.dictionary, values[each.field]] for each in lookups},
        }

    def sample(self, values: Values) -> Values:
        """Return `values` with the number 1 for each name, so that the row key can be checked.

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
            ConfigurationError: A name has no number, and there is no Thrift2 gateway to give it
                one.
        """
        yield from self.dictionaries.allocate(self.schema.layout.lookups, rows)

    def load(self, keys: Iterable[tuple[bytes, KeyLayout]]) -> Protocol[LoadedNames]:
        """Look up the names whose numbers are in row keys, so that the keys can be decoded.

        The caller must hold the result until it has decoded `keys`, because the cache may drop
        names. A key that does not decode is skipped. The caller gets the error when it decodes the
        key.

        Args:
            keys: The row keys, each with the layout by which it is decoded.
        """
        pairs = (pair for key, layout in keys for pair in _numbers_in(key, layout))
        return (yield from self.dictionaries.load(pairs))

    def numbers_to_plan(self, stmt: Select[Any]) -> Protocol[Numbers]:
        """Return the numbers of the names in a statement's conditions, by dictionary and name.

        Names without a number are left out.
        """
        return (yield from self.dictionaries.look_up(names_in(stmt, self.schema)))


def _numbers_in(key: bytes, layout: KeyLayout) -> list[tuple[str, int]]:
    """Return the numbers in a key as (dictionary, number); empty if the key does not decode."""
    if not layout.lookups:
        return []
    try:
        pieces = [(part, data) for part, data in layout.split(key) if part.lookup is not None]
        return [(part.lookup.dictionary, part.value_of(data)) for part, data in pieces]  # type: ignore[union-attr]  # chosen above
    except (CodecError, CorruptRowError):
        return []
