"""Random models are read alike by the compiled reader and by Python, from a real HBase."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, Phase, given, reject, settings
from hypothesis import strategies as st

from hbase_orm import Engine, Select, Session, connect, select
from hbase_orm.compiled import compiled_cells
from hbase_orm.errors import HBaseORMError, ValidationError
from hbase_orm.gateway.thrift.decoding import protocols
from hbase_orm.gateway.thrift.decoding.row_patterns import RowPatterns
from hbase_orm.testing import RealHBase
from tests.property.random_models import Declared, models, rows

pytestmark = [
    pytest.mark.hbase,
    pytest.mark.skipif(compiled_cells is None, reason="it was not built"),
]


@pytest.fixture
def engines(hbase: RealHBase, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Engine, Engine]]:
    """Return an engine with the compiled reader, and one that reads with Python."""
    namespace = f"n{uuid4().hex[:12]}"
    with connect(hbase.url_in(namespace)) as compiled, connect(hbase.url_in(namespace)) as pure:
        compiled.tables()
        monkeypatch.setattr(protocols, "row_takers", RowPatterns)
        pure.tables()
        yield compiled, pure
    hbase.drop_namespace(namespace)


def seen(engine: Engine, model: Any) -> object:
    """Return what an engine reads of a model: its objects, and the values of each field."""
    every = select(model).allow_full_scan()
    with engine.session() as session:
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


def check_models(engines: tuple[Engine, Engine], count: int) -> None:
    """Write rows of so many models, and read them in both ways."""
    compiled, pure = engines
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
        compiled.create_tables(model)
        try:
            with compiled.session() as session:
                session.add_all([model(**row) for row in drawn])
        except ValidationError:  # two rows of one key, or an empty row
            reject()
        else:
            assert seen(compiled, model) == seen(pure, model)
            read += len(drawn)
        finally:
            compiled.drop_tables(model)

    both_read_the_same()
    assert read > count


@pytest.mark.timeout(300)
def test_models_are_read_alike(engines: tuple[Engine, Engine]) -> None:
    check_models(engines, 6)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_hundred_models_are_read_alike(engines: tuple[Engine, Engine]) -> None:
    check_models(engines, 100)
