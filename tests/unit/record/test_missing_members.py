"""A record that lacks a member, or has one of a newer version, is never misunderstood.

A member is removed from the records of models of many kinds, at every place: then the unchanged
models are used as before, or the record is refused as damaged. A member that this version does not
know shows that a newer version wrote the record.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any

import pytest

from hbase_orm import (
    Counter,
    Digest,
    Dynamic,
    Engine,
    Family,
    HashPrefix,
    Index,
    Key,
    Mapped,
    Model,
    Offset,
    Period,
    RecordType,
    Salt,
    Substitute,
    TablePerPeriod,
    Version,
    codecs,
    column,
    connect,
    counter,
    dynamic,
    key,
    rowkey,
    select,
    version,
)
from hbase_orm.binding.recorded_models import compared
from hbase_orm.codecs.text import Text
from hbase_orm.errors import DeclarationError, RecordError, SchemaDriftError
from hbase_orm.index.catalog.catalog import CATALOG_TABLE, RECORD_COLUMN, read_cells
from hbase_orm.ops import MutateRows, Put, RowMutation
from hbase_orm.record.declaration import TableRecord
from hbase_orm.record.differences import Weight
from hbase_orm.record.rebuilding.models import rebuilt_models
from hbase_orm.record.snapshots import declaration_of
from hbase_orm.record.stored_values import RECORD_VERSION
from tests.support.recording import gateway_of, through


class Status(Enum):
    NEW = "new"


class Visit(Model, table="visits"):
    d = Family()
    host: Key[str] = key(codecs.text(digit_reversed=True))
    at: Key[datetime] = key(codecs.millis(desc=True))
    kind: Mapped[str] = column(d, codec=codecs.code({"a": b"1", "b": b"2"}))
    note: Mapped[str | None] = column(d, codec=codecs.text(digit_reversed=True), default=None)
    short: Mapped[str | None] = column(
        d, codec=codecs.text(width_bytes=4, digit_reversed=True), default=None
    )
    state: Mapped[Status | None] = column(d, codec=codecs.enum(Status, desc=True), default=None)
    words: Mapped[list[str]] = column(d, codec=codecs.json(list[str]), default_factory=list)
    data: Mapped[bytes] = column(d, codec=codecs.raw(width_bytes=8, desc=True), default=b"12345678")
    hits: Counter = counter(d)
    tags: Dynamic[str, int] = dynamic(
        d, prefix="t:", name=codecs.text(digit_reversed=True), codec=codecs.uint32(desc=True)
    )
    __rowkey__ = rowkey(
        Salt(4, of=[host]), host, Period("hour", every=6, of=at), Offset("hour", every=6, of=at)
    )
    by_kind = Index(kind, at.desc(), include=[note], where=kind != "b", salt=4)
    by_note = Index((note, codecs.text()), unique=True)


class Plain(Model, table="plains"):
    d = Family()
    name: Key[str] = key(codecs.text(separator=b"|"))
    number: Key[int] = key(codecs.digits(6, digit_reversed=True))
    city: Mapped[str] = column(d)
    __rowkey__ = rowkey(HashPrefix(2, of=name), name, number)


class Whole(Model, table="wholes"):
    d = Family()
    name: Key[str] = key()
    at: Key[datetime] = key(codecs.seconds())
    serial: Version = version(d)
    city: Mapped[str | None] = column(d, default=None)
    __rowkey__ = rowkey(Digest(of=name), Substitute(of=name, dictionary="names"), at, name)


class Tick(Model, table=TablePerPeriod("ticks_%Y%m%d", of="seen", period="day", create=True)):
    d = Family()
    seen: Key[datetime] = key(codecs.millis())
    value: Mapped[float] = column(d)
    __rowkey__ = rowkey(Period("day", of=seen), Offset("day", of=seen))


class Event(Model, table="events"):
    d = Family()
    user: Key[int] = key(codecs.uint32())
    __rowkey__ = rowkey(user, RecordType(codecs.text(separator=b"\x00")))


class Login(Event, record_type="login"):
    place: Mapped[str] = column(Event.d)


class Upload(Event, record_type="up"):
    size: Mapped[int] = column(Event.d)


TABLES: dict[str, tuple[type[Model], ...]] = {
    "visits": (Visit,),
    "plains": (Plain,),
    "wholes": (Whole,),
    "ticks": (Tick,),
    "events": (Login, Upload),
}
LATER = frozenset({"digit_reversed", "every", "packed", "options", "spec", "table", "later keys"})
"""The members that the first version did not have from the beginning."""

MAPS = frozenset({"families", "columns", "models", "fields", "former", "indexes", "codes"})
"""The members whose value is a map: what it lacks, the table does not have."""

Path = tuple[str | int, ...]


def record_of(models: tuple[type[Model], ...]) -> Any:
    declared = declaration_of([model.__schema__ for model in models])
    return json.loads(TableRecord("0123abcd", declared).encode())


def is_map(path: Path) -> bool:
    *_, parent, last = (None, None, *path)
    is_within_options = "options" in path[:-1]
    return last in MAPS or parent == "families" or last == "attributes" or is_within_options


def objects(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the path of each JSON object that is no map."""
    if isinstance(value, dict) and not is_map(path):
        yield path
    inner: Any = enumerate(value) if isinstance(value, list) else ()
    for name, each in value.items() if isinstance(value, dict) else inner:
        yield from objects(each, (*path, name))


def node(content: Any, path: Path) -> Any:
    for name in path:
        content = content[name]
    return content


OBJECTS = [(name, path) for name in TABLES for path in objects(record_of(TABLES[name]))]
MEMBERS = [
    (name, (*path, member))
    for name, path in OBJECTS
    for member in node(record_of(TABLES[name]), path)
]


def use(content: Any, models: tuple[type[Model], ...]) -> None:
    """Read a record, compare the unchanged models with it, and make the models from it."""
    table = models[0].__schema__.table
    record = TableRecord.decode(json.dumps(content).encode(), table)
    for model in models:
        differing = compared(model.__schema__, record)
        assert [each for each in differing if each.weight is not Weight.HARMLESS] == []
    made = rebuilt_models(record.current, table)
    assert made.keys() >= {model.__name__ for model in models}


@pytest.mark.parametrize("name", TABLES)
def test_a_whole_record_is_used(name: str) -> None:
    use(record_of(TABLES[name]), TABLES[name])


@pytest.mark.parametrize(("name", "path"), MEMBERS, ids=str)
def test_a_record_without_a_member_is_damaged(name: str, path: Path) -> None:
    content = record_of(TABLES[name])
    del node(content, path[:-1])[path[-1]]

    with pytest.raises(RecordError, match="damaged"):
        use(content, TABLES[name])


@pytest.mark.parametrize(("name", "path"), OBJECTS, ids=str)
def test_an_unknown_member_shows_that_the_record_is_newer(name: str, path: Path) -> None:
    content = record_of(TABLES[name])
    node(content, path)["later member"] = 1

    with pytest.raises(RecordError, match="newer version") as caught:
        use(content, TABLES[name])

    assert caught.value.members == ["later member"]
    assert caught.value.own_version == RECORD_VERSION
    assert "upgrade hbase_orm" in caught.value.fix


# --- the first version ----------------------------------------------------------------------------


def first_version(value: Any, path: Path = ()) -> Any:
    """Return the JSON of a record as the first version encoded it when it was new."""
    if isinstance(value, list):
        return [first_version(each, (*path, number)) for number, each in enumerate(value)]
    if not isinstance(value, dict):
        return value
    if is_map(path):
        return {name: first_version(each, (*path, name)) for name, each in value.items()}
    return {
        name: 1 if path == () and name == "version" else first_version(each, (*path, name))
        for name, each in value.items()
        if not is_left_out(name, each, value)
    }


def is_left_out(name: str, value: Any, others: dict[str, Any]) -> bool:
    if name == "digit_reversed":
        return others["codec"] == "text" and others["width_bytes"] is None
    absent = value is None and name in {"names", "width_bytes", "pad", "side"}
    is_usual = (name == "desc" and not value) or (name == "end" and not value)
    is_later = name in LATER and not (name == "packed" and "columns" in others)
    return is_later or absent or is_usual


@pytest.mark.parametrize("name", TABLES)
def test_a_record_of_the_first_version_fits_and_is_completed(name: str) -> None:
    models, table = TABLES[name], TABLES[name][0].__schema__.table
    with connect("memory://") as engine:
        create(engine, models)
        whole = stored_record(engine, table)
        old = first_version(whole)
        store(engine, table, old)

        for model in models:
            session = beside(engine).session()
            assert session.all(select(model).allow_full_scan()) == []
        assert stored_record(engine, table) == old

        create(beside(engine), models)

        assert stored_record(engine, table) == whole


LATER_MEMBERS = [
    (name, path)
    for name, path in MEMBERS
    if path[-1] in LATER
    and is_left_out(str(path[-1]), None, node(record_of(TABLES[name]), path[:-1]))
]


@pytest.mark.parametrize(("name", "path"), LATER_MEMBERS, ids=str)
def test_each_later_member_may_be_missing_in_the_first_version(name: str, path: Path) -> None:
    content = record_of(TABLES[name]) | {"version": 1}
    del node(content, path[:-1])[path[-1]]

    record = TableRecord.decode(json.dumps(content).encode(), "table")

    for model in TABLES[name]:
        weights = {each.weight for each in compared(model.__schema__, record)}
        assert weights <= {Weight.HARMLESS}


def test_an_unknown_value_fits_every_declaration_until_it_is_recorded() -> None:
    class Other(Model, table="plains"):
        d = Family()
        name: Key[str] = key(codecs.text(separator=b"|"))
        number: Key[int] = key(codecs.digits(6, digit_reversed=True))
        city: Mapped[str] = column(d, codec=codecs.text(digit_reversed=True))
        __rowkey__ = rowkey(HashPrefix(2, of=name), name, number)

    with connect("memory://") as engine:
        engine.create_tables(Plain)
        store(engine, "plains", first_version(stored_record(engine, "plains")))
        for model in (Plain, Other):
            assert beside(engine).session().get(model, name="a", number=1) is None

        beside(engine).create_tables(Plain)

        with pytest.raises(SchemaDriftError, match="codec of column d:city"):
            beside(engine).session().get(Other, name="a", number=1)


def test_no_model_is_made_from_a_record_that_does_not_show_how_text_is_stored() -> None:
    content = first_version(record_of((Plain,)))
    record = TableRecord.decode(json.dumps(content).encode(), "plains")

    with pytest.raises(DeclarationError, match="whether a text is stored backwards"):
        rebuilt_models(record.current, "plains")


def test_no_model_is_made_from_a_record_that_does_not_show_how_long_a_period_is() -> None:
    content = record_of((Visit,)) | {"version": 1}
    for part in content["current"]["rows"][0]["key"]:
        part.pop("every", None)
    record = TableRecord.decode(json.dumps(content).encode(), "visits")

    with pytest.raises(DeclarationError, match="how many units a period has"):
        rebuilt_models(record.current, "visits")


def test_a_damaged_codec_is_refused_by_every_use_and_replaced_by_an_adoption() -> None:
    with connect("memory://") as engine:
        engine.create_tables(Plain)
        content = stored_record(engine, "plains")
        del content["current"]["rows"][0]["columns"]["d:city"]["codec"]["separator"]
        store(engine, "plains", content)

        with pytest.raises(RecordError, match="damaged"):
            beside(engine).session().get(Plain, name="a", number=1)
        with pytest.raises(RecordError, match="damaged"):
            beside(engine).create_tables(Plain)
        (check,) = beside(engine).check_tables(Plain)
        assert "damaged" in str(check.differences[0])

        (adopted,) = beside(engine).adopt_tables(Plain)

        assert adopted.reason == "a damaged record"
        assert beside(engine).session().get(Plain, name="a", number=1) is None


def test_an_adoption_does_not_replace_a_record_with_members_of_a_newer_version() -> None:
    with connect("memory://") as engine:
        engine.create_tables(Plain)
        content = stored_record(engine, "plains")
        content["current"]["rows"][0]["columns"]["d:city"]["codec"]["later member"] = 1
        store(engine, "plains", content)

        for verb in (beside(engine).adopt_tables, beside(engine).create_tables):
            with pytest.raises(RecordError, match="newer version"):
                verb(Plain)


def test_a_codec_of_the_application_may_have_any_members() -> None:
    @dataclass(frozen=True, slots=True)
    class Shouted(Text):
        marks: int = 1

    def model(marks: int) -> type[Model]:
        class Note(Model, table="notes"):
            d = Family()
            name: Key[str] = key()
            text: Mapped[str] = column(d, codec=Shouted(marks=marks))

        return Note

    with connect("memory://") as engine:
        engine.create_tables(model(1))
        assert beside(engine).session().get(model(1), name="a") is None
        with pytest.raises(SchemaDriftError, match="codec of column d:text"):
            beside(engine).session().get(model(2), name="a")


# --- tables ---------------------------------------------------------------------------------------


def create(engine: Engine, models: tuple[type[Model], ...]) -> None:
    day = datetime(2024, 5, 1, tzinfo=UTC)
    is_for_periods = models == (Tick,)
    periods = (day, day + timedelta(days=1)) if is_for_periods else None
    engine.create_tables(*models, periods=periods)


def beside(engine: Engine) -> Engine:
    """Return the engine of another program."""
    return through(gateway_of(engine), engine)


def stored_record(engine: Engine, table: str) -> Any:
    _, record = engine._runtime.run(read_cells(table))
    return json.loads(record)


def store(engine: Engine, table: str, content: Any) -> None:
    data = json.dumps(content, separators=(",", ":")).encode()
    mutation = RowMutation(table.encode(), puts=(Put(RECORD_COLUMN, data),))
    gateway_of(engine).execute(MutateRows(CATALOG_TABLE, (mutation,)))
