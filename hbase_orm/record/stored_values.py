"""Reads the JSON of a record, and trusts no type, name or depth in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from hbase_orm.errors import RecordError

T = TypeVar("T")

RECORD_VERSION: Final = 2
"""The version of the encoding; a record with a greater version was written by a newer library.

A new member needs a new version: `record.first_version` shows how records without it are read.
"""

_RESTORE: Final = (
    "restore the catalog's row of the table from a backup; or, if the model declares what the "
    "table's rows are, write the record again: 'hbase-orm tables adopt'"
)


@dataclass(frozen=True, slots=True)
class StoredValue:
    """One value in the JSON of a record.

    Attributes:
        value: The value.
        table: The table of the record, for errors.
        place: The place of the value in the record, for errors.
    """

    value: Any
    table: str
    place: str = "record"

    @classmethod
    def of(cls, data: bytes, table: str) -> StoredValue:
        """Return the value that is encoded in `data`.

        Raises:
            RecordError: The bytes are not JSON.
        """
        try:
            return cls(json.loads(data), table)
        except (ValueError, RecursionError) as error:
            raise damaged(table, "record", data) from error

    def members(
        self, *names: str, optional: frozenset[str] = frozenset()
    ) -> dict[str, StoredValue]:
        """Return the members of an object by name.

        Args:
            names: The names that the object must have.
            optional: The names that it may have too.

        Raises:
            RecordError: The value is not an object, or lacks one of `names`. Or it has an unknown
                name: then a newer version of the library wrote the record.
        """
        members = dict(self.each())
        unknown = members.keys() - {*names, *optional}
        if unknown:
            raise newer_members(self.table, self.place, unknown)
        if not members.keys() >= set(names):
            raise self.damage()
        return members

    def each(self) -> Iterator[tuple[str, StoredValue]]:
        """Yield the members of an object, which may have any names.

        Raises:
            RecordError: The value is not an object.
        """
        for name, value in self.typed(dict).items():
            yield name, StoredValue(value, self.table, f"{self.place}.{name}")

    def items(self) -> list[StoredValue]:
        """Return the items of an array.

        Raises:
            RecordError: The value is not an array.
        """
        return [
            StoredValue(value, self.table, f"{self.place}[{number}]")
            for number, value in enumerate(self.typed(list))
        ]

    def typed(self, kind: type[T]) -> T:
        """Return the value, which must be exactly of this type: a bool is not an int.

        Raises:
            RecordError: The value is of another type.
        """
        if type(self.value) is not kind:
            raise self.damage()
        return self.value

    def data(self) -> bytes:
        """Return the bytes that a text stands for: each character is one byte.

        Raises:
            RecordError: The value is not a text, or a character is not a byte.
        """
        return latin(self.typed(str), self)

    def optional(self, read: Callable[[StoredValue], T]) -> T | None:
        """Return None for null, else what `read` returns for this value."""
        return None if self.value is None else read(self)

    def damage(self) -> RecordError:
        """Return the error for a value that a record cannot have at this place."""
        return damaged(self.table, self.place, self.value)


def latin(text: str, where: StoredValue) -> bytes:
    """Return the bytes that a text stands for: each character is one byte.

    Raises:
        RecordError: A character is not a byte.
    """
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        raise where.damage() from None


def damaged(table: str, place: str, value: Any) -> RecordError:
    """Return the error for a record that does not decode."""
    return RecordError(
        "the table's record is damaged, so it is unknown how its rows are encoded",
        table=table,
        place=place,
        value=value,
        fix=_RESTORE,
    )


_NEWER: Final = (
    "a newer version of hbase_orm wrote the table's record, which this version cannot read"
)
_UPGRADE: Final = (
    "upgrade hbase_orm to the version of the program that created or migrated the table"
)


def newer(table: str, version: int) -> RecordError:
    """Return the error for a record that a newer version of the library wrote."""
    return RecordError(
        _NEWER, table=table, version=version, own_version=RECORD_VERSION, fix=_UPGRADE
    )


def newer_members(table: str, place: str, members: Iterable[str]) -> RecordError:
    """Return the error for a record that has members of a newer version of the library."""
    return RecordError(
        _NEWER,
        table=table,
        place=place,
        members=sorted(members),
        own_version=RECORD_VERSION,
        fix=_UPGRADE,
    )
