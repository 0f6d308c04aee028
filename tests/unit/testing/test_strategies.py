from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hbase_orm import Model, connect, select
from hbase_orm.errors import ValidationError
from hbase_orm.testing import objects_of
from tests.unit.testing.test_object_factories import TYPICAL
from tests.unit.testing.tested_models import Order

few = settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("model", TYPICAL[::3])
def test_objects_are_read_as_they_were_saved(model: Any) -> None:
    @few
    @given(objects_of(model))
    def saved_and_read(obj: Model) -> None:
        with connect("memory:///made") as engine:
            engine.create_tables(model)
            with engine.session() as session:
                session.add(obj)
            (stored,) = engine.session().all(select(model).allow_full_scan())
            read, saved = stored.to_dict(), obj.to_dict()  # deferred columns are not read
            assert read == {name: saved[name] for name in read}

    saved_and_read()


@few
@given(objects_of(Order, total=st.integers(1, 5)))
def test_a_strategy_of_ones_own_is_used(order: Order) -> None:
    assert order.total in range(1, 6)


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(ValidationError, match="give only: number, city, total"):
        objects_of(Order, town=st.just("Oslo"))
