"""Truncates tables: removes all rows, and keeps split keys, options and records.

A table without index tables is emptied by one request. The writes of a table with indexes consist
of several requests, and a write may be under way. So the catalog first refuses writes of the table.
The truncation waits as long as a program may act on an older catalog entry. The indexes then get
new, empty tables, as in a build: entries that a late request puts into an earlier index table are
not used. See `index.catalog.truncation_steps`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.table_creation import model_tables as tables
from hbase_orm.binding.table_creation.existing_tables import is_unknown
from hbase_orm.binding.table_creation.table_records import note_new_regions
from hbase_orm.binding.table_identity import (
    Identity,
    SeenTable,
    identity,
    refuse_later_table,
    seen_table,
)
from hbase_orm.errors import SchemaError, TableNotFoundError
from hbase_orm.gateway.base import Feature
from hbase_orm.index.catalog import catalog
from hbase_orm.index.catalog.entry import CatalogEntry, TableState
from hbase_orm.index.catalog.index_steps import incarnation_of, refuse_exclusive_state, table_of
from hbase_orm.index.catalog.refused_writes import refuse_held, refuse_moving
from hbase_orm.index.catalog.truncation_steps import (
    begin_truncation,
    finish_truncation,
    indexes_with_tables,
    refuse_other_truncation,
)
from hbase_orm.numbering.create_tables import create_if_missing
from hbase_orm.ops import (
    CreateTable,
    DescribeTable,
    ListRegions,
    Protocol,
    RenewTimeLimit,
    TruncateTable,
    ask,
)
from hbase_orm.ops.waits import wait
from hbase_orm.record.store import read_record


@dataclass(frozen=True, slots=True)
class IndexCopies:
    """What is known of the tables of one index before a truncation.

    Attributes:
        existing: The names of all tables of the index.
        template: The request that creates a table like the one in use, with the same name. None if
            no table exists: then the new table is created as the model declares it.
    """

    existing: tuple[str, ...]
    template: CreateTable | None


@dataclass(frozen=True, slots=True)
class Truncation:
    """A table that is to be truncated.

    Attributes:
        bound: A model of the table.
        copies: The tables of its indexes, by the index's name; empty without indexes.
        entry: The catalog's entry of the table, or None.
        seen: The table as it was when the truncation was prepared.
        is_recorded: Whether the record of the table was written for this table.
    """

    bound: BoundModel
    copies: dict[str, IndexCopies]
    is_recorded: bool
    entry: CatalogEntry | None
    seen: SeenTable

    @property
    def table(self) -> str:
        """The name of the table."""
        return self.bound.schema.table


def truncate(
    bounds: Sequence[BoundModel],
    features: frozenset[Feature],
    *,
    own_holds: Collection[str],
    settle_s: float,
    lease_s: float,
    on_wait: Callable[[float], None],
    on_change: Callable[[str], None],
) -> Protocol[list[str]]:
    """Truncate tables, each with its index tables; return their names.

    Nothing is changed before all tables are checked.

    Args:
        bounds: A bound model for each table.
        features: The features that the gateway supports.
        own_holds: The ids of the exclusive uses of this program.
        settle_s: How long a program may act on an old catalog entry, in seconds.
        lease_s: The same if this program uses all tables with indexes exclusively: no gateway
            repeats writes of others then.
        on_wait: A function that is called with the seconds that are left to wait.
        on_change: A function that is called with a table's name after its catalog entry or its rows
            were changed.

    Raises:
        TableNotFoundError: A table does not exist; nothing was changed.
        ConflictError: A table is being loaded. Or another program truncates it, or drops it and
            creates it again, at the same time. Right before the request that empties a table this
            cannot be noticed any more, because HBase cannot truncate a table on a condition.
        TableHeldError: Another program uses a table exclusively; nothing was changed.
        SchemaError: The rows of a table with indexes have no guards, or the table of an index that
            the model does not declare is missing; nothing was changed.
        RecordError: The record of a table is damaged, or a newer version of the library wrote it;
            nothing was changed.
    """
    checked: list[Truncation] = []
    for bound in bounds:
        yield from ask(RenewTimeLimit())
        checked.append((yield from _check(bound, features, own_holds)))
    begun: dict[str, CatalogEntry] = {}
    for each in checked:
        if each.copies and each.entry is not None:
            yield from refuse_later_table(each.table, each.seen)
            newest = {name: _newest(each.table, name, c) for name, c in each.copies.items()}
            begun[each.table] = yield from begin_truncation(
                each.table, each.entry, newest, own_holds
            )
            on_change(each.table)
    if begun:
        is_exclusive = all(entry.hold is not None for entry in begun.values())
        yield from wait(lease_s if is_exclusive else settle_s, on_wait)
    for each in checked:
        yield from ask(RenewTimeLimit())
        entry = begun.get(each.table)
        if entry is None:
            yield from refuse_later_table(each.table, each.seen)
            yield from _empty(each)
        else:
            yield from _truncate_with_indexes(each, entry)
        on_change(each.table)
    return [each.table for each in checked]


def _check(
    bound: BoundModel, features: frozenset[Feature], own_holds: Collection[str]
) -> Protocol[Truncation]:
    """Return the truncation of a table; raise an error if the table cannot be truncated."""
    table, model = bound.schema.table, bound.schema.model_name
    seen = yield from seen_table(table)
    entry = yield from catalog.read_entry(table)
    for name in dict.fromkeys((table, bound.declared_table)):
        known = entry if name == table else (yield from catalog.read_entry(name))
        refuse_held(name, known, own_holds)
        if name != table:
            refuse_moving(name, known)  # the tables of all periods have one entry
    if seen is None:
        raise TableNotFoundError(
            "the table does not exist", model=model, table=table, fix="call engine.create_tables"
        )
    is_recorded = yield from _is_recorded(bound, features)
    if entry is None or is_unknown(entry):
        return Truncation(bound, {}, is_recorded, entry, seen)
    if entry.state_without_hold is not TableState.TRUNCATING:
        refuse_exclusive_state(table, entry)
    names = indexes_with_tables(entry)
    if names:
        catalog.refuse_other_protocol(table, entry, is_lww=False, model=model)
    copies: dict[str, IndexCopies] = {}
    for name in names:
        copies[name] = yield from _copies_of(bound, name, entry.indexes[name].table)
    return Truncation(bound, copies, is_recorded, entry, seen)


def _is_recorded(bound: BoundModel, features: frozenset[Feature]) -> Protocol[bool]:
    """Return whether a table has a record that was written for it.

    Raises:
        RecordError: The record is damaged, or a newer version of the library wrote it.
    """
    if bound.schema.is_foreign:
        return False
    record = yield from read_record(bound.declared_table)
    if record is None:
        return False
    return (yield from identity(record, bound.tables, features)) is Identity.SAME


def _empty(each: Truncation) -> Protocol[None]:
    """Delete the rows of a table, and write the time of its new regions into its record.

    Programs without Thrift2 recognize the table of a record by this time.
    """
    yield from ask(RenewTimeLimit())
    yield from ask(TruncateTable(each.table))
    if each.is_recorded:
        yield from ask(RenewTimeLimit())
        yield from note_new_regions(each.bound.declared_table, each.table)


def _copies_of(bound: BoundModel, name: str, used: str) -> Protocol[IndexCopies]:
    declared = f"{bound.schema.table}_ix_{name}"
    existing = yield from tables.index_tables([declared])
    newest = max(existing, key=lambda each: incarnation_of(declared, each), default="")
    current = (used or declared) if (used or declared) in existing else newest
    if current:
        return IndexCopies(tuple(existing), (yield from _request_for(current)))
    if name not in {index.name for index in bound.schema.indexes}:
        raise SchemaError(
            "the index's table was dropped, and the model does not declare the index",
            model=bound.schema.model_name,
            table=bound.schema.table,
            index=name,
            fix="drop the index: engine.drop_index(model, name), or 'hbase-orm index drop'",
        )
    return IndexCopies((), None)


def _request_for(table: str) -> Protocol[CreateTable]:
    """Return the request that creates a table with the options and the split keys of `table`."""
    descriptor = yield from ask(DescribeTable(table))
    regions = yield from ask(ListRegions(table))
    return CreateTable(descriptor, tuple(sorted({region.start for region in regions} - {b""})))


def _newest(table: str, name: str, copies: IndexCopies) -> int:
    numbers = (incarnation_of(f"{table}_ix_{name}", each) for each in copies.existing)
    return max(numbers, default=0)


def _truncate_with_indexes(each: Truncation, begun: CatalogEntry) -> Protocol[None]:
    """Give the indexes new tables, empty the table, drop the earlier index tables, and finish."""
    for name in indexes_with_tables(begun):
        declared = f"{each.table}_ix_{name}"
        new = table_of(declared, begun.indexes[name].incarnation)
        yield from _create_index_table(each, name, new)
    refuse_other_truncation(each.table, (yield from catalog.read_entry(each.table)), begun)
    yield from _empty(each)
    for earlier in _earlier_tables(each, begun):
        yield from ask(RenewTimeLimit())
        yield from tables.drop_table(earlier)
    yield from finish_truncation(each.table, begun)


def _create_index_table(each: Truncation, name: str, table: str) -> Protocol[None]:
    copies = each.copies.get(name, IndexCopies((), None))
    if table in copies.existing:
        return  # of the same truncation, which was interrupted; nobody has used it
    yield from ask(RenewTimeLimit())
    if copies.template is None:
        yield from tables.ensure_index_table(each.bound, name, table)
        return
    descriptor = replace(copies.template.descriptor, name=table)
    yield from create_if_missing(replace(copies.template, descriptor=descriptor))


def _earlier_tables(each: Truncation, begun: CatalogEntry) -> Iterator[str]:
    """Yield the index tables that no program will use: those with lower numbers than the new ones.

    If the table was dropped and created again meanwhile, its index tables have greater numbers.
    """
    for name, copies in each.copies.items():
        declared, new = f"{each.table}_ix_{name}", begun.indexes[name].incarnation
        yield from (table for table in copies.existing if incarnation_of(declared, table) < new)
