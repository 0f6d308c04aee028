"""A table's declaration as it was and as it became, programs with either, and its raw cells."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from hbase_orm import (
    Counter,
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Salt,
    Table,
    Version,
    codecs,
    column,
    counter,
    key,
    rowkey,
    version,
)
from hbase_orm.binding.runtime import Runtime
from hbase_orm.binding.write_clock import wall_clock_ms
from hbase_orm.index.entries.targets import GUARD_COLUMN
from hbase_orm.ops import Cell, KeyRange, ListTables, Scan, fetch_once
from tests.support.backends import Backend
from tests.support.recording import gateway_of, through

KINDS: Final = ("plain", "thrift1", "versioned", "guarded", "lww")
"""Plain rows, plain rows whose new program has Thrift1 alone, rows with a version column only, rows
with indexes, and rows with indexes of programs that all have Thrift1 alone."""

LATER_MS: Final = 3_600_000

WITH_INDEXES: Final = frozenset({"guarded", "lww"})


@dataclass(frozen=True)
class Col:
    """A column: the type of its values, its qualifier, the other arguments of `column`."""

    type: Any
    qualifier: str
    options: Mapping[str, Any]
    nullable: bool = False


def col(kind: Any, qualifier: str, *, nullable: bool = False, **options: Any) -> Col:
    """Return a column; one that may be None has the default None."""
    return Col(kind, qualifier, {"default": None, **options} if nullable else options, nullable)


def columns_at_first() -> dict[str, Col]:
    """Return the columns of the first declaration; `customer` shows that a row exists."""
    return {
        "customer": col(str, "c"),
        "city": col(str, "t"),
        "size": col(int, "s", codec=codecs.uint32()),
        "weight": col(int, "w", codec=codecs.uint16()),
        "note": col(str, "n", nullable=True),
        "text": col(str, "x", nullable=True, deferred=True),
    }


def indexes_at_first() -> dict[str, str]:
    """Return the indexes of the first declaration."""
    return {"by_city": "city", "by_size": "size"}


@dataclass(frozen=True)
class Declared:
    """What a class declares, but its table and its kind.

    Attributes:
        name: The name of the class.
        columns: The columns of the family `d`, in their order.
        number: Makes the codec of the second key field.
        salt: The number of salt buckets; 0 for none.
        parts: The components of the row key behind the salt.
        family: The options of the family.
        indexes: The indexed field of each index.
    """

    name: str = "Order"
    columns: Mapping[str, Col] = field(default_factory=columns_at_first)
    number: Callable[[], Any] = codecs.uint32
    salt: int = 4
    parts: tuple[str, ...] = ("shop", "number")
    family: Mapping[str, Any] = field(default_factory=dict[str, Any])
    indexes: Mapping[str, str] = field(default_factory=indexes_at_first)

    def having(self, **columns: Col) -> Declared:
        """Return a declaration with other columns, or with more below the others."""
        return replace(self, columns={**self.columns, **columns})

    def below(self, **columns: Col) -> Declared:
        """Return a declaration whose columns stand below new ones."""
        return replace(self, columns={**columns, **self.columns})

    def without(self, *names: str) -> Declared:
        """Return a declaration with fewer columns."""
        return replace(self, columns={n: c for n, c in self.columns.items() if n not in names})

    def renamed(self, **names: str) -> Declared:
        """Return a declaration whose fields have other names, for the same columns."""
        columns = {names.get(name, name): each for name, each in self.columns.items()}
        indexes = {index: names.get(name, name) for index, name in self.indexes.items()}
        return replace(self, columns=columns, indexes=indexes)

    def model(self, kind: str, table: str) -> Any:
        """Return the class for a table with a kind of rows."""
        d = Family("d", **self.family)
        values: dict[str, Any] = {"d": d, "shop": key(), "number": key(self.number())}
        annotations: dict[str, Any] = {"shop": Key[str], "number": Key[int]}
        for name, each in self.columns.items():
            values[name] = column(d, each.qualifier, **each.options)
            values_type: Any = each.type | None if each.nullable else each.type
            annotations[name] = Mapped[values_type]
        values["hits"], annotations["hits"] = counter(d, "h"), Counter
        if kind in {"versioned", "guarded"}:
            values["revision"], annotations["revision"] = version(d, "v"), Version
        if kind in WITH_INDEXES:
            values |= {index: Index(values[name]) for index, name in self.indexes.items()}
        parts = [values[part] for part in self.parts]
        salt = [Salt(self.salt, of=[values["number"]])] if self.salt else []
        values["__rowkey__"] = rowkey(*salt, *parts)
        values["__annotations__"] = annotations
        values["__module__"] = __name__
        options = {"table": Table(table, splits=[])}
        return types.new_class(self.name, (Model,), options, lambda body: body.update(values))


FIRST: Final = Declared()


@dataclass(frozen=True)
class Programs:
    """The programs of one table: those from before its declaration changed, and newer ones.

    Attributes:
        kind: The kind of the table's rows.
        table: The name of the table in its namespace.
        old: The engine of an old program.
        backend: Makes the engines of more programs.
        tables: An engine that has every gateway.
    """

    kind: str
    table: str
    old: Engine
    backend: Backend
    tables: Engine

    @classmethod
    def on(cls, backend: Backend, tables: Engine, kind: str, table: str) -> Programs:
        """Create the table as the old program does, and return the programs."""
        old = backend.thrift1_alone(tables) if kind == "lww" else backend.another(tables)
        made = cls(kind, table, old, backend, tables)
        old.create_tables(made.model(FIRST))
        return made

    def new(self) -> Engine:
        """Return the engine of another new program."""
        if self.kind in {"thrift1", "lww"}:
            return self.backend.thrift1_alone(self.tables)
        return self.backend.another(self.tables)

    def first_uses(self) -> Iterator[Engine]:
        """Return engines for one verb each: in memory of new programs, on HBase always the same.

        That one reads the record once, which is quicker, and shares what it found.
        """
        engine = self.new()
        is_memory = self.tables.options.scheme == "memory"
        while True:
            yield through(gateway_of(engine), engine) if is_memory else engine

    def later(self) -> Engine:
        """Return the engine of a program so much later that reads repair what they find stale."""
        engine = self.new()
        engine._runtime = Runtime(
            gateway_of(engine),
            parallel=1,
            now_ms=lambda: wall_clock_ms() + LATER_MS,
            repairs_on_read=True,
        )
        return engine

    def model(self, declared: Declared) -> Any:
        """Return the class of a declaration."""
        return declared.model(self.kind, self.table)

    def raw(self) -> Cells:
        """Return all cells of the table and of its index tables, with guards and timestamps."""
        return raw_cells(self.tables, self.table)


Cells = dict[tuple[str, bytes, bytes], Cell]
"""Cells by table, row key and column."""


def raw_cells(engine: Engine, table: str) -> Cells:
    """Return all cells of a table and of its index tables, with guards and timestamps."""
    gateway, namespace = gateway_of(engine), engine.options.namespace
    own = f"{namespace}:{table}" if namespace else table
    names = gateway.execute(ListTables())
    found: Cells = {}
    for name in names:
        if name == own or name.startswith(f"{own}_ix_"):
            for row in rows_of(engine, name):
                found |= {(name, row.key, column): cell for column, cell in row.cells.items()}
    return found


def rows_of(engine: Engine, table: str) -> list[Any]:
    """Return all rows of a table."""
    start, rows = KeyRange(), list[Any]()
    while page := engine._runtime.run(fetch_once(Scan(table, start, caching_rows=1000))):
        rows += page
        start = KeyRange(page[-1].key + b"\x00")
    return rows


def values_of(cells: Cells) -> dict[tuple[str, bytes, bytes], bytes]:
    """Return the values of cells other than guards."""
    return {place: cell.value for place, cell in cells.items() if place[2] != GUARD_COLUMN}


def fill(programs: Programs, model: Any, shop: str, count: int = 10) -> None:
    """Write the rows of a shop as the old program, with numbers from 0."""
    with programs.old.session() as session:
        for n in range(count):
            note, text = (None, "text") if n % 2 else (f"note {n}", None)
            city = f"{shop}-{n % 3}"
            session.add(
                model(
                    shop=shop,
                    number=n,
                    customer=f"c{n}",
                    city=city,
                    size=n,
                    weight=n,
                    note=note,
                    text=text,
                )
            )
