"""Makes the changes of a plan while programs use the tables. Each step is safe to repeat.

An interrupted alteration is finished by the next one, which plans only the changes that are left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from hbase_orm.binding.table_creation.existing_tables import described
from hbase_orm.errors import (
    ConflictError,
    ConnectionLostError,
    GatewayError,
    RejectedError,
    RetryableError,
    SchemaDriftError,
)
from hbase_orm.ops import (
    AddFamily,
    ModifyFamily,
    ModifyTable,
    Operation,
    Protocol,
    RenewTimeLimit,
    RetryPolicy,
    TableDescriptor,
    ask,
)
from hbase_orm.table_admin.changes import TableChange
from hbase_orm.table_admin.compare import ComparedTable
from hbase_orm.table_admin.plans import AlterationStep, steps_of
from hbase_orm.table_admin.record_drift import update_record

# HBase opens all regions again, some at a time; a large table needs longer than one request may
# take. A request that is repeated waits for the change that still runs.
_RETRIES: Final = RetryPolicy(attempts=8, first_pause_s=0.5)


@dataclass(frozen=True, slots=True)
class AlterationProgress:
    """The progress of an alteration.

    Attributes:
        changes: The changes that the next step makes.
        made: The number of changes that were made.
        total: The number of all changes.
    """

    changes: tuple[TableChange, ...]
    made: int
    total: int


OnAlteration = Callable[[AlterationProgress], None]
"""A function that is called before each step of an alteration."""


def alter(
    comparisons: Iterable[ComparedTable], changes: Sequence[TableChange], on_progress: OnAlteration
) -> Protocol[None]:
    """Make the changes of a plan, and wait until all regions use them.

    Args:
        comparisons: The comparisons that the plan was made from.
        changes: The plan.
        on_progress: A function that is called before each step.

    Raises:
        ConflictError: Another program changes a table or its record at the same time, or drops the
            table.
        SchemaDriftError: Another program has written a record that contradicts a model.
        GatewayError: A change was refused, or failed repeatedly. The details of the error name the
            changes that were `made` and those that are `left`.
    """
    by_table = {comparison.declared.table: comparison for comparison in comparisons}
    made: list[TableChange] = []
    for step in steps_of(changes):
        yield from ask(RenewTimeLimit())
        on_progress(AlterationProgress(step.changes, len(made), len(changes)))
        try:
            yield from _made(step, by_table)
        except (GatewayError, ConflictError, SchemaDriftError) as error:
            raise _interrupted(error, made, changes) from error
        made += step.changes


def _made(step: AlterationStep, by_table: dict[str, ComparedTable]) -> Protocol[None]:
    if step.request is not None:
        yield from _sent(step.request)
        yield from _shown(step.table, step.request)
        return
    comparison = by_table[step.table]
    if comparison.record is not None:
        yield from update_record(comparison.declared, comparison.record.table_id)


def _sent(request: Operation[None]) -> Protocol[None]:
    for failures in range(1, _RETRIES.attempts):
        try:
            return (yield from _sent_once(request))
        except (RetryableError, ConnectionLostError):
            yield from _RETRIES.pause(failures)
            yield from ask(RenewTimeLimit())
    return (yield from _sent_once(request))


def _sent_once(request: Operation[None]) -> Protocol[None]:
    try:
        yield from ask(request)
    except RejectedError:
        # A family is refused that another program, or a request whose answer was lost, has added.
        if not isinstance(request, AddFamily):
            raise
        existing = yield from described(request.table)
        if existing is None or not _shows(existing, request):
            raise


def _shown(table: str, request: Operation[None]) -> Protocol[None]:
    """Wait until the descriptor that HBase returns has the change."""
    for failures in range(1, _RETRIES.attempts + 1):
        existing = yield from described(table)
        if existing is not None and _shows(existing, request):
            return
        yield from _RETRIES.pause(failures)
        yield from ask(RenewTimeLimit())
    raise ConflictError(
        "the table does not have the change: another program may alter it at the same time",
        table=table,
        change=request,
        fix="alter the table from one program at a time, and repeat the alteration",
    )


def _shows(existing: TableDescriptor, request: Operation[None]) -> bool:
    families = {family.name: family for family in existing.families}
    match request:
        case AddFamily(family=family):
            return families.get(family.name) == family
        case ModifyFamily(family=name, options=options):
            return name in families and families[name].with_options(options) == families[name]
        case ModifyTable(options=options):
            return existing.with_options(options) == existing
    raise AssertionError(request)


def _interrupted(
    error: GatewayError | ConflictError | SchemaDriftError,
    made: Sequence[TableChange],
    changes: Sequence[TableChange],
) -> GatewayError | ConflictError | SchemaDriftError:
    """Return the same error, with the changes that were made and those that are left."""
    left = [str(change) for change in changes if change not in made]
    details = {**error.details, "made": list(map(str, made)), "left": left}
    fix = f"{error.fix or 'correct the cause'}; then repeat the alteration: it makes the rest"
    return type(error)(error.text, fix=fix, **details)
