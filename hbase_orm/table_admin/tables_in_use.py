"""Refuses to change tables that another program uses exclusively."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.index.catalog.catalog import read_entry
from hbase_orm.index.catalog.refused_writes import refuse_held
from hbase_orm.ops import Protocol, RenewTimeLimit, ask


def refuse_tables_in_use(
    bounds: Iterable[BoundModel], own_holds: Collection[str]
) -> Protocol[None]:
    """Raise an error if another program uses the table of a model exclusively.

    The catalog is read again, whatever the lease. Nothing is read for a foreign table.

    Args:
        bounds: The models whose tables are to be changed.
        own_holds: The ids of the exclusive uses of this program.

    Raises:
        TableHeldError: Another program uses a table exclusively; nothing was changed.
    """
    tables = {bound.declared_table for bound in bounds if not bound.schema.is_foreign}
    for table in sorted(tables):
        yield from ask(RenewTimeLimit())
        refuse_held(table, (yield from read_entry(table)), own_holds)
