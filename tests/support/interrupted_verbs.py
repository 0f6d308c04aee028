"""Every verb of a session, ready to be interrupted, and what must hold afterwards.

Each verb is a generator: it prepares, yields what is interrupted, and then, in another thread so
that a lock that was left locked shows, checks what is there and does it again.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any
from uuid import uuid4

from hbase_orm import (
    Counter,
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Salt,
    Version,
    codecs,
    column,
    counter,
    key,
    select,
    version,
)
from hbase_orm.errors import DuplicateRowError, StreamInterruptedError
from tests.support.interrupts import Interrupted, TimeLimit

ROWS = 12


class Note(Model, table="interrupted_notes"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint32())
    value: Mapped[int] = column(d)
    unit: Mapped[str | None] = column(d, default=None)
    hits: Counter = counter(d)


class Salted(Model, table="interrupted_salted"):
    d = Family()
    salt = Salt(3)
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint32())
    value: Mapped[int] = column(d)


class Filed(Model, table="interrupted_files"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint32())
    value: Mapped[int] = column(d)
    unit: Mapped[str | None] = column(d, default=None)
    revision: Version = version(d)
    by_unit = Index(unit)


class Owned(Model, table="interrupted_owned"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint32())
    name: Mapped[str | None] = column(d, default=None)
    by_name = Index(name, unique=True)


MODELS = (Note, Salted, Filed, Owned)

Verb = Generator[Callable[[], Any], None, None]


class Known:
    """Rows that are only read, written once."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.host = uuid4().hex
        with engine.session() as session:
            session.add_all(self.notes + self.salted + self.filed)

    @property
    def notes(self) -> list[Any]:
        return [Note(host=self.host, n=n, value=n, unit="s") for n in range(ROWS)]

    @property
    def salted(self) -> list[Any]:
        return [Salted(host=self.host, n=n, value=n) for n in range(ROWS)]

    @property
    def filed(self) -> list[Any]:
        return [Filed(host=self.host, n=n, value=n, unit=self.host) for n in range(ROWS)]


def _host() -> str:
    return uuid4().hex


def _put(engine: Engine, *objects: Any) -> None:
    with engine.session() as session:
        session.add_all(objects)


def _values(engine: Engine, kind: Any, host: str) -> list[int]:
    found = engine.session().all(select(kind).where(kind.host == host))
    return [each.value for each in sorted(found, key=lambda each: each.n)]


# --- flushes --------------------------------------------------------------------------------------


def flushes_new_plain_rows(known: Known) -> Verb:
    session, host = known.engine.session(), _host()
    objects = [Note(host=host, n=n, value=n) for n in range(3)]
    session.add_all(objects)
    yield session.flush
    session.flush()
    assert _values(known.engine, Note, host) == [0, 1, 2]
    assert len(session._state.pending) == 0


def flushes_changes_of_plain_rows(known: Known) -> Verb:
    engine, host = known.engine, _host()
    _put(engine, *(Note(host=host, n=n, value=n, unit="s") for n in range(3)))
    session = engine.session()
    first, second, third = session.all(select(Note).where(Note.host == host))
    first.value, second.unit, third.value, third.unit = 10, None, 12, None
    yield session.flush
    first.value = 20
    session.flush()
    found = engine.session().all(select(Note).where(Note.host == host))
    assert [(each.value, each.unit) for each in found] == [(20, "s"), (1, None), (12, None)]


def flushes_deletes_of_plain_rows(known: Known) -> Verb:
    engine, host = known.engine, _host()
    _put(engine, *(Note(host=host, n=n, value=n) for n in range(2)))
    session = engine.session()
    for each in session.all(select(Note).where(Note.host == host)):
        session.delete(each)
    yield session.flush
    session.flush()
    assert _values(engine, Note, host) == []


def flushes_new_guarded_rows(known: Known) -> Verb:
    session, host = known.engine.session(), _host()
    objects = [Filed(host=host, n=n, value=n, unit=f"{host}{n % 2}") for n in range(3)]
    session.add_all(objects)
    yield session.flush
    session.flush()
    assert _values(known.engine, Filed, host) == [0, 1, 2]
    even = known.engine.session().all(select(Filed).where(Filed.unit == f"{host}0"))
    assert sorted(each.n for each in even) == [0, 2]


def flushes_changes_under_a_version(known: Known) -> Verb:
    engine, host = known.engine, _host()
    _put(engine, *(Filed(host=host, n=n, value=n, unit=host) for n in range(3)))
    session = engine.session()
    objects = session.all(select(Filed).where(Filed.host == host))
    for each in objects:
        each.value, each.unit = each.value + 10, f"{host}x"
    yield session.flush
    session.flush()
    for each in objects:
        each.value += 10
    session.flush()
    assert _values(engine, Filed, host) == [20, 21, 22]
    moved = engine.session().all(select(Filed).where(Filed.unit == f"{host}x"))
    assert len(moved) == 3


def flushes_deletes_under_a_version(known: Known) -> Verb:
    engine, host = known.engine, _host()
    _put(engine, *(Filed(host=host, n=n, value=n, unit=host) for n in range(2)))
    session = engine.session()
    for each in session.all(select(Filed).where(Filed.host == host)):
        session.delete(each)
    yield session.flush
    session.flush()
    assert _values(engine, Filed, host) == []
    assert engine.session().all(select(Filed).where(Filed.unit == host)) == []


def flushes_unique_values(known: Known) -> Verb:
    engine, host = known.engine, _host()
    session = engine.session()
    session.add_all(Owned(host=host, n=n, name=f"{host}{n}") for n in range(2))
    yield session.flush
    session.flush()
    found = [session.one(select(Owned).where(Owned.name == f"{host}{n}")).n for n in range(2)]
    assert found == [0, 1]


# --- writes at once -------------------------------------------------------------------------------


def inserts(known: Known, kind: Any = Note) -> Verb:
    session, host = known.engine.session(), _host()
    obj = kind(host=host, n=0, value=7, unit=host)
    yield lambda: session.insert(obj)
    with suppress(DuplicateRowError):  # its outcome was unknown
        known.engine.session().insert(kind(host=host, n=0, value=7, unit=host))
    assert _values(known.engine, kind, host) == [7]


def inserts_guarded(known: Known) -> Verb:
    return inserts(known, Filed)


def replaces(known: Known, kind: Any = Note) -> Verb:
    host = _host()
    _put(known.engine, kind(host=host, n=0, value=1, unit=host))
    session = known.engine.session()
    yield lambda: session.replace(kind(host=host, n=0, value=2))
    known.engine.session().replace(kind(host=host, n=0, value=3))
    found = known.engine.session().get(kind, host=host, n=0)
    assert found is not None
    assert (found.value, found.unit) == (3, None)


def replaces_guarded(known: Known) -> Verb:
    return replaces(known, Filed)


def puts_if(known: Known, kind: Any = Note) -> Verb:
    host = _host()
    _put(known.engine, kind(host=host, n=0, value=1, unit="a"))
    session = known.engine.session()
    obj: Any = session.get(kind, host=host, n=0)
    obj.value = 2
    yield lambda: session.put_if(obj, kind.unit == "a")
    assert _values(known.engine, kind, host) in ([1], [2])
    again = known.engine.session()
    other: Any = again.get(kind, host=host, n=0)
    other.value = 3
    assert again.put_if(other, kind.unit == "a")
    assert _values(known.engine, kind, host) == [3]


def puts_if_guarded(known: Known) -> Verb:
    return puts_if(known, Filed)


def deletes_if(known: Known, kind: Any = Note) -> Verb:
    host = _host()
    _put(known.engine, kind(host=host, n=0, value=1, unit="a"))
    session = known.engine.session()
    obj: Any = session.get(kind, host=host, n=0)
    yield lambda: session.delete_if(obj, kind.unit == "a")
    again = known.engine.session()
    other: Any = again.get(kind, host=host, n=0)
    if other is not None:
        again.delete_if(other, kind.unit == "a")  # or the first, late, has deleted it since
    assert _values(known.engine, kind, host) == []


def deletes_if_guarded(known: Known) -> Verb:
    return deletes_if(known, Filed)


def updates(known: Known) -> Verb:
    host = _host()
    _put(known.engine, Filed(host=host, n=0, value=1, unit=host))

    def change(obj: Filed) -> None:
        obj.value += 1

    session = known.engine.session()
    yield lambda: session.update(Filed, change, host=host, n=0)
    before = _values(known.engine, Filed, host)
    assert before in ([1], [2])
    known.engine.session().update(Filed, change, host=host, n=0)
    assert _values(known.engine, Filed, host) == [before[0] + 1]


def moves(known: Known) -> Verb:
    host = _host()
    _put(known.engine, Note(host=host, n=0, value=1))
    session = known.engine.session()
    obj = session.get(Note, host=host, n=0)
    assert obj is not None
    yield lambda: session.move(obj, n=5)
    again = known.engine.session()
    left = again.get(Note, host=host, n=0)
    if left is not None:
        again.move(left, n=5)
    found = known.engine.session().all(select(Note).where(Note.host == host))
    assert [(each.n, each.value) for each in found] == [(5, 1)]


def deletes_where(known: Known) -> Verb:
    host = _host()
    _put(known.engine, *(Filed(host=host, n=n, value=n, unit=host) for n in range(3)))
    session = known.engine.session()
    yield lambda: session.delete_where(select(Filed).where(Filed.host == host))
    known.engine.session().delete_where(select(Filed).where(Filed.host == host))
    assert _values(known.engine, Filed, host) == []


def puts_and_deletes_a_row(known: Known) -> Verb:
    host = _host()
    session = known.engine.session()

    def act() -> None:
        session.put_row(Note, Note.value.to(1), host=host, n=0)
        session.put_row(Note, Note.value.to(2), host=host, n=1)
        session.delete_row(Note, host=host, n=0)

    yield act
    assert _values(known.engine, Note, host) in ([], [1], [1, 2], [2])
    session = known.engine.session()
    act()
    assert _values(known.engine, Note, host) == [2]


def increments(known: Known) -> Verb:
    host = _host()
    session = known.engine.session()
    session.increment(Note, Note.hits.by(1), host=host, n=0)
    yield lambda: session.increment(Note, Note.hits.by(1), host=host, n=0)
    total = known.engine.session().increment(Note, Note.hits.by(1), host=host, n=0)
    assert total in ([2], [3])


def appends(known: Known) -> Verb:
    host = _host()
    _put(known.engine, Note(host=host, n=0, value=1, unit="a"))
    session = known.engine.session()
    yield lambda: session.append(Note, Note.unit, "b", host=host, n=0)
    assert session.append(Note, Note.unit, "c", host=host, n=0) in ("ac", "abc")


def loads(known: Known) -> Verb:
    host = _host()

    def act() -> None:
        with known.engine.session().bulk(batch_rows=2) as bulk:
            for n in range(6):
                bulk.add(Note(host=host, n=n, value=n))

    yield act
    act()
    assert _values(known.engine, Note, host) == list(range(6))


# --- reads ----------------------------------------------------------------------------------------


def _reads(known: Known, read: Callable[[Any], Any]) -> Verb:
    expected = read(known.engine.session())
    session = known.engine.session()
    found: list[Any] = []
    yield lambda: found.append(read(session))
    assert found in ([], [expected])
    assert read(session) == expected


def gets(known: Known) -> Verb:
    return _reads(known, lambda session: session.get(Note, host=known.host, n=3))


def gets_many(known: Known) -> Verb:
    keys = [(known.host, n) for n in range(ROWS + 1)]
    return _reads(known, lambda session: session.get_many(Note, keys))


def reads_all(known: Known) -> Verb:
    stmt = select(Note).where(Note.host == known.host)
    return _reads(known, lambda session: session.all(stmt.caching(5)))


def reads_first(known: Known) -> Verb:
    return _reads(known, lambda session: session.first(select(Note).where(Note.host == known.host)))


def reads_one(known: Known) -> Verb:
    stmt = select(Note).where(Note.host == known.host, Note.n == 4)
    return _reads(known, lambda session: session.one(stmt))


def counts(known: Known) -> Verb:
    return _reads(known, lambda session: session.count(select(Note).where(Note.host == known.host)))


def looks_whether_rows_exist(known: Known) -> Verb:
    stmt = select(Note).where(Note.host == known.host)
    return _reads(known, lambda session: session.exists(stmt))


def explains(known: Known) -> Verb:
    stmt = select(Filed).where(Filed.unit == known.host)
    return _reads(known, lambda session: session.explain(stmt, analyze=True).measured.kept)


def reads_a_history(known: Known) -> Verb:
    obj = Note(host=known.host, n=2, value=2)
    return _reads(known, lambda session: session.history(obj, Note.value, limit=3))


def reads_stored_cells(known: Known) -> Verb:
    return _reads(known, lambda session: session.stored_cells(Note, host=known.host, n=2))


def reads_by_an_index(known: Known) -> Verb:
    stmt = select(Filed).where(Filed.unit == known.host)
    return _reads(known, lambda session: session.all(stmt))


def reads_salted_rows(known: Known) -> Verb:
    stmt = select(Salted).where(Salted.host == known.host)
    return _reads(known, lambda session: session.all(stmt))


def reads_a_page(known: Known) -> Verb:
    stmt = select(Note).where(Note.host == known.host)
    return _reads(known, lambda session: session.page(stmt, size=4).items)


def refreshes(known: Known) -> Verb:
    session = known.engine.session()
    obj = session.get(Note, host=known.host, n=1)
    assert obj is not None
    yield lambda: session.refresh(obj)
    session.refresh(obj)
    assert (obj.value, obj.unit) == (1, "s")


def _streams(known: Known, kind: Any, condition: Any) -> Verb:
    session = known.engine.session()
    ends: list[tuple[bool, list[int]]] = []

    def act() -> None:
        """Read on whatever happens, as a careless program does."""
        given: list[int] = []
        stream = session.stream(select(kind).where(condition).caching(3))
        while True:
            try:
                given.append(next(stream).n)
            except (Interrupted, TimeLimit):
                continue
            except StopIteration:
                ends.append((True, given))
                return
            except StreamInterruptedError:
                ends.append((False, given))
                return

    yield act
    for is_whole, given in ends:
        assert sorted(given) == list(range(ROWS)) if is_whole else len(given) <= ROWS
    act()
    assert (ends[-1][0], sorted(ends[-1][1])) == (True, list(range(ROWS)))


def streams(known: Known) -> Verb:
    return _streams(known, Note, Note.host == known.host)


def streams_salted_rows(known: Known) -> Verb:
    return _streams(known, Salted, Salted.host == known.host)


def streams_by_an_index(known: Known) -> Verb:
    return _streams(known, Filed, Filed.unit == known.host)


def makes_tables_that_exist(known: Known) -> Verb:
    yield lambda: known.engine.create_tables(*MODELS)
    assert known.engine.create_tables(*MODELS) == []


VERBS: tuple[Callable[[Known], Verb], ...] = (
    flushes_new_plain_rows,
    flushes_changes_of_plain_rows,
    flushes_deletes_of_plain_rows,
    flushes_new_guarded_rows,
    flushes_changes_under_a_version,
    flushes_deletes_under_a_version,
    flushes_unique_values,
    inserts,
    inserts_guarded,
    replaces,
    replaces_guarded,
    puts_if,
    puts_if_guarded,
    deletes_if,
    deletes_if_guarded,
    updates,
    moves,
    deletes_where,
    puts_and_deletes_a_row,
    increments,
    appends,
    loads,
    gets,
    gets_many,
    reads_all,
    reads_first,
    reads_one,
    counts,
    looks_whether_rows_exist,
    explains,
    reads_a_history,
    reads_stored_cells,
    reads_by_an_index,
    reads_salted_rows,
    reads_a_page,
    refreshes,
    streams,
    streams_salted_rows,
    streams_by_an_index,
    makes_tables_that_exist,
)
