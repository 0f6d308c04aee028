"""Finds harmless differences that an update of the record removes."""

from __future__ import annotations

from collections.abc import Sequence

from hbase_orm.binding.recorded_models import compared
from hbase_orm.migrate.operations.record_updates import updated
from hbase_orm.record.declaration import Declaration, TableRecord
from hbase_orm.record.differences import Difference
from hbase_orm.record.snapshots import declaration_of
from hbase_orm.schema import TableSchema


def has_leftovers(schemas: Sequence[TableSchema], declaration: Declaration) -> bool:
    """Return whether the record would change if the models were added to it."""
    known = updated(declaration, declaration_of(schemas))
    is_known = all(
        model in {name for rows in declaration.rows for name in rows.models}
        for rows in known.rows
        for model in rows.models
    )
    return not is_known or _differences(schemas, declaration) != _differences(schemas, known)


def _differences(schemas: Sequence[TableSchema], declaration: Declaration) -> list[Difference]:
    record = TableRecord("", declaration)
    return [each for schema in schemas for each in compared(schema, record)]
