"""Versions, lifetimes, and reads of the past before a delete.

Choose versions for a value whose last few states are asked for now and then; what is asked for by
time, or by the hundreds, belongs into rows of its own: `[key][Long.MAX - ts]`.

- `keep_deleted_cells=True` keeps what was deleted, so that `as_of(t)` reads a row as it was. It
  costs the space until a TTL or the number of versions ends it. Without it a delete is for the past
  too. A delete hides what is not newer than it: what is put later with a lower timestamp is unseen.
- `ttl=` ends all cells of a family, by the second, also the newest. `min_versions=1` keeps the last
  one: "thirty days, five at most, one at least".
- `session.add(obj, ttl=)` ends the cells of one write, by the millisecond, never later than the
  family's does.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import ClassVar

from examples.program import answer, run
from hbase_orm import Engine, Family, Key, Mapped, Model, Session, column, key, select


class Config(Model, table="configs"):
    """Keeps deleted cells."""

    e = Family(versions=100, keep_deleted_cells=True)
    name: Key[str] = key()
    value: Mapped[str | None] = column(e, "c1", default=None)

    __lint__: ClassVar = {"versions-as-rows": "the example reads a row as it was, by its versions"}


class Forgetful(Model, table="configs_forgetful"):
    """The same without the option."""

    e = Family(versions=100)
    name: Key[str] = key()
    value: Mapped[str | None] = column(e, "c1", default=None)

    __lint__: ClassVar = {"versions-as-rows": "the example reads a row as it was, by its versions"}


class Brief(Model, table="configs_brief"):
    """Cells of four seconds; in the second family the last one stays."""

    d = Family(ttl=timedelta(seconds=4))
    k = Family(ttl=timedelta(seconds=4), min_versions=1, versions=3)
    name: Key[str] = key()
    value: Mapped[str | None] = column(d, "v", default=None)
    kept: Mapped[str | None] = column(k, "v", default=None)

    __lint__: ClassVar = {
        "families-unlike": "the example shows both lifetimes side by side",
        "ttl-min-versions": "the last value shall stay",
    }


def at(timestamp_ms: int) -> datetime:
    """Return the time of a timestamp."""
    return datetime.fromtimestamp(timestamp_ms / 1000, UTC)


def put_and_delete(session: Session, model: type[Config | Forgetful]) -> None:
    """Put at 10, 12 and 14, delete at 11."""
    row = model(name="r1")
    for timestamp_ms in (10, 12, 14):
        row.value = f"value {timestamp_ms}"
        session.add(row, timestamp_ms=timestamp_ms)
        session.flush()
    row.value = None  # deletes the column's cells, up to the timestamp of the write
    session.add(row, timestamp_ms=11)
    session.flush()


def seen(session: Session, model: type[Config | Forgetful]) -> list[str | None]:
    """Return what is read now, as of 10 and as of 11."""
    print(f"\n{model.__name__}: now, as of 10, as of 11")
    row = select(model).where(model.name == "r1")
    rows = [session.first(each) for each in (row, row.as_of(at(10)), row.as_of(at(11)))]
    return answer([None if found is None else found.value for found in rows])


def lifetimes(session: Session) -> None:
    """Let cells expire: 1.5 seconds of their own, 4 of the family's, an hour that is cut to 4."""
    session.add(Brief(name="short", value="x", kept="x"), ttl=timedelta(milliseconds=1500))
    session.add(Brief(name="long", value="x"), ttl=timedelta(hours=1))
    session.add(Brief(name="usual", value="x", kept="x"))
    session.flush()
    for wait_s in (0.0, 2.0, 3.0):
        time.sleep(wait_s)
        print(f"\nafter {wait_s} seconds more")
        answer(session.all(select(Brief).allow_full_scan()))


def show(engine: Engine) -> None:
    """Delete in the midst of versions and read the past; then let cells expire."""
    engine.drop_tables(Config, Forgetful, Brief)
    engine.create_tables(Config, Forgetful, Brief)
    with engine.session() as session:
        put_and_delete(session, Config)
        put_and_delete(session, Forgetful)
        assert seen(session, Config) == ["value 14", "value 10", None]
        assert seen(session, Forgetful) == ["value 14", None, None]
        print("\nall that is stored, tombstones too")
        cells = answer(session.stored_cells(Config, name="r1"))
    of_value = [cell for cell in cells if cell.column == b"e:c1"]
    assert [cell.timestamp_ms for cell in of_value] == [14, 12, 11, 10]
    assert of_value[2].kind == "delete_column"
    with engine.session() as session:
        lifetimes(session)
        assert session.get(Brief, name="short") is None
        usual = session.get(Brief, name="usual")
        assert usual is not None
        assert (usual.value, usual.kept) == (None, "x")


if __name__ == "__main__":
    run(show)
