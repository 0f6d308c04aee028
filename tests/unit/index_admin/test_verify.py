"""What a verification finds, each made by hand in the tables."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hbase_orm import Engine, Family, Finding, Index, Key, Mapped, Model, codecs, column, key
from hbase_orm.binding.url import parse_url
from hbase_orm.binding.write_clock import wall_clock_ms
from hbase_orm.errors import ConfigurationError
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.ops import Delete, GetRows, MutateRows, Put, RowMutation


class Parcel(Model, table="parcels"):
    d = Family()
    number: Key[int] = key(codecs.uint16())
    city: Mapped[str] = column(d)
    weight: Mapped[str | None] = column(d, default=None)
    label: Mapped[str | None] = column(d, default=None)
    by_city = Index(city, include=[weight], covering=True)
    one_label = Index(label, unique=True)


OSLO = b"Oslo\x00\x01\x00\x01"
TABLE = "parcels_ix_by_city"
LABELS = "parcels_ix_one_label"


@pytest.fixture
def gateway() -> MemoryGateway:
    return MemoryGateway()


@pytest.fixture
def engine(gateway: MemoryGateway) -> Engine:
    engine = Engine(gateway, parse_url("memory://"))
    engine.create_tables(Parcel)
    with engine.session() as session:
        session.add(Parcel(number=1, city="Oslo", weight="7", label="A"))
        session.add(Parcel(number=2, city="Rome", label="B"))
    return engine


def put(gateway: MemoryGateway, table: str, row: bytes, cell: bytes, value: bytes = b"") -> None:
    later_ms = wall_clock_ms() + 5
    gateway.execute(MutateRows(table, (RowMutation(row, (Put(cell, value, later_ms),)),)))


def delete(gateway: MemoryGateway, table: str, row: bytes, *families: bytes) -> None:
    (found,) = gateway.execute(GetRows(table, (row,)))
    assert found is not None
    last_ms = max(cell.timestamp_ms for cell in found.cells.values())
    deletes = tuple(Delete(family, last_ms) for family in families or (b"d",))
    mutation = RowMutation(row, deletes=deletes)
    gateway.execute(MutateRows(table, (mutation,)))


HARMLESS = {Finding.UNVERIFIED, Finding.IN_FLIGHT}

Spoil = Callable[[MemoryGateway], None]

CASES: dict[str, tuple[str, Spoil, list[Finding], list[Finding]]] = {
    "no entry": ("by_city", lambda g: delete(g, TABLE, OSLO), [Finding.MISSING], []),
    "an entry that says something else": (
        "by_city",
        lambda g: put(g, TABLE, OSLO, b"d:d:weight", b"8"),
        [Finding.INVALID],
        [Finding.INVALID],
    ),
    "an entry of other columns": (
        "by_city",
        lambda g: put(g, TABLE, OSLO, b"d:", b"v\x03"),
        [Finding.INVALID],
        [Finding.INVALID],
    ),
    "an entry whose write was broken off": (
        "by_city",
        lambda g: put(g, TABLE, OSLO, b"d:", b"u"),
        [Finding.UNVERIFIED],
        [Finding.UNVERIFIED],
    ),
    "an entry that is not in the row yet": (
        "by_city",
        lambda g: put(g, TABLE, b"Rome\x00\x01\x00\x01", b"d:", b"u"),
        [],
        [Finding.IN_FLIGHT],
    ),
    "an entry of a row that is coming": (
        "by_city",
        lambda g: put(g, TABLE, b"Rome\x00\x01\x00\x09", b"d:", b"u"),
        [],
        [Finding.IN_FLIGHT],
    ),
    "no entry at all": (
        "by_city",
        lambda g: put(g, TABLE, b"junk", b"d:", b"u"),
        [],
        [Finding.UNKNOWN],
    ),
    "a row that is gone, and its guard too": (
        "by_city",
        lambda g: delete(g, "parcels", b"\x00\x01", b"d", b"_"),
        [],
        [Finding.INVALID],  # queries answer from it
    ),
    "a value of nobody's": (
        "one_label",
        lambda g: delete(g, LABELS, b"A\x00\x01"),
        [Finding.MISSING],
        [],
    ),
}


def faults(found: dict[str, int]) -> list[Finding]:
    names = found.keys() - {"SCANNED", "VALID"}
    return [Finding[name] for name in sorted(names) for _ in range(found[name])]


@pytest.mark.parametrize("case", CASES)
def test_what_was_spoilt_is_found_in_both_directions(
    gateway: MemoryGateway, engine: Engine, case: str
) -> None:
    index, spoil, rows, entries = CASES[case]
    before = engine.verify_index(Parcel, index)
    spoil(gateway)

    after = engine.verify_index(Parcel, index)

    assert (before.pairs, before.scanned) == ((), 4)
    assert faults(after.counters()["rows"]) == rows
    assert faults(after.counters()["entries"]) == entries
    assert after.is_sound is HARMLESS.issuperset([*rows, *entries])


@pytest.mark.parametrize("case", [case for case in CASES if "at all" not in case])
def test_what_was_spoilt_is_repaired(gateway: MemoryGateway, engine: Engine, case: str) -> None:
    index, spoil, _, _ = CASES[case]
    spoil(gateway)

    repair = engine.verify_index(Parcel, index, repair=True, min_age_ms=-1000)

    after = engine.verify_index(Parcel, index)
    assert repair.repaired > 0
    assert after.pairs == ()


def test_a_value_that_does_not_decode_is_found(gateway: MemoryGateway, engine: Engine) -> None:
    put(gateway, "parcels", b"\x00\x01", b"d:city", b"\xff")

    found = engine.verify_index(Parcel, "by_city")

    assert found.rows[Finding.UNKNOWN] == 1
    assert found.foreign == 1


def test_a_row_of_another_program_is_reported_and_taken_over(
    gateway: MemoryGateway, engine: Engine
) -> None:
    put(gateway, "parcels", b"\x00\x07", b"d:city", b"Oslo")

    repair = engine.verify_index(Parcel, "by_city", repair=True)

    (row,) = gateway.execute(GetRows("parcels", (b"\x00\x07",)))
    assert (repair.foreign, repair.missing, repair.repaired) == (1, 1, 1)
    assert row is not None
    assert b"_:g" in row.cells
    assert engine.verify_index(Parcel, "by_city").counters()["rows"]["VALID"] == 3


def test_a_direction_that_there_is_not_is_refused(engine: Engine) -> None:
    with pytest.raises(ConfigurationError):
        engine.verify_index(Parcel, "by_city", source="rows")  # type: ignore[arg-type]  # wrong
