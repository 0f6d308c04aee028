"""A process that writes trips of its own while they move to another table, and checks its reads.

Run as a program with the URL, its number, the name of a change of `CHANGES`, and "old" or "new": the
class with which it begins. When the old class is refused it goes on with the new one, like a program
that is deployed again. It prints "begun" after some writes. It ends when its input ends; the last line of its output is one
JSON object: what its rows may be, how much it did, and what it read wrongly.
"""

from __future__ import annotations

import json
import random
import sys
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from hbase_orm import (
    Counter,
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Offset,
    Salt,
    TablePerPeriod,
    codecs,
    column,
    connect,
    counter,
    key,
    rowkey,
    select,
)
from hbase_orm.errors import (
    ConnectionLostError,
    FlushError,
    HBaseORMError,
    SchemaDriftError,
)

OWN_ROWS: Final = 60
COUNTED_ROWS: Final = 12
"""The trips of a writer whose seats it counts; it neither changes nor deletes them otherwise."""

TAILS: Final = 6
MONTHS: Final = 15
DESTINATIONS: Final = 11
BEGUN_AFTER: Final = 5
NOON: Final = datetime(2024, 1, 1, 12, tzinfo=UTC)

State = tuple[str, int, str | None] | None
"""The fields of a trip: destination, miles and note; None for a trip that does not exist."""


class _Trip(Model, abstract=True):
    """A flight of an aircraft. Subclasses declare the row key, the miles and the note."""

    d = Family(versions=2)
    at: Key[datetime] = key(codecs.millis())
    tail: Key[str] = key()
    destination: Mapped[str] = column(d)


class Trip(_Trip, table="trips"):
    """By time, without salt."""

    miles: Mapped[int] = column(_Trip.d, codec=codecs.uint32())
    note: Mapped[str | None] = column(_Trip.d, default=None)
    by_destination = Index(_Trip.destination)


class TripByTail(_Trip, table="trips_by_tail"):
    """By tail number, salted."""

    miles: Mapped[int] = column(_Trip.d, codec=codecs.int64())
    note: Mapped[str | None] = column(_Trip.d, "remark", default=None)
    by_destination = Index(_Trip.destination)
    by_miles = Index(miles)
    __rowkey__ = rowkey(Salt(4, of=[_Trip.tail]), _Trip.tail, _Trip.at)


class TripWithLongMiles(_Trip, table="trips_long_miles"):
    """As `Trip`, with another codec."""

    miles: Mapped[int] = column(_Trip.d, codec=codecs.int64())
    note: Mapped[str | None] = column(_Trip.d, default=None)
    by_destination = Index(_Trip.destination)


class TripWithRemark(_Trip, table="trips_remark"):
    """As `Trip`, with another qualifier."""

    miles: Mapped[int] = column(_Trip.d, codec=codecs.uint32())
    note: Mapped[str | None] = column(_Trip.d, "remark", default=None)
    by_destination = Index(_Trip.destination)


class _SaltedTrip(_Trip, abstract=True):
    miles: Mapped[int] = column(_Trip.d)
    note: Mapped[str | None] = column(_Trip.d, default=None)


class TripIn4(_SaltedTrip, table="trips_in_4"):
    """In 4 buckets."""

    by_destination = Index(_Trip.destination)
    __rowkey__ = rowkey(Salt(4), _Trip.tail, _Trip.at)


class TripIn16(_SaltedTrip, table="trips_in_16"):
    """In 16 buckets."""

    by_destination = Index(_Trip.destination)
    __rowkey__ = rowkey(Salt(16), _Trip.tail, _Trip.at)


class TripOfAllMonths(_Trip, table="trips_of_all_months"):
    """By time, with a counter."""

    miles: Mapped[int] = column(_Trip.d, codec=codecs.uint32())
    note: Mapped[str | None] = column(_Trip.d, default=None)
    seats: Counter = counter(_Trip.d)
    by_destination = Index(_Trip.destination)


class TripOfMonth(_Trip, table=TablePerPeriod("trips_%Y%m", of="at", period="month", create=True)):
    """In a table for each month, whose key has only the time within the month."""

    miles: Mapped[int] = column(_Trip.d, codec=codecs.int64())
    note: Mapped[str | None] = column(_Trip.d, "remark", default=None)
    seats: Counter = counter(_Trip.d)
    __rowkey__ = rowkey(_Trip.tail, Offset("month", of=_Trip.at))


Class = type[Model]
Change = tuple[Class, Class]
CHANGES: Final[dict[str, Change]] = {
    "row key": (Trip, TripByTail),
    "codec": (Trip, TripWithLongMiles),
    "qualifier": (Trip, TripWithRemark),
    "salt": (TripIn4, TripIn16),
    "months": (TripOfAllMonths, TripOfMonth),
}
"""The old and the new class of each change."""


def place(number: int, n: int, change: str = "") -> tuple[str, datetime]:
    """Return the tail number and the time of a writer's trip; "months" has trips in many months."""
    begin = month(n % MONTHS) if change == "months" else NOON
    return f"W{number}-{n % TAILS}", begin + timedelta(minutes=n)


def month(n: int) -> datetime:
    """Return a time in the month that is so many months after the first one."""
    return NOON.replace(year=NOON.year + n // 12, month=1 + n % 12)


@dataclass
class TripWriter:
    """The trips of one writer, and what they may be: several states after an unknown outcome."""

    engine: Engine
    change: Change
    model: Class
    number: int
    random: random.Random
    states: dict[int, list[State]] = field(default_factory=dict[int, list[State]])
    counts: dict[int, set[int]] = field(default_factory=dict[int, set[int]])
    """The numbers of seats that the counted trips may have."""
    written: int = 0
    failed: int = 0
    reads: int = 0
    refused: int = 0
    wrong: list[str] = field(default_factory=list[str])

    def step(self) -> None:
        """Write one trip and read some; use the new class if the old one is refused."""
        try:
            if self.has_counts and self.random.random() < 0.3:
                self.count(OWN_ROWS + self.random.randrange(COUNTED_ROWS))
            self.write(self.random.randrange(OWN_ROWS))
            if self.random.random() < 0.3:
                self.read()
        except SchemaDriftError:
            self._take_new_class()
        except FlushError as error:
            if any(isinstance(e, SchemaDriftError) for *_, e in error.not_written):
                self._take_new_class()
            self.failed += 1
        except HBaseORMError:
            self.failed += 1

    @property
    def name(self) -> str:
        """The name of the change."""
        return next(name for name, change in CHANGES.items() if change == self.change)

    @property
    def has_counts(self) -> bool:
        return hasattr(self.model, "seats")

    def place(self, n: int) -> tuple[str, datetime]:
        return place(self.number, n, self.name)

    def count(self, n: int) -> None:
        """Add seats to a counted trip; insert it before."""
        tail, at = self.place(n)
        own: State = ("counted", n, None)
        if self.states.get(n) != [own]:
            self._put(n, own)
        known = self.counts.setdefault(n, {0})
        added = self.random.randrange(1, 100)
        maybe = known | {seats + added for seats in known}
        model: Any = self.model
        try:
            with self.engine.session() as session:
                session.increment(model, model.seats.by(added), tail=tail, at=at)
        except ConnectionLostError:
            self.counts[n] = maybe
            raise
        self.counts[n] = {seats + added for seats in known}
        self.written += 1

    def _take_new_class(self) -> None:
        self.refused += 1
        old, new = self.change
        assert self.model is old
        self.model = new

    def write(self, n: int) -> None:
        self._put(n, self._some_state())

    def _put(self, n: int, wanted: State) -> None:
        tail, at = self.place(n)
        known = self.states.setdefault(n, [None])
        # Until there is an answer, the row may be as it was or as it is to be.
        self.states[n] = [*known, wanted]
        try:
            self._send(tail, at, wanted)
        except FlushError as error:
            if not error.unknown:
                self.states[n] = known
            raise
        except SchemaDriftError:
            self.states[n] = known
            raise
        self.states[n] = [wanted]
        self.written += 1

    def _some_state(self) -> State:
        if self.random.random() < 0.2:
            return None
        destination = f"D{self.random.randrange(DESTINATIONS)}"
        note = None if self.random.random() < 0.5 else f"note {self.random.randrange(1000)}"
        return destination, self.random.randrange(100_000), note

    def _send(self, tail: str, at: datetime, wanted: State) -> None:
        with self.engine.session() as session:
            row: Any = session.get(self.model, tail=tail, at=at)
            if wanted is None:
                if row is not None:
                    session.delete(row)
                return
            destination, miles, note = wanted
            if row is None:
                row = self.model(tail=tail, at=at, destination=destination, miles=miles, note=note)
                session.add(row)
            else:
                row.destination, row.miles, row.note = destination, miles, note

    def read(self) -> None:
        """Read some of the own trips by key, by range and by index."""
        n = self.random.randrange(OWN_ROWS + COUNTED_ROWS * self.has_counts)
        tail, at = self.place(n)
        with self.engine.session() as session:
            model: Any = self.model
            if self.random.random() < 0.3:
                found = session.all(select(model).where(model.tail == tail).allow_full_scan())
                self._check_all(n % TAILS, found, "a range")
            elif self.random.random() < 0.5:
                row = session.get(model, tail=tail, at=at)
                self._check(n, row, "get")
            else:
                destination = f"D{self.random.randrange(DESTINATIONS)}"
                by_index = select(model).where(model.destination == destination)
                found = session.all(by_index.allow_full_scan())
                own = [row for row in found if row.tail.startswith(f"W{self.number}-")]
                self._check_index(destination, own)
        self.reads += 1

    def _check(self, n: int, row: Any, by: str) -> None:
        state = None if row is None else (row.destination, row.miles, row.note)
        known = self.states.get(n, [None])
        if state not in known:
            self.wrong.append(f"{by} {self.model.__name__} {n}: {state} instead of {known}")
        elif len(known) > 1:
            self.states[n] = known  # a late request may still arrive
        if row is not None and n in self.counts and row.seats not in self.counts[n]:
            seats = sorted(self.counts[n])[:20]
            self.wrong.append(f"{by} {self.model.__name__} {n}: {row.seats} seats, not {seats}")

    def _check_all(self, tail: int, rows: list[Any], by: str) -> None:
        read = {row.at: row for row in rows}
        if len(read) != len(rows):
            self.wrong.append(f"{by} has a row twice")
        for n in range(tail, OWN_ROWS + COUNTED_ROWS * self.has_counts, TAILS):
            self._check(n, read.get(self.place(n)[1]), by)

    def _check_index(self, destination: str, rows: list[Any]) -> None:
        read = {(row.tail, row.at) for row in rows}
        for n, known in self.states.items():
            having = [state is not None and state[0] == destination for state in known]
            has_row = self.place(n) in read
            if (all(having) and not has_row) or (not any(having) and has_row):
                self.wrong.append(f"by index {destination} {n}: {has_row}, known {known}")

    def told(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "states": sorted(self.states.items()),
            "counts": [[n, sorted(seats)] for n, seats in sorted(self.counts.items())],
            "written": self.written,
            "failed": self.failed,
            "reads": self.reads,
            "refused": self.refused,
            "wrong": self.wrong[:20],
        }


def run(engine: Engine, change: Change, model: Class, number: int) -> dict[str, Any]:
    """Write until the input ends; return what is to be told."""
    ended = threading.Event()

    def listen() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=listen, daemon=True).start()
    writer = TripWriter(engine, change, model, number, random.Random(number))
    steps = 0
    while not ended.is_set():
        writer.step()
        steps += 1
        if steps == BEGUN_AFTER:
            sys.stdout.write('"begun"\n')
            sys.stdout.flush()
    return writer.told()


if __name__ == "__main__":
    url, own_number, name, first = sys.argv[1:5]
    own_change = CHANGES[name]
    begins_with = own_change[first == "new"]
    with connect(url) as connected:
        told = run(connected, own_change, begins_with, int(own_number))
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()
