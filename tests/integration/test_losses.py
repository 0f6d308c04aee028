"""What plain happybase loses or shows half written, a thousand times each through sessions: never."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import happybase
import happybase.batch
import pytest

from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    codecs,
    column,
    connect,
    key,
    select,
)
from hbase_orm.testing import RealHBase
from tests.integration.embedded import connected

pytestmark = [pytest.mark.hbase, pytest.mark.timeout(300)]

TIMES = 1_000
MOST_RUNS = 20
ROUNDS = 50  # of plain happybase
AT_ONCE = 50


class Plain(Model, table="lost_plain"):
    d = Family()
    host: Key[str] = key(codecs.text(separator=b"\x00"))
    n: Key[int] = key(codecs.uint32())
    value: Mapped[int] = column(d, "v")
    unit: Mapped[str | None] = column(d, "u", default=None)
    note: Mapped[str | None] = column(d, "n", default=None)


class Stamped(Model, table="lost_stamped", timestamps="client"):
    d = Family()
    host: Key[str] = key(codecs.text(separator=b"\x00"))
    n: Key[int] = key(codecs.uint32())
    value: Mapped[int] = column(d, "v")
    unit: Mapped[str | None] = column(d, "u", default=None)
    note: Mapped[str | None] = column(d, "n", default=None)


class Indexed(Model, table="lost_indexed"):
    d = Family()
    host: Key[str] = key(codecs.text(separator=b"\x00"))
    n: Key[int] = key(codecs.uint32())
    value: Mapped[int] = column(d, "v")
    unit: Mapped[str | None] = column(d, "u", default=None)
    note: Mapped[str | None] = column(d, "n", default=None)
    by_unit = Index(unit)


MODELS = (Plain, Stamped, Indexed)


@pytest.fixture(scope="module")
def engine(hbase: RealHBase) -> Iterator[Engine]:
    namespace = f"n{uuid4().hex[:12]}"
    with connect(hbase.url_in(namespace)) as opened:
        opened.create_tables(*MODELS)
        yield opened
    hbase.drop_namespace(namespace)


@pytest.fixture
def plain(engine: Engine) -> Iterator[happybase.Table]:
    """Return the table of `Plain` through happybase alone."""
    (_, port), *_ = engine.options.thrift1
    with connected(port) as connection:
        yield connection.table(engine._bound_of(Plain).schema.table)


@pytest.fixture(params=MODELS, ids=lambda model: model.__name__)
def model(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def host() -> str:
    return uuid4().hex


def rows(engine: Engine, model: Any, host: str) -> dict[int, tuple[int, str | None]]:
    with engine.session() as session:
        found = session.all(select(model).where(model.host == host))
    return {obj.n: (obj.value, obj.unit) for obj in found}


# --- a delete and a put in one batch --------------------------------------------------------------


def test_a_batch_of_plain_happybase_loses_every_put_after_a_delete(plain: happybase.Table) -> None:
    keys = [f"{uuid4().hex}{n}".encode() for n in range(ROUNDS)]
    with plain.batch() as batch:
        for row in keys:
            batch.delete(row)
            batch.put(row, {b"d:v": b"new"})

    assert plain.rows(keys) == []


def test_a_flush_keeps_every_put_after_a_delete(engine: Engine, model: Any, host: str) -> None:
    old = [model(host=host, n=n, value=1, unit="old") for n in range(TIMES)]
    with engine.session() as session:
        session.add_all(old)

    with engine.session() as session:
        for obj in old:
            session.delete(obj)
            session.add(model(host=host, n=obj.n, value=2))

    assert rows(engine, model, host) == dict.fromkeys(range(TIMES), (2, None))


def test_a_batch_of_plain_happybase_loses_every_put_after_a_delete_of_its_column(
    plain: happybase.Table,
) -> None:
    keys = [f"{uuid4().hex}{n}".encode() for n in range(ROUNDS)]
    with plain.batch() as batch:
        for row in keys:
            batch.delete(row, [b"d:u"])
            batch.put(row, {b"d:u": b"new", b"d:v": b"kept"})

    assert [cells for _, cells in plain.rows(keys)] == [{b"d:v": b"kept"}] * ROUNDS


# --- a delete, and a put right after it -----------------------------------------------------------


def test_a_put_right_after_a_delete_is_kept(engine: Engine, model: Any, host: str) -> None:
    with engine.session() as session:
        for n in range(TIMES):
            session.put_row(model, model.value.to(1), model.unit.to("old"), host=host, n=n)
            session.delete_row(model, host=host, n=n)
            session.put_row(model, model.value.to(2), host=host, n=n)

    assert rows(engine, model, host) == dict.fromkeys(range(TIMES), (2, None))


def test_a_cell_that_is_put_right_after_it_was_cleared_is_kept(
    engine: Engine, model: Any, host: str
) -> None:
    objects = [model(host=host, n=n, value=1, unit="old") for n in range(AT_ONCE)]
    seen = []
    with engine.session() as session:
        session.add_all(objects)
        for number in range(TIMES // AT_ONCE):
            for unit in (None, f"new{number}"):
                for obj in objects:
                    obj.unit = unit
                session.flush()
            seen += [unit for _, unit in rows(engine, model, host).values()]

    assert seen == [f"new{number}" for number in range(TIMES // AT_ONCE) for _ in range(AT_ONCE)]


# --- one timestamp --------------------------------------------------------------------------------


def test_plain_happybase_loses_every_put_with_the_timestamp_of_a_delete(
    plain: happybase.Table,
) -> None:
    keys = [f"{uuid4().hex}{n}".encode() for n in range(ROUNDS)]
    for row in keys:
        plain.put(row, {b"d:v": b"old"}, timestamp=1_000)
        plain.delete(row, timestamp=1_000)
        plain.put(row, {b"d:v": b"new"}, timestamp=1_000)

    assert plain.rows(keys) == []


def test_what_this_client_stamps_in_one_millisecond_is_kept(engine: Engine, host: str) -> None:
    objects = [Stamped(host=host, n=n, value=1) for n in range(AT_ONCE)]
    seen = []
    with engine.session() as session:
        session.add_all(objects)
        for number in range(TIMES // AT_ONCE):
            for obj in objects:
                session.delete(obj)
            session.flush()
            for obj in objects:
                obj.value = number
                session.add(obj)
            session.flush()
            seen += [value for value, _ in rows(engine, Stamped, host).values()]

    assert seen == [number for number in range(TIMES // AT_ONCE) for _ in range(AT_ONCE)]


# --- readers beside a writer ----------------------------------------------------------------------


def read_beside(write: Callable[[int], object], read: Callable[[], bool], reads: int) -> int:
    """Write again and again while another thread reads so many times; return how many it minded."""
    minded: list[bool] = []
    failures: list[BaseException] = []
    written = threading.Event()

    def read_all() -> None:
        try:
            written.wait()
            minded.extend(read() for _ in range(reads))
        except BaseException as error:  # noqa: BLE001  # raised in the test's own thread
            failures.append(error)

    thread = threading.Thread(target=read_all)
    thread.start()
    number = 0
    try:
        while thread.is_alive():
            write(number)
            written.set()
            number += 1
    finally:
        written.set()
        thread.join()
    if failures:
        raise failures[0]
    assert number > reads // 20, "there was hardly anything to read beside"
    return sum(minded)


def test_readers_see_the_gap_between_delete_and_put_of_plain_happybase(
    engine: Engine, plain: happybase.Table
) -> None:
    row = uuid4().hex.encode()
    (_, port), *_ = engine.options.thrift1

    def write(number: int) -> None:
        changes = [
            happybase.batch.Mutation(isDelete=True, column=b"d:v"),
            happybase.batch.Mutation(column=b"d:v", value=b"%d" % number),
        ]
        plain.connection.client.mutateRow(plain.name, row, changes, {})

    with connected(port) as other:
        table = other.table(plain.name.decode(), use_prefix=False)
        # Whether a read comes into a gap is a matter of luck: they go on until one does.
        runs = (read_beside(write, lambda: not table.row(row), TIMES) for _ in range(MOST_RUNS))
        gaps = next(filter(None, runs), 0)

    assert gaps > 0


@pytest.mark.parametrize("verb", ["replace", "change and clear"])
def test_readers_see_a_row_as_it_was_or_as_it_is(
    engine: Engine, model: Any, host: str, verb: str
) -> None:
    session, other = engine.session(), engine.session()
    held = model(host=host, n=0, value=0, unit="0")
    session.add(held)
    session.flush()

    def replace(number: int) -> None:
        session.expunge(held)
        is_even = number % 2 == 0
        text = str(number)
        obj = model(host=host, n=0, value=number, **{"unit" if is_even else "note": text})
        session.replace(obj)
        session.expunge(obj)

    def change(number: int) -> None:
        is_even = number % 2 == 0
        held.value = number
        held.unit, held.note = (str(number), None) if is_even else (None, str(number))
        session.flush()

    def is_torn() -> bool:
        found = other.get(model, host=host, n=0)
        if found is None:
            return True
        texts = (str(found.value), None)
        return (found.unit, found.note) != (texts if found.value % 2 == 0 else texts[::-1])

    torn = read_beside(replace if verb == "replace" else change, is_torn, TIMES)

    assert torn == 0
