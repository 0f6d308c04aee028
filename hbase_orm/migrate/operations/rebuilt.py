"""The models of a declaration, made without the application's classes."""

from __future__ import annotations

from hbase_orm.migrate.operations.migrated_table import MigratedTable
from hbase_orm.migrate.operations.refusals import unsupported
from hbase_orm.model import Model
from hbase_orm.record.declaration import Declaration


def models_of(table: MigratedTable, declaration: Declaration) -> dict[str, type[Model]]:
    """Return the models of a declaration by name."""
    raise unsupported("no classes", "later", table=table.name, rows=len(declaration.rows))
