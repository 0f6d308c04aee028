"""Rows whose stored values fit no entry of an index: they stay readable, mendable, deletable."""

from __future__ import annotations

from typing import Any

import pytest

from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    codecs,
    column,
    connect,
    key,
    select,
)
from hbase_orm.errors import FlushError, UniqueViolationError, ValidationError
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.upkeep.compare import Finding
from hbase_orm.ops import MutateRows, Put, RowMutation
from tests.support.recording import gateway_of
from tests.support.shop_processes import Clock, engine_on

TOO_LONG = "x" * 40_000


class Part(Model, table="parts"):
    """Parts as they are before anything of theirs is indexed with a codec of its own."""

    d = Family()
    name: Key[str] = key()
    size: Mapped[int] = column(d, default=0)
    label: Mapped[str] = column(d, default="")
    maker: Mapped[str] = column(d)
    by_maker = Index(maker)


class SizedPart(Model, table="parts"):
    d = Family()
    name: Key[str] = key()
    size: Mapped[int] = column(d, default=0)
    label: Mapped[str] = column(d, default="")
    maker: Mapped[str] = column(d)
    by_maker = Index(maker)
    by_size = Index((size, codecs.uint16()))


class LabelledPart(Model, table="parts"):
    d = Family()
    name: Key[str] = key()
    size: Mapped[int] = column(d, default=0)
    label: Mapped[str] = column(d, default="")
    maker: Mapped[str] = column(d)
    by_maker = Index(maker)
    by_label = Index(label)


class Account(Model, table="accounts"):
    d = Family()
    name: Key[str] = key()
    owner: Mapped[str] = column(d)
    mail: Mapped[str] = column(d)
    balance: Mapped[int] = column(d, default=0)
    limit: Mapped[int | None] = column(d, default=None)
    by_owner = Index(owner, include=[balance], covering=True)
    by_mail = Index(mail, unique=True)
    by_limit = Index(limit)


@pytest.fixture
def engine() -> Any:
    with connect("memory://") as connected:
        yield connected


def store(engine: Engine, table: str, row: bytes, column_name: bytes, value: bytes) -> None:
    """Write one cell as another program would, past all indexes."""
    put = Put(column_name, value)
    gateway_of(engine).execute(MutateRows(table, (RowMutation(row, puts=(put,)),)))


# --- a corrupt value -------------------------------------------------------------------------------


def test_a_corrupt_value_of_one_index_leaves_the_entries_of_the_others_tended(
    engine: Engine,
) -> None:
    engine.create_tables(Account)
    with engine.session() as session:
        session.insert(Account(name="a", owner="old", mail="x", balance=1, limit=1))
        store(engine, "accounts", b"a", b"d:limit", b"bad")

        session.put_row(
            Account,
            Account.limit.to(4),
            Account.balance.to(2),
            Account.owner.to("new"),
            Account.mail.to("y"),
            name="a",
        )

        copied = select(Account.name, Account.balance)
        assert session.all(copied.where(Account.owner == "old")) == []
        assert session.all(copied.where(Account.owner == "new")) == [("a", 2)]
        session.insert(Account(name="b", owner="b", mail="x"))
        with pytest.raises(UniqueViolationError):
            session.insert(Account(name="c", owner="c", mail="y"))


# --- a build over rows that do not fit -------------------------------------------------------------


def begun_build(model: type[Model], index: str, **values: Any) -> Engine:
    """Begin to build an index over two rows of which the first does not fit; it fails."""
    gateway, clock = MemoryGateway(), Clock()
    old = engine_on(gateway, clock)
    old.create_tables(Part)
    with old.session() as session:
        session.insert(Part(name="odd", maker="m", **values))
        session.insert(Part(name="plain", maker="m", size=2, label="b"))
    engine = engine_on(gateway, clock)
    engine.create_tables(model)
    with pytest.raises(ValidationError) as caught:
        engine.build_index(model, index, gateway_timeout_s=0)
    assert (caught.value.table, caught.value.index) == ("parts", index)
    assert caught.value.rows == [b"odd"]
    return engine


BUILDS = pytest.mark.parametrize(
    ("model", "index", "odd"),
    [(SizedPart, "by_size", {"size": -5}), (LabelledPart, "by_label", {"label": TOO_LONG})],
)


@BUILDS
def test_a_row_that_does_not_fit_can_be_mended_and_the_build_finished(
    model: Any, index: str, odd: dict[str, Any]
) -> None:
    engine = begun_build(model, index, **odd)
    (field,) = odd
    least, index_of = (0 if field == "size" else "a"), getattr(model, index)
    with engine.session() as session:
        session.put_row(model, model.size.to(3), model.label.to("z"), name="odd")

        engine.build_index(model, index, gateway_timeout_s=0)

        found = session.all(select(model).where(getattr(model, field) >= least).using(index_of))
    assert sorted(each.name for each in found) == ["odd", "plain"]


@BUILDS
def test_a_row_that_does_not_fit_can_be_deleted(
    model: Any, index: str, odd: dict[str, Any]
) -> None:
    engine = begun_build(model, index, **odd)
    with engine.session() as session:
        session.delete_row(model, name="odd")
        engine.build_index(model, index, gateway_timeout_s=0)
        assert [each.name for each in session.all(select(model).where(model.maker == "m"))] == [
            "plain"
        ]


def test_a_row_that_does_not_fit_can_be_deleted_with_others(engine: Engine) -> None:
    engine = begun_build(SizedPart, "by_size", size=-5)
    with engine.session() as session:
        assert session.delete_where(select(SizedPart).where(SizedPart.maker == "m")) == 2


def test_what_leaves_a_row_unfit_is_refused_with_row_and_index(engine: Engine) -> None:
    engine = begun_build(SizedPart, "by_size", size=-5)
    with engine.session() as session:
        with pytest.raises(ValidationError) as caught:
            session.put_row(SizedPart, SizedPart.label.to("new"), name="odd")
        assert (caught.value.index, caught.value.row) == ("by_size", b"odd")
        assert session.get(SizedPart, name="odd").label == ""  # type: ignore[union-attr]  # it is there


# --- values of other programs ----------------------------------------------------------------------


def test_a_foreign_value_that_fits_no_entry_fails_no_read_of_the_index(engine: Engine) -> None:
    engine.create_tables(SizedPart)
    with engine.session() as session:
        session.insert(SizedPart(name="a", maker="m", size=1))
        session.insert(SizedPart(name="b", maker="m", size=2))
        store(engine, "parts", b"a", b"d:size", codecs.int64().encode(-5))

        found = session.all(select(SizedPart).where(SizedPart.size >= 0))

        assert [each.name for each in found] == ["b"]
        verified = engine.verify_index(SizedPart, "by_size")
        assert verified.rows[Finding.UNKNOWN] == 1


def test_a_repair_goes_on_behind_rows_that_it_cannot_put_right_and_names_them(
    engine: Engine,
) -> None:
    engine.create_tables(Account)
    with engine.session() as session:
        session.insert(Account(name="owner", owner="o", mail="taken"))
    for name, cells in {
        "a-corrupt": {b"d:owner": b"o", b"d:mail": b"1", b"d:limit": b"bad"},
        "b-taken": {b"d:owner": b"o", b"d:mail": b"taken"},
        **{f"good{n:03}": {b"d:owner": b"o", b"d:mail": b"m%d" % n} for n in range(300)},
    }.items():
        for cell, value in cells.items():
            store(engine, "accounts", name.encode(), cell, value)

    found = engine.verify_index(Account, "by_owner", repair=True, min_age_ms=0)

    after = engine.verify_index(Account, "by_owner")
    assert found.missing == 302
    assert found.unrepaired.keys() == {b"a-corrupt", b"b-taken"}
    assert "by_limit" in found.unrepaired[b"a-corrupt"]
    assert "by_mail" in found.unrepaired[b"b-taken"]
    assert (found.repaired, after.missing) == (300, 2)


# --- new values ------------------------------------------------------------------------------------


def test_a_new_value_that_an_index_cannot_store_is_refused_by_name(engine: Engine) -> None:
    engine.create_tables(SizedPart)
    with pytest.raises(ValidationError) as caught, engine.session() as session:
        session.insert(SizedPart(name="a", maker="m", size=-1))
    with pytest.raises(FlushError) as flushed, engine.session() as session:
        session.add(SizedPart(name="b", maker="m", size=-1))

    assert (caught.value.table, caught.value.row, caught.value.index) == ("parts", b"a", "by_size")
    ((_, _, error),) = flushed.value.not_written
    assert isinstance(error, ValidationError)


def test_a_load_of_a_value_that_an_index_cannot_store_names_its_row(engine: Engine) -> None:
    engine.create_tables(SizedPart)
    with (
        pytest.raises(ValidationError) as caught,
        engine.session() as session,
        session.bulk(insert_only=True) as bulk,
    ):
        bulk.add(SizedPart(name="a", maker="m", size=-1))

    assert (caught.value.row, caught.value.index) == (b"a", "by_size")
