"""What statements cost in a design: the real planner makes the ranges, the sampled keys count rows.

A statement is given as it is, or as a function: of the model, or of the model and a row that was
written. Such a function is called with many rows, so that its cost is that of the values that the
load writes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from hbase_orm.advise.lab.designs import Design
from hbase_orm.advise.lab.plan_reads import PlanReads, TableRead, reads_of
from hbase_orm.errors import ConfigurationError, HBaseORMError, QueryError, UnboundedScanError
from hbase_orm.model import Model
from hbase_orm.query import Plan, Select, plan

StatementOf = Select[Any] | Callable[..., Select[Any]]
"""A statement, or a function of a model, or of a model and a row, that returns one."""

DRAWS: Final = 20
"""How many rows a function of a model and a row is called with."""

_MODEL_AND_ROW: Final = 2


@dataclass(frozen=True, slots=True)
class LabStatement:
    """A statement whose cost is compared.

    Attributes:
        name: The name, for reports.
        of: The statement, or the function that returns it.
        per_s: How many times in a second it is run.
    """

    name: str
    of: StatementOf
    per_s: float = 1.0

    @property
    def arguments(self) -> int:
        """The number of arguments of the function; 0 for a statement.

        Raises:
            ConfigurationError: The value is neither a statement nor such a function.
        """
        if isinstance(self.of, Select):
            return 0
        if not callable(self.of) or isinstance(self.of, type):
            raise self._refused("it is neither a statement nor a function that returns one")
        signature = inspect.signature(self.of)
        for count in (0, 1, _MODEL_AND_ROW):
            try:
                signature.bind(*range(count))
            except TypeError:
                continue
            return count
        raise self._refused("the function has other arguments than (model) or (model, row)")

    def made_for(self, design: Design, row: int) -> Select[Any]:
        """Return the statement for a design, made with the values of one sampled row.

        Raises:
            ConfigurationError: The function fails, or returns something else.
        """
        if isinstance(self.of, Select):
            return self.of
        arguments = (design.model, SampledRow(design, row))[: self.arguments]
        try:
            made = self.of(*arguments)
        except HBaseORMError:
            raise
        except Exception as error:  # the user's function may raise anything
            reason = f"the function raised {type(error).__name__}: {error}"
            raise self._refused(reason) from error
        if not isinstance(made, Select):
            raise self._refused(f"the function returned {made!r}")
        return made

    def _refused(self, reason: str) -> ConfigurationError:
        return ConfigurationError(
            "the lab cannot use this as a statement",
            statement=self.name,
            reason=reason,
            fix="name a statement, or a function such as def newest(model, row): "
            "return select(model).where(model.host == row.host)",
        )


@dataclass(frozen=True, slots=True)
class StatementCost:
    """What one run of a statement costs in a design, on average, at the end of the load.

    Attributes:
        statement: The name of the statement.
        design: The label of the design.
        kind: The kind of the plan, e.g. "Scan" or "Index".
        scanners: How many scanners are opened.
        gets: How many row keys are got.
        ranges: How many key ranges are read.
        buckets: How many salt buckets are read in parallel; 1 without a salt.
        scanned: The rows that the regions read in the ranges.
        fetched: The rows of the model's table that are sent to the client.
        entries: The index entries that are sent to the client.
        wanted: The rows that match, up to the limit.
        is_full_scan: Whether the statement reads the whole table, so that it must allow that.
        is_refused: Whether a session refuses the statement, because it does not allow that.
        runs: How many statements were planned.
    """

    statement: str
    design: str
    kind: str
    scanners: float
    gets: float
    ranges: float
    buckets: float
    scanned: float
    fetched: float
    entries: float
    wanted: float
    is_full_scan: bool
    is_refused: bool
    runs: int

    @property
    def read_for_each(self) -> float:
        """The rows and entries that are read for each row that is wanted."""
        return (self.scanned + self.gets) / max(1.0, self.wanted)


@dataclass(frozen=True, eq=False)
class StatementReads:
    """What a statement costs in a design, and where it reads.

    Attributes:
        cost: The average cost.
        per_s: How many times in a second it is run.
        runs: For each planned statement, the second from which its row is there, and its reads.
    """

    cost: StatementCost
    per_s: float
    runs: tuple[tuple[float, tuple[TableRead, ...]], ...] = field(repr=False)


class SampledRow:
    """The values of a sampled row: attributes with the names of the fields, made when read."""

    def __init__(self, design: Design, row: int) -> None:
        """Prepare the row with this number among the sampled rows of a design."""
        self._design = design
        self._row = row

    def __getattr__(self, name: str) -> Any:
        """Return the value of a field.

        Raises:
            AttributeError: The model has no such field.
            ConfigurationError: Values of the field cannot be made.
        """
        schema = self._design.schema
        if name not in schema.codecs:
            message = f"rows of {schema.model_name} have no field {name}"
            raise AttributeError(message)
        return self._design.values((name,))[name][self._row]


def statement_reads(
    design: Design, statement: LabStatement, draws: int = DRAWS
) -> StatementReads | None:
    """Return what a statement costs in a design; None if it is one of another model.

    Raises:
        ConfigurationError: The statement does not fit the model.
    """
    if isinstance(statement.of, Select) and statement.of.model is not design.model:
        return None
    random = np.random.default_rng(design.rows.seed)
    count = draws if statement.arguments == _MODEL_AND_ROW else 1
    chosen_rows = random.integers(0, len(design.rows), size=count).tolist()
    runs: list[tuple[float, PlanReads]] = []
    is_full_scan = is_refused = False
    for row in chosen_rows:
        made = statement.made_for(design, row)
        if made.model is not design.model:
            return None
        chosen, is_whole = _planned(design, statement, made)
        is_full_scan |= is_whole
        is_refused |= is_whole and not made.full_scan_allowed
        own = row if count > 1 else None
        reads = reads_of(design, made, chosen, own_row=own, random=random)
        at_s = float(design.rows.written_at_s[row]) if count > 1 else 0.0
        runs.append((at_s, reads))
    cost = replace(
        _mean_cost(statement, design, [reads for _, reads in runs]),
        is_full_scan=is_full_scan,
        is_refused=is_refused,
    )
    return StatementReads(cost, statement.per_s, tuple((at_s, reads.reads) for at_s, reads in runs))


def _planned(design: Design, statement: LabStatement, made: Select[Any]) -> tuple[Plan, bool]:
    """Return the plan of a statement, and whether it needs the permission of a full scan."""
    periods = design.periods or None
    allowed = replace(made, full_scan_allowed=False)
    try:
        return plan(allowed, design.schema, design.numbers, periods), False
    except UnboundedScanError:
        allowed = replace(made, full_scan_allowed=True)
    except QueryError as error:
        raise _unfit(design, statement, error) from error
    try:
        return plan(allowed, design.schema, design.numbers, periods), True
    except QueryError as error:
        raise _unfit(design, statement, error) from error


def _unfit(design: Design, statement: LabStatement, error: QueryError) -> ConfigurationError:
    return ConfigurationError(
        "a statement cannot be planned for a design",
        statement=statement.name,
        design=design.label,
        reason=str(error),
        fix="compare fields that all designs have, or give statements of one model",
    )


def _mean_cost(
    statement: LabStatement, design: Design, every: Sequence[PlanReads]
) -> StatementCost:
    def mean(values: Iterator[float]) -> float:
        return float(np.mean([*values]))

    return StatementCost(
        statement=statement.name,
        design=design.label,
        kind=every[0].kind,
        scanners=mean(each.scanners for each in every),
        gets=mean(each.gets for each in every),
        ranges=mean(each.ranges for each in every),
        buckets=mean(each.buckets for each in every),
        scanned=mean(each.scanned for each in every),
        fetched=mean(each.fetched for each in every),
        entries=mean(each.entries for each in every),
        wanted=mean(each.wanted for each in every),
        is_full_scan=False,
        is_refused=False,
        runs=len(every),
    )


def is_of_model(statement: LabStatement, models: Sequence[type[Model]]) -> bool:
    """Return whether a statement is for one of the models."""
    return not isinstance(statement.of, Select) or statement.of.model in models
