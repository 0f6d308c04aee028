"""A process that writes while its gateway is killed, and tells on its output how each call ended.

Run as a program with the model's name, the verb, the URL and the group of its rows. A line of
output is one JSON object: that a call begins, that it is done, or how each row ended when it
failed, and when. After a failed flush it waits for a line of input and flushes the same session again.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable
from typing import Any

from hbase_orm import Engine, Family, Index, Key, Mapped, Model, codecs, column, connect, key
from hbase_orm.errors import FlushError

BULK_STEP = 50


class Killed(Model, table="killed"):
    d = Family()
    group: Key[str] = key(codecs.text(separator=b"\x00"))
    n: Key[int] = key(codecs.uint32())
    value: Mapped[int] = column(d, codec=codecs.int64())
    note: Mapped[str | None] = column(d, default=None)


class KilledIndexed(Model, table="killed_indexed"):
    d = Family()
    group: Key[str] = key(codecs.text(separator=b"\x00"))
    n: Key[int] = key(codecs.uint32())
    value: Mapped[int] = column(d, codec=codecs.int64())
    note: Mapped[str | None] = column(d, default=None)
    by_note = Index(note)


MODELS: dict[str, Any] = {model.__name__: model for model in (Killed, KilledIndexed)}
FLUSH_ROWS = {"Killed": 300, "KilledIndexed": 40}
BULK_ROWS = {"Killed": 20_000, "KilledIndexed": 800}

Rows = dict[int, tuple[int, str | None]]


def rows_after(flushes: int, size: int, note: str) -> Rows:
    """Return the rows after so many flushes: each adds some, and changes those of the one before.

    Of every ten rows of the flush before one is deleted, five are changed and lose their note.
    """
    rows: Rows = {}
    for flush in range(flushes):
        rows.update(dict.fromkeys(range(flush * size, (flush + 1) * size), (flush, note)))
        for n in range(max(flush - 1, 0) * size, flush * size):
            if n % 10 == 0:
                del rows[n]
            elif n % 10 <= 5:
                rows[n] = (1_000 + flush, None)
    return rows


def bulk_rows(size: int, note: str) -> Rows:
    """Return the rows that a bulk writes."""
    return {n: (n, note) for n in range(size)}


def tell(**line: Any) -> None:
    """Write a line for the parent, with the time by the clock of the machine."""
    sys.stdout.write(json.dumps({**line, "at": time.monotonic()}) + "\n")
    sys.stdout.flush()


def _numbers(rows: Iterable[tuple[Any, ...]]) -> list[int]:
    return [int.from_bytes(row[1][-4:], "big") for row in rows]


def tell_failure(number: int, error: FlushError, taken: int = 0) -> None:
    """Return how each row of a failed call ended."""
    written = error.written if isinstance(error.written, list) else []
    tell(
        failed=number,
        written=_numbers(written),
        not_written=_numbers(error.not_written),
        unknown=_numbers(error.unknown),
        taken=taken,
    )


def flush_on(engine: Engine, model: Any, group: str) -> None:
    """Flush again and again until one flush has failed and was made good."""
    session, size, note = engine.session(), FLUSH_ROWS[model.__name__], f"{group}-note"
    last: dict[int, Any] = {}
    number, has_failed = 0, False
    while not has_failed:
        for n, obj in last.items():
            if n % 10 == 0:
                session.delete(obj)
            elif n % 10 <= 5:
                obj.value, obj.note = 1_000 + number, None
        numbers = range(number * size, (number + 1) * size)
        last = {n: model(group=group, n=n, value=number, note=note) for n in numbers}
        session.add_all(last.values())
        while True:
            tell(begin=number)
            try:
                session.flush()
            except FlushError as error:
                has_failed = True
                tell_failure(number, error)
                sys.stdin.readline()
            else:
                break
        tell(done=number)
        number += 1


def bulk_on(engine: Engine, model: Any, group: str) -> None:
    """Write all rows in one bulk."""
    rows = bulk_rows(BULK_ROWS[model.__name__], f"{group}-note")
    taken = 0
    try:
        with engine.session() as session, session.bulk(batch_rows=BULK_STEP) as bulk:
            for n, (value, note) in rows.items():
                if n % BULK_STEP == 0:
                    tell(begin=n)
                taken += 1
                bulk.add(model(group=group, n=n, value=value, note=note))
    except FlushError as error:
        tell_failure(taken, error, taken)
    else:
        tell(done=taken)


def main(name: str, verb: str, url: str, group: str) -> None:
    """Write as told."""
    with connect(url) as engine:
        {"flush": flush_on, "bulk": bulk_on}[verb](engine, MODELS[name], group)


if __name__ == "__main__":
    main(*sys.argv[1:])
