"""Refuses to change tables that another program uses exclusively, or whose rows are moved."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.table_creation.existing_tables import exists
from hbase_orm.binding.table_creation.merged_records import merged
from hbase_orm.binding.table_creation.table_records import distinct_schemas
from hbase_orm.index.catalog.catalog import read_entry
from hbase_orm.index.catalog.refused_writes import is_held, refuse_held, refuse_moving
from hbase_orm.ops import Protocol, RenewTimeLimit, ask
from hbase_orm.record.snapshots import declaration_of
from hbase_orm.record.store import read_record


def refuse_tables_in_use(
    bounds: Iterable[BoundModel], own_holds: Collection[str]
) -> Protocol[None]:
    """Raise an error if another program uses the table of a model exclusively, or moves its rows.

    The catalog is read again, whatever the lease. Nothing is read for a foreign table.

    HBase cannot make a change of a table depend on the catalog. So an exclusive use that another
    program begins between this check and the end of the change is not noticed. That program waits
    for a lease before it writes, so a change that takes less than a lease is finished by then.

    Args:
        bounds: The models whose tables are to be changed.
        own_holds: The ids of the exclusive uses of this program.

    Raises:
        TableHeldError: Another program uses a table exclusively; nothing was changed.
        ConflictError: The rows of a table are being moved; nothing was changed.
    """
    tables = {bound.declared_table for bound in bounds if not bound.schema.is_foreign}
    for table in sorted(tables):
        yield from ask(RenewTimeLimit())
        entry = yield from read_entry(table)
        refuse_held(table, entry, own_holds)
        refuse_moving(table, entry)


def refuse_creation_in_use(
    bounds: Sequence[BoundModel], own_holds: Collection[str]
) -> Protocol[None]:
    """Raise an error if `create_tables` would change a table that another program uses exclusively.

    Nothing is changed if all tables exist and have all that the models declare in their record, so
    a program that calls `create_tables` whenever it starts may start.

    Args:
        bounds: The models of one table, or of the tables of one pattern; none is foreign.
        own_holds: The ids of the exclusive uses of this program.

    Raises:
        TableHeldError: Another program uses the table exclusively; nothing was changed.
        ConflictError: The rows of the table are being moved; nothing was changed.
    """
    table = bounds[0].declared_table
    entry = yield from read_entry(table)
    is_moving = entry is not None and entry.move is not None and entry.move.is_running
    if entry is None or not (is_moving or is_held(entry, own_holds)):
        return
    record = yield from read_record(table)
    declared = declaration_of(distinct_schemas(bounds))
    is_registered = not entry.is_unregistered or all(each.guarded is None for each in bounds)
    if is_registered and record is not None and merged(record.current, declared) == record.current:
        for bound in bounds:
            if not (yield from exists(bound.schema.table)):
                break
        else:
            return
    refuse_held(table, entry, own_holds)
    refuse_moving(table, entry)
