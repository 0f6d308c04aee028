"""What a table holds after each step, in plain dicts: the reference that sessions are compared with.

A column is a field's name, or ("tags", name) for an entry of the map; a row is a dict of columns to
their versions, the newest last, None where a version says that the cell was deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

FIELDS: Final = ("name", "unit", "port", "log")
MARKER: Final = "marker"
HITS: Final = "hits"

Column = str | tuple[str, str]
Cells = dict[Column, Any]
Write = Literal["put", "update", "insert", "replace", "delete"]


@dataclass(frozen=True)
class Kind:
    """What the reference must know of a model.

    Attributes:
        model: The class: key fields `group` and `n`, the fields of `FIELDS`, `hits` and `tags`.
        is_guarded: Whether it has an index, by `unit`.
        is_required: Whether `name` is required, and so says which rows exist.
    """

    model: Any
    is_guarded: bool
    is_required: bool


@dataclass
class Held:
    """An object of a session: its fields, and the row it was read from or last written as."""

    obj: Any
    n: int
    fields: dict[str, Any]
    tags: dict[str, str]
    hits: int = 0
    loaded: Cells | None = None
    is_replaced: bool = False

    def cells(self, kind: Kind) -> Cells:
        """Return what the object puts as a whole."""
        cells: Cells = {name: value for name, value in self.fields.items() if value is not None}
        cells.update({("tags", name): value for name, value in self.tags.items()})
        return cells if kind.is_required else {**cells, MARKER: "x"}

    def fits(self, kind: Kind) -> bool:
        """Say whether it has what is required."""
        return not kind.is_required or self.fields.get("name") is not None

    def write(self, kind: Kind, asked: Write) -> RowWrite:
        """Return what writes the object now."""
        if asked == "delete":
            return RowWrite(self, "delete")
        cells = self.cells(kind)
        if self.loaded is None or asked != "put":
            return RowWrite(self, asked, cells, frozenset(), cells)
        puts = {c: v for c, v in cells.items() if c != MARKER and self.loaded.get(c) != v}
        clears = frozenset(self.loaded.keys() - cells.keys() - {HITS, MARKER})
        if not kind.is_required and (puts or (clears and MARKER not in self.loaded)):
            puts[MARKER] = "x"
        return RowWrite(self, "update", puts, clears, cells)

    def keep(self, write: RowWrite) -> None:
        """Know the row as it was acknowledged."""
        is_whole = self.loaded is None or write.kind in {"insert", "replace"}
        kept = {} if is_whole or self.loaded is None else dict(self.loaded)
        self.loaded = {c: v for c, v in kept.items() if c not in write.clears} | write.cells
        self.hits = 0 if is_whole else self.hits

    def read(self, cells: Cells) -> None:
        """Take over what was read, but for what the program changed, and what it changed it from."""
        was, row = fields_of(self.loaded or {}), fields_of(cells)
        kept = set[Column]()
        for name in FIELDS:
            if self.loaded is None or self.fields.get(name) == was[name]:
                self.fields[name] = row[name]
            else:
                kept.add(name)
        had, tags = tags_of(self.loaded or {}), tags_of(cells)
        if self.loaded is not None:
            for name in had.keys() | self.tags.keys():
                mine = self.tags.get(name)
                if mine != had.get(name):
                    kept.add(("tags", name))
                    tags = {k: v for k, v in tags.items() if k != name}
                    tags.update({} if mine is None else {name: mine})
        self.tags, self.hits = tags, cells.get(HITS, 0)
        before = {c: v for c, v in (self.loaded or {}).items() if c in kept}
        self.loaded = {c: v for c, v in cells.items() if c not in kept} | before

    def shown(self) -> dict[str, Any]:
        """Return what the object must show."""
        return {**self.fields, "tags": self.tags, HITS: self.hits}


@dataclass(frozen=True)
class RowWrite:
    """A write of one row: what it puts and clears, and the object's cells afterwards."""

    held: Held
    kind: Write
    puts: Cells = field(default_factory=dict)
    clears: frozenset[Column] = frozenset()
    cells: Cells = field(default_factory=dict)

    @property
    def is_idle(self) -> bool:
        """Whether it sends nothing."""
        return self.kind in {"put", "update"} and not self.puts and not self.clears


def fields_of(cells: Mapping[Column, Any]) -> dict[str, Any]:
    return {name: cells.get(name) for name in FIELDS}


def tags_of(cells: Mapping[Column, Any]) -> dict[str, str]:
    return {column[1]: value for column, value in cells.items() if isinstance(column, tuple)}


def shown_of(cells: Mapping[Column, Any]) -> dict[str, Any]:
    """Return what an object that is read anew must show."""
    return {**fields_of(cells), "tags": tags_of(cells), HITS: cells.get(HITS, 0)}


@dataclass
class Reference:
    """The rows of one group, by `n`, with all versions of their cells."""

    kind: Kind
    versions: dict[int, dict[Column, list[Any]]] = field(default_factory=dict)

    def cells(self, n: int) -> Cells:
        """Return the newest versions of a row's cells, whether or not they make it exist."""
        row = self.versions.get(n, {})
        return {column: values[-1] for column, values in row.items() if values[-1] is not None}

    def exists(self, n: int) -> bool:
        cells = self.cells(n)
        if not self.kind.is_guarded:
            return bool(cells)
        return "name" in cells if self.kind.is_required else bool(cells.keys() - {HITS})

    def rows(self) -> dict[int, Cells]:
        """Return the rows that exist, in order."""
        return {n: self.cells(n) for n in sorted(self.versions) if self.exists(n)}

    def put(self, n: int, cells: Mapping[Column, Any]) -> None:
        row = self.versions.setdefault(n, {})
        for column, value in cells.items():
            row.setdefault(column, []).append(value)

    def clear(self, n: int, columns: Iterable[Column]) -> None:
        there = self.cells(n)
        self.put(n, {column: None for column in columns if column in there})

    def delete(self, n: int) -> None:
        self.clear(n, self.cells(n))

    def takes(self, write: RowWrite) -> bool:
        """Make a write; say whether it can be made: a guarded row that is absent has no changes."""
        n = write.held.n
        if write.kind == "update" and self.kind.is_guarded and not self.exists(n):
            return False
        if write.kind in {"delete", "replace"}:
            self.delete(n)
        self.clear(n, write.clears)
        self.put(n, write.puts)
        return True


def rounds_of(writes: Iterable[RowWrite]) -> list[list[RowWrite]]:
    """Return writes in the rounds they are sent in: each row once in a round."""
    rounds: list[list[RowWrite]] = []
    for write in writes:
        before = sum(any(w.held.n == write.held.n for w in each) for each in rounds)
        if before == len(rounds):
            rounds.append([])
        rounds[before].append(write)
    return rounds
