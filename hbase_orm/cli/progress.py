"""Shows on standard error how far a command is that takes longer than a moment.

On a terminal one line is kept up to date; elsewhere, for example in a log, a line is printed every
some seconds.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Self

import click

from hbase_orm.cli.frame import note
from hbase_orm.session import BuildProgress

LINES_EVERY_S: Final = 10.0
"""The time between two lines where standard error is no terminal."""

NO_OLD_ENTRY: Final = "no program uses an old catalog entry"

_SOON_S: Final = 2.0
_LOOK_S: Final = 0.2
_STEPS: Final = 1000
_MINUTE_S: Final = 60
_PHASES: Final = {
    "rows": "rows",
    "wait": "waiting for other processes",
    "check": "comparing rows with entries",
}


def duration(seconds: float) -> str:
    """Return a time as a text.

    Examples:
        >>> duration(29.6), duration(1260)
        ('30 s', '21 min 0 s')
    """
    minutes, rest = divmod(round(seconds), _MINUTE_S)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


class WaitLines:
    """Shows waits: first how long one takes and why, then how much of it is left."""

    def __init__(self, until: str = NO_OLD_ENTRY) -> None:
        """Prepare; `until` completes the sentence "waiting 30 s, until ..."."""
        self._until = until
        self._left_s: float | None = None
        self._shown_s = 0.0

    def __call__(self, left_s: float) -> None:
        """Show a wait of which `left_s` seconds are left."""
        if self._left_s is None or left_s > self._left_s:
            note(f"waiting {duration(left_s)}, until {self._until}")
            self._shown_s = left_s
        elif sys.stderr.isatty():
            click.echo(f"\r{duration(left_s)} left ", err=True, nl=left_s <= 1)
        elif self._shown_s - left_s >= LINES_EVERY_S:
            note(f"{duration(left_s)} left")
            self._shown_s = left_s
        self._left_s = left_s


class _Lines:
    """Prints a line now and then: soon on a terminal, every some seconds elsewhere."""

    def __init__(self) -> None:
        self._next_s = time.monotonic() + _SOON_S
        self.is_open = False
        """Whether the last line has no end yet, as on a terminal."""

    def show(self, text: str) -> None:
        now_s = time.monotonic()
        if now_s < self._next_s:
            return
        is_terminal = sys.stderr.isatty()
        self._next_s = now_s + (1.0 if is_terminal else LINES_EVERY_S)
        click.echo(f"\r{text} " if is_terminal else text, err=True, nl=not is_terminal)
        self.is_open = is_terminal


class WorkLines:
    """Shows within a with block that a command still works, and for how long.

    The first line comes after a moment, so that a short command prints nothing. It may be called
    like `WaitLines`: while there are waits, only these are shown.
    """

    def __init__(self, doing: str | Callable[[], str], until: str = NO_OLD_ENTRY) -> None:
        """Prepare; `doing` is what the command does, such as "dropping orders"."""
        self._doing = doing
        self._waits = WaitLines(until)
        self._lines = _Lines()
        self._begun_s = self._waited_s = time.monotonic()
        self._is_waiting = False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._show_lines, daemon=True)

    def __enter__(self) -> Self:
        """Start to show lines."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Show no more lines."""
        self.close()

    def close(self) -> None:
        """Show no more lines; closing twice is allowed."""
        if self._ended.is_set():
            return
        self._ended.set()
        self._thread.join()
        if self._lines.is_open:
            click.echo(err=True)

    def __call__(self, left_s: float) -> None:
        """Show a wait of which `left_s` seconds are left."""
        self._waited_s = time.monotonic()
        self._is_waiting = True
        self._waits(left_s)

    def _show_lines(self) -> None:
        while not self._ended.wait(_LOOK_S):
            now_s = time.monotonic()
            if not self._is_waiting or now_s - self._waited_s > _SOON_S:
                doing = self._doing if isinstance(self._doing, str) else self._doing()
                self._lines.show(f"{doing}: {duration(now_s - self._begun_s)} so far")


def compared_lines(label: str) -> Callable[[int], None]:
    """Return a function that shows how many entries of an index were compared so far."""
    lines = _Lines()
    return lambda count: lines.show(f"{label}: {count} compared so far")


@contextmanager
def build_progress(*, exclusive: bool) -> Iterator[Callable[[BuildProgress], None]]:
    """Yield a function that shows the progress of a build: by a bar, or by lines in a log."""
    if not sys.stderr.isatty():
        repeated = "" if exclusive else ", and no gateway repeats a request"
        lines, waits = _Lines(), WaitLines(NO_OLD_ENTRY + repeated)

        def show_lines(progress: BuildProgress) -> None:
            if progress.phase == "wait":
                waits(progress.left_s)
            else:
                lines.show(f"{_text(progress)}, {progress.fraction:.0%} done")

        yield show_lines
        return
    with click.progressbar(length=_STEPS, file=sys.stderr, width=30) as bar:

        def show_bar(progress: BuildProgress) -> None:
            bar.label = _text(progress)
            bar.update(int(progress.fraction * _STEPS) - bar.pos)
            bar.render_progress()  # an update by nothing shows nothing

        yield show_bar


def _text(progress: BuildProgress) -> str:
    text = f"{progress.rows} rows, {_PHASES.get(progress.phase, progress.phase)}"
    return f"{text}, {duration(progress.left_s)} left" if progress.left_s else text
