"""A process that writes stock during the build of its indexes, and prints what was acknowledged.

Run as a program with the name of its model, the URL and its number. It writes rows of its own in
turn, changes and deletes some, and ends when it is refused or its input ends. It says "begun" once
some are written. A line "pause" makes it stop itself (SIGSTOP) in front of its next request of a
write: after the catalog was looked at, before the rows are sent. The last line of its output is one
JSON object: how many writes were acknowledged, and why it was refused.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
from typing import Any, TypeVar

from hbase_orm import Engine, Family, Index, Key, Mapped, Model, codecs, column, connect
from hbase_orm import key as key_field
from hbase_orm.errors import FlushError, HBaseORMError, SchemaError
from hbase_orm.gateway.base import Feature, Gateway
from hbase_orm.ops import CheckAndMutate, MutateRow, MutateRows, Operation

R = TypeVar("R")

OWN_ROWS = 150
CITIES = 17
BATCH_ROWS = 10

OF_ONE_ROW = (MutateRow, CheckAndMutate)


class PlainStock(Model, table="stock"):
    """As programs declare it that were started before there was any index."""

    d = Family()
    number: Key[int] = key_field(codecs.uint32())
    city: Mapped[str] = column(d)
    price: Mapped[int] = column(d, codec=codecs.int64())


class OldStock(Model, table="stock"):
    """As programs declare it that were started when there was one index."""

    d = Family()
    number: Key[int] = key_field(codecs.uint32())
    city: Mapped[str] = column(d)
    price: Mapped[int] = column(d, codec=codecs.int64())
    by_price = Index(price)


class Stock(Model, table="stock"):
    d = Family()
    number: Key[int] = key_field(codecs.uint32())
    city: Mapped[str] = column(d)
    price: Mapped[int] = column(d, codec=codecs.int64())
    by_price = Index(price)
    by_city = Index(city, include=[price], covering=True)


AnyStock = PlainStock | OldStock | Stock

MODELS: dict[str, type[AnyStock]] = {
    "PlainStock": PlainStock,
    "OldStock": OldStock,
    "Stock": Stock,
}


class StopsItself:
    """A gateway whose process stops, when asked for it, in front of a write of its table."""

    def __init__(self, inner: Gateway, pause: threading.Event) -> None:
        self._inner = inner
        self._pause = pause

    @property
    def features(self) -> frozenset[Feature]:
        return self._inner.features

    def execute(self, operation: Operation[R], /) -> R:
        if self._pause.is_set() and _puts_rows(operation):
            self._pause.clear()
            sys.stdout.write("paused\n")
            sys.stdout.flush()
            os.kill(os.getpid(), signal.SIGSTOP)
        return self._inner.execute(operation)

    def close(self) -> None:
        self._inner.close()


def _puts_rows(operation: Operation[Any]) -> bool:
    """Whether it is a write of stock, and no batch of deletes: the puts behind one look again."""
    if isinstance(operation, MutateRows):
        has_puts = any(mutation.puts for mutation in operation.mutations)
        return has_puts and operation.table.endswith("stock")
    return isinstance(operation, OF_ONE_ROW) and operation.table.endswith("stock")


def some_stock(model: type[AnyStock], number: int) -> AnyStock:
    """Return a row in one of the cities."""
    city = f"city{random.randrange(CITIES)}"
    return model(number=number, city=city, price=random.randrange(1000))


def write_some(engine: Engine, model: type[AnyStock], writer: int) -> None:
    """Write some of the writer's rows, and delete one."""
    numbers = [writer * OWN_ROWS + n for n in random.sample(range(OWN_ROWS), BATCH_ROWS)]
    with engine.session() as session:
        session.delete_row(model, number=numbers.pop())
        for number in numbers:
            session.add(some_stock(model, number))


def write_on(engine: Engine, model: type[AnyStock], writer: int) -> dict[str, object]:
    """Write until the input ends or the model is refused; return how often, and why it ended."""
    ended, pause = threading.Event(), threading.Event()
    gateway = StopsItself(engine._runtime.gateway, pause)
    engine._runtime.gateway = engine._runtime._driver.gateway = gateway

    def listen() -> None:
        for line in sys.stdin:
            if line == "pause\n":
                pause.set()
        ended.set()

    threading.Thread(target=listen, daemon=True).start()
    batches = failed = 0
    refused = ""
    while not ended.is_set() and not refused:
        try:
            write_some(engine, model, writer)
        except FlushError as error:
            reasons = [reason for *_, reason in (*error.not_written, *error.unknown)]
            refused = next((str(r) for r in reasons if isinstance(r, SchemaError)), "")
            failed += 1
        except SchemaError as error:
            refused = str(error)
        except HBaseORMError:
            failed += 1
        else:
            batches += 1
            if batches == 1:
                sys.stdout.write("begun\n")
                sys.stdout.flush()
    return {"batches": batches, "failed": failed, "refused": refused}


if __name__ == "__main__":
    random.seed(sys.argv[3])
    with connect(sys.argv[2]) as connected:
        told = write_on(connected, MODELS[sys.argv[1]], int(sys.argv[3]))
        sys.stdout.write(json.dumps(told))
        sys.stdout.flush()
