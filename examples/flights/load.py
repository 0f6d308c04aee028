"""Brings the tables to their end state from whatever an earlier run has left.

The note in `demo_loads` is written before the first row and finished after the last total:

- no note, or one of other data: everything is dropped and begun again;
- unfinished note, table LOADING (or still NEW): the load is run again from the first row. The
  catalog keeps its timestamp, so that rows and index entries are written as they were: no doubles;
- unfinished note, table READABLE: all rows are in. Increments cannot be repeated, so the totals are
  deleted and added up again;
- finished note, table READABLE: nothing is left to do.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from examples.flights.data import FlightData
from examples.flights.expect import Total
from examples.flights.model import CarrierTotal, Flight, LoadNote, flight_of
from hbase_orm import Engine, Session, select
from hbase_orm.errors import TableNotFoundError
from hbase_orm.index.catalog.entry import TableState

NOTE = "flights"
MODELS = (LoadNote, CarrierTotal, Flight)

Say = Callable[[str], None]
Track = Callable[[Iterator[Flight]], Iterable[Flight]]


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a load took.

    Attributes:
        rows: How many flights it wrote; 0 if they were there.
        seconds: How long it took.
    """

    rows: int = 0
    seconds: float = 0.0


class Loader:
    """Loads one data set into one HBase."""

    def __init__(
        self, engine: Engine, data: FlightData, totals: Iterable[Total], flights: int
    ) -> None:
        """Prepare; nothing is sent."""
        self._engine = engine
        self._data = data
        self._totals = totals
        self._wanted = (flights, data.checksum)

    def run(self, say: Say, track: Track) -> Loaded:
        """Do what is missing.

        Args:
            say: Is told what was found and what is done about it.
            track: Shows how far the flights that pass through it have come.
        """
        with self._engine.session() as session:
            note, state = self._found(session)
            if note is None or state not in _USABLE:
                note, state = self._begin(session, say), TableState.NEW
            if note.finished is not None:
                say(f"reused: loaded by a run that ended {note.finished:%Y-%m-%d %H:%M} UTC")
                return Loaded()
            loaded = Loaded()
            if state is TableState.READABLE:
                say("an earlier run loaded all flights, but not all totals")
            else:
                if state is TableState.LOADING:
                    say("an earlier load was interrupted: it is run again and finished")
                loaded = self._load(session, track)
            self._add_up(session)
            note.finished = datetime.now(UTC)
            session.add(note)
            session.flush()
        return loaded

    def _found(self, session: Session) -> tuple[LoadNote | None, TableState | None]:
        state = self._engine.table_state(Flight)
        try:
            note = session.get(LoadNote, name=NOTE)
        except TableNotFoundError:
            note = None
        if note is None or (note.flights, note.checksum) != self._wanted:
            return None, state
        if note.finished is not None and state is not TableState.READABLE:
            return None, state
        return note, state

    def _begin(self, session: Session, say: Say) -> LoadNote:
        # The note's table goes first: a run that is interrupted here finds none, and comes back.
        dropped = self._engine.drop_tables(*MODELS)
        if dropped:
            say(f"dropped, for they hold other flights or part of them: {', '.join(dropped)}")
        say(f"created: {', '.join(self._engine.create_tables(*MODELS))}")
        flights, checksum = self._wanted
        note = LoadNote(name=NOTE, flights=flights, checksum=checksum)
        session.add(note)
        session.flush()
        return note

    def _load(self, session: Session, track: Track) -> Loaded:
        start = time.monotonic()
        # Every load writes the same rows, so requests of a killed one may still arrive.
        with session.bulk(insert_only=True, gateway_timeout_s=0) as bulk:
            bulk.add_all(track(map(flight_of, self._data.lines())))
        return Loaded(bulk.report.written, time.monotonic() - start)

    def _add_up(self, session: Session) -> None:
        for old in session.all(select(CarrierTotal).allow_full_scan()):
            session.delete(old)
        session.flush()
        for total in self._totals:
            session.add(CarrierTotal(carrier=total.carrier, name=total.name))
        session.flush()
        for total in self._totals:
            session.increment(
                CarrierTotal,
                CarrierTotal.flights.by(total.flights),
                CarrierTotal.departed.by(total.departed),
                CarrierTotal.miles.by(total.miles),
                carrier=total.carrier,
            )


_USABLE = {TableState.NEW, TableState.LOADING, TableState.READABLE}
