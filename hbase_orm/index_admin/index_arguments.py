"""Checks the arguments of an engine's methods for indexes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.errors import ConfigurationError, SchemaDriftError, SchemaError
from hbase_orm.index.catalog.differences import HOW_TO_AGREE, difference_of
from hbase_orm.index.catalog.entry import CatalogEntry, CatalogIndex
from hbase_orm.index.entries.targets import GuardedTable, IndexTarget
from hbase_orm.index_admin.verify import BOTH, Source
from hbase_orm.schema import Index


def declared_name(bound: BoundModel, index: Index | str) -> str:
    """Return the name of an index that the model declares.

    Raises:
        ConfigurationError: The model does not declare the index.
    """
    declared = [each.name for each in bound.schema.indexes]
    name = index_name(bound, index)
    own = getattr(bound.model, name, None)
    if name not in declared or (isinstance(index, Index) and own is not index):
        raise ConfigurationError(
            "the model does not declare an index of this name",
            model=bound.schema.model_name,
            index=name,
            fix=f"there are: {', '.join(declared) or 'none'}",
        )
    return name


def index_name(bound: BoundModel, index: object) -> str:
    """Return the name of an index; the argument is the index or its name.

    Raises:
        ConfigurationError: The argument is neither an index nor a text.
    """
    if isinstance(index, (Index, str)):
        return index if isinstance(index, str) else index.name
    declared = ", ".join(each.name for each in bound.schema.indexes) or "none"
    raise ConfigurationError(
        "the argument is not an index",
        model=bound.schema.model_name,
        got=index,
        fix=f"give the index or its name; the model has: {declared}",
    )


def guarded_index(bound: BoundModel, name: str) -> tuple[GuardedTable, IndexTarget]:
    """Return the descriptions of a model's table and of its index `name` for guarded writes."""
    if bound.guarded is None:
        raise AssertionError(bound)
    return bound.guarded, next(i for i in bound.guarded.indexes if i.name == name)


def sources_of(source: str) -> Sequence[Source]:
    """Return the directions of a comparison: from the rows, from the entries, or both.

    Raises:
        ConfigurationError: `source` does not have an allowed value.
    """
    directions: dict[str, Sequence[Source]] = {"data": ("data",), "index": ("index",), "both": BOTH}
    if source not in directions:
        raise ConfigurationError(
            "source= does not have an allowed value",
            source=source,
            fix='source="data", "index" or "both"',
        )
    return directions[source]


def time_ms(at: datetime | None, otherwise_ms: int) -> int:
    """Return the time `at` in milliseconds since 1970; `otherwise_ms` if `at` is None.

    Raises:
        ConfigurationError: The time has no time zone.
    """
    if at is None:
        return otherwise_ms
    if at.tzinfo is None:
        raise ConfigurationError(
            "the time has no time zone", got=at, fix="datetime(..., tzinfo=UTC)"
        )
    return int(at.timestamp() * 1000)


def refuse_other_declaration(bound: BoundModel, name: str, known: CatalogIndex) -> None:
    """Raise an error if the catalog has another declaration of an index than the model.

    The entries would be compared with others than those that writers put.

    Raises:
        SchemaError: The declarations differ.
    """
    difference = difference_of(name, bound.indexes, known.entries)
    if difference is not None:
        raise SchemaError(
            "the catalog has another declaration of the index than the model",
            model=bound.schema.model_name,
            table=bound.schema.table,
            index=name,
            difference=difference,
            declared=bound.indexes.get(name, ""),
            catalog=known.entries,
            fix=HOW_TO_AGREE[difference],
        )


def refuse_repair(bound: BoundModel, entry: CatalogEntry | None) -> None:
    """Raise an error if a model differs from the record of its table, or in the codes of an index.

    Raises:
        SchemaDriftError: The model differs, so a repair could delete entries that are right
            according to the record, or to the catalog's entry of the table.
    """
    others = [] if entry is None else entry.with_other_codes(bound.indexes)
    if others:
        raise SchemaDriftError(
            "the model's indexes have other codes than the catalog, so it must not repair index "
            "entries",
            model=bound.schema.model_name,
            table=bound.schema.table,
            indexes=others,
            declared={name: bound.indexes[name] for name in others},
            catalog={name: entry.indexes[name].entries for name in others if entry is not None},
            fix="repair with a model that has all codes of the catalog; if this model has further "
            "ones, call engine.create_tables with it first, which adds them to the catalog",
        )
    if not bound.repairs:
        raise SchemaDriftError(
            "the model differs from the record of its table, so it must not repair index entries",
            model=bound.schema.model_name,
            table=bound.schema.table,
            fix="repair with the model that the record describes; or, if the new columns are meant "
            "to stay, call engine.create_tables with this model first, which records them",
        )
