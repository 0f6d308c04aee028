"""Which models `models()` finds in modules and packages, and what it refuses."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import hbase_orm
from hbase_orm import Model, connect, models
from hbase_orm.errors import ConfigurationError, ModelImportError, SchemaError

HEAD = """
from hbase_orm import Family, Index, Key, Mapped, Model, RecordType, column, key, rowkey
"""
ORDERS = """
class Named(Model, abstract=True):
    name: Key[str] = key()

class Order(Named, table="shop_orders"):
    d = Family()

class Customer(Named, table="shop_customers"):
    d = Family()

class Special(Order, abstract=True):
    pass
"""
EVENTS = """
class Event(Model, table="shop_events"):
    d = Family()
    name: Key[str] = key()
    __rowkey__ = rowkey(name, RecordType())
"""
LOGIN = """
class Login(Event, record_type="L"):
    e = Family()
    host: Mapped[str] = column(e)
"""

Write = Callable[..., None]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Return a function that writes modules of the package `shop`, by their paths."""

    def write(**texts: str) -> None:
        for name, text in texts.items():
            path = tmp_path / "shop" / f"{name.replace('0', '/')}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(HEAD + text)

    monkeypatch.syspath_prepend(tmp_path)  # forgets what earlier tests have listed, too
    yield write
    for name in [name for name in sys.modules if name.partition(".")[0] == "shop"]:
        del sys.modules[name]


def names(*modules: str | ModuleType) -> list[str]:
    return [model.__name__ for model in models(*modules)]


def test_a_module_has_its_models_with_a_table_in_the_order_of_definition(write: Write) -> None:
    write(__init__="", models=ORDERS)

    assert names("shop.models") == ["Order", "Customer"]


def test_a_package_has_the_models_of_all_its_submodules_by_module(write: Write) -> None:
    last = 'class Own(Model, table="shop_own"):\n    d = Family()\n    name: Key[str] = key()\n'
    write(
        __init__=last,
        zebra=last.replace("Own", "Zebra"),
        parts0__init__="",
        parts0models0__init__=ORDERS,
        parts0models0deep=last.replace("Own", "Deep"),
        parts0ant=last.replace("Own", "Ant"),
    )

    assert names("shop") == ["Own", "Ant", "Order", "Customer", "Deep", "Zebra"]


def test_a_module_object_stands_for_its_name(write: Write) -> None:
    write(__init__="", models=ORDERS)
    models("shop")

    assert names(sys.modules["shop"]) == names(sys.modules["shop.models"]) == ["Order", "Customer"]


def test_several_modules_give_each_model_once_in_the_order_of_the_arguments(write: Write) -> None:
    write(__init__="", models=ORDERS, events=EVENTS)

    assert names("shop.models", "shop.events", "shop") == ["Order", "Customer", "Event"]


def test_a_model_that_is_only_imported_does_not_count(write: Write) -> None:
    write(__init__="", models=ORDERS, audit=f"from shop.models import Order\n{EVENTS}")

    assert names("shop.audit") == ["Event"]
    assert names("shop") == ["Event", "Order", "Customer"]


def test_models_within_classes_and_of_functions_count_if_the_module_names_them(
    write: Write,
) -> None:
    write(
        __init__="",
        factory="""
def made(name):
    class Made(Model, table=f"shop_{name}"):
        d = Family()
        name: Key[str] = key()
    return Made
""",
        models="""
from shop.factory import made

class Outer:
    class Inner(Model, table="shop_inner"):
        d = Family()
        name: Key[str] = key()

First = made("first")
kept = [made("not_named")]
""",
    )

    assert [model.__schema__.table for model in models("shop")] == ["shop_first", "shop_inner"]
    assert names("shop.models") == ["Inner"]


def test_a_base_stands_for_its_record_types(write: Write) -> None:
    write(
        __init__="",
        base=EVENTS,
        kinds=f"from shop.base import Event\n{LOGIN}",
        models=EVENTS + LOGIN,
    )

    assert names("shop.models") == ["Event"]
    assert names("shop.kinds") == ["Login"]
    assert names("shop.kinds", "shop.base") == ["Event"]


def test_tables_of_all_models_are_made_and_dropped(write: Write) -> None:
    write(__init__="", base=EVENTS, kinds=f"from shop.base import Event\n{LOGIN}", models=ORDERS)
    engine = connect("memory://")

    made = engine.create_tables(*models("shop"))

    (event, *_) = models("shop")
    assert made == ["shop_events", "shop_orders", "shop_customers"]
    assert event.__schema__.family_names == (b"d", b"e")  # the record type's own too
    assert engine.drop_tables(*models("shop")) == made


def test_a_folder_without_init_belongs_to_the_package_if_it_has_a_module(write: Write) -> None:
    write(__init__="", plain0orders=ORDERS, assets0static0script="raise RuntimeError")

    assert names("shop") == ["Order", "Customer"]


def test_programs_and_scripts_of_a_package_are_not_run(write: Write, tmp_path: Path) -> None:
    write(__init__="", models=ORDERS, __main__="raise SystemExit(3)")
    (tmp_path / "shop" / "try-out.py").write_text("raise RuntimeError")

    assert names("shop") == ["Order", "Customer"]


def test_a_class_that_is_gone_is_not_kept_alive(write: Write) -> None:
    write(__init__="", models=ORDERS)
    gone = weakref.ref(models("shop")[0])
    module = sys.modules["shop.models"]

    del module.Order, module.Special
    gc.collect()

    assert gone() is None
    assert names("shop") == ["Customer"]


def test_the_search_path_and_the_classes_stay_as_they_are(write: Write) -> None:
    write(__init__="", models=ORDERS)
    before = [*sys.path], set(vars(Model)), set(vars(hbase_orm))

    models("shop")

    assert before == (sys.path, set(vars(Model)), set(vars(hbase_orm)))


# --- refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "missing"),
    [("shp", "shp"), ("shp.models", "shp"), ("shop.modles", "shop.modles")],
)
def test_a_module_that_is_not_there_is_named(write: Write, name: str, missing: str) -> None:
    write(__init__="", models=ORDERS)

    with pytest.raises(ModelImportError, match="there is no module of this name") as caught:
        models(name)

    assert (caught.value.module, caught.value.missing) == (name, missing)
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def test_an_import_of_what_is_not_there_is_named_with_its_line(
    write: Write, tmp_path: Path
) -> None:
    write(__init__="", models="import shop.inner\n", inner="import shp_missing\n")

    with pytest.raises(
        ModelImportError, match="imports another module that does not exist"
    ) as caught:
        models("shop.models")

    assert (caught.value.module, caught.value.missing) == ("shop.models", "shp_missing")
    assert caught.value.at == f"{tmp_path}/shop/inner.py:3"


@pytest.mark.parametrize(
    ("text", "kind", "line"),
    [
        ("\n1 / 0", ZeroDivisionError, 4),
        ("from os import nothing_like_this", ImportError, 3),
        ("class Order(Model): pass", SchemaError, 3),
        ("def f(:", SyntaxError, 3),
        ("raise SystemExit(0)", SystemExit, 3),
    ],
)
def test_an_error_of_a_modules_code_is_chained_and_its_line_is_shown(
    write: Write, tmp_path: Path, text: str, kind: type[BaseException], line: int
) -> None:
    write(__init__="", models=text)

    with pytest.raises(ModelImportError, match="raised an error while it was imported") as caught:
        models("shop")

    assert caught.value.module == "shop.models"
    assert caught.value.at == f"{tmp_path}/shop/models.py:{line}"
    assert caught.value.error.startswith(kind.__name__)
    assert type(caught.value.__cause__) is kind


def test_a_module_without_models_is_refused_and_what_it_imports_is_listed(write: Write) -> None:
    write(__init__="", models=ORDERS, empty="", other="from shop.models import Order as Placed\n")

    with pytest.raises(ConfigurationError, match="declares no model with a table") as caught:
        models("shop.models", "shop.empty")
    with pytest.raises(ConfigurationError, match="name the modules that declare") as imported:
        models("shop.other")

    assert caught.value.details == {"module": "shop.empty"}
    assert imported.value.imported == ["shop.models.Order"]


def test_a_package_without_models_is_refused_and_its_modules_are_listed(write: Write) -> None:
    write(__init__="", empty="")

    with pytest.raises(ConfigurationError, match="declares no model with a table") as caught:
        models("shop")

    assert caught.value.searched == ["shop", "shop.empty"]


@pytest.mark.parametrize(
    ("wrong", "fix"),
    [
        (3, 'write hbase_orm.models("shop.models")'),
        ("", 'write hbase_orm.models("shop.models")'),
        (".models", 'write hbase_orm.models("shop.models")'),
        ("shop/models.py", 'write hbase_orm.models("shop.models")'),
        ("shop.models:Order", 'write hbase_orm.models("shop.models")'),
        (["shop"], "give the modules one by one"),
        (Model, "a class needs no search"),
    ],
)
def test_an_argument_that_is_no_module_is_refused(wrong: Any, fix: str) -> None:
    with pytest.raises(ConfigurationError, match="neither a module nor") as caught:
        models(wrong)

    assert caught.value.fix.startswith(fix)


def test_a_search_needs_a_module() -> None:
    with pytest.raises(ConfigurationError, match="no module was named"):
        models()
