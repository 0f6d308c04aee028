"""Shows how far a migration is: one line on a terminal, else a line every ten seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import click

from hbase_orm.cli.frame import note
from hbase_orm.migrate import Direction, Progress, RevisionStep, StepProgress
from hbase_orm.migrate.runner import OnStep

_PAUSE_S: Final = 10.0
_CLEAR: Final = "\r\x1b[K"
_MINUTE_S: Final = 60
_HOUR_S: Final = 3600
_DONE: Final = {Direction.UPGRADE: "upgraded", Direction.DOWNGRADE: "downgraded"}


@contextmanager
def shown_steps() -> Iterator[OnStep]:
    """Provide a function that prints the progress of steps to standard error."""
    shown = _Shown(is_terminal=sys.stderr.isatty())
    try:
        yield shown.show
    finally:
        shown.end()


class _Shown:
    """What was printed last, and when."""

    def __init__(self, *, is_terminal: bool) -> None:
        self._is_terminal = is_terminal
        self._printed_s = 0.0
        self._is_open = False

    def show(self, progress: StepProgress) -> None:
        """Print a line, unless it is too early for the next one."""
        if progress.step is None:
            self.end()
            note(f"{_DONE[progress.direction]} {progress.revision}")
            return
        line = _line(progress.step, progress.progress)
        if self._is_terminal:
            click.echo(f"{_CLEAR}{line}", nl=False, err=True)
            self._is_open = True
        elif progress.progress is None or time.monotonic() - self._printed_s >= _PAUSE_S:
            note(line)
            self._printed_s = time.monotonic()

    def end(self) -> None:
        """End the line on the terminal."""
        if self._is_open:
            click.echo("", err=True)
            self._is_open = False


def _line(step: RevisionStep, progress: Progress | None) -> str:
    begin = f"{step.revision.id} {step.number}/{step.count} {step.operation.describe()}"
    if progress is None:
        return begin
    parts = [progress.step]
    if progress.fraction is not None or progress.rows:
        parts.append(f"{progress.rows:,} rows")
    parts += [] if progress.fraction is None else [f"{progress.fraction:.0%}"]
    left_s = progress.seconds_left
    parts += [] if left_s is None else [f"{duration(left_s)} left"]
    return f"{begin}: {', '.join(filter(None, parts))}"


def duration(seconds: float) -> str:
    """Return a time for people."""
    if seconds >= _HOUR_S:
        return f"{seconds / _HOUR_S:.1f} h"
    if seconds >= 2 * _MINUTE_S:
        return f"{seconds / _MINUTE_S:.0f} min"
    return f"{seconds:.0f} s"


class Waits:
    """Prints one line, however often it is called."""

    def __init__(self) -> None:
        """Start without a line."""
        self._is_noted = False

    def __call__(self) -> None:
        """Print the line at the first call."""
        if not self._is_noted:
            note("another runner has the lock: watching for a lease whether it is still at work")
            self._is_noted = True
