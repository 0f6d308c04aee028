"""A process that writes parcels at full speed until its input ends, and prints what it wrote.

Run as a program with the name of its model, the URL and its number. It writes any row, adds rows
that were not there and deletes some; it says "begun" once some are written, and the last line of its
output is one JSON object.
"""

from __future__ import annotations

import json
import random
import sys
import threading

from hbase_orm import Engine, Family, Index, Key, Mapped, Model, codecs, column, connect
from hbase_orm import key as key_field
from hbase_orm.errors import FlushError, SchemaError

ROWS = 2_000
CITIES = 23
BATCH_ROWS = 20


class OldParcel(Model, table="parcels"):
    """As programs declare them that were started before the index was."""

    d = Family()
    number: Key[int] = key_field(codecs.uint32())
    city: Mapped[str | None] = column(d, default=None)
    state: Mapped[str] = column(d)
    by_state = Index(state)


class Parcel(Model, table="parcels"):
    d = Family()
    number: Key[int] = key_field(codecs.uint32())
    city: Mapped[str | None] = column(d, default=None)
    state: Mapped[str] = column(d)
    by_state = Index(state)
    by_city = Index(city)


MODELS: dict[str, type[OldParcel | Parcel]] = {"OldParcel": OldParcel, "Parcel": Parcel}


def some_city() -> str | None:
    """Return one of the cities, or, half of the time, None."""
    return f"city{random.randrange(CITIES)}" if random.random() < 0.5 else None


def write_some(engine: Engine, model: type[OldParcel | Parcel], number: int) -> None:
    """Write some rows that everybody writes, and delete one."""
    with engine.session() as session:
        numbers = random.sample(range(ROWS + 500), BATCH_ROWS)
        session.delete(model(number=numbers.pop(), state="gone"))
        for n in numbers:
            session.replace(model(number=n, city=some_city(), state=f"by {number}"))


def write_on(engine: Engine, model: type[OldParcel | Parcel], number: int) -> dict[str, int]:
    """Write until the input ends or the model is refused; return how often."""
    ended = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    batches = refused = 0
    while not ended.is_set() and not refused:
        try:
            write_some(engine, model, number)
            batches += 1
            if batches == 1:
                sys.stdout.write("begun\n")
                sys.stdout.flush()
        except FlushError as error:
            reasons = {type(reason) for _, _, reason in error.not_written}
            refused += reasons == {SchemaError}
        except SchemaError:
            refused += 1
    return {"batches": batches, "refused": refused}


if __name__ == "__main__":
    random.seed(" ".join([sys.argv[1], *sys.argv[3:]]))
    with connect(sys.argv[2]) as connected:
        sys.stdout.write(json.dumps(write_on(connected, MODELS[sys.argv[1]], int(sys.argv[3]))))
        sys.stdout.flush()
