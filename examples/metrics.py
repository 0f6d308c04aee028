"""Metrics of hosts, newest first, salted: `[salt][host][metric][Long.MAX - ts]`.

Choose it where questions name host and metric and a range of time, and a few busy hosts write most:
the salt of host and metric spreads them over 16 regions, and one question still is one scan, as the
salt follows from what it names. It costs questions that name only the host, or nothing: each is 16
scans, merged. With `Salt(16)` alone, of the whole key, every question would be 16 scans.

"host1" never gives "host12": the host ends with a separator. Printed designs scan from `host1` to
`host2`, or pad with `x`, or end names with `_`. The first gives host12 as well; padding with a
letter cannot tell `host` from `hostx`; and `_` stands behind the digits, so that host12_ sorts
before host1_. The zero byte sorts before everything: keys then sort as hosts do.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from examples.program import ask, run
from hbase_orm import Engine, Family, Key, Mapped, Model, Salt, codecs, column, key, rowkey, select


class Reading(Model, table="readings"):
    """Cells live for ten years; families and qualifiers are short, as each cell repeats them."""

    d = Family(ttl=timedelta(days=3650), compression="GZ")
    host: Key[str] = key(codecs.text(separator=b"\x00"))
    metric: Key[int] = key(codecs.uint32())
    at: Key[datetime] = key(codecs.millis(desc=True))
    value: Mapped[float] = column(d, "v", codec=codecs.get("bytes.float64"))

    __rowkey__ = rowkey(Salt(16, of=[host, metric]), host, metric, at)


T0 = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
READINGS = [
    *(Reading(host="host1", metric=7, at=T0 + n * SECOND, value=n / 2) for n in range(3)),
    Reading(host="host1", metric=8, at=T0, value=8.0),
    Reading(host="host12", metric=7, at=T0, value=12.0),
]


def show(engine: Engine) -> None:
    """Load five readings; ask for the newest, for a time, for a host, for all."""
    engine.drop_tables(Reading)
    engine.create_tables(Reading)
    with engine.session() as session:
        session.add_all(READINGS)
        session.flush()

        of_host = select(Reading).where(Reading.host == "host1")
        of_metric = of_host.where(Reading.metric == 7)
        newest = ask(session, "the two newest of host1's metric 7", of_metric.limit(2))
        in_time = of_metric.where(Reading.at >= T0, Reading.at < T0 + 2 * SECOND)
        some = ask(session, "those of two seconds", in_time)
        host = ask(session, "all metrics of host1", of_host)
        everything = ask(session, "all hosts", select(Reading).allow_full_scan())

    assert [reading.value for reading in newest] == [1.0, 0.5]
    assert [reading.value for reading in some] == [0.5, 0.0]
    assert [(reading.metric, reading.value) for reading in host] == [
        (7, 1.0),
        (7, 0.5),
        (7, 0.0),
        (8, 8.0),
    ]
    assert [reading.host for reading in everything] == [*["host1"] * 4, "host12"]


if __name__ == "__main__":
    run(show)
