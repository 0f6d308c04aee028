"""What a program with a changed declaration reads and writes, and what the rows are afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

import pytest

from hbase_orm import Engine, Session, codecs, select
from hbase_orm.errors import DuplicateRowError, MissingCellError, SchemaDriftError
from tests.support.changed_models import FIRST, Declared, Programs, col

MISSING: Final = "missing"
"""What stands for a required field whose cell the row lacks."""

HARMLESS: Final = {
    "nothing": FIRST,
    "a new column": FIRST.having(colour=col(str, "k", nullable=True)),
    "a new column with a default": FIRST.having(colour=col(str, "k", default="red")),
    "a new column with a default above all": FIRST.below(colour=col(str, "k", default="red")),
    "a new required column": FIRST.having(colour=col(str, "k")),
    "a new required column above all": FIRST.below(colour=col(str, "k")),
    "another order": replace(FIRST, columns=dict(reversed([*FIRST.columns.items()]))),
    "a column less": FIRST.without("note"),
    "a required column less": FIRST.without("weight"),
    "the anchor's field renamed": FIRST.renamed(customer="client"),
    "an indexed field renamed": FIRST.renamed(city="town"),
    "a field renamed": FIRST.renamed(note="remark"),
    "a column may be None": FIRST.having(
        weight=col(int, "w", codec=codecs.uint16(), nullable=True)
    ),
    "a column is required": FIRST.having(note=col(str, "n")),
    "a column is deferred": FIRST.having(note=col(str, "n", nullable=True, deferred=True)),
    "a column is not deferred": FIRST.having(text=col(str, "x", nullable=True)),
    "a view": replace(FIRST.without("note", "text"), name="OrderView"),
    "a view with other names": replace(
        FIRST.without("text").renamed(note="remark", weight="mass"), name="OrderView"
    ),
}
"""Declarations that differ harmlessly from the first one."""

OPTIONS: Final = {
    "a time to live": replace(FIRST, family={"ttl": timedelta(days=1)}),
    "more versions": replace(FIRST, family={"versions": 3}),
    "compression": replace(FIRST, family={"compression": "GZ"}),
}
"""Declarations of a family with other options than the first one."""


NUMBERS: Final = (*range(12), 20, 21, 22, 27)
"""The numbers of all rows that tests write, and of some that they do not."""

Rows = dict[int, dict[str, Any]]
"""The values of rows by number, by the name of the field."""


@dataclass(frozen=True)
class Use:
    """A model as a program uses it for the rows of one shop."""

    engine: Engine
    model: Any
    declared: Declared
    shop: str

    @property
    def mine(self) -> Any:
        return select(self.model).where(self.model.shop == self.shop)

    # --- reading ----------------------------------------------------------------------------------

    def numbers(self) -> dict[str, list[int]]:
        """Return the numbers of the rows that each kind of read finds."""
        session = self.engine.session()
        keys = [{"shop": self.shop, "number": n} for n in NUMBERS]
        in_order = self.mine.order_by(self.model.number.asc())
        found = [each.number for each in self.engine.session().all(self.mine)]
        ways = {
            "get": [k["number"] for k in keys if session.get(self.model, **k) is not None],
            "get_many": [
                each.number
                for each in self.engine.session().get_many(self.model, keys)
                if each is not None
            ],
            "all": sorted(found),
            "stream": self._streamed(in_order),
            "page": self._paged(in_order),
            "values": session.all(
                select(self.model.number)
                .where(self.model.shop == self.shop)
                .order_by(self.model.number.asc())
            ),
            "exists": sorted(found) if session.exists(self.mine) else [],
            "count": sorted(found) if session.count(self.mine) == len(found) else [],
        }
        if hasattr(self.model, "by_city"):
            ways["index"] = self._by_index()
        return ways

    def _streamed(self, stmt: Any) -> list[int]:
        with self.engine.session().stream(stmt) as stream:
            return [each.number for each in stream]

    def _paged(self, stmt: Any) -> list[int]:
        session, found, token = self.engine.session(), list[int](), None
        while True:
            page = session.page(stmt, size=3, token=token)
            found += [each.number for each in page.items]
            token = page.token
            if token is None:
                return found

    def _by_index(self) -> list[int]:
        model, session = self.model, self.engine.session()
        city = getattr(model, self.declared.indexes["by_city"])
        found = list[int]()
        for n in range(5):
            stmt = select(model).where(city == f"{self.shop}-{n}").using(model.by_city)
            found += [each.number for each in session.all(stmt)]
        return sorted(found)

    def rows(self) -> Rows:
        """Return every value of every row, deferred ones too, and those that have no cell."""
        session = self.engine.session()
        objects = session.all(self.mine)
        deferred = [getattr(self.model, c.name) for c in self.model.__schema__.deferred]
        for each in objects if deferred else ():
            session.refresh(each, *deferred)
        names = (*self.declared.columns, "hits")
        return {each.number: {n: value_of(each, n) for n in names} for each in objects}

    # --- indexes ----------------------------------------------------------------------------------

    def verified(self) -> dict[str, tuple[int, int]]:
        """Return for each index how many entries are missing, and how many are stale."""
        found = {name: self.engine.verify_index(self.model, name) for name in self.declared.indexes}
        return {name: (each.missing, each.stale) for name, each in found.items()}

    def repaired(self) -> int | None:
        """Repair the indexes; return how many entries were deleted, None if that was refused."""
        try:
            counts = self.engine.repair_indexes(self.model, min_age_ms=-3_600_000)
        except SchemaDriftError:
            return None
        return sum(each.repaired for each in counts.values())

    # --- writing ----------------------------------------------------------------------------------

    def write(self, rows: Rows, *, is_simple: bool) -> None:
        """Change the shop's rows by every verb, and `rows` as the shop's rows then are.

        Args:
            rows: The rows by the qualifiers of their columns.
            is_simple: Whether only verbs are used that Thrift1 alone has for every model.
        """
        self._write_simply(rows)
        if not is_simple:
            self._write_with_thrift2(rows)

    def _write_simply(self, rows: Rows) -> None:
        model, shop = self.model, self.shop
        new, many, again = self.made(21), self.made(22), self.made(1, s=101, c="again")
        with self.engine.session() as session:
            loaded = self.completed(self.one(session, 0), rows)
            loaded.size = 100
            session.add(new)
            session.flush()
            session.put_row(model, model.size.to(102), shop=shop, number=2)
            session.increment(model, model.hits.by(5), shop=shop, number=3)
        with self.engine.session() as session, session.bulk() as bulk:
            bulk.add(many)
            bulk.add(again)
        rows[0]["s"], rows[2]["s"], rows[3]["hits"] = 100, 102, 5
        rows[21], rows[22] = self.cells_of(new), self.cells_of(many)
        rows[1] |= self.cells_of(again)

    def _write_with_thrift2(self, rows: Rows) -> None:
        model, shop = self.model, self.shop
        new, other = self.made(20), self.made(6, s=999)
        with self.engine.session() as session:
            session.delete(self.one(session, 4))
            session.flush()
            session.delete_row(model, shop=shop, number=5)
            session.insert(new)
            moved = self.completed(self.one(session, 7), rows)
            loaded = self.completed(self.one(session, 8), rows)
            session.flush()
            session.move(moved, number=27)
            loaded.size = 108
            assert session.put_if(loaded, model.size == 8)
            assert session.delete_where(self.mine.where(model.number == 9)) == 1
        with pytest.raises(DuplicateRowError):
            self.engine.session().insert(other)
        del rows[4], rows[5], rows[9]
        rows[20], rows[27], rows[8]["s"] = self.cells_of(new), rows.pop(7), 108

    def one(self, session: Session, number: int) -> Any:
        """Return the object of a row, which must exist."""
        return session.one(self.mine.where(self.model.number == number))

    def completed(self, obj: Any, rows: Rows) -> Any:
        """Give an object the required values that its row lacks, which are needed to write it."""
        for name, each in self.declared.columns.items():
            if not each.nullable and value_of(obj, name) in {None, MISSING}:
                setattr(obj, name, "?")
                rows[obj.number][each.qualifier] = "?"
        return obj

    def made(self, number: int, **values: Any) -> Any:
        """Return an object with a value for each field that needs one; they go by qualifier."""
        usual = {"c": f"c{number}", "t": f"{self.shop}-{number % 3}", "s": number, "w": number}
        given = usual | values
        fields = {
            name: given.get(each.qualifier, "?")
            for name, each in self.declared.columns.items()
            if each.qualifier in given or "default" not in each.options
        }
        return self.model(shop=self.shop, number=number, **fields)

    def cells_of(self, obj: Any) -> dict[str, Any]:
        """Return the values that a new object writes, by qualifier."""
        values = {c.qualifier: getattr(obj, name) for name, c in self.declared.columns.items()}
        return {"hits": 0} | {name: value for name, value in values.items() if value is not None}


def value_of(obj: Any, name: str) -> Any:
    """Return a field's value, or what stands for one without a cell."""
    try:
        return getattr(obj, name)
    except MissingCellError:
        return MISSING


def at_first(shop: str, count: int = 10) -> Rows:
    """Return the rows that `fill` writes, by the qualifiers of their columns."""
    return {
        n: {
            "c": f"c{n}",
            "t": f"{shop}-{n % 3}",
            "s": n,
            "w": n,
            "n": None if n % 2 else f"note {n}",
            "x": "text" if n % 2 else None,
            "hits": 0,
        }
        for n in range(count)
    }


def as_read(rows: Rows, declared: Declared) -> Rows:
    """Return rows by qualifier as a declaration names their values and completes them."""

    def value(cells: Mapping[str, Any], name: str) -> Any:
        each = declared.columns[name]
        found = cells.get(each.qualifier)
        return each.options.get("default", MISSING) if found is None else found

    return {
        n: {name: value(cells, name) for name in declared.columns} | {"hits": cells["hits"]}
        for n, cells in rows.items()
    }


def used(engine: Engine, programs: Programs, declared: Declared, shop: str) -> Use:
    """Return a declaration as a program uses it."""
    return Use(engine, programs.model(declared), declared, shop)


def check_reads(use: Use, rows: Rows) -> None:
    """Check that a program finds these rows in every way, with the values they have."""
    found = use.numbers()
    assert found == dict.fromkeys(found, sorted(rows))
    assert use.rows() == as_read(rows, use.declared)
