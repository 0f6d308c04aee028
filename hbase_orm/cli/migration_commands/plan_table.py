"""Prints the plan of an upgrade or a downgrade."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from hbase_orm.cli.frame import table
from hbase_orm.cli.migration_commands.progress import duration
from hbase_orm.migrate import Direction, Estimate, MigrationPlan, PlannedStep

_HEAD: Final = (
    "revision",
    "step",
    "what",
    "tables",
    "rows",
    "requests",
    "time",
    "cannot be undone",
)


def plan_as_json(plan: MigrationPlan, direction: Direction) -> dict[str, Any]:
    """Return a plan as a value for JSON."""
    return {
        "direction": direction.value,
        "revisions": [each.id for each in plan.revisions],
        "steps": [_step_as_json(each) for each in plan.steps],
    }


def _step_as_json(planned: PlannedStep) -> dict[str, Any]:
    step, estimate = planned.step, planned.estimate
    return {
        "revision": step.revision.id,
        "step": step.number,
        "steps": step.count,
        "what": step.operation.describe(),
        "tables": list(estimate.tables),
        "rows": estimate.rows,
        "requests": estimate.requests,
        "seconds": estimate.seconds,
        "waits_s": estimate.waits_s,
        "irreversible": planned.irreversible,
        "is_continued": planned.is_continued,
    }


def plan_lines(plan: MigrationPlan, direction: Direction) -> Iterator[str]:
    """Yield the lines of a plan."""
    if not plan.revisions:
        yield "nothing to do"
        return
    named = ", ".join(map(str, plan.revisions))
    yield f"{direction.value}: {named}"
    if plan.steps:
        yield from table(_HEAD, [_row(each) for each in plan.steps])


def _row(planned: PlannedStep) -> tuple[str, ...]:
    step, estimate = planned.step, planned.estimate
    continued = " (continues)" if planned.is_continued else ""
    return (
        step.revision.id,
        f"{step.number}/{step.count}",
        step.operation.describe() + continued,
        ", ".join(estimate.tables) or "-",
        _number(estimate.rows),
        _number(estimate.requests),
        _time(estimate),
        planned.irreversible or "-",
    )


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _time(estimate: Estimate) -> str:
    works = "-" if estimate.seconds is None else duration(estimate.seconds)
    return f"{works} + {duration(estimate.waits_s)} wait" if estimate.waits_s else works
