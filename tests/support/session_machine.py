"""A session driven at random, and the reference that knows the right results.

Each run has a group of its own, so that runs share tables, and in it a few rows. What other
programs write comes from a second engine on the same store, or past every engine.
"""

from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from hbase_orm import Engine, Session, select
from hbase_orm.errors import (
    ConflictError,
    DuplicateRowError,
    FeatureMissingError,
    FlushConflictError,
    FlushError,
    MissingCellError,
    NotLoadedError,
    RowKeyError,
    RowNotFoundError,
    UniqueViolationError,
    ValidationError,
    VersionConflictError,
)
from hbase_orm.ops import MutateRows, Put, RowMutation
from tests.support.recording import gateway_of
from tests.support.session_models import T0, Audit, Hooked, Place
from tests.support.session_reference import (
    FIELDS,
    HITS,
    MARKER,
    UNREAD,
    Cells,
    Held,
    Kind,
    Reference,
    RowWrite,
    Write,
    frozen,
    rounds_of,
    shown_of,
)

UNITS = ("a", "b")
ROWS = 4
STEPS = 40
MOMENTS = 2

# Increments and guarded writes in one millisecond are stamped ahead of the clock, each by one more;
# and no engine knows what another one, or another program, did in the same millisecond.
CLOCK_PASSES_S = 0.015

numbers = st.integers(0, ROWS - 1)
texts = st.sampled_from(["", "x", "y"])
titles = st.sampled_from(["x", "y"])  # HBase's own check takes an empty one for an absent row
units = st.none() | st.sampled_from(UNITS)
ports = st.none() | st.integers(0, 2)
names = st.sampled_from(["x", "y", ""])
tags = st.dictionaries(names, texts, max_size=2)
metas = st.none() | st.dictionaries(names, st.lists(st.integers(0, 2), max_size=2), max_size=2)
places = st.none() | st.builds(Place, titles, st.lists(st.integers(0, 2), max_size=2))
CHANGES: dict[str, st.SearchStrategy[Any]] = {
    "name": titles,
    "unit": units,
    "port": ports,
    "log": st.none() | texts,
    "code": units,
    "meta": metas,
    "place": places,
}
rows = st.fixed_dictionaries({**CHANGES, "tags": tags})
changes = st.sampled_from(sorted(CHANGES)).flatmap(
    lambda name: st.tuples(st.just(name), CHANGES[name])
)
picks = st.integers(0, 9)


def shown(obj: Any, kind: Kind) -> dict[str, Any]:
    """Return what an object shows."""
    found: dict[str, Any] = {"name": None}
    for name in FIELDS:
        with suppress(MissingCellError):
            try:
                found[name] = frozen(getattr(obj, name))
            except NotLoadedError:
                found[name] = UNREAD
    found = {**found, "tags": dict(obj.tags), HITS: obj.hits}
    return {**found, "revision": obj.revision} if kind.has_version else found


class SessionState(RuleBasedStateMachine):
    """One session at a time, what it knows, and how it notes, flushes and is compared."""

    def __init__(self, engine: Engine, other: Engine, kind: Kind) -> None:
        super().__init__()
        self.engine = engine
        self.other = other
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
        self.dropped: dict[Held, weakref.ref[Any]] = {}
        self.grips: list[tuple[Held, str, Any]] = []
        self.orphans: list[tuple[Held, str, Any]] = []
        self.told: list[str] = []
        self.expected_told: list[str] = []
        self.audits = 0
        Hooked.told[self.group] = self._hear

    # --- what the session knows -------------------------------------------------------------------

    def _own(self, text: str | None) -> str | None:
        """Return a text that no other run has."""
        return None if text is None else f"{self.group}{text}"

    def _value(self, name: str, value: Any) -> Any:
        return self._own(value) if name in {"unit", "code"} else value

    def _key(self, n: int) -> dict[str, Any]:
        return {"group": self.group, **self.kind.key(n)}

    def _all(self, *items: Any) -> Any:
        """Return the statement of all rows, or of values of them."""
        stmt = select(*(items or (self.model,))).where(self.model.group == self.group)
        if "at" in self.kind.key(0):
            stmt = stmt.where(self.model.at >= T0, self.model.at < T0 + timedelta(days=ROWS))
        return stmt

    def _new(self, n: int, row: dict[str, Any]) -> Held:
        values = {name: self._value(name, value) for name, value in row.items()}
        entries = values.pop("tags")
        obj = self.kind.class_of(n)(**self._key(n), **values)
        obj.tags = dict(entries)
        fields = {name: frozen(value) for name, value in values.items()}
        return Held(obj, n, fields, dict(entries))

    def _asked(self, held: Held) -> Write | None:
        return next((asked for other, asked in self.pending if other is held), None)

    def _note(self, held: Held, asked: Write) -> None:
        self._forget_pending(held)
        self.pending.append((held, asked))

    def _forget_pending(self, held: Held) -> None:
        self.pending = [(other, asked) for other, asked in self.pending if other is not held]

    def _is_refused(self, held: Held) -> bool:
        """Return whether the session holds another object of this row, which is not to be deleted."""
        known = self.known.get(held.n, held)
        return known is not held and self._asked(known) != "delete"

    def _expunge(self, held: Held) -> None:
        self.session.expunge(held.obj)
        self._let_go(held)
        self._forget_pending(held)
        if self.known.get(held.n) is held:
            del self.known[held.n]

    def _let_go(self, held: Held) -> None:
        self.grips = [grip for grip in self.grips if grip[0] is not held]
        self.orphans = [grip for grip in self.orphans if grip[0] is not held]

    def _clean(self, write: RowWrite) -> None:
        held = write.held
        self._forget_pending(held)
        before = self.known.pop(held.n, None)
        is_replaced = before is not None and before is not held
        if before is not None and is_replaced and self._asked(before) is None:
            before.loaded, before.is_replaced = None, True
            self._let_go(before)
        if write.kind == "delete":
            held.loaded, held.basis = None, None
            self._let_go(held)
            self.loose.append(held)
            return
        held.keep(write)
        held.is_replaced = False
        if not write.is_idle:
            held.basis = self.stored.writes.get(held.n)
            held.revision = self.stored.revisions.get(held.n, 0)
        self.known[held.n] = held

    def _attach(self, obj: Any, n: int, *, has_deferred: bool = False) -> Held:
        """Take what a read gave as the session's object of the row.

        An object whose row was deleted is pending as a new one: a row that another program has made
        since gets an object of its own.
        """
        before = self.known.get(n)
        if before is not None and before.loaded is None and self._asked(before) is not None:
            del self.known[n]
        held = self.known.setdefault(n, Held(obj, n, {}, {}))
        held.obj = held.obj or obj
        assert held.obj is obj
        self._read(held, has_deferred=has_deferred)
        return held

    def _read(self, held: Held, *, has_deferred: bool = False) -> None:
        """Let the reference read a row as the session did, and compare."""
        n, before = held.n, dict(held.fields)
        is_based = held.is_changed(self.kind) or self._asked(held) == "delete"
        held.read(self.kind, self.stored.cells(n), has_deferred=has_deferred)
        if not is_based or held.basis is None:
            held.basis = self.stored.writes.get(n)
            held.revision = self.stored.revisions.get(n, 0)
        changed = {name for name in ("meta", "place") if held.fields[name] != before.get(name)}
        lost = [g for g in self.grips if g[0] is held and g[1] in changed]
        self.orphans += lost
        self.grips = [g for g in self.grips if g not in lost]
        assert shown(held.obj, self.kind) == held.shown(self.kind)

    def _revive(self) -> None:
        """Take up dropped objects again; what the session has forgotten had nothing to write."""
        for held, ref in tuple(self.dropped.items()):
            del self.dropped[held]
            held.obj = ref()
            if held.obj is not None:
                continue
            assert not held.is_changed(self.kind)
            assert self._asked(held) is None
            assert all(grip[0] is not held for grip in self.grips)
            if self.known.get(held.n) is held:
                del self.known[held.n]

    def _held(self, pick: int) -> Held | None:
        """Return an object that may be changed: of a row, or new and pending."""
        self._revive()
        new = [held for held, _ in self.pending if held not in self.known.values()]
        every = [held for held in (*self.known.values(), *new) if not held.is_replaced]
        return every[pick % len(every)] if every else None

    def _note_change(self, held: Held) -> None:
        if held.loaded is not None and self._asked(held) is None:
            self.pending.append((held, "put"))

    def _note_in_place(self) -> None:
        """Note what the session finds by itself: values that were changed in place."""
        for held in self.known.values():
            if held.is_changed(self.kind):
                self._note_change(held)

    def _hear(self, what: str) -> None:
        """Be told by a hook of a write, and let the session of the machine note it."""
        self.told.append(what)
        self.audits += 1
        self.session.add(Audit(group=self.group, number=self.audits, what=what))

    def _expect(self, write: RowWrite) -> None:
        """Expect the hook of an acknowledged write."""
        if self.kind.has_hooks and not write.is_idle:
            self.expected_told.append("delete" if write.kind == "delete" else "put")

    def _count_told(self) -> int:
        """Return how many were told since the last time, and were expected to be."""
        assert sorted(self.told) == sorted(self.expected_told)
        count = len(self.told)
        self.told, self.expected_told = [], []
        return count

    # --- noting -----------------------------------------------------------------------------------

    def _add(self, held: Held, asked: Write) -> None:
        send: Callable[[Any], None] = self.session.delete if asked == "delete" else self.session.add
        if self._is_refused(held):
            with pytest.raises(ValidationError):
                send(held.obj)
            return
        if asked == "delete" and not self.kind.has_thrift2:
            with pytest.raises(FeatureMissingError):
                send(held.obj)
            return
        send(held.obj)
        self._note(held, asked)
        self.loose = [other for other in self.loose if other is not held]

    def _set(self, held: Held, name: str, value: Any) -> None:
        setattr(held.obj, name, value)
        held.set(name, value)
        self.grips = [g for g in self.grips if g[0] is not held or g[1] != name]
        self._note_change(held)

    # --- flushing ---------------------------------------------------------------------------------

    def _prepared(self) -> list[Held]:
        """Let what is pending prepare itself; return the objects that do not fit."""
        for held, asked in self.pending:
            if asked == "put" and held.loaded is not None and not held.fits(self.kind):
                break  # what is to be sent is worked out before its hook is called
            held.prepare(self.kind, asked)
        return [h for h, asked in self.pending if asked == "put" and not h.fits(self.kind)]

    def _flush(self) -> None:
        writes = [held.write(self.kind, asked) for held, asked in self.pending]
        written, refused, held_back = self._made([w for w in writes if not w.is_idle])
        audits = self.audits_pending
        for write in written:
            self._expect(write)
        if refused:
            self._fail(refused, held_back)
            self.audits_pending = self._count_told()
        else:
            report = self.session.flush()
            audits += self._count_told()
            self.audits_pending = 0
            assert report.written == len(written) + audits
        self.audits_stored += audits
        for write in (*written, *(w for w in writes if w.is_idle)):
            self._clean(write)

    audits_pending = 0
    audits_stored = 0

    def _fail(self, refused: list[RowWrite], held_back: list[RowWrite]) -> None:
        stale = [write for write in refused if self.stored.is_stale(write)]
        with pytest.raises(FlushConflictError if stale else FlushError) as caught:
            self.session.flush()
        failed = [self._row_key(w.held.n) for w in (*refused, *held_back)]
        assert sorted(row for _, row, _ in caught.value.not_written) == sorted(failed)
        assert all(isinstance(e, ConflictError) for _, _, e in caught.value.not_written)
        conflicts = {
            row for _, row, e in caught.value.not_written if isinstance(e, VersionConflictError)
        }
        assert conflicts >= {self._row_key(w.held.n) for w in stale}
        assert stale or not conflicts
        assert caught.value.unknown == []

    def _made(
        self, writes: list[RowWrite]
    ) -> tuple[list[RowWrite], list[RowWrite], list[RowWrite]]:
        written: list[RowWrite] = []
        rounds = rounds_of(writes)
        for number, one_round in enumerate(rounds):
            made, refused = self.stored.flushed(one_round)
            written += made
            if refused:
                return written, refused, [w for later in rounds[number + 1 :] for w in later]
        return written, [], []

    def _row_key(self, n: int) -> bytes:
        key: bytes = self.kind.class_of(n).encode_key(**self._key(n))
        return key

    def _write_now(self, held: Held, asked: Write) -> None:
        write = held.write(self.kind, asked)
        assert self.stored.takes(write)
        self._expect(write)
        self.audits_pending += self._count_told()
        self._clean(write)

    def _clock_passes(self) -> None:
        """Let the clock pass what one writer did, where the next one does not know it."""
        if not self.kind.is_guarded or not self.kind.has_thrift2:
            time.sleep(CLOCK_PASSES_S)

    def _cover(self, n: int) -> None:
        """Know that a plain row was deleted at its newest cell: no time shows that cell any more."""
        self.covered |= set() if self.kind.is_guarded else {n}

    def _shown_of(self, n: int, cells: Cells) -> dict[str, Any]:
        """Return what an object shows that is read for the first time."""
        found = shown_of(cells)
        if self.kind.is_deferred:
            found["log"] = UNREAD
        if self.kind.has_version:
            found["revision"] = self.stored.revisions.get(n, 0)
        return found

    def _in_order(self, found: Any) -> list[int]:
        """Return rows as statements give them: those of a record type stand together."""
        return sorted(found, key=lambda n: (n % max(1, len(self.kind.classes)), n))


class SessionMachine(SessionState):
    """Notes, flushes, writes at once and reads, all by the session itself."""

    @rule(n=numbers, row=rows, asked=st.sampled_from(["put", "put", "put", "delete"]))
    def note(self, n: int, row: dict[str, Any], asked: Write) -> None:
        self._revive()
        self._add(self._new(n, row), asked)

    @rule(pick=picks)
    def add_again(self, pick: int) -> None:
        self._revive()
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

    @rule(pick=picks, change=changes)
    def change_field(self, pick: int, change: tuple[str, Any]) -> None:
        held, (name, value) = self._held(pick), change
        if held is not None:
            self._set(held, name, self._value(name, value))

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
            self.grips = [g for g in self.grips if g[0] is not held or g[1] != "tags"]
            self._note_change(held)

    @rule(pick=picks)
    def expunge(self, pick: int) -> None:
        held = self._held(pick)
        if held is not None:
            self._expunge(held)

    # --- flushing ---------------------------------------------------------------------------------

    @rule(is_mended=st.booleans())
    def flush(self, *, is_mended: bool) -> None:
        self._note_in_place()
        self._separate_codes()
        unfit = self._prepared()
        if unfit:
            with pytest.raises(ValidationError):
                self.session.flush()
            self._revive()
            for held in unfit:
                if is_mended and not held.lacks:
                    self._mend(held)
                else:
                    self._expunge(held)
            return
        pending = [held for held, _ in self.pending]
        self._flush()
        self._revive()
        for held in pending:
            if self._asked(held) is not None and self._is_hopeless(held):
                self._expunge(held)

    def _mend(self, held: Held) -> None:
        self._set(held, "name", "x")
        for entries in (held.obj.tags, held.tags):
            entries.pop("bad", None)

    def _is_hopeless(self, held: Held) -> bool:
        """Return whether a write that was refused would be refused again."""
        write = held.write(self.kind, self._asked(held) or "put")
        is_gone = write.kind == "update" and self.kind.is_guarded
        return (
            self.stored.is_stale(write)
            or (is_gone and not self.stored.exists(held.n))
            or self.stored.is_taken(held.n, write.puts)
        )

    def _separate_codes(self) -> None:
        """Let no two objects claim one code at once: which of them gets it is left to chance."""
        if not self.kind.is_unique:
            return
        self._revive()
        claims: dict[Any, Held] = {}
        for held, asked in self.pending:
            code = held.fields["code"]
            if asked == "put" and code is not None and claims.setdefault(code, held) is not held:
                self._set(held, "code", None)

    @rule()
    def crash(self) -> None:
        """Lose the session with all that is pending in it."""
        self.session.close()
        self.session = self.engine.session()
        self.known, self.pending, self.loose, self.dropped = {}, [], [], {}
        self.grips, self.orphans = [], []
        self.audits_pending = 0

    # --- at once ----------------------------------------------------------------------------------

    @precondition(lambda self: self.kind.has_thrift2)
    @rule(n=numbers, row=rows)
    def insert(self, n: int, row: dict[str, Any]) -> None:
        self._revive()
        held = self._new(n, row)
        if self._is_refused(held) or self.stored.exists(n):
            error = DuplicateRowError if self.stored.exists(n) else ValidationError
            with pytest.raises(error):
                self.session.insert(held.obj)
            return
        held.prepare(self.kind, "insert")
        if self.stored.is_taken(n, held.cells(self.kind)):
            with pytest.raises(UniqueViolationError):
                self.session.insert(held.obj)
            return
        self.session.insert(held.obj)
        self._write_now(held, "insert")

    @precondition(lambda self: self.kind.has_thrift2)
    @rule(n=numbers, row=rows, pick=st.none() | picks)
    def replace(self, n: int, row: dict[str, Any], pick: int | None) -> None:
        self._revive()
        held = None if pick is None else self._held(pick)
        held = self._new(n, row) if held is None else held
        if self._is_refused(held) or not held.fits(self.kind, is_whole=True):
            is_prepared = not self._is_refused(held) and held.loaded is None
            with pytest.raises(ValidationError):
                self.session.replace(held.obj)
            if is_prepared:
                held.prepare(self.kind, "replace")
            return
        held.prepare(self.kind, "replace")
        if self.stored.is_taken(held.n, held.cells(self.kind)):
            with pytest.raises(UniqueViolationError):
                self.session.replace(held.obj)
            return
        self.session.replace(held.obj)
        self._cover(held.n)
        self._write_now(held, "replace")

    @rule(n=numbers, unit=units, name=st.none() | titles)
    def put_row(self, n: int, unit: str | None, name: str | None) -> None:
        put: Cells = {} if unit is None else {"unit": self._own(unit)}
        model = self.kind.class_of(n)
        assigned = [model.unit.to(self._own(unit))]
        if name is not None:
            put["name"] = name
            assigned.append(model.name.to(name))
        makes_row = not self.kind.is_required or name is not None
        if self.kind.is_guarded and not makes_row and not self.stored.exists(n):
            with pytest.raises(RowNotFoundError):
                self.session.put_row(model, *assigned, **self._key(n))
            return
        self.session.put_row(model, *assigned, **self._key(n))
        self.stored.change(
            n,
            put if self.kind.is_required else {**put, MARKER: "x"},
            [] if unit is not None else ["unit"],
        )

    @precondition(lambda self: self.kind.has_thrift2)
    @rule(n=numbers)
    def delete_row(self, n: int) -> None:
        self.session.delete_row(self.kind.class_of(n), **self._key(n))
        self.stored.delete(n)

    @rule(n=numbers, amount=st.integers(-2, 2))
    def increment(self, n: int, amount: int) -> None:
        model = self.kind.class_of(n)
        (value,) = self.session.increment(model, model.hits.by(amount), **self._key(n))
        self.stored.put(n, {HITS: self.stored.cells(n).get(HITS, 0) + amount})
        assert value == self.stored.cells(n)[HITS]

    @precondition(lambda self: self.kind.has_thrift2)
    @rule(n=numbers, tail=texts)
    def append(self, n: int, tail: str) -> None:
        model = self.kind.class_of(n)
        if self.kind.is_guarded and not self.stored.exists(n):
            with pytest.raises(RowNotFoundError):
                self.session.append(model, model.log, tail, **self._key(n))
            return
        log = self.session.append(model, model.log, tail, **self._key(n))
        self.stored.change(n, {"log": self.stored.cells(n).get("log", "") + tail})
        assert log == self.stored.cells(n)["log"]

    @rule(n=numbers, unit=units)
    @precondition(lambda self: self.kind.is_guarded and self.kind.has_thrift2)
    def update(self, n: int, unit: str | None) -> None:
        def change(obj: Any) -> None:
            obj.unit = self._own(unit)

        self._revive()
        model = self.kind.class_of(n)
        if not self.stored.exists(n):
            with pytest.raises(RowNotFoundError):
                self.session.update(model, change, **self._key(n))
            return
        found = self.session.update(model, change, **self._key(n))
        self._changed_elsewhere(n, "unit", self._own(unit))
        self.audits_pending += self._count_told()
        self._attach(found, n, has_deferred=True)

    def _changed_elsewhere(self, n: int, name: str, value: Any) -> None:
        """Make a change of an object that was read for it."""
        held = Held(None, n, {}, {})
        held.read(self.kind, self.stored.cells(n), has_deferred=True)
        held.set(name, value)
        held.prepare(self.kind, "put")
        write = held.write(self.kind, "put")
        if not write.is_idle:
            assert self.stored.takes(write)
            self._expect(write)

    @precondition(lambda self: self.kind.has_thrift2)
    @rule(pick=picks, n=numbers)
    def move(self, pick: int, n: int) -> None:
        held = self._held(pick)
        if held is None or held.loaded is None:
            return
        if self.kind.class_of(n) is not self.kind.class_of(held.n):
            return
        if held.lacks and not self.stored.exists(held.n):
            return  # what it would be compared with was not read
        if not held.write(self.kind, "put").is_idle:
            with pytest.raises(ValidationError):
                self.session.move(held.obj, **self._key(n))
        elif n == held.n:
            with pytest.raises(RowKeyError):
                self.session.move(held.obj, **self._key(n))
        elif error := self._move_refusal(held, n):
            with pytest.raises(error):
                self.session.move(held.obj, **self._key(n))
        else:
            self._moved(held, n)

    def _move_refusal(self, held: Held, n: int) -> type[Exception] | None:
        there = self.stored.cells(n) if self.stored.exists(n) else None
        if not self.stored.exists(held.n):
            return None if there == self._copied(held.loaded) else RowNotFoundError
        wanted = self._copied(self.stored.cells(held.n))
        if there is None and self.kind.is_unique and "code" in wanted:
            return ValidationError
        if there is None:  # the insert lets HBase check one cell, which a row made in part may lack
            return (
                None
                if self.kind.is_guarded or {"name", MARKER} & wanted.keys()
                else ValidationError
            )
        return None if there == wanted else DuplicateRowError

    def _copied(self, cells: Cells | None) -> Cells:
        return {**(cells or {}), **({} if self.kind.is_required else {MARKER: "x"})}

    def _moved(self, held: Held, n: int) -> None:
        moved = self.session.move(held.obj, **self._key(n))
        if self.stored.exists(held.n):
            if not self.stored.exists(n):
                self.stored.change(n, self._copied(self.stored.cells(held.n)))
            self.stored.delete(held.n)
            self._cover(held.n)
        has_deferred = held.has_deferred
        self._clean(RowWrite(held, "delete"))
        self._attach(moved, n, has_deferred=has_deferred)

    # --- reading ----------------------------------------------------------------------------------

    @rule(n=numbers)
    def get(self, n: int) -> None:
        self._revive()
        found = self.session.get(self.kind.class_of(n), **self._key(n))
        assert (found is not None) == self.stored.exists(n)
        if found is not None:
            self._attach(found, n)

    @rule()
    def read_all(self) -> None:
        self._revive()
        found = self.session.all(self._all())
        assert [obj.n for obj in found] == self._in_order(self.stored.rows())
        for obj in found:
            self._attach(obj, obj.n)

    @rule(pick=picks, is_asked=st.booleans())
    def refresh(self, pick: int, *, is_asked: bool) -> None:
        held = self._held(pick)
        if held is None:
            return
        if self._is_refused(held) or not self.stored.exists(held.n):
            error = ValidationError if self._is_refused(held) else RowNotFoundError
            with pytest.raises(error):
                self.session.refresh(held.obj)
            return
        asked = [self.kind.class_of(held.n).log] if is_asked and self.kind.is_deferred else []
        self.session.refresh(held.obj, *asked)
        self._forget_pending(held)
        self._let_go(held)
        held.loaded, held.basis = None, None
        self.known[held.n] = held
        self._read(held, has_deferred=held.has_deferred or bool(asked))

    @precondition(lambda self: self.kind.has_past and len(self.moments) < MOMENTS)
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
        mine = self._all().as_of(at)
        found = {obj.n: shown(obj, self.kind) for obj in self.session.all(mine)}
        for each in found.values():
            each.pop("revision", None)
        assert self.session.count(mine) == len(found)
        hidden = rows.keys() & self.covered - found.keys()
        assert found == {n: row for n, row in rows.items() if n not in hidden}

    @rule()
    def read_as_others_do(self) -> None:
        """Read by every way there is, in a session of its own: all agree with the reference."""
        rows, model = self.stored.rows(), self.model
        in_order = self._in_order(rows)
        with self.other.session() as session:
            found = session.all(self._all())
            assert {obj.n: shown(obj, self.kind) for obj in found} == {
                n: self._shown_of(n, cells) for n, cells in rows.items()
            }
            assert session.count(self._all()) == len(rows)
            for some in (model.n, model.unit, model.hits, model.log):
                values = session.all(self._all(model.n, some))
                assert values == [(n, {**shown_of(rows[n]), "n": n}[some.name]) for n in in_order]
            for unit in map(self._own, UNITS):
                of_unit = [n for n, cells in rows.items() if cells.get("unit") == unit]
                statement = select(model.n).where(model.unit == unit)
                if self.kind.index != "unit":
                    statement = self._all(model.n).where(model.unit == unit)
                assert sorted(session.all(statement)) == of_unit
                if self.kind.is_unique:
                    both = select(model.n).where(model.unit == unit, model.port == 1)
                    assert session.all(both) == [n for n in of_unit if rows[n].get("port") == 1]
                    of_code = [n for n, cells in rows.items() if cells.get("code") == unit]
                    assert session.all(select(model.n).where(model.code == unit)) == of_code
            if self.kind.has_hooks:
                told = session.count(select(Audit).where(Audit.group == self.group))
                assert told == self.audits_stored

    def teardown(self) -> None:
        self.read_as_others_do()
        for pick in range(len(self.moments)):
            self.as_of(pick)
        self.session.close()
        Hooked.told.pop(self.group)


class BusyMachine(SessionMachine):
    """Lets others write meanwhile, holds values, reads in every way, and writes in bulk."""

    # --- values that are held ---------------------------------------------------------------------

    @rule(pick=picks, name=st.sampled_from(["meta", "place", "tags"]), is_inner=st.booleans())
    def hold(self, pick: int, name: str, *, is_inner: bool) -> None:
        """Hold a value of an object, or a list in it."""
        held = self._held(pick)
        value = None if held is None else getattr(held.obj, name)
        if held is None or value is None:
            return
        if is_inner and name == "place":
            value = value.floors
        elif is_inner and name == "meta" and value:
            value = value[min(value)]
        self.grips.append((held, name, value))

    @rule(pick=picks, number=st.integers(0, 2))
    def change_held(self, pick: int, number: int) -> None:
        """Change a value that is held, also of an object that was dropped."""
        if not self.grips:
            return
        held, name, value = self.grips[pick % len(self.grips)]
        if isinstance(value, list):
            value.append(number)
        elif isinstance(value, Place):
            value.city = f"city {number}"
        elif name == "tags":
            value["x"] = held.tags["x"] = str(number)
        else:
            value[str(number)] = [number]
        self._changed_in_place(held, name, value, number)

    def _changed_in_place(self, held: Held, name: str, value: Any, number: int) -> None:
        before = held.fields.get(name)
        if isinstance(value, Place):
            held.fields[name] = (before[0], f"city {number}", before[2])  # type: ignore[index]  # it has a value
        elif isinstance(value, list) and name == "place":
            held.fields[name] = (*before[:2], (*before[2], number))  # type: ignore[index]  # as above
        elif isinstance(value, list):
            ((first, numbers), *others) = before[1:]  # type: ignore[index]  # as above
            changed = [(first, (*numbers, number)), *others]
            held.fields[name] = ("dict", *changed)
        elif name == "meta":
            entries = {**dict(before[1:]), str(number): ("list", number)}  # type: ignore[index]  # as above
            held.fields[name] = ("dict", *sorted(entries.items()))

    @precondition(lambda self: self.orphans)
    @rule(pick=picks, number=st.integers(3, 5))
    def change_lost(self, pick: int, number: int) -> None:
        """Change a value that is held and that its object lost when the row was read again."""
        self._revive()
        held, name, value = self.orphans[pick % len(self.orphans)]
        if isinstance(value, list):
            value.append(number)
        elif isinstance(value, Place):
            value.city = f"city {number}"
        else:
            value[str(number)] = [number]
        self._note_in_place()
        with pytest.raises(ConflictError) as caught:
            self.session.flush()
        assert (caught.value.field, caught.value.row) == (name, self._row_key(held.n))
        self._expunge(held)

    @rule(pick=picks)
    def drop(self, pick: int) -> None:
        """Let go of an object, but not of the values that are held of it."""
        held = self._held(pick)
        if held is not None and self.known.get(held.n) is held:
            self.dropped[held] = weakref.ref(held.obj)
            held.obj = None

    @rule()
    def collect(self) -> None:
        gc.collect()

    # --- others -----------------------------------------------------------------------------------

    @rule(n=numbers, change=changes)
    def others_change(self, n: int, change: tuple[str, Any]) -> None:
        """Let another program read an object, change it and flush."""
        name, value = change[0], self._value(*change)
        is_fit = not self.kind.is_required or "name" in self.stored.cells(n)
        if not self.stored.exists(n) or not is_fit or self.stored.is_taken(n, {name: value}):
            return
        self._clock_passes()
        with self._others() as session:
            found: Any = session.get(self.kind.class_of(n), **self._key(n))
            setattr(found, name, value)
        self._clock_passes()
        self._changed_elsewhere(n, name, frozen(value))
        self.expected_told = []

    @rule(n=numbers, row=rows)
    def others_put(self, n: int, row: dict[str, Any]) -> None:
        """Let another program add an object of the row."""
        held = self._new(n, row)
        if self.stored.is_taken(n, held.cells(self.kind)):
            return
        self._clock_passes()
        with self._others() as session:
            session.add(held.obj)
        self._clock_passes()
        held.prepare(self.kind, "put")
        assert self.stored.takes(held.write(self.kind, "put"))

    @precondition(lambda self: self.kind.has_thrift2)
    @rule(n=numbers)
    def others_delete(self, n: int) -> None:
        self._clock_passes()
        with self._others() as session:
            session.delete_row(self.kind.class_of(n), **self._key(n))
        self._clock_passes()
        self.stored.delete(n)

    def _others(self, engine: Engine | None = None) -> Session:
        Hooked.told[self.group] = lambda _: None  # they have no audit of ours
        session = (engine or self.other).session()
        leave = session.close

        def close() -> None:
            leave()
            Hooked.told[self.group] = self._hear

        session.close = close  # type: ignore[method-assign]  # told again from then on
        return session

    @precondition(lambda self: not self.kind.is_guarded)
    @rule(n=numbers, text=titles, entry=names)
    def raw_put(self, n: int, text: str, entry: str) -> None:
        """Put cells past this library."""
        bound = self.other._bound_of(self.kind.class_of(n)).with_table_of(self._key(n))
        unit = self._own(text) or ""
        puts = {b"d:n": text.encode(), b"d:u": unit.encode(), b"e:t:" + entry.encode(): b"raw"}
        mutation = RowMutation(self._row_key(n), tuple(Put(c, v) for c, v in puts.items()))
        if "at" in self.kind.key(n) and not self.stored.exists(n):
            return  # nobody may have made its table
        self._clock_passes()
        gateway_of(self.other).execute(MutateRows(bound.schema.table, (mutation,)))
        self._clock_passes()
        self.stored.put(n, {"name": text, "unit": unit, ("tags", entry): "raw"})

    @rule(pick=picks)
    def hand_over(self, pick: int) -> None:
        """Move an object to another session, flush it there, and take it back.

        A new object goes to the other engine, a loaded one only if that has the same tables.
        """
        held = self._held(pick)
        if held is None or held.obj is None or self._asked(held) == "delete":
            return
        if held.loaded is not None:
            with self.engine.session() as another, pytest.raises(ValidationError):
                another.add(held.obj)  # it belongs to our session
        self._expunge(held)
        write = held.write(self.kind, "put")
        if not held.fits(self.kind) or self.stored.is_stale(write) or self._is_lost(held, write):
            return
        is_new = held.loaded is None
        if not is_new and self._is_foreign(held):
            with self.other.session() as session, pytest.raises(ValidationError):
                session.add(held.obj)
        self._written_elsewhere(held, self.other if is_new else self._engine_of(held))
        if not is_new or not self._is_foreign(held):
            self.loose.append(held)

    def _is_foreign(self, held: Held) -> bool:
        """Return whether the other engine may have other tables."""
        model = self.kind.class_of(held.n)
        return self.engine._bound_of(model).origin != self.other._bound_of(model).origin

    def _engine_of(self, held: Held) -> Engine:
        return self.engine if self._is_foreign(held) else self.other

    def _written_elsewhere(self, held: Held, engine: Engine) -> None:
        """Write an object in a session of its own."""
        self._clock_passes()
        with self._others(engine) as session:
            session.add(held.obj)
        self._clock_passes()
        held.prepare(self.kind, "put")
        write = held.write(self.kind, "put")
        if not write.is_idle:
            assert self.stored.takes(write)
        held.keep(write)
        if not write.is_idle:
            held.basis = self.stored.writes.get(held.n)
            held.revision = self.stored.revisions.get(held.n, 0)
        assert shown(held.obj, self.kind) == held.shown(self.kind)

    def _is_lost(self, held: Held, write: RowWrite) -> bool:
        is_gone = write.kind == "update" and self.kind.is_guarded and not self.stored.exists(held.n)
        return is_gone or self.stored.is_taken(held.n, write.puts)

    # --- on conditions ----------------------------------------------------------------------------

    @precondition(lambda self: self.kind.has_thrift2)
    @rule(pick=picks, port=ports)
    def put_if(self, pick: int, port: int | None) -> None:
        held = self._held(pick)
        if held is None or not held.fits(self.kind):
            return
        if self._is_refused(held):
            with pytest.raises(ValidationError):
                self.session.put_if(held.obj, self.model.port == 0)
            return
        held.prepare(self.kind, "put")
        if held.is_changed(self.kind):
            self._note_change(held)
        write = held.write(self.kind, "put")
        if write.is_idle and self.kind.is_guarded:
            return
        condition = self.model.port.is_null() if port is None else self.model.port == port
        is_met = self._fulfils(held.n, port, write)
        if is_met and self.stored.is_taken(held.n, write.puts):
            with pytest.raises(UniqueViolationError):
                self.session.put_if(held.obj, condition)
            return
        assert self.session.put_if(held.obj, condition) is is_met
        if is_met and write.is_idle:
            self._clean(write)
        elif is_met:
            self._write_now(held, "put")

    def _fulfils(self, n: int, port: int | None, write: RowWrite) -> bool:
        """Return whether a row has a port; HBase compares the one cell of a plain row."""
        has_port = self.stored.cells(n).get("port") == port
        if not self.kind.is_guarded and not write.is_idle:
            return has_port
        if not self.stored.exists(n):
            return port is None and write.kind == "put"
        return has_port

    @precondition(lambda self: self.kind.has_thrift2)
    @rule(pick=picks, port=ports)
    def delete_if(self, pick: int, port: int | None) -> None:
        held = self._held(pick)
        if held is None or self._is_refused(held):
            return
        condition = self.model.port.is_null() if port is None else self.model.port == port
        is_met = self._fulfils(held.n, port, RowWrite(held, "delete"))
        assert self.session.delete_if(held.obj, condition) is is_met
        if is_met:
            self._write_now(held, "delete")

    @precondition(lambda self: self.kind.has_version)
    @rule(pick=picks)
    def put_if_unchanged(self, pick: int) -> None:
        """Write an object only if nobody wrote its row: what a flush does by itself."""
        held = self._held(pick)
        if held is None or held.loaded is None or not held.fits(self.kind):
            return
        write = held.write(self.kind, "put")
        if self._is_refused(held) or write.is_idle or self.stored.is_taken(held.n, write.puts):
            return
        is_same = self.stored.revisions.get(held.n) == held.revision
        is_met = is_same and self.stored.exists(held.n)
        condition = self.model.revision == held.obj.revision
        assert self.session.put_if(held.obj, condition) is is_met
        if is_met:
            self._write_now(held, "put")

    @precondition(lambda self: self.kind.has_thrift2)
    @rule(first=numbers, port=ports)
    def delete_where(self, first: int, port: int | None) -> None:
        self._revive()
        self._note_in_place()
        condition = self.model.port.is_null() if port is None else self.model.port == port
        wanted = [
            n for n, cells in self.stored.rows().items() if n >= first and cells.get("port") == port
        ]
        mine = self._all().where(self.model.n >= first, condition)
        assert self.session.delete_where(mine) == len(wanted)
        for n in wanted:
            self.stored.delete(n)
            held = self.known.get(n)
            if held is None:
                continue
            held.loaded, held.basis = None, None
            self._let_go(held)
            if self._asked(held) is None:
                del self.known[n]
                self.loose.append(held)

    # --- reading, in every way --------------------------------------------------------------------

    @rule(some=st.lists(numbers, max_size=4))
    def get_many(self, some: list[int]) -> None:
        self._revive()
        if self.kind.classes:
            some = [n for n in some if self.kind.class_of(n) is self.kind.classes[0]]
        model = self.kind.class_of(0)
        found = self.session.get_many(model, [self._key(n) for n in some])
        for n, obj in zip(some, found, strict=True):
            assert (obj is not None) == self.stored.exists(n)
            if obj is not None:
                self._attach(obj, n)

    @rule(size=st.integers(1, 3))
    def pages(self, size: int) -> None:
        self._revive()
        token, found = None, []
        while True:
            page = self.session.page(self._all(), size=size, token=token)
            for obj in page.items:
                self._attach(obj, obj.n)
                found.append(obj.n)
            token = page.token
            if token is None:
                break
        assert found == self._in_order(self.stored.rows())

    @rule(unit=st.sampled_from(UNITS), name=titles)
    def query(self, unit: str, name: str) -> None:
        """Read objects by a field, by an index where there is one."""
        self._revive()
        of, value = self.kind.index or "unit", self._own(unit)
        if of == "name":
            value = name
        statement = self._all().where(getattr(self.model, of) == value)
        found = self.session.all(statement)
        wanted = [n for n, cells in self.stored.rows().items() if cells.get(of) == value]
        assert sorted(obj.n for obj in found) == wanted
        for obj in found:
            self._attach(obj, obj.n)

    @rule(pick=picks)
    def history(self, pick: int) -> None:
        held = self._held(pick)
        if held is not None:
            model = self.kind.class_of(held.n)
            found = self.session.history(held.obj, model.unit, limit=1)
            now = self.stored.cells(held.n).get("unit")
            assert [each.value for each in found] == ([] if now is None else [now])

    # --- bulk -------------------------------------------------------------------------------------

    @rule(
        many=st.lists(st.tuples(numbers, rows), min_size=1, max_size=4),
        misfit=st.none() | st.integers(0, 3),
        has_ttl=st.booleans(),
    )
    def bulk(
        self, many: list[tuple[int, dict[str, Any]]], misfit: int | None, *, has_ttl: bool
    ) -> None:
        """Write rows in bulk; one that does not fit leaves the others alone."""
        ttl = timedelta(hours=1) if has_ttl and not self.kind.is_guarded else None
        many = [(n, {**row, "code": None} if self.kind.is_unique else row) for n, row in many]
        made = [self._new(n, row) for n, row in many]
        if misfit is not None and misfit < len(made):
            wrong: Any = 5
            made[misfit].obj.tags["bad"] = made[misfit].tags["bad"] = wrong
        fit = [held for held in made if held.fits(self.kind)]
        with self.session.bulk(batch_rows=2) as bulk:
            for held in made:
                if held in fit:
                    bulk.add(held.obj, ttl=ttl)
                else:
                    with pytest.raises(ValidationError):
                        bulk.add(held.obj, ttl=ttl)
        assert bulk.report.written == len(fit)
        for held in fit:
            held.prepare(self.kind, "replace")
            assert self.stored.takes(held.write(self.kind, "put"))

    @rule(row=rows, n=numbers)
    def bulk_insert(self, row: dict[str, Any], n: int) -> None:
        """Write a new row in bulk; where rows are guarded, one that exists is refused."""
        held = self._new(n, {**row, "code": None})
        bulk = self.session.bulk(insert_only=True)
        if not self.kind.has_thrift2:
            with pytest.raises(FeatureMissingError), bulk:
                bulk.add(held.obj)
            return
        if self.kind.is_guarded and self.stored.exists(n):
            with pytest.raises(FlushError) as caught, bulk:
                bulk.add(held.obj)
            ((_, row_key, error),) = caught.value.not_written
            assert row_key == self._row_key(n)
            assert isinstance(error, DuplicateRowError)
            return
        with bulk:
            bulk.add(held.obj)
        held.prepare(self.kind, "insert")
        assert self.stored.takes(held.write(self.kind, "insert"))

    @precondition(lambda self: not self.kind.has_hooks)
    @rule(pick=picks)
    def bulk_held(self, pick: int) -> None:
        """Write an object of the session in bulk: its row gets its cells, it stays as it was."""
        held = self._held(pick)
        if held is None:
            return
        cells = held.cells(self.kind)
        is_fit = held.fits(self.kind, is_whole=True) and not self.stored.is_taken(held.n, cells)
        if not is_fit:
            return
        with self.session.bulk() as bulk:
            bulk.add(held.obj)
        self.stored.change(held.n, cells)

    # --- without Thrift2 --------------------------------------------------------------------------

    @precondition(lambda self: not self.kind.has_thrift2)
    @rule(pick=picks, n=numbers)
    def refused(self, pick: int, n: int) -> None:
        """Ask for what cannot be done without guards: nothing is sent."""
        held, session, model = self._held(pick), self.session, self.kind.class_of(n)
        calls: list[Callable[[], object]] = [
            lambda: session.delete_row(model, **self._key(n)),
            lambda: session.append(model, model.log, "x", **self._key(n)),
            lambda: session.update(model, str, **self._key(n)),
            lambda: session.delete_where(self._all()),
        ]
        if held is not None and not self._is_refused(held):
            calls += [
                lambda: session.delete(held.obj),
                lambda: session.insert(held.obj),
                lambda: session.replace(held.obj),
                lambda: session.put_if(held.obj, model.port == 1),
                lambda: session.delete_if(held.obj, model.port == 1),
            ]
        for call in calls:
            with pytest.raises(FeatureMissingError):
                call()


def run(engine: Engine, other: Engine, kind: Kind, sequences: int) -> None:
    """Run so many random sequences of steps."""
    run_state_machine_as_test(
        lambda: BusyMachine(engine, other, kind),  # type: ignore[arg-type]  # any factory will do
        settings=settings(max_examples=sequences, stateful_step_count=STEPS, deadline=None),
    )
