"""What cannot be made from a record raises one typed error that names it; damage raises another."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, ClassVar

import pytest

from hbase_orm import (
    Computed,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Offset,
    Period,
    Salt,
    TablePerPeriod,
    codecs,
    column,
    key,
    rowkey,
)
from hbase_orm.codecs import Codec
from hbase_orm.errors import DeclarationError, RecordError, SchemaError
from hbase_orm.record.declaration import Declaration, TableRecord
from hbase_orm.record.rebuilding.models import rebuilt_models
from hbase_orm.record.snapshots import declaration_of
from tests.unit.record.test_declaration import VALUES, Sample, places


@dataclass(frozen=True)
class Line:
    name: str


def later() -> datetime:
    return datetime.now(UTC)


def first(name: str) -> int:
    return len(name) % 3


@dataclass(frozen=True, slots=True)
class Shouted(Codec[str]):
    """A program's own codec."""

    name: ClassVar[str] = "shouted"
    python_type: ClassVar[type] = str

    def encode(self, value: str, /) -> bytes:
        return value.upper().encode()

    def decode(self, data: bytes, /) -> str:
        return data.decode()


class Made(Model, table="made"):
    d = Family()
    name: Key[str] = key()
    at: Mapped[datetime] = column(d, default_factory=later)
    text: Mapped[str] = column(d, codec=Shouted())
    __rowkey__ = rowkey(Computed(first, of=name, codec=codecs.uint8()), name)


FUNCTIONS: dict[str, Any] = {"first(name)": first, "codec of Made.text": Shouted()}


def of(*models: type[Model]) -> Declaration:
    return declaration_of([model.__schema__ for model in models])


def refusal(declaration: Declaration, functions: dict[str, Any]) -> DeclarationError:
    with pytest.raises(DeclarationError) as caught:
        rebuilt_models(declaration, "made", functions=functions)
    assert isinstance(caught.value, SchemaError)
    assert caught.value.table == "made"
    return caught.value


@pytest.mark.parametrize("missing", FUNCTIONS)
def test_what_is_missing_is_named_as_it_can_be_supplied(missing: str) -> None:
    given = {name: value for name, value in FUNCTIONS.items() if name != missing}

    error = refusal(of(Made), given)

    assert error.missing == missing
    assert f"functions={{{missing!r}: ...}}" in error.fix


def test_a_default_by_a_function_is_missing_only_where_it_is_needed() -> None:
    model: Any = rebuilt_models(of(Made), "made", functions=FUNCTIONS)["Made"]

    assert model(name="a", text="x", at=datetime(2024, 1, 1, tzinfo=UTC)).name == "a"
    with pytest.raises(DeclarationError, match="whose default a function makes") as caught:
        model(name="a", text="x")

    assert caught.value.missing == "default of Made.at"


def test_a_supplied_codec_must_have_the_recorded_bytes() -> None:
    error = refusal(of(Made), FUNCTIONS | {"codec of Made.text": codecs.text()})

    assert "not the one that the record describes" in error.text
    assert error.field == "text"


def test_an_index_of_a_record_of_an_earlier_version_is_not_guessed() -> None:
    class Indexed(Model, table="made"):
        d = Family()
        name: Key[str] = key()
        size: Mapped[int] = column(d)
        by_size = Index(size)

    recorded = of(Indexed)
    old = replace(recorded.indexes["by_size"], spec=None)

    error = refusal(replace(recorded, indexes={"by_size": old}), {})

    assert error.index == "by_size"
    assert "engine.create_tables" in error.fix


def test_the_time_of_a_table_for_each_period_is_not_guessed() -> None:
    class Tick(Model, table=TablePerPeriod("ticks_%Y", of="at", period="year")):
        d = Family()
        at: Key[datetime] = key()
        seen: Key[datetime] = key()
        size: Mapped[int] = column(d)

    recorded = of(Tick)
    (rows,) = recorded.rows
    models = {"Tick": replace(rows.models["Tick"], options=None)}
    old = replace(recorded, rows=(replace(rows, models=models),))

    with pytest.raises(DeclarationError, match="which time decides") as caught:
        rebuilt_models(old, "ticks_%Y")

    assert caught.value.fields == ["at", "seen"]


def test_a_condition_on_packed_values_of_a_class_cannot_be_made() -> None:
    class Packed(Model, table="made"):
        d = Family()
        name: Key[str] = key()
        lines: Mapped[list[Line]] = column(d, codec=codecs.json(list[Line]))
        by_name = Index(name, where=lines.contains(Line("x")))

    error = refusal(of(Packed), {})

    assert "of a type that records do not hold" in error.text


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda row: row["key"][0].update(derived="LaterSalt"), "component of the row key"),
        (lambda row: row["columns"]["d:a"].update(codec={"codec": "later"}), "have the codec"),
        (lambda row: row["key"][1].update(ends="fixed"), "not what the record describes"),
        (lambda row: row["models"]["Two"]["fields"].update(no="x:y"), "of a family"),
        (lambda row: row["models"].update(Two=row["models"]["Two"] | {"key": ["1"]}), ""),
    ],
)
def test_what_this_version_does_not_have_is_refused(
    change: Callable[[dict[str, Any]], None], text: str
) -> None:
    class Two(Model, table="made"):
        d = Family()
        name: Key[str] = key()
        a: Mapped[int] = column(d)
        __rowkey__ = rowkey(Salt(4), name)

    content = json.loads(TableRecord("", of(Two)).encode())
    row = content["current"]["rows"][0]
    row["columns"]["x:y"] = row["columns"]["d:a"]
    change(row)

    error = refusal(TableRecord.decode(json.dumps(content).encode()).current, {})

    assert text in error.text


# --- damage ---------------------------------------------------------------------------------------


class Rich(Model, table="samples"):
    d = Family()
    name: Key[str] = key(codecs.text(separator=b"\x00"))
    at: Key[datetime] = key(codecs.seconds())
    kind: Mapped[str] = column(d, codec=codecs.code({"a": b"1", "b": b"2"}), default="a")
    words: Mapped[list[str]] = column(d, codec=codecs.json(list[str]), default_factory=list)
    size: Mapped[int | None] = column(d, codec=codecs.uint8(), default=None)
    __rowkey__ = rowkey(
        Salt(4, of=name), name, Period("hour", of=at, every=6), Offset("hour", of=at, every=6)
    )
    by_kind = Index(kind, size, nulls=True, where=(kind == "a") | (size > 3), include=[words])


WHOLE = json.loads(TableRecord("", of(Rich), of(Sample)).encode())
KINDS = len(VALUES) + 2


def mutations() -> Iterator[tuple[tuple[str | int, ...], int]]:
    for path in places(WHOLE):
        if path[:1] in {("current",), ("next",)}:
            yield from ((path, kind) for kind in range(KINDS))


MUTATIONS = list(mutations())


def mutated(path: tuple[str | int, ...], kind: int) -> Any:
    content = deepcopy(WHOLE)
    parent = content
    for name in path[:-1]:
        parent = parent[name]
    last: Any = path[-1]
    if kind < len(VALUES):
        parent[last] = VALUES[kind]
    elif kind == len(VALUES):
        del parent[last]
    elif isinstance(parent, dict):
        parent[f"{last}x"] = parent.pop(last)
    return content


@pytest.mark.parametrize("count", [400, pytest.param(len(MUTATIONS), marks=pytest.mark.soak)])
def test_a_damaged_record_gives_a_model_or_a_typed_error(count: int) -> None:
    rng = random.Random(random.getrandbits(32))
    made = refused = 0
    for path, kind in rng.sample(MUTATIONS, count):
        try:
            record = TableRecord.decode(json.dumps(mutated(path, kind)).encode(), "samples")
        except RecordError:
            continue
        for declaration in filter(None, (record.current, record.next)):
            try:
                rebuilt_models(declaration, "samples")
            except (DeclarationError, RecordError):
                refused += 1
                continue
            made += 1

    assert made > count / 5
    assert refused > count / 20
