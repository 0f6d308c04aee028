"""Calls by phone number, the digits reversed: `[reverse(phone)][Long.MAX - ts]`.

Choose it where keys begin with numbers that are given out in order, so that many begin alike:
written backwards they begin with the digit that changes most, and the writes of a day go to all
regions. The calls of one number stand together, newest first. It costs the order of the numbers:
"all phones of 138…" becomes a full scan, and is refused unless the statement asks for one.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from examples.program import ask, run
from hbase_orm import Engine, Family, Key, Mapped, Model, codecs, column, key, select
from hbase_orm.errors import UnboundedScanError


class Call(Model, table="calls"):
    """A number has 11 digits: a fixed width needs no end."""

    d = Family()
    phone: Key[str] = key(codecs.text(width_bytes=11, digit_reversed=True))
    at: Key[datetime] = key(codecs.millis(desc=True))
    seconds: Mapped[int] = column(d, "s", codec=codecs.uint32())


T0 = datetime(2014, 5, 13, 16, 53, 20, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
CALLS = [
    Call(phone="13812345678", at=T0, seconds=60),
    Call(phone="13812345678", at=T0 + MINUTE, seconds=61),
    Call(phone="13812345679", at=T0, seconds=7),
]


def show(engine: Engine) -> None:
    """Load three calls; ask for those of one phone, the newest, and those of a time."""
    engine.drop_tables(Call)
    engine.create_tables(Call)
    with engine.session() as session:
        session.add_all(CALLS)
        session.flush()

        of_phone = select(Call).where(Call.phone == "13812345678")
        calls = ask(session, "the calls of 13812345678", of_phone)
        newest = ask(session, "the newest", of_phone.limit(1))
        first_minute = of_phone.where(Call.at >= T0, Call.at < T0 + MINUTE)
        in_minute = ask(session, "those of one minute", first_minute)
        try:
            session.all(select(Call).where(Call.phone.startswith("138")))
        except UnboundedScanError as error:
            print(f"\nall phones that begin with 138\n  refused: {error}")
        else:
            raise AssertionError("reversed numbers have no ranges")

    assert [call.seconds for call in calls] == [61, 60]
    assert [call.seconds for call in newest] == [61]
    assert [call.seconds for call in in_minute] == [60]


if __name__ == "__main__":
    run(show)
