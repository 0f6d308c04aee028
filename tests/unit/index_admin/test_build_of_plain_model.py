"""The first index of a plain model, built while programs write that know of no index and no guard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hbase_orm import (
    Family,
    Index,
    IndexState,
    Key,
    Mapped,
    Model,
    codecs,
    column,
    key,
    select,
)
from hbase_orm.binding.write_clock import wall_clock_ms
from hbase_orm.errors import ConflictError, FlushError, SchemaError, UniqueViolationError
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.upkeep.compare import Finding
from hbase_orm.index_admin.build import BuildProgress
from hbase_orm.ops import MutateRows, Put, RowMutation
from tests.support.shop_processes import Clock, Process, engine_on

ROWS = 400
"""More than one look at the beginning of a range shows."""

NEW = 0x900
BEHIND_MS = 60_000


class PlainItem(Model, table="items"):
    d = Family()
    number: Key[int] = key(codecs.uint16())
    city: Mapped[str] = column(d)
    price: Mapped[int] = column(d, codec=codecs.int64(), default=0)


class Item(Model, table="items"):
    d = Family()
    number: Key[int] = key(codecs.uint16())
    city: Mapped[str] = column(d)
    price: Mapped[int] = column(d, codec=codecs.int64(), default=0)
    by_city = Index(city)


class CopyingItem(Model, table="items"):
    d = Family()
    number: Key[int] = key(codecs.uint16())
    city: Mapped[str] = column(d)
    price: Mapped[int] = column(d, codec=codecs.int64(), default=0)
    by_city = Index(city, include=[price], covering=True)


class OwnedItem(Model, table="items"):
    d = Family()
    number: Key[int] = key(codecs.uint16())
    city: Mapped[str] = column(d)
    price: Mapped[int] = column(d, codec=codecs.int64(), default=0)
    by_city = Index(city, unique=True)


class Shop:
    """A table of plain rows, the program that wrote them, and one that builds an index of them."""

    def __init__(self, model: type[Model] = Item, server_behind_ms: int = 0) -> None:
        self.gateway = MemoryGateway(lambda: wall_clock_ms() - server_behind_ms)
        self.clock = Clock()
        self.model = model
        self.old = engine_on(self.gateway, self.clock)
        self.new = engine_on(Process(self.gateway), self.clock)
        self.old.create_tables(PlainItem)
        self.put(*((n, f"city{n}") for n in range(ROWS)))
        self.new.add_guard_family(model)
        self.new.create_tables(model)

    def put(self, *rows: tuple[int, str]) -> None:
        """Write rows as a program does that knows of no index."""
        with self.old.session() as session:
            session.add_all(PlainItem(number=n, city=city, price=n) for n, city in rows)

    def build(self, meanwhile: Callable[[], None]) -> None:
        """Build; once all rows are done, and its lease still runs, let the old program write."""
        self.put((NEW, "first"))  # its lease begins
        done: list[int] = []

        def tell(progress: BuildProgress) -> None:
            if progress.phase == "wait" and not done:
                done.append(1)
                meanwhile()

        self.new.build_index(self.model, "by_city", on_progress=tell)
        assert done

    def by_city(self, city: str) -> list[int]:
        model: Any = self.model
        wanted = select(model.number, model.price).where(model.city == city)
        return [number for number, _ in self.new.session().all(wanted.using(model.by_city))]

    def assert_sound(self) -> None:
        found = engine_on(self.gateway, Clock()).verify_index(self.model, "by_city")
        assert (found.missing, found.invalid, found.foreign) == (0, 0, 0)
        assert found.rows[Finding.VALID] == found.rows.total() >= ROWS


MODELS = pytest.mark.parametrize("model", [Item, CopyingItem, OwnedItem])
SERVER_CLOCKS = pytest.mark.parametrize("behind_ms", [0, BEHIND_MS, -BEHIND_MS])


@MODELS
def test_rows_that_a_plain_program_adds_after_all_rows_were_done_are_found(
    model: type[Model],
) -> None:
    shop = Shop(model)

    shop.build(lambda: shop.put(*((NEW + n, f"new{n}") for n in range(1, 121))))

    shop.assert_sound()
    assert [shop.by_city(f"new{n}") for n in (1, 60, 120)] == [[NEW + 1], [NEW + 60], [NEW + 120]]


@MODELS
@SERVER_CLOCKS
def test_a_row_that_a_plain_program_changes_after_it_was_done_is_found_by_its_new_value(
    model: type[Model], behind_ms: int
) -> None:
    """Also where the server's clock is behind the builder's, and the put below the row's guard."""
    shop = Shop(model, behind_ms)

    shop.build(lambda: shop.put((5, "moved5"), (300, "moved300")))

    shop.assert_sound()
    assert [shop.by_city(f"moved{n}") for n in (5, 300)] == [[5], [300]]
    assert [shop.by_city(f"city{n}") for n in (5, 300)] == [[], []]


@MODELS
@SERVER_CLOCKS
def test_a_row_that_a_plain_program_deletes_after_it_was_done_is_not_found(
    model: type[Model], behind_ms: int
) -> None:
    shop = Shop(model, behind_ms)

    def delete() -> None:
        with shop.old.session() as session:
            session.delete(PlainItem(number=300, city="city300"))

    shop.build(delete)

    assert shop.by_city("city300") == []
    assert shop.by_city("city299") == [299]


def test_a_copy_of_a_column_that_a_plain_program_changes_is_not_believed() -> None:
    shop = Shop(CopyingItem)

    def change() -> None:
        with shop.old.session() as session:
            session.add(PlainItem(number=300, city="city300", price=7))

    shop.build(change)

    wanted = select(CopyingItem.price).where(CopyingItem.city == "city300")
    assert shop.new.session().all(wanted.using(CopyingItem.by_city)) == [7]


def test_a_copy_that_a_new_program_made_of_a_row_that_a_plain_one_then_moved_is_not_believed() -> (
    None
):
    shop = Shop(CopyingItem)

    def race() -> None:
        with shop.new.session() as session:
            session.add(CopyingItem(number=NEW + 1, city="here", price=1))
        shop.put((NEW + 1, "there"))

    shop.build(race)

    assert (shop.by_city("here"), shop.by_city("there")) == ([], [NEW + 1])


def test_two_rows_of_a_plain_program_with_one_unique_value_stop_the_build() -> None:
    shop = Shop(OwnedItem)

    with pytest.raises(UniqueViolationError) as caught:
        shop.build(lambda: shop.put((NEW + 1, "both"), (NEW + 2, "both")))

    assert caught.value.index == "by_city"
    assert shop.new.indexes(OwnedItem)["by_city"].state is IndexState.WRITE_ONLY


def test_an_index_built_anew_finds_what_a_plain_put_left_anywhere() -> None:
    """A program that bypasses the library wrote a row that is far from the range's beginning."""
    shop = Shop()
    shop.build(lambda: None)

    def bypass(progress: BuildProgress) -> None:
        if progress.phase == "wait":
            put = RowMutation((350).to_bytes(2, "big"), (Put(b"d:city", b"raw"),))
            shop.gateway.execute(MutateRows("items", (put,)))

    shop.new.build_index(Item, "by_city", rebuild=True, on_progress=bypass)

    assert shop.by_city("raw") == [350]


def test_a_build_is_refused_while_a_program_goes_on_that_never_looks_at_the_catalog() -> None:
    shop = Shop()
    numbers = iter(range(1000))

    def tell(progress: BuildProgress) -> None:
        if progress.phase == "check":
            put = RowMutation((350).to_bytes(2, "big"), (Put(b"d:city", b"%d" % next(numbers)),))
            shop.gateway.execute(MutateRows("items", (put,)))

    with pytest.raises(
        ConflictError, match="programs that do not maintain the index still write rows"
    ):
        shop.new.build_index(Item, "by_city", on_progress=tell)

    assert shop.new.indexes(Item)["by_city"].state is IndexState.WRITE_ONLY


def test_a_plain_program_is_refused_once_its_lease_has_ended() -> None:
    shop = Shop()
    shop.build(lambda: None)

    with pytest.raises(FlushError) as caught:
        shop.put((1, "late"))

    assert isinstance(caught.value.not_written[0][2], SchemaError)


def paused_write(shop: Shop) -> None:
    """Apply what a plain program had asked before its lease and was held up until now."""
    puts = (Put(b"d:city", b"late"), Put(b"d:price", (9).to_bytes(8, "big")))
    shop.gateway.execute(MutateRows("items", (RowMutation((300).to_bytes(2, "big"), puts),)))


@pytest.mark.parametrize("model", [Item, CopyingItem])
def test_what_a_plain_program_writes_later_than_any_wait_is_verified_as_unsound_and_repaired(
    model: type[Model],
) -> None:
    shop = Shop(model)
    shop.build(lambda: None)
    paused_write(shop)

    found = shop.new.verify_index(model, "by_city")
    shop.new.verify_index(model, "by_city", repair=True, min_age_ms=0)

    assert not found.is_sound
    assert (found.missing, found.foreign) == (1, 1)
    assert found.entries[Finding.INVALID] == (model is CopyingItem)
    assert (shop.by_city("late"), shop.by_city("city300")) == ([300], [])
    shop.assert_sound()
