"""Writes that go past the guards of a table heed what the catalog says of its indexes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest

from hbase_orm import (
    Counter,
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Session,
    Substitute,
    TablePerPeriod,
    Version,
    codecs,
    column,
    connect,
    counter,
    key,
    rowkey,
    select,
    version,
)
from hbase_orm.errors import (
    ConnectionLostError,
    CounterOverflowError,
    FlushError,
    HBaseORMError,
    QueryError,
    RetryableError,
    RowKeyError,
    SchemaDriftError,
    SchemaError,
)
from hbase_orm.index.catalog.catalog import CATALOG_TABLE
from hbase_orm.index.catalog.declaration_text import declaration_texts, names_column
from hbase_orm.ops import GetRows, Increment, Operation
from hbase_orm.record.store import delete_record
from hbase_orm.schema import AddAmount
from tests.support.recording import FailsBeforeSending, gateway_of, through


class Part(Model, table="parts"):
    d = Family()
    name: Key[str] = key()
    size: Mapped[int] = column(d, default=0)
    label: Mapped[str] = column(d, default="")
    hits: Counter = counter(d)
    by_size = Index(size)


class PlainPart(Model, table="parts"):
    """The same table as a program declares it that knows no index, and counts what is indexed."""

    d = Family()
    name: Key[str] = key()
    label: Mapped[str] = column(d)
    size: Counter = counter(d)


class OwnPart(Model, table="parts"):
    """Another program's view of the table, with the same index."""

    d = Family()
    name: Key[str] = key()
    size: Mapped[int] = column(d, default=0)
    weight: Mapped[int | None] = column(d, default=None)
    seen: Counter = counter(d)
    by_size = Index(size)


@pytest.fixture
def engine() -> Iterator[Engine]:
    with connect("memory://") as connected:
        connected.create_tables(Part)
        with connected.session() as session:
            session.insert(Part(name="a", size=1, label="l"))
        yield connected


def _flush(session: Session) -> None:
    session.add(PlainPart(name="a", label="x"))
    session.flush()


def _flush_delete(session: Session) -> None:
    session.delete(PlainPart(name="a", label="x"))
    session.flush()


def _bulk(session: Session) -> None:
    with session.bulk() as bulk:
        bulk.add(PlainPart(name="a", label="x"))


def _loaded(session: Session) -> PlainPart:
    part = session.get(PlainPart, name="a")
    assert part is not None
    return part


WRITES: dict[str, Callable[[Session], object]] = {
    "increment": lambda s: s.increment(PlainPart, PlainPart.size.by(1), name="a"),
    "append": lambda s: s.append(PlainPart, PlainPart.label, "x", name="a"),
    "put_row": lambda s: s.put_row(PlainPart, PlainPart.label.to("x"), name="a"),
    "delete_row": lambda s: s.delete_row(PlainPart, name="a"),
    "put_if": lambda s: s.put_if(PlainPart(name="a", label="x"), PlainPart.label == "l"),
    "delete_if": lambda s: s.delete_if(_loaded(s), PlainPart.label == "l"),
    "insert": lambda s: s.insert(PlainPart(name="b", label="x")),
    "replace": lambda s: s.replace(PlainPart(name="a", label="x")),
    "move": lambda s: s.move(_loaded(s), name="b"),
    "delete_where": lambda s: s.delete_where(select(PlainPart).where(PlainPart.name == "a")),
    "bulk": _bulk,
    "flush": _flush,
    "flush a delete": _flush_delete,
}


@pytest.mark.parametrize("has_record", [True, False])
@pytest.mark.parametrize("write", WRITES)
def test_a_program_that_knows_no_index_cannot_write_a_table_that_has_one(
    engine: Engine, write: str, *, has_record: bool
) -> None:
    """Not even if the table has no record, as tables of earlier releases."""
    if not has_record:
        engine._runtime.run(delete_record("parts"))
        engine._runtime.catalog.forget("parts")
    with pytest.raises(HBaseORMError) as caught, engine.session() as session:
        WRITES[write](session)

    error = caught.value
    reason = error.not_written[0][2] if isinstance(error, FlushError) else error
    assert isinstance(reason, SchemaDriftError if has_record else SchemaError)
    assert reason.table == "parts"
    assert has_record or reason.differing == ["by_size"]
    assert not error.details.get("unknown")
    with engine.session() as session:
        assert [part.label for part in session.all(select(Part).where(Part.size == 1))] == ["l"]
    assert engine.verify_index(Part, "by_size").is_sound


def test_a_program_with_the_same_index_counts_freely(engine: Engine) -> None:
    with engine.session() as session:
        assert session.increment(OwnPart, OwnPart.seen.by(2), name="a") == [2]
        assert session.increment(Part, Part.hits.by(2), name="a") == [2]


def test_the_catalog_is_read_once_a_lease(engine: Engine) -> None:
    reads: list[Operation[Any]] = []

    def note(operation: Operation[Any]) -> None:
        if isinstance(operation, GetRows) and operation.table == CATALOG_TABLE:
            reads.append(operation)

    other = through(FailsBeforeSending(gateway_of(engine), note), engine)
    with other.session() as session:
        for _ in range(5):
            session.increment(Part, Part.hits.by(1), name="a")

    assert len(reads) == 1


def test_nothing_is_in_doubt_where_the_catalog_cannot_be_read(engine: Engine) -> None:
    def cut(operation: Operation[Any]) -> Exception | None:
        is_catalog = isinstance(operation, GetRows) and operation.table == CATALOG_TABLE
        return ConnectionLostError("no answer") if is_catalog else None

    other = through(FailsBeforeSending(gateway_of(engine), cut), engine)
    with pytest.raises(RetryableError), other.session() as session:
        session.increment(Part, Part.hits.by(1), name="a")
    with engine.session() as session:
        assert session.increment(Part, Part.hits.by(1), name="a") == [1]


# --- tables of periods, dictionaries ---------------------------------------------------------------


class Log(Model, table=TablePerPeriod("logs_%Y%m", of="at", period="month")):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key()
    text: Mapped[str] = column(d)
    hits: Counter = counter(d)


MAY = datetime(2026, 5, 3, tzinfo=UTC)


def test_a_table_of_a_period_that_is_anothers_is_not_written(engine: Engine) -> None:
    class Taken(Model, table="logs_202605"):
        d = Family()
        name: Key[str] = key()
        hits: Mapped[int] = column(d)
        by_hits = Index(hits)

    engine.create_tables(Taken)
    with pytest.raises(SchemaError), engine.session() as session:
        session.increment(Log, Log.hits.by(1), host="h", at=MAY)
    with pytest.raises(FlushError) as caught, engine.session() as session, session.bulk() as bulk:
        bulk.add(Log(host="h", at=MAY, text="t"))

    assert isinstance(caught.value.not_written[0][2], SchemaError)


def test_a_dictionary_is_not_kept_in_a_table_with_indexes(engine: Engine) -> None:
    class Named(Model, table="named"):
        d = Family()
        host: Key[str] = key()
        text: Mapped[str] = column(d)
        __rowkey__ = rowkey(Substitute(of=host, dictionary="parts"))

    with engine.session() as session:
        session.add(Named(host="h", text="t"))
        with pytest.raises(SchemaError, match="dictionary"):
            session.flush()
        session.close()


# --- columns of an index, in words -----------------------------------------------------------------


class Wide(Model, table="wides"):
    d, e = Family(), Family("e")
    name: Key[str] = key()
    a: Mapped[int] = column(d)
    ab: Mapped[int] = column(d)
    b: Mapped[str | None] = column(e, default=None)
    c: Mapped[str] = column(d, codec=codecs.text(), default="x")
    kept: Mapped[int] = column(d, default=0)
    other: Mapped[int] = column(e, default=0)
    hits: Counter = counter(d)
    rev: Version = version(d)
    one = Index(ab, b, include=[kept, c])
    two = Index(c.desc(), where=(other > 3) & (kept == 1))


def test_the_words_of_an_index_name_the_columns_that_it_is_made_of_and_no_others() -> None:
    words = declaration_texts(Wide.__schema__)
    columns = [b"d:a", b"d:ab", b"e:b", b"d:c", b"d:kept", b"e:other", b"d:hits", b"d:rev", b"d:o"]

    named = {
        name: {column for column in columns if names_column(text, column)}
        for name, text in words.items()
    }

    assert named == {
        "one": {b"d:ab", b"e:b", b"d:kept", b"d:c"},
        "two": {b"d:c", b"e:other", b"d:kept"},
        "version column": {b"d:rev"},
    }


# --- what counters hold ----------------------------------------------------------------------------


@pytest.mark.parametrize(("start", "amount"), [(2**63 - 1, 1), (2**63 - 5, 2**63 - 1)])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_counter_that_goes_past_its_end_says_so_and_how_to_undo_it(
    engine: Engine, start: int, amount: int, sign: int
) -> None:
    with engine.session() as session:
        session.increment(Part, Part.hits.by(sign * start), name="a")

        with pytest.raises(CounterOverflowError) as caught:
            session.increment(Part, Part.hits.by(sign * amount + (sign - 1) // 2), name="a")

        error = caught.value
        part = session.get(Part, name="a")
        assert part is not None
        assert (error.table, error.row, error.column) == ("parts", b"a", b"d:hits")
        assert error.values == [part.hits]
        undo = int(error.fix.rsplit(" ", 1)[1])
        with suppress(CounterOverflowError):
            session.increment(Part, Part.hits.by(undo), name="a")
        session.refresh(part)
        assert part.hits == sign * start


@pytest.mark.parametrize("amount", [2**63, -(2**63) - 1])
def test_an_amount_outside_64_bits_is_refused_before_it_is_sent(
    engine: Engine, amount: int
) -> None:
    with engine.session() as session:
        with pytest.raises(QueryError, match="64-bit"):
            session.increment(Part, AddAmount(Part.hits, amount), name="a")
        assert session.increment(Part, Part.hits.by(0), name="a") == [0]


@pytest.mark.parametrize("field", [Wide.rev, Wide.a, Wide.name])
def test_what_is_no_counter_cannot_be_incremented(field: Any) -> None:
    with pytest.raises(QueryError, match="only a counter can be incremented"):
        field.by(1)


def test_a_move_to_the_same_key_is_refused(engine: Engine) -> None:
    with engine.session() as session:
        part = session.get(Part, name="a")
        assert part is not None
        with pytest.raises(RowKeyError, match="needs at least one new value of a key field"):
            session.move(part)
        with pytest.raises(RowKeyError, match="this key already"):
            session.move(part, name="a")
        assert session.get(Part, name="a") is part


def test_an_increment_of_an_indexed_column_is_refused_whoever_declares_it(engine: Engine) -> None:
    runtime = engine._runtime
    bound = engine._bound_of(OwnPart)
    runtime.catalog.forget("parts")

    with pytest.raises(SchemaError) as caught:
        runtime.run(runtime.writer.send(Increment("parts", b"a", {b"d:size": 1}), bound))

    assert (caught.value.index, caught.value.column) == ("by_size", b"d:size")
    runtime.run(runtime.writer.send(Increment("parts", b"a", {b"d:siz": 1, b"d:size2": 1}), bound))
