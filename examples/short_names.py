r"""Names in keys, so that host1 never gives host12: with a separator, padded, or as short codes.

All three keep a name's rows together and apart from those of longer names:

- A separator costs a byte, and names that hold it are refused. The zero byte sorts as names do;
  `_`, often printed, does not: host12_ stands before host1_.
- A fixed width costs the longest name in every key, and longer names are refused; so are names
  that end as the padding does: padded with `x`, `box` and `bo` would be one name.
- A code is the shortest (the Chinese shop below is `tb`), for names that are few and known; a new
  one needs a new declaration. No code may begin another's.

Numbers are shorter as numbers: 2015122410 is eight bytes, as text ten, and it sorts as a number.
The hour of this table is such a number. Nothing is found by the middle or the end of a name.
"""

from __future__ import annotations

from typing import Any, ClassVar

from examples.program import ask, run
from hbase_orm import Engine, Family, Key, Mapped, Model, codecs, column, key, rowkey, select
from hbase_orm.errors import HBaseORMError

SHOPS = {"淘寶": b"tb", "天貓": b"tm", "host1": b"h1", "host12": b"hc"}


class Visits(Model, abstract=True):
    """What the three have in common: visits an hour, the hour as year, month, day, hour."""

    d = Family()
    hour: Key[int] = key(codecs.uint64())
    visits: Mapped[int] = column(d, "v", codec=codecs.uint32())


class Separated(Visits, table="visits_separated"):
    """`[site]_[hour]`."""

    site: Key[str] = key(codecs.text(separator=b"_"))
    __rowkey__ = rowkey(site, Visits.hour)
    __lint__: ClassVar = {"key-separator": "the example shows which sites are refused"}


class Padded(Visits, table="visits_padded"):
    """`[rpad(site, 'x', 8)][hour]`."""

    site: Key[str] = key(codecs.text(width_bytes=8, pad=b"x"))
    __rowkey__ = rowkey(site, Visits.hour)
    __lint__: ClassVar = {"key-padding": "the example shows which sites are refused"}


class Coded(Visits, table="visits_coded"):
    """`[code of site][hour]`."""

    site: Key[str] = key(codecs.code(SHOPS))
    __rowkey__ = rowkey(site, Visits.hour)


DESIGNS: tuple[Any, ...] = (Separated, Padded, Coded)


def show(engine: Engine) -> None:
    """Load the same visits three ways; ask for those of host1; be refused what is ambiguous."""
    engine.drop_tables(*DESIGNS)
    engine.create_tables(*DESIGNS)
    for design in DESIGNS:
        with engine.session() as session:
            for visits, site in enumerate(SHOPS, 1):
                if design is not Padded or site.isascii():
                    session.add(design(site=site, hour=2015122410, visits=visits))
            session.flush()
            found = ask(
                session, f"host1, {design.__name__}", select(design).where(design.site == "host1")
            )

        assert [(visits.site, visits.visits) for visits in found] == [("host1", 3)]

    for design, site in zip(DESIGNS, ("host_1", "box", "host2"), strict=True):
        try:
            design.encode_key(site=site, hour=1)
        except HBaseORMError as error:
            print(f"\n{site} is refused: {error}")
        else:
            raise AssertionError(f"{site} is ambiguous")


if __name__ == "__main__":
    run(show)
