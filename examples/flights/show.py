"""Asks, shows and checks: plan, time and rows of each query, compared with what must come back."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple
from datetime import UTC, datetime, timedelta
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from examples.flights.data import NOT_AVAILABLE, FlightLine
from examples.flights.expect import NEWEST, Expected, Total, newest_first
from examples.flights.model import BUCKETS, CarrierTotal, Flight, line_of
from hbase_orm import Engine, Plan, Select, Session, select

_SHOWN_ROWS = 10
_MS_PER_S = 1000
_FLIGHT_HEAD = ("tail", "scheduled (UTC)", "", "flight", "from", "to", "delay", "miles")
_TOTAL_HEAD = ("", "carrier", "flights", "departed", "miles")


class WrongAnswerError(Exception):
    """HBase answered something else than the CSV says."""


class Show:
    """Runs the queries, one after the other, and prints what happens."""

    def __init__(
        self, console: Console, engine: Engine, session: Session, expected: Expected
    ) -> None:
        """Prepare; nothing is sent."""
        self._console = console
        self._engine = engine
        self._session = session
        self._expected = expected

    def one_get(self) -> None:
        """Get the flight that left with the longest delay."""
        latest = self._expected.latest
        key = {
            "tail": latest.tail,
            "scheduled": _time(latest),
            "carrier": latest.carrier,
            "number": int(latest.number),
        }
        stmt = select(Flight).where(
            Flight.tail == latest.tail,
            Flight.scheduled == _time(latest),
            Flight.carrier == latest.carrier,
            Flight.number == int(latest.number),
        )
        self._head(
            "One get: the longest delay of the year", "session.get(Flight, tail=…, scheduled=…, …)"
        )
        self._plan(self._session.explain(stmt))
        found, ms = _timed(lambda: self._session.get(Flight, **key))
        self._flights([found] if found else [], [latest], ms)

    def one_month(self) -> None:
        """Scan the flights of one plane in one month."""
        tail, month = self._expected.tail, self._expected.month
        start = datetime.strptime(month, "%Y-%m").replace(tzinfo=UTC)
        stop = (start + timedelta(days=31)).replace(day=1)
        stmt = select(Flight).where(
            Flight.tail == tail, Flight.scheduled >= start, Flight.scheduled < stop
        )
        self._head(
            f"A range scan: plane {tail} in {month}",
            "select(Flight).where(Flight.tail == tail, Flight.scheduled >= start, "
            "Flight.scheduled < stop)",
        )
        self._ask(stmt, self._expected.in_month)

    def newest(self) -> None:
        """Read the newest departures of one plane, and of those without registration."""
        for tail, name, lines in (
            (self._expected.tail, f"plane {self._expected.tail}", self._expected.newest),
            ("", "unknown planes", self._expected.newest_unknown),
        ):
            self._head(
                f"The newest {NEWEST} departures of {name}, over all {BUCKETS} salt buckets",
                f'select(Flight).where(Flight.tail == "{tail}").limit({NEWEST})',
            )
            self._ask(select(Flight).where(Flight.tail == tail).limit(NEWEST), lines)

    def by_destination(self) -> None:
        """Ask the index for the flights to one airport on one day."""
        airport, day = self._expected.destination, self._expected.day
        start = datetime.fromisoformat(f"{day}T00:00Z")
        stop = start + timedelta(days=1)
        stmt = select(Flight).where(
            Flight.destination == airport, Flight.scheduled >= start, Flight.scheduled < stop
        )
        self._head(
            f"An index query: flights to {airport} on {day}",
            "select(Flight).where(Flight.destination == airport, Flight.scheduled >= start, "
            "Flight.scheduled < stop)",
        )
        # Flights of the same minute stand in the index by their row keys, which begin with the
        # salt: between those the CSV knows no order.
        self._ask(stmt, self._expected.arriving, arranged=newest_first)

    def totals(self) -> None:
        """Read the counters of every carrier."""
        self._head("Counters: every carrier's year", "select(CarrierTotal).allow_full_scan()")
        stmt = select(CarrierTotal).allow_full_scan()
        self._plan(self._session.explain(stmt))
        found, ms = _timed(lambda: self._session.all(stmt))
        totals = [Total(t.carrier, t.name, t.flights, t.departed, t.miles) for t in found]
        rows = [(t.carrier, t.name, *(f"{n:,}" for n in astuple(t)[2:])) for t in totals]
        self._table(_TOTAL_HEAD, rows, numbers=(2, 3, 4), most=len(rows))
        self._verdict(totals, self._expected.totals)
        self._right(_rows(totals), ms)

    def everything(self) -> None:
        """Read every row and every index entry: each line of the CSV once, and nothing else."""
        self._head("Everything: no row lost, none doubled", "select(Flight).allow_full_scan()")
        stmt = select(Flight).allow_full_scan()
        self._plan(self._session.explain(stmt))
        (rows, fingerprint), ms = _timed(lambda: self._fingerprint(stmt))
        wanted = self._expected
        self._verdict([(rows, fingerprint)], [(wanted.flights, wanted.fingerprint)])
        self._right(f"{rows:,} rows", ms, "equal to the CSV, line by line")
        entries, ms = _timed(self._index_entries)
        self._verdict([f"{entries} index entries"], [f"{wanted.flights} index entries"])
        self._right(f"{entries:,} index entries", ms, "one for each row")

    def _fingerprint(self, stmt: Select[Flight]) -> tuple[int, int]:
        rows = fingerprint = 0
        with self._session.stream(stmt) as flights:
            for flight in flights:
                rows += 1
                fingerprint += hash(line_of(flight))
        return rows, fingerprint

    def _index_entries(self) -> int:
        (status,) = self._engine.indexes(Flight).values()
        with self._engine.raw() as connection:
            return sum(1 for _ in connection.table(status.table).scan(batch_size=5000))

    # --- what is printed --------------------------------------------------------------------------

    def _ask(
        self,
        stmt: Select[Flight],
        lines: Sequence[FlightLine],
        arranged: Callable[[Sequence[FlightLine]], Sequence[FlightLine]] = list,
    ) -> None:
        self._plan(self._session.explain(stmt))
        found, ms = _timed(lambda: self._session.all(stmt))
        self._flights(found, lines, ms, arranged)

    def _flights(
        self,
        found: Sequence[Flight],
        lines: Sequence[FlightLine],
        ms: float,
        arranged: Callable[[Sequence[FlightLine]], Sequence[FlightLine]] = list,
    ) -> None:
        rows = [
            (
                *(flight.tail or "-", f"{flight.scheduled:%Y-%m-%d %H:%M}", flight.carrier),
                *(str(flight.number), flight.origin, flight.destination),
                *(_delay(line_of(flight)), str(flight.miles)),
            )
            for flight in found
        ]
        self._table(_FLIGHT_HEAD, rows, numbers=(3, 6, 7), most=_SHOWN_ROWS)
        times = [flight.scheduled for flight in found]
        if times != sorted(times, reverse=True):
            raise WrongAnswerError("the rows are not in order, newest first")
        self._verdict(arranged([line_of(flight) for flight in found]), lines)
        self._right(_rows(found), ms)

    def _head(self, title: str, code: str) -> None:
        self._console.print()
        self._console.rule(Text(title, "bold"), align="left")
        self._lines(code, "cyan")

    def _plan(self, plan: Plan) -> None:
        for line in str(plan).splitlines():
            self._lines(line, "dim")

    def _lines(self, line: str, style: str) -> None:
        """Print a line; what does not fit hangs below where its text begins."""
        stem = line[: len(line) - len(line.lstrip("│├└─ "))]
        hanging = stem.replace("├", "│").replace("└", " ").replace("─", " ")
        width = max(self._console.width, 40)
        for part in textwrap.wrap(line, width, subsequent_indent=f"{hanging}  "):
            self._console.print(Text(part, style))

    def _table(
        self,
        head: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        numbers: Sequence[int],
        most: int,
    ) -> None:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for number, title in enumerate(head):
            table.add_column(title, justify="right" if number in numbers else "left")
        for row in rows[:most]:
            table.add_row(*map(Text, row))
        self._console.print(table)
        if len(rows) > most:
            self._console.print(Text(f"… and {len(rows) - most} more", "dim"))

    def _verdict(self, found: Sequence[Any], wanted: Sequence[Any]) -> None:
        """Compare.

        Raises:
            WrongAnswerError: They differ; names the first difference.
        """
        if list(found) != list(wanted):
            raise WrongAnswerError(_difference(found, wanted))

    def _right(self, what: str, ms: float, how: str = "equal to the CSV") -> None:
        took = f"{ms:.0f} ms" if ms < _MS_PER_S else f"{ms / _MS_PER_S:.1f} s"
        self._console.print(Text(f"✓ {what} in {took}, {how}", "green"))


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    answer = call()
    return answer, (time.perf_counter() - start) * _MS_PER_S


def _rows(found: Sequence[Any]) -> str:
    return "1 row" if len(found) == 1 else f"{len(found):,} rows"


def _time(line: FlightLine) -> datetime:
    return datetime.fromisoformat(line.hour) + timedelta(minutes=int(line.minute))


def _delay(line: FlightLine) -> str:
    return "never left" if line.delay == NOT_AVAILABLE else f"{int(line.delay):+d} min"


def _difference(found: Sequence[Any], wanted: Sequence[Any]) -> str:
    counts = f"{len(found)} found, {len(wanted)} expected"
    for number, (one, other) in enumerate(zip(found, wanted, strict=False)):
        if one != other:
            return f"{counts}; row {number} is {one}, expected {other}"
    more = [*found[len(wanted) :], *wanted[len(found) :]]
    return f"{counts}; one that only one side has: {more[0]}"
