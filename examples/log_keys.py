"""Log data in four keys: text, time in buckets, hashes, numbers in the names' stead.

- `[host][event][Long.MAX - ts]`, text: choose it for many hosts with short names. Names are read in
  the shell and are found by their beginnings. It costs their length in every cell.
- `[ts % 8][Long.MAX - ts][host][event]`: choose it where time alone is asked for. It costs eight
  scanners a question, and the question of one host reads all hosts of its time.
- `[md5(host)][md5(event)][Long.MAX - ts]`, 16+16+8 bytes: keys of one width, evenly spread. It
  costs 32 bytes, a column for each name, as no key gives it back, and the order of names.
- `[number][number][Long.MAX - ts]`, 8+8+8 bytes: the shortest for long names that come again. It
  costs a dictionary, asked once a process for each name; a new name costs four more requests.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from examples.program import ask, run
from hbase_orm import (
    Bucket,
    Digest,
    Engine,
    Family,
    Key,
    Mapped,
    Model,
    Substitute,
    codecs,
    column,
    key,
    rowkey,
    select,
)


class Log(Model, abstract=True):
    """What the four share."""

    d = Family()
    at: Key[datetime] = key(codecs.millis(desc=True))
    message: Mapped[str] = column(d, "m")


class RawLog(Log, table="log_raw"):
    """`[host][event][reversed ts]`."""

    host: Key[str] = key()
    event: Key[str] = key()
    __rowkey__ = rowkey(host, event, Log.at)


class BucketLog(Log, table="log_bucket"):
    """`[ts % 8][reversed ts][host][event]`."""

    host: Key[str] = key()
    event: Key[str] = key()
    __rowkey__ = rowkey(Bucket(8, of=Log.at), Log.at, host, event)


class DigestLog(Log, table="log_md5"):
    """`[md5(host)][md5(event)][reversed ts]`; the digests are bytes, never text."""

    host: Key[str] = key(family=Log.d, qualifier="h")
    event: Key[str] = key(family=Log.d, qualifier="e")
    __rowkey__ = rowkey(Digest(of=host), Digest(of=event), Log.at)


class SubstituteLog(Log, table="log_ids"):
    """`[number of host][number of event][reversed ts]`."""

    host: Key[str] = key()
    event: Key[str] = key()
    __rowkey__ = rowkey(
        Substitute(of=host, dictionary="log_types"),
        Substitute(of=event, dictionary="log_types"),
        Log.at,
    )


DESIGNS: tuple[Any, ...] = (RawLog, BucketLog, DigestLog, SubstituteLog)
T0 = datetime(2024, 1, 1, tzinfo=UTC)
MS = timedelta(milliseconds=1)
LINES = [
    ("web-1", "boot", T0, "up"),
    ("web-1", "login", T0 + 11 * MS, "ann"),
    ("web-1", "login", T0 + 30 * MS, "bob"),
    ("web-12", "login", T0 + 20 * MS, "eve"),
]


def questions(log: Any, start: datetime, stop: datetime) -> list[tuple[str, Any]]:
    """Return the three questions that are asked of each design."""
    in_time = select(log).where(log.at >= start, log.at < stop)
    of_host = in_time.where(log.host == "web-1")
    return [
        ("the logins at web-1", of_host.where(log.event == "login")),
        ("all of web-1", of_host),
        ("all hosts", in_time.allow_full_scan()),
    ]


def show(engine: Engine) -> None:
    """Load the same lines in four designs; ask each the three questions of 30 milliseconds."""
    engine.drop_tables(*DESIGNS)
    engine.create_tables(*DESIGNS)
    for log in DESIGNS:
        with engine.session() as session:
            session.add_all(
                log(host=host, event=event, at=at, message=message)
                for host, event, at, message in LINES
            )
            session.flush()
            found = [
                {line.message for line in ask(session, f"{question}, {log.__name__}", statement)}
                for question, statement in questions(log, T0, T0 + 30 * MS)
            ]

        assert found == [{"ann"}, {"up", "ann"}, {"up", "ann", "eve"}]


if __name__ == "__main__":
    run(show)
