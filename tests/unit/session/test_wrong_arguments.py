"""What is no model, no index or no number is refused by name, before anything is sent."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from hbase_orm import Engine, Family, Index, Key, Mapped, Model, codecs, column, connect, key
from hbase_orm.errors import ConfigurationError, SchemaError


class Row(Model, table="rows"):
    """An indexed model."""

    d = Family()
    id: Key[str] = key()
    a: Mapped[int] = column()
    by_a = Index(a)


class Mixin(Model, abstract=True):
    """No table."""

    b: Mapped[int] = column()


NO_MODELS: dict[str, Any] = {
    "name": "Row",
    "none": None,
    "object": Row(id="a", a=1),
    "list": [Row],
    "tuple": (Row,),
    "dict": {Row: 1},
    "number": 5,
    "bytes": b"Row",
    "class": dict,
    "Model": Model,
    "mixin": Mixin,
    "field": Row.a,
    "function": len,
}

VERBS: dict[str, Callable[[Engine, Any], Any]] = {
    "create_tables": lambda engine, model: engine.create_tables(model),
    "create_tables of several": lambda engine, model: engine.create_tables(Row, model),
    "drop_tables": lambda engine, model: engine.drop_tables(model),
    "add_guard_family": lambda engine, model: engine.add_guard_family(model),
    "regions": lambda engine, model: engine.regions(model),
    "row_keys": lambda engine, model: engine.row_keys(model, id="a"),
    "decode_key": lambda engine, model: engine.decode_key(model, b"a"),
    "table_state": lambda engine, model: engine.table_state(model),
    "indexes": lambda engine, model: engine.indexes(model),
    "build_index": lambda engine, model: engine.build_index(model, "by_a"),
    "drop_index": lambda engine, model: engine.drop_index(model, "by_a"),
    "verify_index": lambda engine, model: engine.verify_index(model, "by_a"),
    "repair_indexes": lambda engine, model: engine.repair_indexes(model),
    "get": lambda engine, model: engine.session().get(model, id="a"),
    "get_many": lambda engine, model: engine.session().get_many(model, [{"id": "a"}]),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("wrong", NO_MODELS)
def test_what_is_no_model_with_a_table_is_refused(verb: str, wrong: str) -> None:
    with connect("memory://") as engine:
        with pytest.raises(ConfigurationError) as refused:
            VERBS[verb](engine, NO_MODELS[wrong])
        assert refused.value.text == "the argument is not a model with a table"
        assert refused.value.fix


def test_a_list_of_models_says_how_they_are_given() -> None:
    with connect("memory://") as engine, pytest.raises(ConfigurationError, match=r"\*models"):
        engine.create_tables([Row])  # type: ignore[arg-type]  # what is tested


@pytest.mark.parametrize("verb", ["build_index", "drop_index", "verify_index"])
@pytest.mark.parametrize(
    "wrong", [None, 5, Row, [Row.by_a], Row.a, b"by_a", Index(Row.a), "name", ""]
)
def test_what_is_no_index_of_the_model_is_refused(verb: str, wrong: Any) -> None:
    with connect("memory://") as engine:
        with pytest.raises(ConfigurationError) as refused:
            getattr(engine, verb)(Row, wrong)
        assert refused.value.model == "Row"
        assert "by_a" in refused.value.fix


NO_NUMBERS: tuple[Any, ...] = (
    *(-1, -1e308, 10**400, 1e308, float("nan"), float("inf"), True, "3", b"3", [1]),
    *(timedelta(seconds=1), timedelta.max),
)


@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: type(value).__name__)
def test_what_is_no_number_in_its_range_is_refused(value: Any) -> None:
    with connect("memory://") as engine:
        calls: dict[str, Callable[[], Any]] = {
            "rows_per_second": lambda: engine.build_index(Row, "by_a", rows_per_second=value),
            "gateway_timeout_s": lambda: engine.build_index(Row, "by_a", gateway_timeout_s=value),
            "min_age_ms": lambda: engine.repair_indexes(Row, min_age_ms=value),
        }
        if value == -1:  # entries of a clock that is ahead
            del calls["min_age_ms"]
        for option, call in calls.items():
            with pytest.raises(ConfigurationError) as refused:
                call()
            assert refused.value.option == option
        if value != -1:
            with pytest.raises(ConfigurationError, match="min_age_ms"):
                engine.verify_index(Row, "by_a", repair=True, min_age_ms=value)
        with pytest.raises(SchemaError):
            codecs.json(int, version=value)
