"""The models of a declaration, made without the application's classes."""

from __future__ import annotations

from dataclasses import replace

from hbase_orm.migrate.operations.migrated_table import MigratedTable
from hbase_orm.model import Model
from hbase_orm.record.declaration import Declaration
from hbase_orm.record.rebuilding.models import rebuilt_models


def models_of(table: MigratedTable, declaration: Declaration) -> dict[str, type[Model]]:
    """Return the models of a declaration by name, with the bases of record types.

    Raises:
        DeclarationError: The declaration lacks what is needed, such as a function.
    """
    return rebuilt_models(named_declaration(table, declaration), table.name)


def named_declaration(table: MigratedTable, declaration: Declaration) -> Declaration:
    """Return a declaration whose indexes are described with the table's namespace.

    A revision may be run in another namespace than the one it was made in.
    """
    indexes = {
        name: replace(
            index,
            entries=f"{table.name}_ix_{name}: {index.entries.partition(': ')[2]}",
        )
        for name, index in declaration.indexes.items()
    }
    return replace(declaration, indexes=indexes)
