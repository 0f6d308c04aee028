"""A migration script: rows under `[host][ts]` become rows under `[salt][host][ts]`.

A row key cannot be changed, so the rows move to another table. The script is a revision, as
`hbase-orm revision --autogenerate` writes it, in `rekey_migrations`: the Python file names the
step, the JSON file beside it says what the rows are before and after. It knows none of the classes
here, so it still runs when they have changed again. Killed at any moment and started again, it goes
on where it stopped. Each row keeps its timestamps and is compared with its copy; at the end the old
class is refused. `downgrade` moves the rows back.

Choose it for every change of a row key. It costs the space of both tables until the old one is
dropped, and two reads and one write of each row. These rows have no guards, so no other program may
use them meanwhile (`exclusive`). Rows with guards move while programs use them, by the same
revision: see docs/changing-tables-in-use.md.

`rekey(engine)` is what `hbase-orm upgrade --exclusive` does; run as a program the script first
makes a table of its own to work on.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from examples.program import run
from hbase_orm import (
    Engine,
    Family,
    Key,
    Mapped,
    Model,
    Salt,
    codecs,
    column,
    key,
    rowkey,
    select,
)
from hbase_orm.errors import SchemaDriftError
from hbase_orm.migrate import Direction, MigrationOptions, Migrations, Scripts, StepProgress


class Before:
    """What programs declare until the migration."""

    class Reading(Model, table="rekey_unsalted"):
        """`[host][ts]`: one busy host is one hot region."""

        d = Family()
        host: Key[str] = key()
        at: Key[datetime] = key(codecs.millis())
        value: Mapped[str] = column(d, "v")
        note: Mapped[str | None] = column(d, "n", default=None)


class After:
    """What programs declare after it."""

    class Reading(Model, table="rekey_salted"):
        """`[salt][host][ts]`, cut between eight buckets."""

        d = Family()
        host: Key[str] = key()
        at: Key[datetime] = key(codecs.millis())
        value: Mapped[str] = column(d, "v")
        note: Mapped[str | None] = column(d, "n", default=None)

        __rowkey__ = rowkey(Salt(8), host, at)


Unsalted, Salted = Before.Reading, After.Reading

EXCLUSIVE = MigrationOptions(exclusive=True)


def migrations(engine: Engine) -> Migrations:
    """Return the migrations of the folder beside this file."""
    return Migrations(engine, Scripts(Path(__file__).with_name("rekey_migrations")))


def rekey(engine: Engine) -> None:
    """Apply the revision, or what an interrupted run has left of it."""

    def show(progress: StepProgress) -> None:
        if progress.progress is not None and progress.progress.rows:
            print(f"{progress.progress.step}: {progress.progress.rows:,}")

    for step in migrations(engine).plan(Direction.UPGRADE, "head", options=EXCLUSIVE).steps:
        print(f"{step.step.operation.describe()}: {step.estimate.rows:,} rows")
    migrations(engine).upgrade(options=EXCLUSIVE, on_step=show)


def show(engine: Engine) -> None:
    """Move two thousand rows; the old class is refused afterwards."""
    engine.drop_tables(Unsalted, Salted)
    migrations(engine).stamp("base")
    engine.create_tables(Unsalted)
    start = datetime(2024, 1, 1, tzinfo=UTC)
    with engine.session() as session, session.bulk() as bulk:
        for n in range(2000):
            at = start + timedelta(seconds=n)
            bulk.add(Unsalted(host=f"web-{n % 7}", at=at, value=f"{n}"))
    rekey(engine)
    with engine.session() as session:
        moved = session.all(select(Salted).where(Salted.host == "web-1"))
        assert [row.value for row in moved] == [f"{n}" for n in range(1, 2000, 7)]
    try:
        with engine.session() as session:
            session.get(Unsalted, host="web-1", at=start)
    except SchemaDriftError as error:
        print(f"the old class is refused: {error.text}")
    else:
        message = "the old class is still used"
        raise AssertionError(message)


if __name__ == "__main__":
    run(show)
