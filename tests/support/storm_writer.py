"""A process that writes indexed rows beside others of its kind, and checks what it reads.

Run as a program with the verb, the URL, its number and how many writes it makes. Each line of its
output is one JSON object: that a write begins, that it is done, or that it failed.
"""

from __future__ import annotations

import json
import random
import sys
import time
from typing import Any

from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Session,
    codecs,
    column,
    connect,
    select,
)
from hbase_orm import key as key_field
from hbase_orm.binding.runtime import Runtime
from hbase_orm.errors import DuplicateRowError, FlushError, GatewayError, UniqueViolationError

ROWS = 499
VALUES = 23
COMMIT_ROWS = 100
OWN_ROWS = 10_000
"""Where the rows begin that one writer alone writes: what it reads of them is known."""

DELETE_ROWS = 10
DELETE_PAUSE_S = 0.02


class Upserted(Model, table="upserted"):
    d = Family()
    k: Key[int] = key_field(codecs.uint32())
    a: Mapped[int | None] = column(d, codec=codecs.int64(), default=None)
    b: Mapped[int | None] = column(d, codec=codecs.int64(), default=None)
    writer: Mapped[int] = column(d, codec=codecs.int64())
    by_a = Index(a)
    by_both = Index(b, a)
    by_b = Index(b, include=[writer], covering=True)


class Claiming(Model, table="claiming"):
    d = Family()
    racer: Key[int] = key_field(codecs.uint32())
    n: Key[int] = key_field(codecs.uint32())
    name: Mapped[str] = column(d)
    by_name = Index(name, unique=True)


def some_value() -> int | None:
    """Return one of the indexed values, or, half of the time, None."""
    return random.randrange(VALUES) if random.random() < 0.5 else None


def tell(**line: Any) -> None:
    """Write a line for the parent."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def upsert_on(engine: Engine, number: int, writes: int) -> None:
    """Write rows that all writers share, many to a flush, reading by every index in between."""
    done = 0
    while done < writes:
        size = min(COMMIT_ROWS, writes - done)
        with engine.session() as session:
            set_some(session, [random.randrange(ROWS) for _ in range(size - 1)], number)
            own = Upserted(k=OWN_ROWS + number, a=some_value(), b=some_value(), writer=number)
            session.replace(own)
        done += size
        check_reads(engine, own)
    tell(done=done)


def set_some(session: Session, numbers: list[int], writer: int) -> None:
    """Change rows to some values, or add those that are not there; None clears a cell."""
    numbers = sorted(set(numbers))
    found = session.get_many(Upserted, [{"k": n} for n in numbers])
    for n, row in zip(numbers, found, strict=True):
        if row is None:
            session.add(Upserted(k=n, a=some_value(), b=some_value(), writer=writer))
        else:
            row.a, row.b, row.writer = some_value(), some_value(), writer
    session.flush()


def check_reads(engine: Engine, own: Upserted) -> None:
    """Read by an index: no row that does not match, and the row just acknowledged among them."""
    with engine.session() as session:
        if own.a is not None:
            rows = session.all(select(Upserted).where(Upserted.a == own.a))
            assert {row.a for row in rows} == {own.a}
            assert own.k in {row.k for row in rows}
        if own.b is not None:
            pairs = session.all(select(Upserted.k, Upserted.writer).where(Upserted.b == own.b))
            assert (own.k, own.writer) in pairs
        if own.a is not None and own.b is not None:
            both = (Upserted.b == own.b, Upserted.a == own.a)
            rows = session.all(select(Upserted).where(*both).using(Upserted.by_both))
            assert {(row.a, row.b) for row in rows} == {(own.a, own.b)}
            assert own.k in {row.k for row in rows}


def upsert_few_on(engine: Engine, number: int, writes: int) -> None:
    """Write few rows, for which deletes race; None leaves what is there."""
    done = 0
    while done < writes:
        numbers = random.sample(range(DELETE_ROWS), random.randint(1, DELETE_ROWS))
        with engine.session() as session:
            for n in numbers:
                session.add(Upserted(k=n, a=some_value(), b=some_value(), writer=number))
        done += len(numbers)
    tell(done=done)


def delete_on(engine: Engine, number: int, writes: int) -> None:
    """Delete all rows, again and again."""
    deleted = 0
    for _ in range(writes):
        with engine.session() as session:
            deleted += session.delete_where(select(Upserted).where(Upserted.k < DELETE_ROWS))
        time.sleep(DELETE_PAUSE_S)
    tell(done=writes, deleted=deleted, number=number)


def die_on(engine: Engine, number: int, writes: int) -> None:
    """Write one row at a time and tell of each until killed: rows of its own, and shared ones."""
    for n in range(writes):
        own, shared = OWN_ROWS + number, random.randrange(DELETE_ROWS)
        tell(begin=n, k=own)
        with engine.session() as session:
            try:
                session.replace(Upserted(k=own, a=n, b=n % VALUES, writer=number))
                tell(done=n, k=own)
                tell(begin=n, k=shared)
                if n % 5 == 4:
                    session.delete_row(Upserted, k=shared)
                else:
                    session.put_row(Upserted, Upserted.a.to(n), Upserted.writer.to(n), k=shared)
                tell(done=n, k=shared)
            except (FlushError, GatewayError) as error:
                tell(failed=n, why=str(error))
                time.sleep(0.05)


def race_on(engine: Engine, number: int, writes: int) -> None:
    """Claim names that all racers want; tell which were won, and of each that it is tried."""
    won = []
    for n in random.sample(range(writes), writes):
        tell(begin=n)
        try:
            with engine.session() as session:
                session.insert(Claiming(racer=number, n=n, name=name_of(n)))
        except (UniqueViolationError, DuplicateRowError):
            continue
        won.append(n)
        tell(won=n)
    tell(done=len(won))


def name_of(n: int) -> str:
    """Return one of the names that racers want."""
    return f"name-{n}"


VERBS = {
    "race": race_on,
    "upsert": upsert_on,
    "upsert few": upsert_few_on,
    "delete": delete_on,
    "die": die_on,
}


def main(verb: str, url: str, number: str, writes: str, frozen_ms: str = "") -> None:
    """Write as told; with a frozen clock, all writers in one millisecond of it."""
    random.seed(f"{verb} {number}")
    with connect(url) as engine:
        if frozen_ms:
            freeze(engine, int(frozen_ms))
        VERBS[verb](engine, int(number), int(writes))


def freeze(engine: Engine, at_ms: int) -> None:
    """Stop the wall clock of an engine."""
    gateway = engine._runtime.gateway
    engine._runtime = Runtime(gateway, parallel=engine.options.pool, now_ms=lambda: at_ms)


if __name__ == "__main__":
    main(*sys.argv[1:])
