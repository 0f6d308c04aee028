"""The bound models of a table's rows, made from its record."""

from __future__ import annotations

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.migrate.operations.migrated_table import MigratedTable
from hbase_orm.migrate.operations.rebuilt import models_of
from hbase_orm.model import Model
from hbase_orm.record.declaration import Declaration


class RecordedModels:
    """Finds the model of each row of a table: the one with the most fields, and all indexes."""

    def __init__(self, table: MigratedTable, declaration: Declaration) -> None:
        """Make the models of the record.

        Raises:
            DeclarationError: The record lacks what is needed, such as a function.
        """
        models = models_of(table, declaration)
        engine = table.migration.engine
        # A view without the table's indexes may not write rows.
        whole = [model for model in models.values() if _has_indexes(model, declaration)]
        bounds = [engine._declared_of(model) for model in whole]  # noqa: SLF001 - a verb of it
        self.bounds = sorted(
            (bound for bound in bounds if bound.kinds is None),
            key=lambda bound: len(bound.schema.columns),
            reverse=True,
        )
        self._in_tables: dict[tuple[int, str], BoundModel] = {}

    def of_row(self, table: str, row: bytes) -> BoundModel | None:
        """Return the model of a row; None if it belongs to none of them."""
        for number, bound in enumerate(self.bounds):
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
