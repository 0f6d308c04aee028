"""Creates the tables of the dictionaries that a model's row keys use."""

from __future__ import annotations

from collections.abc import Iterable

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.table_creation.existing_tables import exists, holds_rows
from hbase_orm.errors import SchemaError
from hbase_orm.numbering.dictionary import ensure_dictionary
from hbase_orm.ops import Protocol


def make_dictionaries(bound: BoundModel) -> Protocol[list[str]]:
    """Create the missing tables of dictionaries and return the names of these tables."""
    made: list[str] = []
    for dictionary in _dictionaries(bound):
        made += yield from ensure_dictionary(dictionary)
    return made


def _dictionaries(bound: BoundModel) -> list[str]:
    names = bound.keys.names
    return [] if names is None else list(names.tables)


def refuse_lost_dictionaries(bound: BoundModel, names: Iterable[str]) -> Protocol[None]:
    """Raise an error if a dictionary's table is missing while row keys hold its numbers.

    Args:
        bound: The model.
        names: The names of the model's tables; some may not exist.

    Raises:
        SchemaError: A dictionary is missing; nothing was created.
    """
    for dictionary in _dictionaries(bound):
        if (yield from exists(dictionary)):
            continue
        for table in names:
            if (yield from holds_rows(table)):
                raise SchemaError(
                    "the table's row keys hold numbers of a dictionary whose table is "
                    "missing: a new dictionary would give the same numbers to other names",
                    table=table,
                    dictionary=dictionary,
                    fix="restore the dictionary from a backup that is not older than the table, "
                    "or drop the table too",
                )
