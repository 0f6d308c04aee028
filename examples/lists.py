"""Lists of a user's values: tall rows, one wide row, and rows that are pages.

- Tall, `[user][value id]`: choose it first. A page is a scan that begins at any value id, inserts
  need no reading, and a list of any length spreads over regions.
- Wide, the value ids as qualifiers of one row: choose it where the whole list is changed at once,
  atomically. A slice of the columns is read by seeking. It costs: a row never splits, so that a
  list of millions is one region's.
- Pages, `[user][page]` with how many there are and which page comes next: the fewest cells. They
  cost a read before each insert, and moves where a page is full: for lists that grow at the end.

A scan from the user's first row with LIMIT 30 and no stop row, as is often printed, goes on with
the next user's rows. Here the user's end is the scan's: seven values asked for thirty are seven.
"""

from __future__ import annotations

from examples.program import ask, run
from hbase_orm import (
    Dynamic,
    Engine,
    Family,
    Key,
    Mapped,
    Model,
    Session,
    codecs,
    column,
    dynamic,
    key,
    select,
)

PAGE = 30


class ListItem(Model, table="list_tall"):
    """One row a value."""

    d = Family()
    user: Key[str] = key()
    value_id: Key[int] = key(codecs.uint64())
    payload: Mapped[bytes] = column(d, "p")


class ListRow(Model, table="list_wide"):
    """One row a user."""

    d = Family()
    user: Key[str] = key()
    items: Dynamic[int, bytes] = dynamic(d, name=codecs.uint64(), codec=codecs.raw())


class ListPage(Model, table="list_pages"):
    """One row for each thirty values, in the order of their ids."""

    d = Family()
    user: Key[str] = key()
    page: Key[int] = key(codecs.uint32())
    length: Mapped[int] = column(d, "l", codec=codecs.uint16())
    next_page: Mapped[int | None] = column(d, "n", codec=codecs.uint32(), default=None)
    ids: Mapped[list[int]] = column(d, "i", codec=codecs.json(list[int]))


def load(session: Session, user: str, ids: list[int]) -> None:
    """Store a user's values, their ids rising, in all three ways."""
    row = ListRow(user=user)
    row.items = {n: b"%d" % n for n in ids}
    session.add(row)
    session.add_all(ListItem(user=user, value_id=n, payload=b"%d" % n) for n in ids)
    pages = [ids[start : start + PAGE] for start in range(0, len(ids), PAGE)]
    for number, page in enumerate(pages):
        following = number + 1 if number + 1 < len(pages) else None
        session.add(
            ListPage(user=user, page=number, length=len(page), next_page=following, ids=page)
        )


def from_tall(session: Session, user: str, first: int) -> list[int]:
    """Return up to thirty ids, from one on."""
    items = select(ListItem.value_id).where(ListItem.user == user, ListItem.value_id >= first)
    return ask(session, f"tall rows: thirty of {user} from {first}", items.limit(PAGE))


def from_wide(session: Session, user: str, first: int) -> list[int]:
    """Return the same from the wide row."""
    rows = select(ListRow).where(ListRow.user == user)
    slices = rows.columns_between(ListRow.items, first, 2**63, limit=PAGE)
    [row] = ask(session, f"a slice of columns: thirty of {user} from {first}", slices)
    return list(row.items)


def from_page(session: Session, user: str, number: int) -> list[int]:
    """Return the ids of one page."""
    pages = select(ListPage).where(ListPage.user == user, ListPage.page == number)
    [page] = ask(session, f"page {number} of {user}", pages)
    return page.ids


def show(engine: Engine) -> None:
    """Load users of seven and of a hundred values; ask each way for thirty."""
    engine.drop_tables(ListItem, ListRow, ListPage)
    engine.create_tables(ListItem, ListRow, ListPage)
    with engine.session() as session:
        load(session, "u1", list(range(7)))
        load(session, "u10", list(range(0, 1000, 10)))
        session.flush()

        for read in (from_tall, from_wide, from_page):
            assert read(session, "u1", 0) == [0, 1, 2, 3, 4, 5, 6]
        thirty = list(range(300, 600, 10))
        assert from_tall(session, "u10", 295) == thirty
        assert from_wide(session, "u10", 295) == thirty
        assert from_page(session, "u10", 1) == thirty


if __name__ == "__main__":
    run(show)
