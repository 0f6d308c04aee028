"""Columns gathered from encoded rows by the compiled reader."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.ops import Row
from hbase_orm.query import Select
from hbase_orm.reading.columnar.arrow_columns import ArrowColumn


class Gathering(Protocol):
    """Gathers the columns of rows."""

    def matching(self, page: Sequence[Row], /) -> Sequence[Row]:
        """Return the rows of a page that exist and fulfil every condition."""
        ...

    def add(self, rows: Sequence[Row], /) -> int:
        """Add rows until one cannot be gathered; return the number of added rows."""
        ...

    def take(self) -> list[Any] | None:
        """Return the arrays of the added rows, and start again; None if there are no rows."""
        ...


def gathering_of(
    bound: BoundModel, stmt: Select[Any], columns: Sequence[ArrowColumn], batch_rows: int
) -> Gathering | None:
    """Return what gathers the columns of a statement; None if its rows are read as values."""
    del bound, stmt, columns, batch_rows
    return None
