"""What users did, newest first: `[reverse(userId)][Long.MAX - ts]`.

Choose it for "the latest n of one user" and "one user from then to then": both are one scan that
begins at the first row of the answer. Reversing spreads users that were numbered in order. It costs
the order of users, and the order of time can only be read backwards by a reverse scan.

This design is often printed with the ends of its ranges the wrong way round. The greater time has
the smaller bytes, so the row of the *end* of the time comes first: a scan from `Long.MAX - start`
to `Long.MAX - end` is empty. And a scan of all rows of a user that stops at `Long.MAX - now` ends
before the first of them. Written as conditions on time, the library puts the ends right.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import ClassVar

from examples.program import ask, run
from hbase_orm import Engine, Family, Key, Mapped, Model, codecs, column, key, select


class Operation(Model, table="user_ops"):
    """Users are ten digits, last one first; 1400000000000 ms is stored as 7ffffeba097f4fff."""

    d = Family()
    user: Key[int] = key(codecs.digits(10, digit_reversed=True))
    at: Key[datetime] = key(codecs.millis(desc=True))
    action: Mapped[str] = column(d, "a")

    __lint__: ClassVar = {"regions-one": "five rows; a large table has splits=16"}


T0 = datetime(2014, 5, 13, 16, 53, 20, tzinfo=UTC)  # 1400000000000 ms
SECOND = timedelta(seconds=1)
ACTIONS = ("login", "search", "buy", "logout")
OPERATIONS = [
    *(Operation(user=12, at=T0 + n * SECOND, action=action) for n, action in enumerate(ACTIONS)),
    Operation(user=112, at=T0, action="login"),
]


def show(engine: Engine) -> None:
    """Load the operations of two users; ask for all of one, those of a time, both ways."""
    engine.drop_tables(Operation)
    engine.create_tables(Operation)
    with engine.session() as session:
        session.add_all(OPERATIONS)
        session.flush()

        of_user = select(Operation).where(Operation.user == 12)
        in_time = of_user.where(Operation.at >= T0 + SECOND, Operation.at < T0 + 3 * SECOND)
        everything = ask(session, "all of user 12, newest first", of_user)
        some = ask(session, "of two seconds", in_time)
        rising = ask(session, "the same, oldest first", in_time.order_by(Operation.at.asc()))

    assert [each.action for each in everything] == ["logout", "buy", "search", "login"]
    assert [each.action for each in some] == ["buy", "search"]
    assert [each.action for each in rising] == ["search", "buy"]


if __name__ == "__main__":
    run(show)
