"""The bound models by which guarded rows are changed, made from the record of their table."""

from __future__ import annotations

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.migrate.operations.migrated_table import MigratedTable
from hbase_orm.migrate.operations.rebuilt import models_of
from hbase_orm.model import Model
from hbase_orm.record.declaration import Declaration


class GuardedRows:
    """Finds the model of each row of a guarded table."""

    def __init__(self, table: MigratedTable, declaration: Declaration) -> None:
        """Make the models of the record.

        Raises:
            DeclarationError: The record lacks what is needed for its indexes.
        """
        models = models_of(table, declaration)
        engine = table.migration.engine
        # A view without the table's indexes may not write rows.
        whole = [model for model in models.values() if _has_indexes(model, declaration)]
        self._bounds = [engine._declared_of(model) for model in whole]  # noqa: SLF001 - a verb of it
        self._in_tables: dict[tuple[int, str], BoundModel] = {}

    def bound_of(self, table: str, row: bytes) -> BoundModel | None:
        """Return the model that writes a row; None if it belongs to none of them."""
        for number, bound in enumerate(self._bounds):
            if bound.is_own is None or bound.is_own(row):
                place = (number, table)
                if place not in self._in_tables:
                    self._in_tables[place] = _in_table(bound, table)
                return self._in_tables[place]
        return None


def _in_table(bound: BoundModel, table: str) -> BoundModel:
    start = bound.tables.start_of_table(table)
    return bound if start is None else bound.with_table_at(start)


def _has_indexes(model: type[Model], declaration: Declaration) -> bool:
    names = {index.name for index in model.__schema__.indexes}
    return names == declaration.indexes.keys()
