"""Columns of every codec have the values of objects, whether they are gathered or read as values."""

from __future__ import annotations

import random
import types
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hbase_orm import Engine, Family, Key, Mapped, Model, RowKey, codecs, column, connect, select
from hbase_orm import key as key_field
from hbase_orm.codecs import Codec
from hbase_orm.codecs.choices import Enumerated
from hbase_orm.compiled import compiled_cells
from hbase_orm.errors import CodecError, HBaseORMError, QueryError, ValidationError
from hbase_orm.execute import CorruptRows
from hbase_orm.ops import Cell, Row
from hbase_orm.reading.columnar.arrow_columns import columns_of
from hbase_orm.reading.columnar.record_batches import record_batches, schema_of
from tests.property.random_models import Declared, models, rows
from tests.property.test_codecs_inline import CODECS
from tests.property.test_compiled_columns import STORED, encoded, new_model, new_row

SEEDS = range(8)
SOAK_SEEDS = range(8, 208)
MODELS = 6
ROWS = 40
FEW = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
EXTREMES: tuple[Any, ...] = (
    *(datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)),
    *(datetime(1970, 1, 1, tzinfo=UTC), datetime(2106, 2, 7, 6, 28, 15, tzinfo=UTC)),
    *(date.min, date.max, time.min, time.max),
    *(timedelta(microseconds=-(2**63)), timedelta(microseconds=2**63 - 1)),
    *(0, -1, 2**7 - 1, 2**15 - 1, 2**31 - 1, 2**63 - 1, -(2**63), 2**64 - 1),
)
"""Values at the bounds of codecs; the numbers beside their bytes are often no values."""

IDS = [f"{codec.name}{'-desc' if codec.desc else ''}-{n}" for n, codec in enumerate(CODECS)]


@pytest.fixture(scope="module")
def memory() -> Iterator[Engine]:
    with connect("memory://") as engine:
        yield engine


def in_arrow(codec: Codec[Any], value: Any) -> Any:
    """Return what an Arrow column gives for a value, by what the documentation says."""
    if isinstance(codec, Enumerated) and isinstance(value, Enum):
        return value.value if isinstance(value.value, str) else value.name
    if isinstance(value, (UUID, IPv4Address, IPv6Address)):
        return str(value)
    return list(value) if isinstance(value, (list, tuple)) else value


def model_of(codec: Codec[Any], number: int, *, is_key: bool) -> Any:
    """Return a model with a column of a codec, or whose row key is of it."""
    body: dict[str, Any] = {"d": Family()}
    kinds: dict[str, Any] = {"n": Mapped[int]}
    if is_key:
        body["k"] = key_field(codec)
        kinds["k"] = Key[codec.python_type]  # type: ignore[name-defined]
    else:
        body["k"] = key_field(codecs.uint32())
        kinds["k"] = Key[int]
        body["c"] = column(body["d"], codec=codec, default=None)
        kinds["c"] = Mapped[codec.python_type | None]  # type: ignore[name-defined]
    body["n"] = column(body["d"])
    body |= {"__annotations__": kinds, "__rowkey__": RowKey((body["k"],))}
    words = {"table": f"c{number}{is_key}"}
    return types.new_class(f"C{number}", (Model,), words, lambda space: space.update(body))


def gathered(engine: Engine, stmt: Any, stored: Sequence[Row], batch_rows: int = 16) -> Any:
    """Return the batches of rows, some of them followed by an error."""
    with engine.session() as session:
        bound = session._state.bound(stmt.model)
    columns = columns_of(stmt, bound, {})
    pages = iter([stored[n : n + 9] for n in range(0, len(stored), 9)])
    result: list[Any] = [str(schema_of(columns))]
    try:
        for batch in record_batches(
            pages, bound, stmt, columns, batch_rows, corrupt=CorruptRows("raise", "M")
        ):
            batch.validate(full=True)
            result.append(repr(batch.to_pylist()))
    except HBaseORMError as error:
        result += [type(error), str(error)]
    return result


@pytest.mark.parametrize("place", range(len(CODECS)), ids=IDS)
def test_a_column_of_each_codec_has_the_values_of_objects(memory: Engine, place: int) -> None:
    codec, values = STORED[place]
    model = model_of(codec, place, is_key=False)
    memory.create_tables(model)
    with memory.session() as session:
        kept = [value for value, _ in values if not _is_beyond(value)]
        objects = [model(k=n, c=value, n=n) for n, value in enumerate([*kept, None])]
        session.add_all(objects)
        session.flush()
        table = session.arrow(select(model).allow_full_scan(), batch_rows=3).read_all()
        values_read = table["c"].to_pylist()
        table.validate(full=True)
        assert table["n"].to_pylist() == [*range(len(objects))]
        assert repr(values_read) == repr([in_arrow(codec, each.c) for each in objects]) or (
            values_read == [in_arrow(codec, each.c) for each in objects]
        )


def _is_beyond(value: Any) -> bool:
    """Return whether a value fits no Arrow type of a fixed scale; other tests have such values."""
    try:
        pa.array([value], pa.decimal128(38, 9)) if hasattr(value, "as_tuple") else None
    except pa.ArrowInvalid:
        return True
    return False


def extremes_of(codec: Codec[Any]) -> list[bytes]:
    """Return the bytes of values at the bounds of a codec, and the bytes beside them."""
    stored = []
    for value in EXTREMES:
        try:
            data = codec.encode(value)
        except (CodecError, AttributeError, TypeError, ValueError):
            continue
        near = [int.from_bytes(data, "big") + step for step in (-1, 0, 1)]
        stored += [
            number.to_bytes(len(data), "big") for number in near if 0 <= number < 1 << 8 * len(data)
        ]
    return stored


@pytest.mark.skipif(compiled_cells is None, reason="it is not used")
@pytest.mark.parametrize("place", range(len(CODECS)), ids=IDS)
def test_values_at_the_bounds_are_gathered_as_they_are_read(memory: Engine, place: int) -> None:
    model = model_of(CODECS[place], place, is_key=False)
    stmt = select(model.c).allow_full_scan()
    for n, data in enumerate(extremes_of(CODECS[place])):
        cells = {b"d:c": Cell(data, 5), b"d:n": Cell(codecs.int64().encode(n), 5)}
        row = Row(model.__schema__.layout.encode({"k": n}), cells)
        assert gathered(memory, stmt, [encoded(row)]) == gathered(memory, stmt, [row])


@pytest.mark.skipif(compiled_cells is None, reason="it is not used")
@pytest.mark.parametrize("is_key", [False, True], ids=["in cells", "in the row key"])
@pytest.mark.parametrize("place", range(len(CODECS)), ids=IDS)
def test_each_codec_is_gathered_as_it_is_read(memory: Engine, place: int, *, is_key: bool) -> None:
    codec, values = STORED[place]
    try:
        model = model_of(codec, place, is_key=is_key)
    except HBaseORMError:
        assert is_key  # some codecs cannot be in row keys
        return
    chance = random.Random(place)
    layout = model.__schema__.layout
    stored = []
    for n in range(60):
        data = chance.choice(values)[1]
        if chance.random() < 0.05:
            data = chance.randbytes(chance.choice((len(data), len(data), len(data) + 1)))
        cells = {b"d:n": Cell(codecs.int64().encode(n), 5)}
        if not is_key and chance.random() < 0.9:
            cells = {b"d:c": Cell(data, 5), **cells}
        key = (data or b"x") if is_key else layout.encode({"k": n})
        stored.append(Row(key, cells))
    stmt = select(model).allow_full_scan()
    plain = gathered(memory, stmt, stored)
    assert gathered(memory, stmt, [encoded(row) for row in stored]) == plain


def check_models(engine: Engine, seed: int) -> None:
    """Compare both ways to read rows of random models, with and without conditions."""
    chance = random.Random(seed)
    compared = 0
    for number in range(MODELS):
        model: Any = new_model(chance, number)
        names = [*model.__schema__.codecs]
        stored = [new_row(model, chance) for _ in range(ROWS)]
        if chance.random() < 0.5:
            stored = [row for row in stored if len(row.cells) == len(stored[0].cells)]
        some = chance.sample(names, min(len(names), chance.randint(1, 5)))
        for every in (select(model), select(*[getattr(model, name) for name in some])):
            few = chance.randint(1, ROWS) if chance.random() < 0.3 else 2 * ROWS
            stmt = every.allow_full_scan().limit(few)
            try:
                plain = gathered(engine, stmt, stored)
            except QueryError:  # a field has no Arrow type
                continue
            assert gathered(engine, stmt, [encoded(row) for row in stored]) == plain
            compared += 1
    assert compared


@pytest.mark.skipif(compiled_cells is None, reason="it is not used")
@pytest.mark.parametrize("seed", SEEDS)
def test_random_models_are_gathered_as_they_are_read(memory: Engine, seed: int) -> None:
    check_models(memory, seed)


@pytest.mark.soak
@pytest.mark.skipif(compiled_cells is None, reason="it is not used")
@pytest.mark.parametrize("seed", SOAK_SEEDS)
def test_many_models_are_gathered_as_they_are_read(memory: Engine, seed: int) -> None:
    check_models(memory, seed)


# --- random models with row keys of every kind ----------------------------------------------------


def check_tables(data: st.DataObject, declared: Declared) -> int:
    """Compare the Arrow table of a random model's rows with its objects; return their number."""
    model: Any = declared.model
    if model.__schema__.layout.table_period is not None:
        return 0  # its tables are made when rows are loaded
    with connect("memory://") as engine, engine.session() as session:
        engine.create_tables(model)
        try:
            for row in data.draw(rows(declared)):
                maker = declared.makers[row["class"]]
                of = maker.__schema__.fields
                session.add(maker(**{name: value for name, value in row.items() if name in of}))
            session.flush()
        except ValidationError:  # two rows of one key, or an empty row
            return 0
        every = select(model).allow_full_scan()
        objects = [*session.stream(every)]
        try:
            table = session.arrow(every, batch_rows=3).read_all()
        except CodecError:  # a decimal with more digits than its column
            return 0
        table.validate(full=True)
        assert table.num_rows == len(objects)
        for name in table.column_names:
            codec = model.__schema__.codecs[name]
            values = [in_arrow(codec, getattr(obj, name)) for obj in objects]
            read = table[name].to_pylist()
            assert read == values or repr(read) == repr(values)
        return len(objects)


def test_tables_of_random_models_have_the_values_of_their_objects() -> None:
    compared = 0

    @FEW
    @given(st.data(), models())
    def check(data: st.DataObject, declared: Declared) -> None:
        nonlocal compared
        compared += check_tables(data, declared)

    check()
    assert compared > 20
