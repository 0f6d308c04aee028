"""Steps that were refused, or interrupted before they changed anything: both commands get on.

A refused step may have been refused because what it makes was there, or because the table is not
what the revision says. Its reverse must neither delete that nor be refused for the same reason.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

import pytest

from hbase_orm import Family, Index, Key, Mapped, Model, codecs, column, key
from hbase_orm.errors import MigrationError
from hbase_orm.migrate import (
    EditedRevisionError,
    MigrationOptions,
    Migrations,
    Operation,
    Revision,
)
from hbase_orm.migrate.operations.backfills import Backfill
from hbase_orm.migrate.operations.columns import (
    AddColumn,
    DropColumn,
    RenameColumn,
    UpdateRecord,
)
from hbase_orm.migrate.operations.copies import RekeyTable
from hbase_orm.migrate.operations.encodings import ChangeCodec, RenameQualifier
from hbase_orm.migrate.operations.families import AddFamily, AlterFamily, AlterTable, DropFamily
from hbase_orm.migrate.operations.indexes import AddIndex, DropIndex
from hbase_orm.migrate.operations.tables import CreateTable, DropTable
from hbase_orm.migrate.operations.values import BackfillColumn, TransformColumn
from hbase_orm.migrate.revisions import Direction
from hbase_orm.session import Engine
from tests.support.interrupted_runs import Runs, declared
from tests.support.migrated_tables import contents
from tests.support.revisions import Listed, history_in

EXCLUSIVE: Final = MigrationOptions(exclusive=True)


def before() -> type[Model]:
    class Order(Model, table="orders"):
        d = Family()
        f = Family()
        id: Key[int] = key(codecs.uint32())
        city: Mapped[str] = column(d, "c")
        size: Mapped[int] = column(d, "s", codec=codecs.int64())
        note: Mapped[str | None] = column(d, "n", default=None)
        by_city = Index(city)

    return Order


def after() -> type[Model]:
    class Order(Model, table="orders"):
        d = Family(versions=3)
        e = Family()
        f = Family()
        id: Key[int] = key(codecs.uint32())
        city: Mapped[str] = column(d, "t")
        size: Mapped[int | None] = column(d, "s", codec=codecs.uint64(), default=None)
        note: Mapped[str | None] = column(d, "n", default=None)
        unit: Mapped[str | None] = column(e, "u", default=None)
        by_city = Index(city)
        by_note = Index(note)

    return Order


def other() -> type[Model]:
    class Shop(Model, table="shops"):
        d = Family()
        id: Key[int] = key(codecs.uint32())
        city: Mapped[str] = column(d, "c")

    return Shop


def by_city() -> type[Model]:
    class Order(Model, table="orders_by_city"):
        d = Family()
        city: Key[str] = key()
        id: Key[int] = key(codecs.uint32())
        size: Mapped[int] = column(d, "s", codec=codecs.int64())

    return Order


def fill(engine: Engine) -> None:
    made: Any = before()
    engine.create_tables(made)
    with engine.session() as session:
        session.add_all(
            [made(id=n, city=f"c{n}", size=n, note="x" if n else None) for n in range(3)]
        )


def backward(row: Any) -> dict[str, str | None]:
    return {"note": row.note[:-1] or None}


def revision_of(*operations: Operation, name: str = "r", **changes: Any) -> Revision:
    sides = {"before": declared(before()), "after": declared(after(), other())}
    return Revision(name, operations=operations, checksum="c", **{**sides, **changes})


def state(runs: Runs) -> object:
    """Return the rows and records of all tables, and the names of index tables."""
    names = sorted(n for n in runs.tables("orders", "shops"))
    kept = [n for n in runs.tables("orders", "shops") if "." not in n]
    return names, [contents(runs.engine, name) for name in kept]


EACH: Final = {
    "create": CreateTable("shops"),
    "drop": DropTable("orders"),
    "add family": AddFamily("orders", "e"),
    "drop family": DropFamily("orders", "f"),
    "alter family": AlterFamily("orders", "d", new={"versions": 3}, old={"versions": 1}),
    "alter table": AlterTable(
        "orders", new={"durability": "ASYNC_WAL"}, old={"durability": "USE_DEFAULT"}
    ),
    "add column": AddColumn("orders", "e:u"),
    "drop column": DropColumn("orders", "d:n"),
    "rename field": RenameColumn("orders", "note", "remark"),
    "update record": UpdateRecord("orders"),
    "add index": AddIndex("orders", "by_note"),
    "drop index": DropIndex("orders", "by_city"),
    "backfill column": BackfillColumn("orders", "d:n", value=b"y"),
    "transform": TransformColumn("orders", "d:n", forward=lambda v: v + b"!"),
    "backfill": Backfill("orders", lambda row: {"note": (row.note or "") + "!"}),
    "codec": ChangeCodec("orders", "d:s", old=codecs.int64(), new=codecs.uint64()),
    "qualifier": RenameQualifier("orders", "d:n", "d:m"),
}


@pytest.mark.parametrize("name", EACH)
def test_a_run_that_ended_before_its_step_saved_a_position_has_changed_nothing(name: str) -> None:
    revision = revision_of(EACH[name])
    whole = Runs(revision, EXCLUSIVE, fill)
    was, requests, met = state(whole), whole.requests_of("upgrade"), 0
    assert state(whole) != was
    for number in range(requests):
        runs = Runs(revision, EXCLUSIVE, fill)
        was = state(runs)
        runs.ends("upgrade", number)
        position = history_in(runs.gateway).position
        if position is not None and not position.checkpoint:
            met += 1
            assert state(runs) == was, number
            runs.run("downgrade")
            assert state(runs) == was, number
            assert history_in(runs.gateway).position is None
    assert met


def test_a_move_that_ended_before_it_saved_a_position_has_changed_nothing() -> None:
    rekey = RekeyTable("orders", new_table="orders_by_city")
    for options in (EXCLUSIVE, MigrationOptions(gateway_timeout_s=0)):
        revision = revision_of(rekey, after=declared(by_city()))
        met = 0
        for number in range(40):
            runs = Runs(revision, options, fill)
            was = state(runs)
            runs.ends("upgrade", number)
            position = history_in(runs.gateway).position
            if position is not None and not position.checkpoint:
                met += 1
                assert state(runs) == was, number
        assert met


REFUSED: Final = {
    "a family that the table has otherwise": AddFamily("orders", "f", versions=7),
    "a column that the record has otherwise": AddColumn("orders", "d:s"),
    "a column that an index needs": DropColumn("orders", "d:c"),
    "a family with columns": DropFamily("orders", "d"),
    "an index that is not there": DropIndex("orders", "by_nothing"),
    "a family that is not there": AlterFamily("orders", "x", new={"versions": 2}, old={}),
    "a field that is not there": RenameColumn("orders", "nothing", "more"),
    "a column that is not there": TransformColumn("orders", "d:zz", forward=lambda v: v),
    "another codec": ChangeCodec("orders", "d:s", old=codecs.text(), new=codecs.uint64()),
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_downgrade_after_a_refused_step_undoes_the_steps_before_it(why: str) -> None:
    """Also if the refused step cannot be undone."""
    first = AddFamily("orders", "e")
    runs = Runs(revision_of(first, REFUSED[why]), EXCLUSIVE, fill)
    with pytest.raises(MigrationError):
        runs.run("upgrade")
    assert len(contents(runs.engine, "orders").descriptor.families) > 3

    runs.run("downgrade")

    assert history_in(runs.gateway).position is None
    assert not history_in(runs.gateway).applied


@pytest.mark.parametrize(
    ("operation", "there"),
    [
        (AddFamily("orders", "e"), (AddFamily("orders", "e"),)),
        (AddColumn("orders", "e:u"), (AddFamily("orders", "e"), AddColumn("orders", "e:u"))),
        (AddIndex("orders", "by_note"), (AddIndex("orders", "by_note"),)),
    ],
    ids=["family", "column", "index"],
)
def test_an_interrupted_step_whose_work_was_done_before_deletes_nothing_when_undone(
    operation: Operation, there: Iterable[Operation]
) -> None:
    def fill_all(engine: Engine) -> None:
        fill(engine)
        first = revision_of(*there, after=declared(now()), name="first")
        Migrations(engine, Listed(revisions=(first,))).upgrade(options=EXCLUSIVE)
        Migrations(engine, Listed(revisions=(first,))).stamp("base")

    def now() -> type[Model]:
        class Order(Model, table="orders"):
            d = Family()
            e = Family()
            f = Family()
            id: Key[int] = key(codecs.uint32())
            city: Mapped[str] = column(d, "c")
            size: Mapped[int] = column(d, "s", codec=codecs.int64())
            note: Mapped[str | None] = column(d, "n", default=None)
            unit: Mapped[str | None] = column(e, "u", default=None)
            by_city = Index(city)
            by_note = Index(note)

        return Order

    revision = revision_of(operation, after=declared(now()))
    ended = 0
    for number in range(60):
        runs = Runs(revision, EXCLUSIVE, fill_all)
        was = state(runs)
        runs.ends("upgrade", number)
        if history_in(runs.gateway).applied:
            break
        ended += 1
        runs.run("downgrade")
        assert state(runs) == was, number
    assert ended > 5


def test_what_a_step_needs_may_be_made_by_a_step_before_it() -> None:
    shop = other()
    first = revision_of(CreateTable("shops"), BackfillColumn("shops", "d:c", value=b"a"))
    second = Revision(
        "s",
        ("r",),
        operations=(AddColumn("shops", "d:x"), BackfillColumn("shops", "d:x", value=b"b")),
        checksum="c",
        before=declared(shop),
        after=declared(wider()),
    )
    runs = Runs(first, EXCLUSIVE, fill)
    migrations = Migrations(runs.engine, Listed(revisions=(first, second)))

    plan = migrations.plan(Direction.UPGRADE, "head")
    assert [step.estimate.rows for step in plan.steps] == [None, None, None, None]
    assert "which rows lacked" in plan.steps[1].irreversible
    migrations.upgrade()

    assert migrations.current().heads == ("s",)


def wider() -> type[Model]:
    class Shop(Model, table="shops"):
        d = Family()
        id: Key[int] = key(codecs.uint32())
        city: Mapped[str] = column(d, "c")
        extra: Mapped[str | None] = column(d, "x", default=None)

    return Shop


def test_a_plan_whose_first_step_does_not_fit_says_so() -> None:
    runs = Runs(revision_of(BackfillColumn("nothing", "d:c", value=b"a")), EXCLUSIVE, fill)
    with pytest.raises(MigrationError, match="has no record"):
        Migrations(runs.engine, Listed(revisions=(runs.revision,))).plan(Direction.UPGRADE, "head")


def test_one_step_back_undoes_the_half_done_revision_also_beside_another_branch() -> None:
    branch = Revision("b", operations=(), checksum="c")
    step = TransformColumn("orders", "d:n", forward=lambda v: v + b"!", backward=lambda v: v[:-1])
    revision = revision_of(step, REFUSED["a field that is not there"])
    runs = Runs(revision, EXCLUSIVE, fill)
    migrations = Migrations(runs.engine, Listed(revisions=(branch, runs.revision)))
    was = contents(runs.engine, "orders").values
    migrations.upgrade("b")
    with pytest.raises(MigrationError):
        migrations.upgrade("r")
    assert contents(runs.engine, "orders").values != was

    migrations.downgrade("-1")

    assert contents(runs.engine, "orders").values == was
    assert migrations.current().heads == ("b",)


def test_a_function_that_undoes_may_be_corrected_after_it_has_failed() -> None:
    step = Backfill("orders", lambda row: {"note": (row.note or "") + "!"}, names_no_field)
    runs = Runs(revision_of(step), EXCLUSIVE, fill)
    was = contents(runs.engine, "orders").values
    runs.run("upgrade")
    applied = contents(runs.engine, "orders").values
    with pytest.raises(MigrationError, match="no plain column"):
        runs.run("downgrade")
    assert contents(runs.engine, "orders").values == applied

    corrected = replace(step, backward=backward)
    runs.revision = replace(revision_of(corrected), checksum="other")
    runs.run("downgrade")

    assert contents(runs.engine, "orders").values == was


def names_no_field(_: Any) -> dict[str, str]:
    return {"no_such_field": "x"}


def test_an_applied_revision_is_not_to_be_edited_before_its_downgrade_begins() -> None:
    runs = Runs(revision_of(EACH["add family"]), EXCLUSIVE, fill)
    runs.run("upgrade")
    runs.revision = replace(runs.revision, checksum="other")
    with pytest.raises(EditedRevisionError):
        runs.run("downgrade")


def test_stamp_releases_tables_that_an_interrupted_run_used_exclusively() -> None:
    runs = Runs(revision_of(EACH["codec"]), EXCLUSIVE, fill)
    for number in range(200):
        runs = runs.fresh()
        if not runs.ends("upgrade", number):
            raise AssertionError(number)
        if runs.is_held("orders"):
            break
    migrations = Migrations(runs.engine, Listed(revisions=(runs.revision,)))

    migrations.stamp("base")

    assert not runs.is_held("orders")
