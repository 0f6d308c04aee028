"""Random models are read alike by the compiled reader and by Python, from a real HBase."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, Phase, given, reject, settings
from hypothesis import strategies as st

from hbase_orm import (
    Engine,
    Family,
    Key,
    Mapped,
    Model,
    Select,
    Session,
    column,
    connect,
    key,
    select,
)
from hbase_orm.compiled import EncodedRow, compiled_cells
from hbase_orm.errors import HBaseORMError, ValidationError
from hbase_orm.gateway.thrift.decoding import protocols
from hbase_orm.gateway.thrift.decoding.compiled_rows import CompiledRows, RowTakers
from hbase_orm.gateway.thrift.decoding.row_patterns import RowPatterns
from hbase_orm.index.entries.targets import GUARDED_RETRIES
from hbase_orm.ops import ReadFirstRows, Scan, first_rows
from hbase_orm.testing import RealHBase
from tests.property.random_models import Declared, models, rows

pytestmark = [
    pytest.mark.hbase,
    pytest.mark.skipif(compiled_cells is None, reason="it was not built"),
]


class Reading:
    """An engine all of whose connections read rows in one way."""

    def __init__(self, url: str, takers: type[RowTakers]) -> None:
        self._url = url
        self._takers = takers
        self._engine: Engine | None = None

    @contextmanager
    def engine(self) -> Iterator[Engine]:
        """Provide the engine; only within this block does it open connections."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(protocols, "row_takers", self._takers)
            self._engine = self._engine or connect(self._url)
            yield self._engine

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close()


@pytest.fixture
def readings(hbase: RealHBase) -> Iterator[tuple[Reading, Reading]]:
    """Return an engine with the compiled reader, and one that reads with Python."""
    namespace = f"n{uuid4().hex[:12]}"
    url = hbase.url_in(namespace)
    compiled, pure = Reading(url, CompiledRows), Reading(url, RowPatterns)
    yield compiled, pure
    for reading in (compiled, pure):
        reading.close()
    hbase.drop_namespace(namespace)


class Point(Model, table="points"):
    d = Family()
    number: Key[int] = key()
    x: Mapped[int] = column(d)
    y: Mapped[str | None] = column(d)


@pytest.mark.parametrize("count", [3, 700], ids=["the first rows", "more rows"])
def test_the_compiled_reader_takes_all_rows_that_a_server_sends(
    readings: tuple[Reading, Reading], count: int
) -> None:
    for reading, is_compiled in zip(readings, (True, False), strict=True):
        with reading.engine() as engine:
            engine.create_tables(Point)
            with engine.session() as session:
                session.add_all([Point(number=n, x=n, y="y" * (n % 9)) for n in range(count)])
            scan = Scan(engine._bound_of(Point).schema.table, caching_rows=count)

            first = engine._runtime.execute(ReadFirstRows(scan, count)).rows
            every = engine._runtime.run(first_rows(scan, GUARDED_RETRIES))

            for read in (first, every):
                assert read
                assert {isinstance(row, EncodedRow) for row in read} == {is_compiled}
            # Of a table whose rows are of unknown size, a gateway may return fewer rows at first.
            assert len(every) == count
            engine.drop_tables(Point)


def seen(reading: Reading, model: Any) -> object:
    """Return what an engine reads of a model: its objects, and the values of each field."""
    every = select(model).allow_full_scan()
    with reading.engine() as engine, engine.session() as session:
        try:
            objects = [repr(sorted(each.__dict__.items())) for each in session.stream(every)]
        except HBaseORMError as error:
            return str(error)
        fields = [getattr(model, name) for name in model.__schema__.fields]
        values = [
            [repr(each) for each in session.stream(select(field).allow_full_scan())]
            for field in fields
        ]
        return objects, values, columns_of(session, every)


def columns_of(session: Session, stmt: Select[Any]) -> object:
    """Return the statement's Arrow table, or the error of a value that does not fit."""
    try:
        table = session.arrow(stmt).read_all()
    except HBaseORMError as error:
        return str(error)
    table.validate(full=True)
    return str(table.schema), repr(table.to_pylist())


def check_models(readings: tuple[Reading, Reading], count: int) -> None:
    """Write rows of so many models, and read them in both ways."""
    compiled, pure = readings
    read = 0

    @settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(data=st.data(), declared=models(is_split=False))
    def both_read_the_same(data: st.DataObject, declared: Declared) -> None:
        nonlocal read
        model = declared.makers[0]
        if model.__schema__.layout.table_period is not None:
            reject()
        drawn = [row for row in data.draw(rows(declared)) if not row.pop("class")]
        try:
            with compiled.engine() as engine:
                engine.create_tables(model)
                with engine.session() as session:
                    session.add_all([model(**row) for row in drawn])
        except ValidationError:  # two rows of one key, or an empty row
            reject()
        else:
            assert seen(compiled, model) == seen(pure, model)
            read += len(drawn)
        finally:
            with compiled.engine() as engine:
                engine.drop_tables(model)

    both_read_the_same()
    assert read > count


@pytest.mark.timeout(300)
def test_models_are_read_alike(readings: tuple[Reading, Reading]) -> None:
    check_models(readings, 6)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_hundred_models_are_read_alike(readings: tuple[Reading, Reading]) -> None:
    check_models(readings, 100)
