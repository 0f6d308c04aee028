"""A process that upserts indexed rows through Thrift1 alone, beside others of its kind.

Their clocks differ. Run with the URL, its number and how many writes it makes; says at the end how many rows it read
that did not fit what it had asked for.
"""

from __future__ import annotations

import json
import random
import sys
from dataclasses import replace
from functools import partial

from hbase_orm import Session, connect, func, select
from hbase_orm.binding.write_clock import wall_clock_ms
from tests.support.thrift1_only import Account

ROWS = 31
VALUES = 7
COMMIT_ROWS = 5
SKEW_MS = 300
"""How much slower each writer's clock is than that of the one before."""
READ_EVERY = 50


def main(url: str, number: int, writes: int) -> None:
    """Upsert and read."""
    chance = random.Random(number)
    misfits = 0
    with connect(url) as engine:
        runtime = engine._runtime
        slow = partial(slow_clock_ms, number * SKEW_MS)
        runtime.writer.guard_context = replace(runtime.guard_context, now_ms=slow)
        for done in range(0, writes, COMMIT_ROWS):
            with engine.session() as session:
                for row in chance.sample(range(ROWS), COMMIT_ROWS):
                    write(session, chance, f"{row:03}")
                session.flush()
            if done % READ_EVERY == 0:
                misfits += read(engine.session(), chance)
    sys.stdout.write(json.dumps({"done": writes, "misfits": misfits}))


def slow_clock_ms(behind_ms: int) -> int:
    return wall_clock_ms() - behind_ms


def write(session: Session, chance: random.Random, row: str) -> None:
    email, points = f"E{chance.randrange(VALUES)}@x", chance.randrange(VALUES)
    if chance.random() < 0.5:
        session.add(Account(number=row, email=email, points=points))
    else:
        session.put_row(Account, Account.email.to(email), Account.points.to(points), number=row)


def read(session: Session, chance: random.Random) -> int:
    email = f"e{chance.randrange(VALUES)}@x"
    found = session.all(select(Account).where(func.lower(Account.email) == email))
    return sum(account.email.lower() != email for account in found)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
