"""A cache of the names and numbers that one engine has read from dictionaries or added to them.

Cached names do not expire, because a name never changes its number.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Final
from weakref import WeakSet

from hbase_orm.errors import ConfigurationError
from hbase_orm.numbering import dictionary
from hbase_orm.numbering.counters import MAX_NUMBER
from hbase_orm.ops import Protocol

MAX_NAMES: Final = 1_000_000
"""The most names in a cache by default: about 370 MB, if names have 20 characters."""


class DictionaryCache:
    """The cached names and numbers of all dictionaries of one engine. Threads may share it.

    If the cache is full, the least recently used names are dropped. The cache does not store
    that a name has no number, because another process may give it a number at any time.
    """

    def __init__(self, max_names: int = MAX_NAMES) -> None:
        """Start with an empty cache.

        Raises:
            ConfigurationError: `max_names` is below 1.
        """
        if max_names < 1:
            raise ConfigurationError(
                "the cache must have room for at least one name",
                max_names=max_names,
                fix="use max_names=1 or more",
            )
        self._max_names = max_names
        self._forget_all()
        _CACHES.add(self)

    def __len__(self) -> int:
        """Return the number of cached names of all dictionaries."""
        return len(self._numbers)

    def __repr__(self) -> str:
        """Return the class and the number of cached names."""
        return f"DictionaryCache({len(self)} of at most {self._max_names} names)"

    # --- with requests for names and numbers that are not cached --------------------------------

    def look_up(self, table: str, names: Iterable[str]) -> Protocol[dict[str, int]]:
        """Return the existing numbers of names, by name; names without a number are left out.

        Only names that are not cached are read from HBase; see `dictionary.look_up`.
        """
        wanted = list(names)
        cached = self.numbers(table, wanted)
        missing = [name for name in wanted if name not in cached]
        if missing:
            numbers = yield from dictionary.look_up(table, missing)
            self.add(table, numbers)
            cached |= numbers
        return cached

    def names_of(self, table: str, numbers: Iterable[int]) -> Protocol[dict[int, str]]:
        """Return the names of numbers, by number; numbers without a name are left out.

        Only numbers that are not cached are read from HBase; see `dictionary.names_of`.
        """
        wanted = list(numbers)
        cached = self.names(table, wanted)
        missing = [number for number in wanted if number not in cached]
        if missing:
            names = yield from dictionary.names_of(table, missing)
            self.add(table, {name: number for number, name in names.items()})
            cached |= names
        return cached

    def allocate(
        self, table: str, names: Iterable[str], *, max_number: int = MAX_NUMBER
    ) -> Protocol[dict[str, int]]:
        """Return the numbers of all `names`, by name; give a number to each name that has none.

        Nothing is sent if all names are cached; see `dictionary.allocate`.
        """
        wanted = list(names)
        cached = self.numbers(table, wanted)
        missing = [name for name in wanted if name not in cached]
        if missing:
            numbers = yield from dictionary.allocate(table, missing, max_number=max_number)
            self.add(table, numbers)
            cached |= numbers
        return cached

    # --- without requests -------------------------------------------------------------------------

    def numbers(self, table: str, names: Iterable[str]) -> dict[str, int]:
        """Return the cached numbers of names, by name; names that are not cached are left out."""
        cached: dict[str, int] = {}
        with self._lock:
            for name in names:
                number = self._numbers.get((table, name))
                if number is not None:
                    self._numbers.move_to_end((table, name))
                    cached[name] = number
        return cached

    def names(self, table: str, numbers: Iterable[int]) -> dict[int, str]:
        """Return the cached names of `numbers`, by number; uncached numbers are left out."""
        cached: dict[int, str] = {}
        with self._lock:
            for number in numbers:
                name = self._names.get((table, number))
                if name is not None:
                    self._numbers.move_to_end((table, name))
                    cached[number] = name
        return cached

    def add(self, table: str, numbers: Mapping[str, int]) -> None:
        """Add names of the dictionary in `table` to the cache, with their numbers."""
        with self._lock:
            for name, number in numbers.items():
                self._numbers[table, name] = number
                self._numbers.move_to_end((table, name))
                self._names[table, number] = name
            while len(self._numbers) > self._max_names:
                (of_table, _), number = self._numbers.popitem(last=False)
                del self._names[of_table, number]

    def forget(self, table: str) -> None:
        """Drop the cached names of a dictionary, because its table was dropped."""
        with self._lock:
            for key in [key for key in self._numbers if key[0] == table]:
                del self._names[table, self._numbers.pop(key)]

    def free_lock_in_child(self) -> None:
        """In a forked child, replace the lock if a thread of the parent held it.

        The cache is then emptied, because that thread may have been changing it.
        """
        if self._lock.locked():
            self._forget_all()

    def _forget_all(self) -> None:
        self._lock = threading.Lock()
        self._numbers: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._names: dict[tuple[str, int], str] = {}


_CACHES: WeakSet[DictionaryCache] = WeakSet()


def _free_locks_in_child() -> None:
    for cache in tuple(_CACHES):
        cache.free_lock_in_child()


os.register_at_fork(after_in_child=_free_locks_in_child)
