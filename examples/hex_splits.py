"""Where to cut a table whose keys are sixteen hexadecimal digits, so that every region is reached.

Choose split keys by what keys look like, and let the library say which regions they can reach.
Cutting the digits' values evenly, as below, gives ten equal regions. `Bytes.split`, which is what
`createTable` with a first key, a last key and a number of regions does, cuts the *bytes* evenly:
between "9" and "a" lie 39 characters that no key has. Six of its ten regions can never hold a row,
one holds the single key of sixteen f's, and three hold everything else.

It costs nothing but to know the keys; cutting later costs splits and moves under load.
"""

from __future__ import annotations

from examples.program import ask, run
from hbase_orm import Engine, Family, Key, Mapped, Model, Table, codecs, column, key, select
from hbase_orm.rowkey.reach import LeadingBytes, survey, unreachable_regions
from hbase_orm.rowkey.split_algorithms import guide_hex_split, range_split

REGIONS = 10
DIGITS = LeadingBytes.hex_digits(16)
EVEN = guide_hex_split(REGIONS)
UNEVEN = range_split(REGIONS, b"0" * 16, b"f" * 16)


class Visit(Model, table=Table("visits", splits=EVEN)):
    """`[sixteen digits]`."""

    d = Family()
    visit_id: Key[str] = key(codecs.text(width_bytes=16))
    page: Mapped[str] = column(d, "p")


class UnevenVisit(Model, table=Table("visits_uneven", splits=UNEVEN)):
    """The same keys in a table cut by `Bytes.split`."""

    d = Family()
    visit_id: Key[str] = key(codecs.text(width_bytes=16))
    page: Mapped[str] = column(d, "p")


IDS = [f"{number * 0x1111111111111111:016x}" for number in range(16)]


def report(name: str, keys: tuple[bytes, ...]) -> int:
    """Print what each region can hold; return how many can hold nothing."""
    print(f"\n{name}")
    for region in survey(keys, DIGITS):
        held = f"{region.share:.1%}" if region.beginnings != 1 else "a single key"
        held = held if region.is_reachable else "can never hold a row"
        print(f"  from {region.start.decode('latin-1')!r}: {held}")
    return len(unreachable_regions(keys, DIGITS))


def show(engine: Engine) -> None:
    """Make both tables, report what their regions can hold, and load sixteen visits."""
    engine.drop_tables(Visit, UnevenVisit)
    engine.create_tables(Visit, UnevenVisit)
    assert report("cut by the digits' values", EVEN) == 0
    assert report("cut by Bytes.split", UNEVEN) == 6
    with engine.session() as session:
        session.add_all(Visit(visit_id=visit_id, page="/") for visit_id in IDS)
        session.add_all(UnevenVisit(visit_id=visit_id, page="/") for visit_id in IDS)
        session.flush()
        late = select(Visit).where(Visit.visit_id >= "e666666666666661")
        assert [visit.visit_id for visit in ask(session, "the last region", late)] == IDS[14:]


if __name__ == "__main__":
    run(show)
