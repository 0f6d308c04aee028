"""What a table holds after each step, in plain dicts: sessions are compared with it.

A column is a field's name, or ("tags", name) for an entry of the map; a row is a dict of columns to
their versions, the newest last, None where a version says that the cell was deleted. Values are
frozen: dicts, lists and objects are kept as tuples, so that nothing changes behind the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Final, Literal

FIELDS: Final = ("name", "unit", "port", "log", "code", "meta", "place")
MARKER: Final = "marker"
HITS: Final = "hits"
UNREAD: Final = "(unread)"

Column = str | tuple[str, str]
Cells = dict[Column, Any]
Write = Literal["put", "update", "insert", "replace", "delete"]


def frozen(value: Any) -> Any:
    """Return a value that cannot change, equal for equal values."""
    if isinstance(value, dict):
        return ("dict", *((name, frozen(value[name])) for name in sorted(value)))
    if isinstance(value, list):
        return ("list", *map(frozen, value))
    if is_dataclass(value):
        return (type(value).__name__, *(frozen(getattr(value, f.name)) for f in fields(value)))
    return value


@dataclass(frozen=True)
class Kind:
    """What the reference must know of a model.

    Attributes:
        model: The class, or the base of record types: key fields `group` and `n`, the fields of
            `FIELDS`, `hits` and `tags`.
        classes: The classes of the rows; row `n` is of class `n % len(classes)`.
        key: The key fields of row `n`, but for the group.
        is_guarded: Whether it has an index or a version.
        is_required: Whether `name` is required, and so says which rows exist.
        has_version: Whether writes of loaded objects are refused if others wrote the row.
        is_unique: Whether no two rows have one `code`.
        has_thrift2: Whether the engine can do more than put and delete.
        is_deferred: Whether `log` is read only if asked for.
        has_hooks: Whether `before_put` sets `log` and `onupdate` sets `port`, and writes are told.
        has_past: Whether rows are read as they were.
        index: The field that statements without a key find rows by, if any.
    """

    model: Any
    is_guarded: bool = False
    is_required: bool = True
    has_version: bool = False
    is_unique: bool = False
    has_thrift2: bool = True
    is_deferred: bool = False
    has_hooks: bool = False
    has_past: bool = True
    index: str | None = None
    classes: tuple[Any, ...] = ()
    key: Callable[[int], dict[str, Any]] = lambda n: {"n": n}

    def class_of(self, n: int) -> Any:
        """Return the class of a row."""
        return self.classes[n % len(self.classes)] if self.classes else self.model


HOOKED_PORT: Final = 7


@dataclass(eq=False)
class Held:
    """An object of a session: its fields, and the row it was read from or last written as.

    Attributes:
        obj: The object; None where the program dropped it.
        n: The row.
        fields: What it shows; `UNREAD` for a deferred field that was not read.
        tags: Its map.
        hits: Its counter.
        loaded: The row it is compared with; None for a new object.
        basis: Which write of the row that was; None if there was none.
        revision: The version that it shows.
        own: Deferred fields that were set and not read.
        is_replaced: Whether another object stands for its row.
        has_deferred: Whether deferred fields are read when it is refreshed.
    """

    obj: Any
    n: int
    fields: dict[str, Any]
    tags: dict[str, str]
    hits: int = 0
    loaded: Cells | None = None
    basis: int | None = None
    revision: int = 0
    own: set[str] = field(default_factory=set)
    is_replaced: bool = False
    has_deferred: bool = False

    def set(self, name: str, value: Any) -> None:
        """Set a field."""
        if self.fields.get(name) == UNREAD:
            self.own.add(name)
        self.fields[name] = frozen(value)

    @property
    def lacks(self) -> bool:
        """Whether a deferred field was not read."""
        return UNREAD in self.fields.values()

    def cells(self, kind: Kind) -> Cells:
        """Return what the object puts as a whole."""
        known = {name: value for name, value in self.fields.items() if value != UNREAD}
        cells: Cells = {name: value for name, value in known.items() if value is not None}
        cells.update({("tags", name): value for name, value in self.tags.items()})
        return cells if kind.is_required else {**cells, MARKER: "x"}

    def fits(self, kind: Kind, *, is_whole: bool = False) -> bool:
        """Return whether it has what is required."""
        if any(not isinstance(value, str) for value in self.tags.values()):
            return False
        if self.lacks and (is_whole or self.loaded is None):
            return False
        if not kind.is_required or self.fields.get("name") is not None:
            return True
        # A row that was made in part lacks it; its other fields may be changed.
        return not is_whole and self.loaded is not None and "name" not in self.loaded

    def write(self, kind: Kind, asked: Write) -> RowWrite:
        """Return what writes the object now."""
        if asked == "delete":
            return RowWrite(self, "delete", is_bound=self.loaded is not None)
        cells = self.cells(kind)
        if self.loaded is None or asked != "put":
            return RowWrite(self, asked, cells, frozenset(), cells)
        puts = {c: v for c, v in cells.items() if c != MARKER and self.loaded.get(c) != v}
        clears = self.loaded.keys() - cells.keys() - {HITS, MARKER}
        clears = {c for c in clears if self.fields.get(c) != UNREAD}  # type: ignore[arg-type]  # no field is a pair
        clears |= {name for name in self.own if self.fields[name] is None}
        if not kind.is_required and (puts or (clears and MARKER not in self.loaded)):
            puts[MARKER] = "x"
        return RowWrite(self, "update", puts, frozenset(clears), cells, is_bound=True)

    def is_changed(self, kind: Kind) -> bool:
        """Return whether a loaded object has changes."""
        return self.loaded is not None and not self.write(kind, "put").is_idle

    def prepare(self, kind: Kind, asked: Write) -> None:
        """Do what the hooks of the model do before a write."""
        if not kind.has_hooks or asked == "delete":
            return
        if asked == "put" and self.loaded is not None and not self.is_changed(kind):
            return
        self.fields["log"] = f"unit {self.fields['unit']}"
        if self.loaded is not None and self.fields["port"] == self.loaded.get("port"):
            self.fields["port"] = HOOKED_PORT

    def keep(self, write: RowWrite) -> None:
        """Know the row as it was acknowledged."""
        is_whole = self.loaded is None or write.kind in {"insert", "replace"}
        kept = {} if is_whole or self.loaded is None else dict(self.loaded)
        self.loaded = {c: v for c, v in kept.items() if c not in write.clears} | write.cells
        self.hits = 0 if is_whole else self.hits
        self.own = set()
        self.has_deferred = self.has_deferred or not self.lacks

    def read(self, kind: Kind, cells: Cells, *, has_deferred: bool = False) -> None:
        """Take over what was read, but for what the program changed: that keeps its base."""
        read: Cells = dict(cells)
        if kind.is_deferred and not has_deferred:
            read.pop("log", None)
        if self.loaded is None:
            self.fields, self.tags, self.own = fields_of(read), tags_of(read), set()
            self.loaded = read
        else:
            self._merge(read)
        if kind.is_deferred and not has_deferred:
            self._unload("log")
        self.hits, self.has_deferred = cells.get(HITS, 0), has_deferred

    def _merge(self, read: Cells) -> None:
        was = self.loaded or {}
        mine: Cells = {name: self.fields.get(name) for name in FIELDS}
        mine.update({("tags", name): value for name, value in self.tags.items()})
        columns = {*FIELDS, *mine, *(c for c in (*was, *read) if isinstance(c, tuple))}
        for column in columns:
            is_changed = column in self.own or mine.get(column) not in {was.get(column), UNREAD}
            if is_changed and column in was:
                read[column] = was[column]
            elif is_changed:
                read.pop(column, None)
            else:
                mine[column] = read.get(column)
        self.fields = {name: mine.get(name) for name in FIELDS}
        entries: Cells = {c: v for c, v in mine.items() if isinstance(c, tuple) and v is not None}
        self.tags, self.loaded = tags_of(entries), read

    def _unload(self, name: str) -> None:
        """Forget a deferred field that was not read, unless the program changed it."""
        loaded = self.loaded or {}
        if name in self.own:
            return
        if self.fields[name] == loaded.get(name):
            self.fields[name] = UNREAD
        else:
            self.own.add(name)
        loaded.pop(name, None)

    def shown(self, kind: Kind) -> dict[str, Any]:
        """Return what the object must show."""
        shown = {**self.fields, "tags": self.tags, HITS: self.hits}
        return {**shown, "revision": self.revision} if kind.has_version else shown


@dataclass(frozen=True, eq=False)
class RowWrite:
    """A write of one row: what it puts and clears, and the object's cells afterwards.

    Attributes:
        held: The object.
        kind: What it does.
        puts: Cells that it puts.
        clears: Columns that become absent.
        cells: The object's cells afterwards.
        is_bound: Whether it is refused if others wrote a row with a version.
    """

    held: Held
    kind: Write
    puts: Cells = field(default_factory=dict)
    clears: frozenset[Column] = frozenset()
    cells: Cells = field(default_factory=dict)
    is_bound: bool = False

    @property
    def is_idle(self) -> bool:
        """Whether it sends nothing."""
        return self.kind in {"put", "update"} and not self.puts and not self.clears


def fields_of(cells: Mapping[Column, Any]) -> dict[str, Any]:
    return {name: cells.get(name) for name in FIELDS}


def tags_of(cells: Mapping[Column, Any]) -> dict[str, str]:
    return {column[1]: value for column, value in cells.items() if isinstance(column, tuple)}


def shown_of(cells: Mapping[Column, Any]) -> dict[str, Any]:
    """Return what an object that is read again must show, but for its version."""
    return {**fields_of(cells), "tags": tags_of(cells), HITS: cells.get(HITS, 0)}


@dataclass
class Reference:
    """The rows of one group, by `n`, with all versions of their cells.

    Attributes:
        kind: The model.
        versions: The cells.
        writes: Which write of this library was the last of a row that exists, by number.
        revisions: How many there were since the row was made.
    """

    kind: Kind
    versions: dict[int, dict[Column, list[Any]]] = field(default_factory=dict)
    writes: dict[int, int] = field(default_factory=dict)
    revisions: dict[int, int] = field(default_factory=dict)
    count: int = 0

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
        self.writes.pop(n, None)
        self.revisions.pop(n, None)

    def change(self, n: int, puts: Mapping[Column, Any], clears: Iterable[Column] = ()) -> None:
        """Make a write of a row, as of an object or by key: it counts the version up."""
        if not self.exists(n):
            self.revisions.pop(n, None)
        self.clear(n, clears)
        self.put(n, puts)
        self.count += 1
        self.writes[n] = self.count
        self.revisions[n] = self.revisions.get(n, 0) + 1

    def owner(self, code: Any) -> int | None:
        """Return the row that has a code."""
        rows = self.rows().items()
        return next((n for n, cells in rows if cells.get("code") == code), None)

    def is_taken(self, n: int, puts: Mapping[Column, Any]) -> bool:
        """Return whether a row cannot have what is put: another one has that code."""
        code = puts.get("code") if self.kind.is_unique else None
        return code is not None and self.owner(code) not in {None, n}

    def is_stale(self, write: RowWrite) -> bool:
        """Return whether others wrote the row since the object was loaded."""
        is_compared = self.kind.has_version and write.is_bound
        return is_compared and self.writes.get(write.held.n) != write.held.basis

    def takes(self, write: RowWrite) -> bool:
        """Make a write; say whether it can be made: a guarded row that is absent has no changes."""
        n = write.held.n
        if write.kind == "update" and self.kind.is_guarded and not self.exists(n):
            return False
        if self.is_taken(n, write.puts):
            return False
        if write.kind == "delete":
            self.delete(n)
            return True
        others = self.cells(n).keys() if write.kind == "replace" else write.clears
        self.change(n, write.puts, [column for column in others if column not in write.puts])
        return True

    def flushed(self, writes: Iterable[RowWrite]) -> tuple[list[RowWrite], list[RowWrite]]:
        """Make a round of a flush; return what was written and what was refused.

        What is refused for a code is tried again when others were written.
        """
        written: list[RowWrite] = []
        todo = list(writes)
        stale = [write for write in todo if self.is_stale(write)]
        todo = [write for write in todo if write not in stale]
        while todo:
            made = [write for write in todo if self.takes(write)]
            if not made:
                break
            written += made
            todo = [write for write in todo if write not in made]
        return written, stale + todo


def rounds_of(writes: Iterable[RowWrite]) -> list[list[RowWrite]]:
    """Return writes in the rounds they are sent in: each row once in a round."""
    rounds: list[list[RowWrite]] = []
    for write in writes:
        before = sum(any(w.held.n == write.held.n for w in each) for each in rounds)
        if before == len(rounds):
            rounds.append([])
        rounds[before].append(write)
    return rounds
