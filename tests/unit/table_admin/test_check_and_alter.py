"""`check_tables` and `alter_tables` in memory: what differs, what is altered, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hbase_orm import (
    Drift,
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    RecordType,
    Substitute,
    Table,
    TableDifference,
    TablePerPeriod,
    Version,
    codecs,
    column,
    connect,
    key,
    rowkey,
    version,
)
from hbase_orm.errors import (
    ConfigurationError,
    DataLossError,
    FeatureMissingError,
    RecordError,
    RejectedError,
    SchemaDriftError,
    SchemaError,
    TableNotFoundError,
)
from hbase_orm.index.catalog.catalog import CATALOG_TABLE, RECORD_COLUMN
from hbase_orm.index.protocol.attempt import DEAD_GUARD_TTL_MS
from hbase_orm.ops import (
    AddFamily,
    CreateTable,
    Delete,
    DescribeTable,
    DropTable,
    FamilyDescriptor,
    GetRows,
    ModifyFamily,
    ModifyTable,
    MutateRow,
    Operation,
    Put,
    RowMutation,
    TableDescriptor,
)
from tests.support.recording import gateway_of
from tests.support.store import Store

DAY = timedelta(days=1)
DAY_S = 86_400
DEAD_GUARD_S = DEAD_GUARD_TTL_MS // 1000
FIRST = datetime(2026, 1, 1, tzinfo=UTC)


class Order(Model, table="orders"):
    d = Family(configuration={"ours": "1"})
    number: Key[int] = key(codecs.uint32())
    state: Mapped[str] = column(d)
    by_state = Index(state)


def altered_order() -> type[Model]:
    """Return the model of a later release: everything that can be altered is."""

    class Order(
        Model,
        table=Table("orders", durability="FSYNC_WAL", region_replication=2, attributes={"a": "b"}),
    ):
        d = Family(versions=3, ttl=30 * DAY, compression="GZ")
        e = Family(ttl=60 * DAY)
        number: Key[int] = key(codecs.uint32())
        state: Mapped[str] = column(d)
        note: Mapped[str | None] = column(e, default=None)
        by_state = Index(state)

    return Order


class Event(Model, table=TablePerPeriod("events_%Y%m%d", of="at", period="day")):
    d = Family(ttl=7 * DAY)
    at: Key[datetime] = key(codecs.millis())
    who: Mapped[str] = column(d)


@pytest.fixture
def engine() -> Iterator[Engine]:
    with connect("memory://") as engine:
        yield engine


def differing(engine: Engine, *models: type[Model], **options: Any) -> dict[str, TableDifference]:
    """Return the differences of models' tables, by subject."""
    checks = engine.check_tables(*models, **options)
    return {each.subject: each for check in checks for each in check.differences}


def send(engine: Engine, operation: Operation[Any]) -> Any:
    return gateway_of(engine).execute(operation)


# --- the comparison -------------------------------------------------------------------------------


def test_every_difference_of_a_table_is_listed(engine: Engine) -> None:
    engine.create_tables(Order)

    (check,) = engine.check_tables(altered_order())

    assert (check.table, check.models, check.has_drift) == ("orders", ("Order",), True)
    assert [(each.table, each.subject) for each in check.differences] == [
        ("orders", "family d: versions"),
        ("orders", "family d: ttl_s"),
        ("orders", "family d: compression"),
        ("orders", "family d: configuration ours"),
        ("orders", "family e"),
        ("orders", "family _: ttl_s"),
        ("orders", "table: durability"),
        ("orders", "table: region_replication"),
        ("orders", "table: attributes a"),
        ("orders_ix_by_state", "family d: ttl_s"),
        ("orders_ix_by_state", "table: durability"),
        ("orders", "record: column e:note"),
    ]
    assert all(each.is_alterable for each in check.differences)


def test_a_missing_table_is_drift(engine: Engine) -> None:
    (check,) = engine.check_tables(Order)

    assert check.has_drift
    assert [(each.subject, each.drift) for each in check.differences] == [("table", Drift.MISSING)]


def test_the_comparison_sends_no_change(engine: Engine) -> None:
    store = Store.on(engine)
    store.engine.create_tables(Order)
    store.forget()

    store.engine.check_tables(altered_order())

    kinds = {type(request).__name__ for request in store.sent.requests}
    assert kinds == {"DescribeTable", "GetRows"}


def test_what_other_programs_added_is_no_difference(engine: Engine) -> None:
    engine.create_tables(Order)
    send(engine, AddFamily("orders", FamilyDescriptor(b"theirs")))
    send(engine, ModifyFamily("orders", b"d", {"configuration": {"theirs": "1"}}))
    send(engine, ModifyTable("orders", {"attributes": {"theirs": "1"}}))
    send(engine, ModifyFamily("orders_ix_by_state", b"d", {"compression": "GZ"}))

    assert differing(engine, Order) == {}


def test_a_view_with_fewer_columns_is_no_difference(engine: Engine) -> None:
    class Wide(Model, table="wide"):
        d = Family(ttl=DAY)
        e = Family(ttl=5 * DAY)
        name: Key[str] = key()
        one: Mapped[str] = column(d)
        two: Mapped[str] = column(e)
        count: Version = version(d)

    class Narrow(Model, table="wide"):
        d = Family(ttl=DAY)
        name: Key[str] = key()
        first: Mapped[str] = column(d, "one")

    engine.create_tables(Wide, Narrow)

    for models in ((Wide, Narrow), (Narrow, Wide), (Wide,), (Narrow,)):
        assert differing(engine, *models) == {}
        assert engine.table_changes(*models) == []


def test_a_column_that_a_model_gave_up_stays_recorded_for_other_programs(engine: Engine) -> None:
    class Full(Model, table="people"):
        d = Family()
        name: Key[str] = key()
        city: Mapped[str] = column(d)
        mail: Mapped[str | None] = column(d, default=None)

    def smaller() -> type[Model]:
        class Full(Model, table="people"):
            d = Family()
            name: Key[str] = key()
            city: Mapped[str] = column(d)

        return Full

    engine.create_tables(Full)

    (check,) = engine.check_tables(smaller())

    assert not check.has_drift
    engine.alter_tables(smaller())
    assert differing(engine, smaller()) == differing(engine, Full) == {}


def test_an_anchor_that_a_model_gave_up_is_a_contradiction(engine: Engine) -> None:
    class Full(Model, table="people"):
        d = Family()
        name: Key[str] = key()
        city: Mapped[str] = column(d)
        mail: Mapped[str | None] = column(d, default=None)

    def without_city() -> type[Model]:
        class Full(Model, table="people"):
            d = Family()
            name: Key[str] = key()
            mail: Mapped[str | None] = column(d, default=None)

        return Full

    engine.create_tables(Full)

    (difference,) = differing(engine, without_city()).values()
    assert difference.drift is Drift.CONTRADICTION
    assert "d:city" in difference.subject
    with pytest.raises(SchemaDriftError):
        engine.alter_tables(without_city())


def test_a_field_of_an_index_may_be_renamed(engine: Engine) -> None:
    def renamed() -> type[Model]:
        class Order(Model, table="orders"):
            d = Family(configuration={"ours": "1"})
            number: Key[int] = key(codecs.uint32())
            status: Mapped[str] = column(d, "state")
            by_state = Index(status)

        return Order

    engine.create_tables(Order)

    checks = engine.check_tables(renamed())

    assert not any(check.has_drift for check in checks)


def test_a_required_column_that_old_rows_lack_is_no_difference(engine: Engine) -> None:
    class Small(Model, table="people"):
        d = Family()
        name: Key[str] = key()
        city: Mapped[str] = column(d)

    def larger() -> type[Model]:
        class Small(Model, table="people"):
            d = Family()
            name: Key[str] = key()
            city: Mapped[str] = column(d)
            mail: Mapped[str] = column(d)

        return Small

    engine.create_tables(Small)

    assert differing(engine, larger())["record: column d:mail"].drift is Drift.NOTE
    engine.alter_tables(larger())
    assert differing(engine, larger()) == {}


def test_models_of_one_table_that_contradict_each_other_are_refused(engine: Engine) -> None:
    class Other(Model, table="orders"):
        d = Family(versions=2)
        number: Key[int] = key(codecs.uint32())
        state: Mapped[str] = column(d)

    store = Store.on(engine)

    with pytest.raises(SchemaError, match="different options"):
        store.engine.check_tables(Order, Other)
    assert store.sent.requests == []


def test_a_contradiction_is_drift_and_not_altered(engine: Engine) -> None:
    class Salted(Model, table="orders"):
        d = Family(versions=5, configuration={"ours": "1"})
        number: Key[int] = key(codecs.int64())
        state: Mapped[str] = column(d)
        by_state = Index(state)

    engine.create_tables(Order)

    contradiction = differing(engine, Salted)["record: row key, component 1"]
    assert contradiction.drift is Drift.CONTRADICTION
    assert "uint32" in contradiction.actual
    assert "int64" in contradiction.declared
    with pytest.raises(SchemaDriftError) as caught:
        engine.alter_tables(Salted)
    assert any("row key" in line for line in caught.value.differences)
    assert send(engine, DescribeTable("orders")).families[1].versions == 1


def test_a_table_of_a_dictionary_is_no_table_of_rows(engine: Engine) -> None:
    class Named(Model, table="named"):
        d = Family()
        name: Key[str] = key()
        text: Mapped[str] = column(d)
        __rowkey__ = rowkey(Substitute(of=name, dictionary="names"))

    class Names(Model, table="names"):
        d = Family()
        name: Key[str] = key()
        text: Mapped[str] = column(d)

    engine.create_tables(Named)

    assert differing(engine, Names)["table"].drift is Drift.CONTRADICTION
    send(engine, DropTable("names"))
    (missing,) = differing(engine, Named).values()
    assert (missing.table, missing.subject, missing.drift) == (
        "names",
        "dictionary",
        Drift.MISSING,
    )


def test_split_keys_without_regions_are_a_note(engine: Engine) -> None:
    class Split(Model, table=Table("split", splits=[b"a", b"b", b"c", b"d", b"e"])):
        d = Family()
        name: Key[str] = key()
        text: Mapped[str] = column(d)

    engine.create_tables(Split)
    descriptor = send(engine, DescribeTable("split"))
    send(engine, DropTable("split"))
    send(engine, CreateTable(descriptor, (b"c",)))

    (check,) = engine.check_tables(Split)
    (note,) = check.differences

    assert not check.has_drift
    assert (note.subject, note.drift) == ("split keys", Drift.NOTE)
    assert note.actual == "2 regions, none of which begins at a, b, d and 1 more"


# --- indexes --------------------------------------------------------------------------------------


def test_an_index_that_is_not_built_is_missing(engine: Engine) -> None:
    class Plain(Model, table="orders"):
        d = Family(configuration={"ours": "1"})
        number: Key[int] = key(codecs.uint32())
        state: Mapped[str] = column(d)

    engine.create_tables(Plain)
    with engine.session() as session:
        session.add(Plain(number=1, state="new"))
    engine.add_guard_family(Order)
    engine.create_tables(Order)

    missing = differing(engine, Order)["index by_state"]
    assert missing.drift is Drift.MISSING
    engine.build_index(Order, "by_state")
    assert "index by_state" not in differing(engine, Order)


def test_a_dropped_index_table_is_missing(engine: Engine) -> None:
    engine.create_tables(Order)
    send(engine, DropTable("orders_ix_by_state"))

    (missing,) = differing(engine, Order).values()

    assert (missing.table, missing.drift) == ("orders_ix_by_state", Drift.MISSING)


def test_an_index_that_only_builds_write_is_a_note_until_it_is_built(engine: Engine) -> None:
    class Manual(Model, table="manual"):
        d = Family()
        number: Key[int] = key()
        state: Mapped[str] = column(d)
        by_state = Index(state, maintained="manual")

    engine.create_tables(Manual)

    (note,) = differing(engine, Manual).values()
    assert note.drift is Drift.NOTE


def test_indexes_that_are_declared_otherwise_or_not_at_all_differ(engine: Engine) -> None:
    class Otherwise(Model, table="orders"):
        d = Family(configuration={"ours": "1"})
        number: Key[int] = key(codecs.uint32())
        state: Mapped[str] = column(d)
        by_state = Index(state.desc())

    class Versioned(Model, table="orders"):
        d = Family(configuration={"ours": "1"})
        number: Key[int] = key(codecs.uint32())
        state: Mapped[str] = column(d)
        count: Version = version(d)

    engine.create_tables(Order)

    assert differing(engine, Otherwise)["index by_state"].drift is Drift.DIFFERENT
    differs = differing(engine, Versioned)
    assert differs["index by_state"].actual == "READABLE"
    assert differs["version column"].actual == ""


def test_a_guarded_table_without_guards_and_catalog_is_not_as_declared(engine: Engine) -> None:
    send(engine, CreateTable(TableDescriptor("orders", (Order.__schema__.families[0],))))

    differs = differing(engine, Order)

    assert {subject: each.drift for subject, each in differs.items()} == {
        "family _": Drift.MISSING,
        "table: attributes hbase.hregion.keyvalue.timestamp.slop.millisecs": Drift.DIFFERENT,
        "catalog": Drift.MISSING,
        "record": Drift.MISSING,
    }
    engine.alter_tables(Order)
    assert differing(engine, Order).keys() == {"catalog", "record"}


def test_entries_and_guards_live_as_long_as_the_data(engine: Engine) -> None:
    engine.create_tables(Order)

    changes = engine.alter_tables(altered_order(), allow_data_loss=True)

    longest_s = 60 * DAY_S + DEAD_GUARD_S
    families = {f.name: f.ttl_s for f in send(engine, DescribeTable("orders")).families}
    assert families == {b"_": longest_s, b"d": 30 * DAY_S, b"e": 60 * DAY_S}
    assert send(engine, DescribeTable("orders_ix_by_state")).families[0].ttl_s == longest_s
    # Shorter lives come after those of the data, so that no entry expires before its row.
    ttls = [(c.table, c.family) for c in changes if c.option == "ttl_s"]
    assert ttls == [("orders", b"d"), ("orders", b"_"), ("orders_ix_by_state", b"d")]


def test_entries_and_guards_get_a_longer_life_before_the_data(engine: Engine) -> None:
    def lives_for(days: int) -> type[Model]:
        class Order(Model, table="orders"):
            d = Family(ttl=days * DAY)
            number: Key[int] = key(codecs.uint32())
            state: Mapped[str] = column(d)
            by_state = Index(state)

        return Order

    engine.create_tables(lives_for(1))

    changes = engine.alter_tables(lives_for(2))

    ttls = [(c.table, c.family) for c in changes if c.option == "ttl_s"]
    assert ttls == [("orders", b"_"), ("orders_ix_by_state", b"d"), ("orders", b"d")]


# --- the record -----------------------------------------------------------------------------------


def record_cell(engine: Engine) -> bytes:
    (row,) = send(engine, GetRows(CATALOG_TABLE, (b"orders",), (RECORD_COLUMN,)))
    cell: bytes = row.cells[RECORD_COLUMN].value
    return cell


def write_record_cell(engine: Engine, value: bytes) -> None:
    mutation = RowMutation(b"orders", (Put(RECORD_COLUMN, value),))
    send(engine, MutateRow(CATALOG_TABLE, mutation))


def test_a_missing_record_is_drift(engine: Engine) -> None:
    engine.create_tables(Order)
    deletion = RowMutation(b"orders", deletes=(Delete(RECORD_COLUMN),))
    send(engine, MutateRow(CATALOG_TABLE, deletion))

    (missing,) = differing(engine, Order).values()

    assert (missing.subject, missing.drift) == ("record", Drift.MISSING)
    assert "tables create" in missing.fix
    assert engine.table_changes(Order) == []


def test_a_damaged_record_is_a_contradiction(engine: Engine) -> None:
    engine.create_tables(Order)
    write_record_cell(engine, b"{")

    assert differing(engine, Order)["record"].drift is Drift.CONTRADICTION


@pytest.mark.parametrize(
    ("stored", "fix"), [(b"{", "tables adopt"), (b'{"version":9}', "upgrade hbase_orm")]
)
def test_a_record_that_cannot_be_read_is_refused(engine: Engine, stored: bytes, fix: str) -> None:
    engine.create_tables(Order)
    write_record_cell(engine, stored)

    for verb in (engine.table_changes, engine.alter_tables, engine.truncate_tables):
        with pytest.raises(RecordError) as caught:
            verb(Order)
        assert fix in caught.value.fix


def test_a_record_of_an_earlier_table_is_not_compared(engine: Engine) -> None:
    engine.create_tables(Order)
    descriptor = send(engine, DescribeTable("orders"))
    send(engine, DropTable("orders"))
    send(engine, CreateTable(replace(descriptor, attributes={})))

    differs = differing(engine, altered_order())

    assert differs["record"].actual == "of an earlier table with this name"
    assert not any(subject.startswith("record:") for subject in differs)
    before = record_cell(engine)
    engine.alter_tables(altered_order(), allow_data_loss=True)
    assert record_cell(engine) == before


def test_a_record_that_another_program_left_behind_is_updated(engine: Engine) -> None:
    engine.create_tables(Order)
    send(engine, ModifyFamily("orders", b"d", {"versions": 3}))

    class Later(Model, table="orders"):
        d = Family(versions=3, configuration={"ours": "1"})
        number: Key[int] = key(codecs.uint32())
        state: Mapped[str] = column(d)
        by_state = Index(state)

    assert differing(engine, Later).keys() == {"record: family d: versions"}
    (change,) = engine.alter_tables(Later)
    assert (change.kind, str(change)) == ("record", "orders: update the record in the catalog")
    assert differing(engine, Later) == {}


def test_the_catalog_may_be_forbidden(engine: Engine) -> None:
    engine.create_tables(Order)

    def refusal(request: Any) -> Exception | None:
        is_catalog = getattr(request, "table", "") == CATALOG_TABLE
        return RejectedError("access is denied") if is_catalog else None

    store = Store.on(engine).failing(refusal)

    (check,) = store.engine.check_tables(Order)

    assert not check.has_drift
    assert {each.subject: each.drift for each in check.differences} == {
        "catalog": Drift.UNDECIDED,
        "record": Drift.UNDECIDED,
    }


# --- alterations ----------------------------------------------------------------------------------


def test_an_alteration_changes_only_what_differs(engine: Engine) -> None:
    engine.create_tables(Order)
    send(engine, ModifyFamily("orders", b"d", {"attributes": {"theirs": "1"}}))
    before = send(engine, DescribeTable("orders"))

    engine.alter_tables(altered_order(), allow_data_loss=True)

    after = send(engine, DescribeTable("orders"))
    d = after.families[1]
    changed = {"versions": 3, "ttl_s": 30 * DAY_S, "compression": "GZ", "configuration": {}}
    assert d == replace(before.families[1], **changed)
    assert after.attributes == {**before.attributes, "a": "b"}
    assert (after.durability, after.region_replication) == ("FSYNC_WAL", 2)
    assert differing(engine, altered_order()) == {}


def test_a_family_that_was_added_can_be_used_at_once(engine: Engine) -> None:
    engine.create_tables(Order)
    later: Any = altered_order()
    session = engine.session()
    with pytest.raises(SchemaDriftError):
        session.get(later, number=1)

    engine.alter_tables(later, allow_data_loss=True)

    with engine.session() as session:
        session.add(later(number=1, state="new", note="x"))
    with engine.session() as session:
        row: Any = session.get(later, number=1)
    assert row.note == "x"


def test_a_change_that_loses_data_is_refused_unless_it_is_allowed(engine: Engine) -> None:
    engine.create_tables(Order)
    store = Store.on(engine)

    with pytest.raises(DataLossError) as caught:
        store.engine.alter_tables(altered_order())

    (line,) = caught.value.changes
    assert line == (
        "orders: family d: ttl_s forever -> 2592000 s (30 days): deletes cells that are older"
    )
    kinds = {type(request).__name__ for request in store.sent.requests}
    assert kinds == {"DescribeTable", "GetRows"}


def test_a_missing_table_is_not_altered(engine: Engine) -> None:
    engine.create_tables(Event, periods=(FIRST, FIRST + DAY))

    with pytest.raises(TableNotFoundError) as caught:
        engine.alter_tables(Event, Order)

    assert caught.value.table == "orders"


def test_progress_is_shown_before_each_step(engine: Engine) -> None:
    engine.create_tables(Order)
    seen: list[tuple[int, int, int]] = []

    changes = engine.alter_tables(
        altered_order(),
        allow_data_loss=True,
        on_progress=lambda now: seen.append((now.made, len(now.changes), now.total)),
    )

    assert seen[0] == (0, 1, len(changes))
    assert seen[-1] == (len(changes) - 1, 1, len(changes))
    assert [made + count for made, count, _ in seen[:-1]] == [made for made, _, _ in seen[1:]]


def test_without_thrift2_nothing_is_altered(engine: Engine) -> None:
    engine.create_tables(Event, periods=(FIRST, FIRST + DAY))
    plain = Store.on(engine).without_thrift2()

    class Later(Model, table=TablePerPeriod("events_%Y%m%d", of="at", period="day")):
        d = Family(ttl=8 * DAY)
        at: Key[datetime] = key(codecs.millis())
        who: Mapped[str] = column(d)

    with pytest.raises(FeatureMissingError, match="only Thrift2"):
        plain.engine.alter_tables(Later)


# --- tables of periods, record types --------------------------------------------------------------


def test_the_tables_of_all_periods_are_compared_and_altered(engine: Engine) -> None:
    class Later(Model, table=TablePerPeriod("events_%Y%m%d", of="at", period="day")):
        d = Family(ttl=14 * DAY)
        at: Key[datetime] = key(codecs.millis())
        who: Mapped[str] = column(d)

    engine.create_tables(Event, periods=(FIRST, FIRST + 3 * DAY))
    names = ["events_%Y%m%d", "events_20260101", "events_20260102", "events_20260103"]

    checks = engine.check_tables(Later)
    some = engine.check_tables(Later, periods=(FIRST + 2 * DAY, FIRST + 4 * DAY))

    assert [check.table for check in checks] == names
    assert [check.has_drift for check in checks] == [False, True, True, True]
    assert [(check.table, len(check.differences)) for check in some] == [
        ("events_%Y%m%d", 0),
        ("events_20260103", 1),
        ("events_20260104", 1),
    ]
    changes = engine.alter_tables(Later)
    assert [change.table for change in changes] == [*names[1:], names[0]]
    assert not any(check.differences for check in engine.check_tables(Later))


def test_no_table_of_a_period_is_no_drift(engine: Engine) -> None:
    (check,) = engine.check_tables(Event)

    assert not check.differences


def test_periods_are_refused_for_models_without_them(engine: Engine) -> None:
    with pytest.raises(ConfigurationError):
        engine.check_tables(Order, periods=(FIRST, FIRST + DAY))


def test_a_record_type_stands_for_the_table_of_its_base(engine: Engine) -> None:
    class Animal(Model, table="animals"):
        d = Family()
        name: Key[str] = key(codecs.text(separator=b"\x00"))
        __rowkey__ = rowkey(name, RecordType())

    class Cat(Animal, record_type="C"):
        lives: Mapped[int] = column(Animal.d)

    class Dog(Animal, record_type="D"):
        toy: Mapped[str] = column(Animal.d)

    engine.create_tables(Animal)

    checks = engine.check_tables(Cat, Dog, Animal)

    assert [(check.models, check.differences) for check in checks] == [(("Animal",), ())]
