"""A migration script: rows under `[host][ts]` become rows under `[salt][host][ts]`.

A row key cannot be changed, so rows are streamed from the one table and put into another by bulk,
in constant memory. After each batch the script notes the last row that was copied: killed at any
moment and started again it goes on from there, and a batch that was half sent is put once more with
the same cells. It ends by comparing both tables, row by row.

Choose it for tables that nobody writes meanwhile, or whose writers write both; then let readers use
the new table and drop the old one. It costs the space of both, and one read and one write of each
row; on one machine, for tables of up to some ten million rows.

`rekey(engine)` is the script; run as a program it first makes a table of its own to work on.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice

from examples.program import run
from hbase_orm import (
    Engine,
    Family,
    Key,
    Mapped,
    Model,
    Salt,
    Select,
    codecs,
    column,
    key,
    rowkey,
    select,
)


class Unsalted(Model, table="rekey_unsalted"):
    """`[host][ts]`: one busy host is one hot region."""

    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.millis())
    value: Mapped[str] = column(d, "v")
    note: Mapped[str | None] = column(d, "n", default=None)


class Salted(Model, table="rekey_salted"):
    """`[salt][host][ts]`, cut between eight buckets."""

    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.millis())
    value: Mapped[str] = column(d, "v")
    note: Mapped[str | None] = column(d, "n", default=None)

    __rowkey__ = rowkey(Salt(8), host, at)


class Progress(Model, table="rekey_progress"):
    """The last row that was copied, one row for each script."""

    d = Family()
    script: Key[str] = key()
    host: Mapped[str] = column(d, "h")
    at: Mapped[datetime] = column(d, "t", codec=codecs.millis())
    copied: Mapped[int] = column(d, "n", codec=codecs.uint64())


SCRIPT = "salt the readings"
BATCH_ROWS = 500


def left(done: Progress | None) -> Iterator[Select[Unsalted]]:
    """Yield statements that together give the rows behind the last one, in the order of keys."""
    rows = select(Unsalted).allow_full_scan()
    if done is None:
        yield rows
    else:
        yield rows.where(Unsalted.host == done.host, Unsalted.at > done.at)
        yield rows.where(Unsalted.host > done.host)


def copy(engine: Engine) -> int:
    """Copy what was not copied yet; return how many rows that were."""
    copied = 0
    with engine.session() as session:
        done = session.get(Progress, script=SCRIPT)
        before = 0 if done is None else done.copied
        for statement in left(done):
            with session.stream(statement) as rows:
                while batch := list(islice(rows, BATCH_ROWS)):
                    with session.bulk() as bulk:
                        bulk.add_all(Salted.from_dict(row.to_dict()) for row in batch)
                    copied += len(batch)
                    last = batch[-1]
                    session.put_row(
                        Progress,
                        Progress.host.to(last.host),
                        Progress.at.to(last.at),
                        Progress.copied.to(before + copied),
                        script=SCRIPT,
                    )
                    print(f"copied {before + copied:,}, up to {last.host} {last.at}")
    return copied


def differences(engine: Engine) -> int:
    """Return how many rows of either table are not in the other; both come in the same order."""
    with engine.session() as session:
        olds = session.stream(select(Unsalted).allow_full_scan())
        news = session.stream(select(Salted).allow_full_scan())
        with olds, news:
            old, new, found = next(olds, None), next(news, None), 0
            while old is not None or new is not None:
                old_key = None if old is None else Unsalted.encode_key(host=old.host, at=old.at)
                new_key = None if new is None else Unsalted.encode_key(host=new.host, at=new.at)
                is_old = new_key is None or (old_key is not None and old_key <= new_key)
                is_new = old_key is None or (new_key is not None and new_key <= old_key)
                same = old and new and is_old and is_new and old.to_dict() == new.to_dict()
                found += not same
                old = next(olds, None) if is_old else old
                new = next(news, None) if is_new else new
    return found


def rekey(engine: Engine) -> None:
    """Make the new table where it is missing, copy, and compare."""
    engine.create_tables(Salted, Progress)
    copy(engine)
    wrong = differences(engine)
    assert wrong == 0, f"{wrong} rows differ"
    print("every row of the one table is in the other")


def show(engine: Engine) -> None:
    """Run the script on two thousand rows; run it again, which copies nothing."""
    engine.drop_tables(Unsalted, Salted, Progress)
    engine.create_tables(Unsalted)
    start = datetime(2024, 1, 1, tzinfo=UTC)
    with engine.session() as session, session.bulk() as bulk:
        for n in range(2000):
            at = start + timedelta(seconds=n)
            bulk.add(Unsalted(host=f"web-{n % 7}", at=at, value=f"{n}"))
    rekey(engine)
    assert copy(engine) == 0


if __name__ == "__main__":
    run(show)
