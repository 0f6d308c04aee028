"""Backfills: new values of fields, computed from whole rows, beside programs that write them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.errors import ValidationError
from hbase_orm.migrate.operations.migrated_table import MigratedTable
from hbase_orm.migrate.operations.operation import Irreversible, Operation
from hbase_orm.migrate.operations.refusals import unsupported
from hbase_orm.migrate.operations.rows.recorded_models import RecordedModels
from hbase_orm.migrate.operations.rows.row_edits import Decide, RowEdit
from hbase_orm.migrate.operations.source_text import call
from hbase_orm.migrate.operations.values import RowsOperation
from hbase_orm.ops import Row
from hbase_orm.record.declaration import Declaration
from hbase_orm.schema import deferred_names

Fill = Callable[[Any], Mapping[str, Any] | None]
"""A function from a row's object to the new values of some of its fields; None for no change."""


@dataclass(frozen=True)
class Backfill(RowsOperation):
    """Give fields new values in all rows, computed by a function of the row.

    The row is an object with the fields that the record has, as the programs before the revision
    read it. Each row is changed at most once. What a program writes meanwhile stays.

    Attributes:
        forward: A function from a row to a dict of new values by field, such as
            `lambda row: {"celsius": (row.fahrenheit - 32) / 1.8}`. None leaves the row as it is,
            and so does ValueError or the like, after which the row is listed. A value of None
            clears the field.
        backward: The function that undoes `forward`; None if nothing does.
    """

    forward: Fill
    backward: Fill | None = None
    _: KW_ONLY
    comment: str = ""

    def describe(self) -> str:
        """Return the operation as one line."""
        return f"backfill {self.table}"

    def reverse(self) -> Operation | Irreversible:
        """Return the backfill by `backward`."""
        if self.backward is None:
            return Irreversible("the revision gives no function backward")
        return Backfill(self.table, self.backward, self.forward)

    def columns(self, declaration: Declaration) -> tuple[bytes, ...]:
        """Return all families: the function may read any field."""
        return tuple(declaration.families)

    def decide(self, table: MigratedTable, declaration: Declaration) -> Decide:
        """Return the function that computes the change of a row.

        Raises:
            DeclarationError: The record lacks what is needed to make the objects of rows.
        """
        models = RecordedModels(table, declaration)
        if any(bound.keys.names is not None for bound in models.bounds):
            raise unsupported(
                "row keys hold numbers of names, which would be looked up for each row",
                "change the rows with a program: session.stream, and session.update",
                table=table.name,
            )
        return lambda name, row: self._edit(models.of_row(name, row.key), row)

    def _edit(self, bound: BoundModel | None, row: Row) -> RowEdit | None:
        if bound is None or not bound.exists(row):
            return None
        values = self.forward(bound.hydrate(row, deferred_names(bound.schema)))
        if not values:
            return None
        columns = {column.name: column for column in bound.schema.columns}
        self._refuse_unknown(bound, values.keys() - columns.keys())
        puts = {
            columns[name].column: columns[name].codec.encode(columns[name].codec.normalize(value))
            for name, value in values.items()
            if value is not None
        }
        clears = [columns[name] for name, value in values.items() if value is None]
        if any(column.is_required for column in clears):
            raise ValidationError("a required field cannot be cleared", row=row.key)
        return RowEdit(puts, frozenset(column.column for column in clears))

    def _refuse_unknown(self, bound: BoundModel, names: Collection[str]) -> None:
        """Raise an error for fields that the record does not have: a mistake of the revision."""
        if names:
            raise unsupported(
                "the record has no plain column for a field of this name",
                "name fields that the record has; add a new one with AddColumn before",
                table=bound.schema.table,
                model=bound.schema.model_name,
                fields=sorted(names),
            )

    def source(self) -> str:
        """Return the Python source."""
        functions = [self.forward] if self.backward is None else [self.forward, self.backward]
        return call("Backfill", self.table, *functions, comment=self.comment)
