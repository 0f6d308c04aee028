"""The names and numbers of an engine's dictionaries, cached in this process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from weakref import WeakValueDictionary

from hbase_orm.binding.catalog_cache import CatalogCache
from hbase_orm.errors import CorruptRowError, SchemaError
from hbase_orm.gateway.base import Feature
from hbase_orm.index.catalog.entry import TableState
from hbase_orm.numbering.cache import DictionaryCache
from hbase_orm.numbering.dictionary import check_can_allocate
from hbase_orm.ops import Protocol
from hbase_orm.rowkey import Lookup

Pair = tuple[str, Any]
Numbers = dict[tuple[str, str], int]


def in_namespace(table: str, namespace: str) -> str:
    """Return `namespace:table`; or `table`, if it has a namespace or `namespace` is empty."""
    return table if ":" in table or not namespace else f"{namespace}:{table}"


def _refuse_rows_of_models(table: str, catalog: CatalogCache) -> Protocol[None]:
    """Raise an error if the catalog shows that guarded rows are stored in a dictionary's table."""
    entry = yield from catalog.entry(table)
    if entry is not None and entry.state is not TableState.DROPPED:
        raise SchemaError(
            "the dictionary cannot use this table: a model with indexes keeps its rows in it",
            table=table,
            fix="give the dictionary another table: Substitute(of=..., dictionary=...)",
        )


class LoadedNames:
    """Names that were looked up; `Dictionaries.name_of` knows them as long as this object exists.

    Attributes:
        by_table: For each dictionary's table, the names by number.
    """

    __slots__ = ("__weakref__", "by_table")

    def __init__(self, by_table: Mapping[str, Mapping[int, str]]) -> None:
        """Store the names."""
        self.by_table = by_table


class Dictionaries:
    """The dictionaries of one engine, by their declared names. Threads may share it."""

    def __init__(self, catalog: CatalogCache, features: frozenset[Feature], namespace: str) -> None:
        """Start without cached names.

        Args:
            catalog: The cache of the catalog.
            features: The features that the gateway supports.
            namespace: The namespace of the dictionaries' tables.
        """
        self._catalog = catalog
        self._features = features
        self._namespace = namespace
        self._cache = DictionaryCache()
        self._loaded: WeakValueDictionary[int, LoadedNames] = WeakValueDictionary()

    def known(self, lookups: Sequence[Lookup], values: Mapping[str, Any]) -> dict[str, int] | None:
        """Return the cached numbers of the names in key fields; None if a number is not cached.

        The keys of the result are the values of `Lookup.number`. The result is also None if a name
        is not a str. Nothing is sent.

        Args:
            lookups: The look-ups of a key layout: each names a key field and its dictionary.
            values: The values of the key fields.
        """
        numbers: dict[str, int] = {}
        for lookup in lookups:
            name = values[lookup.field]
            if not isinstance(name, str):
                return None
            known = self._cache.numbers(self.table(lookup.dictionary), [name])
            if name not in known:
                return None
            numbers[lookup.number] = known[name]
        return numbers

    def look_up(self, pairs: Iterable[Pair]) -> Protocol[Numbers]:
        """Return the existing numbers of names, by dictionary and name.

        Names without a number are left out. Nothing is written. Cached names are not read again.

        Args:
            pairs: The names, each with its dictionary: (dictionary, name).
        """
        numbers: Numbers = {}
        for dictionary, names in _by_dictionary(pairs).items():
            known = yield from self._cache.look_up(self.table(dictionary), names)
            numbers.update({(dictionary, name): number for name, number in known.items()})
        return numbers

    def allocate(
        self, lookups: Sequence[Lookup], rows: Sequence[Mapping[str, Any]]
    ) -> Protocol[Numbers]:
        """Return the numbers of all names in the key fields of `rows`; give numbers to new names.

        Args:
            lookups: The look-ups of a key layout: each names a key field and its dictionary.
            rows: The key fields of each row.

        Returns:
            The numbers of all the names, by dictionary and name.

        Raises:
            ConfigurationError: A name has no number, and there is no Thrift2 gateway to give it
                one.
            SchemaError: The dictionary's table has rows of a model with indexes.
        """
        wanted: dict[tuple[str, int], set[str]] = {}
        for lookup in lookups:
            names = wanted.setdefault((lookup.dictionary, lookup.max_number), set())
            names |= {row[lookup.field] for row in rows}
        numbers: Numbers = {}
        for (dictionary, max_number), names in wanted.items():
            known = yield from self._allocated(self.table(dictionary), names, max_number)
            numbers.update({(dictionary, name): number for name, number in known.items()})
        return numbers

    def _allocated(self, table: str, names: set[str], max_number: int) -> Protocol[dict[str, int]]:
        numbers = self._cache.numbers(table, names)
        missing = names - numbers.keys()
        if missing and Feature.CHECK_AND_MUTATE not in self._features:
            numbers |= yield from self._cache.look_up(table, missing)
            missing -= numbers.keys()
        if missing:
            check_can_allocate(table, self._features)
            yield from _refuse_rows_of_models(table, self._catalog)
            numbers |= yield from self._cache.allocate(
                table, sorted(missing), max_number=max_number
            )
        return numbers

    def load(self, pairs: Iterable[tuple[str, int]]) -> Protocol[LoadedNames]:
        """Look up the names of numbers, so that `name_of` can return them.

        The caller must hold the result as long as it calls `name_of` for these numbers, because the
        cache may drop names.

        Args:
            pairs: The numbers, each with its dictionary: (dictionary, number).
        """
        names: dict[str, Mapping[int, str]] = {}
        for dictionary, numbers in _by_dictionary(pairs).items():
            table = self.table(dictionary)
            names[table] = yield from self._cache.names_of(table, numbers)
        loaded = LoadedNames(names)
        self._loaded[id(loaded)] = loaded
        return loaded

    def name_of(self, dictionary: str, number: int) -> str:
        """Return the name of `number`, which `load` must have looked up before; nothing is sent.

        Raises:
            CorruptRowError: `load` got no name for the number: the dictionary has none.
        """
        table = self.table(dictionary)
        names: Mapping[int, str] = self._cache.names(table, [number])
        if number not in names:
            names = self._held_names(table, number)
        if number not in names:
            raise CorruptRowError(
                "a row key holds a number that its dictionary has no name for",
                dictionary=dictionary,
                number=number,
                fix="restore the dictionary's table: without it the names are lost",
            )
        return names[number]

    def _held_names(self, table: str, number: int) -> Mapping[int, str]:
        """Return the names in a held `LoadedNames` that has `number`; empty if none has it."""
        for each in self._loaded.valuerefs():
            loaded = each()
            names = {} if loaded is None else loaded.by_table.get(table, {})
            if number in names:
                return names
        return {}

    def table(self, dictionary: str) -> str:
        """Return the name of a dictionary's table in this engine's namespace."""
        return in_namespace(dictionary, self._namespace)

    def forget(self, tables: Iterable[str]) -> None:
        """Drop cached names of the dictionaries in these tables, because the tables are new."""
        for table in tables:
            self._cache.forget(table)


def _by_dictionary(pairs: Iterable[Pair]) -> dict[str, list[Any]]:
    items: dict[str, dict[Any, None]] = {}
    for dictionary, item in pairs:
        items.setdefault(dictionary, {})[item] = None
    return {dictionary: list(each) for dictionary, each in items.items()}
