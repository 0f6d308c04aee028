from __future__ import annotations

import pytest

from hbase_orm import connect
from hbase_orm.errors import ConfigurationError
from hbase_orm.testing import drop_store
from tests.unit.testing.tested_models import Order


def put(url: str) -> None:
    with connect(url) as engine:
        engine.create_tables(Order)
        with engine.session() as session:
            session.add(Order(number=1, city="Oslo"))


def test_engines_of_one_name_share_tables_also_one_after_another() -> None:
    put("memory://shared-1")
    with connect("memory://shared-1") as engine, connect("memory://shared-2") as other:
        assert engine.session().get(Order, number=1) == Order(number=1, city="Oslo")
        assert repr(engine) == "Engine('memory://shared-1')"
        assert engine.options.servers != other.options.servers
        assert not other.tables()


def test_a_namespace_may_follow_the_name() -> None:
    put("memory://shared-3/shop")
    with connect("memory://shared-3/shop?on_drift=warn") as engine:
        assert engine.session().get(Order, number=1) is not None


def test_a_dropped_store_is_empty_and_its_engines_end() -> None:
    put("memory://shared-4")
    with connect("memory://shared-4") as engine:
        drop_store("shared-4")
        drop_store("shared-4")
        with pytest.raises(ConfigurationError, match="closed"):
            engine.session().get(Order, number=1)
    put("memory://shared-4")


def test_a_closed_engine_of_a_store_is_closed() -> None:
    engine = connect("memory://shared-5")
    engine.close()
    with pytest.raises(ConfigurationError, match="connect again"):
        engine.create_tables(Order)


@pytest.mark.parametrize("url", ["memory://a:80", "memory://a b", "memory://[::1]"])
def test_a_name_has_letters_digits_dots_and_dashes(url: str) -> None:
    with pytest.raises(ConfigurationError, match="no such name"):
        connect(url)
