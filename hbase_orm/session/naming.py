"""Names and numbers of one engine's dictionaries, for sessions: what is not known is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hbase_orm.errors import CorruptRowError, SchemaError
from hbase_orm.gateway.base import Feature
from hbase_orm.index.catalog_entry import TableState
from hbase_orm.numbering.cache import DictionaryCache
from hbase_orm.numbering.dictionary import check_can_allocate
from hbase_orm.rowkey import Lookup
from hbase_orm.session.runtime import Runtime

Pair = tuple[str, Any]


def in_namespace(table: str, namespace: str) -> str:
    """Return a table's name in `namespace`, unless it names one of its own."""
    return table if ":" in table or not namespace else f"{namespace}:{table}"


def _refuse_rows_of_models(table: str, runtime: Runtime) -> None:
    """Refuse to write names where a model's rows have guards: they would stand among its rows."""
    entry = runtime.catalog_entry(table)
    if entry is not None and entry.state is not TableState.DROPPED:
        raise SchemaError(
            "the dictionary has the table of a model with indexes",
            table=table,
            fix="name the dictionary otherwise: Substitute(of=..., dictionary=...)",
        )


class Names:
    """The dictionaries of one engine, named as they are declared. Threads may share it."""

    def __init__(
        self, runtime: Runtime, namespace: str, cache: DictionaryCache | None = None
    ) -> None:
        """Start without a name, or with those of `cache`."""
        self._runtime = runtime
        self._namespace = namespace
        self._cache = DictionaryCache() if cache is None else cache

    def through(self, runtime: Runtime) -> Names:
        """Return the same dictionaries, what is known of them shared, asked through `runtime`."""
        return Names(runtime, self._namespace, self._cache)

    def known(self, lookups: Sequence[Lookup], values: Mapping[str, Any]) -> dict[str, int] | None:
        """Return the numbers that a key needs, by their names among its values.

        None if one of them is not known here, as what is no text never is; nothing is sent.
        """
        found: dict[str, int] = {}
        for lookup in lookups:
            name = values[lookup.field]
            if not isinstance(name, str):
                return None
            numbers = self._cache.numbers(self.table(lookup.dictionary), [name])
            if name not in numbers:
                return None
            found[lookup.number] = numbers[name]
        return found

    def find(self, pairs: Iterable[Pair]) -> dict[tuple[str, str], int]:
        """Return the numbers of names, each after its dictionary, of those that have one.

        Nothing is written. What is known here is not asked for.
        """
        found: dict[tuple[str, str], int] = {}
        for dictionary, names in _by_table(pairs).items():
            numbers = self._runtime.run(self._cache.look_up(self.table(dictionary), names))
            found.update({(dictionary, name): number for name, number in numbers.items()})
        return found

    def allocate(
        self, lookups: Sequence[Lookup], values: Iterable[Mapping[str, Any]]
    ) -> dict[tuple[str, str], int]:
        """Give a number to each name in these rows that has none.

        Returns:
            The number of each name, after its dictionary, whether given now or before.

        Raises:
            ConfigurationError: A name has no number, and there is no Thrift2 gateway to get one.
            SchemaError: The dictionary's table has rows of a model with indexes.
        """
        rows = list(values)
        wanted: dict[tuple[str, int], set[str]] = {}
        for lookup in lookups:
            names = wanted.setdefault((lookup.dictionary, lookup.max_number), set())
            names |= {row[lookup.field] for row in rows}
        found: dict[tuple[str, str], int] = {}
        for (dictionary, max_number), names in wanted.items():
            numbers = self._numbers(self.table(dictionary), names, max_number)
            found.update({(dictionary, name): number for name, number in numbers.items()})
        return found

    def _numbers(self, table: str, names: set[str], max_number: int) -> dict[str, int]:
        numbers = self._cache.numbers(table, names)
        missing = names - numbers.keys()
        if missing and Feature.CHECK_AND_MUTATE not in self._runtime.features:
            numbers |= self._runtime.run(self._cache.look_up(table, missing))
            missing -= numbers.keys()
        if missing:
            check_can_allocate(table, self._runtime.features)
            _refuse_rows_of_models(table, self._runtime)
            numbers |= self._runtime.run(
                self._cache.allocate(table, sorted(missing), max_number=max_number)
            )
        return numbers

    def load_names(self, pairs: Iterable[tuple[str, int]]) -> None:
        """Look up the names of numbers, each after its dictionary's table."""
        for dictionary, numbers in _by_table(pairs).items():
            self._runtime.run(self._cache.names_of(self.table(dictionary), numbers))

    def name_of(self, dictionary: str, number: int) -> str:
        """Return a number's name.

        Raises:
            CorruptRowError: The dictionary has none for it.
        """
        table = self.table(dictionary)
        found = self._cache.names(table, [number])
        if number not in found:
            found = self._runtime.run(self._cache.names_of(table, [number]))
        if number not in found:
            raise CorruptRowError(
                "a row key holds a number that its dictionary has no name for",
                dictionary=dictionary,
                number=number,
                fix="restore the dictionary's table: without it the names are lost",
            )
        return found[number]

    def table(self, dictionary: str) -> str:
        """Return the name of a dictionary's table on this engine."""
        return in_namespace(dictionary, self._namespace)

    def forget(self, tables: Iterable[str]) -> None:
        """Know nothing any more of the dictionaries in these tables, which were just made."""
        for table in tables:
            self._cache.forget(table)


def _by_table(pairs: Iterable[Pair]) -> dict[str, list[Any]]:
    found: dict[str, dict[Any, None]] = {}
    for table, item in pairs:
        found.setdefault(table, {})[item] = None
    return {table: list(items) for table, items in found.items()}
