"""`hbase-orm tables list`, `describe`, `truncate`, `adopt` and `drop --periods` as a user sees them."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
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
    TablePerPeriod,
    Version,
    codecs,
    column,
    connect,
    counter,
    key,
    version,
)
from hbase_orm.cli import main as cli_main
from hbase_orm.index.catalog.catalog import CATALOG_TABLE, RECORD_COLUMN
from hbase_orm.ops import (
    CreateTable,
    FamilyDescriptor,
    ListTables,
    MutateRows,
    Put,
    RowMutation,
    TableDescriptor,
)
from tests.support.recording import gateway_of, through

Capture = pytest.CaptureFixture[str]
HERE = __name__
TABLES_ID = "0011223344556677"


class Order(Model, table="orders"):
    d = Family(versions=3, compression="GZ")
    number: Key[int] = key(codecs.uint32())
    state: Mapped[str] = column(d)
    note: Mapped[str | None] = column(d, default=None)
    seen: Counter = counter(d)
    edition: Version = version(d)
    by_state = Index(state)


class Visit(Model, table=TablePerPeriod("visits_%Y%m%d", of="at", period="day")):
    d = Family()
    name: Key[str] = key()
    at: Key[datetime] = key()
    pages: Mapped[int] = column(d)


class Person(Model, table="people"):
    d = Family()
    number: Key[int] = key(codecs.uint32())
    name: Mapped[str] = column(d)
    age: Mapped[int] = column(d, codec=codecs.uint8())


class NumberedPerson(Model, table="people"):
    d = Family()
    number: Key[int] = key(codecs.uint32())
    name: Mapped[int] = column(d, codec=codecs.uint16())


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """Return the engine whose gateway every command uses."""
    engine = connect("memory://")
    for module in ("tables", "table_commands.table_list", "table_commands.table_contents"):
        monkeypatch.setattr(
            f"hbase_orm.cli.{module}.connect", lambda _: _Unclosed(through_own(engine))
        )
    monkeypatch.setenv("HBASE_ORM_URL", "memory://")
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    monkeypatch.setattr(
        "hbase_orm.binding.table_creation.table_records.new_table_id", lambda: TABLES_ID
    )
    yield engine
    engine.close()


def through_own(engine: Engine) -> Engine:
    return through(gateway_of(engine), engine)


class _Unclosed:
    """An engine in a with block that does not close the shared gateway."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def __enter__(self) -> Engine:
        return self.engine

    def __exit__(self, *_: object) -> None:
        """Leave the gateway open."""


def run(capsys: Capture, *arguments: str) -> tuple[int, str, str]:
    code = cli_main.run(["tables", *arguments])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def run_json(capsys: Capture, *arguments: str) -> Any:
    code, out, err = run(capsys, *arguments, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def day(number: int) -> datetime:
    return datetime(2026, 1, number, tzinfo=UTC)


def foreign(engine: Engine) -> None:
    """Make a table with two rows, as another program would."""
    gateway = gateway_of(engine)
    gateway.execute(CreateTable(TableDescriptor("people", (FamilyDescriptor(b"d"),)), (b"\x01",)))
    for number in (7, 8):
        puts = [Put(b"d:name", f"n{number}x".encode()), Put(b"d:extra", b"e")]
        puts += [Put(b"d:age", b"\x07")] if number == 7 else []
        mutation = RowMutation(number.to_bytes(4, "big"), puts=tuple(puts))
        gateway.execute(MutateRows("people", (mutation,)))


def test_tables_are_listed_in_columns(engine: Engine, capsys: Capture) -> None:
    engine.create_tables(Order)
    engine.create_tables(Visit, periods=(day(1), day(2)))
    foreign(engine)

    code, out, err = run(capsys, "list")

    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "table               kind                      regions  record    models  state",
        "hbase_orm_catalog   catalog                   1        -         -       -",
        "orders              rows of models            1        recorded  Order   NEW",
        "orders_ix_by_state  index by_state of orders  1        -         -       -",
        "people              -                         2        -         -       -",
        "visits_20260101     rows of models            1        recorded  Visit   -",
    ]


def test_replicas_of_regions_are_counted_apart(engine: Engine, capsys: Capture) -> None:
    descriptor = TableDescriptor("copies", (FamilyDescriptor(b"d"),), region_replication=3)
    gateway_of(engine).execute(CreateTable(descriptor, (b"\x01",)))

    _, listed, _ = run(capsys, "list")
    _, described, _ = run(capsys, "describe", "copies")
    (shown,) = run_json(capsys, "list")

    assert listed.splitlines()[1].split() == ["copies", "-", "2", "+", "4", "replicas", *"---"]
    assert "  regions      2 + 4 replicas, split at \\x01\n" in described
    assert (shown["regions"], shown["replicas"]) == (2, 4)


@pytest.mark.usefixtures("engine")
def test_an_empty_hbase_is_called_empty(capsys: Capture) -> None:
    assert run(capsys, "list") == (0, "there is no table\n", "")
    assert run_json(capsys, "list") == []


def test_a_table_is_described(engine: Engine, capsys: Capture) -> None:
    engine.create_tables(Order)

    code, out, err = run(capsys, "describe", f"{HERE}:Order")

    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "table orders (rows of models)",
        "  attribute    hbase.hregion.keyvalue.timestamp.slop.millisecs=7200000",
        f"  attribute    hbase_orm.id={TABLES_ID}",
        "  attribute    hbase_orm.row_key=[number uint32 4]",
        "  family       _",
        "  family       d  versions=3 compression=GZ",
        "  regions      1",
        "  record       recorded",
        "    guards       rows have guards",
        "    family       d  versions=3 compression=GZ",
        "    models       Order",
        "    row key      [number uint32]",
        "    row exists   if it has d:state",
        "      column     role     codec        required  fields",
        "      d:state    column   text         yes       state",
        "      d:note     column   text         no        note",
        "      d:seen     counter  bytes.int64  no        seen",
        "      d:edition  version  bytes.int64  no        edition",
        "    index        by_state  [state text 0001 of d:state]",
        "  state        NEW, epoch 1",
        "  indexes",
        "    index     state     table               entries",
        "    by_state  READABLE  orders_ix_by_state  [state text 0001 of d:state]",
    ]


def test_tables_without_a_record_and_of_periods_are_described(
    engine: Engine, capsys: Capture
) -> None:
    foreign(engine)
    engine.create_tables(Visit, periods=(day(1), day(2)))

    code, out, err = run(capsys, "describe", "people", f"{HERE}:Visit")

    assert (code, err) == (0, "")
    assert out.splitlines()[:5] == [
        "table people",
        "  family       d",
        r"  regions      2, split at \x01",
        "  record       none",
        "",
    ]
    assert "  record       recorded, of visits_%Y%m%d" in out.splitlines()
    assert "    period       a table for each day" in out.splitlines()


def test_the_json_of_a_description_has_every_option(engine: Engine, capsys: Capture) -> None:
    engine.create_tables(Order)

    (shown,) = run_json(capsys, "describe", "orders")

    assert shown["families"]["d"]["versions"] == 3
    assert shown["families"]["d"]["block_size_bytes"] == 65536
    assert shown["region_ranges"] == [{"start": "", "stop": None, "server": "memory"}]
    assert shown["declaration"]["id"] == TABLES_ID
    assert shown["declaration"]["rows"][0]["anchor"] == "d:state"
    assert shown["declaration"]["rows"][0]["key_parts"] == [
        {"field": 0, "codec": "uint32", "desc": False, "ends": "fixed", "end": ""}
    ]
    assert shown["catalog_entry"]["indexes"][0]["table"] == "orders_ix_by_state"


def test_a_damaged_record_is_described_as_such(engine: Engine, capsys: Capture) -> None:
    engine.create_tables(Order)
    mutation = RowMutation(b"orders", puts=(Put(RECORD_COLUMN, b"{"),))
    gateway_of(engine).execute(MutateRows(CATALOG_TABLE, (mutation,)))

    _, out, _ = run(capsys, "describe", "orders")

    assert (
        "  catalog      the table's record is damaged, so it is unknown how its rows are encoded"
        in out.splitlines()
    )
    assert "  record       damaged" in out.splitlines()


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("name", ["nowhere", f"{HERE}:Nobody"])
def test_what_is_neither_a_table_nor_a_model_is_refused(capsys: Capture, name: str) -> None:
    code, out, err = run(capsys, "describe", name)

    assert (code, out) == (2, "")
    assert "no table has this name, and" in err


def test_tables_are_emptied_after_a_question(engine: Engine, capsys: Capture) -> None:
    engine.create_tables(Order)
    with engine.session() as session:
        session.add(Order(number=1, state="new"))

    asked = run(capsys, "truncate", f"{HERE}:Order")
    emptied = run(capsys, "truncate", f"{HERE}:Order", "--yes")

    assert asked[0] == 2
    assert "delete all rows of orders, at memory://" in asked[2]
    assert emptied == (0, "emptied orders\n", "")
    with engine.session() as session:
        assert session.get(Order, number=1) is None


@pytest.mark.parametrize(("verb", "word"), [("truncate", "emptied"), ("drop", "dropped")])
def test_tables_of_some_periods_are_emptied_and_dropped(
    engine: Engine, capsys: Capture, verb: str, word: str
) -> None:
    engine.create_tables(Visit, periods=(day(1), day(4)))
    periods = ("--periods", "2026-01-02", "2026-01-03")

    asked = run(capsys, verb, f"{HERE}:Visit", *periods)
    done = run(capsys, verb, f"{HERE}:Visit", *periods, "--yes")

    names = "the tables visits_%Y%m%d from 2026-01-02T00:00:00+00:00 to before 2026-01-03T00:00:00"
    assert names in asked[2]
    assert done == (0, f"{word} visits_20260102\n", "")
    left = gateway_of(engine).execute(ListTables())
    assert ("visits_20260102" in left) is (verb == "truncate")
    assert {"visits_20260101", "visits_20260103"} < set(left)


def test_what_the_rows_have_is_shown_before_a_table_is_adopted(
    engine: Engine, capsys: Capture
) -> None:
    foreign(engine)
    shown = [
        "people has no record",
        "  2 rows decode, as Person",
        "  row key: [number uint32]",
        "  a row exists if it has d:name",
        "  2 rows have d:extra, which no model declares",
        "  1 row lacks d:age, which a model requires: it is recorded as not required",
    ]

    asked = run(capsys, "adopt", f"{HERE}:Person")
    adopted = run(capsys, "adopt", f"{HERE}:Person", "--yes")
    again = run(capsys, "adopt", f"{HERE}:Person")

    assert asked[:2] == (2, "")
    assert asked[2].splitlines()[:6] == shown
    assert "write the record of people, at memory://" in asked[2]
    assert adopted == (0, "\n".join([*shown, "recorded people", ""]), "")
    assert again == (0, "people is recorded already, and Person fits\n", "")


def test_rows_that_do_not_decode_are_shown_one_a_line(engine: Engine, capsys: Capture) -> None:
    foreign(engine)

    code, out, err = run(capsys, "adopt", f"{HERE}:NumberedPerson", "--yes")

    assert (code, out) == (2, "")
    first, second, error = err.splitlines()
    assert first == (
        r"row \x00\x00\x00\x07 of people: NumberedPerson: column d:name (field name, uint16) has "
        "n7x: the bytes are not an encoding of this codec"
    )
    assert second.startswith(r"row \x00\x00\x00\x08 of people")
    assert error.startswith("error: rows of the table do not decode")
    assert "undecodable=2 sampled=2" in error


def test_the_json_of_an_adoption_counts_columns(engine: Engine, capsys: Capture) -> None:
    foreign(engine)

    (shown,) = run_json(capsys, "adopt", f"{HERE}:Person", "--rows", "10", "--yes")

    assert (shown["reason"], shown["sampled"], shown["is_written"]) == ("no record", 2, True)
    assert (shown["undeclared"], shown["lacking"]) == ({"d:extra": 2}, {"d:age": 1})
