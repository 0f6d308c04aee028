"""What the answers must be: passes over the CSV with `sorted` and sets, and nothing of the library.

Also chooses what is asked for, so that a sample of any size has answers: the plane and month, and
the destination and day, with the most flights.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from examples.flights.data import NOT_AVAILABLE, FlightData, FlightLine

NEWEST = 30


@dataclass(frozen=True, slots=True)
class Total:
    """What a carrier did."""

    carrier: str
    name: str
    flights: int
    departed: int
    miles: int


@dataclass(frozen=True, slots=True)
class Expected:
    """The answers.

    Attributes:
        flights: How many there are.
        keys: How many different keys they have.
        fingerprint: The sum of the lines' hashes: of any order, and only of these lines.
        tail: The plane that is asked for.
        month: In which month, as `2013-07`.
        destination: The airport that is asked for.
        day: On which day, as `2013-07-14`.
        latest: The flight that left with the longest delay.
        in_month: The plane's flights of the month, newest first.
        newest: The plane's newest flights, newest first.
        newest_unknown: The newest flights of planes whose registration is unknown.
        arriving: The flights to the airport on that day, newest first.
        totals: By carrier, in order of its letters.
    """

    flights: int
    keys: int
    fingerprint: int
    tail: str
    month: str
    destination: str
    day: str
    latest: FlightLine
    in_month: Sequence[FlightLine]
    newest: Sequence[FlightLine]
    newest_unknown: Sequence[FlightLine]
    arriving: Sequence[FlightLine]
    totals: Sequence[Total]


class _Survey:
    """Everything that one pass over the lines can find out without keeping them."""

    def __init__(self, lines: Iterable[FlightLine]) -> None:
        self.fingerprint = 0
        self.flights: Counter[str] = Counter()
        self.departed: Counter[str] = Counter()
        self.miles: Counter[str] = Counter()
        self.latest: FlightLine | None = None
        # Hashes instead of keys: about 25 MB for all flights. Different hashes prove different
        # keys; that two keys share a hash of 64 bits (1 in 300 million) would end the demo.
        self.keys: set[int] = set()
        months: Counter[tuple[str, str]] = Counter()
        days: Counter[tuple[str, str]] = Counter()
        for line in lines:
            self.flights[line.carrier] += 1
            self.departed[line.carrier] += line.delay != NOT_AVAILABLE
            self.miles[line.carrier] += int(line.distance)
            self.fingerprint += hash(line)
            self.keys.add(hash((line.tail, line.hour, line.minute, line.carrier, line.number)))
            if line.tail != NOT_AVAILABLE:
                months[line.tail, line.hour[:7]] += 1
            days[line.destination, line.hour[:10]] += 1
            if _delay(line) > (_delay(self.latest) if self.latest else -1):
                self.latest = line
        self.tail, self.month = months.most_common(1)[0][0]
        self.destination, self.day = days.most_common(1)[0][0]

    def totals(self, names: Mapping[str, str]) -> list[Total]:
        """Return every carrier's totals, in order of its letters."""
        return [
            Total(c, names[c], self.flights[c], self.departed[c], self.miles[c])
            for c in sorted(self.flights)
        ]


def _delay(line: FlightLine) -> int:
    return 0 if line.delay == NOT_AVAILABLE else int(line.delay)


def expected_of(data: FlightData) -> Expected:
    """Read the flights twice, and return what the demo's queries must answer."""
    survey = _Survey(data.lines())
    by_plane: list[FlightLine] = []
    unknown: list[FlightLine] = []
    arriving: list[FlightLine] = []
    for line in data.lines():
        if line.tail == survey.tail:
            by_plane.append(line)
        if line.tail == NOT_AVAILABLE:
            unknown.append(line)
        if line.destination == survey.destination and line.hour.startswith(survey.day):
            arriving.append(line)
    assert survey.latest is not None
    return Expected(
        flights=survey.flights.total(),
        keys=len(survey.keys),
        fingerprint=survey.fingerprint,
        tail=survey.tail,
        month=survey.month,
        destination=survey.destination,
        day=survey.day,
        latest=survey.latest,
        in_month=[line for line in newest_first(by_plane) if line.hour.startswith(survey.month)],
        newest=newest_first(by_plane)[:NEWEST],
        newest_unknown=newest_first(unknown)[:NEWEST],
        arriving=newest_first(arriving),
        totals=survey.totals(data.carrier_names()),
    )


def newest_first(lines: Iterable[FlightLine]) -> list[FlightLine]:
    """Return lines by scheduled departure, newest first, then by carrier and number."""
    by_number = sorted(lines, key=lambda line: (line.carrier, int(line.number)))
    return sorted(by_number, key=lambda line: (line.hour, int(line.minute)), reverse=True)
