"""Decides which table holds an object's row: the model's only table, or the table of a period."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Protocol

from hbase_orm import ops
from hbase_orm.binding.addressing.misfits import misfit
from hbase_orm.errors import CodecError, ConfigurationError
from hbase_orm.execute import PeriodRow
from hbase_orm.ops import ListTables, Row, ask
from hbase_orm.query import Select
from hbase_orm.rowkey.periods import TablePeriod
from hbase_orm.schema import TableSchema


class Tables(Protocol):
    """The tables of a model; a period's table is identified by the start of the period."""

    @property
    def declared(self) -> str:
        """The name of the table, or the pattern of the names of the tables."""
        ...

    @property
    def is_only(self) -> bool:
        """Whether the model has one table for all its rows."""
        ...

    @property
    def are_made_by_writes(self) -> bool:
        """Whether a write creates its table if the table does not exist."""
        ...

    def start_of(self, values: Mapping[str, Any], /) -> datetime | None:
        """Return the start of the period whose table holds the row of these field values.

        None if the model has only one table, or if this object is for one period only (see `at`).

        Raises:
            RowKeyError: The field that decides the period has no value or a wrong value.
        """
        ...

    def start_of_row(self, row: Row, /) -> datetime | None:
        """Return the start of the period whose table a row was read from.

        None if the model has only one table.
        """
        ...

    def has(self, table: str, /) -> bool:
        """Return whether a table is one of the model's tables, whether it exists or not."""
        ...

    def start_of_table(self, table: str, /) -> datetime | None:
        """Return the start of the period whose rows `table` holds.

        None if the model has only one table.

        Raises:
            ConfigurationError: `table` is not a table of the model.
        """
        ...

    def at(self, start: datetime, /) -> tuple[str, Tables]:
        """Return the table for the period that begins at `start`.

        Returns:
            The name of the table, and a `Tables` object for only this table.
        """
        ...

    def starts(
        self, periods: tuple[datetime, datetime] | None, /
    ) -> Iterator[datetime] | tuple[None]:
        """Return the starts of all periods between two times.

        The first period contains the first time. A period that begins at the second time is
        excluded. The result is `(None,)` if the model has only one table.

        Raises:
            ConfigurationError: `periods` is missing, or is not two times in ascending order.
        """
        ...

    def values_at(self, at: datetime | None, /) -> Mapping[str, Any]:
        """Return key field values with which `start_of` chooses the table for the time `at`.

        The result is empty if the model has only one table.

        Raises:
            ConfigurationError: `at` is missing, and there is a table for each period.
        """
        ...

    def existing(
        self, periods: tuple[datetime, datetime] | None = None, /
    ) -> ops.Protocol[list[str]]:
        """Return the names of the model's tables.

        For a model with a table for each period, these are the existing tables; with `periods`,
        only those of the periods between the two times. For any other model this is its only table,
        even if it does not exist.

        Raises:
            ConfigurationError: `periods` is not two times in ascending order, or is given although
                there is only one table.
        """
        ...

    def starts_to_plan(self, stmt: Select[Any], /) -> ops.Protocol[list[datetime] | None]:
        """Return the starts of all periods that have a table.

        None if the model has only one table, or if `stmt` does not allow a full scan.
        """
        ...


@dataclass(frozen=True, slots=True)
class OneTable:
    """The only table of a model, which holds all its rows. The table must exist.

    Attributes:
        model_name: The name of the model.
        table: The name of the table.
    """

    model_name: str
    table: str

    is_only = True
    are_made_by_writes = False

    @property
    def declared(self) -> str:
        """The name of the table."""
        return self.table

    def start_of(self, values: Mapping[str, Any], /) -> None:  # none decides
        """Return None, because the model has no periods."""

    def start_of_row(self, row: Row, /) -> None:  # all are in one
        """Return None, because the model has no periods."""

    def has(self, table: str, /) -> bool:
        """Return whether a table is the model's table."""
        return table == self.table

    def start_of_table(self, table: str, /) -> None:
        """Return None, because the model has no periods, after a check of the table's name.

        Raises:
            ConfigurationError: `table` is not the table of the model.
        """
        if table != self.table:
            raise _not_of_model(self.model_name, table, self.table)

    def at(self, start: datetime, /) -> tuple[str, Tables]:  # noqa: ARG002  # at any time
        """Return the table's name, and this object."""
        return self.table, self

    def starts(self, periods: tuple[datetime, datetime] | None, /) -> tuple[None]:  # noqa: ARG002
        """Return `(None,)`, because there are no periods."""
        return (None,)

    def values_at(self, at: datetime | None, /) -> Mapping[str, Any]:  # noqa: ARG002  # at any time
        """Return an empty mapping, because no field decides the table."""
        return {}

    def existing(
        self, periods: tuple[datetime, datetime] | None = None, /
    ) -> ops.Protocol[list[str]]:
        """Return the name of the table; with `periods`, raise a ConfigurationError."""
        yield from ()
        if periods is not None:
            raise ConfigurationError(
                "periods are given, but the model has one table for all times",
                model=self.model_name,
                table=self.table,
                fix="name only models with a table for each period, or leave periods= out",
            )
        return [self.table]

    def starts_to_plan(self, stmt: Select[Any], /) -> ops.Protocol[list[datetime] | None]:  # noqa: ARG002  # of none
        """Return None, because the model has no periods."""
        yield from ()
        return None


@dataclass(frozen=True, slots=True)
class PeriodTables:
    """The tables of a model with one table per period. A period without a table has no rows.

    Attributes:
        schema: The declared schema of the model, with the pattern of the tables' names.
        period: The declaration of the period.
        chosen: The start of the only period whose table this object stands for. None if it stands
            for the tables of all periods.
    """

    schema: TableSchema
    period: TablePeriod
    chosen: datetime | None = None

    is_only = False

    @property
    def declared(self) -> str:
        """The pattern of the names of the tables."""
        return self.schema.table

    @property
    def are_made_by_writes(self) -> bool:
        """Whether a write creates its table if the table does not exist."""
        return self.period.is_made_by_writes

    def start_of(self, values: Mapping[str, Any], /) -> datetime | None:
        """Return the start of the period whose table holds the row; None if `chosen` is set."""
        if self.chosen is not None:
            return None
        name = self.period.field
        codec = self.schema.layout.codec(name)
        try:
            at = values[name] if codec is None else codec.normalize(values[name])
        except CodecError as error:
            raise misfit(self.schema, name, error) from error
        return self.period.unit.start(at)

    def start_of_row(self, row: Row, /) -> datetime | None:
        """Return the start of the period whose table `row` was read from; None if it is unknown."""
        return row.start if isinstance(row, PeriodRow) else None

    def has(self, table: str, /) -> bool:
        """Return whether a table is that of a period."""
        return self.period.unit.start_of(self.schema.table, table) is not None

    def start_of_table(self, table: str, /) -> datetime | None:
        """Return the start of the period whose rows a table holds."""
        start = self.period.unit.start_of(self.schema.table, table)
        if start is None:
            raise _not_of_model(self.schema.model_name, table, self.schema.table)
        return start

    def at(self, start: datetime, /) -> tuple[str, Tables]:
        """Return the name of a period's table, and `PeriodTables` with only this table."""
        return self.period.unit.name_of(self.schema.table, start), replace(self, chosen=start)

    def starts(self, periods: tuple[datetime, datetime] | None, /) -> Iterator[datetime]:
        """Return the starts of all periods between two times."""
        first, after_last = _checked_periods(self.schema.model_name, periods)
        return iter(self.period.unit.starts(first, after_last - timedelta(microseconds=1)))

    def values_at(self, at: datetime | None, /) -> Mapping[str, Any]:
        """Return a key field value with which `start_of` chooses the table for the time `at`."""
        if at is None:
            raise ConfigurationError(
                "the model has a table for each period: give a time in the period",
                model=self.schema.model_name,
                fix="engine.regions(M, at=...)",
            )
        return {self.period.field: at}

    def existing(
        self, periods: tuple[datetime, datetime] | None = None, /
    ) -> ops.Protocol[list[str]]:
        """Return the names of the existing tables of all periods, or of those in `periods`."""
        unit = self.period.unit
        checked = None if periods is None else _checked_periods(self.schema.model_name, periods)
        tables = yield from ask(ListTables())
        starts = ((name, unit.start_of(self.schema.table, name)) for name in tables)
        return [
            name
            for name, start in starts
            if start is not None
            and (checked is None or unit.start(checked[0]) <= start < checked[1])
        ]

    def starts_to_plan(self, stmt: Select[Any], /) -> ops.Protocol[list[datetime] | None]:
        """Return the starts of all periods with a table; None if `stmt` allows no full scan."""
        if not stmt.full_scan_allowed:
            return None
        tables = yield from ask(ListTables())
        starts = (self.period.unit.start_of(self.schema.table, table) for table in tables)
        return [start for start in starts if start is not None]


def tables_of(schema: TableSchema) -> Tables:
    """Return the object that decides which table holds a row of the schema's model."""
    period = schema.layout.table_period
    if period is None:
        return OneTable(schema.model_name, schema.table)
    return PeriodTables(schema, period)


def refuse_needless_periods(
    periods: tuple[datetime, datetime] | None, tables: Sequence[Tables], models: list[str]
) -> None:
    """Raise an error if periods are given but no model has a table for each period.

    Raises:
        ConfigurationError: `periods` is given, and every model has only one table.
    """
    if periods is not None and all(each.is_only for each in tables):
        raise ConfigurationError(
            "periods are given, but no model has a table for each period",
            models=models,
            fix="leave periods= out",
        )


def _checked_periods(
    model: str, periods: tuple[datetime, datetime] | None
) -> tuple[datetime, datetime]:
    """Return the two times of `periods`: the first (included) and the last (excluded).

    Raises:
        ConfigurationError: The times are missing, have no time zone, or are not in ascending order.
    """
    fix = "give periods=(first, after_last)"
    if periods is None:
        raise ConfigurationError(
            "the model has a table for each period: give the periods to create",
            model=model,
            fix="create_tables(M, periods=(first, after_last))",
        )
    is_pair = isinstance(periods, (tuple, list)) and len(periods) == 2  # noqa: PLR2004 - a pair
    if not is_pair or not all(isinstance(at, datetime) and at.tzinfo for at in periods):
        raise ConfigurationError(
            "periods= takes two datetimes, both with a time zone",
            model=model,
            periods=periods,
            fix=fix,
        )
    if periods[0] >= periods[1]:
        raise ConfigurationError(
            "the periods end before they begin", model=model, periods=periods, fix=fix
        )
    return periods


def _not_of_model(model_name: str, table: str, declared: str) -> ConfigurationError:
    return ConfigurationError(
        "the table does not belong to the model",
        model=model_name,
        table=table,
        declared=declared,
        fix="give the name as HBase lists it",
    )
