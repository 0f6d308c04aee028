"""A session driven at random, beside the reference that says what must come of it.

Each run has a group of its own, so that runs share tables, and in it a few rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from hbase_orm import (
    Counter,
    Dynamic,
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Session,
    codecs,
    column,
    counter,
    dynamic,
    key,
    select,
)
from hbase_orm.errors import (
    ConflictError,
    DuplicateRowError,
    FlushError,
    MissingCellError,
    RowKeyError,
    RowNotFoundError,
    ValidationError,
)
from tests.session_reference import (
    HITS,
    MARKER,
    Cells,
    Held,
    Kind,
    Reference,
    RowWrite,
    Write,
    rounds_of,
    shown_of,
)

UNITS = ("a", "b")
STEPS = 40
MOMENTS = 2

# Increments and guarded writes in one millisecond are stamped ahead of the clock, each by one more.
CLOCK_PASSES_S = 0.015


class _Row(Model, abstract=True):
    d = Family(versions=200, keep_deleted_cells=True)
    e = Family(versions=200, keep_deleted_cells=True)
    group: Key[str] = key(codecs.text(separator=b"\x00"))
    n: Key[int] = key(codecs.uint32())
    unit: Mapped[str | None] = column(d, "u", default=None)
    port: Mapped[int | None] = column(e, "p", codec=codecs.uint16(desc=True), default=None)
    log: Mapped[str | None] = column(d, "l", default=None)
    hits: Counter = counter(d, "h")
    tags: Dynamic[str, str] = dynamic(e, prefix="t:")


class Plain(_Row, table="machine_plain"):
    name: Mapped[str] = column(_Row.d, "n")


class Stamped(_Row, table="machine_stamped", timestamps="client"):
    name: Mapped[str] = column(_Row.d, "n")


class Indexed(_Row, table="machine_indexed"):
    name: Mapped[str] = column(_Row.d, "n")
    by_unit = Index(_Row.unit)


class Loose(_Row, table="machine_loose"):
    name: Mapped[str | None] = column(_Row.d, "n", default=None)


class LooseIndexed(_Row, table="machine_loose_indexed"):
    name: Mapped[str | None] = column(_Row.d, "n", default=None)
    by_unit = Index(_Row.unit)


KINDS = (
    Kind(Plain, is_guarded=False, is_required=True),
    Kind(Stamped, is_guarded=False, is_required=True),
    Kind(Indexed, is_guarded=True, is_required=True),
    Kind(Loose, is_guarded=False, is_required=False),
    Kind(LooseIndexed, is_guarded=True, is_required=False),
)

numbers = st.integers(0, 3)
texts = st.sampled_from(["", "x", "y"])
titles = st.sampled_from(["x", "y"])  # HBase's own check takes an empty one for an absent row
units = st.none() | st.sampled_from(UNITS)
ports = st.none() | st.integers(0, 2)
names = st.sampled_from(["x", "y", ""])
tags = st.dictionaries(names, texts, max_size=2)
rows = st.fixed_dictionaries(
    {"name": titles, "unit": units, "port": ports, "log": st.none() | texts, "tags": tags}
)
CHANGES = {"name": titles, "unit": units, "port": ports, "log": st.none() | texts}
changes = st.sampled_from(sorted(CHANGES)).flatmap(
    lambda name: st.tuples(st.just(name), CHANGES[name])
)
picks = st.integers(0, 9)


def shown(obj: Any) -> dict[str, Any]:
    """Return what an object shows."""
    found = {"unit": obj.unit, "port": obj.port, "log": obj.log, "name": None}
    with suppress(MissingCellError):
        found["name"] = obj.name
    return {**found, "tags": dict(obj.tags), HITS: obj.hits}


class SessionMachine(RuleBasedStateMachine):
    """One session at a time, and what it must do."""

    def __init__(self, engine: Engine, kind: Kind) -> None:
        super().__init__()
        self.engine = engine
        self.kind = kind
        self.model = kind.model
        self.group = uuid4().hex
        self.moments: list[tuple[datetime, dict[int, dict[str, Any]]]] = []
        self.covered = set[int]()
        self.stored = Reference(kind)
        self.session: Session = engine.session()
        self.known: dict[int, Held] = {}
        self.pending: list[tuple[Held, Write]] = []
        self.loose: list[Held] = []

    # --- what the session knows -------------------------------------------------------------------

    def _unit(self, unit: str | None) -> str | None:
        """Return a unit that no other run has."""
        return None if unit is None else f"{self.group}{unit}"

    def _new(self, n: int, row: dict[str, Any]) -> Held:
        fields = {**row, "unit": self._unit(row["unit"])}
        entries = fields.pop("tags")
        obj = self.model(group=self.group, n=n, **fields)
        obj.tags = dict(entries)
        return Held(obj, n, fields, dict(entries))

    def _asked(self, held: Held) -> Write | None:
        return next((asked for other, asked in self.pending if other is held), None)

    def _note(self, held: Held, asked: Write) -> None:
        self._forget_pending(held)
        self.pending.append((held, asked))

    def _forget_pending(self, held: Held) -> None:
        self.pending = [(other, asked) for other, asked in self.pending if other is not held]

    def _is_refused(self, held: Held) -> bool:
        """Say whether the session holds another object of this row, which is not to be deleted."""
        known = self.known.get(held.n, held)
        return known is not held and self._asked(known) != "delete"

    def _expunge(self, held: Held) -> None:
        self.session.expunge(held.obj)
        self._forget_pending(held)
        if self.known.get(held.n) is held:
            del self.known[held.n]

    def _clean(self, write: RowWrite) -> None:
        held = write.held
        self._forget_pending(held)
        before = self.known.pop(held.n, None)
        if before is not None and before is not held:
            before.loaded, before.is_replaced = None, True
        if write.kind == "delete":
            held.loaded = None
            self.loose.append(held)
        else:
            held.keep(write)
            held.is_replaced = False
            self.known[held.n] = held

    def _attach(self, obj: Any, n: int) -> Held:
        """Take what a read gave as the session's object of the row."""
        held = self.known.setdefault(n, Held(obj, n, {}, {}))
        assert held.obj is obj
        held.read(self.stored.cells(n))
        assert shown(obj) == held.shown()
        return held

    def _held(self, pick: int) -> Held | None:
        """Return an object that may be changed: of a row, or new and pending."""
        new = [held for held, _ in self.pending if held not in self.known.values()]
        every = [held for held in (*self.known.values(), *new) if not held.is_replaced]
        return every[pick % len(every)] if every else None

    def _note_change(self, held: Held) -> None:
        if held.loaded is not None and self._asked(held) is None:
            self.pending.append((held, "put"))

    # --- noting -----------------------------------------------------------------------------------

    @rule(n=numbers, row=rows, asked=st.sampled_from(["put", "put", "put", "delete"]))
    def note(self, n: int, row: dict[str, Any], asked: Write) -> None:
        self._add(self._new(n, row), asked)

    @rule(pick=picks)
    def add_again(self, pick: int) -> None:
        if self.loose:
            held = self.loose[pick % len(self.loose)]
            if not held.is_replaced:
                self._add(held, "put")

    @rule(pick=picks)
    def add_changed(self, pick: int) -> None:
        held = self._held(pick)
        if held is not None:
            self._add(held, "put")

    @rule(pick=picks)
    def delete(self, pick: int) -> None:
        held = self._held(pick)
        if held is not None:
            self._add(held, "delete")

    def _add(self, held: Held, asked: Write) -> None:
        send: Callable[[Any], None] = self.session.delete if asked == "delete" else self.session.add
        if self._is_refused(held):
            with pytest.raises(ValidationError):
                send(held.obj)
            return
        send(held.obj)
        self._note(held, asked)
        self.loose = [other for other in self.loose if other is not held]

    @rule(pick=picks, change=changes)
    def change_field(self, pick: int, change: tuple[str, Any]) -> None:
        held, (name, value) = self._held(pick), change
        if held is None:
            return
        value = self._unit(value) if name == "unit" else value
        setattr(held.obj, name, value)
        held.fields[name] = value
        self._note_change(held)

    @rule(pick=picks, entry=names, value=st.none() | texts)
    def change_entry(self, pick: int, entry: str, value: str | None) -> None:
        held = self._held(pick)
        if held is None:
            return
        for entries in (held.obj.tags, held.tags):
            entries.pop(entry, None)
            if value is not None:
                entries[entry] = value

    @rule(pick=picks, entries=tags)
    def set_entries(self, pick: int, entries: dict[str, str]) -> None:
        held = self._held(pick)
        if held is not None:
            held.obj.tags = dict(entries)
            held.tags = dict(entries)
            self._note_change(held)

    @rule(pick=picks)
    def expunge(self, pick: int) -> None:
        held = self._held(pick)
        if held is not None:
            self._expunge(held)

    # --- flushing ---------------------------------------------------------------------------------

    @rule()
    def flush(self) -> None:
        self._note_entries()
        unfit = [h for h, asked in self.pending if asked == "put" and not h.fits(self.kind)]
        if unfit:
            with pytest.raises(ValidationError):
                self.session.flush()
            for held in unfit:
                self._expunge(held)
            return
        writes = [held.write(self.kind, asked) for held, asked in self.pending]
        written, refused, held_back = self._made([w for w in writes if not w.is_idle])
        if refused:
            with pytest.raises(FlushError) as caught:
                self.session.flush()
            failed = [self._key(w.held.n) for w in (*refused, *held_back)]
            assert [row for _, row, _ in caught.value.not_written] == failed
            assert all(isinstance(e, ConflictError) for _, _, e in caught.value.not_written)
            assert caught.value.unknown == []
        else:
            assert self.session.flush().written == len(written)
        for write in (*written, *(w for w in writes if w.is_idle)):
            self._clean(write)
        for write in refused:
            self._expunge(write.held)

    def _note_entries(self) -> None:
        """Note what the flush finds by itself: maps that were changed in place."""
        for held in self.known.values():
            if held.loaded is not None and self._asked(held) is None:
                before = {c: v for c, v in held.loaded.items() if isinstance(c, tuple)}
                if before != {("tags", name): value for name, value in held.tags.items()}:
                    self.pending.append((held, "put"))

    def _made(
        self, writes: list[RowWrite]
    ) -> tuple[list[RowWrite], list[RowWrite], list[RowWrite]]:
        written: list[RowWrite] = []
        rounds = rounds_of(writes)
        for number, one_round in enumerate(rounds):
            refused = [write for write in one_round if not self.stored.takes(write)]
            written += [write for write in one_round if write not in refused]
            if refused:
                return written, refused, [w for later in rounds[number + 1 :] for w in later]
        return written, [], []

    def _key(self, n: int) -> bytes:
        key: bytes = self.model.encode_key(group=self.group, n=n)
        return key

    @rule()
    def crash(self) -> None:
        """Lose the session with all that is pending in it."""
        self.session.close()
        self.session = self.engine.session()
        self.known, self.pending, self.loose = {}, [], []

    @rule(row=st.lists(st.tuples(numbers, rows), min_size=1, max_size=4))
    def bulk(self, row: list[tuple[int, dict[str, Any]]]) -> None:
        made = [self._new(n, values) for n, values in row]
        with self.session.bulk(batch_rows=2) as bulk:
            bulk.add_all(held.obj for held in made)
        assert bulk.report.written == len(made)
        for held in made:
            assert self.stored.takes(held.write(self.kind, "put"))

    # --- at once ----------------------------------------------------------------------------------

    @rule(n=numbers, row=rows)
    def insert(self, n: int, row: dict[str, Any]) -> None:
        held = self._new(n, row)
        if self._is_refused(held) or self.stored.exists(n):
            error = DuplicateRowError if self.stored.exists(n) else ValidationError
            with pytest.raises(error):
                self.session.insert(held.obj)
            return
        self.session.insert(held.obj)
        self._write_now(held, "insert")

    @rule(n=numbers, row=rows, pick=st.none() | picks)
    def replace(self, n: int, row: dict[str, Any], pick: int | None) -> None:
        held = None if pick is None else self._held(pick)
        held = self._new(n, row) if held is None else held
        if self._is_refused(held) or not held.fits(self.kind):
            with pytest.raises(ValidationError):
                self.session.replace(held.obj)
            return
        self.session.replace(held.obj)
        self._cover(held.n)
        self._write_now(held, "replace")

    def _write_now(self, held: Held, asked: Write) -> None:
        write = held.write(self.kind, asked)
        assert self.stored.takes(write)
        self._clean(write)

    @rule(n=numbers, unit=units, name=st.none() | titles)
    def put_row(self, n: int, unit: str | None, name: str | None) -> None:
        put: Cells = {} if unit is None else {"unit": self._unit(unit)}
        assigned = [self.model.unit.to(self._unit(unit))]
        if name is not None:
            put["name"] = name
            assigned.append(self.model.name.to(name))
        makes_row = not self.kind.is_required or name is not None
        if self.kind.is_guarded and not makes_row and not self.stored.exists(n):
            with pytest.raises(RowNotFoundError):
                self.session.put_row(self.model, *assigned, group=self.group, n=n)
            return
        self.session.put_row(self.model, *assigned, group=self.group, n=n)
        self.stored.clear(n, [] if unit is not None else ["unit"])
        self.stored.put(n, put if self.kind.is_required else {**put, MARKER: "x"})

    @rule(n=numbers)
    def delete_row(self, n: int) -> None:
        self.session.delete_row(self.model, group=self.group, n=n)
        self.stored.delete(n)

    @rule(n=numbers, amount=st.integers(-2, 2))
    def increment(self, n: int, amount: int) -> None:
        (value,) = self.session.increment(
            self.model, self.model.hits.by(amount), group=self.group, n=n
        )
        self.stored.put(n, {HITS: self.stored.cells(n).get(HITS, 0) + amount})
        assert value == self.stored.cells(n)[HITS]

    @rule(n=numbers, tail=texts)
    def append(self, n: int, tail: str) -> None:
        if self.kind.is_guarded and not self.stored.exists(n):
            with pytest.raises(RowNotFoundError):
                self.session.append(self.model, self.model.log, tail, group=self.group, n=n)
            return
        log = self.session.append(self.model, self.model.log, tail, group=self.group, n=n)
        self.stored.put(n, {"log": self.stored.cells(n).get("log", "") + tail})
        assert log == self.stored.cells(n)["log"]

    @rule(n=numbers, unit=units)
    @precondition(lambda self: self.kind.is_guarded)
    def update(self, n: int, unit: str | None) -> None:
        def change(obj: Any) -> None:
            obj.unit = self._unit(unit)

        if not self.stored.exists(n):
            with pytest.raises(RowNotFoundError):
                self.session.update(self.model, change, group=self.group, n=n)
            return
        found = self.session.update(self.model, change, group=self.group, n=n)
        before = self.stored.cells(n).get("unit")
        if before != self._unit(unit):
            self.stored.clear(n, ["unit"])
            written: Cells = {} if unit is None else {"unit": self._unit(unit)}
            self.stored.put(n, written if self.kind.is_required else {**written, MARKER: "x"})
        self._attach(found, n)

    @rule(pick=picks, n=numbers)
    def move(self, pick: int, n: int) -> None:
        held = self._held(pick)
        if held is None or held.loaded is None:
            return
        if not held.fits(self.kind) or not held.write(self.kind, "put").is_idle:
            with pytest.raises(ValidationError):
                self.session.move(held.obj, n=n)
        elif n == held.n:
            with pytest.raises(RowKeyError):
                self.session.move(held.obj, n=n)
        elif error := self._move_refusal(held, n):
            with pytest.raises(error):
                self.session.move(held.obj, n=n)
        else:
            self._moved(held, n)

    def _move_refusal(self, held: Held, n: int) -> type[Exception] | None:
        there = self.stored.cells(n) if self.stored.exists(n) else None
        if not self.stored.exists(held.n):
            return None if there == self._copied(held.loaded) else RowNotFoundError
        wanted = self._copied(self.stored.cells(held.n))
        if there is None:  # the insert lets HBase check one cell, which a row made in part may lack
            return (
                None
                if self.kind.is_guarded or {"name", MARKER} & wanted.keys()
                else ValidationError
            )
        return None if there == wanted else DuplicateRowError

    def _copied(self, cells: Cells | None) -> Cells:
        return {**(cells or {}), **({} if self.kind.is_required else {MARKER: "x"})}

    def _cover(self, n: int) -> None:
        """Know that a plain row was deleted at its newest cell: no time shows that cell any more."""
        self.covered |= set() if self.kind.is_guarded else {n}

    def _moved(self, held: Held, n: int) -> None:
        moved = self.session.move(held.obj, n=n)
        if self.stored.exists(held.n):
            self.stored.put(n, self._copied(self.stored.cells(held.n)))
            self.stored.delete(held.n)
            self._cover(held.n)
        self._clean(RowWrite(held, "delete"))
        self._attach(moved, n)

    # --- reading ----------------------------------------------------------------------------------

    @rule(n=numbers)
    def get(self, n: int) -> None:
        found = self.session.get(self.model, group=self.group, n=n)
        assert (found is not None) == self.stored.exists(n)
        if found is not None:
            self._attach(found, n)

    @rule()
    def read_all(self) -> None:
        found = self.session.all(select(self.model).where(self.model.group == self.group))
        assert [obj.n for obj in found] == list(self.stored.rows())
        for obj in found:
            self._attach(obj, obj.n)

    @rule(pick=picks)
    def refresh(self, pick: int) -> None:
        held = self._held(pick)
        if held is None:
            return
        if self._is_refused(held) or not self.stored.exists(held.n):
            error = ValidationError if self._is_refused(held) else RowNotFoundError
            with pytest.raises(error):
                self.session.refresh(held.obj)
            return
        self.session.refresh(held.obj)
        self._forget_pending(held)
        held.loaded = None
        self.known[held.n] = held
        self._attach(held.obj, held.n)

    @precondition(lambda self: len(self.moments) < MOMENTS)
    @rule()
    def remember(self) -> None:
        """Take a moment that no write has a timestamp of: what is stored then is read later, too."""
        time.sleep(CLOCK_PASSES_S)
        self.moments.append(
            (datetime.now(UTC), {n: shown_of(cells) for n, cells in self.stored.rows().items()})
        )
        time.sleep(CLOCK_PASSES_S)

    @precondition(lambda self: self.moments)
    @rule(pick=picks)
    def as_of(self, pick: int) -> None:
        at, rows = self.moments[pick % len(self.moments)]
        mine = select(self.model).where(self.model.group == self.group).as_of(at)
        found = {obj.n: shown(obj) for obj in self.session.all(mine)}
        assert self.session.count(mine) == len(found)
        hidden = rows.keys() & self.covered - found.keys()
        assert found == {n: row for n, row in rows.items() if n not in hidden}

    @rule()
    def read_as_others_do(self) -> None:
        """Read by every way there is, in a session of its own: all agree with the reference."""
        rows, model = self.stored.rows(), self.model
        mine = select(model).where(model.group == self.group)
        with self.engine.session() as session:
            found = session.all(mine)
            assert {obj.n: shown(obj) for obj in found} == {
                n: shown_of(cells) for n, cells in rows.items()
            }
            assert session.count(mine) == len(rows)
            for some in (model.n, model.unit, model.hits):
                values = session.all(select(model.n, some).where(model.group == self.group))
                assert values == [
                    (n, {**shown_of(cells), "n": n}[some.name]) for n, cells in rows.items()
                ]
            for unit in map(self._unit, UNITS):
                of_unit = [n for n, cells in rows.items() if cells.get("unit") == unit]
                statement = select(model.n).where(model.unit == unit)
                if not self.kind.is_guarded:
                    statement = statement.where(model.group == self.group)
                assert sorted(session.all(statement)) == of_unit

    def teardown(self) -> None:
        self.read_as_others_do()
        for pick in range(len(self.moments)):
            self.as_of(pick)
        self.session.close()


def run(engine: Engine, kind: Kind, sequences: int) -> None:
    """Run so many random sequences of steps."""
    run_state_machine_as_test(
        lambda: SessionMachine(engine, kind),  # type: ignore[arg-type]  # any factory will do
        settings=settings(max_examples=sequences, stateful_step_count=STEPS, deadline=None),
    )
